//! Custom operations and their gradients, on a server and here.

use burn::tensor::kind::Basic;
use burn::tensor::{Device, FloatDType, Tensor, TensorData};
use firefly_app::device::DeviceName;
use firefly_ops::fft::{self, ComplexTensor};
use firefly_ops::from_host::{host_chunks, welch_peaks_from_host};
use firefly_ops::options::{LogUnit, Logarithm, MelBands, SignalPadding};
use firefly_ops::twiddles::exact_twiddles;
use firefly_ops::{
    LocalMaximaOptions, MelOptions, Norm, StftOptions, WelchOptions, WelchWeights, Window, WindowSymmetry, butterfly,
    local_maxima, log_mel, long_conv, mel, spectral_conv, top_k, welch_peaks, welch_psd,
};

use super::server::ServerProcess;
use crate::common::samples;

const N: usize = 64;

/// Results by name.
#[derive(Default)]
struct Results(Vec<(String, TensorData)>);

impl Results {
    fn add<const D: usize, K: Basic>(&mut self, name: &str, tensor: Tensor<D, K>) {
        self.0.push((name.into(), tensor.into_data()));
    }

    /// An output, and the gradients of the sum of its squares.
    fn add_with_gradients<const D: usize>(&mut self, name: &str, output: Tensor<D>, inputs: &[(&str, Leaf)]) {
        self.add(name, output.clone().inner());
        let gradients = (output.clone() * output).sum().backward();
        for (input, leaf) in inputs {
            let gradient = match leaf {
                Leaf::One(tensor) => tensor.grad(&gradients).map(Tensor::into_data),
                Leaf::Two(tensor) => tensor.grad(&gradients).map(Tensor::into_data),
                Leaf::Three(tensor) => tensor.grad(&gradients).map(Tensor::into_data),
            };
            self.0.push((format!("gradient of {name} in {input}"), gradient.unwrap()));
        }
    }
}

/// An input that gradients are taken in.
enum Leaf {
    One(Tensor<1>),
    Two(Tensor<2>),
    Three(Tensor<3>),
}

/// Values of noise and tones as a tensor that tracks gradients.
fn input<const D: usize>(shape: [usize; D], device: &Device) -> Tensor<D> {
    let values = samples(shape.iter().product());
    Tensor::from_data(TensorData::new(values, shape), &device.clone().autodiff()).require_grad()
}

/// Results of every operation on a device.
fn results(device: &Device) -> Results {
    let mut results = Results::default();
    spectra(device, &mut results);
    short_time(device, &mut results);
    gained(device, &mut results);
    convolutions(device, &mut results);
    transforms(device, &mut results);
    results
}

fn spectra(device: &Device, results: &mut Results) {
    let options = WelchOptions::new(N, 3);
    let tracked = device.clone().autodiff();
    let window = Window::Hann.tensor(N, WindowSymmetry::Periodic, FloatDType::F32, &tracked).require_grad();
    let signal = input([5, options.frame()], device);
    let leaves = || [("signal", Leaf::Two(signal.clone())), ("window", Leaf::One(window.clone()))];

    let power = welch_psd(signal.clone(), window.clone(), &options).unwrap();
    results.add_with_gradients("welch_psd", power.clone(), &leaves());
    let peaks = welch_peaks(signal.clone(), window.clone(), &options, 4).unwrap();
    results.add("welch_peaks, bins", peaks.bins);
    results.add_with_gradients("welch_peaks", peaks.power, &leaves());
    let values = input([5, 33], device);
    let largest = top_k(values.clone(), 3).unwrap();
    results.add("top_k, bins", largest.bins);
    results.add_with_gradients("top_k", largest.power, &[("values", Leaf::Two(values))]);
    let lines = local_maxima(power.inner(), &LocalMaximaOptions::new(), 3).unwrap();
    results.add("local_maxima, bins", lines.bins);
    results.add("local_maxima, offset", lines.offset);

    let options = MelOptions::new(StftOptions::new(N).with_hop(N / 2), MelBands::new(8_000.0, 8));
    let signal = input([2, 400], device);
    let leaves = || [("signal", Leaf::Two(signal.clone())), ("window", Leaf::One(window.clone()))];
    let bands: Tensor<3> = mel(signal.clone(), window.clone(), &options).unwrap();
    results.add_with_gradients("mel", bands, &leaves());
    let bands: Tensor<3> = log_mel(signal.clone(), window.clone(), &options, &Logarithm::new(LogUnit::Ten)).unwrap();
    results.add_with_gradients("log_mel", bands, &leaves());
}

fn short_time(device: &Device, results: &mut Results) {
    let tracked = device.clone().autodiff();
    let window = Window::Hann.tensor(N, WindowSymmetry::Periodic, FloatDType::F32, &tracked).require_grad();
    for pad in [SignalPadding::Reflect, SignalPadding::Edge, SignalPadding::Circular, SignalPadding::Constant(0.5)] {
        let signal = input([2, 200], device);
        let options = StftOptions::new(N).with_hop(N / 4).with_pad(pad);
        let spectra = fft::stft::<2, 3>(signal.clone(), Some(window.clone()), &options).unwrap();
        let leaves = [("signal", Leaf::Two(signal)), ("window", Leaf::One(window.clone()))];
        results.add_with_gradients(&format!("stft, {pad:?}"), spectra.abs_squared(), &leaves);
    }
}

fn gained(device: &Device, results: &mut Results) {
    let options = WelchOptions::new(N, 2);
    let tracked = device.clone().autodiff();
    let window = Tensor::<1>::ones([N], &tracked).require_grad();
    let gain = Tensor::<2>::full([options.bins(), 3], 0.5, &tracked).require_grad();
    let weights = WelchWeights::new(window.clone()).with_gain(Some(gain.clone()));
    let signal = input([5, options.frame()], device);
    let leaves = || {
        [
            ("signal", Leaf::Two(signal.clone())),
            ("window", Leaf::One(window.clone())),
            ("gain", Leaf::Two(gain.clone())),
        ]
    };
    let power = welch_psd(signal.clone(), weights.clone(), &options).unwrap();
    results.add_with_gradients("gained welch_psd", power, &leaves());
    let peaks = welch_peaks(signal.clone(), weights, &options, 4).unwrap();
    results.add("gained welch_peaks, bins", peaks.bins);
    results.add_with_gradients("gained welch_peaks", peaks.power, &leaves());

    let (re, im) = (input([5, N], device), input([5, N], device));
    let twiddles = exact_twiddles(N, firefly_ops::Direction::Forward, FloatDType::F32, &tracked).unwrap();
    let twiddles = twiddles.detach().require_grad();
    let out = butterfly(ComplexTensor::new(re.clone(), im.clone()), twiddles.clone(), None).unwrap().re;
    let leaves = [("re", Leaf::Two(re)), ("im", Leaf::Two(im)), ("twiddles", Leaf::Three(twiddles))];
    results.add_with_gradients("butterfly", out, &leaves);
}

fn convolutions(device: &Device, results: &mut Results) {
    let (signal, re, im) = (input([2, 3, 32], device), input([3, 2, 5], device), input([3, 2, 5], device));
    let out = spectral_conv(signal.clone(), ComplexTensor::new(re.clone(), im.clone())).unwrap();
    let leaves = [("input", Leaf::Three(signal.clone())), ("re", Leaf::Three(re)), ("im", Leaf::Three(im))];
    results.add_with_gradients("spectral_conv", out, &leaves);

    let (kernel, gate) = (input([3, 20], device), input([2, 3, 32], device));
    let out = long_conv(signal.clone(), kernel.clone(), Some(gate.clone())).unwrap();
    let leaves = [("signal", Leaf::Three(signal)), ("kernel", Leaf::Two(kernel)), ("gate", Leaf::Three(gate))];
    results.add_with_gradients("long_conv", out, &leaves);
}

fn transforms(device: &Device, results: &mut Results) {
    let signal = input([3, 60], device);
    let leaves = || [("signal", Leaf::Two(signal.clone()))];
    let spectrum = fft::rfft(signal.clone()).unwrap();
    results.add("rfft, imaginary", spectrum.im.clone().inner());
    results.add_with_gradients("rfft", spectrum.re.clone(), &leaves());
    let spectrum = fft::rfft(signal.clone()).unwrap();
    let back = fft::irfft(spectrum, None).unwrap();
    results.add_with_gradients("irfft", back, &leaves());
    let spectrum = fft::fft_with(signal.clone(), Some(64), -1, Norm::Ortho).unwrap();
    results.add_with_gradients("fft", spectrum.re, &leaves());

    let window = Tensor::ones([N], device);
    let values = samples(7 * N);
    let chunks = host_chunks(&values, N, &window.device()).unwrap();
    let peaks = welch_peaks_from_host(chunks, window, &WelchOptions::new(N, 1), 4).unwrap();
    results.0.push(("welch_peaks_from_host, bins".into(), TensorData::new(peaks.bins, [7, 4])));
    results.0.push(("welch_peaks_from_host, power".into(), TensorData::new(peaks.power, [7, 4])));
}

#[test]
fn operations_have_the_bits_of_a_local_device() {
    let server = ServerProcess::start();
    let name: DeviceName = server.device().parse().unwrap();
    let device = name.open().unwrap();
    assert_eq!(DeviceName::of(&device), name);
    assert_eq!(DeviceName::of(&device.clone().autodiff()), name);
    let (remote, local) = (results(&device), results(&Device::flex()));
    assert_eq!(remote.0.len(), local.0.len());
    for ((name, remote), (_, local)) in remote.0.iter().zip(&local.0) {
        assert_eq!((remote.shape(), remote.dtype()), (local.shape(), local.dtype()), "{name}");
        assert!(remote.bytes() == local.bytes(), "{name} differs");
    }
}
