//! Window functions.

use std::f64::consts::PI;
use std::fmt;
use std::str::FromStr;

use burn::tensor::{DType, Device, FloatDType, Tensor, TensorData};
use serde::{Deserialize, Serialize};

use crate::error::ArgumentError;

/// A window's shape. Coefficients as in F. J. Harris, "On the use of windows for harmonic analysis with the
/// discrete Fourier transform", Proc. IEEE 66 (1978).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash, Serialize, Deserialize)]
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
}

/// Length of a window's period.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum WindowSymmetry {
    /// The period is the length, as in SciPy's `get_window` and PyTorch: for spectra.
    #[default]
    Periodic,
    /// First and last coefficients are equal: for filters.
    Symmetric,
}

impl Window {
    /// Every window.
    pub const ALL: [Self; 4] = [Self::Hann, Self::Hamming, Self::Blackman, Self::Rectangular];

    /// The window's `n` coefficients.
    ///
    /// ```
    /// use firefly_ops::{Window, WindowSymmetry};
    ///
    /// let hann = Window::Hann.coefficients(4, WindowSymmetry::Periodic);
    /// assert!(hann.iter().zip([0.0, 0.5, 1.0, 0.5]).all(|(a, b)| (a - b).abs() < 1e-15));
    /// assert_eq!("hann".parse(), Ok(Window::Hann));
    /// ```
    pub fn coefficients(self, n: usize, symmetry: WindowSymmetry) -> Vec<f64> {
        let period = match symmetry {
            WindowSymmetry::Periodic => n,
            WindowSymmetry::Symmetric => n.saturating_sub(1).max(1),
        } as f64;
        (0..n).map(|j| self.at(2.0 * PI * j as f64 / period)).collect()
    }

    /// The window as a tensor `[n]` of type `dtype` on `device`.
    pub fn tensor(self, n: usize, symmetry: WindowSymmetry, dtype: FloatDType, device: &Device) -> Tensor<1> {
        Tensor::from_data(TensorData::new(self.coefficients(n, symmetry), [n]), (device, DType::from(dtype)))
    }

    fn at(self, phase: f64) -> f64 {
        match self {
            Self::Hann => 0.5 - 0.5 * phase.cos(),
            Self::Hamming => 0.54 - 0.46 * phase.cos(),
            Self::Blackman => 0.42 - 0.5 * phase.cos() + 0.08 * (2.0 * phase).cos(),
            Self::Rectangular => 1.0,
        }
    }
}

impl fmt::Display for Window {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Hann => "hann",
            Self::Hamming => "hamming",
            Self::Blackman => "blackman",
            Self::Rectangular => "rectangular",
        })
    }
}

impl FromStr for Window {
    type Err = ArgumentError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let named = Self::ALL.into_iter().find(|window| window.to_string() == text);
        named.ok_or_else(|| {
            ArgumentError::new("window", "name", format_args!("`{text}`"), "hann, hamming, blackman or rectangular")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn periodic_windows_drop_the_last_point_of_symmetric_ones() {
        for window in Window::ALL {
            let periodic = window.coefficients(8, WindowSymmetry::Periodic);
            let symmetric = window.coefficients(9, WindowSymmetry::Symmetric);
            assert_eq!(periodic[..], symmetric[..8]);
            for j in 0..9 {
                assert!((symmetric[j] - symmetric[8 - j]).abs() < 1e-15);
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
        for window in Window::ALL {
            assert_eq!(window.to_string().parse(), Ok(window));
        }
        assert!("kaiser".parse::<Window>().unwrap_err().to_string().contains("hann, hamming"));
    }
}
