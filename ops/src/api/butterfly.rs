//! The gated butterfly transform.

use burn::backend::Dispatch;
use burn::tensor::Tensor;

use super::check;
use super::fft::ComplexTensor;
use super::rows::Leading;
use crate::error::Result;
use crate::op::inputs;
use crate::options::validate_n_fft;

/// Radix-2 decimation-in-time butterfly transform with a twiddle factor and a gate of its own for every butterfly.
///
/// Input in natural order is put in bit-reversed order; then stage `s` (of `log2 n`, `half = 2^s`) joins, for each pair
/// `p = block·half + j`, the values `a` at `2·block·half + j` and `b` at `half` further on: with twiddle `w` and gate
/// `g`, `(a, b)` becomes `g·(a + wb, a − wb) + (1 − g)·(a, b)`; a gate of 0 is the identity, also of values that are
/// not finite. With [exact twiddles](crate::twiddles::exact_twiddles) and open gates it is the fast Fourier transform of
/// J. W. Cooley and J. W. Tukey, "An algorithm for the machine calculation of complex Fourier series", Math. Comp. 19
/// (1965), unnormalised, output in natural order.
///
/// - `input`: complex, or real; `[.., n]` of any rank from 1, `n` a power of two from 8 to 65,536.
/// - `twiddles`: `[log2 n, n/2, 2]`, real part first.
/// - `gates`: `[log2 n, n/2]`, usually in `[0, 1]`; `None` is all open.
/// - all of them compute in the type of the input: f64, or f32 for any smaller float.
/// - returns `[.., n]`.
///
/// ```
/// use burn::tensor::{Device, FloatDType, Tensor};
/// use firefly_ops::twiddles::exact_twiddles;
/// use firefly_ops::{Direction, butterfly};
///
/// // The transform of a constant is an impulse.
/// let device = Device::flex();
/// let twiddles = exact_twiddles(8, Direction::Forward, FloatDType::F32, &device)?;
/// let spectrum = butterfly(Tensor::<1>::ones([8], &device), twiddles, None)?;
/// assert_eq!(spectrum.re.into_data().iter::<f32>().collect::<Vec<_>>(), [8.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]);
/// # Ok::<(), firefly_ops::ArgumentError>(())
/// ```
///
/// # Errors
/// [`ArgumentError`](crate::ArgumentError) for shapes that don't fit, tensors on different devices, or rows beyond the
/// limits of the device.
pub fn butterfly<const D: usize>(
    input: impl Into<ComplexTensor<D>>,
    twiddles: Tensor<3>,
    gates: Option<Tensor<2>>,
) -> Result<ComplexTensor<D>> {
    const NAME: &str = "butterfly";
    let ComplexTensor { re, im } = input.into();
    let (leading, n) = Leading::of(&re);
    validate_n_fft(NAME, "input", n)?;
    let mut inputs = check::InputCheck::of(NAME, "input.re", &re)?;
    inputs.transforms(["input.re", "input.re"], &re, [n, 1], Some(gates.is_some()))?;
    let stages = n.trailing_zeros() as usize;
    let im = leading.flatten(inputs.next("input.im", im, re.dims())?);
    let twiddles = inputs.next("twiddles", twiddles, [stages, n / 2, 2])?.into_dispatch();
    let gates = gates.map(|gates| inputs.next("gates", gates, [stages, n / 2])).transpose()?;
    let re = leading.flatten(inputs.first(re));
    let gates = gates.map(Tensor::into_dispatch);
    let [re, im] = inputs::Butterfly { re, im, twiddles, gates }.apply::<Dispatch>();
    Ok(ComplexTensor { re: leading.unflatten(re, n), im: leading.unflatten(im, n) })
}
