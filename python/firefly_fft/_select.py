"""The largest values of rows, and their local maxima."""

from __future__ import annotations

import math
from typing import Any, Dict, NamedTuple

from . import _native
from ._arrays import Array, as_rows, count, from_rows, placed, real, step
from ._dispatch import dispatched


class TopK(NamedTuple):
    """Positions and values of the largest values of rows, largest first.

    >>> indices, values = top_k([[1.0, 3.0, 2.0], [6.0, 5.0, 4.0]], 2)
    >>> indices.tolist(), values.tolist()
    ([[1, 2], [0, 1]], [[3.0, 2.0], [6.0, 5.0]])
    """

    indices: Array
    values: Array


class LocalMaxima(NamedTuple):
    """Local maxima of rows, strongest first; where a row has fewer, bins are −1 and the rest NaN.

    `offset` is the distance from the bin to the vertex of the parabola through a maximum and its neighbours, in bins.

    >>> maxima = local_maxima([0.0, 3.0, 2.0, 0.0], k=2)
    >>> maxima.bins.tolist(), maxima.power.tolist()
    ([1, -1], [3.0, nan])
    """

    bins: Array
    power: Array
    prominence: Array
    offset: Array


@dispatched("x")
def top_k(x: Any, k: int, axis: int = -1, *, device: str | None = None) -> TopK:
    """The `k` largest values along an axis, largest first; among equals the lower index is first.

    Values that are not finite are never selected: a row with fewer than `k` finite ones ends in index −1 and value NaN.
    A row has at most 1,048,576 values.

    >>> top_k([1.0, 4.0, float("inf"), 4.0, 3.0], 3)
    TopK(indices=array([1, 3, 4], dtype=int32), values=array([4., 4., 3.]))
    """
    array, device = placed(x, device, real)
    rows, leading = as_rows(array, axis)
    indices, values = _native.top_k(rows, count(k, "k"), device)
    return TopK(from_rows(indices, leading, axis), from_rows(values, leading, axis))


@dispatched("x")
def local_maxima(
    x: Any,
    k: int,
    height: float | None = None,
    distance: float | None = None,
    prominence: float | None = None,
    *,
    interpolation: str = "log_parabola",
    axis: int = -1,
    device: str | None = None,
) -> LocalMaxima:
    """The `k` strongest local maxima along an axis, chosen as ``scipy.signal.find_peaks`` does.

    Parameters
    ----------
    x : power, of any shape and sign; at most 1,048,576 values per row.
    k : maxima per row; rows with fewer end in bin −1.
    height, distance, prominence : least height, least distance in bins (rounded up), least prominence.
    interpolation : how `offset`, the distance of a line from its bin, is estimated from the bin and its neighbours:
        "log_parabola", or "hann" for power under a Hann window.

    Differences from SciPy: several rows at once, strongest first; thresholds are single numbers; of equal maxima that
    are too close the lower one stays; a value that is not finite is no maximum.

    >>> local_maxima([0.0, 2.0, 0.0, 3.0, 1.0], k=2).bins
    array([3, 1], dtype=int32)
    """
    conditions = conditions_of(height, distance, prominence, interpolation)
    array, device = placed(x, device, real)
    rows, leading = as_rows(array, axis)
    found = _native.local_maxima(rows, count(k, "k"), conditions, device)
    return LocalMaxima(*(from_rows(values, leading, axis) for values in found))


def conditions_of(
    height: float | None, distance: float | None, prominence: float | None, interpolation: str
) -> Dict[str, Any]:
    """Conditions that local maxima must meet, with the distance in whole bins."""
    return {
        "height": height,
        "distance": 1 if distance is None else step(math.ceil(distance), "distance"),
        "prominence": prominence,
        "interpolation": interpolation,
    }
