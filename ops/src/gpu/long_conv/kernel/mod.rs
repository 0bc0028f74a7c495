//! Device code: `row_convolution` convolves rows within cubes, `products` sums the products of their spectra and
//! multiplies one bin, and does each step by itself for rows that no cube holds.

mod products;
mod row_convolution;

pub use products::{
    ElementShapeLaunch, ProductInputLaunch, ProductShapeLaunch, add_element_products, add_products, convolve_spectra,
    correlated_spectra, multiply_rows, store_samples,
};
pub use row_convolution::{RowsInputLaunch, RowsShapeLaunch, SampleForm, convolve_rows};
