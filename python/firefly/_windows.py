"""Windows in the forms that SciPy takes."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from . import _native
from ._arrays import Array, real

_SYNONYMS = {
    "boxcar": "rectangular",
    "box": "rectangular",
    "ones": "rectangular",
    "rect": "rectangular",
    "tukey": "tukey(0.5)",
}
_NAMED = (
    "boxcar",
    "hann",
    "hamming",
    "blackman",
    "nuttall",
    "blackmanharris",
    "flattop",
    "('kaiser', beta)",
    "('gaussian', std)",
    "('tukey', alpha)",
    "('dpss', nw)",
)


def is_named(window: Any) -> bool:
    """Whether a window is given by its name, so that it can have any length."""
    return isinstance(window, (str, tuple))


def coefficients(window: Any, n: int) -> Array:
    """The `n` coefficients of a periodic window, from its name, its name and parameter, or coefficients."""
    if isinstance(window, str):
        return _of_name(_SYNONYMS.get(window, window), n)
    if isinstance(window, tuple):
        name, *parameters = window
        if not parameters:
            return coefficients(name, n)
        return _of_name(f"{name}({','.join(repr(float(value)) for value in parameters)})", n)
    array = np.asarray(real(window, "window"), np.float64)
    if array.ndim != 1:
        raise ValueError(f"window has {array.ndim} dimensions, but must have one")
    return array


@lru_cache(maxsize=64)
def _of_name(name: str, n: int) -> Array:
    try:
        values = _native.window(name, n, True)
    except ValueError as error:
        if "`name`" not in str(error):
            raise
        raise ValueError(
            f"window {name!r} is none of {', '.join(_NAMED)}; pass the coefficients of others, as "
            "scipy.signal.get_window gives them"
        ) from None
    values.flags.writeable = False
    return values
