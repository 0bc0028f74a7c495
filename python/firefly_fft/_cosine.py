"""Discrete cosine and sine transforms, with the arguments of ``scipy.fft``."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ._arrays import Array, count, from_rows, numeric
from ._batch import apply_to_parts, rows_of
from ._dispatch import of_numpy

_OPPOSITE = {"backward": "forward", "forward": "backward", "ortho": "ortho"}


@of_numpy("x")
def dct(
    x: Any,
    type: int = 2,
    n: int | None = None,
    axis: int = -1,
    norm: str | None = None,
    orthogonalize: bool | None = None,
    *,
    device: str | None = None,
) -> Array:
    """Discrete cosine transform of type 1 to 4 along an axis, cut or padded with zeros to `n` values.

    As ``scipy.fft.dct``, of real or complex values of any length. Types 2 and 3 take one real transform of `n`.

    >>> dct([1.0, 2.0, 3.0, 4.0]).round(4)
    array([20.    , -6.3086,  0.    , -0.4483])
    """
    return _transform(x, type, n, axis, (norm, orthogonalize), False, False, device)


@of_numpy("x")
def idct(
    x: Any,
    type: int = 2,
    n: int | None = None,
    axis: int = -1,
    norm: str | None = None,
    orthogonalize: bool | None = None,
    *,
    device: str | None = None,
) -> Array:
    """Inverse of `dct` of the same type, with its arguments.

    >>> idct(dct([1.0, 2.0, 3.0, 4.0])).round(12)
    array([1., 2., 3., 4.])
    """
    return _transform(x, type, n, axis, (norm, orthogonalize), False, True, device)


@of_numpy("x")
def dst(
    x: Any,
    type: int = 2,
    n: int | None = None,
    axis: int = -1,
    norm: str | None = None,
    orthogonalize: bool | None = None,
    *,
    device: str | None = None,
) -> Array:
    """Discrete sine transform of type 1 to 4, with the arguments of `dct`; as ``scipy.fft.dst``.

    >>> dst([1.0, 0.0, 0.0], type=1).round(4)
    array([1.4142, 2.    , 1.4142])
    """
    return _transform(x, type, n, axis, (norm, orthogonalize), True, False, device)


@of_numpy("x")
def idst(
    x: Any,
    type: int = 2,
    n: int | None = None,
    axis: int = -1,
    norm: str | None = None,
    orthogonalize: bool | None = None,
    *,
    device: str | None = None,
) -> Array:
    """Inverse of `dst` of the same type, with its arguments.

    >>> idst(dst([1.0, 2.0, 3.0, 4.0])).round(12)
    array([1., 2., 3., 4.])
    """
    return _transform(x, type, n, axis, (norm, orthogonalize), True, True, device)


def _transform(
    x: Any,
    kind: int,
    n: int | None,
    axis: int,
    normalisation: tuple[str | None, bool | None],
    sines: bool,
    inverse: bool,
    device: str | None,
) -> Array:
    if kind not in (1, 2, 3, 4):
        raise ValueError(f"type is {kind!r}, but must be 1, 2, 3 or 4")
    norm = "backward" if normalisation[0] is None else normalisation[0]
    if norm not in _OPPOSITE:
        raise ValueError(f"norm is {norm!r}, but must be 'backward', 'ortho' or 'forward'")
    is_orthogonal = norm == "ortho" if normalisation[1] is None else bool(normalisation[1])
    rows, leading = rows_of(x, axis, numeric)
    samples = rows.shape[1]
    length = samples if n is None else count(n, "n")
    if length != samples:
        kept = rows[:, :length]
        rows = np.ascontiguousarray(np.pad(kept, ((0, 0), (0, length - kept.shape[1]))))
    if kind == 1 and not sines and length < 2:
        raise ValueError(f"n is {length}, but must be at least 2 with type 1")
    if inverse:
        kind, norm = {2: 3, 3: 2}.get(kind, kind), _OPPOSITE[norm]
    factor = 1.0
    if is_orthogonal != (norm == "ortho"):
        # Another factor than that of the operation's norm.
        points = 2 * (length + (0 if kind > 1 else 1 if sines else -1))
        factor = {"backward": 1.0, "ortho": 1 / math.sqrt(points), "forward": 1 / points}[norm]
        norm = "ortho" if is_orthogonal else "backward"
        factor *= math.sqrt(points) if is_orthogonal else 1.0
    result = apply_to_parts("trigonometric", rows, length, (int(kind), sines, norm), device)
    return from_rows(result if factor == 1 else result * result.real.dtype.type(factor), leading, axis)
