"""Convolutions by Fourier transforms, and butterfly transforms."""

from __future__ import annotations

from typing import Tuple, Union

from torch import Tensor

from .._arrays import count
from .._operations import convolution
from ._fft import fft, ifft, irfft, rfft
from ._operators import apply
from ._tensors import parts_of, real, rows, unflattened


def fft_convolve(x: Tensor, kernel: Tensor, mode: str = "full") -> Tensor:
    """Convolution along the last dimension by Fourier transforms, as ``scipy.signal.fftconvolve(…, axes=-1)``.

    Parameters
    ----------
    x, kernel : ``[…, n]`` and ``[…, k]``, real or complex, with leading dimensions that broadcast. Both are
        differentiable.
    mode : "full" has all n + k − 1 values, "same" the n in their middle, and "valid" the |n − k| + 1 for which the
        shorter one lies within the longer.

    Raises ``ValueError`` for another mode and for rows without values.

    >>> import torch
    >>> fft_convolve(torch.tensor([1.0, 2.0, 4.0]), torch.tensor([0.0, 1.0])).round().abs().tolist()
    [0.0, 1.0, 2.0, 4.0]
    """
    is_complex = x.is_complex() or kernel.is_complex()
    forward, inverse = (fft, ifft) if is_complex else (rfft, irfft)
    n, k = count(x.shape[-1], "the length of x"), count(kernel.shape[-1], "the length of kernel")
    points, start, length = convolution(n, k, mode)
    convolved = inverse(forward(x, points) * forward(kernel, points), points)
    return convolved.narrow(-1, start, length)


def spectral_conv(x: Tensor, weights: Union[Tensor, Tuple[Tensor, Tensor]]) -> Tensor:
    """Spectral convolution ``[batch, out, n…]`` in one to three dimensions: the layer of a Fourier neural operator.

    Of the transform of `x` ``[batch, in, n…]`` the modes of the weights are kept, multiplied and summed over `in`, and
    transformed back.

    Parameters
    ----------
    weights : ``[in, out, modes…]``, complex, or a pair of real and imaginary parts, which saves a pass. Along the last
        dimension, modes are the lowest bins, at most n // 2 + 1; along others the lowest ⌈m/2⌉ frequencies from 0 on,
        then the highest ⌊m/2⌋ negative ones. Input and weights are differentiable.

    >>> import torch
    >>> spectral_conv(torch.ones(2, 3, 64, 48), torch.ones(3, 5, 12, 7, dtype=torch.complex64)).shape
    torch.Size([2, 5, 64, 48])
    """
    x = real(x, "x")
    re, im = weights if isinstance(weights, (tuple, list)) else parts_of(weights, "weights")
    return apply("spectral_conv", x, real(re, "weights", x), real(im, "weights", x))


def long_conv(x: Tensor, kernel: Tensor, gate: Tensor | None = None) -> Tensor:
    """Causal convolution of each channel of `x` ``[batch, channels, n]`` with its kernel ``[channels, k]``, and a gate.

    The layer of state-space models and of Hyena. `gate` are factors of the result, of the shape of `x`. All are
    differentiable.

    >>> import torch
    >>> x, kernel = torch.tensor([[[1.0, 2.0, 4.0]]]), torch.tensor([[0.0, 1.0]])
    >>> long_conv(x, kernel).round().tolist()
    [[[0.0, 1.0, 2.0]]]
    """
    x = real(x, "x")
    gates = () if gate is None else (real(gate, "gate", x),)
    return apply("long_conv", x, real(kernel, "kernel", x), *gates)


def butterfly(re: Tensor, im: Tensor, twiddles: Tensor, gates: Tensor | None = None) -> Tuple[Tensor, Tensor]:
    """Butterfly transform of complex rows ``[…, n]``, n a power of two: real and imaginary parts of that shape.

    Parameters
    ----------
    twiddles : ``[log2 n, n / 2, 2]``, real part first.
    gates : ``[log2 n, n / 2]``, all open by default. All arguments are differentiable.

    >>> import torch
    >>> twiddles = torch.zeros(3, 4, 2)
    >>> re, im = butterfly(torch.ones(8), torch.zeros(8), twiddles)
    >>> re.sum().item()
    8.0
    """
    re = real(re, "re")
    im = real(im, "im", re)
    tensors = [rows(re, "re"), rows(im, "im"), real(twiddles, "twiddles", re)]
    if gates is not None:
        tensors.append(real(gates, "gates", re))
    out_re, out_im = apply("butterfly", *tensors)
    return unflattened(out_re, re), unflattened(out_im, re)
