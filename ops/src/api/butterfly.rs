//! The gated butterfly network.

use burn::backend::Dispatch;
use burn::tensor::Tensor;

use super::check;
use super::rows::Leading;
use crate::error::ArgumentError;
use crate::ops::{ButterflyTensors, SpectralOps};
use crate::options::validate_n_fft;

/// The radix-2 decimation-in-time butterfly network with a twiddle and a gate of its own for every butterfly.
///
/// Input in natural order is put in bit-reversed order; then stage `s` (of `log2 n`, `half = 2^s`) joins, for each pair
/// `p = block·half + j`, the values `a` at `2·block·half + j` and `b` at `half` further on: with twiddle `w` and gate
/// `g`, `(a, b)` becomes `g·(a + wb, a − wb) + (1 − g)·(a, b)`; a gate of 0 is the identity, also of values that are not
/// finite. With [exact twiddles](crate::exact_twiddles) and open gates
/// this is the fast Fourier transform of Cooley and Tukey (1965), unnormalised, output in natural order.
///
/// - `re`, `im`: `[.., n]` of the same shape and any rank from 1, `n` a power of two from 8 to 65,536.
/// - `twiddles`: `[log2 n, n/2, 2]`, real part first.
/// - `gates`: `[log2 n, n/2]`, usually in `[0, 1]`; `None` is all open.
/// - all of them compute in the type of `re`: f64, or f32 for any smaller float.
/// - returns real and imaginary parts `[.., n]`.
///
/// # Errors
/// [`ArgumentError`] for shapes that don't fit or tensors on different devices.
pub fn butterfly<const D: usize>(
    re: Tensor<D>,
    im: Tensor<D>,
    twiddles: Tensor<3>,
    gates: Option<Tensor<2>>,
) -> Result<(Tensor<D>, Tensor<D>), ArgumentError> {
    const NAME: &str = "butterfly";
    let (leading, n) = Leading::of(&re);
    validate_n_fft(NAME, "re", n)?;
    let mut inputs = check::Inputs::of(NAME, "re", &re)?;
    inputs.transforms(["re", "re"], &re, n, gates.is_some())?;
    let stages = n.trailing_zeros() as usize;
    let im = leading.flatten(inputs.next("im", im, re.dims())?);
    let twiddles = inputs.next("twiddles", twiddles, [stages, n / 2, 2])?.into_dispatch();
    let gates = gates.map(|gates| inputs.next("gates", gates, [stages, n / 2])).transpose()?;
    let re = leading.flatten(inputs.first(re));
    let gates = gates.map(Tensor::into_dispatch).into();
    let (re, im) = Dispatch::butterfly(ButterflyTensors { re, im, twiddles, gates });
    Ok((leading.unflatten(re, n), leading.unflatten(im, n)))
}
