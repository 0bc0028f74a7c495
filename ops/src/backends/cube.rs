//! CubeCL's backend: CUDA, Vulkan, WebGPU and Metal.

use burn::backend::TensorMetadata;
use burn::backend::tensor::{FloatTensor, IntTensor};
use burn::tensor::{DType, IntDType, Shape};
use burn_cubecl::CubeBackend;
use burn_cubecl::kernel::{cast, into_contiguous};
use burn_cubecl::ops::numeric::zeros_client;
use burn_cubecl::tensor::CubeTensor;

use crate::gpu::butterfly::{BackwardRows, ButterflyGradients, ButterflyTransform};
use crate::gpu::learned::{LearnedGradients, LearnedWeights, learned_welch_psd, learned_welch_psd_backward};
use crate::gpu::welch::{self, WelchGradients};
use crate::gpu::{ComplexRows, DeviceLimitError, Frames, GpuDevice, PeakBuffers, top_k};
use crate::ops::{LearnedTensors, SpectralOps};
use crate::options::WelchOptions;

/// A tensor without gaps.
fn contiguous(tensor: FloatTensor<CubeBackend>) -> CubeTensor {
    debug_assert_eq!(tensor.dtype, DType::F32, "the public functions pass f32 to a device");
    into_contiguous(tensor)
}

/// A new tensor where `like` is: anything in it, or zeros where there are no rows to write it from.
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
fn launched(result: Result<(), DeviceLimitError>) {
    result.unwrap_or_else(|error| panic!("{error}"));
}

/// The device of a tensor.
fn device(tensor: &CubeTensor) -> GpuDevice {
    GpuDevice::of(&tensor.client)
}

/// The rows of a signal.
fn frames(signal: &CubeTensor) -> Frames {
    let [rows, len] = size(signal);
    Frames { signal: signal.handle.clone(), rows, len }
}

/// Rows and their length.
fn size(tensor: &CubeTensor) -> [usize; 2] {
    let shape = tensor.shape();
    [shape[0], shape[1]]
}

/// The strongest of `power` as tensors.
fn peaks(power: CubeTensor, k: usize, dtype: IntDType) -> (CubeTensor, CubeTensor) {
    let [rows, bins] = size(&power);
    let (found, strength) = peak_outputs(&power, rows, k);
    if rows > 0 {
        top_k(&device(&power), &power.handle, &peak_buffers(&found, &strength, k), rows, bins);
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
    fn welch_psd(signal: FloatTensor<Self>, window: FloatTensor<Self>, options: WelchOptions) -> FloatTensor<Self> {
        let (signal, window) = (contiguous(signal), contiguous(window));
        let frames = frames(&signal);
        let power = output(&signal, [frames.rows, options.bins()], DType::F32, frames.rows);
        if frames.rows > 0 {
            launched(welch::welch_psd(&device(&signal), &frames, &window.handle, &power.handle, &options));
        }
        power
    }

    fn welch_psd_backward(
        signal: FloatTensor<Self>,
        window: FloatTensor<Self>,
        grad_power: FloatTensor<Self>,
        options: WelchOptions,
    ) -> (FloatTensor<Self>, FloatTensor<Self>) {
        let [signal, window, grad] = [signal, window, grad_power].map(contiguous);
        let frames = frames(&signal);
        let of_signal = output(&signal, signal.shape(), DType::F32, frames.rows);
        let of_window = output(&signal, window.shape(), DType::F32, frames.rows);
        if frames.rows > 0 {
            let into = WelchGradients { signal: of_signal.handle.clone(), window: of_window.handle.clone() };
            let (device, window, grad) = (device(&signal), &window.handle, &grad.handle);
            launched(welch::welch_psd_backward(&device, &frames, window, grad, &into, &options));
        }
        (of_signal, of_window)
    }

    fn welch_peaks(
        signal: FloatTensor<Self>,
        window: FloatTensor<Self>,
        options: WelchOptions,
        k: usize,
        bins: IntDType,
    ) -> (IntTensor<Self>, FloatTensor<Self>) {
        let (signal, window) = (contiguous(signal), contiguous(window));
        let frames = frames(&signal);
        let (found, power) = peak_outputs(&signal, frames.rows, k);
        if frames.rows > 0 {
            let into = peak_buffers(&found, &power, k);
            launched(welch::welch_peaks(&device(&signal), &frames, &window.handle, &into, &options));
        }
        (cast(found, bins.into()), power)
    }

    fn top_k(values: FloatTensor<Self>, k: usize, bins: IntDType) -> (IntTensor<Self>, FloatTensor<Self>) {
        peaks(contiguous(values), k, bins)
    }

    fn butterfly(
        re: FloatTensor<Self>,
        im: FloatTensor<Self>,
        twiddles: FloatTensor<Self>,
    ) -> (FloatTensor<Self>, FloatTensor<Self>) {
        forward(re, im, twiddles, None)
    }

    fn gated_butterfly(
        re: FloatTensor<Self>,
        im: FloatTensor<Self>,
        twiddles: FloatTensor<Self>,
        gates: FloatTensor<Self>,
    ) -> (FloatTensor<Self>, FloatTensor<Self>) {
        forward(re, im, twiddles, Some(gates))
    }

    fn butterfly_backward(
        re: FloatTensor<Self>,
        im: FloatTensor<Self>,
        twiddles: FloatTensor<Self>,
        grad_re: FloatTensor<Self>,
        grad_im: FloatTensor<Self>,
    ) -> (FloatTensor<Self>, FloatTensor<Self>, FloatTensor<Self>) {
        let [re, im, twiddles, _] = backward(re, im, twiddles, None, grad_re, grad_im);
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
        let [re, im, twiddles, gates] = backward(re, im, twiddles, Some(gates), grad_re, grad_im);
        (re, im, twiddles, gates)
    }

    fn learned_welch_psd(tensors: LearnedTensors<Self>, options: WelchOptions) -> FloatTensor<Self> {
        let (signal, weights) = learned(&tensors.into_array().map(contiguous));
        let frames = frames(&signal);
        let power = output(&signal, [frames.rows, options.bins()], DType::F32, frames.rows);
        if frames.rows > 0 {
            launched(learned_welch_psd(&device(&signal), &frames, &weights, &power.handle, &options));
        }
        power
    }

    fn learned_welch_psd_backward(
        tensors: LearnedTensors<Self>,
        grad_power: FloatTensor<Self>,
        options: WelchOptions,
        wanted: [bool; 6],
    ) -> LearnedTensors<Self> {
        let inputs = tensors.into_array().map(contiguous);
        let grad = contiguous(grad_power);
        let (signal, weights) = learned(&inputs);
        let frames = frames(&signal);
        let gradients = inputs.each_ref().map(|input| output(input, input.shape(), DType::F32, frames.rows));
        if frames.rows > 0 {
            let (of_signal, of_weights) = learned(&gradients);
            let into = LearnedGradients { signal: of_signal.handle, learned: of_weights };
            let (device, grad) = (device(&signal), &grad.handle);
            launched(learned_welch_psd_backward(&device, &frames, &weights, grad, &into, &options, wanted));
        }
        LearnedTensors::from_array(gradients)
    }

    fn learned_welch_peaks(
        tensors: LearnedTensors<Self>,
        options: WelchOptions,
        k: usize,
        bins: IntDType,
    ) -> (IntTensor<Self>, FloatTensor<Self>) {
        peaks(Self::learned_welch_psd(tensors, options), k, bins)
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
    };
    (signal.clone(), learned)
}

fn forward(
    re: CubeTensor,
    im: CubeTensor,
    twiddles: CubeTensor,
    gates: Option<CubeTensor>,
) -> (CubeTensor, CubeTensor) {
    let [re, im, twiddles] = [re, im, twiddles].map(contiguous);
    let gates = gates.map(contiguous);
    let [rows, n] = size(&re);
    let into = [&re, &im].map(|input| output(input, [rows, n], DType::F32, rows));
    if rows > 0 {
        let transform = ButterflyTransform::new(n, twiddles.handle, gates.map(|gates| gates.handle));
        let (input, output) = (complex(&re, &im), complex(&into[0], &into[1]));
        launched(transform.forward(&device(&re), &input, &output, rows));
    }
    let [re, im] = into;
    (re, im)
}

/// Gradients of re, im, twiddles and, where there are any, gates.
fn backward(
    re: CubeTensor,
    im: CubeTensor,
    twiddles: CubeTensor,
    gates: Option<CubeTensor>,
    grad_re: CubeTensor,
    grad_im: CubeTensor,
) -> [CubeTensor; 4] {
    let [re, im, twiddles, grad_re, grad_im] = [re, im, twiddles, grad_re, grad_im].map(contiguous);
    let gates = gates.map(contiguous);
    let [rows, n] = size(&re);
    let like = [&re, &im, &twiddles];
    let [of_re, of_im, of_twiddles] = like.map(|input| output(input, input.shape(), DType::F32, rows));
    let of_gates = match &gates {
        Some(gates) => output(gates, gates.shape(), DType::F32, rows),
        None => output(&re, [1], DType::F32, rows),
    };
    if rows > 0 {
        let transform = ButterflyTransform::new(n, twiddles.handle.clone(), gates.map(|gates| gates.handle));
        let sums = ButterflyGradients { twiddles: of_twiddles.handle.clone(), gates: of_gates.handle.clone() };
        let (input, grad, input_grad) = (complex(&re, &im), complex(&grad_re, &grad_im), complex(&of_re, &of_im));
        let batch = BackwardRows { input, grad, input_grad, rows };
        launched(transform.backward(&device(&re), &batch, &sums, false));
    }
    [of_re, of_im, of_twiddles, of_gates]
}

fn complex(re: &CubeTensor, im: &CubeTensor) -> ComplexRows {
    ComplexRows::new(re.handle.clone(), im.handle.clone())
}
