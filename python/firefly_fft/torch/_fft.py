"""Fourier transforms along one dimension, and along several: with the arguments of ``torch.fft``."""

from __future__ import annotations

import math
from typing import Any, List, Tuple

import torch
from torch import Tensor

from .._operations import Dims, Lengths, last_axis, points, transform
from .._operations import axes as axes_of
from ._operators import apply, cached
from ._tensors import parts_of, real, rows, unflattened

_transform = cached(transform)


def _along(parts: Tuple[Tensor, ...], dim: int, name: str, n: int, forward: bool, norm: str | None) -> Any:
    """Parts of the transform of `n` points of parts along a dimension."""
    operation = _transform(name, n, forward, norm)
    shape = parts[0].shape
    dim %= len(shape)
    if dim == len(shape) - 1:
        return _of_rows(parts, operation)
    if name == "complex_fft" and n == shape[dim] and not parts[0].is_cuda and parts[0].numel() > 0:
        # Kernels of CPUs transform adjacent columns at a time where they are.
        matrices = (math.prod(shape[:dim]), n, math.prod(shape[dim + 1 :]))
        columns = operation.replace("complex_fft", "complex_fft_columns", 1)
        return tuple(part.reshape(shape) for part in apply(columns, *(part.reshape(matrices) for part in parts)))
    found = _of_rows(tuple(part.movedim(dim, -1) for part in parts), operation)
    return tuple(part.movedim(-1, dim) for part in found)


def _of_rows(parts: Tuple[Tensor, ...], operation: str) -> Tuple[Tensor, ...]:
    found = apply(operation, *(rows(part, "x") for part in parts))
    return tuple(unflattened(result, parts[0]) for result in (found if isinstance(found, tuple) else (found,)))


def _complex(parts: Tuple[Tensor, ...], axes: List[Tuple[int, int | None]], forward: bool, norm: str | None) -> Any:
    """Parts of transforms of parts along one dimension after the other, the last one first."""
    for axis, n in reversed(axes):
        parts = _along(parts, axis, "complex_fft", points(parts[0].shape, n, axis), forward, norm)
    return parts


def fft(x: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """Fourier transform of any length along a dimension, as ``torch.fft.fft``.

    Kernels have real and imaginary parts in memory of their own: PyTorch takes complex values apart before, and puts
    them together after, one pass each.

    >>> import torch
    >>> fft(torch.tensor([1.0, 0.0, 0.0])).tolist()
    [(1+0j), (1+0j), (1+0j)]
    """
    parts = parts_of(x, "x")
    return torch.complex(*_along(parts, dim, "complex_fft", points(parts[0].shape, n, dim), True, norm))


def ifft(x: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """Inverse of `fft`, as ``torch.fft.ifft``.

    >>> import torch
    >>> ifft(torch.tensor([3.0, 0.0, 0.0])).real.tolist()
    [1.0, 1.0, 1.0]
    """
    parts = parts_of(x, "x")
    return torch.complex(*_along(parts, dim, "complex_fft", points(parts[0].shape, n, dim), False, norm))


def rfft(x: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """The lower n // 2 + 1 bins of `fft` of real values, as ``torch.fft.rfft``; complex values take a pass, as there.

    >>> import torch
    >>> rfft(torch.ones(2, 15)).shape
    torch.Size([2, 8])
    """
    x = real(x, "x")
    return torch.complex(*_along((x,), dim, "real_fft", points(x.shape, n, dim), True, norm))


def irfft(x: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """Inverse of `rfft`, as ``torch.fft.irfft``: `n` values, 2 (m − 1) by default for m bins.

    >>> import torch
    >>> irfft(rfft(torch.tensor([1.0, 2.0, 4.0])), 3).round().tolist()
    [1.0, 2.0, 4.0]
    """
    parts = parts_of(x, "x")
    return _along(parts, dim, "inverse_real_fft", points(parts[0].shape, n, dim, True), False, norm)[0]


def fftn(x: Tensor, s: Lengths = None, dim: Dims = None, norm: str | None = None) -> Tensor:
    """Fourier transform along several dimensions, as ``torch.fft.fftn``.

    Parameters
    ----------
    x : real or complex tensor of any shape.
    s : points along each dimension, which values are cut or padded with zeros to; all values by default, and for −1.
    dim : the dimensions; by default as many of the last as `s` has, or all.
    norm : "backward" (the default), "ortho" or "forward": where the factor of the inverse is.

    Raises ``ValueError`` for a dimension that is not there or there twice, and for lengths of which one is 0 or that
    are not as many as the dimensions. Values of several dimensions are taken apart and put together once.

    >>> import torch
    >>> fftn(torch.ones(2, 2, 3)).real[0, 0, 0].item()
    12.0
    """
    parts = parts_of(x, "x")
    return torch.complex(*_complex(parts, axes_of(parts[0].dim(), s, dim), True, norm))


def ifftn(x: Tensor, s: Lengths = None, dim: Dims = None, norm: str | None = None) -> Tensor:
    """Inverse of `fftn`, as ``torch.fft.ifftn``; arguments and errors are those of `fftn`.

    >>> import torch
    >>> ifftn(fftn(torch.eye(3))).real.round().abs().tolist()[0]
    [1.0, 0.0, 0.0]
    """
    parts = parts_of(x, "x")
    return torch.complex(*_complex(parts, axes_of(parts[0].dim(), s, dim), False, norm))


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
    parts = _along((x,), axis, "real_fft", points(x.shape, n, axis), True, norm)
    return torch.complex(*_complex(parts, axes, True, norm))


def irfftn(x: Tensor, s: Lengths = None, dim: Dims = None, norm: str | None = None) -> Tensor:
    """Inverse of `rfftn`, as ``torch.fft.irfftn``: real values, by default 2 (m − 1) of m bins along the last.

    Arguments and errors are those of `rfftn`. Imaginary parts of bins that are their own mirror images along the last
    dimension, once the others are transformed, do not count.

    >>> import torch
    >>> irfftn(rfftn(torch.eye(3)), s=(3, 3)).round().abs().tolist()[0]
    [1.0, 0.0, 0.0]
    """
    parts = parts_of(x, "x")
    axes = axes_of(parts[0].dim(), s, dim)
    axis, n = last_axis(axes)
    whole = points(parts[0].shape, n, axis, True)
    return _along(_complex(parts, axes, False, norm), axis, "inverse_real_fft", whole, False, norm)[0]


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
