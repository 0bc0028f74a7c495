//! Backends that treat operations as data: an operation is its descriptor and a list of tensors.

#[cfg(any(feature = "fusion", feature = "router"))]
use burn::backend::Backend;

#[cfg(any(feature = "fusion", feature = "router"))]
use crate::descriptor::{OpDescriptor, OperationOutputs, take};

/// The outputs of a recorded operation on a backend whose tensors are of one type, whatever they hold.
#[cfg(any(feature = "fusion", feature = "router"))]
pub(super) fn outputs<B, T>(operation: OpDescriptor, tensors: Vec<T>) -> OperationOutputs<B>
where
    B: Backend<FloatTensorPrimitive = T, IntTensorPrimitive = T>,
{
    let mut tensors = tensors.into_iter();
    if operation.selects() {
        let bins = take(&mut tensors);
        return OperationOutputs::Peaks(bins, take(&mut tensors));
    }
    if operation.locates() {
        return OperationOutputs::Bins([take(&mut tensors), take(&mut tensors)]);
    }
    OperationOutputs::Floats(tensors.collect())
}

/// The methods of [`SpectralOps`](crate::SpectralOps) for a backend that treats operations as data:
/// `$apply(descriptor, inputs)` gives the [`OperationOutputs`].
macro_rules! operations_as_data {
    ($apply:path) => {
        fn welch_psd(inputs: WelchTensors<Self>, options: WelchOptions) -> FloatTensor<Self> {
            take(&mut $apply(OpDescriptor::WelchPsd { options }, inputs.into_vec()).into_floats())
        }

        fn welch_psd_backward(
            inputs: WelchTensors<Self>,
            grad_power: FloatTensor<Self>,
            options: WelchOptions,
        ) -> WelchTensors<Self> {
            let inputs = [inputs.into_vec(), vec![grad_power]].concat();
            WelchTensors::take(&mut $apply(OpDescriptor::WelchPsdBackward { options }, inputs).into_floats())
        }

        fn welch_peaks(
            inputs: WelchTensors<Self>,
            options: WelchOptions,
            k: usize,
            bins: IntDType,
        ) -> (IntTensor<Self>, FloatTensor<Self>) {
            $apply(OpDescriptor::WelchPeaks { options, k, bins }, inputs.into_vec()).into_peaks()
        }

        fn top_k(values: FloatTensor<Self>, k: usize, bins: IntDType) -> (IntTensor<Self>, FloatTensor<Self>) {
            $apply(OpDescriptor::TopK { k, bins }, vec![values]).into_peaks()
        }

        fn local_maxima(
            values: FloatTensor<Self>,
            options: LocalMaximaOptions,
            k: usize,
            bins: IntDType,
        ) -> (IntTensor<Self>, IntTensor<Self>) {
            $apply(OpDescriptor::LocalMaxima { options, k, bins }, vec![values]).into_bins()
        }

        fn butterfly(inputs: ButterflyTensors<Self>) -> (FloatTensor<Self>, FloatTensor<Self>) {
            let operation = OpDescriptor::Butterfly { gated: inputs.gated() };
            let mut parts = $apply(operation, inputs.into_vec()).into_floats();
            (take(&mut parts), take(&mut parts))
        }

        fn butterfly_backward(
            inputs: ButterflyTensors<Self>,
            grad_re: FloatTensor<Self>,
            grad_im: FloatTensor<Self>,
        ) -> ButterflyTensors<Self> {
            let gated = inputs.gated();
            let inputs = [inputs.into_vec(), vec![grad_re, grad_im]].concat();
            let mut gradients = $apply(OpDescriptor::ButterflyBackward { gated }, inputs).into_floats();
            ButterflyTensors::take(&mut gradients, gated)
        }

        fn learned_welch_psd(inputs: LearnedTensors<Self>, options: WelchOptions) -> FloatTensor<Self> {
            take(&mut $apply(OpDescriptor::LearnedWelchPsd { options }, inputs.into_vec()).into_floats())
        }

        fn learned_welch_psd_backward(
            inputs: LearnedTensors<Self>,
            grad_power: FloatTensor<Self>,
            options: WelchOptions,
            requires_grad: [bool; 6],
        ) -> LearnedTensors<Self> {
            let operation = OpDescriptor::LearnedWelchPsdBackward { options, requires_grad };
            let inputs = [inputs.into_vec(), vec![grad_power]].concat();
            LearnedTensors::take(&mut $apply(operation, inputs).into_floats())
        }

        fn learned_welch_peaks(
            inputs: LearnedTensors<Self>,
            options: WelchOptions,
            k: usize,
            bins: IntDType,
        ) -> (IntTensor<Self>, FloatTensor<Self>) {
            $apply(OpDescriptor::LearnedWelchPeaks { options, k, bins }, inputs.into_vec()).into_peaks()
        }

        fn complex_fft(
            re: FloatTensor<Self>,
            im: FloatTensor<Self>,
            options: FftOptions,
        ) -> (FloatTensor<Self>, FloatTensor<Self>) {
            let mut parts = $apply(OpDescriptor::ComplexFft { options }, vec![re, im]).into_floats();
            (take(&mut parts), take(&mut parts))
        }

        fn complex_fft_columns(
            re: FloatTensor<Self>,
            im: FloatTensor<Self>,
            options: FftOptions,
        ) -> (FloatTensor<Self>, FloatTensor<Self>) {
            let mut parts = $apply(OpDescriptor::ComplexFftColumns { options }, vec![re, im]).into_floats();
            (take(&mut parts), take(&mut parts))
        }

        fn real_fft(signal: FloatTensor<Self>, options: FftOptions) -> (FloatTensor<Self>, FloatTensor<Self>) {
            let mut parts = $apply(OpDescriptor::RealFft { options }, vec![signal]).into_floats();
            (take(&mut parts), take(&mut parts))
        }

        fn inverse_real_fft(re: FloatTensor<Self>, im: FloatTensor<Self>, options: FftOptions) -> FloatTensor<Self> {
            take(&mut $apply(OpDescriptor::InverseRealFft { options }, vec![re, im]).into_floats())
        }

        fn mel(
            signal: FloatTensor<Self>,
            window: FloatTensor<Self>,
            options: MelOptions,
            logarithm: Option<Logarithm>,
        ) -> FloatTensor<Self> {
            take(&mut $apply(OpDescriptor::Mel { options, logarithm }, vec![signal, window]).into_floats())
        }

        fn mel_backward(
            signal: FloatTensor<Self>,
            window: FloatTensor<Self>,
            grad_bands: FloatTensor<Self>,
            options: MelOptions,
            logarithm: Option<Logarithm>,
            requires_grad: [bool; 2],
        ) -> (FloatTensor<Self>, FloatTensor<Self>) {
            let operation = OpDescriptor::MelBackward { options, logarithm, requires_grad };
            let mut gradients = $apply(operation, vec![signal, window, grad_bands]).into_floats();
            (take(&mut gradients), take(&mut gradients))
        }

        fn peak_loss(inputs: PeakLossTensors<Self>, options: PeakLossOptions) -> FloatTensor<Self> {
            take(&mut $apply(OpDescriptor::PeakLoss { options }, inputs.into_vec()).into_floats())
        }

        fn peak_loss_backward(
            inputs: PeakLossTensors<Self>,
            grad: FloatTensor<Self>,
            options: PeakLossOptions,
        ) -> FloatTensor<Self> {
            let inputs = [inputs.into_vec(), vec![grad]].concat();
            take(&mut $apply(OpDescriptor::PeakLossBackward { options }, inputs).into_floats())
        }

        fn adam_step(state: AdamTensors<Self>, gradient: FloatTensor<Self>, options: AdamOptions) -> AdamTensors<Self> {
            let inputs = [state.into_vec(), vec![gradient]].concat();
            AdamTensors::take(&mut $apply(OpDescriptor::AdamStep { options }, inputs).into_floats())
        }

        fn spectral_conv(inputs: SpectralConvTensors<Self>) -> FloatTensor<Self> {
            take(&mut $apply(OpDescriptor::SpectralConv {}, inputs.into_vec()).into_floats())
        }

        fn spectral_conv_backward(
            inputs: SpectralConvTensors<Self>,
            grad: FloatTensor<Self>,
            requires_grad: [bool; 3],
        ) -> SpectralConvTensors<Self> {
            let inputs = [inputs.into_vec(), vec![grad]].concat();
            let operation = OpDescriptor::SpectralConvBackward { requires_grad };
            SpectralConvTensors::take(&mut $apply(operation, inputs).into_floats())
        }

        fn long_conv(inputs: LongConvTensors<Self>) -> FloatTensor<Self> {
            let operation = OpDescriptor::LongConv { gated: inputs.gated() };
            take(&mut $apply(operation, inputs.into_vec()).into_floats())
        }

        fn long_conv_backward(
            inputs: LongConvTensors<Self>,
            grad: FloatTensor<Self>,
            requires_grad: [bool; 3],
        ) -> LongConvTensors<Self> {
            let gated = inputs.gated();
            let inputs = [inputs.into_vec(), vec![grad]].concat();
            let mut gradients = $apply(OpDescriptor::LongConvBackward { gated, requires_grad }, inputs).into_floats();
            LongConvTensors::take(&mut gradients, gated)
        }
    };
}
pub(super) use operations_as_data;
