//! What a backend must provide: the whole contract of Firefly's operations.

use burn::backend::tensor::{FloatTensor, IntTensor};
use burn::backend::{Backend, ExtensionType, backend_extension};
use burn::tensor::IntDType;

use crate::options::WelchOptions;

/// The inputs of a learned Welch estimate, or the gradients of them.
#[derive(ExtensionType, Debug, Clone)]
pub struct LearnedTensors<B: Backend> {
    /// `[batch, frame]`.
    pub signal: FloatTensor<B>,
    /// The taper, `[n_fft]`.
    pub window: FloatTensor<B>,
    /// `[log2 n_fft, n_fft/2, 2]`.
    pub twiddles: FloatTensor<B>,
    /// `[log2 n_fft, n_fft/2]`.
    pub gates: FloatTensor<B>,
    /// What each segment's power counts, `[segments]`.
    pub weights: FloatTensor<B>,
    /// What the bin below, the bin itself and the bin above give to each bin, `[bins, 3]`.
    pub gain: FloatTensor<B>,
}

impl<B: Backend> LearnedTensors<B> {
    /// The tensors from a source that yields them in the order of the fields.
    pub fn from_fn(mut next: impl FnMut() -> FloatTensor<B>) -> Self {
        Self::from_array(std::array::from_fn(|_| next()))
    }

    /// The tensors from an array in the order of the fields.
    pub fn from_array(tensors: [FloatTensor<B>; 6]) -> Self {
        let [signal, window, twiddles, gates, weights, gain] = tensors;
        Self { signal, window, twiddles, gates, weights, gain }
    }

    /// The tensors in the order of the fields.
    pub fn into_array(self) -> [FloatTensor<B>; 6] {
        [self.signal, self.window, self.twiddles, self.gates, self.weights, self.gain]
    }
}

/// Firefly's operations on a backend's own tensors.
///
/// Arguments have been checked and are of one float type, f32 or (not on `Cube`) f64, when they arrive here: users call the
/// functions at the crate's root. Each forward operation is defined there; each `_backward` returns the gradients of its
/// operation's inputs, in their order, from the gradient of its output.
#[backend_extension(
    Flex,
    NdArray: cfg(feature = "ndarray"),
    Cube: cfg(feature = "cube"),
    Capture,
    Autodiff
)]
pub trait SpectralOps: Backend {
    /// Signal `[batch, frame]`, window `[n_fft]` → power `[batch, bins]`.
    fn welch_psd(signal: FloatTensor<Self>, window: FloatTensor<Self>, options: WelchOptions) -> FloatTensor<Self>;

    /// Gradients of signal and window.
    fn welch_psd_backward(
        signal: FloatTensor<Self>,
        window: FloatTensor<Self>,
        grad_power: FloatTensor<Self>,
        options: WelchOptions,
    ) -> (FloatTensor<Self>, FloatTensor<Self>);

    /// Signal `[batch, frame]`, window `[n_fft]` → bins (of type `bins`) and power, both `[batch, k]`.
    fn welch_peaks(
        signal: FloatTensor<Self>,
        window: FloatTensor<Self>,
        options: WelchOptions,
        k: usize,
        bins: IntDType,
    ) -> (IntTensor<Self>, FloatTensor<Self>);

    /// Values `[rows, length]` → positions (of type `bins`) and values of the `k` largest, both `[rows, k]`.
    fn top_k(values: FloatTensor<Self>, k: usize, bins: IntDType) -> (IntTensor<Self>, FloatTensor<Self>);

    /// Real and imaginary parts `[batch, n]`, twiddles `[log2 n, n/2, 2]` → real and imaginary parts `[batch, n]`.
    fn butterfly(
        re: FloatTensor<Self>,
        im: FloatTensor<Self>,
        twiddles: FloatTensor<Self>,
    ) -> (FloatTensor<Self>, FloatTensor<Self>);

    /// [`butterfly`](Self::butterfly) with gates `[log2 n, n/2]`.
    fn gated_butterfly(
        re: FloatTensor<Self>,
        im: FloatTensor<Self>,
        twiddles: FloatTensor<Self>,
        gates: FloatTensor<Self>,
    ) -> (FloatTensor<Self>, FloatTensor<Self>);

    /// Gradients of re, im and twiddles.
    fn butterfly_backward(
        re: FloatTensor<Self>,
        im: FloatTensor<Self>,
        twiddles: FloatTensor<Self>,
        grad_re: FloatTensor<Self>,
        grad_im: FloatTensor<Self>,
    ) -> (FloatTensor<Self>, FloatTensor<Self>, FloatTensor<Self>);

    /// Gradients of re, im, twiddles and gates.
    fn gated_butterfly_backward(
        re: FloatTensor<Self>,
        im: FloatTensor<Self>,
        twiddles: FloatTensor<Self>,
        gates: FloatTensor<Self>,
        grad_re: FloatTensor<Self>,
        grad_im: FloatTensor<Self>,
    ) -> (FloatTensor<Self>, FloatTensor<Self>, FloatTensor<Self>, FloatTensor<Self>);

    /// → power `[batch, bins]`.
    fn learned_welch_psd(#[extension_type] tensors: LearnedTensors<Self>, options: WelchOptions) -> FloatTensor<Self>;

    /// Gradients of the inputs that are `wanted`, in the order of the fields; the others may be anything of their shape.
    fn learned_welch_psd_backward(
        #[extension_type] tensors: LearnedTensors<Self>,
        grad_power: FloatTensor<Self>,
        options: WelchOptions,
        wanted: [bool; 6],
    ) -> LearnedTensors<Self>;

    /// → bins (of type `bins`) and power, both `[batch, k]`.
    fn learned_welch_peaks(
        #[extension_type] tensors: LearnedTensors<Self>,
        options: WelchOptions,
        k: usize,
        bins: IntDType,
    ) -> (IntTensor<Self>, FloatTensor<Self>);
}
