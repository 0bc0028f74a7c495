//! Backends whose tensors are in host memory: all of them run the kernels of [`crate::cpu`].

mod tensors;

use burn::backend::TensorMetadata;
use burn::backend::tensor::{FloatTensor, IntTensor};
use burn::tensor::{DType, IntDType, TensorData};

pub(super) use self::tensors::{AsArray, Host};
use self::tensors::{HostReal, like, with_real};
use crate::backends::composed::{columns_as_rows, dct};
use crate::cpu::{
    self, ButterflyGradients, ButterflyTransform, Estimate, EstimateGradients, LongConvGradients, LongConvOperands,
    MelCall, NarrowSamples, PeakLossInputs, SpectralConvGradients,
};
use crate::memory::OutputBuffer;
use crate::op::{Kernels, Needed, inputs};
use crate::options::{
    AdamOptions, FftOptions, LocalMaximaOptions, Logarithm, MelOptions, PeakLossOptions, WelchOptions,
};
use crate::spectral_shape::SpectralShape;

/// The numbers of a tensor that nothing else holds: its own, or a copy.
fn unique<B: Host, T: HostReal>(tensor: FloatTensor<B>) -> B::Array {
    let mut array = B::array(tensor);
    if array.unique_slice::<T>().is_none() {
        let copy = TensorData::new(array.slice::<T>().to_vec(), array.shape().clone());
        array = B::array(B::float(copy));
    }
    array
}

/// Number and length of rows.
fn sizes(rows: &impl AsArray) -> (usize, usize) {
    (rows.shape()[0], rows.shape()[1])
}

/// A signal whose samples are not of the type that kernels compute in.
fn narrow(signal: &impl AsArray) -> Option<NarrowSamples<'_>> {
    Some(match signal.dtype() {
        DType::F16 => NarrowSamples::F16(signal.slice()),
        DType::BF16 => NarrowSamples::BF16(signal.slice()),
        DType::I32 => NarrowSamples::I32(signal.slice()),
        DType::I16 => NarrowSamples::I16(signal.slice()),
        DType::U16 => NarrowSamples::U16(signal.slice()),
        DType::I8 => NarrowSamples::I8(signal.slice()),
        DType::U8 => NarrowSamples::U8(signal.slice()),
        _ => return None,
    })
}

/// Bin numbers, of type `bins`, and power of `k` bins per row, both written by `compute`.
fn selection<B: Host, T: HostReal>(
    rows: usize,
    k: usize,
    bins: IntDType,
    compute: impl FnOnce(&mut [i64], &mut [T]),
) -> (IntTensor<B>, FloatTensor<B>) {
    let (mut numbers, mut power) = (OutputBuffer::<i64>::new(rows * k), OutputBuffer::<T>::new(rows * k));
    compute(&mut numbers, &mut power);
    (B::int(numbers.into_data([rows, k]), bins), B::float(power.into_data([rows, k])))
}

/// Real and imaginary parts `[rows, length]`, both written by `compute`.
fn parts<B: Host, T: HostReal>(
    rows: usize,
    length: usize,
    compute: impl FnOnce(&mut [T], &mut [T]),
) -> [FloatTensor<B>; 2] {
    let [mut re, mut im] = [0; 2].map(|_| OutputBuffer::<T>::new(rows * length));
    compute(&mut re, &mut im);
    [re, im].map(|part| B::float(part.into_data([rows, length])))
}

/// Gradients that have been computed, of the shapes of their inputs.
fn gradients<'a, B: Host<Array: 'a>, T: HostReal>(
    values: impl IntoIterator<Item = (Option<OutputBuffer<T>>, &'a B::Array)>,
) -> Vec<FloatTensor<B>> {
    let computed = values.into_iter().filter_map(|(values, input)| values.zip(Some(input)));
    computed.map(|(values, input)| B::float(values.into_data(input.shape().clone()))).collect()
}

fn zeros<B: Host, T: HostReal>(input: &B::Array) -> OutputBuffer<T> {
    OutputBuffer::zeros(input.shape().num_elements())
}

fn transform<'a, A: AsArray, T: HostReal>(
    n: usize,
    twiddles: &'a A,
    gates: Option<&'a A>,
) -> ButterflyTransform<'a, T> {
    ButterflyTransform { n, twiddles: twiddles.slice(), gates: gates.map(A::slice) }
}

/// The arguments of the losses as the kernels take them, from arrays in the order of [`inputs::PeakLoss`].
fn peak_loss_inputs<A: AsArray, T: HostReal>(arrays: &[A; 5]) -> PeakLossInputs<'_, T> {
    let [power, strongest, reference_power, peaks, target_power] = arrays.each_ref().map(A::slice);
    PeakLossInputs { power, strongest, reference_power, peaks, target_power }
}

/// The Welch estimate with a window and a gain as the kernels take it.
fn estimate<'a, A: AsArray, T: HostReal>(
    window: &'a A,
    gain: Option<&'a A>,
    options: &'a WelchOptions,
) -> Estimate<'a, T> {
    Estimate::new(window.slice(), gain.map(A::slice), options)
}

/// A long convolution as the kernels take it.
fn convolution<'a, A: AsArray, T: HostReal>(
    signal: &'a A,
    kernel: &'a A,
    gate: Option<&'a A>,
) -> LongConvOperands<'a, T> {
    let (channels, n) = (signal.shape()[1], signal.shape()[2]);
    LongConvOperands { signal: signal.slice(), kernel: kernel.slice(), gate: gate.map(A::slice), channels, n }
}

impl<B: Host> Kernels for B {
    fn samples(integers: IntTensor<B>) -> FloatTensor<B> {
        <B as Host>::samples(integers)
    }

    fn welch_psd(inputs: inputs::WelchPsd<FloatTensor<B>>, options: WelchOptions) -> [FloatTensor<B>; 1] {
        let [signal, window] = [inputs.signal, inputs.window].map(B::array);
        let gain = inputs.gain.map(B::array);
        let ((rows, frame), bins) = (sizes(&signal), options.bins());
        if let Some(signal) = narrow(&signal) {
            let mut power = OutputBuffer::<f32>::new(rows * bins);
            let estimate = estimate(&window, gain.as_ref(), &options);
            let outputs = power.chunks_mut(NarrowSamples::rows_of_piece(frame) * bins);
            signal.in_pieces(frame, outputs, |signal, power| cpu::welch_psd::<f32>(signal, frame, &estimate, power));
            return [B::float(power.into_data([rows, bins]))];
        }
        with_real!(signal.dtype(), T => {
            let mut power = OutputBuffer::<T>::new(rows * bins);
            let estimate = estimate(&window, gain.as_ref(), &options);
            cpu::welch_psd::<T>(signal.slice(), frame, &estimate, &mut power);
            [B::float(power.into_data([rows, bins]))]
        })
    }

    fn welch_psd_backward(
        inputs: inputs::WelchPsdBackward<FloatTensor<B>>,
        options: WelchOptions,
        needed: Needed,
    ) -> Vec<FloatTensor<B>> {
        let [signal, window, grad_power] = [inputs.signal, inputs.window, inputs.grad_power].map(B::array);
        let gain = inputs.gain.map(B::array);
        let (_, frame) = sizes(&signal);
        with_real!(signal.dtype(), T => {
            let estimate = estimate(&window, gain.as_ref(), &options);
            let inputs = [Some(&signal), Some(&window), gain.as_ref()];
            let new = |input: usize| inputs[input].filter(|_| needed.has(input)).map(zeros::<B, T>);
            let mut into: [_; 3] = std::array::from_fn(new);
            let [of_signal, of_window, of_gain] = into.each_mut().map(Option::as_deref_mut);
            let slots = EstimateGradients { signal: of_signal, window: of_window, gain: of_gain };
            cpu::welch_psd_backward::<T>(signal.slice(), frame, &estimate, grad_power.slice(), slots);
            gradients::<B, T>(into.into_iter().zip(inputs.into_iter().flatten()))
        })
    }

    fn welch_peaks(
        inputs: inputs::WelchPeaks<FloatTensor<B>>,
        options: WelchOptions,
        k: usize,
        bins: IntDType,
    ) -> (IntTensor<B>, FloatTensor<B>) {
        let [signal, window] = [inputs.signal, inputs.window].map(B::array);
        let gain = inputs.gain.map(B::array);
        let (rows, frame) = sizes(&signal);
        if let Some(signal) = narrow(&signal) {
            let (estimate, piece) =
                (estimate(&window, gain.as_ref(), &options), NarrowSamples::rows_of_piece(frame) * k);
            return selection::<B, f32>(rows, k, bins, |numbers, power| {
                let outputs = numbers.chunks_mut(piece).zip(power.chunks_mut(piece));
                signal.in_pieces(frame, outputs, |signal, (numbers, power)| {
                    cpu::welch_peaks::<f32>(signal, frame, &estimate, k, numbers, power);
                });
            });
        }
        with_real!(signal.dtype(), T => selection::<B, T>(rows, k, bins, |numbers, power| {
            let estimate = estimate(&window, gain.as_ref(), &options);
            cpu::welch_peaks::<T>(signal.slice(), frame, &estimate, k, numbers, power);
        }))
    }

    fn top_k(inputs: inputs::TopK<FloatTensor<B>>, k: usize, bins: IntDType) -> (IntTensor<B>, FloatTensor<B>) {
        let values = B::array(inputs.values);
        let (rows, length) = sizes(&values);
        with_real!(values.dtype(), T => selection::<B, T>(rows, k, bins, |numbers, largest| {
            cpu::top_k::<T>(values.slice(), length, k, numbers, largest);
        }))
    }

    fn local_maxima(
        inputs: inputs::LocalMaxima<FloatTensor<B>>,
        options: LocalMaximaOptions,
        k: usize,
        bins: IntDType,
    ) -> [IntTensor<B>; 2] {
        let values = B::array(inputs.values);
        let (rows, length) = sizes(&values);
        let [mut maxima, mut bases] = [0; 2].map(|_| OutputBuffer::<i64>::new(rows * k));
        with_real!(values.dtype(), T => {
            cpu::local_maxima::<T>(values.slice(), length, &options, k, &mut maxima, &mut bases);
        });
        [maxima, bases].map(|found| B::int(found.into_data([rows, k]), bins))
    }

    fn butterfly(inputs: inputs::Butterfly<FloatTensor<B>>) -> [FloatTensor<B>; 2] {
        let [re, im, twiddles] = [inputs.re, inputs.im, inputs.twiddles].map(B::array);
        let gates = inputs.gates.map(B::array);
        let (rows, n) = sizes(&re);
        with_real!(re.dtype(), T => {
            let transform = transform::<_, T>(n, &twiddles, gates.as_ref());
            parts::<B, T>(rows, n, |out_re, out_im| {
                cpu::butterfly(re.slice(), im.slice(), &transform, out_re, out_im);
            })
        })
    }

    fn butterfly_backward(inputs: inputs::ButterflyBackward<FloatTensor<B>>, needed: Needed) -> Vec<FloatTensor<B>> {
        let [re, im, twiddles] = [inputs.re, inputs.im, inputs.twiddles].map(B::array);
        let [grad_re, grad_im] = [inputs.grad_re, inputs.grad_im].map(B::array);
        let gates = inputs.gates.map(B::array);
        with_real!(re.dtype(), T => {
            let transform = transform::<_, T>(re.shape()[1], &twiddles, gates.as_ref());
            let inputs = [Some(&re), Some(&im), Some(&twiddles), gates.as_ref()];
            let mut into: [_; 4] = std::array::from_fn(|input| inputs[input].filter(|_| needed.has(input)).map(like::<B, T>));
            let [re_into, im_into, twiddles_into, gates_into] = into.each_mut().map(Option::as_deref_mut);
            let slots = ButterflyGradients { re: re_into, im: im_into, twiddles: twiddles_into, gates: gates_into };
            cpu::butterfly_backward(re.slice(), im.slice(), &transform, grad_re.slice(), grad_im.slice(), slots);
            gradients::<B, T>(into.into_iter().zip(inputs.into_iter().flatten()))
        })
    }

    fn complex_fft(inputs: inputs::ComplexFft<FloatTensor<B>>, options: FftOptions) -> [FloatTensor<B>; 2] {
        let [mut re, mut im] = [inputs.re, inputs.im].map(B::array);
        let (rows, width) = sizes(&re);
        with_real!(re.dtype(), T => {
            if width == options.length
                && let (Some(re_values), Some(im_values)) = (re.unique_slice::<T>(), im.unique_slice())
            {
                cpu::complex_fft_in_place(&options, [re_values, im_values]);
                return [re, im].map(B::tensor);
            }
            parts::<B, T>(rows, options.length, |out_re, out_im| {
                cpu::complex_fft::<T>([re.slice(), im.slice()], width, &options, [out_re, out_im]);
            })
        })
    }

    fn complex_fft_columns(
        inputs: inputs::ComplexFftColumns<FloatTensor<B>>,
        options: FftOptions,
    ) -> [FloatTensor<B>; 2] {
        let shape = inputs.re.shape();
        let width = shape[2];
        if inputs.re.dtype() != DType::F32 || !cpu::columns_fill_lanes(options.length, width) {
            return columns_as_rows::<B>(inputs, options);
        }
        let [re, im] = [inputs.re, inputs.im].map(B::array);
        let [mut out_re, mut out_im] = [0; 2].map(|_| like::<B, f32>(&re));
        cpu::complex_fft_columns([re.slice(), im.slice()], width, &options, [&mut out_re, &mut out_im]);
        [out_re, out_im].map(|part| B::float(part.into_data(shape.clone())))
    }

    fn real_fft(inputs: inputs::RealFft<FloatTensor<B>>, options: FftOptions) -> [FloatTensor<B>; 2] {
        let signal = B::array(inputs.signal);
        let (rows, width) = sizes(&signal);
        with_real!(signal.dtype(), T => parts::<B, T>(rows, options.bins(), |out_re, out_im| {
            cpu::real_fft::<T>(signal.slice(), width, &options, [out_re, out_im]);
        }))
    }

    fn inverse_real_fft(inputs: inputs::InverseRealFft<FloatTensor<B>>, options: FftOptions) -> [FloatTensor<B>; 1] {
        let [re, im] = [inputs.re, inputs.im].map(B::array);
        let (rows, width) = sizes(&re);
        with_real!(re.dtype(), T => {
            let mut signal = OutputBuffer::<T>::new(rows * options.length);
            cpu::inverse_real_fft::<T>([re.slice(), im.slice()], width, &options, &mut signal);
            [B::float(signal.into_data([rows, options.length]))]
        })
    }

    fn dct(inputs: inputs::Dct<FloatTensor<B>>, is_transposed: bool, scale: f64, first: f64) -> [FloatTensor<B>; 1] {
        dct::<B>(inputs, is_transposed, scale, first)
    }

    fn mel(
        inputs: inputs::Mel<FloatTensor<B>>,
        options: MelOptions,
        logarithm: Option<Logarithm>,
    ) -> [FloatTensor<B>; 1] {
        let [signal, window] = [inputs.signal, inputs.window].map(B::array);
        let (rows, samples) = sizes(&signal);
        let shape = [rows, options.bands.count, options.stft.frames(samples)];
        if let Some(signal) = narrow(&signal) {
            let mut bands = OutputBuffer::<f32>::new(shape.iter().product());
            let call = MelCall { samples, window: window.slice(), options: &options, logarithm: logarithm.as_ref() };
            let outputs = bands.chunks_mut((NarrowSamples::rows_of_piece(samples) * shape[1] * shape[2]).max(1));
            signal.in_pieces(samples, outputs, |signal, bands| cpu::mel::<f32>(signal, &call, bands));
            return [B::float(bands.into_data(shape))];
        }
        with_real!(signal.dtype(), T => {
            let mut bands = OutputBuffer::<T>::new(shape.iter().product());
            let call =
                MelCall { samples, window: window.slice(), options: &options, logarithm: logarithm.as_ref() };
            cpu::mel::<T>(signal.slice(), &call, &mut bands);
            [B::float(bands.into_data(shape))]
        })
    }

    fn mel_backward(
        inputs: inputs::MelBackward<FloatTensor<B>>,
        options: MelOptions,
        logarithm: Option<Logarithm>,
        needed: Needed,
    ) -> Vec<FloatTensor<B>> {
        let [signal, window, grad] = [inputs.signal, inputs.window, inputs.grad_bands].map(B::array);
        let (_, samples) = sizes(&signal);
        with_real!(signal.dtype(), T => {
            let mut of_signal = needed.has(0).then(|| zeros::<B, T>(&signal));
            let mut of_window = needed.has(1).then(|| zeros::<B, T>(&window));
            let call =
                MelCall { samples, window: window.slice(), options: &options, logarithm: logarithm.as_ref() };
            let into = [of_signal.as_deref_mut(), of_window.as_deref_mut()];
            cpu::mel_backward::<T>(signal.slice(), &call, grad.slice(), into);
            gradients::<B, T>([(of_signal, &signal), (of_window, &window)])
        })
    }

    fn peak_loss(inputs: inputs::PeakLoss<FloatTensor<B>>, options: PeakLossOptions) -> [FloatTensor<B>; 1] {
        let inputs::PeakLoss { power, strongest, reference_power, peaks, target_power } = inputs;
        let arrays = [power, strongest, reference_power, peaks, target_power].map(B::array);
        let (rows, _) = sizes(&arrays[0]);
        with_real!(arrays[0].dtype(), T => {
            let mut losses = OutputBuffer::<T>::new(rows * 2);
            cpu::peak_loss::<T>(&peak_loss_inputs(&arrays), &options, &mut losses);
            [B::float(losses.into_data([rows, 2]))]
        })
    }

    fn peak_loss_backward(
        inputs: inputs::PeakLossBackward<FloatTensor<B>>,
        options: PeakLossOptions,
        needed: Needed,
    ) -> Vec<FloatTensor<B>> {
        if !needed.has(0) {
            return Vec::new();
        }
        let inputs::PeakLossBackward { power, strongest, reference_power, peaks, target_power, grad_losses } = inputs;
        let arrays = [power, strongest, reference_power, peaks, target_power].map(B::array);
        let grad = B::array(grad_losses);
        with_real!(arrays[0].dtype(), T => {
            let mut of_power = like::<B, T>(&arrays[0]);
            cpu::peak_loss_backward::<T>(&peak_loss_inputs(&arrays), grad.slice(), &options, &mut of_power);
            gradients::<B, T>([(Some(of_power), &arrays[0])])
        })
    }

    fn adam_step(inputs: inputs::AdamStep<FloatTensor<B>>, options: AdamOptions) -> [FloatTensor<B>; 3] {
        let gradient = B::array(inputs.gradient);
        with_real!(gradient.dtype(), T => {
            let mut state = [inputs.parameter, inputs.moment_1, inputs.moment_2].map(unique::<B, T>);
            let values = state.each_mut().map(|array| array.unique_slice::<T>().expect("nothing else holds it"));
            cpu::adam_step::<T>(values, gradient.slice(), &options);
            state.map(B::tensor)
        })
    }

    fn spectral_conv(inputs: inputs::SpectralConv<FloatTensor<B>>) -> [FloatTensor<B>; 1] {
        let [input, re, im] = [inputs.input, inputs.weights_re, inputs.weights_im].map(B::array);
        let sizes = SpectralShape::of(input.shape(), re.shape());
        let mut shape = input.shape().clone();
        shape[1] = sizes.outputs;
        with_real!(input.dtype(), T => {
            let mut output = OutputBuffer::<T>::new(shape.num_elements());
            cpu::spectral_conv::<T>(input.slice(), [re.slice(), im.slice()], &sizes, &mut output);
            [B::float(output.into_data(shape))]
        })
    }

    fn spectral_conv_backward(
        inputs: inputs::SpectralConvBackward<FloatTensor<B>>,
        needed: Needed,
    ) -> Vec<FloatTensor<B>> {
        let [input, re, im] = [inputs.input, inputs.weights_re, inputs.weights_im].map(B::array);
        let grad = B::array(inputs.grad_output);
        let sizes = SpectralShape::of(input.shape(), re.shape());
        let of_weights = needed.has(1) || needed.has(2);
        with_real!(input.dtype(), T => {
            let mut into_input = needed.has(0).then(|| like::<B, T>(&input));
            let mut into_weights = of_weights.then(|| [&re, &im].map(like::<B, T>));
            let mut workspace = OutputBuffer::<T>::new(cpu::workspace_len(&sizes, of_weights));
            let into = SpectralConvGradients {
                input: into_input.as_deref_mut(),
                weights: into_weights.as_mut().map(|parts| parts.each_mut().map(|part| &mut **part)),
            };
            let weights = [re.slice(), im.slice()];
            cpu::spectral_conv_backward::<T>(input.slice(), weights, &sizes, grad.slice(), into, &mut workspace);
            // The gradients of both parts of the weights are computed together.
            let [into_re, into_im] = into_weights.map_or([None, None], |parts| parts.map(Some));
            let into_re = into_re.filter(|_| needed.has(1));
            let into_im = into_im.filter(|_| needed.has(2));
            gradients::<B, T>([(into_input, &input), (into_re, &re), (into_im, &im)])
        })
    }

    fn long_conv(inputs: inputs::LongConv<FloatTensor<B>>) -> [FloatTensor<B>; 1] {
        let [signal, kernel] = [inputs.signal, inputs.kernel].map(B::array);
        let gate = inputs.gate.map(B::array);
        with_real!(signal.dtype(), T => {
            let mut output = like::<B, T>(&signal);
            cpu::long_conv::<T>(&convolution(&signal, &kernel, gate.as_ref()), &mut output);
            [B::float(output.into_data(signal.shape().clone()))]
        })
    }

    fn long_conv_backward(inputs: inputs::LongConvBackward<FloatTensor<B>>, needed: Needed) -> Vec<FloatTensor<B>> {
        let [signal, kernel, grad] = [inputs.signal, inputs.kernel, inputs.grad_output].map(B::array);
        let gate = inputs.gate.map(B::array);
        with_real!(signal.dtype(), T => {
            let inputs = [Some(&signal), Some(&kernel), gate.as_ref()];
            let mut into: [_; 3] = std::array::from_fn(|input| inputs[input].filter(|_| needed.has(input)).map(like::<B, T>));
            let [signal_into, kernel_into, gate_into] = into.each_mut().map(Option::as_deref_mut);
            let slots = LongConvGradients { signal: signal_into, kernel: kernel_into, gate: gate_into };
            cpu::long_conv_backward::<T>(&convolution(&signal, &kernel, gate.as_ref()), grad.slice(), slots);
            gradients::<B, T>(into.into_iter().zip(inputs.into_iter().flatten()))
        })
    }
}
