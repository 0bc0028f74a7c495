//! Chirp-z transforms: spectra at equally spaced points of an arc or a spiral, by a convolution with a chirp.

use std::f64::consts::TAU;

use burn::tensor::{AsIndex, DType};

use super::{ComplexTensor, FftCall, along, next_fast_len};
use crate::error::{Result, ensure};

/// Chirp-z transform along `dim`, as `scipy.signal.czt`: X_k = Σ_j x_j z_k^(−j) at the points z_k = a w^(−k) (L. R.
/// Rabiner, R. W. Schafer and C. M. Rader, "The chirp z-transform algorithm", 1969).
///
/// - `input`: complex, or real; n values along `dim`.
/// - `m`: number of points, and of values that are returned along `dim`; n by default.
/// - `w`, `a`: real and imaginary parts, exp(−2πi/m) and 1 by default, as of the `fft`.
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use firefly_ops::fft::{czt, zoom_fft};
///
/// let signal = Tensor::<1>::from_floats([1.0, 2.0, 4.0], &Device::flex());
/// let value = czt(signal, Some(1), None, Some([2.0, 0.0]), -1)?;
/// assert!((value.re.into_scalar::<f32>() - 3.0).abs() < 1e-5);
/// // 100 frequencies from 10 to 20 Hz of two seconds at 1 kHz.
/// let signal = Tensor::<1>::ones([2_000], &Device::flex());
/// assert_eq!(zoom_fft(signal, [10.0, 20.0], Some(100), 1_000.0, false, -1)?.dims(), [100]);
/// # Ok::<(), firefly_ops::ArgumentError>(())
/// ```
///
/// Errors are those of [`fft`](super::fft()); also an `m` of 0, an `a` or `w` that is 0 or not finite, and a `w` whose
/// powers up to max(n, m)²/2, by which rounding grows, leave 10^±2 in magnitude, in f64 10^±8.
pub fn czt<const D: usize>(
    input: impl Into<ComplexTensor<D>>,
    m: Option<usize>,
    w: Option<[f64; 2]>,
    a: Option<[f64; 2]>,
    dim: impl AsIndex,
) -> Result<ComplexTensor<D>> {
    let (call, input) = (FftCall::forward("czt"), input.into());
    let dim = call.dim(dim, D)?;
    let m = m.unwrap_or(input.dims()[dim]);
    // Of the magnitude, and the angle in turns.
    let logarithm = |argument, value: Option<[f64; 2]>, turns| {
        let Some([re, im]) = value else { return Ok([0.0, turns]) };
        let (ln, expected) = (re.hypot(im).ln(), "a finite complex number that is not 0");
        ensure(ln.is_finite(), call.operation, argument, format_args!("{re} + {im}i"), expected)?;
        Ok([ln, im.atan2(re) / TAU])
    };
    call.chirp_z(input, m, [logarithm("w", w, -1.0 / m as f64)?, logarithm("a", a, 0.0)?], dim)
}

/// Spectrum at `m` frequencies along `dim`, n by default, as `scipy.signal.zoom_fft`: equally spaced from the first of
/// `band` to the second, which is left out unless `endpoint`; in the unit of `sample_rate`. The example of [`czt`] has it.
///
/// Errors are those of [`fft`](super::fft()); also numbers that are not finite, an `m` of 0, or of 1 with `endpoint`.
pub fn zoom_fft<const D: usize>(
    input: impl Into<ComplexTensor<D>>,
    band: [f64; 2],
    m: Option<usize>,
    sample_rate: f64,
    endpoint: bool,
    dim: impl AsIndex,
) -> Result<ComplexTensor<D>> {
    let (call, input) = (FftCall::forward("zoom_fft"), input.into());
    let dim = call.dim(dim, D)?;
    let m = m.unwrap_or(input.dims()[dim]);
    let is_rate = sample_rate.is_finite() && sample_rate > 0.0;
    ensure(is_rate, call.operation, "sample_rate", sample_rate, "positive and finite")?;
    ensure(m >= 2 || !endpoint, call.operation, "m", m, "at least 2 with an endpoint")?;
    let [first, last] = band.map(|frequency| frequency / sample_rate);
    ensure((last - first).is_finite(), call.operation, "band", format_args!("{band:?}"), "two finite frequencies")?;
    call.chirp_z(input, m, [[0.0, (first - last) / (m - usize::from(endpoint)) as f64], [0.0, first]], dim)
}

impl FftCall {
    /// X_k = w^(k²/2) Σ_j x_j a^(−j) w^(j²/2) · w^(−(k−j)²/2), of logarithms of w and a: the sum is a convolution.
    fn chirp_z<const D: usize>(
        self,
        input: ComplexTensor<D>,
        m: usize,
        [w, a]: [[f64; 2]; 2],
        dim: usize,
    ) -> Result<ComplexTensor<D>> {
        let n = input.dims()[dim];
        ensure(m >= 1, self.operation, "m", m, "at least 1 point")?;
        let points = next_fast_len(n + m - 1);
        let (re, im) = self.parts(input, dim, points)?;
        let half_square = |j: usize| (j as f64 * j as f64) / 2.0;
        let most = if re.dtype() == DType::F64 { 1e8f64 } else { 1e2 };
        let is_near = (half_square(n.max(m) - 1) * w[0]).abs() <= most.ln();
        let expected = format_args!("within {most:e}^±1 in magnitude for its power max(n, m)²/2");
        ensure(is_near, self.operation, "w", format_args!("{} in magnitude", w[0].exp()), expected)?;

        // a^p w^q for the p and q of each position. Turns are many, so what rounding takes from a product counts.
        let turned = |power: f64, turns: f64| power * turns % 1.0 + power.mul_add(turns, -(power * turns));
        let table = |count: usize, powers: &dyn Fn(usize) -> [f64; 2]| {
            let value = |[p, q]: [f64; 2], of: fn(f64) -> f64| {
                (p * a[0] + q * w[0]).exp() * of(TAU * (turned(p, a[1]) + turned(q, w[1])))
            };
            let part = |of| along((0..count).map(|j| value(powers(j), of)).collect(), dim, &re);
            ComplexTensor { re: part(f64::cos), im: part(f64::sin) }
        };
        // The chirp of distances from −(n − 1) to m − 1, the negative ones at the end; any value does between them.
        let chirp = table(points, &|j| [0.0, -half_square(if j < m { j } else { (points - j).min(n - 1) })]);
        let rows = ComplexTensor { re: re.clone(), im } * table(n, &|j| [-(j as f64), half_square(j)]);
        let product = self.complex(rows, Some(points), dim)? * self.complex(chirp, None, dim)?;
        let convolved = Self { forward: false, ..self }.complex(product, None, dim)?;
        Ok(convolved.map(|part| part.narrow(dim, 0, m)) * table(m, &|k| [0.0, half_square(k)]))
    }
}
