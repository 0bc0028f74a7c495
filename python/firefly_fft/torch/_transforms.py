"""Fourier transforms, convolutions and butterfly transforms."""

from __future__ import annotations

import math
from typing import Any, Tuple, Union

import torch
from torch import Tensor

from ._operators import apply, cached
from ._tensors import number, real, rows, unflattened

_REAL = {torch.complex32: torch.float32, torch.complex64: torch.float32, torch.complex128: torch.float64}


@cached
def _transform(name: str, n: int, forward: bool, norm: str | None) -> str:
    """A transform of `n` points as text."""
    norms = {"backward": (1.0, 1 / n), "ortho": (1 / math.sqrt(n),) * 2, "forward": (1 / n, 1.0)}
    known = "backward" if norm is None else norm
    if known not in norms:
        raise ValueError(f"norm is {norm!r}, but must be 'backward', 'ortho' or 'forward'")
    return f"{name} {n} {int(not forward)} {norms[known][int(not forward)]!r} 1.0"


def _parts(x: Any, argument: str) -> Tuple[Tensor, Tensor]:
    """Real and imaginary parts of a tensor of floats or complex numbers."""
    if not isinstance(x, Tensor) or not x.is_complex():
        values = real(x, argument)
        return values, torch.zeros_like(values)
    # A conjugate that is lazy has an imaginary part that is lazily negative, which operators resolve.
    return real(x.real.to(_REAL[x.dtype]), argument), real(x.imag.to(_REAL[x.dtype]), argument)


def _points(x: Tensor, n: int | None, dim: int, is_half: bool = False) -> int:
    """Points of a transform along a dimension: `n`, or all values, of a half spectrum those of the whole."""
    if x.dim() == 0 or not -x.dim() <= dim < x.dim():
        raise ValueError(f"dim is {dim}, but x has {x.dim()} dimensions")
    if n is None:
        n = 2 * (x.shape[dim] - 1) if is_half else x.shape[dim]
    return number(n, "n")


def _along(parts: Tuple[Tensor, ...], dim: int, operation: str) -> Any:
    """Results of an operation along a dimension."""
    is_last = dim in (-1, parts[0].dim() - 1)
    last = parts if is_last else tuple(part.movedim(dim, -1) for part in parts)
    found = apply(operation, *(rows(part, "x") for part in last))
    results = found if isinstance(found, tuple) else (found,)
    results = tuple(unflattened(result, last[0]) for result in results)
    if not is_last:
        results = tuple(result.movedim(-1, dim) for result in results)
    return torch.complex(results[0], results[1]) if len(results) == 2 else results[0]


def fft(x: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """Fourier transform of any length along a dimension, as ``torch.fft.fft``.

    Kernels have real and imaginary parts in memory of their own: PyTorch takes complex values apart before, and puts
    them together after, one pass each.

    >>> import torch
    >>> fft(torch.tensor([1.0, 0.0, 0.0])).tolist()
    [(1+0j), (1+0j), (1+0j)]
    """
    parts = _parts(x, "x")
    n = _points(parts[0], n, dim)
    return _along(parts, dim, _transform("complex_fft", n, True, norm))


def ifft(x: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """Inverse of `fft`, as ``torch.fft.ifft``.

    >>> import torch
    >>> ifft(torch.tensor([3.0, 0.0, 0.0])).real.tolist()
    [1.0, 1.0, 1.0]
    """
    parts = _parts(x, "x")
    n = _points(parts[0], n, dim)
    return _along(parts, dim, _transform("complex_fft", n, False, norm))


def rfft(x: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """The lower n // 2 + 1 bins of `fft` of real values, as ``torch.fft.rfft``; complex values take a pass, as there.

    >>> import torch
    >>> rfft(torch.ones(2, 15)).shape
    torch.Size([2, 8])
    """
    x = real(x, "x")
    n = _points(x, n, dim)
    return _along((x,), dim, _transform("real_fft", n, True, norm))


def irfft(x: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """Inverse of `rfft`, as ``torch.fft.irfft``: `n` values, 2 (m − 1) by default for m bins.

    >>> import torch
    >>> irfft(rfft(torch.tensor([1.0, 2.0, 4.0])), 3).round().tolist()
    [1.0, 2.0, 4.0]
    """
    parts = _parts(x, "x")
    n = _points(parts[0], n, dim, True)
    return _along(parts, dim, _transform("inverse_real_fft", n, False, norm))


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
    re, im = weights if isinstance(weights, (tuple, list)) else _parts(weights, "weights")
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
