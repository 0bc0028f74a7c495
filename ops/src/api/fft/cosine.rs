//! Discrete cosine and sine transforms of types I to IV, in SciPy's norms.

use burn::tensor::{AsIndex, Tensor, TensorData};

use super::{ComplexTensor, FftCall};
use crate::error::{Result, ensure};
use crate::options::Norm;

/// Discrete cosine transform of type II along the last dimension, as `scipy.fft.dct`; [`dct_with`] has all types.
///
/// - `input`: real, of any shape and any length.
/// - returns the coefficients y_k = 2 Σ_j x_j cos(πk(2j + 1)/2n), as many as there are values.
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use firefly_ops::fft::{dct, idct};
///
/// let signal = Tensor::<1>::from_floats([1.0, 2.0, 3.0, 4.0], &Device::flex());
/// let spectrum = dct(signal.clone())?;
/// let expected = Tensor::from_floats([20.0, -6.308644, 0.0, -0.44834152], &Device::flex());
/// assert!((spectrum.clone() - expected).abs().max().into_scalar::<f32>() < 1e-5);
/// assert!((idct(spectrum)? - signal).abs().max().into_scalar::<f32>() < 1e-5);
/// # Ok::<(), firefly_ops::ArgumentError>(())
/// ```
///
/// # Errors
/// [`ArgumentError`](crate::ArgumentError) for a dimension without values, or a device without kernels.
pub fn dct<const D: usize>(input: Tensor<D>) -> Result<Tensor<D>> {
    dct_with(input, 2, -1, Norm::Backward)
}

/// [`dct`] of any type along `dim`: coefficients k of x_0 to x_(n−1).
///
/// | `kind` | of cosines | of sines, [`dst_with`] |
/// | --- | --- | --- |
/// | 1 | x_0 + (−1)ᵏ x_(n−1) + 2 Σ_(j=1)^(n−2) x_j cos(πjk/(n − 1)) | 2 Σ_j x_j sin(π(j + 1)(k + 1)/(n + 1)) |
/// | 2 | 2 Σ_j x_j cos(πk(2j + 1)/2n) | 2 Σ_j x_j sin(π(k + 1)(2j + 1)/2n) |
/// | 3 | x_0 + 2 Σ_(j=1)^(n−1) x_j cos(πj(2k + 1)/2n) | (−1)ᵏ x_(n−1) + 2 Σ_(j=0)^(n−2) x_j sin(π(j + 1)(2k + 1)/2n) |
/// | 4 | 2 Σ_j x_j cos(π(2j + 1)(2k + 1)/4n) | 2 Σ_j x_j sin(π(2j + 1)(2k + 1)/4n) |
///
/// - `input`: real, of any shape and any length n along `dim`; at least 2 for cosines of type 1.
/// - `kind`: the type, 2 by default in SciPy.
/// - `dim`: the dimension; negative ones count from the end.
/// - `norm`: all of it is divided by N in [`Norm::Forward`] and by √N in [`Norm::Ortho`], which has factors of √2 on the
///   ends as well, so that the transform is orthogonal. N is 2n, of type 1 2n − 2 for cosines and 2n + 2 for sines.
/// - returns n values along `dim`, by a real transform of N points, or, of types 2 to 4 and even n, a complex one of n/2.
///
/// # Errors
/// [`ArgumentError`](crate::ArgumentError) for another type, a dimension that is not there or has too few values, or a
/// device without kernels.
pub fn dct_with<const D: usize>(input: Tensor<D>, kind: usize, dim: impl AsIndex, norm: Norm) -> Result<Tensor<D>> {
    FftCall { operation: "dct", forward: true, norm }.trigonometric(input, kind, false, dim)
}

/// Inverse of [`dct`], with its example and errors; as `scipy.fft.idct`.
pub fn idct<const D: usize>(input: Tensor<D>) -> Result<Tensor<D>> {
    idct_with(input, 2, -1, Norm::Backward)
}

/// Inverse of [`dct_with`] of the same type, with its arguments and errors.
pub fn idct_with<const D: usize>(input: Tensor<D>, kind: usize, dim: impl AsIndex, norm: Norm) -> Result<Tensor<D>> {
    FftCall { operation: "idct", forward: false, norm }.trigonometric(input, kind, false, dim)
}

/// Discrete sine transform of type II along the last dimension, as `scipy.fft.dst`.
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use firefly_ops::fft::{dst, idst};
///
/// let signal = Tensor::<1>::from_floats([1.0, 2.0, 3.0, 4.0], &Device::flex());
/// assert!((idst(dst(signal.clone())?)? - signal).abs().max().into_scalar::<f32>() < 1e-5);
/// # Ok::<(), firefly_ops::ArgumentError>(())
/// ```
///
/// # Errors
/// As [`dct`].
pub fn dst<const D: usize>(input: Tensor<D>) -> Result<Tensor<D>> {
    dst_with(input, 2, -1, Norm::Backward)
}

/// [`dst`] of any type along `dim`: the definition, arguments and errors are those of [`dct_with`].
pub fn dst_with<const D: usize>(input: Tensor<D>, kind: usize, dim: impl AsIndex, norm: Norm) -> Result<Tensor<D>> {
    FftCall { operation: "dst", forward: true, norm }.trigonometric(input, kind, true, dim)
}

/// Inverse of [`dst`], with its example and errors; as `scipy.fft.idst`.
pub fn idst<const D: usize>(input: Tensor<D>) -> Result<Tensor<D>> {
    idst_with(input, 2, -1, Norm::Backward)
}

/// Inverse of [`dst_with`] of the same type, with the arguments and errors of [`dct_with`].
pub fn idst_with<const D: usize>(input: Tensor<D>, kind: usize, dim: impl AsIndex, norm: Norm) -> Result<Tensor<D>> {
    FftCall { operation: "idst", forward: false, norm }.trigonometric(input, kind, true, dim)
}

impl FftCall {
    fn trigonometric<const D: usize>(
        self,
        x: Tensor<D>,
        kind: usize,
        sines: bool,
        dim: impl AsIndex,
    ) -> Result<Tensor<D>> {
        let (dim, x) = self.real_input(x, dim)?;
        let (name, n) = (self.operation, x.dims()[dim]);
        ensure((1..=4).contains(&kind), name, "kind", kind, "from 1 to 4")?;
        match (kind, sines) {
            (1, false) => {
                let expected = format_args!("a tensor with at least 2 values along dimension {dim} for type 1");
                ensure(n >= 2, name, "input", format_args!("{:?}", x.dims()), expected)?;
                // A Hermitian signal with these values as its lower half has that spectrum.
                let ends = |x, factor| match self.norm {
                    Norm::Ortho => times(x, dim, |j| if j == 0 || j == n - 1 { factor } else { 1.0 }),
                    _ => x,
                };
                let spectrum = self.inverse_real(ends(x, 2f64.sqrt()).into(), Some(2 * n - 2), dim)?;
                Ok(ends(spectrum.narrow(dim, 0, n), 0.5f64.sqrt()))
            }
            (1, true) => {
                // An odd signal, imaginary and Hermitian, with a 0 before and after these values.
                let zero = x.clone().narrow(dim, 0, 1).zeros_like();
                let im = Tensor::cat(vec![zero.clone(), if self.forward { x } else { -x }, zero], dim);
                let half = ComplexTensor { re: im.zeros_like(), im };
                Ok(self.inverse_real(half, Some(2 * n + 2), dim)?.narrow(dim, 1, n))
            }
            _ => self.cosine(x, dim, if self.forward || kind == 4 { kind } else { 5 - kind }, sines),
        }
    }
}

/// The product with a factor for each position along `dim`.
pub(super) fn times<const D: usize>(tensor: Tensor<D>, dim: usize, factor: impl Fn(usize) -> f64) -> Tensor<D> {
    let factors = along((0..tensor.dims()[dim]).map(factor).collect(), dim, &tensor);
    tensor * factors
}

/// Values along `dim`, of the type of `like` and on its device.
pub(in crate::api) fn along<const D: usize>(values: Vec<f64>, dim: usize, like: &Tensor<D>) -> Tensor<D> {
    let mut shape = [1; D];
    shape[dim] = values.len();
    Tensor::from_data(TensorData::new(values, shape), (&like.device(), like.dtype()))
}
