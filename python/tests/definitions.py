"""Definitions in float64 of the package's functions, by NumPy and SciPy or written out, for `random_calls.py`.

A definition takes a function's arguments, signals in float64 or complex128 with their samples along the last axis, and
gives its results. It raises an error where a function has to refuse its arguments.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Callable

import numpy as np
import scipy.fft
import scipy.signal

PI = np.longdouble("3.14159265358979323846264338327950288")


@dataclass
class Expected:
    """A result in float64, and by what its errors are divided: the largest value of a row, or `scale`.

    Errors of a `root` are those of the square roots. `exact` results have their own type in any precision. A scale of
    infinity is of results that rounding may change to anything. `wide` ones may be of float64 in any case.
    """

    values: Any
    scale: Any = None
    root: bool = False
    exact: bool = False
    points: int | None = None
    wide: bool = False


@dataclass
class Strongest:
    """The `k` strongest of the bins along the last axis, and their power."""

    power: Any
    k: int
    scale: Any
    inside: Any = None


def largest(values: Any, axis: Any = -1) -> Any:
    """Largest finite magnitude along an axis."""
    return np.abs(np.where(np.isfinite(values), values, 0)).max(axis=axis, keepdims=True, initial=0)


def fourier(name: str) -> Callable[..., list[Any]]:
    def define(x: Any, n: Any = None, norm: Any = None) -> list[Any]:
        found = getattr(np.fft, name)(x, n, norm=norm)
        return [Expected(found, points=int(n or (found if name in ("irfft", "hfft") else x).shape[-1]))]

    return define


def fourier_n(name: str) -> Callable[..., list[Any]]:
    def define(x: Any, s: Any = None, axes: Any = None, norm: Any = None) -> list[Any]:
        if axes is not None and len({axis % x.ndim for axis in axes}) < len(axes):
            raise ValueError("axes")
        axes = tuple(range(-(x.ndim if s is None else len(s)), 0)) if axes is None else tuple(axes)
        found = getattr(np.fft, name)(x, s, axes, norm)
        return [Expected(found, largest(found, axes))]

    return define


def trigonometric(name: str) -> Callable[..., list[Any]]:
    def define(x: Any, type: int = 2, **options: Any) -> list[Any]:
        function = getattr(scipy.fft, name)
        parts = [function(part, type, **options) for part in (x.real, x.imag)[: 2 if x.dtype.kind == "c" else 1]]
        return [Expected(parts[0] if len(parts) == 1 else parts[0] + 1j * parts[1])]

    return define


def hilbert(x: Any, N: Any = None) -> list[Any]:
    n, index = (x.shape[-1] if N is None else N), np.arange(x.shape[-1] if N is None else N)
    sides = np.where((index == 0) | (2 * index == n), 1.0, np.where(2 * index < n, 2.0, 0.0))
    found = np.fft.ifft(np.fft.fft(x, n) * sides)
    # The real part is the signal, also of a row that is not finite.
    scale = np.where(np.isfinite(x).all(-1, keepdims=True), largest(found), np.inf)
    return [Expected(found, scale, points=n)]


def envelope(
    z: Any, bp_in: Any = (1, None), squared: bool = False, residual: Any = "lowpass", **given: Any
) -> list[Any]:
    scale = largest(z) ** 2 if squared else largest(z)
    found = scipy.signal.envelope(z, bp_in, squared=squared, residual=residual, **given)
    return [Expected(found, scale if residual is None else np.stack([scale, largest(z)]))]


def czt(x: Any, m: Any = None, w: Any = None, a: Any = 1.0) -> list[Any]:
    rows, n = x.astype(complex), x.shape[-1]
    m = n if m is None else m
    if m < 1:
        raise ValueError("m")
    # Powers of `w` have errors that grow with their exponents: they are computed in more digits.
    k = np.arange(m, dtype=np.longdouble)
    turn = -2 * PI / m if w is None else np.arctan2(*(np.longdouble(v) for v in (w.imag, w.real)))
    start = np.arctan2(np.longdouble(np.imag(a)), np.longdouble(np.real(a)))
    angles = np.outer(np.arange(n, dtype=np.longdouble), k * turn - start).astype(np.longdouble)
    angles = (angles - 2 * PI * np.rint(angles / (2 * PI))).astype(float)
    return [Expected(rows @ np.exp(1j * angles), np.abs(x).sum(-1, keepdims=True))]


def zoom_fft(x: Any, fn: Any, m: Any = None, **given: Any) -> list[Any]:
    return [Expected(scipy.signal.zoom_fft(x.astype(complex), fn, m, **given), np.abs(x).sum(-1, keepdims=True))]


def resample(x: Any, num: int) -> list[Any]:
    found = scipy.signal.resample(x, num, axis=-1) if x.shape[-1] > 1 else np.repeat(x, num, -1)
    return [Expected(found, largest(x) + largest(found))]


def resample_poly(x: Any, up: int, down: int, **given: Any) -> list[Any]:
    found = scipy.signal.resample_poly(x, up, down, axis=-1, **given)
    # SciPy's filter has zeros at its ends, which spread what is not finite.
    scale = np.where(np.isfinite(x).all(-1, keepdims=True), largest(x) + largest(found), np.inf)
    return [Expected(found, scale)]


def detrend(data: Any, type: str = "linear", bp: Any = 0) -> list[Any]:
    n = data.shape[-1]
    starts = [0, n] if type == "constant" else sorted({0, n, *np.atleast_1d(bp).tolist()})
    if starts[-1] > n or starts[0] < 0:
        raise ValueError("bp")
    parts = []
    for part in (data[..., begin:end] for begin, end in zip(starts, starts[1:])):
        time = np.arange(part.shape[-1]) - (part.shape[-1] - 1) / 2
        line = part.mean(-1, keepdims=True) + 0 * time
        if type == "linear" and len(time) > 1:
            slope = (time * part).sum(-1, keepdims=True) / (time**2).sum()
            line = line + slope * time
        parts.append(part - line)
    return [Expected(np.concatenate(parts, -1), largest(data))]


def real_cepstrum(x: Any, n: Any = None) -> list[Any]:
    points = x.shape[-1] if n is None else n
    magnitude, peak = np.abs(np.fft.rfft(x, points)), largest(x)
    # Bins below 1e-19 of the largest sample count as that.
    logarithm = np.log(np.maximum(magnitude, 1e-19 * np.where(peak == 0, 1, peak)))
    condition = math.sqrt(points) * largest(magnitude) / magnitude.min(-1, keepdims=True)
    # Of a bin that rounding has made of nothing, the logarithm is anything.
    scale = np.where(condition < 1e4, condition + largest(logarithm), np.inf)
    return [Expected(np.fft.irfft(logarithm, points), scale)]


def minimum_phase(x: Any) -> list[Any]:
    n, index = x.shape[-1], np.arange(x.shape[-1])
    folded = x * np.where((index == 0) | (2 * index == n), 1.0, np.where(2 * index < n, 2.0, 0.0))
    exponent = np.fft.fft(folded)
    size = largest(exponent)
    scale = np.where(size < 30, np.exp(largest(exponent.real)) * (1 + size), np.inf)
    return [Expected(np.fft.ifft(np.exp(exponent)).real, scale)]


def overlap_save(block: Any, kernel: Any, cuts: Any) -> list[Any]:
    rows = block.reshape(-1, block.shape[-1])
    kernels = np.broadcast_to(np.atleast_2d(np.asarray(kernel, float)), (len(rows), np.shape(kernel)[-1]))
    found = np.array([np.convolve(row, taps)[: len(row)] for row, taps in zip(rows, kernels)]).reshape(block.shape)
    return [Expected(found, largest(block) * np.abs(kernels).sum(-1).max(initial=0))]


def as_scipy(options: dict[str, Any]) -> dict[str, Any]:
    """Options with a function for lines, as SciPy's refuses values that are not finite, and False for None."""
    trend = options.get("detrend", "constant")
    if trend not in ("constant", "linear", False, None):
        raise ValueError("detrend")
    line = (lambda rows: detrend(rows)[0].values) if trend == "linear" else trend or False
    return {**options, **({"detrend": line} if "detrend" in options else {})}


def amplitude(x: Any, **options: Any) -> Any:
    """Largest root of the power of `welch` of signals with their trend, or without it."""
    kept = {name: value for name, value in options.items() if name not in ("detrend", "average", "mode")}
    size = np.where(largest(x) == 0, 1, largest(x))
    found = [scipy.signal.welch(x / size, detrend=trend, **kept)[1] for trend in (False, "constant")]
    return size * np.sqrt(np.maximum(*map(largest, found)))


def welch(x: Any, **options: Any) -> list[Any]:
    hertz, power = scipy.signal.welch(x, **as_scipy(options))
    return [Expected(hertz, exact=True), Expected(power, amplitude(x, **options), root=True)]


def periodogram(x: Any, nfft: Any = None, **options: Any) -> list[Any]:
    hertz, power = scipy.signal.periodogram(x, nfft=nfft, **as_scipy(options))
    used = x[..., :nfft]
    scale = amplitude(used, nperseg=used.shape[-1], **{"window": "boxcar", **options})
    return [Expected(hertz, exact=True), Expected(power, scale, root=True)]


def spectrogram(x: Any, **options: Any) -> list[Any]:
    hertz, times, power = scipy.signal.spectrogram(x, **as_scipy(options))
    options = {"window": ("tukey", 0.25), **options}
    options["noverlap"] = overlap_of(x.shape[-1], options, 8)
    # The loudest segment has at most the sum of all of them.
    scale = amplitude(x, **options) * math.sqrt(len(times))
    root = options.get("mode", "psd") == "psd"
    return [Expected(hertz, exact=True), Expected(times, exact=True), Expected(power, scale[..., None], root=root)]


def stft(x: Any, **options: Any) -> list[Any]:
    hertz, times, spectra = scipy.signal.stft(x, **as_scipy(options))
    plain = [scipy.signal.stft(x, **{**options, "detrend": trend})[2] for trend in (False, "constant")]
    scale = np.maximum(*(largest(found, (-2, -1)) for found in plain))
    return [Expected(hertz, exact=True), Expected(times, exact=True), Expected(spectra, scale)]


def istft(Zxx: Any, **options: Any) -> list[Any]:
    signal = scipy.signal.istft(Zxx, **options)[1]
    # SciPy counts the times of the first dimension.
    times = np.arange(signal.shape[-1]) / options.get("fs", 1.0)
    n = options["nperseg"]
    window = np.asarray(scipy.signal.get_window(options.get("window", "hann"), n))
    step, number = n - overlap_of(n, options | {"nperseg": n}), Zxx.shape[-1]
    envelope = np.zeros(n + (number - 1) * step)
    for index in range(number):
        envelope[index * step :][:n] += window**2
    ends = n // 2 if options.get("boundary", True) else 0
    envelope = envelope[ends : max(ends, len(envelope) - ends)]
    factor = (
        window.sum()
        if options.get("scaling", "spectrum") == "spectrum"
        else math.sqrt(options.get("fs", 1.0) * np.sum(window**2))
    )
    # A sample is divided by its envelope; where that is almost 0, whether it is counts as rounding.
    with np.errstate(divide="ignore"):
        scale = np.where((envelope > 1e-12) & (envelope < 1e-8), np.inf, 1 / np.where(envelope > 1e-10, envelope, 1))
    return [
        Expected(times, exact=True),
        Expected(signal, scale * largest(Zxx, (-2, -1))[..., 0] * factor * window.max() + largest(signal)),
    ]


def csd(x: Any, y: Any, **options: Any) -> list[Any]:
    hertz, cross = scipy.signal.csd(x, y, **as_scipy(options))
    return [Expected(hertz, exact=True), Expected(cross, 2 * amplitude(x, **options) * amplitude(y, **options))]


def ratio(kind: str) -> Callable[..., list[Any]]:
    def define(x: Any, y: Any, estimator: str = "H1", **options: Any) -> list[Any]:
        options["return_onesided"] = x.dtype.kind != "c" and y.dtype.kind != "c"
        hertz, cross = scipy.signal.csd(x, y, **as_scipy(options))
        X, Y = (np.sqrt(scipy.signal.welch(signal, **as_scipy(options))[1]) for signal in (x, y))
        condition = 2 * (amplitude(x, **options) / X + amplitude(y, **options) / Y)
        if kind == "coherence":
            found, scale = (np.abs(cross) / X / Y) ** 2, condition
        elif estimator == "H1":
            found, scale = cross / X**2, condition * Y / X
        elif estimator == "H2":
            found, scale = Y**2 / np.conj(cross), condition * Y**2 * X * Y / np.abs(cross) ** 2
        else:
            raise ValueError("estimator")
        # Bins that hold nothing but rounding have any ratio.
        return [Expected(hertz, exact=True), Expected(found, np.where(condition < 1e3, scale, np.inf))]

    return define


def coherence_matrix(x: Any, **options: Any) -> list[Any]:
    return ratio("coherence")(*np.broadcast_arrays(x[..., :, None, :], x[..., None, :, :]), **options)


def get_window(window: Any, Nx: int, fftbins: bool = True) -> list[Any]:
    return [Expected(scipy.signal.get_window(window, Nx, fftbins), exact=True)]


def dpss(M: int, NW: float, Kmax: Any = None, sym: bool = True) -> list[Any]:
    if Kmax is None and NW >= M / 2:
        raise ValueError("NW")
    # SciPy bounds `NW` by the samples of a periodic one, not by those of the symmetric one that it is cut from.
    tapers = scipy.signal.windows.dpss(M if sym else M + 1, NW, Kmax)
    return [Expected(tapers if sym else tapers[..., :-1], exact=True)]


def welch_peaks(x: Any, k: int = 16, band: Any = None, segments: Any = None, **options: Any) -> list[Any]:
    options = {"window": "hann", **options, "noverlap": overlap_of(x.shape[-1], options)}
    hertz, times, power = scipy.signal.spectrogram(x, **as_scipy(options))
    chosen = range(len(times)) if segments is None else segments
    if isinstance(segments, int):
        if not 1 <= segments <= len(times):
            raise ValueError("segments")
        chosen = [index * len(times) // segments for index in range(segments)]
    power = power[..., list(chosen)].mean(-1)
    inside = np.ones(len(hertz), bool) if band is None else (hertz >= band[0] - 1e-9) & (hertz <= band[1] + 1e-9)
    if not 1 <= k <= inside.sum():
        raise ValueError("k")
    return [Strongest(power, k, amplitude(x, **options) * math.sqrt(len(times)), inside)]


def overlap_of(n: int, options: dict[str, Any], part: int = 2) -> int:
    """Overlap of segments, a half or an eighth of their length by default."""
    window, given = options.get("window", "hann"), options.get("noverlap")
    length = len(window) if isinstance(window, np.ndarray) else min(n, options.get("nperseg") or 256)
    return length // part if given is None else given


def top_k(x: Any, k: int) -> list[Any]:
    if not 1 <= k <= x.shape[-1]:
        raise ValueError("k")
    finite = np.where(np.isfinite(x), x, -np.inf)
    order = np.argsort(-finite, axis=-1, kind="stable")[..., :k]
    missing = np.isneginf(np.take_along_axis(finite, order, -1))
    values = np.where(missing, np.nan, np.take_along_axis(x, order, -1))
    return [Expected(np.where(missing, -1, order), 0), Expected(values, 0)]


def local_maxima(x: Any, k: int, height: Any = None, distance: Any = None, prominence: Any = None) -> list[Any]:
    bins = np.full((*x.shape[:-1], k), -1)
    values, prominences = (np.full(bins.shape, np.nan) for _ in range(2))
    if not 1 <= k <= x.shape[-1]:
        raise ValueError("k")
    for index in np.ndindex(x.shape[:-1]):
        row = x[index]
        peaks, _ = scipy.signal.find_peaks(row)
        peaks = peaks[np.isfinite(row[peaks]) & (height is None or row[peaks] >= height)]
        if distance is not None:
            kept = np.ones(len(peaks), bool)
            for place in np.argsort(-row[peaks], kind="stable"):  # Of equal ones the lower bin stays.
                if kept[place]:
                    kept[(np.abs(peaks - peaks[place]) < math.ceil(distance)) & (np.arange(len(peaks)) != place)] = (
                        False
                    )
            peaks = peaks[kept]
        heights = scipy.signal.peak_prominences(row, peaks)[0]
        if prominence is not None:
            peaks, heights = peaks[heights >= prominence], heights[heights >= prominence]
        order = np.argsort(-row[peaks], kind="stable")[:k]
        bins[index][: len(order)] = peaks[order]
        values[index][: len(order)] = row[peaks[order]]
        prominences[index][: len(order)] = heights[order]
    return [Expected(bins, 0), Expected(values, 0), Expected(prominences, largest(x)), Expected(values, np.inf)]


def mel_filters(
    fs: float,
    n_fft: int,
    n_mels: int = 128,
    fmin: float = 0.0,
    fmax: Any = None,
    htk: bool = False,
    norm: Any = "slaney",
) -> list[Any]:
    def to_mel(hertz: Any) -> Any:
        if htk:
            return 2595 * np.log10(1 + hertz / 700)
        return np.where(hertz < 1000, 3 * hertz / 200, 15 + 27 * np.log(np.maximum(hertz, 1000) / 1000) / np.log(6.4))

    def to_hertz(mel: Any) -> Any:
        if htk:
            return 700 * (10 ** (mel / 2595) - 1)
        return np.where(mel < 15, 200 * mel / 3, 1000 * np.exp(np.log(6.4) * (mel - 15) / 27))

    edges = to_hertz(np.linspace(to_mel(fmin), to_mel(fs / 2 if fmax is None else fmax), n_mels + 2))[:, None]
    hertz = np.fft.rfftfreq(n_fft, 1 / fs)
    rise, fall = (hertz - edges[:-2]) / (edges[1:-1] - edges[:-2]), (edges[2:] - hertz) / (edges[2:] - edges[1:-1])
    weights = np.maximum(0, np.minimum(rise, fall))
    return [Expected(weights * (2 / (edges[2:] - edges[:-2]) if norm else 1), exact=True)]


def framed(
    x: Any,
    n_fft: int = 2048,
    hop_length: Any = None,
    win_length: Any = None,
    window: Any = "hann",
    center: bool = True,
    pad_mode: str = "constant",
) -> Any:
    """Magnitudes ``[…, bins, frames]``."""
    length = n_fft if win_length is None else win_length
    taper = scipy.signal.get_window(window, length)
    before = (n_fft - length) // 2
    taper = np.pad(taper, (before, n_fft - length - before))
    if center:
        if pad_mode == "reflect" and x.shape[-1] <= n_fft // 2:  # NumPy reflects what it has reflected again.
            raise ValueError("pad_mode")
        x = np.pad(x, [(0, 0)] * (x.ndim - 1) + [(n_fft // 2, n_fft // 2)], pad_mode)
    frames = np.lib.stride_tricks.sliding_window_view(x, n_fft, axis=-1)[..., :: hop_length or max(1, n_fft // 4), :]
    return np.abs(np.fft.rfft(frames * taper)).swapaxes(-1, -2)


def mel(
    x: Any,
    fs: float,
    n_mels: int = 128,
    n_fft: int = 2048,
    power: float = 2.0,
    log: Any = None,
    floor: float = 1e-10,
    **options: Any,
) -> list[Any]:
    bands = {name: options.pop(name) for name in ("fmin", "fmax", "htk", "norm") if name in options}
    filters = mel_filters(fs, n_fft, n_mels, **bands)[0].values
    spectra = framed(x, n_fft, **options)
    peak, total = largest(spectra, (-2, -1)), filters.sum(1)[:, None]
    found = np.where(filters.any(1)[:, None], filters @ spectra**power, 0)
    if log is None:
        scale = np.sqrt(total) * peak if power == 2 else total * peak
        # A bin at the edge of a band has a weight that is rounding.
        return [Expected(found, np.where(total > 1e-9, scale, np.inf), root=power == 2)]
    unit = {"decibel": 20 / power / np.log(10), "ten": 1 / np.log(10), "natural": 1.0}[log]
    unit = 10 / np.log(10) if log == "decibel" and power == 2 else 20 / np.log(10) if log == "decibel" else unit
    guarded = np.maximum(found, floor)
    with np.errstate(over="ignore", invalid="ignore"):
        errors = 2 * np.sqrt(total * guarded) * peak + total * peak**2 * 1e-5 if power == 2 else total * peak
        condition = errors / guarded
    scale = np.where((condition < 1e3) & (total > 1e-9), unit * condition + np.abs(unit * np.log(guarded)), np.inf)
    return [Expected(unit * np.log(guarded), scale)]


def sequences(n: int, half: float, number: int) -> tuple[Any, Any]:
    """Tapers, periodic ones, and the shares of their energy."""
    tapers, ratios = scipy.signal.windows.dpss(n + 1, half, number, return_ratios=True)
    return tapers[:, :n], ratios


def multitaper(
    x: Any, fs: float = 1.0, NW: float = 4.0, Kmax: Any = None, tapers: str = "dpss", detrend: Any = "constant"
) -> list[Any]:
    n = x.shape[-1]
    number = max(int(2 * NW) - 1, 1) if Kmax is None else Kmax
    if number > n or (not 0 < NW < (n + 1) / 2 and tapers == "dpss"):
        raise ValueError("NW")
    if tapers == "dpss":
        shapes, weights = sequences(n, NW, number)
    else:
        order, index = np.arange(1, number + 1)[:, None], np.arange(1, n + 1)
        shapes, weights = np.sqrt(2 / (n + 1)) * np.sin(np.pi * order * index / (n + 1)), np.ones(number)
    sides = np.where((np.arange(n // 2 + 1) == 0) | (2 * np.arange(n // 2 + 1) == n), 1, 2)

    def psd(values: Any) -> Any:
        power = np.abs(np.fft.rfft(values[..., None, :] * shapes)) ** 2
        return np.average(power, axis=-2, weights=weights) * sides / fs

    flat = DETREND(x, detrend)[0].values if detrend else x
    scale = np.sqrt(largest(psd(x)))
    absent = [None] * 5
    return [Expected(np.fft.rfftfreq(n, 1 / fs), exact=True), Expected(psd(flat), scale, root=True), *absent]


DETREND = detrend


def psd_array_multitaper(
    x: Any,
    sfreq: float,
    fmin: float = 0.0,
    fmax: float = np.inf,
    bandwidth: Any = None,
    low_bias: bool = True,
    normalization: str = "length",
    remove_dc: bool = True,
) -> list[Any]:
    n = x.shape[-1]
    half = 4.0 if bandwidth is None else bandwidth * n / 2 / sfreq
    if not 0.5 <= half < (n + 1) / 2:
        raise ValueError("bandwidth")
    shapes, weights = sequences(n, half, max(1, int(2 * half)))
    if low_bias:
        kept = max(1, int((weights > 0.9).sum()))
        shapes, weights = shapes[:kept], weights[:kept]
    hertz = np.fft.rfftfreq(n, 1 / sfreq)
    inside = (hertz >= fmin) & (hertz <= fmax)
    sides = np.where((np.arange(n // 2 + 1) == 0) | (2 * np.arange(n // 2 + 1) == n), 1, 2)
    sides = sides / (1 if normalization == "length" else sfreq)
    found = [
        np.average(np.abs(np.fft.rfft(values[..., None, :] * shapes)) ** 2, axis=-2, weights=weights) * sides
        for values in (x - x.mean(-1, keepdims=True) if remove_dc else x, x)
    ]
    return [Expected(found[0][..., inside], np.sqrt(largest(found[1])), root=True), Expected(hertz[inside], exact=True)]


def feature(kind: str) -> Callable[..., list[Any]]:
    def define(
        y: Any = None,
        sr: float = 22050.0,
        S: Any = None,
        n_fft: int = 2048,
        roll_percent: float = 0.85,
        hop_length: int = 512,
        **options: Any,
    ) -> list[Any]:
        spectra = S
        noise = 0.0
        if S is None:
            spectra = framed(y, n_fft, hop_length, **options)
            noise = largest(spectra, (-2, -1))
        bins = spectra.shape[-2]
        hertz = np.fft.rfftfreq(n_fft if n_fft // 2 + 1 == bins else max(2 * (bins - 1), 1), 1 / sr)[:, None]
        total = spectra.sum(-2, keepdims=True)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            weights = spectra / np.where(total == 0, 1, total)
            condition = 1 + bins * noise / total
            centroid = (weights * hertz).sum(-2, keepdims=True)
            second, fourth = ((weights * (hertz - centroid) ** p).sum(-2, keepdims=True) for p in (2, 4))
            top = hertz[-1, 0]
            if kind == "centroid":
                found, scale = centroid, top * condition
            elif kind == "bandwidth":  # The variance is what rounding changes.
                found, scale = np.sqrt(second), np.minimum(top**2 * condition / np.sqrt(second), 1e3 * top)
            elif kind == "kurtosis":
                found = fourth / second**2
                scale = top**4 / second**2 * condition * (1 + found)
            elif kind == "rolloff":  # Rounding may move the threshold past a bin.
                sums = spectra.cumsum(-2)
                threshold = roll_percent * sums[..., -1:, :]
                found = np.where(sums < threshold, np.inf, hertz).min(-2, keepdims=True)
                near = np.abs(sums - threshold).min(-2, keepdims=True) / total
                scale = np.where(near > 1e-4 * condition, 1.0, np.inf) * top
            else:
                power = np.maximum(spectra**2, 1e-10)
                found = np.exp(np.log(power).mean(-2, keepdims=True)) / power.mean(-2, keepdims=True)
                scale = found * (20 + 2 * (noise / np.sqrt(power)).max(-2, keepdims=True))
        return [Expected(found, np.where(condition < 1e3, scale, np.inf))]

    return define
