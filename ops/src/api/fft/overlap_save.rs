//! Streaming convolution by the overlap-save method.

use burn::tensor::Tensor;

use super::fft_convolve;
use crate::api::check::InputCheck;
use crate::error::{ArgumentError, Result, ensure};
use crate::options::ConvolveMode;

/// Causal convolution of a signal that arrives in blocks of any lengths (overlap-save; A. V. Oppenheim and R. W. Schafer,
/// "Discrete-time signal processing", 1989, section 8.7): but for rounding, the first samples of [`fft_convolve`] of the
/// whole signal. k − 1 zeros at its end give the others. Gradients reach the kernel and all blocks.
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use firefly_ops::fft::OverlapSave;
///
/// let device = Device::flex();
/// let mut moving_sum = OverlapSave::new(Tensor::<1>::ones([3], &device));
/// moving_sum.forward(Tensor::ones([4], &device))?;
/// let sums: Vec<f32> = moving_sum.forward(Tensor::zeros([3], &device))?.into_data().iter().collect();
/// assert!(sums.iter().zip([2.0, 1.0, 0.0]).all(|(got, expected)| (got - expected).abs() < 1e-6));
/// # Ok::<(), firefly_ops::ArgumentError>(())
/// ```
#[derive(Debug, Clone)]
pub struct OverlapSave<const D: usize> {
    kernel: Tensor<D>,
    /// The last k − 1 samples; `None` before the first block. Detached, it ends gradients.
    pub history: Option<Tensor<D>>,
}

impl<const D: usize> OverlapSave<D> {
    /// A convolution with `kernel` `[.., k]`, whose leading dimensions are those of the signal, or 1.
    pub const fn new(kernel: Tensor<D>) -> Self {
        Self { kernel, history: None }
    }

    /// The next samples `[.., n]` of the result, in the type of those of the signal. An error for an empty kernel or block,
    /// or leading dimensions other than the kernel's or the last block's.
    pub fn forward(&mut self, block: Tensor<D>) -> Result<Tensor<D>> {
        const NAME: &str = "OverlapSave";
        let (dims, kept) = (block.dims(), self.kernel.dims()[D - 1].saturating_sub(1));
        ensure(dims[D - 1] >= 1, NAME, "block", format_args!("{dims:?}"), "at least one sample per row")?;
        let mut samples = InputCheck::of(NAME, "block", &block)?.first(block);
        if kept > 0 {
            let mut before = dims;
            before[D - 1] = kept;
            let zeros = || Tensor::zeros(before, (&samples.device(), samples.dtype()));
            let history = self.history.clone().map_or_else(zeros, |history| history.cast(samples.dtype()));
            let expected = format_args!("rows as those of the last block: {:?} and n", &history.dims()[..D - 1]);
            ensure(history.dims() == before, NAME, "block", format_args!("{dims:?}"), expected)?;
            samples = Tensor::cat(vec![history, samples], D - 1);
        }
        let result = fft_convolve(samples.clone(), self.kernel.clone(), ConvolveMode::Valid);
        let result = result.map_err(|error| ArgumentError { operation: NAME, ..error })?;
        self.history = (kept > 0).then(|| samples.narrow(D - 1, dims[D - 1], kept));
        Ok(result)
    }
}
