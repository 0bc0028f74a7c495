"""Fourier transforms of any length, with the names and arguments of ``numpy.fft``, cosine and sine transforms of
``scipy.fft``.

float32 and complex64 give complex64, others complex128, as in NumPy 2 and SciPy.

>>> import numpy as np
>>> signal = np.random.default_rng(0).normal(size=(4, 1000)).astype(np.float32)
>>> spectrum = rfft(signal)
>>> spectrum.shape, spectrum.dtype
((4, 501), dtype('complex64'))
>>> bool(np.allclose(irfft(spectrum), signal, atol=1e-5))
True
"""

from __future__ import annotations

from typing import Any, List, Sequence, Tuple

import numpy as np
from numpy.fft import fftfreq, fftshift, ifftshift, rfftfreq

from ._arrays import Array, count, from_rows, numeric, placed, real
from ._batch import apply, rows_of
from ._cosine import dct, dst, idct, idst
from ._dispatch import dispatched

__all__ = [
    "dct",
    "dst",
    "fft",
    "fft2",
    "fftfreq",
    "fftn",
    "fftshift",
    "hfft",
    "idct",
    "idst",
    "ifft",
    "ifft2",
    "ifftn",
    "ifftshift",
    "ihfft",
    "irfft",
    "irfft2",
    "irfftn",
    "rfft",
    "rfft2",
    "rfftfreq",
    "rfftn",
]

# Norms of a transform that is computed as its inverse.
_INVERTED = {None: "forward", "backward": "forward", "forward": "backward"}


@dispatched("x")
def fft(x: Any, n: int | None = None, axis: int = -1, norm: str | None = None, *, device: str | None = None) -> Array:
    """Complex transform along an axis, cut or padded with zeros to `n` points.

    >>> fft([1.0, 0.0, 0.0, 0.0])
    array([1.+0.j, 1.+0.j, 1.+0.j, 1.+0.j])
    """
    return _complex(x, n, axis, norm, (False, device))


@dispatched("x")
def ifft(x: Any, n: int | None = None, axis: int = -1, norm: str | None = None, *, device: str | None = None) -> Array:
    """Inverse of `fft`.

    >>> ifft([4.0, 0.0, 0.0, 0.0])
    array([1.+0.j, 1.+0.j, 1.+0.j, 1.+0.j])
    """
    return _complex(x, n, axis, norm, (True, device))


@dispatched("x")
def rfft(x: Any, n: int | None = None, axis: int = -1, norm: str | None = None, *, device: str | None = None) -> Array:
    """The ``n // 2 + 1`` bins from 0 up of the transform of real values.

    >>> rfft([1.0, 0.0, 0.0])
    array([1.+0.j, 1.+0.j])
    """
    array, device = placed(x, device, real)
    rows, leading = rows_of(array, axis, real)
    points = _points(n, rows.shape[1])
    return from_rows(apply("rfft", [rows], [(points // 2 + 1) * 1j], (points, _norm(norm)), device)[0], leading, axis)


@dispatched("x")
def irfft(x: Any, n: int | None = None, axis: int = -1, norm: str | None = None, *, device: str | None = None) -> Array:
    """Inverse of `rfft`: `n` real values, ``2 * (m - 1)`` of m bins by default.

    >>> irfft([3.0, 0.0], 3)
    array([1., 1., 1.])
    """
    array, device = placed(x, device, numeric)
    rows, leading = rows_of(array, axis, numeric)
    points = _points(n, 2 * (rows.shape[1] - 1))
    return from_rows(apply("irfft", [rows], [points], (points, _norm(norm)), device)[0], leading, axis)


@dispatched("x")
def hfft(x: Any, n: int | None = None, axis: int = -1, norm: str | None = None, *, device: str | None = None) -> Array:
    """Real transform of a signal with Hermitian symmetry, of which `x` is the half from 0 up.

    >>> hfft([1.0, 1.0, 1.0])
    array([4., 0., 0., 0.])
    """
    array, device = placed(x, device, numeric)
    return irfft(np.conj(array), n, axis, _INVERTED.get(norm, norm), device=device)


@dispatched("x")
def ihfft(x: Any, n: int | None = None, axis: int = -1, norm: str | None = None, *, device: str | None = None) -> Array:
    """Inverse of `hfft`.

    >>> ihfft([4.0, 0.0, 0.0, 0.0]).real
    array([1., 1., 1.])
    """
    array, device = placed(x, device, real)
    return np.conj(rfft(array, n, axis, _INVERTED.get(norm, norm), device=device))


@dispatched("x")
def fftn(
    x: Any,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: str | None = None,
    *,
    device: str | None = None,
) -> Array:
    """`fft` along several axes, all of them by default.

    >>> fftn([[1.0, 0.0], [0.0, 0.0]])
    array([[1.+0.j, 1.+0.j],
           [1.+0.j, 1.+0.j]])
    """
    return _along(fft, x, _axes(x, s, axes), norm, device)


@dispatched("x")
def ifftn(
    x: Any,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: str | None = None,
    *,
    device: str | None = None,
) -> Array:
    """Inverse of `fftn`.

    >>> ifftn([[4.0, 0.0], [0.0, 0.0]])
    array([[1.+0.j, 1.+0.j],
           [1.+0.j, 1.+0.j]])
    """
    return _along(ifft, x, _axes(x, s, axes), norm, device)


@dispatched("x")
def rfftn(
    x: Any,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: str | None = None,
    *,
    device: str | None = None,
) -> Array:
    """`rfft` along the last axis, then `fft` along the others.

    >>> rfftn([[1.0, 0.0], [0.0, 0.0]]).shape
    (2, 2)
    """
    *others, (last, points) = _axes(x, s, axes)
    return _along(fft, rfft(x, points, last, norm, device=device), others, norm, device)


@dispatched("x")
def irfftn(
    x: Any,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: str | None = None,
    *,
    device: str | None = None,
) -> Array:
    """Inverse of `rfftn`; the last of `s` is ``2 * (m - 1)`` of m bins by default.

    >>> irfftn(rfftn([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]), (2, 3)).round(12)
    array([[1., 2., 3.],
           [4., 5., 6.]])
    """
    *others, (last, points) = _axes(x, s, axes)
    return irfft(_along(ifft, x, others, norm, device), points, last, norm, device=device)


@dispatched("x")
def fft2(
    x: Any,
    s: Sequence[int] | None = None,
    axes: Sequence[int] = (-2, -1),
    norm: str | None = None,
    *,
    device: str | None = None,
) -> Array:
    """`fftn` along two axes.

    >>> fft2([[1.0, 1.0], [1.0, 1.0]])
    array([[4.+0.j, 0.+0.j],
           [0.+0.j, 0.+0.j]])
    """
    return fftn(x, s, axes, norm, device=device)


@dispatched("x")
def ifft2(
    x: Any,
    s: Sequence[int] | None = None,
    axes: Sequence[int] = (-2, -1),
    norm: str | None = None,
    *,
    device: str | None = None,
) -> Array:
    """`ifftn` along two axes.

    >>> ifft2([[4.0, 0.0], [0.0, 0.0]]).real
    array([[1., 1.],
           [1., 1.]])
    """
    return ifftn(x, s, axes, norm, device=device)


@dispatched("x")
def rfft2(
    x: Any,
    s: Sequence[int] | None = None,
    axes: Sequence[int] = (-2, -1),
    norm: str | None = None,
    *,
    device: str | None = None,
) -> Array:
    """`rfftn` along two axes.

    >>> rfft2([[1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0]]).real
    array([[8., 0., 0.],
           [0., 0., 0.]])
    """
    return rfftn(x, s, axes, norm, device=device)


@dispatched("x")
def irfft2(
    x: Any,
    s: Sequence[int] | None = None,
    axes: Sequence[int] = (-2, -1),
    norm: str | None = None,
    *,
    device: str | None = None,
) -> Array:
    """`irfftn` along two axes.

    >>> irfft2([[8.0, 0.0, 0.0], [0.0, 0.0, 0.0]])
    array([[1., 1., 1., 1.],
           [1., 1., 1., 1.]])
    """
    return irfftn(x, s, axes, norm, device=device)


def _complex(x: Any, n: int | None, axis: int, norm: str | None, call: Tuple[bool, str | None]) -> Array:
    inverse, name = call
    array, device = placed(x, name, numeric)
    rows, leading = rows_of(array, axis, numeric)
    points = _points(n, rows.shape[1])
    arguments = points, inverse, _norm(norm)
    return from_rows(apply("fft", [rows], [points * 1j], arguments, device)[0], leading, axis)


def _points(n: int | None, default: int) -> int:
    return count(default if n is None else n, "n")


def _norm(norm: str | None) -> str:
    if norm not in _INVERTED and norm != "ortho":
        raise ValueError(f"norm is {norm!r}, but must be 'backward', 'ortho' or 'forward'")
    return "backward" if norm is None else norm


def _axes(x: Any, s: Sequence[int] | None, axes: Sequence[int] | None) -> List[Tuple[int, int | None]]:
    """Axes and numbers of points."""
    if axes is None:
        dimensions = np.ndim(x) if s is None else len(s)
        axes = range(-dimensions, 0)
    if s is not None and len(s) != len(axes):
        raise ValueError(f"s has {len(s)} lengths, but there are {len(axes)} axes")
    if not axes:
        raise ValueError("axes is empty, but a transform needs at least one")
    # As in NumPy 2, −1 is the length of the axis.
    points = [None if n == -1 else n for n in s] if s is not None else [None] * len(axes)
    return list(zip(axes, points))


def _along(
    transform: Any, x: Any, axes: Sequence[Tuple[int, int | None]], norm: str | None, device: str | None
) -> Array:
    for axis, points in reversed(axes):
        x = transform(x, points, axis, norm, device=device)
    return placed(x, device, numeric)[0]
