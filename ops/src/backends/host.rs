//! The backends whose tensors are in host memory: they all run the kernels of [`crate::cpu`].

use burn::backend::Backend;
use burn::backend::tensor::{FloatTensor, IntTensor};
use burn::tensor::{DType, Element, IntDType, Shape, TensorData};

use super::buffer_pool::Values;
use crate::cpu::{self, ButterflyGradients, ButterflyTransform, LearnedGradients, LearnedWelch, Real};
use crate::ops::LearnedTensors;
use crate::options::WelchOptions;

/// How host kernels get at a backend's tensors.
pub(super) trait Host: Backend {
    /// A tensor's numbers, contiguous and in row-major order.
    type Array: AsArray;

    /// Reads a tensor without copying where its memory allows.
    fn array(tensor: FloatTensor<Self>) -> Self::Array;
    /// A tensor from numbers.
    fn float(data: TensorData) -> FloatTensor<Self>;
    /// A tensor from bins, of type `dtype`.
    fn int(data: TensorData, dtype: IntDType) -> IntTensor<Self>;
}

/// A contiguous tensor of known shape and type.
pub(super) trait AsArray {
    fn slice<T: Element + bytemuck::Pod>(&self) -> &[T];
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

fn float<B: Host, T: HostReal>(values: Vec<T>, shape: impl Into<Shape>) -> FloatTensor<B> {
    B::float(TensorData::new(values, shape.into()))
}

fn zeros<T: HostReal>(shape: &Shape) -> Vec<T> {
    vec![T::zero(); shape.num_elements()]
}

/// Batch and frame length.
fn sizes(signal: &impl AsArray) -> (usize, usize) {
    (signal.shape()[0], signal.shape()[1])
}

pub(super) fn welch_psd<B: Host>(
    signal: FloatTensor<B>,
    window: FloatTensor<B>,
    options: &WelchOptions,
) -> FloatTensor<B> {
    let (signal, window) = (B::array(signal), B::array(window));
    let (rows, frame) = sizes(&signal);
    with_real!(signal.dtype(), T => {
        let mut power = Values::<T>::new(rows * options.bins());
        cpu::welch_psd::<T>(signal.slice(), frame, window.slice(), options, &mut power);
        B::float(power.into_data([rows, options.bins()]))
    })
}

pub(super) fn welch_psd_backward<B: Host>(
    signal: FloatTensor<B>,
    window: FloatTensor<B>,
    grad_power: FloatTensor<B>,
    options: &WelchOptions,
) -> (FloatTensor<B>, FloatTensor<B>) {
    let [signal, window, grad_power] = [signal, window, grad_power].map(B::array);
    let (_, frame) = sizes(&signal);
    with_real!(signal.dtype(), T => {
        let (mut grad_signal, mut grad_window) = (zeros::<T>(signal.shape()), zeros::<T>(window.shape()));
        cpu::welch_psd_backward::<T>(
            signal.slice(),
            frame,
            window.slice(),
            options,
            grad_power.slice(),
            Some(&mut grad_signal),
            Some(&mut grad_window),
        );
        (float::<B, T>(grad_signal, signal.shape().clone()), float::<B, T>(grad_window, window.shape().clone()))
    })
}

pub(super) fn welch_peaks<B: Host>(
    signal: FloatTensor<B>,
    window: FloatTensor<B>,
    options: &WelchOptions,
    k: usize,
    dtype: IntDType,
) -> (IntTensor<B>, FloatTensor<B>) {
    let (signal, window) = (B::array(signal), B::array(window));
    let (rows, frame) = sizes(&signal);
    let mut bins = Values::<i64>::new(rows * k);
    with_real!(signal.dtype(), T => {
        let mut power = Values::<T>::new(rows * k);
        cpu::welch_peaks::<T>(signal.slice(), frame, window.slice(), options, k, &mut bins, &mut power);
        (B::int(bins.into_data([rows, k]), dtype), B::float(power.into_data([rows, k])))
    })
}

pub(super) fn top_k<B: Host>(values: FloatTensor<B>, k: usize, dtype: IntDType) -> (IntTensor<B>, FloatTensor<B>) {
    let values = B::array(values);
    let (rows, length) = sizes(&values);
    let mut bins = Values::<i64>::new(rows * k);
    with_real!(values.dtype(), T => {
        let mut largest = Values::<T>::new(rows * k);
        cpu::top_k::<T>(values.slice(), length, k, &mut bins, &mut largest);
        (B::int(bins.into_data([rows, k]), dtype), B::float(largest.into_data([rows, k])))
    })
}

fn transform<'a, A: AsArray, T: HostReal>(
    n: usize,
    twiddles: &'a A,
    gates: Option<&'a A>,
) -> ButterflyTransform<'a, T> {
    ButterflyTransform { n, twiddles: twiddles.slice(), gates: gates.map(A::slice) }
}

pub(super) fn butterfly<B: Host>(
    re: FloatTensor<B>,
    im: FloatTensor<B>,
    twiddles: FloatTensor<B>,
    gates: Option<FloatTensor<B>>,
) -> (FloatTensor<B>, FloatTensor<B>) {
    let [re, im, twiddles] = [re, im, twiddles].map(B::array);
    let gates = gates.map(B::array);
    with_real!(re.dtype(), T => {
        let transform = transform::<_, T>(re.shape()[1], &twiddles, gates.as_ref());
        let [mut out_re, mut out_im] = [&re, &im].map(|part| Values::<T>::new(part.shape().num_elements()));
        cpu::butterfly(re.slice(), im.slice(), &transform, &mut out_re, &mut out_im);
        (B::float(out_re.into_data(re.shape().clone())), B::float(out_im.into_data(re.shape().clone())))
    })
}

/// Gradients of re, im, twiddles, and gates if there are any.
pub(super) fn butterfly_backward<B: Host>(
    [re, im, twiddles]: [FloatTensor<B>; 3],
    gates: Option<FloatTensor<B>>,
    grad_re: FloatTensor<B>,
    grad_im: FloatTensor<B>,
) -> ([FloatTensor<B>; 3], Option<FloatTensor<B>>) {
    let [re, im, twiddles, grad_re, grad_im] = [re, im, twiddles, grad_re, grad_im].map(B::array);
    let gates = gates.map(B::array);
    with_real!(re.dtype(), T => {
        let transform = transform::<_, T>(re.shape()[1], &twiddles, gates.as_ref());
        let mut into = [&re, &im, &twiddles].map(|input| Values::<T>::new(input.shape().num_elements()));
        let mut into_gates = gates.as_ref().map(|gates| Values::<T>::new(gates.shape().num_elements()));
        let [into_re, into_im, into_twiddles] = &mut into;
        let gradients = ButterflyGradients {
            re: Some(into_re),
            im: Some(into_im),
            twiddles: Some(into_twiddles),
            gates: into_gates.as_deref_mut(),
        };
        cpu::butterfly_backward(re.slice(), im.slice(), &transform, grad_re.slice(), grad_im.slice(), gradients);
        let [into_re, into_im, into_twiddles] = into;
        let exact = [
            B::float(into_re.into_data(re.shape().clone())),
            B::float(into_im.into_data(re.shape().clone())),
            B::float(into_twiddles.into_data(twiddles.shape().clone())),
        ];
        let gated = into_gates.zip(gates).map(|(into, gates)| B::float(into.into_data(gates.shape().clone())));
        (exact, gated)
    })
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

pub(super) fn learned_welch_psd<B: Host>(tensors: LearnedTensors<B>, options: &WelchOptions) -> FloatTensor<B> {
    let arrays = tensors.into_array().map(B::array);
    let (rows, frame) = sizes(&arrays[0]);
    with_real!(arrays[0].dtype(), T => {
        let mut power = Values::<T>::new(rows * options.bins());
        cpu::learned_welch_psd::<T>(arrays[0].slice(), frame, &learned(&arrays, options), &mut power);
        B::float(power.into_data([rows, options.bins()]))
    })
}

/// Gradients of the inputs that are wanted, zeros of the others.
pub(super) fn learned_welch_psd_backward<B: Host>(
    tensors: LearnedTensors<B>,
    grad_power: FloatTensor<B>,
    options: &WelchOptions,
    wanted: [bool; 6],
) -> LearnedTensors<B> {
    let arrays = tensors.into_array().map(B::array);
    let grad_power = B::array(grad_power);
    let (_, frame) = sizes(&arrays[0]);
    with_real!(arrays[0].dtype(), T => {
        let mut into = arrays.each_ref().map(|input| zeros::<T>(input.shape()));
        let mut slots = into.iter_mut().zip(wanted).map(|(into, wanted)| wanted.then_some(&mut into[..]));
        let [signal, window, twiddles, gates, weights, gain] = std::array::from_fn(|_| slots.next().flatten());
        let gradients = LearnedGradients { signal, window, twiddles, gates, weights, gain };
        let model = learned(&arrays, options);
        cpu::learned_welch_psd_backward::<T>(arrays[0].slice(), frame, &model, grad_power.slice(), gradients);
        let mut shapes = arrays.iter().map(|input| input.shape().clone());
        LearnedTensors::from_array(into.map(|values| float::<B, T>(values, shapes.next().expect("a shape an input"))))
    })
}

pub(super) fn learned_welch_peaks<B: Host>(
    tensors: LearnedTensors<B>,
    options: &WelchOptions,
    k: usize,
    dtype: IntDType,
) -> (IntTensor<B>, FloatTensor<B>) {
    let arrays = tensors.into_array().map(B::array);
    let (rows, frame) = sizes(&arrays[0]);
    let mut bins = Values::<i64>::new(rows * k);
    with_real!(arrays[0].dtype(), T => {
        let mut power = Values::<T>::new(rows * k);
        let model = learned(&arrays, options);
        cpu::learned_welch_peaks::<T>(arrays[0].slice(), frame, &model, k, &mut bins, &mut power);
        (B::int(bins.into_data([rows, k]), dtype), B::float(power.into_data([rows, k])))
    })
}

/// The methods of [`SpectralOps`](crate::SpectralOps) for a backend that is a [`Host`].
macro_rules! host_operations {
    () => {
        fn welch_psd(signal: FloatTensor<Self>, window: FloatTensor<Self>, options: WelchOptions) -> FloatTensor<Self> {
            host::welch_psd::<Self>(signal, window, &options)
        }

        fn welch_psd_backward(
            signal: FloatTensor<Self>,
            window: FloatTensor<Self>,
            grad_power: FloatTensor<Self>,
            options: WelchOptions,
        ) -> (FloatTensor<Self>, FloatTensor<Self>) {
            host::welch_psd_backward::<Self>(signal, window, grad_power, &options)
        }

        fn welch_peaks(
            signal: FloatTensor<Self>,
            window: FloatTensor<Self>,
            options: WelchOptions,
            k: usize,
            bins: IntDType,
        ) -> (IntTensor<Self>, FloatTensor<Self>) {
            host::welch_peaks::<Self>(signal, window, &options, k, bins)
        }

        fn top_k(values: FloatTensor<Self>, k: usize, bins: IntDType) -> (IntTensor<Self>, FloatTensor<Self>) {
            host::top_k::<Self>(values, k, bins)
        }

        fn butterfly(
            re: FloatTensor<Self>,
            im: FloatTensor<Self>,
            twiddles: FloatTensor<Self>,
        ) -> (FloatTensor<Self>, FloatTensor<Self>) {
            host::butterfly::<Self>(re, im, twiddles, None)
        }

        fn gated_butterfly(
            re: FloatTensor<Self>,
            im: FloatTensor<Self>,
            twiddles: FloatTensor<Self>,
            gates: FloatTensor<Self>,
        ) -> (FloatTensor<Self>, FloatTensor<Self>) {
            host::butterfly::<Self>(re, im, twiddles, Some(gates))
        }

        fn butterfly_backward(
            re: FloatTensor<Self>,
            im: FloatTensor<Self>,
            twiddles: FloatTensor<Self>,
            grad_re: FloatTensor<Self>,
            grad_im: FloatTensor<Self>,
        ) -> (FloatTensor<Self>, FloatTensor<Self>, FloatTensor<Self>) {
            let ([re, im, twiddles], _) = host::butterfly_backward::<Self>([re, im, twiddles], None, grad_re, grad_im);
            (re, im, twiddles)
        }

        fn gated_butterfly_backward(
            re: FloatTensor<Self>,
            im: FloatTensor<Self>,
            twiddles: FloatTensor<Self>,
            gates: FloatTensor<Self>,
            grad_re: FloatTensor<Self>,
            grad_im: FloatTensor<Self>,
        ) -> (FloatTensor<Self>, FloatTensor<Self>, FloatTensor<Self>, FloatTensor<Self>) {
            let ([re, im, twiddles], gates) =
                host::butterfly_backward::<Self>([re, im, twiddles], Some(gates), grad_re, grad_im);
            (re, im, twiddles, gates.expect("gates have a gradient"))
        }

        fn learned_welch_psd(tensors: LearnedTensors<Self>, options: WelchOptions) -> FloatTensor<Self> {
            host::learned_welch_psd::<Self>(tensors, &options)
        }

        fn learned_welch_psd_backward(
            tensors: LearnedTensors<Self>,
            grad_power: FloatTensor<Self>,
            options: WelchOptions,
            wanted: [bool; 6],
        ) -> LearnedTensors<Self> {
            host::learned_welch_psd_backward::<Self>(tensors, grad_power, &options, wanted)
        }

        fn learned_welch_peaks(
            tensors: LearnedTensors<Self>,
            options: WelchOptions,
            k: usize,
            bins: IntDType,
        ) -> (IntTensor<Self>, FloatTensor<Self>) {
            host::learned_welch_peaks::<Self>(tensors, &options, k, bins)
        }
    };
}
pub(super) use host_operations;
