"""Fourier transforms along one dimension, and along several: with the arguments of ``torch.fft``."""

from __future__ import annotations

import math
from typing import Any, List, Tuple

import jax.numpy as jnp

from .._operations import COLUMNS, COMPLEX, INVERSE_REAL, REAL, Dims, Lengths, last_axis, points, transform
from .._operations import axes as axes_of
from ._arrays import compiled, complex_values, real, rows, unflattened
from ._operators import apply

Axes = List[Tuple[int, "int | None"]]


def _along(x: Any, dim: int, form: int, n: int, forward: bool, norm: str | None) -> Any:
    """The transform of `n` points along a dimension."""
    dim %= x.ndim
    if form == COMPLEX and dim < x.ndim - 1 and n == x.shape[dim]:
        # Kernels transform columns where they are.
        matrices = (math.prod(x.shape[:dim]), n, math.prod(x.shape[dim + 1 :]))
        return apply(transform(COLUMNS, n, forward, norm), x.reshape(matrices)).reshape(x.shape)
    x = jnp.moveaxis(x, dim, -1)
    found = apply(transform(form, n, forward, norm), rows(x, "x"))
    return jnp.moveaxis(unflattened(found, x), -1, dim)


def _complex(x: Any, axes: Axes, forward: bool, norm: str | None) -> Any:
    """Complex transforms along one dimension after the other, the last one first."""
    for axis, n in reversed(axes):
        x = _along(x, axis, COMPLEX, points(x.shape, n, axis), forward, norm)
    return x


@compiled("x")
def fft(x: Any, n: int | None = None, dim: int = -1, norm: str | None = None) -> Any:
    """Fourier transform of any length along a dimension, as ``torch.fft.fft``.

    >>> import jax.numpy as jnp
    >>> fft(jnp.array([1.0, 0.0, 0.0])).tolist()
    [(1+0j), (1+0j), (1+0j)]
    """
    x = complex_values(x, "x")
    return _along(x, dim, COMPLEX, points(x.shape, n, dim), True, norm)


@compiled("x")
def ifft(x: Any, n: int | None = None, dim: int = -1, norm: str | None = None) -> Any:
    """Inverse of `fft`, as ``torch.fft.ifft``.

    >>> import jax.numpy as jnp
    >>> ifft(jnp.array([3.0, 0.0, 0.0])).real.tolist()
    [1.0, 1.0, 1.0]
    """
    x = complex_values(x, "x")
    return _along(x, dim, COMPLEX, points(x.shape, n, dim), False, norm)


@compiled("x")
def rfft(x: Any, n: int | None = None, dim: int = -1, norm: str | None = None) -> Any:
    """The lower n // 2 + 1 bins of `fft` of real values, as ``torch.fft.rfft``.

    >>> import jax.numpy as jnp
    >>> rfft(jnp.ones((2, 15))).shape
    (2, 8)
    """
    x = real(x, "x")
    return _along(x, dim, REAL, points(x.shape, n, dim), True, norm)


@compiled("x")
def irfft(x: Any, n: int | None = None, dim: int = -1, norm: str | None = None) -> Any:
    """Inverse of `rfft`, as ``torch.fft.irfft``: `n` values, 2 (m − 1) by default for m bins.

    >>> import jax.numpy as jnp
    >>> irfft(rfft(jnp.array([1.0, 2.0, 4.0])), 3).round().tolist()
    [1.0, 2.0, 4.0]
    """
    x = complex_values(x, "x")
    return _along(x, dim, INVERSE_REAL, points(x.shape, n, dim, True), False, norm)


def _of_several(name: str, x: Any, s: Lengths, dim: Dims, norm: str | None) -> Any:
    """The transform of a name, of lengths and dimensions that may be lists."""
    lengths, dims = (tuple(value) if isinstance(value, list) else value for value in (s, dim))
    return _TRANSFORMS[name](x, lengths, dims, norm)


@compiled("x")
def _fftn(x: Any, s: Lengths, dim: Dims, norm: str | None) -> Any:
    x = complex_values(x, "x")
    return _complex(x, axes_of(x.ndim, s, dim), True, norm)


@compiled("x")
def _ifftn(x: Any, s: Lengths, dim: Dims, norm: str | None) -> Any:
    x = complex_values(x, "x")
    return _complex(x, axes_of(x.ndim, s, dim), False, norm)


@compiled("x")
def _rfftn(x: Any, s: Lengths, dim: Dims, norm: str | None) -> Any:
    x = real(x, "x")
    axes = axes_of(x.ndim, s, dim)
    axis, n = last_axis(axes)
    return _complex(_along(x, axis, REAL, points(x.shape, n, axis), True, norm), axes, True, norm)


@compiled("x")
def _irfftn(x: Any, s: Lengths, dim: Dims, norm: str | None) -> Any:
    x = complex_values(x, "x")
    axes = axes_of(x.ndim, s, dim)
    axis, n = last_axis(axes)
    whole = points(x.shape, n, axis, True)
    return _along(_complex(x, axes, False, norm), axis, INVERSE_REAL, whole, False, norm)


_TRANSFORMS = {"fftn": _fftn, "ifftn": _ifftn, "rfftn": _rfftn, "irfftn": _irfftn}


def fftn(x: Any, s: Lengths = None, dim: Dims = None, norm: str | None = None) -> Any:
    """Fourier transform along several dimensions, as ``torch.fft.fftn``.

    Parameters
    ----------
    x : real or complex array of any shape.
    s : points along each dimension, which values are cut or padded with zeros to; all values by default, and for −1.
    dim : the dimensions; by default as many of the last as `s` has, or all.
    norm : "backward" (the default), "ortho" or "forward": where the factor of the inverse is.

    Raises ``ValueError`` for a dimension that is not there or there twice, and for lengths of which one is 0 or that
    are not as many as the dimensions.

    >>> import jax.numpy as jnp
    >>> float(fftn(jnp.ones((2, 2, 3))).real[0, 0, 0])
    12.0
    """
    return _of_several("fftn", x, s, dim, norm)


def ifftn(x: Any, s: Lengths = None, dim: Dims = None, norm: str | None = None) -> Any:
    """Inverse of `fftn`, as ``torch.fft.ifftn``; arguments and errors are those of `fftn`.

    >>> import jax.numpy as jnp
    >>> abs(ifftn(fftn(jnp.eye(3))).real.round()).tolist()[0]
    [1.0, 0.0, 0.0]
    """
    return _of_several("ifftn", x, s, dim, norm)


def rfftn(x: Any, s: Lengths = None, dim: Dims = None, norm: str | None = None) -> Any:
    """Fourier transform of real values, as ``torch.fft.rfftn``: n // 2 + 1 bins along the last of the dimensions.

    Arguments and errors are those of `fftn`, with at least one dimension.

    >>> import jax.numpy as jnp
    >>> rfftn(jnp.ones((2, 6, 8)), dim=(0, 2)).shape
    (2, 6, 5)
    """
    return _of_several("rfftn", x, s, dim, norm)


def irfftn(x: Any, s: Lengths = None, dim: Dims = None, norm: str | None = None) -> Any:
    """Inverse of `rfftn`, as ``torch.fft.irfftn``: real values, by default 2 (m − 1) of m bins along the last.

    Arguments and errors are those of `rfftn`. Imaginary parts of bins that are their own mirror images along the last
    dimension, once the others are transformed, do not count.

    >>> import jax.numpy as jnp
    >>> abs(irfftn(rfftn(jnp.eye(3)), s=(3, 3)).round()).tolist()[0]
    [1.0, 0.0, 0.0]
    """
    return _of_several("irfftn", x, s, dim, norm)


def fft2(x: Any, s: Lengths = None, dim: Dims = (-2, -1), norm: str | None = None) -> Any:
    """Fourier transform along two dimensions, as ``torch.fft.fft2``: `fftn` of the last two by default.

    >>> import jax.numpy as jnp
    >>> fft2(jnp.ones((2, 4, 4))).real[:, 0, 0].tolist()
    [16.0, 16.0]
    """
    return fftn(x, s, dim, norm)


def ifft2(x: Any, s: Lengths = None, dim: Dims = (-2, -1), norm: str | None = None) -> Any:
    """Inverse of `fft2`, as ``torch.fft.ifft2``.

    >>> import jax.numpy as jnp
    >>> abs(ifft2(jnp.ones((2, 2))).real).tolist()
    [[1.0, 0.0], [0.0, 0.0]]
    """
    return ifftn(x, s, dim, norm)


def rfft2(x: Any, s: Lengths = None, dim: Dims = (-2, -1), norm: str | None = None) -> Any:
    """Fourier transform of real values along two dimensions, as ``torch.fft.rfft2``: see `rfftn`.

    >>> import jax.numpy as jnp
    >>> rfft2(jnp.ones((3, 16, 16))).shape
    (3, 16, 9)
    """
    return rfftn(x, s, dim, norm)


def irfft2(x: Any, s: Lengths = None, dim: Dims = (-2, -1), norm: str | None = None) -> Any:
    """Inverse of `rfft2`, as ``torch.fft.irfft2``: see `irfftn`.

    >>> import jax.numpy as jnp
    >>> irfft2(jnp.ones((3, 16, 9), jnp.complex64)).shape
    (3, 16, 16)
    """
    return irfftn(x, s, dim, norm)
