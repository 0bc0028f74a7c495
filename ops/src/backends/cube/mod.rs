//! CubeCL's backend: CUDA, Vulkan, WebGPU and Metal.

mod adam;
mod long_conv;
mod mel;
mod peak_loss;
mod row_layout;
mod spectral_conv;
mod transform;

use std::ops::Range;

use burn::backend::TensorMetadata;
use burn::backend::tensor::{FloatTensor, IntTensor};
use burn::tensor::{DType, IntDType, Shape};
use burn_cubecl::CubeBackend;
use burn_cubecl::kernel::{cast, into_contiguous};
use burn_cubecl::ops::numeric::zeros_client;
use burn_cubecl::tensor::CubeTensor;

use self::row_layout::{RowLayout, evenly_spaced};
use crate::backends::columns_as_rows::columns_as_rows;
use crate::gpu::butterfly::{BackwardRows, ButterflyGradients, ButterflyTransform};
use crate::gpu::learned::{
    LearnedGradients, LearnedWeights, SearchedEstimate, estimate_choice, exact_learned_peaks, learned_welch_psd,
    learned_welch_psd_backward,
};
use crate::gpu::welch::{self, WelchGradients};
use crate::gpu::{
    ComplexRows, DeviceFrames, DeviceLimitError, GpuDevice, MaximaBuffers, PeakBuffers, SearchedRows, local_maxima,
    top_k,
};
use crate::halved::halved;
use crate::ops::{
    AdamTensors, ButterflyTensors, LearnedTensors, LongConvTensors, PeakLossTensors, SpectralConvTensors, SpectralOps,
    WelchTensors, gain_taps,
};
use crate::options::{
    AdamOptions, FftOptions, LocalMaximaOptions, Logarithm, MelOptions, PeakLossOptions, WelchOptions,
};

/// The tensor in contiguous memory.
fn contiguous(tensor: FloatTensor<CubeBackend>) -> CubeTensor {
    debug_assert_eq!(tensor.dtype, DType::F32, "the public functions pass f32 to a device");
    into_contiguous(tensor)
}

/// A new tensor on the device of `like`: uninitialised, or zeros where there are no rows to compute it from.
fn output(like: &CubeTensor, shape: impl Into<Shape>, dtype: DType, rows: usize) -> CubeTensor {
    let (shape, client, device) = (shape.into(), like.client.clone(), like.device.clone());
    if rows == 0 || shape.num_elements() == 0 {
        return zeros_client(client, device, shape, dtype);
    }
    let handle = client.empty(shape.num_elements() * dtype.size());
    CubeTensor::new_contiguous(client, device, shape, handle, dtype)
}

/// Panics with the message of a device's limit. The public functions return it as an error before they dispatch, so
/// that it can only occur here when a graph captured elsewhere is replayed on a device with less.
fn launched<T>(result: Result<T, DeviceLimitError>) -> T {
    result.unwrap_or_else(|error| panic!("{error}"))
}

/// The device of a tensor.
fn device(tensor: &CubeTensor) -> GpuDevice {
    GpuDevice::of(&tensor.client)
}

/// A signal, and its rows as kernels read them.
fn signal_rows(signal: FloatTensor<CubeBackend>) -> (CubeTensor, DeviceFrames) {
    debug_assert_eq!(signal.dtype, DType::F32, "the public functions pass f32 to a device");
    let ([signal], RowLayout { rows, len, stride }) = evenly_spaced([signal]);
    let frames = DeviceFrames { signal: signal.handle.clone(), rows, len, stride };
    (signal, frames)
}

/// Number and length of rows.
fn size(tensor: &CubeTensor) -> [usize; 2] {
    let shape = tensor.shape();
    [shape[0], shape[1]]
}

/// The strongest of the searched bins of `power` as tensors.
fn peaks(power: CubeTensor, searched: Range<usize>, k: usize, dtype: IntDType) -> (CubeTensor, CubeTensor) {
    let [rows, stride] = size(&power);
    let (found, strength) = peak_outputs(&power, rows, k);
    if rows > 0 {
        let search = SearchedRows { power: power.handle.clone(), rows, stride, searched };
        top_k(&device(&power), &search, &peak_buffers(&found, &strength, k));
    }
    (cast(found, dtype.into()), strength)
}

/// New tensors for peaks: bins and power, `[rows, k]`.
fn peak_outputs(like: &CubeTensor, rows: usize, k: usize) -> (CubeTensor, CubeTensor) {
    (output(like, [rows, k], DType::I32, rows), output(like, [rows, k], DType::F32, rows))
}

fn peak_buffers(bins: &CubeTensor, power: &CubeTensor, k: usize) -> PeakBuffers {
    PeakBuffers { bins: bins.handle.clone(), power: power.handle.clone(), k }
}

impl SpectralOps for CubeBackend {
    fn welch_psd(inputs: WelchTensors<Self>, options: WelchOptions) -> FloatTensor<Self> {
        let ((signal, frames), window) = (signal_rows(inputs.signal), contiguous(inputs.window));
        let power = output(&signal, [frames.rows, options.bins()], DType::F32, frames.rows);
        if frames.rows > 0 {
            launched(welch::welch_psd(&device(&signal), &frames, &window.handle, &power.handle, &options));
        }
        power
    }

    fn welch_psd_backward(
        inputs: WelchTensors<Self>,
        grad_power: FloatTensor<Self>,
        options: WelchOptions,
    ) -> WelchTensors<Self> {
        let (signal, frames) = signal_rows(inputs.signal);
        let [window, grad] = [inputs.window, grad_power].map(contiguous);
        let of_signal = output(&signal, signal.shape(), DType::F32, frames.rows);
        let of_window = output(&signal, window.shape(), DType::F32, frames.rows);
        if frames.rows > 0 {
            let into = WelchGradients { signal: of_signal.handle.clone(), window: of_window.handle.clone() };
            let (device, window, grad) = (device(&signal), &window.handle, &grad.handle);
            launched(welch::welch_psd_backward(&device, &frames, window, grad, &into, &options));
        }
        WelchTensors { signal: of_signal, window: of_window }
    }

    fn welch_peaks(
        inputs: WelchTensors<Self>,
        options: WelchOptions,
        k: usize,
        bins: IntDType,
    ) -> (IntTensor<Self>, FloatTensor<Self>) {
        let ((mut signal, mut frames), window) = (signal_rows(inputs.signal), contiguous(inputs.window));
        let (found, power) = peak_outputs(&signal, frames.rows, k);
        if frames.rows > 0 {
            let into = peak_buffers(&found, &power, k);
            let mut options = options;
            if options.halvings > 0 && !welch::is_fused(&device(&signal), &frames, &options, k) {
                (signal, frames) = signal_rows(halved::<Self>(signal, options.halvings));
                options.halvings = 0;
            }
            launched(welch::welch_peaks(&device(&signal), &frames, &window.handle, &into, &options));
        }
        (cast(found, bins.into()), power)
    }

    fn top_k(values: FloatTensor<Self>, k: usize, bins: IntDType) -> (IntTensor<Self>, FloatTensor<Self>) {
        let [_, length] = size(&values);
        peaks(contiguous(values), 0..length, k, bins)
    }

    fn local_maxima(
        values: FloatTensor<Self>,
        options: LocalMaximaOptions,
        k: usize,
        bins: IntDType,
    ) -> (IntTensor<Self>, IntTensor<Self>) {
        let values = contiguous(values);
        let [rows, length] = size(&values);
        let [maxima, bases] = [0; 2].map(|_| output(&values, [rows, k], DType::I32, rows));
        if rows > 0 {
            let into = MaximaBuffers { maxima: maxima.handle.clone(), bases: bases.handle.clone(), k };
            local_maxima(&device(&values), &values.handle, &options, &into, rows, length);
        }
        (cast(maxima, bins.into()), cast(bases, bins.into()))
    }

    fn butterfly(inputs: ButterflyTensors<Self>) -> (FloatTensor<Self>, FloatTensor<Self>) {
        let [re, im, twiddles] = [inputs.re, inputs.im, inputs.twiddles].map(contiguous);
        let gates = inputs.gates.into_tensor().map(contiguous);
        let [rows, n] = size(&re);
        let [out_re, out_im] = [&re, &im].map(|input| output(input, [rows, n], DType::F32, rows));
        if rows > 0 {
            let transform = ButterflyTransform::new(n, twiddles.handle, gates.map(|gates| gates.handle));
            let (input, output) = (complex(&re, &im), complex(&out_re, &out_im));
            launched(transform.forward(&device(&re), &input, &output, rows));
        }
        (out_re, out_im)
    }

    fn butterfly_backward(
        inputs: ButterflyTensors<Self>,
        grad_re: FloatTensor<Self>,
        grad_im: FloatTensor<Self>,
    ) -> ButterflyTensors<Self> {
        let [re, im, twiddles] = [inputs.re, inputs.im, inputs.twiddles].map(contiguous);
        let [grad_re, grad_im] = [grad_re, grad_im].map(contiguous);
        let gates = inputs.gates.into_tensor().map(contiguous);
        let [rows, n] = size(&re);
        let like = |input: &CubeTensor| output(input, input.shape(), DType::F32, rows);
        let [of_re, of_im, of_twiddles] = [&re, &im, &twiddles].map(like);
        let of_gates = gates.as_ref().map(like);
        if rows > 0 {
            let transform = ButterflyTransform::new(n, twiddles.handle.clone(), gates.map(|gates| gates.handle));
            // The kernels take a buffer for the gradients of gates in any case.
            let unused = || output(&re, [1], DType::F32, rows);
            let sums = ButterflyGradients {
                twiddles: of_twiddles.handle.clone(),
                gates: of_gates.clone().unwrap_or_else(unused).handle,
            };
            let (input, grad, input_grad) = (complex(&re, &im), complex(&grad_re, &grad_im), complex(&of_re, &of_im));
            let batch = BackwardRows { input, grad, input_grad, rows };
            launched(transform.backward(&device(&re), &batch, &sums, false));
        }
        ButterflyTensors { re: of_re, im: of_im, twiddles: of_twiddles, gates: of_gates.into() }
    }

    fn learned_welch_psd(inputs: LearnedTensors<Self>, options: WelchOptions) -> FloatTensor<Self> {
        let (signal, weights) = learned(&inputs.into_array().map(contiguous));
        let (signal, frames) = signal_rows(signal);
        let power = output(&signal, [frames.rows, options.bins()], DType::F32, frames.rows);
        if frames.rows > 0 {
            launched(learned_welch_psd(&device(&signal), &frames, &weights, &power.handle, &options));
        }
        power
    }

    fn learned_welch_psd_backward(
        inputs: LearnedTensors<Self>,
        grad_power: FloatTensor<Self>,
        options: WelchOptions,
        requires_grad: [bool; 6],
    ) -> LearnedTensors<Self> {
        let inputs = inputs.into_array().map(contiguous);
        let grad = contiguous(grad_power);
        let (signal, weights) = learned(&inputs);
        let (signal, frames) = signal_rows(signal);
        let gradients = inputs.each_ref().map(|input| output(input, input.shape(), DType::F32, frames.rows));
        if frames.rows > 0 {
            let (of_signal, of_weights) = learned(&gradients);
            let into = LearnedGradients { signal: of_signal.handle, learned: of_weights };
            let (device, grad) = (device(&signal), &grad.handle);
            launched(learned_welch_psd_backward(&device, &frames, &weights, grad, &into, &options, requires_grad));
        }
        LearnedTensors::from_array(gradients)
    }

    fn learned_welch_peaks(
        inputs: LearnedTensors<Self>,
        options: WelchOptions,
        k: usize,
        bins: IntDType,
    ) -> (IntTensor<Self>, FloatTensor<Self>) {
        let (signal, frames) = signal_rows(inputs.signal.clone());
        if frames.rows == 0 {
            let (found, power) = peak_outputs(&signal, frames.rows, k);
            return (cast(found, bins.into()), power);
        }
        let parameters = [&inputs.twiddles, &inputs.gates, &inputs.weights, &inputs.gain];
        let estimate = SearchedEstimate {
            options: &options,
            k,
            taps: gain_taps(inputs.gain.meta.shape()),
            parameters: parameters.map(|tensor| (tensor.handle.clone(), tensor.meta.strides().to_vec())),
            values: &|| parameters.map(|tensor| contiguous(tensor.clone()).handle),
        };
        let (device, window) = (device(&signal), contiguous(inputs.window.clone()));
        let choice = estimate_choice(&device, &estimate, &contiguous(inputs.gain.clone()).handle);
        let (found, power) = peak_outputs(&signal, frames.rows, k);
        let into = peak_buffers(&found, &power, k);
        if exact_learned_peaks(&device, &frames, &estimate, &choice, &window.handle, &into) {
            return (cast(found, bins.into()), power);
        }
        let gain = FloatTensor::<Self> { handle: choice.gain, ..contiguous(inputs.gain) };
        let signal = halved::<Self>(inputs.signal, options.halvings);
        let (inputs, options) = (LearnedTensors { gain, signal, ..inputs }, options.with_halvings(0));
        peaks(Self::learned_welch_psd(inputs, options), options.searched(), k, bins)
    }

    fn complex_fft(
        re: FloatTensor<Self>,
        im: FloatTensor<Self>,
        options: FftOptions,
    ) -> (FloatTensor<Self>, FloatTensor<Self>) {
        transform::complex(re, im, &options)
    }

    fn complex_fft_columns(
        re: FloatTensor<Self>,
        im: FloatTensor<Self>,
        options: FftOptions,
    ) -> (FloatTensor<Self>, FloatTensor<Self>) {
        columns_as_rows::<Self>(re, im, options)
    }

    fn real_fft(signal: FloatTensor<Self>, options: FftOptions) -> (FloatTensor<Self>, FloatTensor<Self>) {
        transform::real_forward(signal, &options)
    }

    fn inverse_real_fft(re: FloatTensor<Self>, im: FloatTensor<Self>, options: FftOptions) -> FloatTensor<Self> {
        transform::real_inverse(re, im, &options)
    }

    fn mel(
        signal: FloatTensor<Self>,
        window: FloatTensor<Self>,
        options: MelOptions,
        logarithm: Option<Logarithm>,
    ) -> FloatTensor<Self> {
        mel::mel(signal, window, &options, logarithm.as_ref())
    }

    fn mel_backward(
        signal: FloatTensor<Self>,
        window: FloatTensor<Self>,
        grad_bands: FloatTensor<Self>,
        options: MelOptions,
        logarithm: Option<Logarithm>,
        requires_grad: [bool; 2],
    ) -> (FloatTensor<Self>, FloatTensor<Self>) {
        mel::mel_backward([signal, window, grad_bands], &options, logarithm.as_ref(), requires_grad)
    }

    fn peak_loss(inputs: PeakLossTensors<Self>, options: PeakLossOptions) -> FloatTensor<Self> {
        peak_loss::forward(inputs, &options)
    }

    fn peak_loss_backward(
        inputs: PeakLossTensors<Self>,
        grad: FloatTensor<Self>,
        options: PeakLossOptions,
    ) -> FloatTensor<Self> {
        peak_loss::backward(inputs, grad, &options)
    }

    fn adam_step(state: AdamTensors<Self>, gradient: FloatTensor<Self>, options: AdamOptions) -> AdamTensors<Self> {
        adam::step(state, gradient, &options)
    }

    fn spectral_conv(inputs: SpectralConvTensors<Self>) -> FloatTensor<Self> {
        spectral_conv::forward(inputs)
    }

    fn spectral_conv_backward(
        inputs: SpectralConvTensors<Self>,
        grad: FloatTensor<Self>,
        requires_grad: [bool; 3],
    ) -> SpectralConvTensors<Self> {
        spectral_conv::backward(inputs, grad, requires_grad)
    }

    fn long_conv(inputs: LongConvTensors<Self>) -> FloatTensor<Self> {
        long_conv::forward(inputs)
    }

    fn long_conv_backward(
        inputs: LongConvTensors<Self>,
        grad: FloatTensor<Self>,
        requires_grad: [bool; 3],
    ) -> LongConvTensors<Self> {
        long_conv::backward(inputs, grad, requires_grad)
    }
}

/// The signal and the parameters, in the order of [`LearnedTensors`].
fn learned(tensors: &[CubeTensor; 6]) -> (CubeTensor, LearnedWeights) {
    let [signal, window, twiddles, gates, weights, gain] = tensors.each_ref();
    let handle = |tensor: &CubeTensor| tensor.handle.clone();
    let learned = LearnedWeights {
        window: handle(window),
        twiddles: handle(twiddles),
        gates: handle(gates),
        weights: handle(weights),
        gain: handle(gain),
        taps: gain_taps(gain.meta.shape()),
    };
    (signal.clone(), learned)
}

fn complex(re: &CubeTensor, im: &CubeTensor) -> ComplexRows {
    ComplexRows::new(re.handle.clone(), im.handle.clone())
}
