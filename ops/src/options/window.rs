//! Window functions.

use std::f64::consts::PI;
use std::fmt;
use std::str::FromStr;

use burn::tensor::{DType, Device, FloatDType, Tensor, TensorData};
use serde::{Deserialize, Serialize};

use super::dpss::prolate_sequence;
use crate::error::{ArgumentError, Result, ensure};

/// A window's shape. Coefficients as in F. J. Harris, "On the use of windows for harmonic analysis with the
/// discrete Fourier transform", Proc. IEEE 66 (1978), unless said otherwise; values are those of SciPy.
///
/// ```
/// use burn::tensor::{Device, FloatDType};
/// use firefly_ops::{Window, WindowSymmetry};
///
/// let window: Window = "tukey(0.5)".parse()?;
/// assert_eq!(window, Window::Tukey { alpha: 0.5 });
/// let values = window.tensor(8, WindowSymmetry::Periodic, FloatDType::F32, &Device::flex());
/// assert_eq!(values.max().into_scalar::<f32>(), 1.0);
/// assert!(Window::Tukey { alpha: 2.0 }.validate("my_model", 8).is_err());
/// # Ok::<(), firefly_ops::ArgumentError>(())
/// ```
#[non_exhaustive]
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Window {
    /// 0.5 − 0.5 cos.
    #[default]
    Hann,
    /// 0.54 − 0.46 cos.
    Hamming,
    /// 0.42 − 0.5 cos + 0.08 cos 2·.
    Blackman,
    /// All ones.
    Rectangular,
    /// Four terms with the lowest side lobes, −98 dB: A. H. Nuttall, "Some windows with very good sidelobe behavior",
    /// IEEE Trans. Acoust. Speech Signal Process. 29 (1981).
    Nuttall,
    /// Four terms, side lobes of −92 dB.
    BlackmanHarris,
    /// Five terms, whose main lobe is flat within 0.01 dB over a bin: for amplitudes. Negative near the ends. G.
    /// D'Antona and A. Ferrero, "Digital signal processing for measurement systems" (2006).
    FlatTop,
    /// Kaiser's: close to the largest share of energy in the main lobe, which grows with `beta`.
    Kaiser {
        /// Shape, from 0 to 700: 0 is rectangular, 8.6 has side lobes like `Blackman`'s.
        beta: f64,
    },
    /// A Gaussian bell.
    Gaussian {
        /// Standard deviation in samples, greater than 0.
        std: f64,
    },
    /// Ones between two halves of a Hann window.
    Tukey {
        /// Share of the length that is tapered, from 0 (rectangular) to 1 (Hann).
        alpha: f64,
    },
    /// The discrete prolate spheroidal sequence of order 0, which has the largest share of energy in its band.
    Dpss {
        /// Half the width of the band in bins, greater than 0 and less than half of the length.
        nw: f64,
    },
}

/// Length of a window's period.
///
/// ```
/// use firefly_ops::{Window, WindowSymmetry};
///
/// let symmetric = Window::Hann.coefficients(5, WindowSymmetry::Symmetric);
/// assert_eq!(symmetric[0], symmetric[4]);
/// // A periodic window is a longer symmetric one without its end.
/// assert_eq!(Window::Hann.coefficients(4, WindowSymmetry::Periodic), symmetric[..4]);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum WindowSymmetry {
    /// The period is the length, as in SciPy's `get_window` and PyTorch: for spectra.
    #[default]
    Periodic,
    /// First and last coefficients are equal: for filters.
    Symmetric,
}

/// Coefficients a₀ − a₁ cos + a₂ cos 2· − …, as SciPy has them.
const NUTTALL: &[f64] = &[0.3635819, 0.4891775, 0.1365995, 0.0106411];
const BLACKMAN_HARRIS: &[f64] = &[0.35875, 0.48829, 0.14128, 0.01168];
const FLAT_TOP: &[f64] = &[0.21557895, 0.41663158, 0.277263158, 0.083578947, 0.006947368];

/// Names and forms that text is parsed from.
const FORMS: &str = "hann, hamming, blackman, rectangular, nuttall, blackmanharris, flattop, kaiser(beta), \
                     gaussian(std), tukey(alpha) or dpss(nw)";

impl Window {
    /// Every window without a parameter.
    pub const ALL: [Self; 7] = [
        Self::Hann,
        Self::Hamming,
        Self::Blackman,
        Self::Rectangular,
        Self::Nuttall,
        Self::BlackmanHarris,
        Self::FlatTop,
    ];

    /// The window's `n` coefficients, at most 1.
    ///
    /// A parameter that [`validate`](Self::validate) refuses gives coefficients that are no taper, or not finite.
    ///
    /// ```
    /// use firefly_ops::{Window, WindowSymmetry};
    ///
    /// let hann = Window::Hann.coefficients(4, WindowSymmetry::Periodic);
    /// assert!(hann.iter().zip([0.0, 0.5, 1.0, 0.5]).all(|(a, b)| (a - b).abs() < 1e-15));
    /// assert_eq!("hann".parse(), Ok(Window::Hann));
    /// assert_eq!("kaiser(8.6)".parse(), Ok(Window::Kaiser { beta: 8.6 }));
    /// ```
    pub fn coefficients(self, n: usize, symmetry: WindowSymmetry) -> Vec<f64> {
        if n < 2 {
            return vec![1.0; n];
        }
        let shape: &dyn Fn(usize) -> Vec<f64> = match self {
            Self::Kaiser { beta } => &move |n| kaiser(n, beta),
            Self::Gaussian { std } => &move |n| gaussian(n, std),
            Self::Tukey { alpha } => &move |n| tukey(n, alpha),
            Self::Dpss { nw } => &move |n| dpss(n, nw),
            cosines => {
                let period = match symmetry {
                    WindowSymmetry::Periodic => n,
                    WindowSymmetry::Symmetric => n - 1,
                } as f64;
                return (0..n).map(|j| cosines.at(2.0 * PI * j as f64 / period)).collect();
            }
        };
        // A periodic window is a symmetric one without its last point.
        let mut coefficients = match symmetry {
            WindowSymmetry::Periodic => shape(n + 1),
            WindowSymmetry::Symmetric => shape(n),
        };
        coefficients.truncate(n);
        coefficients
    }

    /// Checks the parameter, for a window of `n` coefficients.
    ///
    /// # Errors
    /// [`ArgumentError`] for a parameter out of its range.
    pub fn validate(self, operation: &'static str, n: usize) -> Result<()> {
        match self {
            Self::Kaiser { beta } => {
                // Beyond, I₀(β) is no number of f64.
                ensure((0.0..=700.0).contains(&beta), operation, "beta", beta, "from 0 to 700")
            }
            Self::Gaussian { std } => {
                ensure(std.is_finite() && std > 0.0, operation, "std", std, "a finite number of samples above 0")
            }
            Self::Tukey { alpha } => ensure((0.0..=1.0).contains(&alpha), operation, "alpha", alpha, "from 0 to 1"),
            Self::Dpss { nw } => {
                let holds = nw > 0.0 && 2.0 * nw < n as f64;
                // The length is not known where the window is read from a text.
                let length = if n == usize::MAX { "its".to_owned() } else { n.to_string() };
                ensure(holds, operation, "nw", nw, format_args!("above 0 and below half of {length} coefficients"))
            }
            _ => Ok(()),
        }
    }

    /// The window as a tensor `[n]` of type `dtype` on `device`.
    pub fn tensor(self, n: usize, symmetry: WindowSymmetry, dtype: FloatDType, device: &Device) -> Tensor<1> {
        Tensor::from_data(TensorData::new(self.coefficients(n, symmetry), [n]), (device, DType::from(dtype)))
    }

    /// The value of a cosine sum.
    fn at(self, phase: f64) -> f64 {
        match self {
            Self::Hann => 0.5 - 0.5 * phase.cos(),
            Self::Hamming => 0.54 - 0.46 * phase.cos(),
            Self::Blackman => 0.42 - 0.5 * phase.cos() + 0.08 * (2.0 * phase).cos(),
            Self::Nuttall => cosine_sum(NUTTALL, phase),
            Self::BlackmanHarris => cosine_sum(BLACKMAN_HARRIS, phase),
            Self::FlatTop => cosine_sum(FLAT_TOP, phase),
            _ => 1.0,
        }
    }

    /// The window's parameter, if it has one.
    fn parameter(self) -> Option<f64> {
        match self {
            Self::Kaiser { beta: value }
            | Self::Gaussian { std: value }
            | Self::Tukey { alpha: value }
            | Self::Dpss { nw: value } => Some(value),
            _ => None,
        }
    }
}

/// Σ (−1)^k a_k cos k `phase`.
fn cosine_sum(coefficients: &[f64], phase: f64) -> f64 {
    let terms = coefficients.iter().enumerate();
    terms.map(|(k, a)| if k % 2 == 0 { a * (k as f64 * phase).cos() } else { -a * (k as f64 * phase).cos() }).sum()
}

impl fmt::Display for Window {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Hann => "hann",
            Self::Hamming => "hamming",
            Self::Blackman => "blackman",
            Self::Rectangular => "rectangular",
            Self::Nuttall => "nuttall",
            Self::BlackmanHarris => "blackmanharris",
            Self::FlatTop => "flattop",
            Self::Kaiser { .. } => "kaiser",
            Self::Gaussian { .. } => "gaussian",
            Self::Tukey { .. } => "tukey",
            Self::Dpss { .. } => "dpss",
        })?;
        self.parameter().map_or(Ok(()), |value| write!(f, "({value})"))
    }
}

impl FromStr for Window {
    type Err = ArgumentError;

    fn from_str(text: &str) -> Result<Self> {
        let refused = || ArgumentError::new("window", "name", format_args!("`{text}`"), FORMS);
        let Some((name, rest)) = text.split_once('(') else {
            return Self::ALL.into_iter().find(|window| window.to_string() == text).ok_or_else(refused);
        };
        let value: f64 = rest.strip_suffix(')').and_then(|value| value.trim().parse().ok()).ok_or_else(refused)?;
        let window = match name {
            "kaiser" => Self::Kaiser { beta: value },
            "gaussian" => Self::Gaussian { std: value },
            "tukey" => Self::Tukey { alpha: value },
            "dpss" => Self::Dpss { nw: value },
            _ => return Err(refused()),
        };
        window.validate("window", usize::MAX)?;
        Ok(window)
    }
}

/// Kaiser window: I₀(β √(1 − r²)) / I₀(β), r from −1 to 1. J. F. Kaiser and R. W. Schafer, "On the use of the I₀-sinh
/// window for spectrum analysis", IEEE Trans. Acoust. Speech Signal Process. 28 (1980).
pub(super) fn kaiser(n: usize, beta: f64) -> Vec<f64> {
    let middle = 0.5 * (n - 1) as f64;
    let at = |j: usize| bessel_i0(beta * (1.0 - ((j as f64 - middle) / middle).powi(2)).max(0.0).sqrt());
    (0..n).map(|j| at(j) / bessel_i0(beta)).collect()
}

/// The modified Bessel function of the first kind and order 0, by its power series Σ (x/2)^2k / k!².
fn bessel_i0(x: f64) -> f64 {
    let quarter = 0.25 * x * x;
    let (mut sum, mut term, mut k) = (1.0, 1.0, 1.0);
    while term > sum * 1e-17 {
        term *= quarter / (k * k);
        sum += term;
        k += 1.0;
    }
    sum
}

/// Gaussian window of standard deviation `std`, in samples.
pub(super) fn gaussian(n: usize, std: f64) -> Vec<f64> {
    let middle = 0.5 * (n - 1) as f64;
    (0..n).map(|j| (-0.5 * ((j as f64 - middle) / std).powi(2)).exp()).collect()
}

/// Tukey window: ones between two halves of a Hann window, which take the share `alpha` of the length. J. W. Tukey, "An
/// introduction to the calculations of numerical spectrum analysis" (1967).
pub(super) fn tukey(n: usize, alpha: f64) -> Vec<f64> {
    let taper = 0.5 * alpha * (n - 1) as f64;
    let at = |j: usize| {
        let from_end = j.min(n - 1 - j) as f64;
        if from_end < taper { 0.5 - 0.5 * (PI * from_end / taper).cos() } else { 1.0 }
    };
    (0..n).map(at).collect()
}

/// The sequence of `n` samples whose band is `nw` bins wide on either side, scaled as SciPy's `dpss(n, nw)`: its
/// maximum is 1, or, with an even length, what the maximum between the two samples in the middle would make of them.
fn dpss(n: usize, nw: f64) -> Vec<f64> {
    let (mut vector, _) = prolate_sequence(n, nw, 0);
    let peak = vector.iter().copied().fold(0.0, f64::max);
    let squared = (n * n) as f64;
    let between = if n.is_multiple_of(2) { squared / (squared + nw) } else { 1.0 };
    vector.iter_mut().for_each(|value| *value *= between / peak);
    vector
}

#[cfg(test)]
mod tests {
    use super::*;

    const PARAMETERISED: [Window; 4] = [
        Window::Kaiser { beta: 8.6 },
        Window::Gaussian { std: 2.5 },
        Window::Tukey { alpha: 0.3 },
        Window::Dpss { nw: 2.5 },
    ];

    #[test]
    fn periodic_windows_drop_the_last_point_of_symmetric_ones() {
        for window in Window::ALL.into_iter().chain(PARAMETERISED) {
            let periodic = window.coefficients(8, WindowSymmetry::Periodic);
            let symmetric = window.coefficients(9, WindowSymmetry::Symmetric);
            assert_eq!(periodic[..], symmetric[..8]);
            for j in 0..9 {
                assert!((symmetric[j] - symmetric[8 - j]).abs() < 1e-15);
            }
        }
    }

    #[test]
    fn one_coefficient_is_1() {
        for window in Window::ALL.into_iter().chain(PARAMETERISED) {
            for symmetry in [WindowSymmetry::Periodic, WindowSymmetry::Symmetric] {
                assert_eq!(window.coefficients(1, symmetry), [1.0], "{window}");
            }
        }
    }

    #[test]
    fn known_coefficients() {
        assert_eq!(Window::Hann.coefficients(4, WindowSymmetry::Periodic)[0], 0.0);
        assert!((Window::Hann.coefficients(4, WindowSymmetry::Periodic)[1] - 0.5).abs() < 1e-15);
        assert!((Window::Hann.coefficients(4, WindowSymmetry::Periodic)[2] - 1.0).abs() < 1e-15);
        assert!((Window::Hamming.coefficients(4, WindowSymmetry::Periodic)[0] - 0.08).abs() < 1e-15);
        assert!(Window::Blackman.coefficients(4, WindowSymmetry::Periodic)[0].abs() < 1e-15);
        assert_eq!(Window::Rectangular.coefficients(3, WindowSymmetry::Symmetric), [1.0; 3]);
    }

    #[test]
    fn coefficients_are_those_of_the_reference() {
        use firefly_reference::window as reference;
        for n in [8, 9, 64, 1000] {
            for (window, shape) in [
                (Window::Hann, reference::WindowShape::Hann),
                (Window::Hamming, reference::WindowShape::Hamming),
                (Window::Blackman, reference::WindowShape::Blackman),
                (Window::Rectangular, reference::WindowShape::Rectangular),
            ] {
                for (symmetry, other) in [
                    (WindowSymmetry::Periodic, reference::Symmetry::Periodic),
                    (WindowSymmetry::Symmetric, reference::Symmetry::Symmetric),
                ] {
                    let expected = reference::window(shape, other, n);
                    for (j, (a, b)) in window.coefficients(n, symmetry).iter().zip(&expected).enumerate() {
                        assert!((a - b).abs() < 1e-14, "{window} {symmetry:?} of {n} at {j}: {a} for {b}");
                    }
                }
            }
        }
    }

    #[test]
    fn names_round_trip() {
        for window in Window::ALL.into_iter().chain(PARAMETERISED) {
            assert_eq!(window.to_string().parse(), Ok(window));
        }
        for text in ["kaiser", "kaiser()", "kaiser(1", "hann(1)", "han", "tukey(x)"] {
            let error = text.parse::<Window>().unwrap_err().to_string();
            assert!(error.contains("hann, hamming") && error.contains(text), "{error}");
        }
    }

    #[test]
    fn parameters_out_of_range_are_refused() {
        for (text, argument) in [
            ("kaiser(-1)", "beta"),
            ("kaiser(inf)", "beta"),
            ("kaiser(750)", "beta"),
            ("gaussian(0)", "std"),
            ("tukey(1.5)", "alpha"),
            ("dpss(nan)", "nw"),
        ] {
            assert_eq!(text.parse::<Window>().unwrap_err().argument, argument, "{text}");
        }
        assert!(Window::Dpss { nw: 4.0 }.validate("stft", 8).is_err());
        assert!(Window::Dpss { nw: 3.9 }.validate("stft", 8).is_ok());
    }

    #[derive(Deserialize)]
    struct Fixture {
        window: String,
        symmetric: bool,
        values: Vec<f64>,
    }

    #[test]
    fn coefficients_are_those_of_scipy() {
        let fixtures: Vec<Fixture> =
            serde_json::from_str(include_str!("../../tests/fixtures/windows.json")).expect("fixtures parse");
        assert!(fixtures.len() >= 50);
        for Fixture { window: name, symmetric, values } in fixtures {
            let window: Window = name.parse().expect("a window");
            let symmetry = if symmetric { WindowSymmetry::Symmetric } else { WindowSymmetry::Periodic };
            let got = window.coefficients(values.len(), symmetry);
            for (j, (got, expected)) in got.iter().zip(&values).enumerate() {
                let error = (got - expected).abs();
                assert!(error < 1e-12, "{name}, {symmetry:?}, {} at {j}: {got} is not {expected}", values.len());
            }
        }
    }
}
