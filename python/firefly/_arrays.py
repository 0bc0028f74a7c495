"""Arrays of any kind as contiguous rows, and back."""

from __future__ import annotations

import math
import operator
from typing import Any, Tuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

# DLPack's kinds of devices whose memory is the host's: CPU, and memory of the host that CUDA or ROCm has pinned.
_HOST = (1, 3, 11)


def as_array(values: Any, argument: str) -> Array:
    """Values as an array, without a copy where they are one or support DLPack."""
    if isinstance(values, np.ma.MaskedArray):
        raise TypeError(f"{argument} is a masked array: fill it first, as with `.filled(0)`")
    if isinstance(values, np.ndarray) or not hasattr(values, "__dlpack__"):
        return np.asarray(values)
    kind = int(values.__dlpack_device__()[0])
    if kind not in _HOST:
        raise ValueError(
            f"{argument} is in the memory of a device (of DLPack's type {kind}): copy it to the host first, as with "
            "`.cpu()`"
        )
    try:
        return np.from_dlpack(values)
    except (BufferError, RuntimeError) as error:
        raise TypeError(f"{argument}: {error}") from error


def real(values: Any, argument: str = "x") -> Array:
    """Values as an array of float32 or float64; float16 becomes float32, integers float64."""
    array = as_array(values, argument)
    if array.dtype.kind == "c":
        raise TypeError(f"{argument} is complex, but must be real")
    return array.astype(_precision(array.dtype, argument), copy=False)


def numeric(values: Any, argument: str = "x") -> Array:
    """Values as an array of float32, float64, complex64 or complex128."""
    array = as_array(values, argument)
    if array.dtype.kind != "c":
        return array.astype(_precision(array.dtype, argument), copy=False)
    if array.dtype.itemsize > 16:
        raise TypeError(f"{argument} is of {array.dtype}: convert it to complex128 first")
    return array.astype(array.dtype.newbyteorder("="), copy=False)


def _precision(dtype: np.dtype[Any], argument: str) -> type[np.floating[Any]]:
    if dtype.kind == "f" and dtype.itemsize <= 4:
        return np.float32
    if dtype.kind in "iub" or (dtype.kind == "f" and dtype.itemsize == 8):
        return np.float64
    if dtype.kind == "f":
        raise TypeError(f"{argument} is of {dtype}: convert it to float64 first")
    raise TypeError(f"{argument} is of {dtype}, but must be of numbers")


def as_rows(array: Array, axis: int, argument: str = "x") -> Tuple[Array, Tuple[int, ...]]:
    """An array as contiguous rows ``[rows, n]`` along `axis`, and the lengths of its other dimensions."""
    if array.ndim == 0:
        raise ValueError(f"{argument} is a scalar, but must have at least one dimension")
    moved = array if axis in (-1, array.ndim - 1) else np.moveaxis(array, axis, -1)
    leading = moved.shape[:-1]
    rows = moved.reshape(math.prod(leading), moved.shape[-1])
    return np.require(rows, requirements=["C_CONTIGUOUS", "ALIGNED"]), leading


def from_rows(rows: Array, leading: Tuple[int, ...], axis: int = -1) -> Array:
    """Rows ``[rows, …]`` in the dimensions that `as_rows` took apart, their last one at `axis`."""
    array = rows.reshape(leading + rows.shape[1:])
    return array if axis in (-1, array.ndim - 1) else np.moveaxis(array, -1, axis)


def count(value: Any, argument: str, least: int = 1) -> int:
    """A whole number of at least `least`."""
    try:
        number = operator.index(value)
    except TypeError:
        if not (isinstance(value, (float, np.floating)) and float(value).is_integer()):
            raise TypeError(f"{argument} is {value!r}, but must be a whole number") from None
        number = int(value)
    if number < least:
        raise ValueError(f"{argument} is {number}, but must be at least {least}")
    return number
