"""Convolutions by Fourier transforms, and butterfly transforms."""

from __future__ import annotations

from typing import Any, Tuple, Union

from .._arrays import count
from .._operations import convolution
from ._arrays import compiled, is_complex, parts_of, real, rows, unflattened
from ._fft import fft, ifft, irfft, rfft
from ._operators import apply


@compiled("x", "kernel")
def fft_convolve(x: Any, kernel: Any, mode: str = "full") -> Any:
    """Convolution along the last dimension by Fourier transforms, as ``scipy.signal.fftconvolve(…, axes=-1)``.

    Parameters
    ----------
    x, kernel : ``[…, n]`` and ``[…, k]``, real or complex, with leading dimensions that broadcast. Both are
        differentiable.
    mode : "full" has all n + k − 1 values, "same" the n in their middle, and "valid" the |n − k| + 1 for which the
        shorter one lies within the longer.

    Raises ``ValueError`` for another mode and for rows without values.

    >>> import jax.numpy as jnp
    >>> abs(fft_convolve(jnp.array([1.0, 2.0, 4.0]), jnp.array([0.0, 1.0])).round()).tolist()
    [0.0, 1.0, 2.0, 4.0]
    """
    are_complex = is_complex(x, "x") | is_complex(kernel, "kernel")
    forward, inverse = (fft, ifft) if are_complex else (rfft, irfft)
    lengths = (x.shape[-1] if x.ndim else 0, kernel.shape[-1] if kernel.ndim else 0)
    n, k = count(lengths[0], "the length of x"), count(lengths[1], "the length of kernel")
    points, start, length = convolution(n, k, mode)
    return inverse(forward(x, points) * forward(kernel, points), points)[..., start : start + length]


@compiled("x", "weights")
def spectral_conv(x: Any, weights: Union[Any, Tuple[Any, Any]]) -> Any:
    """Spectral convolution ``[batch, out, n…]`` in one to three dimensions: the layer of a Fourier neural operator.

    Of the transform of `x` ``[batch, in, n…]`` the modes of the weights are kept, multiplied and summed over `in`, and
    transformed back.

    Parameters
    ----------
    weights : ``[in, out, modes…]``, complex, or a pair of real and imaginary parts, which saves a pass. Along the last
        dimension, modes are the lowest bins, at most n // 2 + 1; along others the lowest ⌈m/2⌉ frequencies from 0 on,
        then the highest ⌊m/2⌋ negative ones. Input and weights are differentiable.

    >>> import jax.numpy as jnp
    >>> spectral_conv(jnp.ones((2, 3, 64, 48)), jnp.ones((3, 5, 12, 7), jnp.complex64)).shape
    (2, 5, 64, 48)
    """
    x = real(x, "x")
    re, im = weights if isinstance(weights, (tuple, list)) else parts_of(weights, "weights")
    return apply("spectral_conv", x, real(re, "weights", x), real(im, "weights", x))


@compiled("x", "kernel", "gate")
def long_conv(x: Any, kernel: Any, gate: Any = None) -> Any:
    """Causal convolution of each channel of `x` ``[batch, channels, n]`` with its kernel ``[channels, k]``, and a gate.

    The layer of state-space models and of Hyena. `gate` are factors of the result, of the shape of `x`. All are
    differentiable.

    >>> import jax.numpy as jnp
    >>> x, kernel = jnp.array([[[1.0, 2.0, 4.0]]]), jnp.array([[0.0, 1.0]])
    >>> abs(long_conv(x, kernel).round()).tolist()
    [[[0.0, 1.0, 2.0]]]
    """
    x = real(x, "x")
    gates = () if gate is None else (real(gate, "gate", x),)
    return apply("long_conv", x, real(kernel, "kernel", x), *gates)


@compiled("re", "im", "twiddles", "gates")
def butterfly(re: Any, im: Any, twiddles: Any, gates: Any = None) -> Tuple[Any, Any]:
    """Butterfly transform of complex rows ``[…, n]``, n a power of two: real and imaginary parts of that shape.

    Parameters
    ----------
    twiddles : ``[log2 n, n / 2, 2]``, real part first.
    gates : ``[log2 n, n / 2]``, all open by default. All arguments are differentiable.

    >>> import jax.numpy as jnp
    >>> re, im = butterfly(jnp.ones(8), jnp.zeros(8), jnp.zeros((3, 4, 2)))
    >>> float(re.sum())
    8.0
    """
    re = real(re, "re")
    im = real(im, "im", re)
    arrays = [rows(re, "re"), rows(im, "im"), real(twiddles, "twiddles", re)]
    if gates is not None:
        arrays.append(real(gates, "gates", re))
    out_re, out_im = apply("butterfly", *arrays)
    return unflattened(out_re, re), unflattened(out_im, re)
