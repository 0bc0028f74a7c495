//! Device code: `row_convolution` convolves rows within cubes, `products` sums the products of their spectra,
//! and `elements` multiplies one bin, and does each step by itself for rows that no cube holds.

mod elements;
mod products;
mod row_convolution;
mod samples;

pub use elements::{
    ElementShapeLaunch, add_element_products, convolve_spectra, correlated_spectra, multiply_rows, store_samples,
};
pub use products::{ProductInputLaunch, ProductShapeLaunch, add_products};
pub use row_convolution::{RowsInputLaunch, RowsShapeLaunch, convolve_rows};
pub use samples::SampleForm;
