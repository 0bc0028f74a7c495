//! CubeCL's backend: CUDA, Vulkan, WebGPU and Metal.

use burn::backend::TensorMetadata;
use burn::backend::tensor::{FloatTensor, IntTensor};
use burn::tensor::{DType, IntDType, Shape};
use burn_cubecl::CubeBackend;
use burn_cubecl::kernel::{cast, into_contiguous};
use burn_cubecl::ops::numeric::zeros_client;
use burn_cubecl::tensor::CubeTensor;
use cubecl::client::Client;
use cubecl::server::Handle;

use crate::gpu::KernelError;
use crate::gpu::learned::{Parameters, learned_welch_psd};
use crate::gpu::learned_backward::{LearnedGradients, learned_welch_psd_backward};
use crate::gpu::network::{Network, NetworkGradients, Rows};
use crate::gpu::{strongest, welch, welch_backward};
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

/// What a kernel could not have: the public functions have checked that it can, on every device they accept.
fn launched(result: Result<(), KernelError>) {
    result.unwrap_or_else(|error| panic!("{error}"));
}

/// Rows and their length.
fn size(tensor: &CubeTensor) -> [usize; 2] {
    let shape = tensor.shape();
    [shape[0], shape[1]]
}

/// The strongest of `power` as tensors.
fn peaks(power: CubeTensor, k: usize, dtype: IntDType) -> (CubeTensor, CubeTensor) {
    let [rows, bins] = size(&power);
    let found = output(&power, [rows, k], DType::I32, rows);
    let strength = output(&power, [rows, k], DType::F32, rows);
    if rows > 0 {
        strongest(&power.client, &power.handle, &found.handle, &strength.handle, rows, bins, k);
    }
    (cast(found, dtype.into()), strength)
}

impl SpectralOps for CubeBackend {
    fn welch_psd(signal: FloatTensor<Self>, window: FloatTensor<Self>, options: WelchOptions) -> FloatTensor<Self> {
        let (signal, window) = (contiguous(signal), contiguous(window));
        let [rows, frame] = size(&signal);
        let power = output(&signal, [rows, options.bins()], DType::F32, rows);
        if rows > 0 {
            let (client, into) = (&signal.client, &power.handle);
            launched(welch::welch_psd(client, &signal.handle, &window.handle, into, rows, frame, &options));
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
        let [rows, frame] = size(&signal);
        let of_signal = output(&signal, signal.shape(), DType::F32, rows);
        let of_window = output(&signal, window.shape(), DType::F32, rows);
        if rows > 0 {
            launched(welch_backward::welch_psd_backward(
                &signal.client,
                &signal.handle,
                &window.handle,
                &grad.handle,
                &of_signal.handle,
                &of_window.handle,
                rows,
                frame,
                &options,
            ));
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
        let [rows, frame] = size(&signal);
        let found = output(&signal, [rows, k], DType::I32, rows);
        let power = output(&signal, [rows, k], DType::F32, rows);
        if rows > 0 {
            launched(welch::welch_peaks(
                &signal.client,
                &signal.handle,
                &window.handle,
                &found.handle,
                &power.handle,
                rows,
                frame,
                k,
                &options,
            ));
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
        let (signal, parameters) = learned(&tensors.into_array().map(contiguous));
        let [rows, frame] = size(&signal);
        let power = output(&signal, [rows, options.bins()], DType::F32, rows);
        if rows > 0 {
            let (client, into) = (&signal.client, &power.handle);
            launched(learned_welch_psd(client, &signal.handle, &parameters, into, rows, frame, &options));
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
        let (signal, parameters) = learned(&inputs);
        let [rows, frame] = size(&signal);
        let gradients = inputs.each_ref().map(|input| output(input, input.shape(), DType::F32, rows));
        if rows > 0 {
            let (of_signal, of_parameters) = learned(&gradients);
            let into = LearnedGradients { signal: of_signal.handle, parameters: of_parameters };
            launched(learned_welch_psd_backward(
                &signal.client,
                &signal.handle,
                &parameters,
                &grad.handle,
                &into,
                rows,
                frame,
                &options,
                wanted,
            ));
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
fn learned(tensors: &[CubeTensor; 6]) -> (CubeTensor, Parameters) {
    let [signal, window, twiddles, gates, weights, gain] = tensors.each_ref();
    let handle = |tensor: &CubeTensor| tensor.handle.clone();
    let parameters = Parameters {
        window: handle(window),
        twiddles: handle(twiddles),
        gates: handle(gates),
        weights: handle(weights),
        gain: handle(gain),
    };
    (signal.clone(), parameters)
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
        let network = Network::new(n, twiddles.handle, gates.map(|gates| gates.handle));
        let (input, output) = (complex(&re, &im), complex(&into[0], &into[1]));
        launched(network.forward(&re.client, &input, &output, rows));
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
        let client: &Client = &re.client;
        let network = Network::new(n, twiddles.handle.clone(), gates.map(|gates| gates.handle));
        let sums = NetworkGradients { twiddles: of_twiddles.handle.clone(), gates: of_gates.handle.clone() };
        let (input, grad, into) = (complex(&re, &im), complex(&grad_re, &grad_im), complex(&of_re, &of_im));
        launched(network.backward(client, &input, &grad, &into, &sums, rows, false));
    }
    [of_re, of_im, of_twiddles, of_gates]
}

fn complex(re: &CubeTensor, im: &CubeTensor) -> Rows {
    let handle = |tensor: &CubeTensor| -> Handle { tensor.handle.clone() };
    Rows::complex(handle(re), handle(im))
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::Ordering;

    #[cfg(any(feature = "wgpu", feature = "vulkan", feature = "metal"))]
    use burn::tensor::DeviceKind;
    use burn::tensor::{Device, DeviceType, Distribution, Tensor};

    use crate::gpu::MOST_BUFFER;
    use crate::{
        Direction, LearnedParameters, WelchOptions, butterfly, exact_twiddles, learned_welch_psd, welch_peaks,
    };

    const ROWS: usize = 200;
    const N: usize = 64;

    fn accelerators() -> Vec<Device> {
        let built: Vec<(DeviceType, fn() -> Device)> = vec![
            #[cfg(feature = "wgpu")]
            (DeviceType::Wgpu, || Device::wgpu(DeviceKind::DefaultDevice)),
            #[cfg(feature = "vulkan")]
            (DeviceType::Vulkan, || Device::vulkan(DeviceKind::DefaultDevice)),
            #[cfg(feature = "metal")]
            (DeviceType::Metal, || Device::metal(DeviceKind::DefaultDevice)),
            #[cfg(feature = "cuda")]
            (DeviceType::Cuda, || Device::cuda(0)),
        ];
        let present = |(kind, open): (DeviceType, fn() -> Device)| (!Device::enumerate(kind).is_empty()).then(open);
        built.into_iter().filter_map(present).collect()
    }

    fn numbers<const D: usize>(tensor: Tensor<D>) -> Vec<f32> {
        tensor.into_data().try_to_vec::<f32>().unwrap()
    }

    /// Everything a learned estimate, exact peaks and a network give of a batch, forward and backward.
    fn outputs(signal: &Tensor<2>, parameters: &LearnedParameters) -> Vec<Vec<f32>> {
        let options = WelchOptions::new(N, 1);
        let signal = signal.clone().require_grad();
        let window = parameters.window.clone().require_grad();
        let parameters = LearnedParameters { window: window.clone(), ..parameters.clone() };
        let learned = learned_welch_psd(signal.clone(), parameters.clone(), &options).unwrap();
        let peaks = welch_peaks(signal.clone(), parameters.window.clone(), &options, 5).unwrap();
        let (re, im) = butterfly(signal.clone(), signal.clone(), parameters.twiddles, Some(parameters.gates)).unwrap();
        let total = learned.clone().sum() + peaks.power.clone().sum() + (re.clone() * 3.0 + im.clone()).sum();
        let gradients = total.backward();
        let of_signal = signal.grad(&gradients).unwrap();
        let of_window = window.grad(&gradients).unwrap();
        vec![numbers(learned), numbers(peaks.power), numbers(re), numbers(im), numbers(of_signal), numbers(of_window)]
    }

    #[test]
    fn a_batch_that_no_buffer_holds_is_split() {
        for device in accelerators() {
            let tape = device.clone().autodiff();
            let signal = Tensor::<2>::random([ROWS, N], Distribution::Default, &tape);
            let parameters = LearnedParameters {
                window: Tensor::random([N], Distribution::Default, &tape),
                twiddles: exact_twiddles(N, Direction::Forward, burn::tensor::FloatDType::F32, &tape).unwrap(),
                gates: Tensor::random([6, N / 2], Distribution::Default, &tape),
                weights: Tensor::ones([1], &tape),
                gain: Tensor::random([N / 2 + 1, 3], Distribution::Default, &tape),
            };
            let whole = outputs(&signal, &parameters);
            // 64 rows, so the batch takes four parts, the last one smaller.
            MOST_BUFFER.store(64 * 4 * N as u64, Ordering::Relaxed);
            let split = outputs(&signal, &parameters);
            MOST_BUFFER.store(u64::MAX, Ordering::Relaxed);
            for (at, (whole, split)) in whole.iter().zip(&split).enumerate() {
                let largest = whole.iter().fold(0f32, |largest, value| largest.max(value.abs()));
                let close = |(a, b): (&f32, &f32)| (a - b).abs() <= 1e-5 * largest;
                assert!(whole.len() == split.len() && whole.iter().zip(split).all(close), "{device:?}: output {at}");
            }
        }
    }
}
