//! Backends whose tensors are in host memory: all of them run the kernels of [`crate::cpu`].

use burn::backend::tensor::{FloatTensor, IntTensor};
use burn::backend::{Backend, TensorMetadata};
use burn::tensor::{DType, Element, IntDType, Shape, TensorData, bf16, f16};
use rayon::prelude::*;

use crate::backends::composed::{columns_as_rows, cross_spectra, cross_spectra_backward, dct};
use crate::cpu::{
    self, ButterflyTransform, Estimate, LongConvOperands, MelCall, PeakLossInputs, Real, SpectralConvGradients,
};
use crate::memory::OutputBuffer;
use crate::op::{Kernels, Needed, inputs};
use crate::options::{
    AdamOptions, FftForm, FftOptions, LocalMaximaOptions, Logarithm, MelOptions, PeakLossOptions, WelchOptions,
};
use crate::sample_type::SampleType;
use crate::spectral_shape::SpectralShape;

/// Access to a backend's tensors in host memory. A backend that provides it has every operation.
pub(in crate::backends) trait Host: Backend {
    /// A tensor's numbers, contiguous and in row-major order.
    type Array: AsArray;

    /// Reads a tensor without copying where its memory allows.
    fn array(tensor: FloatTensor<Self>) -> Self::Array;
    /// A signal of integers as one of floats, converted only if the backend has another kind of tensor for these.
    fn samples(integers: IntTensor<Self>) -> FloatTensor<Self>;
    /// The tensor of an array.
    fn tensor(array: Self::Array) -> FloatTensor<Self>;
    /// A tensor from numbers.
    fn float(data: TensorData) -> FloatTensor<Self>;
    /// A tensor from bins, of type `dtype`.
    fn int(data: TensorData, dtype: IntDType) -> IntTensor<Self>;
}

/// A contiguous tensor of known shape and type.
pub(in crate::backends) trait AsArray {
    fn slice<T: Element + bytemuck::Pod>(&self) -> &[T];
    /// The numbers for writing, if nothing else holds them.
    fn unique_slice<T: Element + bytemuck::Pod>(&mut self) -> Option<&mut [T]>;
    fn shape(&self) -> &Shape;
    fn dtype(&self) -> DType;
}

/// Runs a block with `$T` bound to the float type that `$dtype` names.
macro_rules! with_real {
    ($dtype:expr, $T:ident => $body:expr) => {
        match $dtype {
            DType::F32 => {
                type $T = f32;
                $body
            }
            DType::F64 => {
                type $T = f64;
                $body
            }
            dtype => unreachable!("operations receive f32 or f64, not {dtype:?}"),
        }
    };
}

trait HostReal: Real + Element + bytemuck::Pod {}
impl<T: Real + Element + bytemuck::Pod> HostReal for T {}

/// Uninitialised values, as many as an input has.
fn like<B: Host, T: HostReal>(input: &B::Array) -> OutputBuffer<T> {
    OutputBuffer::new(input.shape().num_elements())
}

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

/// The type that kernels compute in with samples of type `samples`.
fn computed(samples: DType) -> DType {
    if SampleType::of(samples).is_some() { DType::F32 } else { samples }
}

/// Runs `compute` on rows of a signal and the part of the outputs that `outputs` cuts for as many rows: on all rows, or
/// on a piece after the other, widened to f32, where their samples are of another type than `T`.
fn on_samples<T: HostReal, O: Send, I: Iterator<Item = O> + Send>(
    signal: &impl AsArray,
    outputs: impl FnOnce(usize) -> I,
    compute: impl Fn(&[T], O) + Send + Sync,
) {
    let (rows, width) = sizes(signal);
    let in_f32 = |piece: &[f32], output| compute(bytemuck::cast_slice(piece), output);
    macro_rules! widened {
        ($S:ty, $to_f32:expr) => {
            cpu::in_pieces::<$S, _>(signal.slice(), width, $to_f32, outputs(cpu::rows_of_piece(width)), in_f32)
        };
    }
    match SampleType::of(signal.dtype()) {
        None | Some(SampleType::F32) => outputs(rows).for_each(|output| compute(signal.slice(), output)),
        Some(SampleType::F16) => widened!(f16, f16::to_f32),
        Some(SampleType::BF16) => widened!(bf16, bf16::to_f32),
        Some(SampleType::I32) => widened!(i32, |sample| sample as f32),
        Some(SampleType::I16) => widened!(i16, f32::from),
        Some(SampleType::U16) => widened!(u16, f32::from),
        Some(SampleType::I8) => widened!(i8, f32::from),
        Some(SampleType::U8) => widened!(u8, f32::from),
    }
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

/// Values of either part that a thread moves at a time.
const PIECE: usize = 1 << 15;

/// Both parts of complex values `[…, 2]`.
fn apart<B: Host>(values: FloatTensor<B>) -> [FloatTensor<B>; 2] {
    let pairs = B::array(values);
    let shape = Shape::from(pairs.shape()[..pairs.shape().num_dims() - 1].to_vec());
    with_real!(pairs.dtype(), T => {
        let mut parts = [0; 2].map(|_| OutputBuffer::<T>::new(shape.num_elements()));
        let [re, im] = &mut parts;
        let pieces = pairs.slice::<T>().par_chunks(2 * PIECE).zip(re.par_chunks_mut(PIECE).zip(im.par_chunks_mut(PIECE)));
        pieces.for_each(|(pairs, (re, im))| {
            let parts = re.iter_mut().zip(im);
            pairs.chunks_exact(2).zip(parts).for_each(|(pair, (re, im))| (*re, *im) = (pair[0], pair[1]));
        });
        parts.map(|part| B::float(part.into_data(shape.clone())))
    })
}

/// Complex values of this shape, `[…, 2]`, from both parts.
fn side_by_side<B: Host>(parts: [FloatTensor<B>; 2], shape: Vec<usize>) -> FloatTensor<B> {
    let [re, im] = parts.map(B::array);
    with_real!(re.dtype(), T => {
        let mut pairs = OutputBuffer::<T>::new(2 * re.shape().num_elements());
        let parts = re.slice::<T>().par_chunks(PIECE).zip(im.slice::<T>().par_chunks(PIECE));
        pairs.par_chunks_mut(2 * PIECE).zip(parts).for_each(|(pairs, (re, im))| {
            let parts = re.iter().zip(im);
            pairs.chunks_exact_mut(2).zip(parts).for_each(|(pair, (re, im))| pair.copy_from_slice(&[*re, *im]));
        });
        B::float(pairs.into_data(shape))
    })
}

/// The gradient of an input.
fn gradient<B: Host, T: HostReal>(values: OutputBuffer<T>, input: &B::Array) -> FloatTensor<B> {
    B::float(values.into_data(input.shape().clone()))
}

/// Gradients of those inputs that are there and needed, which `compute` writes to memory from `new`.
fn gradients<B: Host, T: HostReal, const N: usize>(
    inputs: [Option<&B::Array>; N],
    needed: Needed,
    new: impl Fn(&B::Array) -> OutputBuffer<T>,
    compute: impl FnOnce([Option<&mut [T]>; N]),
) -> Vec<FloatTensor<B>> {
    let mut into: [_; N] = std::array::from_fn(|input| inputs[input].filter(|_| needed.has(input)).map(&new));
    compute(into.each_mut().map(Option::as_deref_mut));
    let computed = into.into_iter().zip(inputs).filter_map(|(values, input)| values.zip(input));
    computed.map(|(values, input)| gradient::<B, T>(values, input)).collect()
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

/// The arguments of the losses as the kernels take them.
fn peak_loss_inputs<A: AsArray, T: HostReal>(inputs: &inputs::PeakLoss<A>) -> PeakLossInputs<'_, T> {
    PeakLossInputs {
        power: inputs.power.slice(),
        strongest: inputs.strongest.slice(),
        reference_power: inputs.reference_power.slice(),
        peaks: inputs.peaks.slice(),
        target_power: inputs.target_power.slice(),
    }
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
        let inputs::WelchPsd { signal, window, gain } = inputs.map(B::array);
        let ((rows, frame), bins) = (sizes(&signal), options.bins());
        with_real!(computed(signal.dtype()), T => {
            let mut power = OutputBuffer::<T>::new(rows * bins);
            let estimate = estimate(&window, gain.as_ref(), &options);
            on_samples(&signal, |rows| power.chunks_mut((rows * bins).max(1)), |signal, power| {
                cpu::welch_psd::<T>(signal, frame, &estimate, power);
            });
            [B::float(power.into_data([rows, bins]))]
        })
    }

    fn welch_psd_backward(
        inputs: inputs::WelchPsdBackward<FloatTensor<B>>,
        options: WelchOptions,
        needed: Needed,
    ) -> Vec<FloatTensor<B>> {
        let inputs::WelchPsdBackward { signal, window, gain, grad_power } = inputs.map(B::array);
        let (_, frame) = sizes(&signal);
        with_real!(signal.dtype(), T => {
            let estimate = estimate(&window, gain.as_ref(), &options);
            let inputs = [Some(&signal), Some(&window), gain.as_ref()];
            gradients::<B, T, 3>(inputs, needed, zeros::<B, T>, |into| {
                cpu::welch_psd_backward::<T>(signal.slice(), frame, &estimate, grad_power.slice(), into);
            })
        })
    }

    fn welch_peaks(
        inputs: inputs::WelchPeaks<FloatTensor<B>>,
        options: WelchOptions,
        k: usize,
        bins: IntDType,
    ) -> (IntTensor<B>, FloatTensor<B>) {
        let inputs::WelchPeaks { signal, window, gain } = inputs.map(B::array);
        let (rows, frame) = sizes(&signal);
        with_real!(computed(signal.dtype()), T => selection::<B, T>(rows, k, bins, |numbers, power| {
            let estimate = estimate(&window, gain.as_ref(), &options);
            on_samples(
                &signal,
                |rows| {
                    let len = (rows * k).max(1);
                    numbers.chunks_mut(len).zip(power.chunks_mut(len))
                },
                |signal, (numbers, power)| cpu::welch_peaks::<T>(signal, frame, &estimate, k, numbers, power),
            );
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
        let inputs::Butterfly { re, im, twiddles, gates } = inputs.map(B::array);
        let (rows, n) = sizes(&re);
        with_real!(re.dtype(), T => {
            let transform = transform::<_, T>(n, &twiddles, gates.as_ref());
            parts::<B, T>(rows, n, |out_re, out_im| {
                cpu::butterfly([re.slice(), im.slice()], &transform, [out_re, out_im]);
            })
        })
    }

    fn butterfly_backward(inputs: inputs::ButterflyBackward<FloatTensor<B>>, needed: Needed) -> Vec<FloatTensor<B>> {
        let inputs::ButterflyBackward { re, im, twiddles, gates, grad_re, grad_im } = inputs.map(B::array);
        with_real!(re.dtype(), T => {
            let transform = transform::<_, T>(re.shape()[1], &twiddles, gates.as_ref());
            let inputs = [Some(&re), Some(&im), Some(&twiddles), gates.as_ref()];
            let grad = [grad_re.slice(), grad_im.slice()];
            gradients::<B, T, 4>(inputs, needed, like::<B, T>, |into| {
                cpu::butterfly_backward([re.slice(), im.slice()], &transform, grad, into);
            })
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

    fn interleaved_fft(
        inputs: inputs::InterleavedFft<FloatTensor<B>>,
        form: FftForm,
        options: FftOptions,
    ) -> [FloatTensor<B>; 1] {
        let shape = inputs.values.shape();
        let joined = |parts| side_by_side::<B>(parts, form.output(&shape, &options));
        [match form {
            FftForm::Real => joined(Self::real_fft(inputs::RealFft { signal: inputs.values }, options)),
            FftForm::InverseReal => {
                let [re, im] = apart::<B>(inputs.values);
                let [rows] = Self::inverse_real_fft(inputs::InverseRealFft { re, im }, options);
                rows
            }
            FftForm::Complex => {
                let [re, im] = apart::<B>(inputs.values);
                joined(Self::complex_fft(inputs::ComplexFft { re, im }, options))
            }
            FftForm::Columns => {
                let [re, im] = apart::<B>(inputs.values);
                joined(Self::complex_fft_columns(inputs::ComplexFftColumns { re, im }, options))
            }
        }]
    }

    fn dct(
        inputs: inputs::Dct<FloatTensor<B>>,
        kind: usize,
        sines: bool,
        scale: f64,
        first: f64,
    ) -> [FloatTensor<B>; 1] {
        let (device, dtype, n) = (inputs.rows.device(), inputs.rows.dtype(), inputs.rows.shape()[1]);
        if !n.is_multiple_of(2) {
            return dct::<B>(inputs, (kind, sines), [scale, first], |factors| {
                let shape = [1, factors.len()];
                B::float_from_data(TensorData::new(factors, shape).convert_dtype(dtype), &device)
            });
        }
        let rows = B::array(inputs.rows);
        with_real!(dtype, T => {
            let mut output = like::<B, T>(&rows);
            cpu::cosine::<T>(rows.slice(), n, (kind, sines), [scale, first], &mut output);
            [B::float(output.into_data(rows.shape().clone()))]
        })
    }

    fn cross_spectra(inputs: inputs::CrossSpectra<FloatTensor<B>>, _is_hermitian: bool) -> [FloatTensor<B>; 2] {
        cross_spectra::<B>(inputs)
    }

    fn cross_spectra_backward(
        inputs: inputs::CrossSpectraBackward<FloatTensor<B>>,
        needed: Needed,
    ) -> Vec<FloatTensor<B>> {
        cross_spectra_backward::<B>(inputs, needed)
    }

    fn mel(
        inputs: inputs::Mel<FloatTensor<B>>,
        options: MelOptions,
        logarithm: Option<Logarithm>,
    ) -> [FloatTensor<B>; 1] {
        let inputs::Mel { signal, window } = inputs.map(B::array);
        let (rows, samples) = sizes(&signal);
        let shape = [rows, options.bands.count, options.stft.frames(samples)];
        with_real!(computed(signal.dtype()), T => {
            let mut bands = OutputBuffer::<T>::new(shape.iter().product());
            let call = MelCall { samples, window: window.slice(), options: &options, logarithm: logarithm.as_ref() };
            on_samples(&signal, |rows| bands.chunks_mut((rows * shape[1] * shape[2]).max(1)), |signal, bands| {
                cpu::mel::<T>(signal, &call, bands);
            });
            [B::float(bands.into_data(shape))]
        })
    }

    fn mel_backward(
        inputs: inputs::MelBackward<FloatTensor<B>>,
        options: MelOptions,
        logarithm: Option<Logarithm>,
        needed: Needed,
    ) -> Vec<FloatTensor<B>> {
        let inputs::MelBackward { signal, window, grad_bands } = inputs.map(B::array);
        let (_, samples) = sizes(&signal);
        with_real!(signal.dtype(), T => {
            let call = MelCall { samples, window: window.slice(), options: &options, logarithm: logarithm.as_ref() };
            gradients::<B, T, 2>([&signal, &window].map(Some), needed, zeros::<B, T>, |into| {
                cpu::mel_backward::<T>(signal.slice(), &call, grad_bands.slice(), into);
            })
        })
    }

    fn peak_loss(inputs: inputs::PeakLoss<FloatTensor<B>>, options: PeakLossOptions) -> [FloatTensor<B>; 1] {
        let inputs = inputs.map(B::array);
        let (rows, _) = sizes(&inputs.power);
        with_real!(inputs.power.dtype(), T => {
            let mut losses = OutputBuffer::<T>::new(rows * 2);
            cpu::peak_loss::<T>(&peak_loss_inputs(&inputs), &options, &mut losses);
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
        let (inputs, grad_losses) = inputs.map(B::array).split();
        with_real!(inputs.power.dtype(), T => {
            let mut of_power = like::<B, T>(&inputs.power);
            cpu::peak_loss_backward::<T>(&peak_loss_inputs(&inputs), grad_losses.slice(), &options, &mut of_power);
            vec![gradient::<B, T>(of_power, &inputs.power)]
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
        let inputs::SpectralConv { input, weights_re: re, weights_im: im } = inputs.map(B::array);
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
        let inputs::SpectralConvBackward { input, weights_re: re, weights_im: im, grad_output } = inputs.map(B::array);
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
            cpu::spectral_conv_backward::<T>(input.slice(), weights, &sizes, grad_output.slice(), into, &mut workspace);
            // The gradients of both parts of the weights are computed together.
            let [into_re, into_im] = into_weights.map_or([None, None], |parts| parts.map(Some));
            let into_weights = [into_re.filter(|_| needed.has(1)), into_im.filter(|_| needed.has(2))];
            let computed = std::iter::once(into_input).chain(into_weights).zip([&input, &re, &im]);
            computed.filter_map(|(values, input)| Some(gradient::<B, T>(values?, input))).collect()
        })
    }

    fn long_conv(inputs: inputs::LongConv<FloatTensor<B>>) -> [FloatTensor<B>; 1] {
        let inputs::LongConv { signal, kernel, gate } = inputs.map(B::array);
        with_real!(signal.dtype(), T => {
            let mut output = like::<B, T>(&signal);
            cpu::long_conv::<T>(&convolution(&signal, &kernel, gate.as_ref()), &mut output);
            [B::float(output.into_data(signal.shape().clone()))]
        })
    }

    fn long_conv_backward(inputs: inputs::LongConvBackward<FloatTensor<B>>, needed: Needed) -> Vec<FloatTensor<B>> {
        let inputs::LongConvBackward { signal, kernel, gate, grad_output } = inputs.map(B::array);
        with_real!(signal.dtype(), T => {
            let inputs = [Some(&signal), Some(&kernel), gate.as_ref()];
            gradients::<B, T, 3>(inputs, needed, like::<B, T>, |into| {
                cpu::long_conv_backward::<T>(&convolution(&signal, &kernel, gate.as_ref()), grad_output.slice(), into);
            })
        })
    }
}
