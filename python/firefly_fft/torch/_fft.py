"""Fourier transforms along one dimension, and along several: with the arguments of ``torch.fft``."""

from __future__ import annotations

import math
from typing import List, Tuple

import torch
from torch import Tensor

from .._operations import COLUMNS, COMPLEX, INVERSE_REAL, REAL, Dims, Lengths, last_axis, points, transform
from .._operations import axes as axes_of
from ._operators import apply, cached
from ._tensors import pairs, real

_transform = cached(transform)


def _along(values: Tensor, dim: int, form: int, n: int, forward: bool, norm: str | None) -> Tensor:
    """The transform of `n` points along a dimension of real values, or of complex ones as pairs ``[…, 2]``."""
    shape = values.shape if form == REAL else values.shape[:-1]
    dim %= len(shape)
    if shape[dim] == 0:
        raise ValueError(f"x is of shape {list(shape)}, but must have values along dimension {dim}")
    last, after = len(shape) - 1, values.shape[len(shape) :]
    if form == COMPLEX and dim < last and n == shape[dim]:
        # Kernels transform columns where they are.
        matrices = (math.prod(shape[:dim]), n, math.prod(shape[dim + 1 :]), 2)
        return apply(_transform(COLUMNS, n, forward, norm), values.reshape(matrices)).reshape(values.shape)
    if dim < last:
        values = values.movedim(dim, last)
    leading = values.shape[:last]
    if last != 1:
        values = values.reshape(math.prod(leading), shape[dim], *after)
    found = apply(_transform(form, n, forward, norm), values)
    if last != 1:
        found = found.reshape(*leading, *found.shape[1:])
    return found.movedim(last, dim) if dim < last else found


def _complex(values: Tensor, axes: List[Tuple[int, int | None]], forward: bool, norm: str | None) -> Tensor:
    """Transforms of pairs along one dimension after the other, the last one first."""
    for axis, n in reversed(axes):
        values = _along(values, axis, COMPLEX, points(values.shape[:-1], n, axis), forward, norm)
    return values


def fft(x: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """Fourier transform of any length along a dimension, as ``torch.fft.fft``.

    >>> import torch
    >>> fft(torch.tensor([1.0, 0.0, 0.0])).tolist()
    [(1+0j), (1+0j), (1+0j)]
    """
    values = pairs(x, "x")
    return torch.view_as_complex(_along(values, dim, COMPLEX, points(values.shape[:-1], n, dim), True, norm))


def ifft(x: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """Inverse of `fft`, as ``torch.fft.ifft``.

    >>> import torch
    >>> ifft(torch.tensor([3.0, 0.0, 0.0])).real.tolist()
    [1.0, 1.0, 1.0]
    """
    values = pairs(x, "x")
    return torch.view_as_complex(_along(values, dim, COMPLEX, points(values.shape[:-1], n, dim), False, norm))


def rfft(x: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """The lower n // 2 + 1 bins of `fft` of real values, as ``torch.fft.rfft``; complex values take a pass, as there.

    >>> import torch
    >>> rfft(torch.ones(2, 15)).shape
    torch.Size([2, 8])
    """
    x = real(x, "x")
    return torch.view_as_complex(_along(x, dim, REAL, points(x.shape, n, dim), True, norm))


def irfft(x: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """Inverse of `rfft`, as ``torch.fft.irfft``: `n` values, 2 (m − 1) by default for m bins.

    >>> import torch
    >>> irfft(rfft(torch.tensor([1.0, 2.0, 4.0])), 3).round().tolist()
    [1.0, 2.0, 4.0]
    """
    values = pairs(x, "x")
    return _along(values, dim, INVERSE_REAL, points(values.shape[:-1], n, dim, True), False, norm)


def fftn(x: Tensor, s: Lengths = None, dim: Dims = None, norm: str | None = None) -> Tensor:
    """Fourier transform along several dimensions, as ``torch.fft.fftn``.

    Parameters
    ----------
    x : real or complex tensor of any shape.
    s : points along each dimension, which values are cut or padded with zeros to; all values by default, and for −1.
    dim : the dimensions; by default as many of the last as `s` has, or all.
    norm : "backward" (the default), "ortho" or "forward": where the factor of the inverse is.

    Raises ``ValueError`` for a dimension that is not there or there twice, and for lengths of which one is 0 or that
    are not as many as the dimensions.

    >>> import torch
    >>> fftn(torch.ones(2, 2, 3)).real[0, 0, 0].item()
    12.0
    """
    values = pairs(x, "x")
    return torch.view_as_complex(_complex(values, axes_of(values.dim() - 1, s, dim), True, norm))


def ifftn(x: Tensor, s: Lengths = None, dim: Dims = None, norm: str | None = None) -> Tensor:
    """Inverse of `fftn`, as ``torch.fft.ifftn``; arguments and errors are those of `fftn`.

    >>> import torch
    >>> ifftn(fftn(torch.eye(3))).real.round().abs().tolist()[0]
    [1.0, 0.0, 0.0]
    """
    values = pairs(x, "x")
    return torch.view_as_complex(_complex(values, axes_of(values.dim() - 1, s, dim), False, norm))


def rfftn(x: Tensor, s: Lengths = None, dim: Dims = None, norm: str | None = None) -> Tensor:
    """Fourier transform of real values, as ``torch.fft.rfftn``: n // 2 + 1 bins along the last of the dimensions.

    Arguments and errors are those of `fftn`, with at least one dimension.

    >>> import torch
    >>> rfftn(torch.ones(2, 6, 8), dim=(0, 2)).shape
    torch.Size([2, 6, 5])
    """
    x = real(x, "x")
    axes = axes_of(x.dim(), s, dim)
    axis, n = last_axis(axes)
    values = _along(x, axis, REAL, points(x.shape, n, axis), True, norm)
    return torch.view_as_complex(_complex(values, axes, True, norm))


def irfftn(x: Tensor, s: Lengths = None, dim: Dims = None, norm: str | None = None) -> Tensor:
    """Inverse of `rfftn`, as ``torch.fft.irfftn``: real values, by default 2 (m − 1) of m bins along the last.

    Arguments and errors are those of `rfftn`. Imaginary parts of bins that are their own mirror images along the last
    dimension, once the others are transformed, do not count.

    >>> import torch
    >>> irfftn(rfftn(torch.eye(3)), s=(3, 3)).round().abs().tolist()[0]
    [1.0, 0.0, 0.0]
    """
    values = pairs(x, "x")
    axes = axes_of(values.dim() - 1, s, dim)
    axis, n = last_axis(axes)
    whole = points(values.shape[:-1], n, axis, True)
    return _along(_complex(values, axes, False, norm), axis, INVERSE_REAL, whole, False, norm)


def fft2(x: Tensor, s: Lengths = None, dim: Dims = (-2, -1), norm: str | None = None) -> Tensor:
    """Fourier transform along two dimensions, as ``torch.fft.fft2``: `fftn` of the last two by default.

    >>> import torch
    >>> fft2(torch.ones(2, 4, 4)).real[:, 0, 0].tolist()
    [16.0, 16.0]
    """
    return fftn(x, s, dim, norm)


def ifft2(x: Tensor, s: Lengths = None, dim: Dims = (-2, -1), norm: str | None = None) -> Tensor:
    """Inverse of `fft2`, as ``torch.fft.ifft2``.

    >>> import torch
    >>> ifft2(torch.ones(2, 2)).real.abs().tolist()
    [[1.0, 0.0], [0.0, 0.0]]
    """
    return ifftn(x, s, dim, norm)


def rfft2(x: Tensor, s: Lengths = None, dim: Dims = (-2, -1), norm: str | None = None) -> Tensor:
    """Fourier transform of real values along two dimensions, as ``torch.fft.rfft2``: see `rfftn`.

    >>> import torch
    >>> rfft2(torch.ones(3, 16, 16)).shape
    torch.Size([3, 16, 9])
    """
    return rfftn(x, s, dim, norm)


def irfft2(x: Tensor, s: Lengths = None, dim: Dims = (-2, -1), norm: str | None = None) -> Tensor:
    """Inverse of `rfft2`, as ``torch.fft.irfft2``: see `irfftn`.

    >>> import torch
    >>> irfft2(torch.ones(3, 16, 9, dtype=torch.complex64)).shape
    torch.Size([3, 16, 16])
    """
    return irfftn(x, s, dim, norm)
