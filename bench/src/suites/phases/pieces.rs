//! Welch peaks as separate operations on a device: what fusing starts from.

use burn::tensor::{Device, FloatDType, Int, IntDType, Tensor, TensorData};
use firefly_ops::{ArgumentError, Direction, WelchOptions, butterfly, exact_twiddles};

use crate::suites::peaks::{PeaksProblem, SYMMETRY, WINDOW};

/// The values that the operations take besides the signal.
pub struct Pieces {
    options: WelchOptions,
    k: usize,
    /// `[1, 1, n_fft]`.
    window: Tensor<3>,
    /// Of the exact transform.
    twiddles: Tensor<3>,
    /// What each bin counts in one-sided power, `[1, bins]`.
    one_sided: Tensor<2>,
}

impl Pieces {
    /// The pieces for a problem, on `device`.
    ///
    /// # Errors
    /// [`ArgumentError`] for a length that there is no transform of.
    pub fn new(problem: &PeaksProblem, device: &Device) -> Result<Self, ArgumentError> {
        let options = problem.options;
        let (n, bins) = (options.n_fft, options.bins());
        let one_sided: Vec<f32> = (0..bins).map(|bin| if bin % (bins - 1) == 0 { 1.0 } else { 2.0 }).collect();
        Ok(Self {
            options,
            k: problem.k,
            window: WINDOW.tensor(n, SYMMETRY, FloatDType::F32, device).reshape([1, 1, n]),
            twiddles: exact_twiddles(n, Direction::Forward, FloatDType::F32, device)?,
            one_sided: Tensor::from_data(TensorData::new(one_sided, [1, bins]), device),
        })
    }

    /// Frames `[batch, frame]` to the complex spectrum of every segment: real and imaginary parts,
    /// `[batch · segments, n_fft]`.
    ///
    /// # Errors
    /// As the transform's.
    pub fn blocks(&self, signal: Tensor<2>) -> Result<(Tensor<2>, Tensor<2>), ArgumentError> {
        let WelchOptions { n_fft, hop, segments, .. } = self.options;
        let [batch, _] = signal.dims();
        let cut: Tensor<3> = signal.unfold(1, n_fft, hop);
        let samples = (cut * self.window.clone()).reshape([batch * segments, n_fft]);
        let zeros = Tensor::zeros(samples.dims(), &samples.device());
        butterfly(samples, zeros, self.twiddles.clone(), None)
    }

    /// The same with real and imaginary parts next to each other: `[batch · segments, n_fft, 2]`.
    ///
    /// # Errors
    /// As the transform's.
    pub fn interleaved(&self, signal: Tensor<2>) -> Result<Tensor<3>, ArgumentError> {
        let (re, im) = self.blocks(signal)?;
        Ok(Tensor::stack(vec![re, im], 2))
    }

    /// Spectra to the bins, of 32 bits, and powers of the strongest lines, `[batch, k]`.
    pub fn peaks(&self, (re, im): (Tensor<2>, Tensor<2>)) -> (Tensor<2, Int>, Tensor<2>) {
        let (bins, segments) = (self.options.bins(), self.options.segments);
        let [rows, _] = re.dims();
        let [re, im] = [re, im].map(|part| part.narrow(1, 0, bins));
        let power = (re.powi_scalar(2) + im.powi_scalar(2)).reshape([rows / segments, segments, bins]);
        let power: Tensor<2> = power.mean_dim(1).squeeze_dim(1);
        let (power, bins) = (power * self.one_sided.clone()).topk_with_indices(self.k, 1);
        (bins.cast(IntDType::I32), power)
    }
}
