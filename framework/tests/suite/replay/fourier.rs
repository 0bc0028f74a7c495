//! Fourier transforms, the operations composed of them, and long convolutions.

use burn::backend::Dispatch;
use burn::tensor::{Device, Tensor};
use firefly_ops::fft::{self, ComplexTensor, ConvolveMode};
use firefly_ops::op::{Needed, inputs};
use firefly_ops::options::{FftOptions, SignalPadding};
use firefly_ops::{Direction, Norm, StftOptions, long_conv};

use super::{OPTIONS, ROWS, check, gradients, noise, parameters};

/// Lengths of transforms of rows of 30 values: padded, as they are, with another factor, and cut.
const LENGTHS: [usize; 4] = [40, 30, 29, 24];

/// Options of both directions and every length, no field at its default.
fn transforms() -> impl Iterator<Item = FftOptions> {
    let both = [Direction::Forward, Direction::Inverse];
    let all = both.into_iter().flat_map(|direction| LENGTHS.map(|length| FftOptions::new(length, direction)));
    all.map(|options| options.with_scale(0.3))
}

/// An imaginary part for a signal that is the real one.
fn imaginary(signal: &Tensor<2>, device: &Device) -> Tensor<2> {
    Tensor::from_data(noise(signal.dims(), 9), device)
}

#[test]
fn complex_transforms_replay() {
    for options in transforms() {
        check(&["firefly::complex_fft"], |signal, device| {
            let im = imaginary(&signal, device).into_dispatch();
            let [re, im] = inputs::ComplexFft { re: signal.into_dispatch(), im }.apply::<Dispatch>(options);
            (Tensor::<2>::from_dispatch(re), Tensor::<2>::from_dispatch(im))
        });
    }
    for (direction, [n, width]) in [(Direction::Forward, [10, 3]), (Direction::Inverse, [6, 5])] {
        let options = FftOptions::new(n, direction).with_scale(0.3);
        check(&["firefly::complex_fft_columns"], |signal, device| {
            let matrices = |part: Tensor<2>| part.reshape([ROWS, n, width]).into_dispatch();
            let im = matrices(imaginary(&signal, device));
            let [re, im] = inputs::ComplexFftColumns { re: matrices(signal), im }.apply::<Dispatch>(options);
            (Tensor::<3>::from_dispatch(re), Tensor::<3>::from_dispatch(im))
        });
    }
}

#[test]
fn real_transforms_replay() {
    for options in transforms().map(|options| options.with_interior(1.7)) {
        check(&["firefly::real_fft"], |signal, _| {
            let [re, im] = inputs::RealFft { signal: signal.into_dispatch() }.apply::<Dispatch>(options);
            (Tensor::<2>::from_dispatch(re), Tensor::<2>::from_dispatch(im))
        });
        // 30 bins are more than the transform reads; 10 are fewer.
        for bins in [30, 10] {
            check(&["firefly::inverse_real_fft"], |signal, device| {
                let im = imaginary(&signal, device).narrow(1, 0, bins).into_dispatch();
                let re = signal.narrow(1, 0, bins).into_dispatch();
                let [signal] = inputs::InverseRealFft { re, im }.apply::<Dispatch>(options);
                Tensor::<2>::from_dispatch(signal)
            });
        }
    }
}

#[test]
fn functions_of_torch_fft_replay() {
    for (n, norm) in LENGTHS.into_iter().zip([Norm::Backward, Norm::Ortho, Norm::Forward, Norm::Ortho]) {
        check(&["firefly::complex_fft", "firefly::complex_fft"], |signal, device| {
            let im = imaginary(&signal, device);
            let spectrum = fft::fft_with(ComplexTensor::new(signal, im), Some(n), 1, norm).unwrap();
            let ComplexTensor { re, im } = fft::ifft_with(spectrum.conj(), None, -1, norm).unwrap();
            (re, im)
        });
        check(&["firefly::real_fft", "firefly::inverse_real_fft"], |signal, _| {
            let spectrum = fft::rfft_with(signal, Some(n), 1, norm).unwrap();
            fft::irfft_with(spectrum, Some(n), 1, norm).unwrap()
        });
        check(&["firefly::dct", "firefly::dct"], |signal, _| {
            fft::idct_with(fft::dct_with(signal, 2, 0, norm).unwrap() * 2.0, 2, 1, norm).unwrap()
        });
        check(&["firefly::dct", "firefly::dct"], |signal, _| {
            fft::idst_with(fft::dst_with(signal, 4, 0, norm).unwrap() * 2.0, 2, 1, norm).unwrap()
        });
    }
}

#[test]
fn short_time_transforms_replay() {
    let plain = StftOptions::new(12).with_hop(4);
    let unusual = plain.with_window_length(10).with_pad(SignalPadding::Constant(0.5)).with_normalized(true);
    for options in [plain, unusual, plain.with_center(false)] {
        let length = options.window_samples();
        let window = |device: &Device| parameters(device).window.narrow(0, 0, length).abs() + 0.5;
        check(&["firefly::real_fft"], |signal, device| {
            let ComplexTensor { re, im } = fft::stft::<2, 3>(signal, Some(window(device)), &options).unwrap();
            (re, im)
        });
        check(&["firefly::inverse_real_fft"], |signal, device| {
            // Four frames of seven bins.
            let re = signal.narrow(1, 0, 28).reshape([ROWS, 7, 4]);
            let im = Tensor::from_data(noise(re.dims(), 9), device);
            fft::istft::<3, 2>(ComplexTensor::new(re, im), Some(window(device)), &options, None).unwrap()
        });
    }
}

#[test]
fn convolutions_by_transforms_replay() {
    let names = ["firefly::real_fft", "firefly::real_fft", "firefly::inverse_real_fft"];
    for mode in [ConvolveMode::Full, ConvolveMode::Same, ConvolveMode::Valid, ConvolveMode::Circular] {
        check(&names, |signal, device| {
            let kernel = Tensor::<2>::from_data(noise([1, 7], 9), device);
            fft::fft_convolve(signal, kernel, mode).unwrap()
        });
    }
}

/// Signal and gate `[ROWS, 2, 15]` of a convolution, and a kernel `[2, taps]`.
fn convolved(signal: Tensor<2>, taps: usize, device: &Device) -> (Tensor<3>, Tensor<2>, Tensor<3>) {
    let signal = signal.reshape([ROWS, 2, OPTIONS.frame() / 2]);
    let gate = Tensor::from_data(noise(signal.dims(), 11), device);
    (signal, Tensor::from_data(noise([2, taps], 10), device), gate)
}

#[test]
fn long_convolutions_replay() {
    for (taps, gated) in [(15, false), (15, true), (4, false), (4, true)] {
        check(&["firefly::long_conv"], |signal, device| {
            let (signal, kernel, gate) = convolved(signal, taps, device);
            long_conv(signal, kernel, gated.then_some(gate)).unwrap()
        });
    }
}

#[test]
fn gradients_of_long_convolutions_replay() {
    let backward = |signal: Tensor<2>, device: &Device, gated: bool, needed: &[bool]| {
        let (signal, kernel, gate) = convolved(signal, 6, device);
        let grad_output = Tensor::<3>::from_data(noise(signal.dims(), 12), device).into_dispatch();
        let gate = gated.then(|| gate.into_dispatch());
        let (signal, kernel) = (signal.into_dispatch(), kernel.into_dispatch());
        let inputs = inputs::LongConvBackward { signal, kernel, gate, grad_output };
        inputs.apply::<Dispatch>(Needed::of(needed.iter().copied()))
    };
    check(&["firefly::long_conv_backward"], |signal, device| {
        let [signal, kernel, gate] = gradients(backward(signal, device, true, &[true; 3]));
        (Tensor::<3>::from_dispatch(signal), (Tensor::<2>::from_dispatch(kernel), Tensor::<3>::from_dispatch(gate)))
    });
    check(&["firefly::long_conv_backward"], |signal, device| {
        let [signal, kernel] = gradients(backward(signal, device, false, &[true, true]));
        (Tensor::<3>::from_dispatch(signal), Tensor::<2>::from_dispatch(kernel))
    });
    check(&["firefly::long_conv_backward"], |signal, device| {
        let [kernel] = gradients(backward(signal, device, true, &[false, true, false]));
        Tensor::<2>::from_dispatch(kernel)
    });
}
