"""Operations on batches of rows by name, each in one call of the extension module."""

from __future__ import annotations

from typing import Any, Callable, List, Sequence, Tuple

import numpy as np

from . import _native
from ._arrays import Array, as_pairs, as_rows, real


def rows_of(
    values: Any, axis: int, as_numbers: Callable[[Any, str], Array] = real, argument: str = "x"
) -> Tuple[Array, Tuple[int, ...]]:
    """Values as rows with samples, and the lengths of the other dimensions."""
    rows, leading = as_rows(as_numbers(values, argument), axis, argument)
    if rows.shape[1] == 0:
        raise ValueError(f"{argument} has no samples along the axis")
    return rows, leading


def apply(
    operation: str,
    inputs: Sequence[Array],
    widths: Sequence[int | complex],
    arguments: Tuple[Any, ...],
    device: str | None,
    per: int = 1,
) -> List[Array]:
    """Results of rows, each of one of `widths`, that are computed from `per` rows of the inputs at a time.

    Results have the precision of the inputs; those of widths such as ``8j`` are complex.
    """
    is_empty = len(inputs[0]) == 0
    if is_empty:  # The arguments are checked all the same.
        inputs = [np.zeros((per, *rows.shape[1:]), rows.dtype) for rows in inputs]
    precision = inputs[0].real.dtype
    types = [np.result_type(precision, np.complex64) if isinstance(width, complex) else precision for width in widths]
    count = len(inputs[0]) // per
    results = [np.empty((count, int(abs(width))), dtype) for width, dtype in zip(widths, types)]
    pairs = [as_pairs(rows) for rows in inputs], [as_pairs(rows) for rows in results]
    # Operations of whole batches have memory of their own for their results.
    results = _native.apply(operation, *pairs, arguments, "cpu" if device is None else device) or results
    return [rows[:0] for rows in results] if is_empty else results


def apply_to_parts(operation: str, rows: Array, width: int, arguments: Tuple[Any, ...], device: str | None) -> Array:
    """Result of an operation that is linear and of real rows, also of complex ones."""
    if rows.dtype.kind != "c":
        return apply(operation, [rows], [width], arguments, device)[0]
    (parts,) = apply(operation, [np.concatenate([rows.real, rows.imag])], [width], arguments, device)
    result = np.empty((len(rows), width), rows.dtype)
    result.real, result.imag = parts[: len(rows)], parts[len(rows) :]
    return result
