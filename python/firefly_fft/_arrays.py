"""Arrays of any kind as contiguous rows, and back."""

from __future__ import annotations

import math
import operator
import os
import sys
import warnings
from typing import Any, Callable, Tuple

import numpy as np
from numpy.typing import NDArray

from . import _native

Array = NDArray[Any]

# DLPack's kinds of devices whose memory is the host's: CPU, and memory of the host that CUDA or ROCm has pinned.
_HOST = (1, 3, 11)
_PACKAGE = os.path.join(os.path.dirname(__file__), "")


def placed(
    values: Any, device: str | None, as_numbers: Callable[[Any, str], Array], argument: str = "x"
) -> Tuple[Array, str]:
    """Values as `as_numbers`, `real` or `numeric`, makes them, and the name of the device that computes with them."""
    return as_numbers(values, argument), "cpu" if device is None else device


def as_array(values: Any, argument: str) -> Array:
    """Values as an array, without a copy where they are one or support DLPack."""
    if isinstance(values, np.ma.MaskedArray):
        raise TypeError(f"{argument} is a masked array: fill it first, as with `.filled(0)`")
    if isinstance(values, np.ndarray) or not hasattr(values, "__dlpack__"):
        if hasattr(values, "__cuda_array_interface__"):
            raise ValueError(_elsewhere(values, argument))
        return np.asarray(values)
    # PyTorch exports a tensor whose sign is changed lazily, as the imaginary part of a conjugate, without the change.
    if getattr(values, "is_neg", bool)():
        values = values.resolve_neg()
    if int(values.__dlpack_device__()[0]) not in _HOST:
        raise ValueError(_elsewhere(values, argument))
    try:
        return np.from_dlpack(values)
    except (BufferError, RuntimeError) as error:
        raise TypeError(f"{argument}: {error}") from error


def _elsewhere(values: Any, argument: str) -> str:
    """Message about an array in the memory of a device."""
    kind = type(values)
    library, name = kind.__module__.split(".")[0], f"{kind.__module__}.{kind.__qualname__}"
    if library in ("torch", "cupy"):
        convert = "copy it to the host first, as with " + ("`.cpu()`" if library == "torch" else "`cupy.asnumpy`")
    else:
        take = "from_dlpack" if hasattr(values, "__dlpack__") else "asarray"
        convert = f"copy it to the host first, or take it on its device, as with `torch.{take}` or `cupy.{take}`"
    return f"{argument} is a {name} in the memory of a device: {convert}"


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
    if not hasattr(axis, "__index__"):
        raise TypeError(f"axis is {axis!r}, but must be a whole number")
    moved = array if axis in (-1, array.ndim - 1) else np.moveaxis(array, axis, -1)
    leading = moved.shape[:-1]
    rows = moved.reshape(math.prod(leading), moved.shape[-1])
    return np.require(rows, requirements=["C_CONTIGUOUS", "ALIGNED"]), leading


def from_rows(rows: Array, leading: Tuple[int, ...], axis: int = -1) -> Array:
    """Rows ``[rows, …]`` in the dimensions that `as_rows` took apart, their last one at `axis`."""
    shape = [*leading, *rows.shape[1:]]
    array = rows.reshape(shape)
    return array if axis in (-1, array.ndim - 1) else np.moveaxis(array, -1, axis)


def as_pairs(rows: Array) -> Array:
    """Complex rows as pairs, ``[rows, n, 2]``; real ones as they are."""
    return rows.view(rows.real.dtype).reshape(*rows.shape, 2) if rows.dtype.kind == "c" else rows


def from_pairs(pairs: Array) -> Array:
    """Pairs ``[rows, n, 2]`` as complex values."""
    return pairs.view(np.result_type(pairs, np.complex64)).reshape(pairs.shape[:-1])


def in_range(rows: Array) -> Tuple[Array, Array | None]:
    """Rows whose power is within the range of float32, and the exponents of two that they were divided by, if any."""
    if rows.dtype not in (np.float32, np.complex64):
        return rows, None
    pairs = as_pairs(rows)
    exponents = _native.exponents(pairs)
    if not exponents.any():
        return rows, None
    scaled = np.ldexp(pairs, -exponents.reshape(-1, *[1] * (pairs.ndim - 1)))
    return from_pairs(scaled) if rows.dtype == np.complex64 else scaled, exponents


def rescaled(values: Array, exponents: Array | None, degree: int = 2) -> Array:
    """Powers of `degree` of rows that `in_range` gave as those of the original rows, of float64 if float32 can't hold
    them."""
    if exponents is None:
        return values
    factors = degree * exponents.reshape(-1, *[1] * (values.ndim - 1))
    return narrowed(np.ldexp(values.astype(np.float64), factors), values.dtype)


def narrowed(values: Array, dtype: np.dtype[Any]) -> Array:
    """Values in a type of less precision, or as they are if one would be infinite or less than its least normal."""
    if values.dtype == dtype:
        return values
    with np.errstate(over="ignore", under="ignore"):
        narrow = values.astype(dtype, copy=False)
    tiny = np.finfo(dtype).tiny
    is_lost = (np.isinf(narrow) & np.isfinite(values)) | ((np.abs(narrow) < tiny) & (values != 0))
    return values if is_lost.any() else narrow


def warn(text: str) -> None:
    """Warning of the line that called the package."""
    level, frame = 1, sys._getframe().f_back
    while frame is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        level, frame = level + 1, frame.f_back
    warnings.warn(text, UserWarning, stacklevel=level + 1)


def plain(value: Any) -> Any:
    """A number of NumPy or a path as one of JSON."""
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    raise TypeError(f"{value!r} is no setting: numbers, text, booleans, lists and None are")


def rate(value: Any, argument: str = "fs") -> float:
    """A sample rate, which is positive and finite."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise TypeError(f"{argument} is {value!r}, but must be a number") from None
    if not 0 < number < math.inf:
        raise ValueError(f"{argument} is {value!r}, but must be positive and finite")
    return number


def _values_in_memory() -> int:
    """Numbers of float64 that the memory of this machine holds."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 8
    except (AttributeError, OSError, ValueError):
        return 1 << 37


_VALUES_IN_MEMORY = _values_in_memory()


def count(value: Any, argument: str, least: int = 1, most: int = _VALUES_IN_MEMORY) -> int:
    """A whole number of at least `least`, and of values no more than memory holds."""
    try:
        number = operator.index(value)
    except TypeError:
        if not (isinstance(value, (float, np.floating)) and float(value).is_integer()):
            raise TypeError(f"{argument} is {value!r}, but must be a whole number") from None
        number = int(value)
    if number < least:
        raise ValueError(f"{argument} is {number}, but must be at least {least}")
    if number > most:
        raise ValueError(f"{argument} is {number}, but must be at most {most}")
    return number


def step(value: Any, argument: str) -> int:
    """A whole number of at least 1 that takes no memory: a distance between samples."""
    return count(value, argument, most=(1 << 63) - 1)
