//! Signals at other sample rates: of any length, by Fourier transforms, or by a filter in polyphase form.

use std::f64::consts::PI;

use burn::tensor::{AsIndex, Slice, Tensor};

use super::fft::{FftCall, along, row_frames};
use super::rows::reshaped;
use crate::error::{Result, ensure};
use crate::options::{Norm, Window, WindowSymmetry};

/// Signal of `num` samples along `dim` with the spectrum of `input`, real, cut or continued by zeros, as
/// `scipy.signal.resample`. The signal counts as periodic: ends that differ ring.
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use firefly_ops::resampling::{resample, resample_poly};
///
/// let cosine = Tensor::<1>::from_floats([1.0, 0.0, -1.0, 0.0], &Device::flex());
/// let samples: Vec<f32> = resample(cosine, 8, -1)?.into_data().iter().collect();
/// assert!((samples[1] - 0.5f32.sqrt()).abs() < 1e-6 && samples[2].abs() < 1e-6);
/// let music = Tensor::<2>::zeros([2, 44_100], &Device::flex());
/// assert_eq!(resample_poly(music, 160, 147, -1, None)?.dims(), [2, 48_000]);
/// # Ok::<(), firefly_ops::ArgumentError>(())
/// ```
///
/// Errors are of a `num` of 0, a dimension that is not there or has no values, or a device without kernels.
pub fn resample<const D: usize>(input: Tensor<D>, num: usize, dim: impl AsIndex) -> Result<Tensor<D>> {
    let call = FftCall { operation: "resample", forward: true, norm: Norm::Forward };
    let (dim, input) = call.real_input(input, dim)?;
    let n = input.dims()[dim];
    ensure(num >= 1, call.operation, "num", num, "at least 1 sample")?;
    let mut spectrum = call.real(input, None, dim)?;
    let shorter = n.min(num);
    if shorter % 2 == 0 && n != num {
        // The highest bin of an even length stands for both signs of its frequency, and is two bins of the longer one.
        let factor = if num < n { 2.0 } else { 0.5 };
        spectrum = spectrum.map(|part| {
            let mut bin = [Slice::full(); D];
            bin[dim] = Slice::index(shorter as isize / 2);
            let weighted = part.clone().slice(bin) * factor;
            part.slice_assign(bin, weighted)
        });
    }
    FftCall { forward: false, ..call }.inverse_real(spectrum, Some(num), dim)
}

/// Signal at `up`/`down` times the sample rate along `dim`, ⌈n · up / down⌉ samples, as `scipy.signal.resample_poly`: zeros
/// inserted, a low-pass filter without delay, every `down`-th sample kept; only the products that count are computed.
/// Errors are those of [`resample`], where an example is; also for an `up` or `down` of 0 and a window out of range.
///
/// - `input`: real, n samples along `dim`; 0 before and after.
/// - `window`: of the filter of 20 max(up, down) + 1 taps; `Window::Kaiser { beta: 5.0 }` if `None`.
pub fn resample_poly<const D: usize>(
    input: Tensor<D>,
    up: usize,
    down: usize,
    dim: impl AsIndex,
    window: Option<Window>,
) -> Result<Tensor<D>> {
    let call = FftCall::forward("resample_poly");
    let (dim, input) = call.real_input(input, dim)?;
    ensure((1..=1 << 24).contains(&up), call.operation, "up", up, "from 1 to 16,777,216")?;
    ensure((1..=1 << 24).contains(&down), call.operation, "down", down, "from 1 to 16,777,216")?;
    let divisor = (1..=up.min(down)).rev().find(|divisor| up % divisor + down % divisor == 0).unwrap_or(1);
    let (up, down) = (up / divisor, down / divisor);
    let half = 10 * up.max(down);
    let window = window.unwrap_or(Window::Kaiser { beta: 5.0 });
    window.validate(call.operation, 2 * half + 1)?;
    if up == down {
        return Ok(input);
    }
    // The window method: a low-pass filter with its edge at the lower rate's Nyquist frequency, with a gain of `up`.
    let mut filter = window.coefficients(2 * half + 1, WindowSymmetry::Symmetric);
    for (tap, weight) in filter.iter_mut().enumerate().filter(|(tap, _)| *tap != half) {
        let angle = PI * (tap as f64 - half as f64) / up.max(down) as f64;
        *weight *= angle.sin() / angle;
    }
    let gain = up as f64 / filter.iter().sum::<f64>();

    // Output q·up + r is the sum over s of sample q·down + s times tap r·down − s·up from the filter's middle: frames of
    // the signal, `down` apart, times the taps of each r.
    let [half, step, stride] = [half, up, down].map(|length| length as isize);
    let span = |r: isize| {
        let from = -((half - r * stride).div_euclid(step));
        let to = (r * stride + half).div_euclid(step);
        (from, (to - from + 1) as usize)
    };
    let (lowest, (last, taps)) = (span(0).0, span(step - 1));
    let input = input.swap_dims(dim, D - 1);
    let mut dims = input.dims();
    let (rows, n) = (dims[..D - 1].iter().product(), dims[D - 1]);
    dims[D - 1] = n.saturating_mul(up).div_ceil(down);
    let count = dims[D - 1].div_ceil(up);
    let signal = reshaped(input, [rows, n]).pad([(lowest.unsigned_abs(), 0)], 0.0);
    let frames = row_frames(signal, (last - lowest) as usize + taps, down, count);
    let phases = (0..step).map(|r| {
        let (from, taps) = span(r);
        let values = (0..taps as isize).map(|s| gain * filter[(r * stride - (from + s) * step + half) as usize]);
        let factors = along(values.collect(), 2, &frames);
        (frames.clone().narrow(2, (from - lowest) as usize, taps) * factors).sum_dim(2)
    });
    let samples = reshaped(Tensor::cat(phases.collect(), 2), [rows, count * up]).narrow(1, 0, dims[D - 1]);
    Ok(reshaped(samples, dims).swap_dims(dim, D - 1))
}
