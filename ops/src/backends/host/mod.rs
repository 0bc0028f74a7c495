//! Backends whose tensors are in host memory: all of them run the kernels of [`crate::cpu`].

mod long_conv;
mod mel;
mod spectral_conv;
mod tensors;

use burn::backend::TensorMetadata;
use burn::backend::tensor::{FloatTensor, IntTensor};
use burn::tensor::{DType, IntDType, Shape, TensorData};

pub(super) use self::tensors::{AsArray, Host};
use self::tensors::{HostReal, like, with_real};
use crate::backends::columns_as_rows::columns_as_rows;
use crate::cpu::{self, ButterflyGradients, ButterflyTransform, LearnedGradients, LearnedWelch, PeakLossInputs};
use crate::memory::OutputBuffer;
use crate::ops::{
    AdamTensors, ButterflyTensors, LearnedTensors, LongConvTensors, PeakLossTensors, SpectralConvTensors, SpectralOps,
    WelchTensors,
};
use crate::options::{
    AdamOptions, FftOptions, LocalMaximaOptions, Logarithm, MelOptions, PeakLossOptions, WelchOptions,
};

fn float<B: Host, T: HostReal>(values: Vec<T>, shape: impl Into<Shape>) -> FloatTensor<B> {
    B::float(TensorData::new(values, shape.into()))
}

fn zeros<T: HostReal>(shape: &Shape) -> Vec<T> {
    vec![T::zero(); shape.num_elements()]
}

/// The numbers of a tensor that nothing else holds: its own, or a copy.
fn unique<B: Host, T: HostReal>(tensor: FloatTensor<B>) -> B::Array {
    let mut array = B::array(tensor);
    if array.unique_slice::<T>().is_none() {
        let copy = float::<B, T>(array.slice::<T>().to_vec(), array.shape().clone());
        array = B::array(copy);
    }
    array
}

/// Batch and frame length.
fn sizes(signal: &impl AsArray) -> (usize, usize) {
    (signal.shape()[0], signal.shape()[1])
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
) -> (FloatTensor<B>, FloatTensor<B>) {
    let [mut re, mut im] = [0; 2].map(|_| OutputBuffer::<T>::new(rows * length));
    compute(&mut re, &mut im);
    (B::float(re.into_data([rows, length])), B::float(im.into_data([rows, length])))
}

fn transform<'a, A: AsArray, T: HostReal>(
    n: usize,
    twiddles: &'a A,
    gates: Option<&'a A>,
) -> ButterflyTransform<'a, T> {
    ButterflyTransform { n, twiddles: twiddles.slice(), gates: gates.map(A::slice) }
}

/// The arguments of the losses as the kernels take them, from arrays in the order of [`PeakLossTensors`].
fn peak_loss_inputs<A: AsArray, T: HostReal>(arrays: &[A; 5]) -> PeakLossInputs<'_, T> {
    let [power, strongest, reference_power, peaks, target_power] = arrays.each_ref().map(A::slice);
    PeakLossInputs { power, strongest, reference_power, peaks, target_power }
}

/// The parameters of a learned estimate as the kernels take them, from arrays in the order of [`LearnedTensors`].
fn learned<'a, A: AsArray, T: HostReal>(arrays: &'a [A; 6], options: &'a WelchOptions) -> LearnedWelch<'a, T> {
    let [_, window, twiddles, gates, weights, gain] = arrays;
    LearnedWelch {
        window: window.slice(),
        transform: transform(options.n_fft, twiddles, Some(gates)),
        weights: weights.slice(),
        gain: Some(gain.slice()),
        options,
    }
}

impl<B: Host> SpectralOps for B {
    fn welch_psd(inputs: WelchTensors<B>, options: WelchOptions) -> FloatTensor<B> {
        let (signal, window) = (B::array(inputs.signal), B::array(inputs.window));
        let (rows, frame) = sizes(&signal);
        with_real!(signal.dtype(), T => {
            let mut power = OutputBuffer::<T>::new(rows * options.bins());
            cpu::welch_psd::<T>(signal.slice(), frame, window.slice(), &options, &mut power);
            B::float(power.into_data([rows, options.bins()]))
        })
    }

    fn welch_psd_backward(
        inputs: WelchTensors<B>,
        grad_power: FloatTensor<B>,
        options: WelchOptions,
    ) -> WelchTensors<B> {
        let [signal, window, grad_power] = [inputs.signal, inputs.window, grad_power].map(B::array);
        let (_, frame) = sizes(&signal);
        with_real!(signal.dtype(), T => {
            let (mut grad_signal, mut grad_window) = (zeros::<T>(signal.shape()), zeros::<T>(window.shape()));
            cpu::welch_psd_backward::<T>(
                signal.slice(),
                frame,
                window.slice(),
                &options,
                grad_power.slice(),
                Some(&mut grad_signal),
                Some(&mut grad_window),
            );
            WelchTensors {
                signal: float::<B, T>(grad_signal, signal.shape().clone()),
                window: float::<B, T>(grad_window, window.shape().clone()),
            }
        })
    }

    fn welch_peaks(
        inputs: WelchTensors<B>,
        options: WelchOptions,
        k: usize,
        bins: IntDType,
    ) -> (IntTensor<B>, FloatTensor<B>) {
        let (signal, window) = (B::array(inputs.signal), B::array(inputs.window));
        let (rows, frame) = sizes(&signal);
        with_real!(signal.dtype(), T => selection::<B, T>(rows, k, bins, |numbers, power| {
            cpu::welch_peaks::<T>(signal.slice(), frame, window.slice(), &options, k, numbers, power);
        }))
    }

    fn top_k(values: FloatTensor<B>, k: usize, bins: IntDType) -> (IntTensor<B>, FloatTensor<B>) {
        let values = B::array(values);
        let (rows, length) = sizes(&values);
        with_real!(values.dtype(), T => selection::<B, T>(rows, k, bins, |numbers, largest| {
            cpu::top_k::<T>(values.slice(), length, k, numbers, largest);
        }))
    }

    fn local_maxima(
        values: FloatTensor<B>,
        options: LocalMaximaOptions,
        k: usize,
        bins: IntDType,
    ) -> (IntTensor<B>, IntTensor<B>) {
        let values = B::array(values);
        let (rows, length) = sizes(&values);
        let [mut maxima, mut bases] = [0; 2].map(|_| OutputBuffer::<i64>::new(rows * k));
        with_real!(values.dtype(), T => {
            cpu::local_maxima::<T>(values.slice(), length, &options, k, &mut maxima, &mut bases);
        });
        (B::int(maxima.into_data([rows, k]), bins), B::int(bases.into_data([rows, k]), bins))
    }

    fn butterfly(inputs: ButterflyTensors<B>) -> (FloatTensor<B>, FloatTensor<B>) {
        let [re, im, twiddles] = [inputs.re, inputs.im, inputs.twiddles].map(B::array);
        let gates = inputs.gates.into_tensor().map(B::array);
        with_real!(re.dtype(), T => {
            let transform = transform::<_, T>(re.shape()[1], &twiddles, gates.as_ref());
            let [mut out_re, mut out_im] = [&re, &im].map(|part| OutputBuffer::<T>::new(part.shape().num_elements()));
            cpu::butterfly(re.slice(), im.slice(), &transform, &mut out_re, &mut out_im);
            (B::float(out_re.into_data(re.shape().clone())), B::float(out_im.into_data(re.shape().clone())))
        })
    }

    fn butterfly_backward(
        inputs: ButterflyTensors<B>,
        grad_re: FloatTensor<B>,
        grad_im: FloatTensor<B>,
    ) -> ButterflyTensors<B> {
        let [re, im, twiddles] = [inputs.re, inputs.im, inputs.twiddles].map(B::array);
        let [grad_re, grad_im] = [grad_re, grad_im].map(B::array);
        let gates = inputs.gates.into_tensor().map(B::array);
        with_real!(re.dtype(), T => {
            let transform = transform::<_, T>(re.shape()[1], &twiddles, gates.as_ref());
            let [mut of_re, mut of_im, mut of_twiddles] = [&re, &im, &twiddles].map(like::<B, T>);
            let mut of_gates = gates.as_ref().map(like::<B, T>);
            let gradients = ButterflyGradients {
                re: Some(&mut of_re),
                im: Some(&mut of_im),
                twiddles: Some(&mut of_twiddles),
                gates: of_gates.as_deref_mut(),
            };
            cpu::butterfly_backward(re.slice(), im.slice(), &transform, grad_re.slice(), grad_im.slice(), gradients);
            let tensor = |values: OutputBuffer<T>, input: &B::Array| B::float(values.into_data(input.shape().clone()));
            ButterflyTensors {
                re: tensor(of_re, &re),
                im: tensor(of_im, &im),
                twiddles: tensor(of_twiddles, &twiddles),
                gates: of_gates.zip(gates.as_ref()).map(|(values, input)| tensor(values, input)).into(),
            }
        })
    }

    fn learned_welch_psd(inputs: LearnedTensors<B>, options: WelchOptions) -> FloatTensor<B> {
        let arrays = inputs.into_array().map(B::array);
        let (rows, frame) = sizes(&arrays[0]);
        with_real!(arrays[0].dtype(), T => {
            let mut power = OutputBuffer::<T>::new(rows * options.bins());
            cpu::learned_welch_psd::<T>(arrays[0].slice(), frame, &learned(&arrays, &options), &mut power);
            B::float(power.into_data([rows, options.bins()]))
        })
    }

    /// The gradients that are not required are zero.
    fn learned_welch_psd_backward(
        inputs: LearnedTensors<B>,
        grad_power: FloatTensor<B>,
        options: WelchOptions,
        requires_grad: [bool; 6],
    ) -> LearnedTensors<B> {
        let arrays = inputs.into_array().map(B::array);
        let grad_power = B::array(grad_power);
        let (_, frame) = sizes(&arrays[0]);
        with_real!(arrays[0].dtype(), T => {
            let mut into = arrays.each_ref().map(|input| zeros::<T>(input.shape()));
            let slots = into.iter_mut().zip(requires_grad);
            let mut slots = slots.map(|(into, is_needed)| is_needed.then_some(&mut into[..]));
            let [signal, window, twiddles, gates, weights, gain] = std::array::from_fn(|_| slots.next().flatten());
            let gradients = LearnedGradients { signal, window, twiddles, gates, weights, gain };
            let model = learned(&arrays, &options);
            cpu::learned_welch_psd_backward::<T>(arrays[0].slice(), frame, &model, grad_power.slice(), gradients);
            let mut shapes = arrays.iter().map(AsArray::shape);
            LearnedTensors::from_array(into.map(|values| {
                let shape = shapes.next().expect("a gradient has the shape of its input");
                float::<B, T>(values, shape.clone())
            }))
        })
    }

    fn learned_welch_peaks(
        inputs: LearnedTensors<B>,
        options: WelchOptions,
        k: usize,
        bins: IntDType,
    ) -> (IntTensor<B>, FloatTensor<B>) {
        let arrays = inputs.into_array().map(B::array);
        let (rows, frame) = sizes(&arrays[0]);
        with_real!(arrays[0].dtype(), T => selection::<B, T>(rows, k, bins, |numbers, power| {
            let model = learned(&arrays, &options);
            cpu::learned_welch_peaks::<T>(arrays[0].slice(), frame, &model, k, numbers, power);
        }))
    }

    fn complex_fft(re: FloatTensor<B>, im: FloatTensor<B>, options: FftOptions) -> (FloatTensor<B>, FloatTensor<B>) {
        let [mut re, mut im] = [re, im].map(B::array);
        let (rows, width) = sizes(&re);
        with_real!(re.dtype(), T => {
            if width == options.length
                && let (Some(re_values), Some(im_values)) = (re.unique_slice::<T>(), im.unique_slice())
            {
                cpu::complex_fft_in_place(&options, [re_values, im_values]);
                return (B::tensor(re), B::tensor(im));
            }
            parts::<B, T>(rows, options.length, |out_re, out_im| {
                cpu::complex_fft::<T>([re.slice(), im.slice()], width, &options, [out_re, out_im]);
            })
        })
    }

    fn complex_fft_columns(
        re: FloatTensor<B>,
        im: FloatTensor<B>,
        options: FftOptions,
    ) -> (FloatTensor<B>, FloatTensor<B>) {
        let shape = re.shape();
        let width = shape[2];
        if re.dtype() != DType::F32 || !cpu::columns_fill_lanes(options.length, width) {
            return columns_as_rows::<B>(re, im, options);
        }
        let [re, im] = [re, im].map(B::array);
        let [mut out_re, mut out_im] = [0; 2].map(|_| like::<B, f32>(&re));
        cpu::complex_fft_columns([re.slice(), im.slice()], width, &options, [&mut out_re, &mut out_im]);
        (B::float(out_re.into_data(shape.clone())), B::float(out_im.into_data(shape)))
    }

    fn real_fft(signal: FloatTensor<B>, options: FftOptions) -> (FloatTensor<B>, FloatTensor<B>) {
        let signal = B::array(signal);
        let (rows, width) = sizes(&signal);
        with_real!(signal.dtype(), T => parts::<B, T>(rows, options.bins(), |out_re, out_im| {
            cpu::real_fft::<T>(signal.slice(), width, &options, [out_re, out_im]);
        }))
    }

    fn inverse_real_fft(re: FloatTensor<B>, im: FloatTensor<B>, options: FftOptions) -> FloatTensor<B> {
        let [re, im] = [re, im].map(B::array);
        let (rows, width) = sizes(&re);
        with_real!(re.dtype(), T => {
            let mut signal = OutputBuffer::<T>::new(rows * options.length);
            cpu::inverse_real_fft::<T>([re.slice(), im.slice()], width, &options, &mut signal);
            B::float(signal.into_data([rows, options.length]))
        })
    }

    fn mel(
        signal: FloatTensor<B>,
        window: FloatTensor<B>,
        options: MelOptions,
        logarithm: Option<Logarithm>,
    ) -> FloatTensor<B> {
        mel::forward::<B>(signal, window, &options, logarithm.as_ref())
    }

    fn mel_backward(
        signal: FloatTensor<B>,
        window: FloatTensor<B>,
        grad_bands: FloatTensor<B>,
        options: MelOptions,
        logarithm: Option<Logarithm>,
        requires_grad: [bool; 2],
    ) -> (FloatTensor<B>, FloatTensor<B>) {
        mel::backward::<B>([signal, window, grad_bands], &options, logarithm.as_ref(), requires_grad)
    }

    fn peak_loss(inputs: PeakLossTensors<B>, options: PeakLossOptions) -> FloatTensor<B> {
        let arrays = inputs.into_array().map(B::array);
        let rows = arrays[0].shape()[0];
        with_real!(arrays[0].dtype(), T => {
            let mut losses = OutputBuffer::<T>::new(rows * 2);
            cpu::peak_loss::<T>(&peak_loss_inputs(&arrays), &options, &mut losses);
            B::float(losses.into_data([rows, 2]))
        })
    }

    fn peak_loss_backward(
        inputs: PeakLossTensors<B>,
        grad: FloatTensor<B>,
        options: PeakLossOptions,
    ) -> FloatTensor<B> {
        let (arrays, grad) = (inputs.into_array().map(B::array), B::array(grad));
        with_real!(arrays[0].dtype(), T => {
            let mut of_power = like::<B, T>(&arrays[0]);
            cpu::peak_loss_backward::<T>(&peak_loss_inputs(&arrays), grad.slice(), &options, &mut of_power);
            B::float(of_power.into_data(arrays[0].shape().clone()))
        })
    }

    fn adam_step(state: AdamTensors<B>, gradient: FloatTensor<B>, options: AdamOptions) -> AdamTensors<B> {
        let gradient = B::array(gradient);
        with_real!(gradient.dtype(), T => {
            let [mut parameter, mut moment_1, mut moment_2] = state.into_array().map(unique::<B, T>);
            let state = [&mut parameter, &mut moment_1, &mut moment_2];
            let state = state.map(|array| array.unique_slice::<T>().expect("nothing else holds it"));
            cpu::adam_step::<T>(state, gradient.slice(), &options);
            let [parameter, moment_1, moment_2] = [parameter, moment_1, moment_2].map(B::tensor);
            AdamTensors { parameter, moment_1, moment_2 }
        })
    }

    fn spectral_conv(inputs: SpectralConvTensors<B>) -> FloatTensor<B> {
        spectral_conv::forward(inputs)
    }

    fn spectral_conv_backward(
        inputs: SpectralConvTensors<B>,
        grad: FloatTensor<B>,
        requires_grad: [bool; 3],
    ) -> SpectralConvTensors<B> {
        spectral_conv::backward(inputs, grad, requires_grad)
    }

    fn long_conv(inputs: LongConvTensors<B>) -> FloatTensor<B> {
        long_conv::forward(inputs)
    }

    fn long_conv_backward(
        inputs: LongConvTensors<B>,
        grad: FloatTensor<B>,
        requires_grad: [bool; 3],
    ) -> LongConvTensors<B> {
        long_conv::backward(inputs, grad, requires_grad)
    }
}
