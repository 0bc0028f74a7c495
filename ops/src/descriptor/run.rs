//! Operations run from their descriptor and a list of tensors.

use burn::backend::Backend;
use burn::backend::tensor::{FloatTensor, IntTensor};

use super::OpDescriptor;
use crate::ops::{
    AdamTensors, ButterflyTensors, LearnedTensors, LongConvTensors, OptionalGates, PeakLossTensors,
    SpectralConvTensors, SpectralOps, WelchTensors,
};

impl OpDescriptor {
    /// Runs the operation on tensors of backend `B`.
    pub(crate) fn run<B: SpectralOps>(self, inputs: Vec<FloatTensor<B>>) -> OperationOutputs<B> {
        let mut inputs = inputs.into_iter();
        let inputs = &mut inputs;
        match self {
            Self::WelchPsd { options } => {
                OperationOutputs::Floats(vec![B::welch_psd(WelchTensors::take(inputs), options)])
            }
            Self::WelchPsdBackward { options } => {
                let estimate = WelchTensors::take(inputs);
                OperationOutputs::Floats(B::welch_psd_backward(estimate, take(inputs), options).into_vec())
            }
            Self::WelchPeaks { options, k, bins } => {
                OperationOutputs::peaks(B::welch_peaks(WelchTensors::take(inputs), options, k, bins))
            }
            Self::TopK { k, bins } => OperationOutputs::peaks(B::top_k(take(inputs), k, bins)),
            Self::LocalMaxima { options, k, bins } => {
                let (maxima, bases) = B::local_maxima(take(inputs), options, k, bins);
                OperationOutputs::Bins([maxima, bases])
            }
            Self::Butterfly { gated } => OperationOutputs::parts(B::butterfly(ButterflyTensors::take(inputs, gated))),
            Self::ButterflyBackward { gated } => {
                let transform = ButterflyTensors::take(inputs, gated);
                OperationOutputs::Floats(B::butterfly_backward(transform, take(inputs), take(inputs)).into_vec())
            }
            Self::LearnedWelchPsd { options } => {
                OperationOutputs::Floats(vec![B::learned_welch_psd(LearnedTensors::take(inputs), options)])
            }
            Self::LearnedWelchPsdBackward { options, requires_grad } => {
                let estimate = LearnedTensors::take(inputs);
                OperationOutputs::Floats(
                    B::learned_welch_psd_backward(estimate, take(inputs), options, requires_grad).into_vec(),
                )
            }
            Self::LearnedWelchPeaks { options, k, bins } => {
                OperationOutputs::peaks(B::learned_welch_peaks(LearnedTensors::take(inputs), options, k, bins))
            }
            Self::ComplexFft { options } => {
                OperationOutputs::parts(B::complex_fft(take(inputs), take(inputs), options))
            }
            Self::ComplexFftColumns { options } => {
                OperationOutputs::parts(B::complex_fft_columns(take(inputs), take(inputs), options))
            }
            Self::RealFft { options } => OperationOutputs::parts(B::real_fft(take(inputs), options)),
            Self::InverseRealFft { options } => {
                OperationOutputs::Floats(vec![B::inverse_real_fft(take(inputs), take(inputs), options)])
            }
            Self::Mel { options, logarithm } => {
                OperationOutputs::Floats(vec![B::mel(take(inputs), take(inputs), options, logarithm)])
            }
            Self::MelBackward { options, logarithm, requires_grad } => {
                let [signal, window, grad] = std::array::from_fn(|_| take(inputs));
                OperationOutputs::parts(B::mel_backward(signal, window, grad, options, logarithm, requires_grad))
            }
            Self::PeakLoss { options } => {
                OperationOutputs::Floats(vec![B::peak_loss(PeakLossTensors::take(inputs), options)])
            }
            Self::PeakLossBackward { options } => {
                let loss = PeakLossTensors::take(inputs);
                OperationOutputs::Floats(vec![B::peak_loss_backward(loss, take(inputs), options)])
            }
            Self::AdamStep { options } => {
                let state = AdamTensors::take(inputs);
                OperationOutputs::Floats(B::adam_step(state, take(inputs), options).into_vec())
            }
            Self::SpectralConv {} => {
                OperationOutputs::Floats(vec![B::spectral_conv(SpectralConvTensors::take(inputs))])
            }
            Self::SpectralConvBackward { requires_grad } => {
                let convolution = SpectralConvTensors::take(inputs);
                OperationOutputs::Floats(B::spectral_conv_backward(convolution, take(inputs), requires_grad).into_vec())
            }
            Self::LongConv { gated } => {
                OperationOutputs::Floats(vec![B::long_conv(LongConvTensors::take(inputs, gated))])
            }
            Self::LongConvBackward { gated, requires_grad } => {
                let convolution = LongConvTensors::take(inputs, gated);
                OperationOutputs::Floats(B::long_conv_backward(convolution, take(inputs), requires_grad).into_vec())
            }
        }
    }
}

/// Outputs of any operation.
#[derive(Debug)]
pub(crate) enum OperationOutputs<B: Backend> {
    /// Float tensors alone.
    Floats(Vec<FloatTensor<B>>),
    /// Bin numbers and power.
    Peaks(IntTensor<B>, FloatTensor<B>),
    /// Bin numbers alone: of maxima, and of their bases.
    Bins([IntTensor<B>; 2]),
}

impl<B: Backend> OperationOutputs<B> {
    fn peaks((bins, power): (IntTensor<B>, FloatTensor<B>)) -> Self {
        Self::Peaks(bins, power)
    }

    /// Two float tensors, as real and imaginary parts.
    fn parts((re, im): (FloatTensor<B>, FloatTensor<B>)) -> Self {
        Self::Floats(vec![re, im])
    }

    /// The outputs of an operation that selects nothing.
    pub fn into_floats(self) -> std::vec::IntoIter<FloatTensor<B>> {
        match self {
            Self::Floats(floats) => floats.into_iter(),
            Self::Peaks(..) | Self::Bins(_) => unreachable!("the operation has no bins"),
        }
    }

    /// The outputs of an operation that selects.
    pub fn into_peaks(self) -> (IntTensor<B>, FloatTensor<B>) {
        match self {
            Self::Peaks(bins, power) => (bins, power),
            Self::Floats(_) | Self::Bins(_) => unreachable!("the operation has bins and power"),
        }
    }

    /// The outputs of an operation that locates.
    pub fn into_bins(self) -> (IntTensor<B>, IntTensor<B>) {
        match self {
            Self::Bins([maxima, bases]) => (maxima, bases),
            Self::Floats(_) | Self::Peaks(..) => unreachable!("the operation has bins alone"),
        }
    }
}

/// The next tensor.
pub(crate) fn take<T>(tensors: &mut impl Iterator<Item = T>) -> T {
    tensors.next().expect("an operation has all of its tensors")
}

impl<B: Backend> WelchTensors<B> {
    /// The next tensors of a list, in the order of the fields.
    pub(crate) fn take(tensors: &mut impl Iterator<Item = FloatTensor<B>>) -> Self {
        Self { signal: take(tensors), window: take(tensors) }
    }

    /// The tensors in the order of the fields.
    pub(crate) fn into_vec(self) -> Vec<FloatTensor<B>> {
        vec![self.signal, self.window]
    }
}

impl<B: Backend> ButterflyTensors<B> {
    /// Whether there is a gate per butterfly.
    pub(crate) fn gated(&self) -> bool {
        matches!(self.gates, OptionalGates::Given(_))
    }

    /// The next tensors of a list, in the order of the fields.
    pub(crate) fn take(tensors: &mut impl Iterator<Item = FloatTensor<B>>, gated: bool) -> Self {
        let [re, im, twiddles] = std::array::from_fn(|_| take(tensors));
        Self { re, im, twiddles, gates: gated.then(|| take(tensors)).into() }
    }

    /// The tensors in the order of the fields.
    pub(crate) fn into_vec(self) -> Vec<FloatTensor<B>> {
        let mut tensors = vec![self.re, self.im, self.twiddles];
        tensors.extend(self.gates.into_tensor());
        tensors
    }
}

impl<B: Backend> LearnedTensors<B> {
    /// The next tensors of a list, in the order of the fields.
    pub(crate) fn take(tensors: &mut impl Iterator<Item = FloatTensor<B>>) -> Self {
        Self::from_array(std::array::from_fn(|_| take(tensors)))
    }

    /// The tensors in the order of the fields.
    pub(crate) fn into_vec(self) -> Vec<FloatTensor<B>> {
        self.into_array().into()
    }
}

impl<B: Backend> PeakLossTensors<B> {
    /// The next tensors of a list, in the order of the fields.
    pub(crate) fn take(tensors: &mut impl Iterator<Item = FloatTensor<B>>) -> Self {
        let [power, strongest, reference_power, peaks, target_power] = std::array::from_fn(|_| take(tensors));
        Self { power, strongest, reference_power, peaks, target_power }
    }

    /// The tensors in the order of the fields.
    pub(crate) fn into_vec(self) -> Vec<FloatTensor<B>> {
        self.into_array().into()
    }
}

impl<B: Backend> AdamTensors<B> {
    /// The next tensors of a list, in the order of the fields.
    pub(crate) fn take(tensors: &mut impl Iterator<Item = FloatTensor<B>>) -> Self {
        Self { parameter: take(tensors), moment_1: take(tensors), moment_2: take(tensors) }
    }

    /// The tensors in the order of the fields.
    pub(crate) fn into_vec(self) -> Vec<FloatTensor<B>> {
        self.into_array().into()
    }
}

impl<B: Backend> SpectralConvTensors<B> {
    /// The next tensors of a list, in the order of the fields.
    pub(crate) fn take(tensors: &mut impl Iterator<Item = FloatTensor<B>>) -> Self {
        Self { input: take(tensors), weights_re: take(tensors), weights_im: take(tensors) }
    }

    /// The tensors in the order of the fields.
    pub(crate) fn into_vec(self) -> Vec<FloatTensor<B>> {
        vec![self.input, self.weights_re, self.weights_im]
    }
}

impl<B: Backend> LongConvTensors<B> {
    /// Whether there is a gate per output.
    pub(crate) fn gated(&self) -> bool {
        matches!(self.gate, OptionalGates::Given(_))
    }

    /// The next tensors of a list, in the order of the fields.
    pub(crate) fn take(tensors: &mut impl Iterator<Item = FloatTensor<B>>, gated: bool) -> Self {
        Self { signal: take(tensors), kernel: take(tensors), gate: gated.then(|| take(tensors)).into() }
    }

    /// The tensors in the order of the fields.
    pub(crate) fn into_vec(self) -> Vec<FloatTensor<B>> {
        let mut tensors = vec![self.signal, self.kernel];
        tensors.extend(self.gate.into_tensor());
        tensors
    }
}
