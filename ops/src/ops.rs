//! Contract of a backend: the operations of Firefly that it provides, on its own tensors.

use burn::backend::tensor::{FloatTensor, IntTensor};
use burn::backend::{Backend, ExtensionType, backend_extension};
use burn::tensor::IntDType;

use crate::options::{
    AdamOptions, FftOptions, LocalMaximaOptions, Logarithm, MelOptions, PeakLossOptions, WelchOptions,
};

/// Inputs of a Welch estimate, or their gradients.
#[derive(ExtensionType, Debug, Clone)]
pub struct WelchTensors<B: Backend> {
    /// Signal, `[rows, frame]`.
    pub signal: FloatTensor<B>,
    /// Window, `[n_fft]`.
    pub window: FloatTensor<B>,
}

/// Inputs of a butterfly transform, or their gradients.
#[derive(ExtensionType, Debug, Clone)]
pub struct ButterflyTensors<B: Backend> {
    /// Real parts, `[rows, n]`.
    pub re: FloatTensor<B>,
    /// Imaginary parts, `[rows, n]`.
    pub im: FloatTensor<B>,
    /// Twiddle factors, `[log2 n, n/2, 2]`.
    pub twiddles: FloatTensor<B>,
    /// Gates, or their gradients.
    #[extension_type]
    pub gates: OptionalGates<B>,
}

/// Gates of a butterfly transform, `[log2 n, n/2]`, or of a long convolution, `[batch, channels, n]`; an enum because
/// Burn's dispatch does not support `Option`.
///
/// ```
/// use burn::backend::Flex;
/// use firefly_ops::OptionalGates;
///
/// assert!(OptionalGates::<Flex>::from(None).into_tensor().is_none());
/// ```
#[derive(ExtensionType, Debug, Clone)]
pub enum OptionalGates<B: Backend> {
    /// Every gate is 1.
    Open,
    /// One gate per butterfly or output.
    Given(FloatTensor<B>),
}

impl<B: Backend> OptionalGates<B> {
    /// The tensor of gates, if there is one.
    pub fn into_tensor(self) -> Option<FloatTensor<B>> {
        match self {
            Self::Open => None,
            Self::Given(gates) => Some(gates),
        }
    }
}

impl<B: Backend> From<Option<FloatTensor<B>>> for OptionalGates<B> {
    fn from(gates: Option<FloatTensor<B>>) -> Self {
        gates.map_or(Self::Open, Self::Given)
    }
}

/// Factors of a gain on power: of the bin below, of the bin itself and of the bin above.
pub(crate) const POWER_TAPS: usize = 3;
/// Factors of a gain on power and on products of neighbours: behind those on power, of the product of the bin below with
/// the bin, and of the bin with the bin above.
pub(crate) const PRODUCT_TAPS: usize = 5;

/// Number of factors per bin of a gain of this shape.
///
/// # Panics
/// If it is not `[bins, 3]` or `[bins, 5]`: recorded operations come here without the checks of the functions.
#[cfg(feature = "cube")]
pub(crate) fn gain_taps(shape: &[usize]) -> usize {
    let taps = shape.last().copied().unwrap_or(0);
    assert!(shape.len() == 2 && (taps == POWER_TAPS || taps == PRODUCT_TAPS), "gain: {shape:?} is no gain of bins");
    taps
}

/// Inputs of a learned Welch estimate, or their gradients.
#[derive(ExtensionType, Debug, Clone)]
pub struct LearnedTensors<B: Backend> {
    /// Signal, `[rows, frame]`.
    pub signal: FloatTensor<B>,
    /// Window, `[n_fft]`.
    pub window: FloatTensor<B>,
    /// Twiddle factors, `[log2 n_fft, n_fft/2, 2]`.
    pub twiddles: FloatTensor<B>,
    /// Gates, `[log2 n_fft, n_fft/2]`.
    pub gates: FloatTensor<B>,
    /// Weight of each segment's power, `[segments]`.
    pub weights: FloatTensor<B>,
    /// Factors of the bin below, the bin itself and the bin above, `[bins, 3]`, and of the products with both neighbours,
    /// `[bins, 5]`.
    pub gain: FloatTensor<B>,
}

impl<B: Backend> LearnedTensors<B> {
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

/// Inputs of a spectral convolution, or their gradients.
#[derive(ExtensionType, Debug, Clone)]
pub struct SpectralConvTensors<B: Backend> {
    /// Input, `[batch, in, n…]`, with one to three dimensions n.
    pub input: FloatTensor<B>,
    /// Real parts of the weights, `[in, out, modes…]`.
    pub weights_re: FloatTensor<B>,
    /// Imaginary parts of the weights, `[in, out, modes…]`.
    pub weights_im: FloatTensor<B>,
}

/// Inputs of a long convolution, or their gradients.
#[derive(ExtensionType, Debug, Clone)]
pub struct LongConvTensors<B: Backend> {
    /// Signal, `[batch, channels, n]`.
    pub signal: FloatTensor<B>,
    /// Kernels, `[channels, k]`.
    pub kernel: FloatTensor<B>,
    /// Factors of the output, or their gradients.
    #[extension_type]
    pub gate: OptionalGates<B>,
}

/// Rows of power, and the target peaks that they are compared with.
#[derive(ExtensionType, Debug, Clone)]
pub struct PeakLossTensors<B: Backend> {
    /// Power, `[rows, bins]`.
    pub power: FloatTensor<B>,
    /// Power of the ranks k and k + 1 of each row, `[rows, 2]`, or of rank k alone, `[rows, 1]`.
    pub strongest: FloatTensor<B>,
    /// Unit of relative power, `[rows, 1]`: both powers are divided by it.
    pub reference_power: FloatTensor<B>,
    /// 1 at the target peaks and 0 at all other bins, `[rows, bins]`.
    pub peaks: FloatTensor<B>,
    /// Power of the targets, `[rows, bins]`.
    pub target_power: FloatTensor<B>,
}

impl<B: Backend> PeakLossTensors<B> {
    /// The tensors in the order of the fields.
    pub fn into_array(self) -> [FloatTensor<B>; 5] {
        [self.power, self.strongest, self.reference_power, self.peaks, self.target_power]
    }
}

/// A parameter and its moments, of one shape.
#[derive(ExtensionType, Debug, Clone)]
pub struct AdamTensors<B: Backend> {
    /// The parameter.
    pub parameter: FloatTensor<B>,
    /// Decaying mean of the gradients.
    pub moment_1: FloatTensor<B>,
    /// Decaying mean of their squares.
    pub moment_2: FloatTensor<B>,
}

impl<B: Backend> AdamTensors<B> {
    /// The tensors in the order of the fields.
    pub fn into_array(self) -> [FloatTensor<B>; 3] {
        [self.parameter, self.moment_1, self.moment_2]
    }
}

/// Firefly's operations on a backend's own tensors.
///
/// The functions at the crate's root define the operations. They check the arguments and convert them to one float
/// type, f32 or (not on `Cube`) f64, before they call these methods. Each `_backward` returns the gradients of its
/// operation's inputs from the gradient of its output. It is not differentiable itself: on `Autodiff` it panics.
#[backend_extension(
    Flex: cfg(feature = "flex"),
    NdArray: cfg(feature = "ndarray"),
    Cube: cfg(feature = "cube"),
    Capture: cfg(feature = "capture"),
    Remote: cfg(feature = "remote"),
    Autodiff: cfg(feature = "autodiff")
)]
///
/// ```
/// use burn::backend::Flex;
/// use burn::backend::ops::FloatTensorOps;
/// use burn::tensor::{IntDType, TensorData, read_sync};
/// use firefly_ops::SpectralOps;
///
/// let values = Flex::float_from_data(TensorData::from([[1.0f32, 4.0, 3.0]]), &Default::default());
/// let (_, largest) = Flex::top_k(values, 2, IntDType::I64);
/// let largest = read_sync(Flex::float_into_data(largest))?;
/// assert_eq!(largest, TensorData::from([[4.0f32, 3.0]]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait SpectralOps: Backend {
    /// Power `[rows, bins]`.
    fn welch_psd(#[extension_type] inputs: WelchTensors<Self>, options: WelchOptions) -> FloatTensor<Self>;

    /// Gradients of the inputs of [`welch_psd`](Self::welch_psd).
    fn welch_psd_backward(
        #[extension_type] inputs: WelchTensors<Self>,
        grad_power: FloatTensor<Self>,
        options: WelchOptions,
    ) -> WelchTensors<Self>;

    /// Numbers (of type `bins`) and power of the `k` strongest bins, both `[rows, k]`.
    fn welch_peaks(
        #[extension_type] inputs: WelchTensors<Self>,
        options: WelchOptions,
        k: usize,
        bins: IntDType,
    ) -> (IntTensor<Self>, FloatTensor<Self>);

    /// Positions (of type `bins`) and values of the `k` largest of `values` `[rows, length]`, both `[rows, k]`.
    fn top_k(values: FloatTensor<Self>, k: usize, bins: IntDType) -> (IntTensor<Self>, FloatTensor<Self>);

    /// Numbers (of type `bins`) of the `k` strongest local maxima of `values` `[rows, length]` that meet the options,
    /// and of the bases that their prominence is measured from, both `[rows, k]`, −1 where there are fewer. Offsets are
    /// not part of the operation.
    fn local_maxima(
        values: FloatTensor<Self>,
        options: LocalMaximaOptions,
        k: usize,
        bins: IntDType,
    ) -> (IntTensor<Self>, IntTensor<Self>);

    /// Real and imaginary parts `[rows, n]`.
    fn butterfly(#[extension_type] inputs: ButterflyTensors<Self>) -> (FloatTensor<Self>, FloatTensor<Self>);

    /// Gradients of the inputs of [`butterfly`](Self::butterfly).
    fn butterfly_backward(
        #[extension_type] inputs: ButterflyTensors<Self>,
        grad_re: FloatTensor<Self>,
        grad_im: FloatTensor<Self>,
    ) -> ButterflyTensors<Self>;

    /// Power `[rows, bins]`.
    fn learned_welch_psd(#[extension_type] inputs: LearnedTensors<Self>, options: WelchOptions) -> FloatTensor<Self>;

    /// Gradients of the inputs of [`learned_welch_psd`](Self::learned_welch_psd) for which `requires_grad` is true, in
    /// the order of the fields; the contents of the others are unspecified.
    fn learned_welch_psd_backward(
        #[extension_type] inputs: LearnedTensors<Self>,
        grad_power: FloatTensor<Self>,
        options: WelchOptions,
        requires_grad: [bool; 6],
    ) -> LearnedTensors<Self>;

    /// Numbers (of type `bins`) and power of the `k` strongest bins, both `[rows, k]`.
    fn learned_welch_peaks(
        #[extension_type] inputs: LearnedTensors<Self>,
        options: WelchOptions,
        k: usize,
        bins: IntDType,
    ) -> (IntTensor<Self>, FloatTensor<Self>);

    /// Transforms of complex rows, `[rows, m]` each part, cut or padded with zeros to n values: real and imaginary
    /// parts `[rows, n]` of `scale` Σ_j x_j exp(∓2πi jk/n), minus in the forward direction.
    fn complex_fft(
        re: FloatTensor<Self>,
        im: FloatTensor<Self>,
        options: FftOptions,
    ) -> (FloatTensor<Self>, FloatTensor<Self>);

    /// Transforms of the columns of complex matrices, `[matrices, n, width]` each part, as
    /// [`complex_fft`](Self::complex_fft) transforms rows of n values: both results have the inputs' shape.
    fn complex_fft_columns(
        re: FloatTensor<Self>,
        im: FloatTensor<Self>,
        options: FftOptions,
    ) -> (FloatTensor<Self>, FloatTensor<Self>);

    /// The lower n/2 + 1 bins of [`complex_fft`](Self::complex_fft) of real rows `[rows, m]`, the interior ones times
    /// `interior`.
    fn real_fft(signal: FloatTensor<Self>, options: FftOptions) -> (FloatTensor<Self>, FloatTensor<Self>);

    /// Real rows `[rows, n]` whose spectrum has the lower bins `re` + i `im`, `[rows, m]` each, cut or padded with
    /// zeros to n/2 + 1 bins: [`complex_fft`](Self::complex_fft) of the Hermitian spectrum, once interior bins are
    /// multiplied by `interior`. The imaginary parts of DC and Nyquist do not count.
    fn inverse_real_fft(re: FloatTensor<Self>, im: FloatTensor<Self>, options: FftOptions) -> FloatTensor<Self>;

    /// Bands `[rows, bands, frames]` of signals `[rows, samples]` with a window `[n_fft]`, or their logarithms.
    fn mel(
        signal: FloatTensor<Self>,
        window: FloatTensor<Self>,
        options: MelOptions,
        logarithm: Option<Logarithm>,
    ) -> FloatTensor<Self>;

    /// Gradients of the signal and the window of [`mel`](Self::mel) for which `requires_grad` is true; the contents of
    /// the other are unspecified.
    fn mel_backward(
        signal: FloatTensor<Self>,
        window: FloatTensor<Self>,
        grad_bands: FloatTensor<Self>,
        options: MelOptions,
        logarithm: Option<Logarithm>,
        requires_grad: [bool; 2],
    ) -> (FloatTensor<Self>, FloatTensor<Self>);

    /// Ranking loss and power loss of each row, `[rows, 2]`.
    fn peak_loss(#[extension_type] inputs: PeakLossTensors<Self>, options: PeakLossOptions) -> FloatTensor<Self>;

    /// Gradient in the power, `[rows, bins]`, of [`peak_loss`](Self::peak_loss).
    fn peak_loss_backward(
        #[extension_type] inputs: PeakLossTensors<Self>,
        grad: FloatTensor<Self>,
        options: PeakLossOptions,
    ) -> FloatTensor<Self>;

    /// A parameter and its moments after a step of Adam.
    fn adam_step(
        #[extension_type] state: AdamTensors<Self>,
        gradient: FloatTensor<Self>,
        options: AdamOptions,
    ) -> AdamTensors<Self>;

    /// `[batch, out, n…]`: the transform of `[batch, in, n…]`, of which the modes of the weights are kept, multiplied
    /// by the weights mode by mode, summed over `in`, and transformed back.
    fn spectral_conv(#[extension_type] inputs: SpectralConvTensors<Self>) -> FloatTensor<Self>;

    /// Gradients of the inputs of [`spectral_conv`](Self::spectral_conv) for which `requires_grad` is true, in the
    /// order of the fields; the contents of the others are unspecified.
    fn spectral_conv_backward(
        #[extension_type] inputs: SpectralConvTensors<Self>,
        grad: FloatTensor<Self>,
        requires_grad: [bool; 3],
    ) -> SpectralConvTensors<Self>;

    /// Causal convolutions times their gates, `[batch, channels, n]`.
    fn long_conv(#[extension_type] inputs: LongConvTensors<Self>) -> FloatTensor<Self>;

    /// Gradients of the inputs of [`long_conv`](Self::long_conv) for which `requires_grad` is true, in the order of the
    /// fields; the contents of the others are unspecified.
    fn long_conv_backward(
        #[extension_type] inputs: LongConvTensors<Self>,
        grad: FloatTensor<Self>,
        requires_grad: [bool; 3],
    ) -> LongConvTensors<Self>;
}
