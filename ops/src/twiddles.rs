//! Exact twiddle factors of [`butterfly`](crate::butterfly()) transforms.

use std::f64::consts::PI;

use burn::tensor::{DType, Device, FloatDType, Tensor, TensorData};

use crate::error::Result;
use crate::options::{Direction, validate_n_fft};

/// Values of [`exact_twiddles`] in row-major order, `log2 n · n` of them.
///
/// ```
/// use firefly_ops::Direction;
/// use firefly_ops::twiddles::exact_twiddle_values;
///
/// // Stage 1 of 8: 1, −i, 1, −i.
/// let forward = exact_twiddle_values(8, Direction::Forward);
/// assert!((forward[8] - 1.0).abs() < 1e-15 && (forward[11] + 1.0).abs() < 1e-15);
/// ```
pub fn exact_twiddle_values(n: usize, direction: Direction) -> Vec<f64> {
    let sign = match direction {
        Direction::Forward => -1.0,
        Direction::Inverse => 1.0,
    };
    let stages = n.trailing_zeros() as usize;
    let mut values = Vec::with_capacity(stages * n);
    for stage in 0..stages {
        let half = 1usize << stage;
        for pair in 0..n / 2 {
            let angle = PI * (pair % half) as f64 / half as f64;
            values.extend([angle.cos(), sign * angle.sin()]);
        }
    }
    values
}

/// Twiddles that make the butterfly transform of length `n` the discrete Fourier transform, `[log2 n, n/2, 2]` of
/// type `dtype` on `device`: pair `p` of stage `s` has `exp(∓2πi (p mod 2^s) / 2^(s+1))`, real part first.
///
/// ```
/// use burn::tensor::{Device, FloatDType};
/// use firefly_ops::Direction;
/// use firefly_ops::twiddles::exact_twiddles;
///
/// let twiddles = exact_twiddles(16, Direction::Forward, FloatDType::F32, &Device::flex())?;
/// assert_eq!(twiddles.dims(), [4, 8, 2]);
/// # Ok::<(), firefly_ops::ArgumentError>(())
/// ```
///
/// # Errors
/// [`ArgumentError`](crate::ArgumentError) if `n` is not a power of two from 8 to 65,536.
pub fn exact_twiddles(n: usize, direction: Direction, dtype: FloatDType, device: &Device) -> Result<Tensor<3>> {
    validate_n_fft("exact_twiddles", "n", n)?;
    let data = TensorData::new(exact_twiddle_values(n, direction), [n.trailing_zeros() as usize, n / 2, 2]);
    Ok(Tensor::from_data(data, (device, DType::from(dtype))))
}
