//! Products of spectra of channels: matrices per bin, whose terms are segments.

use super::complex::ComplexRows;
use super::device::{GpuDevice, MAX_ELEMENTS};
use super::spectral_conv::{ModeMatrix, ModeProduct, ProductSize};

/// Sizes of the products of two sets of channels, `[batch, channels, segments, bins]`: `[batch, first, second, bins]`.
#[derive(Debug, Clone, Copy)]
pub struct CrossShape {
    pub batch: usize,
    pub channels: [usize; 2],
    pub segments: usize,
    pub bins: usize,
}

impl CrossShape {
    /// Whether launches count the values of its arrays.
    pub fn is_counted(&self) -> bool {
        let [first, second] = self.channels;
        let largest = first.saturating_mul(second).max(first.max(second).saturating_mul(self.segments));
        self.batch.saturating_mul(largest).saturating_mul(self.bins) <= MAX_ELEMENTS
    }

    /// A product of matrices with `terms` columns in the first and rows in the second.
    fn product(&self, [rows, terms, columns]: [usize; 3]) -> ModeProduct {
        let size = ProductSize { rows, columns, terms, modes: self.bins };
        ModeProduct { batch: self.batch, ..ModeProduct::new(size) }
    }

    /// Spectra as matrices of segments and channels.
    fn by_segment(&self, values: &ComplexRows) -> ModeMatrix {
        ModeMatrix { values: values.clone(), row: self.bins, column: self.segments * self.bins }
    }

    /// Spectra as matrices of channels and segments.
    fn by_channel(&self, values: &ComplexRows) -> ModeMatrix {
        self.by_segment(values).transposed()
    }

    /// Products as matrices of first and second channels.
    fn products(&self, values: &ComplexRows) -> ModeMatrix {
        ModeMatrix { values: values.clone(), row: self.channels[1] * self.bins, column: self.bins }
    }
}

/// Σ_s first_i* second_j at each bin; of one set of channels with itself if `is_hermitian`.
pub fn cross_spectra(
    device: &GpuDevice,
    shape: &CrossShape,
    [first, second]: [&ComplexRows; 2],
    is_hermitian: bool,
    into: &ComplexRows,
) {
    let [m, n] = shape.channels;
    // The factor that is conjugated is the right one, so that the rows are the second channels.
    let product = ModeProduct { conjugates: true, is_hermitian, ..shape.product([n, shape.segments, m]) };
    let (left, right) = (shape.by_channel(second), shape.by_segment(first));
    product.launch(device, &left, &right, &shape.products(into).transposed());
}

/// Gradients from those of the products: Σ_j second_j g_ij* of first channel i, and Σ_i first_i g_ij of second channel j,
/// those that are wanted.
pub fn cross_spectra_backward(
    device: &GpuDevice,
    shape: &CrossShape,
    [first, second]: [&ComplexRows; 2],
    grad: &ComplexRows,
    [of_first, of_second]: [Option<&ComplexRows>; 2],
) {
    let ([m, n], segments, grad) = (shape.channels, shape.segments, shape.products(grad));
    if let Some(into) = of_first {
        let product = ModeProduct { conjugates: true, ..shape.product([segments, n, m]) };
        product.launch(device, &shape.by_segment(second), &grad.clone().transposed(), &shape.by_segment(into));
    }
    if let Some(into) = of_second {
        let product = shape.product([segments, m, n]);
        product.launch(device, &shape.by_segment(first), &grad, &shape.by_segment(into));
    }
}
