"""Windows in the forms that SciPy takes."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Tuple

import numpy as np

from . import _native
from ._arrays import Array, count, real

_SYNONYMS = {
    "boxcar": "rectangular",
    "box": "rectangular",
    "ones": "rectangular",
    "rect": "rectangular",
    "han": "hann",
    "hamm": "hamming",
    "ham": "hamming",
    "black": "blackman",
    "blk": "blackman",
    "nutl": "nuttall",
    "nut": "nuttall",
    "blackharr": "blackmanharris",
    "bkh": "blackmanharris",
    "flat": "flattop",
    "flt": "flattop",
    "ksr": "kaiser",
    "gauss": "gaussian",
    "gss": "gaussian",
    "tuk": "tukey",
}
_PERIODIC, _SYMMETRIC = "_periodic", "_symmetric"
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
    """The `n` coefficients of a window, from its name, its name and parameters, or coefficients.

    A window of a name is periodic, or symmetric where the name ends in ``_symmetric``.
    """
    if isinstance(window, (str, tuple)):
        name, *parameters = (window,) if isinstance(window, str) else window
        return _of_name(str(name), tuple(float(value) for value in parameters), n)
    array = np.asarray(real(window, "window"), np.float64)
    if array.ndim != 1:
        raise ValueError(f"window has {array.ndim} dimensions, but must have one")
    return array


def get_window(window: Any, Nx: int, fftbins: bool = True) -> Array:
    """The `Nx` coefficients of a window in float64, with the arguments of ``scipy.signal.get_window``.

    The window is periodic, for spectra, or symmetric if not `fftbins`, unless the end of its name says which.

    >>> get_window("hann", 4), get_window(("kaiser", 8.6), 3, fftbins=False).round(4)
    (array([0. , 0.5, 1. , 0.5]), array([0.0013, 1.    , 0.0013]))
    """
    if not is_named(window):
        raise TypeError(f"window is {window!r}, but must be a name, or a tuple of a name and parameters")
    name, *parameters = (window,) if isinstance(window, str) else window
    if not fftbins and not name.endswith((_PERIODIC, _SYMMETRIC)):
        name += _SYMMETRIC
    return coefficients((name, *parameters), count(Nx, "Nx")).copy()


@lru_cache(maxsize=64)
def _of_name(name: str, parameters: Tuple[float, ...], n: int) -> Array:
    base = name
    for suffix in (_PERIODIC, _SYMMETRIC):
        if name.endswith(suffix):
            base = name[: -len(suffix)]
            break
    base = _SYNONYMS.get(base, base)
    if base == "tukey" and not parameters:
        parameters = (0.5,)
    text = f"{base}({','.join(map(repr, parameters))})" if parameters else base
    try:
        values = _native.window(text, n, not name.endswith(_SYMMETRIC))
    except ValueError as error:
        if "`name`" not in str(error):
            raise
        raise ValueError(
            f"window {name!r} is none of {', '.join(_NAMED)}, also with {_PERIODIC} or {_SYMMETRIC} behind the name; "
            "pass the coefficients of others, as scipy.signal.get_window gives them"
        ) from None
    values.flags.writeable = False
    return values
