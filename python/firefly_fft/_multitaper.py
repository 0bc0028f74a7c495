"""Multitaper estimates of power: D. J. Thomson, "Spectrum estimation and harmonic analysis" (1982)."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple, Tuple

import numpy as np

from . import _native
from ._arrays import Array, count, from_rows, in_range, rate, rescaled, warn
from ._batch import apply, rows_of
from ._dispatch import of_numpy
from ._segments import removes_mean
from ._windows import coefficients

# Steps of the iteration for adaptive weights at most: after fewer, estimates stay the same within rounding.
_STEPS = 30


class Multitaper(NamedTuple):
    """Multitaper estimate of rows; what was not asked for is None.

    `low` and `high` are the ends of the interval of confidence of `psd`. `statistic` is that of Thomson's F test of
    each bin for a line, with 2 and 2 K − 2 degrees of freedom for K tapers, `p_value` its probability without a line,
    and `amplitude` the complex amplitude of the line: that of a cosine, with its phase at the first sample.
    """

    frequencies: Array
    psd: Array
    low: Array | None
    high: Array | None
    statistic: Array | None
    p_value: Array | None
    amplitude: Array | None


def dpss(
    M: int, NW: float, Kmax: int | None = None, sym: bool = True, norm: int | None = None, return_ratios: bool = False
) -> Any:
    """Discrete prolate spheroidal sequences, with the arguments of ``scipy.signal.windows.dpss``.

    One of `M` samples, with a largest value of 1; or the first `Kmax`, ``[Kmax, M]``, with an energy of 1, and if
    `return_ratios` the shares of their energy in the band of `NW` bins. `norm` is None or, with `Kmax`, 2.

    >>> tapers, ratios = dpss(64, 2.5, 4, return_ratios=True)
    >>> tapers.shape, bool(ratios[0] > 0.9999)
    ((4, 64), True)
    """
    samples = count(M, "M")
    if norm not in (None, 2) or (norm == 2 and Kmax is None):
        raise ValueError(f"norm is {norm!r}, but must be None, or 2 with Kmax")
    tapers, ratios = _dpss(samples + (not sym), float(NW), 1 if Kmax is None else count(Kmax, "Kmax"))
    if Kmax is None:
        window = coefficients(("dpss_symmetric" if sym else "dpss_periodic", NW), samples).copy()
        return (window, float(ratios[0])) if return_ratios else window
    tapers = tapers[:, :samples].copy()
    return (tapers, ratios.copy()) if return_ratios else tapers


@of_numpy("x")
def psd_array_multitaper(
    x: Any,
    sfreq: float,
    fmin: float = 0.0,
    fmax: float = np.inf,
    bandwidth: float | None = None,
    adaptive: bool = False,
    low_bias: bool = True,
    normalization: str = "length",
    remove_dc: bool = True,
    output: str = "power",
    *,
    max_iter: int = 150,
    device: str | None = None,
) -> Tuple[Array, Array]:
    """Power by DPSS tapers along the last axis, and frequencies, as ``mne.time_frequency.psd_array_multitaper``.

    `bandwidth` is the width of the band in hertz, 8 bins by default; with `low_bias` tapers have more than 0.9 of their
    energy in it. `normalization` is "length", or "full" for power per hertz. Adaptive weights take `max_iter` steps, 30
    at most, where MNE iterates until they stay the same. `output` can only be "power".

    >>> import numpy as np
    >>> psd, frequencies = psd_array_multitaper(np.sin(2 * np.pi * 50 * np.arange(1000) / 1000), 1000, 20, 80)
    >>> float(frequencies[psd.argmax()]), frequencies[[0, -1]].tolist()
    (50.0, [20.0, 80.0])
    """
    if normalization not in ("length", "full"):
        raise ValueError(f"normalization is {normalization!r}, but must be 'length' or 'full'")
    if output != "power":
        raise ValueError(f"output is {output!r}, but must be 'power'")
    rows, leading = rows_of(x, -1)
    n, per_second = rows.shape[1], rate(sfreq, "sfreq")
    half = 4.0 if bandwidth is None else float(bandwidth) * n / (2 * per_second)
    if not 0.5 <= half < (n + 1) / 2:
        raise ValueError(
            f"bandwidth is {bandwidth}, half of it {half} bins, but must be from 0.5 bins up to all of them"
        )
    number = int(2 * half)
    if low_bias:
        kept = int((_dpss(n + 1, half, number)[1] > 0.9).sum())
        if kept == 0:
            warn("no taper has 0.9 of its energy in the band: using the first")
        number = max(kept, 1)
    steps = min(count(max_iter, "max_iter"), _STEPS) if adaptive else 0
    if adaptive and number < 3:
        warn(f"there are {number} tapers, too few for adaptive weights")
        steps = 0
    trend = 1 if remove_dc else 0
    scaled, exponents = in_range(rows)
    arguments = half, number, steps, 1.0 if normalization == "length" else per_second, trend, None, False
    power = rescaled(apply("multitaper", [scaled], [n // 2 + 1], arguments, device)[0], exponents)
    frequencies = np.fft.rfftfreq(n, 1 / per_second)
    inside = (frequencies >= fmin) & (frequencies <= fmax)
    return from_rows(power if inside.all() else power[:, inside], leading), frequencies[inside]


@of_numpy("x")
def multitaper(
    x: Any,
    fs: float = 1.0,
    NW: float = 4.0,
    Kmax: int | None = None,
    *,
    tapers: str = "dpss",
    adaptive: bool = False,
    detrend: str | bool | None = "constant",
    confidence: float | None = None,
    line_test: bool = False,
    axis: int = -1,
    device: str | None = None,
) -> Multitaper:
    """Multitaper power per hertz with intervals of confidence and a test for lines.

    Parameters
    ----------
    x : real values.
    fs : samples per second.
    NW : half the width of the band in bins.
    Kmax : number of tapers, 2 NW − 1 by default.
    tapers : "dpss", or "sine" for those of Riedel and Sidorenko (1995), whose band is about `Kmax` bins wide.
    adaptive : whether weights of DPSS depend on the leakage of each bin.
    detrend : "constant", "linear" or False.
    confidence : probability of the interval, as 0.95, by the jackknife over tapers; without it there is none.
    line_test : whether each bin is tested for a line.

    >>> import numpy as np
    >>> noise = np.random.default_rng(0).normal(size=1000)
    >>> found = multitaper(noise + np.cos(2 * np.pi * 50 * np.arange(1000) / 1000), fs=1000, line_test=True)
    >>> float(found.frequencies[found.p_value.argmin()]), found.low is None
    (50.0, True)
    """
    if tapers not in ("dpss", "sine"):
        raise ValueError(f"tapers is {tapers!r}, but must be 'dpss' or 'sine'")
    if adaptive and tapers == "sine":
        raise ValueError("adaptive is True, but must be False with the tapers 'sine'")
    number = max(int(2 * NW) - 1, 1) if Kmax is None else count(Kmax, "Kmax")
    trend = 2 if detrend == "linear" else int(removes_mean(detrend))
    rows, leading = rows_of(x, axis)
    n, bins = rows.shape[1], rows.shape[1] // 2 + 1
    scaled, exponents = in_range(rows)
    half = float(NW) if tapers == "dpss" else None
    level = None if confidence is None else float(confidence)
    arguments = half, number, _STEPS if adaptive else 0, rate(fs), trend, level, bool(line_test)
    widths = [bins] * (1 if level is None else 3) + ([bins, bins, bins * 1j] if line_test else [])
    results = apply("multitaper", [scaled], widths, arguments, device)
    powers = [rescaled(power, exponents) for power in results[: 1 if level is None else 3]]
    tests = results[len(powers) :]
    if exponents is not None and tests:
        tests[2] = (tests[2] * np.exp2(exponents.astype(np.float64))[:, None]).astype(tests[2].dtype)
    absent: list[Array | None] = [None]
    parts = [*powers, *absent * (3 - len(powers)), *(tests or absent * 3)]
    placed = [None if part is None else from_rows(part, leading, axis) for part in parts]
    return Multitaper(np.fft.rfftfreq(n, 1 / float(fs)), *placed)  # type: ignore[arg-type]


@lru_cache(maxsize=16)
def _dpss(n: int, half: float, number: int) -> Tuple[Array, Array]:
    tapers, ratios = _native.dpss(n, half, number)
    return np.asarray(tapers), np.asarray(ratios)
