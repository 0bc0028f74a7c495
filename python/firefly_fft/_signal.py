"""Functions of ``scipy.signal`` on rows: spectra of bands, envelopes, other sample rates, trends, cepstra."""

from __future__ import annotations

import math
from typing import Any, Tuple

import numpy as np

from ._arrays import Array, count, from_rows, in_range, numeric, rate, real, rescaled
from ._batch import apply, apply_to_parts, rows_of
from ._dispatch import dispatched, of_numpy, refuse
from ._windows import get_window, is_named


@of_numpy("x")
def czt(
    x: Any, m: int | None = None, w: Any = None, a: Any = 1 + 0j, *, axis: int = -1, device: str | None = None
) -> Array:
    """Chirp-z transform at the `m` points ``a * w ** -k``, with the arguments of ``scipy.signal.czt``.

    `m` is the number of samples by default, and `w` is ``exp(-2j * pi / m)``. Powers of a `w` that is not on the unit
    circle must stay within 10^±2 in magnitude, of float64 10^±8: others are a `ValueError`.

    >>> czt([1.0, 2.0, 4.0], 1, a=2.0).real
    array([3.])
    """
    rows, leading = rows_of(x, axis, numeric)
    points = rows.shape[1] if m is None else count(m, "m")
    arguments = points, None if w is None else _parts(w, "w"), _parts(a, "a")
    return from_rows(apply("czt", [rows], [points * 1j], arguments, device)[0], leading, axis)


@of_numpy("x")
def zoom_fft(
    x: Any,
    fn: Any,
    m: int | None = None,
    *,
    fs: float = 2,
    endpoint: bool = False,
    axis: int = -1,
    device: str | None = None,
) -> Array:
    """Spectrum at `m` frequencies from ``fn[0]`` to ``fn[1]``, with the arguments of ``scipy.signal.zoom_fft``.

    A single number as `fn` is a band from 0. The end is left out unless `endpoint`.

    >>> import numpy as np
    >>> x = np.sin(2 * np.pi * 10.3 * np.arange(1000) / 1000)
    >>> int(np.abs(zoom_fft(x, [10.0, 11.0], 10, fs=1000)).argmax())
    3
    """
    rows, leading = rows_of(x, axis, numeric)
    band = np.atleast_1d(np.asarray(fn, np.float64))
    if band.shape not in ((1,), (2,)):
        raise ValueError(f"fn is {fn!r}, but must be one frequency or two")
    points = rows.shape[1] if m is None else count(m, "m")
    arguments = [0.0, *band.tolist()][-2:], points, rate(fs), bool(endpoint)
    return from_rows(apply("zoom_fft", [rows], [points * 1j], arguments, device)[0], leading, axis)


@dispatched("x")
def hilbert(x: Any, N: int | None = None, axis: int = -1, *, device: str | None = None) -> Array:
    """Analytic signal of real values, with the arguments of ``scipy.signal.hilbert``.

    Its real part is the signal, cut or padded with zeros to `N` samples, and its magnitude the envelope.

    >>> import numpy as np
    >>> time = np.arange(1000) / 1000
    >>> magnitude = np.abs(hilbert((1 + 0.5 * np.cos(2 * np.pi * 5 * time)) * np.cos(2 * np.pi * 100 * time)))
    >>> float(magnitude.max().round(3)), float(magnitude.min().round(3))
    (1.5, 0.5)
    """
    rows, leading = rows_of(x, axis)
    points = rows.shape[1] if N is None else count(N, "N")
    return from_rows(apply("hilbert", [rows], [points * 1j], (points,), device)[0], leading, axis)


@of_numpy("z")
def envelope(
    z: Any,
    bp_in: Tuple[int | None, int | None] = (1, None),
    *,
    n_out: int | None = None,
    squared: bool = False,
    residual: str | None = "lowpass",
    axis: int = -1,
    device: str | None = None,
) -> Array:
    """Envelope of the bins from ``bp_in[0]`` up to ``bp_in[1]``, and the rest, as ``scipy.signal.envelope``.

    The result is the envelope and, with a `residual` of "lowpass" or "all", behind it in a first dimension of two, what
    the other bins hold: those below the band, or all. `n_out` is a number of samples that both are resampled to.
    Differences from SciPy: complex signals are a `TypeError`; the residual "all" of a band from 0 is the bins above it.

    >>> import numpy as np
    >>> time = np.arange(1000) / 1000
    >>> around, rest = envelope(3 + (2 + np.cos(2 * np.pi * 5 * time)) * np.cos(2 * np.pi * 100 * time))
    >>> float(around.max().round(3)), float(around.min().round(3)), float(rest.mean().round(3))
    (3.0, 1.0, 3.0)
    """
    if residual not in ("lowpass", "all", None):
        raise ValueError(f"residual is {residual!r}, but must be 'lowpass', 'all' or None")
    rows, leading = rows_of(z, axis, argument="z")
    n = rows.shape[1]
    samples = n if n_out is None else count(n_out, "n_out")
    limits = -(n // 2), (n + 1) // 2
    ends = [limit if end is None else count(end, "bp_in", -n) for end, limit in zip(bp_in, limits)]
    if len(bp_in) != 2 or not limits[0] - n % 2 <= ends[0] < ends[1] <= limits[1]:
        raise ValueError(f"bp_in is {bp_in!r}, but must be two rising bins from {limits[0]} to {limits[1]}")
    bins = np.arange(n // 2 + 1)
    # The highest bin of an even number of samples is that of the lowest frequency.
    is_highest = 2 * bins == n
    has_highest = n % 2 == 0 and ends[0] == limits[0]
    if has_highest and samples != n:
        raise ValueError(f"bp_in is {bp_in!r}, but must begin above {limits[0]} with n_out")
    in_band = (bins >= ends[0]) & (bins < ends[1]) | is_highest & has_highest
    weights = in_band * np.where((bins == 0) | is_highest, 1.0, 2.0) / n
    # A shift of frequencies does not change the envelope; those that `samples` bins do not hold are left out.
    weights *= (bins < ends[0] + samples) | has_highest
    first, last = max(ends[0], 0), n // 2 + 1 if has_highest else max(ends[1], 1)
    kept = None
    if residual is not None:
        is_kept = ~in_band
        if residual == "lowpass":
            is_kept &= (bins < ends[0]) | is_highest & (ends[0] != 0 < ends[1])
        kept = _resampling(n, samples, is_kept.astype(np.float64)) / samples
    rows, exponents = in_range(rows) if squared else (rows, None)
    arguments = first, weights[first:last].tolist(), samples, bool(squared), kept if kept is None else kept.tolist()
    results = apply("envelope", [rows], [samples] * (1 if kept is None else 2), arguments, device)
    # Squares of float32 may be of float64, as power is.
    results = [rescaled(values, exponents, degree) for values, degree in zip(results, (2, 1))]
    arrays = [from_rows(values, leading, axis) for values in results]
    return arrays[0] if residual is None else np.stack(arrays)


@of_numpy("x")
def resample(
    x: Any,
    num: int,
    t: Any = None,
    axis: int = 0,
    window: Any = None,
    domain: str = "time",
    *,
    device: str | None = None,
) -> Any:
    """Signal of `num` samples with the same spectrum, cut or padded, with the arguments of ``scipy.signal.resample``.

    Returns the new times as well if `t`, the times of the samples, is given. `window` is a name, a function of the
    frequencies of ``fftfreq`` or the factors of all bins. The `domain` can only be "time".

    >>> resample([1.0, 0.0, -1.0, 0.0], 8).round(3)[:3]
    array([1.   , 0.707, 0.   ])
    """
    if domain != "time":
        raise ValueError(f"domain is {domain!r}, but must be 'time'")
    rows, leading = rows_of(x, axis, numeric)
    n, samples = rows.shape[1], count(num, "num")
    weights = None
    if window is not None:
        if callable(window):
            given = np.asarray(real(window(np.fft.fftfreq(n)), "window"), np.float64)
        elif is_named(window):
            given = np.fft.fftshift(get_window(window, n))
        else:
            given = np.asarray(real(window, "window"), np.float64)
        if given.shape != (n,):
            raise ValueError(f"window has the shape {given.shape}, but must have a factor for each of {n} bins")
        mirrored = given[-np.arange(n)]
        if rows.dtype.kind == "c" and not np.allclose(given, mirrored):
            raise ValueError("window differs between positive and negative frequencies, but x is complex")
        weights = _resampling(n, samples, ((given + mirrored) / 2)[: n // 2 + 1]).tolist()
    resampled = from_rows(apply_to_parts("resample", rows, samples, (weights, samples), device), leading, axis)
    if t is None:
        return resampled
    return resampled, t[0] + (t[1] - t[0]) * n / samples * np.arange(samples)


@of_numpy("x")
def resample_poly(
    x: Any,
    up: int,
    down: int,
    axis: int = 0,
    window: Any = ("kaiser", 5.0),
    padtype: str = "constant",
    cval: float | None = None,
    *,
    device: str | None = None,
) -> Array:
    """Signal at `up` / `down` times the sample rate by a polyphase filter, as ``scipy.signal.resample_poly``.

    `window` is that of the low-pass filter, or the taps of another one. `padtype` is "constant" (`cval`, 0 by default),
    or "mean", "median", "minimum" or "maximum" of the row; SciPy's other ones are refused.

    >>> import numpy as np
    >>> resample_poly(np.ones(44_100, np.float32), 160, 147).shape
    (48000,)
    """
    statistics: dict[str, Any] = {"mean": np.mean, "median": np.median, "minimum": np.min, "maximum": np.max}
    if padtype != "constant" and padtype not in statistics:
        raise ValueError(f"padtype is {padtype!r}, but must be 'constant' or one of {', '.join(statistics)}")
    if cval is not None and padtype != "constant":
        raise ValueError(f"cval is {cval}, but must be None with the padtype {padtype!r}")
    rows, leading = rows_of(x, axis, numeric)
    rates = [count(up, "up"), count(down, "down")]
    divisor = math.gcd(*rates)
    up, down = (rate // divisor for rate in rates)
    if up == down:
        return from_rows(rows.copy(), leading, axis)
    if is_named(window):
        half = 10 * max(up, down)
        taps = np.sinc(np.arange(-half, half + 1) / max(up, down)) * get_window(window, 2 * half + 1, fftbins=False)
        taps /= taps.sum()
    else:
        taps = np.asarray(real(window, "window"), np.float64)
        if taps.ndim != 1 or not len(taps):
            raise ValueError(f"window has the shape {taps.shape}, but must be taps in one dimension")
    background = statistics[padtype](rows, axis=1, keepdims=True).astype(rows.dtype) if padtype != "constant" else None
    if background is not None:
        rows = rows - background
    outside = 0.0 if cval is None else float(cval)
    if outside and rows.dtype.kind == "c":
        raise ValueError(f"cval is {cval}, but must be 0 for a complex x")
    samples = -(-rows.shape[1] * up // down)
    arguments = (taps * up).tolist(), [up, down], samples, outside
    values = apply_to_parts("resample_poly", rows, samples, arguments, device)
    return from_rows(values if background is None else values + background, leading, axis)


@of_numpy("data")
def detrend(data: Any, axis: int = -1, type: str = "linear", bp: Any = 0, *, device: str | None = None) -> Array:
    """Signal without its straight line of least squares, or its mean, with the arguments of ``scipy.signal.detrend``.

    `type` is "linear" or "constant". Lines are those of the parts that begin at the samples `bp`.

    >>> detrend([1.0, 3.0, 5.0, 7.0]).round(12) + 0.0
    array([0., 0., 0., 0.])
    """
    if type not in ("linear", "l", "constant", "c"):
        raise ValueError(f"type is {type!r}, but must be 'linear' or 'constant'")
    rows, leading = rows_of(data, axis, numeric, "data")
    samples = rows.shape[1]
    starts = [0] if type[0] == "c" else sorted({0, *(count(start, "bp", 0) for start in np.atleast_1d(bp))})
    if starts[-1] > samples:
        raise ValueError(f"bp is {bp!r}, but must be at most the number of samples, {samples}")
    parts = [np.ascontiguousarray(part) for part in np.split(rows, starts[1:], axis=1) if part.shape[1]]
    trend = 2 if type[0] == "l" else 1
    flat = [apply_to_parts("detrend", part, part.shape[1], (trend,), device) for part in parts]
    return from_rows(flat[0] if len(flat) == 1 else np.concatenate(flat, axis=1), leading, axis)


@of_numpy("x")
def real_cepstrum(x: Any, n: int | None = None, axis: int = -1, *, device: str | None = None) -> Array:
    """Real cepstrum: the inverse transform of the logarithm of the magnitude of the transform, of `n` points.

    `n` is the number of samples by default; more points alias less.

    >>> real_cepstrum([1.0, 0.5], 64)[:3].round(3)
    array([ 0.   ,  0.25 , -0.062])
    """
    rows, leading = rows_of(x, axis)
    points = rows.shape[1] if n is None else count(n, "n")
    return from_rows(apply("real_cepstrum", [rows], [points], (points,), device)[0], leading, axis)


@of_numpy("x")
def minimum_phase(x: Any, axis: int = -1, *, device: str | None = None) -> Array:
    """Signal of minimum phase with the real cepstrum `x`, of as many samples.

    SciPy's function of this name takes a filter: that is ``minimum_phase(real_cepstrum(filter, n))``.

    >>> minimum_phase(real_cepstrum([0.5, 1.0], 64))[:3].round(6) + 0.0
    array([1. , 0.5, 0. ])
    """
    rows, leading = rows_of(x, axis)
    return from_rows(apply("minimum_phase", [rows], [rows.shape[1]], (), device)[0], leading, axis)


class OverlapSave:
    """Causal convolution of signals that arrive in blocks of any lengths, by the overlap-save method.

    `kernel` is of taps ``[k]`` for all rows, or of ``[rows, k]`` for each. A call returns as many samples ``[…, n]`` as
    its block has; k − 1 zeros at the end give the rest. `history` are the last samples, None before the first block.

    >>> moving_sum = OverlapSave([1.0, 1.0, 1.0])
    >>> [moving_sum(block).round(12).tolist() for block in ([1.0, 1.0, 1.0, 1.0], [0.0, 0.0])]
    [[1.0, 2.0, 3.0, 3.0], [2.0, 1.0]]
    """

    def __init__(self, kernel: Any, *, device: str | None = None) -> None:
        refuse(kernel, "kernel", "OverlapSave")
        self._kernel, leading = rows_of(kernel, -1, argument="kernel")
        if len(leading) > 1:
            raise ValueError(f"kernel has {len(leading) + 1} dimensions, but must have one or two")
        self._device, self.history = device, None

    history: Array | None

    def __call__(self, block: Any) -> Array:
        """The next samples of the convolution, of the type of the block."""
        refuse(block, "block", "OverlapSave")
        rows, leading = rows_of(block, -1, argument="block")
        taps = self._kernel.shape[1]
        before = np.zeros((len(rows), taps - 1), rows.dtype) if self.history is None else self.history
        if len(before) != len(rows):
            raise ValueError(f"block has {len(rows)} rows, but the last one had {len(before)}")
        if len(self._kernel) not in (1, len(rows)):
            raise ValueError(f"block has {len(rows)} rows, but the kernel has {len(self._kernel)}")
        samples = np.concatenate([before.astype(rows.dtype), rows], axis=1)
        if len(self._kernel) == 1:
            (values,) = apply("convolve", [samples], [rows.shape[1]], (self._kernel[0].tolist(),), self._device)
        else:
            kernels = self._kernel.astype(rows.dtype, copy=False)
            (values,) = apply("convolve_rows", [samples, kernels], [rows.shape[1]], (), self._device)
        self.history = samples[:, rows.shape[1] :]
        return from_rows(values, leading)


def _parts(value: Any, argument: str) -> list[float]:
    """Real and imaginary part of a number."""
    try:
        number = complex(value)
    except TypeError:
        raise TypeError(f"{argument} is {value!r}, but must be a number") from None
    return [number.real, number.imag]


def _resampling(n: int, samples: int, factors: Array) -> Array:
    """Factors on the bins that signals of `n` and of `samples` samples share, which keep amplitudes."""
    shorter = min(n, samples)
    kept = factors[: shorter // 2 + 1] * (samples / n)
    if shorter % 2 == 0 and samples != n:
        # The highest bin of an even length stands for both signs of its frequency.
        kept[-1] *= 2 if samples < n else 0.5
    return kept
