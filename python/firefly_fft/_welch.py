"""Power spectra by Welch's method, and their strongest bins."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, List, NamedTuple, Sequence, Tuple

import numpy as np

from ._arrays import (
    Array,
    as_pairs,
    as_rows,
    count,
    from_rows,
    in_range,
    narrowed,
    numeric,
    placed,
    rate,
    rescaled,
)
from ._dispatch import dispatched
from ._native import WelchEstimate
from ._segments import Detrend, Segments, as_function, detrended, frequencies, median_bias, removes_mean, segments_of
from ._select import top_k
from ._stft import stft

# Segments up to which a row's power is averaged in one call; longer rows are divided into blocks of segments, which
# keep all threads busy and are summed in float64.
_DIRECT = 64
_BLOCK = 32
# Bytes of samples that are copied to blocks at a time.
_CHUNK = 1 << 22


class Peaks(NamedTuple):
    """The strongest bins of spectra, strongest first; a row with too few finite bins ends in bin −1 and power NaN."""

    bins: Array
    power: Array


@dataclass(frozen=True)
class _Averages:
    """Native estimate of rows of any magnitude: its power has their type, or is of float64 where that can't hold it."""

    native: WelchEstimate

    def psd(self, rows: Array) -> Array:
        """Power ``[rows, bins]``."""
        scaled, exponents = in_range(rows)
        return rescaled(self.native.psd(as_pairs(scaled)), exponents)

    def peaks(self, rows: Array, k: int, band: Tuple[int, int] | None) -> Tuple[Array, Array]:
        """Strongest bins ``[rows, k]`` of real rows and their power."""
        scaled, exponents = in_range(rows)
        bins, power = self.native.peaks(scaled, k, band)
        return bins, rescaled(power, exponents)


@dataclass(frozen=True)
class _Estimate:
    segments: Segments
    fs: float
    scaling: str
    two_sided: bool
    device: str

    @property
    def frequencies(self) -> Array:
        """Frequencies of the bins in hertz."""
        return frequencies(self.segments.nfft, self.fs, self.two_sided)

    def native(
        self, window: Array, step: int, number: int, removes_mean: bool, averaged: int | List[int] | None = None
    ) -> _Averages:
        arguments = {
            "hop": step,
            "segments": number,
            "averaged": averaged,
            "scaling": self.scaling,
            "fs": self.fs,
            "detrend": removes_mean,
            "two_sided": self.two_sided,
            "device": self.device,
        }
        return _Averages(WelchEstimate(window, arguments))

    def averaging(self, number: int, removes_mean: bool, averaged: int | List[int] | None = None) -> _Averages:
        """The mean over `number` segments, or over some of them: so many, spread evenly, or those of these indices."""
        return self.native(self.segments.window, self.segments.step, number, removes_mean, averaged)

    def mean(self, rows: Array, removes_mean: bool) -> Array:
        """Mean power ``[rows, bins]`` over all segments."""
        number = self.segments.number(rows.shape[1])
        if number <= _DIRECT:
            return self.averaging(number, removes_mean).psd(rows)
        blocks, rest = divmod(number, _BLOCK)
        advance = _BLOCK * self.segments.step
        frame = advance + self.segments.overlap
        views = np.lib.stride_tricks.sliding_window_view(rows, frame, axis=1)[:, ::advance][:, :blocks]
        estimate = self.averaging(_BLOCK, removes_mean)
        total = np.zeros((len(rows), len(self.frequencies)))
        at_once = max(1, _CHUNK // (frame * rows.itemsize))
        for row in range(0, len(rows), max(1, at_once // blocks)):
            of_rows = slice(row, row + max(1, at_once // blocks))
            for block in range(0, blocks, at_once):
                part = views[of_rows, block : block + at_once]
                power = estimate.psd(np.ascontiguousarray(part).reshape(-1, frame))
                total[of_rows] += power.reshape(*part.shape[:2], -1).sum(axis=1, dtype=np.float64)
        total *= _BLOCK
        if rest:
            end = np.ascontiguousarray(rows[:, blocks * advance :])
            total += rest * self.averaging(rest, removes_mean).psd(end).astype(np.float64)
        return narrowed(total / number, rows.real.dtype)

    def each(self, rows: Array, detrend: Detrend) -> Array:
        """Power ``[rows, segments, bins]`` of every segment."""
        segments = detrended(self.segments.of(rows), detrend)
        shape, nfft = segments.shape[:2], self.segments.nfft
        padded = np.zeros((shape[0] * shape[1], nfft), rows.dtype)
        padded[:, : self.segments.length] = segments.reshape(len(padded), self.segments.length)
        power = self.native(self.segments.padded_window(), nfft, 1, False).psd(padded)
        return power.reshape(*shape, power.shape[1])

    def is_mean(self, detrend: Detrend) -> bool:
        """Whether the native estimate computes this: segments as long as their transforms, with or without mean."""
        return self.segments.nfft == self.segments.length and not callable(detrend)


@dispatched("x")
def welch(
    x: Any,
    fs: float = 1.0,
    window: Any = "hann",
    nperseg: int | None = None,
    noverlap: int | None = None,
    nfft: int | None = None,
    detrend: Detrend = "constant",
    return_onesided: bool = True,
    scaling: str = "density",
    axis: int = -1,
    average: str = "mean",
    *,
    device: str | None = None,
) -> Tuple[Array, Array]:
    """Frequencies and power spectral density, with the arguments of ``scipy.signal.welch``.

    Parameters
    ----------
    x : array of real or complex numbers; float32 and complex64 give float32, others float64.
    fs : samples per second.
    window : a name, a tuple of name and parameter, or the coefficients.
    nperseg : samples per segment; 256, or the length of the window, by default.
    noverlap : samples that segments share; half a segment by default.
    nfft : points of the transform; segments are padded with zeros to it.
    detrend : "constant" (subtract the mean), "linear" (a line), False, or a function of an array of segments.
    return_onesided : whether power is that of the frequencies from 0 up, twice that of either sign. Two-sided power is
        in the order of ``numpy.fft.fftfreq``, and always that of a complex signal.
    scaling : "density" (per hertz), "spectrum", or "power" (the squared magnitude itself).
    axis : the dimension along which samples lie.
    average : "mean" or "median".
    device : where the power of an array of NumPy is computed, such as "cpu" (the default) or "cuda:0". Tensors of
        PyTorch and arrays of CuPy are computed where they are, and so is the result.

    Differences from SciPy: scaling "power" is more; complex signals give two-sided power, and a short signal without an
    explicit `nperseg` is one segment, without a warning; an array without samples raises. Power of float32 that float32
    can't hold is returned in float64, where SciPy has infinity or 0.

    >>> import numpy as np
    >>> f, p = welch(np.random.default_rng(0).normal(size=(3, 5000)).astype(np.float32), fs=8000.0, nperseg=512)
    >>> f.shape, p.shape, p.dtype
    ((257,), (3, 257), dtype('float32'))
    >>> f, p = welch(np.exp(-0.5j * np.pi * np.arange(1024)), fs=8.0)  # a quarter of a turn per sample, backwards
    >>> float(f[p.argmax()]), p.shape
    (-2.0, (256,))
    """
    if average not in ("mean", "median"):
        raise ValueError(f"average is {average!r}, but must be 'mean' or 'median'")
    detrend = as_function(detrend)
    array, device = placed(x, device, numeric)
    rows, leading = as_rows(array, axis)
    estimate = _estimate(rows, fs, (window, nperseg, noverlap, nfft), (scaling, return_onesided), device)
    if average == "mean" and estimate.is_mean(detrend):
        power = estimate.mean(rows, removes_mean(detrend))
    else:
        each = estimate.each(rows, detrend).astype(np.float64, copy=False)
        power = each.mean(axis=1) if average == "mean" else np.median(each, axis=1) / median_bias(each.shape[1])
    return estimate.frequencies, from_rows(narrowed(power, rows.real.dtype), leading, axis)


@dispatched("x")
def welch_psd(x: Any, *args: Any, **kwargs: Any) -> Array:
    """Power spectral density without the frequencies: the second result of `welch`, whose arguments it takes.

    >>> import numpy as np
    >>> welch_psd(np.ones(512), detrend=False, scaling="spectrum").round(3)[:3]
    array([1. , 0.5, 0. ])
    """
    return welch(x, *args, **kwargs)[1]


@dispatched("x")
def periodogram(
    x: Any,
    fs: float = 1.0,
    window: Any = "boxcar",
    nfft: int | None = None,
    detrend: Detrend = "constant",
    return_onesided: bool = True,
    scaling: str = "density",
    axis: int = -1,
    *,
    device: str | None = None,
) -> Tuple[Array, Array]:
    """Frequencies and power spectral density of whole rows, with the arguments of ``scipy.signal.periodogram``.

    Complex signals give two-sided power. A smaller `nfft` than there are samples takes the first `nfft` of them, a
    larger one pads them with zeros.

    >>> import numpy as np
    >>> f, p = periodogram(np.cos(np.pi * np.arange(100) / 5), fs=100.0)
    >>> float(f[p.argmax()])
    10.0
    """
    array, device = placed(x, device, numeric)
    if array.ndim:
        array = np.moveaxis(array, axis, -1)
        if nfft is not None:
            array = array[..., : count(nfft, "nfft")]
    samples = array.shape[-1] if array.ndim else 1
    options: dict[str, Any] = {"nperseg": samples or None, "noverlap": 0, "nfft": nfft, "device": device}
    f, power = welch(array, fs, window, detrend=detrend, return_onesided=return_onesided, scaling=scaling, **options)
    return f, power if axis in (-1, power.ndim - 1) else np.moveaxis(power, -1, axis)


@dispatched("x")
def spectrogram(
    x: Any,
    fs: float = 1.0,
    window: Any = ("tukey", 0.25),
    nperseg: int | None = None,
    noverlap: int | None = None,
    nfft: int | None = None,
    detrend: Detrend = "constant",
    return_onesided: bool = True,
    scaling: str = "density",
    axis: int = -1,
    mode: str = "psd",
    *,
    device: str | None = None,
) -> Tuple[Array, Array, Array]:
    """Frequencies, times and power of each segment, with the arguments of ``scipy.signal.spectrogram``.

    The spectrogram has the frequencies instead of `axis` and the times of the segments' centres as its last dimension.
    `mode` is "psd", "complex", "magnitude", "angle", or "phase" (the angle, unwrapped along frequencies); `noverlap` is
    an eighth of a segment by default. The other arguments, and the differences from SciPy, are those of `welch`.

    >>> import numpy as np
    >>> f, t, power = spectrogram(np.ones((2, 1000), np.float32), fs=100.0)
    >>> power.shape, t.tolist()
    ((2, 129, 4), [1.28, 3.52, 5.76, 8.0])
    """
    detrend = as_function(detrend)
    array, device = placed(x, device, numeric)
    rows, leading = as_rows(array, axis)
    estimate = _estimate(rows, fs, (window, nperseg, noverlap, nfft), (scaling, return_onesided), device, 8)
    segments = estimate.segments
    if mode == "psd":
        spectra = from_rows(estimate.each(rows, detrend).swapaxes(1, 2), leading)
    elif mode in ("complex", "magnitude", "angle", "phase"):
        scaling = {"density": "psd"}.get(scaling, scaling)
        options: dict[str, Any] = {"boundary": None, "padded": False, "scaling": scaling, "device": device}
        whole = (segments.window, None, segments.overlap, segments.nfft, detrend, not estimate.two_sided)
        spectra = from_rows(stft(rows, fs, *whole, **options)[2], leading)
        if mode == "magnitude":
            spectra = np.abs(spectra)
        elif mode != "complex":
            spectra = np.angle(spectra)
        if mode == "phase":
            spectra = np.unwrap(spectra, axis=-2)
    else:
        raise ValueError(f"mode is {mode!r}, but must be 'psd', 'complex', 'magnitude', 'angle' or 'phase'")
    time = (np.arange(spectra.shape[-1]) * segments.step + segments.length / 2) / float(fs)
    return estimate.frequencies, time, np.moveaxis(spectra, len(leading), axis % (len(leading) + 1))


@dispatched("x")
def welch_peaks(
    x: Any,
    k: int = 16,
    fs: float = 1.0,
    window: Any = "hann",
    nperseg: int | None = None,
    noverlap: int | None = None,
    *,
    detrend: Detrend = "constant",
    scaling: str = "density",
    axis: int = -1,
    band: Tuple[float, float] | None = None,
    segments: int | Sequence[int] | None = None,
    device: str | None = None,
) -> Peaks:
    """The `k` strongest bins of `welch` and their power, strongest first; ties go to the lower bin.

    The arguments are those of `welch`. Of each row, `segments` are averaged: all by default; a number S of the F that
    there are, spread evenly, which are those of the indices ``i * F // S``; or those of the indices in a list. Fewer
    take less time, and say more of a row where they lie apart; a row may then have up to 128. Bin b lies at
    ``b * fs / nperseg`` hertz, or at ``numpy.fft.fftfreq(nperseg, 1 / fs)[b]`` in the two-sided power of a complex
    signal; with `band`, bins are those of the frequencies from ``band[0]`` to ``band[1]`` hertz, both included.

    >>> import numpy as np
    >>> time = np.arange(384)
    >>> frames = np.sin(2 * np.pi * np.array([[10], [20]]) / 256 * time)
    >>> peaks = welch_peaks(frames, k=3)
    >>> peaks.bins[:, 0].tolist(), peaks.power.shape
    ([10, 20], (2, 3))
    >>> welch_peaks(frames, k=3, nperseg=64, segments=4).bins.shape  # of the eleven segments, 0, 2, 5 and 8
    (2, 3)
    >>> welch_peaks(frames, k=1, fs=256.0, band=(0.0, 19.0)).bins[:, 0].tolist()
    [10, 19]
    >>> welch_peaks(np.exp(-20j * np.pi / 256 * time), k=1, fs=256.0, band=(-100.0, 0.0)).bins.tolist()  # −10 Hz
    [246]
    """
    detrend = as_function(detrend)
    array, device = placed(x, device, numeric)
    rows, leading = as_rows(array, axis)
    estimate = _estimate(rows, fs, (window, nperseg, noverlap, None), (scaling, True), device)
    searched = None if band is None else _bins_of(band, estimate)
    number = estimate.segments.number(rows.shape[1])
    averaged = None if segments is None else _averaged(segments, number)
    if averaged is not None and not estimate.is_mean(detrend):
        raise ValueError("segments is given, but must be None with a function or a line as detrend")
    is_direct = averaged is not None or number <= _DIRECT
    if is_direct and estimate.is_mean(detrend):
        of_rows = estimate.averaging(number, removes_mean(detrend), averaged)
        if not estimate.two_sided:
            range_of_bins = None if searched is None else (int(searched[0]), int(searched[-1]) + 1)
            bins, power = of_rows.peaks(rows, count(k, "k"), range_of_bins)
            return Peaks(from_rows(bins, leading, axis), from_rows(power, leading, axis))
        power = of_rows.psd(rows)
    else:
        framing = (estimate.segments.window, None, estimate.segments.overlap)
        power = welch_psd(rows, fs, *framing, detrend=detrend, scaling=scaling, device=device)
    if searched is not None:
        power = power[:, searched]
    bins, power = top_k(power, k, device="cpu" if power.dtype == np.float64 else device)
    if searched is not None:
        bins = np.where(bins < 0, bins, searched[bins].astype(bins.dtype))
    return Peaks(from_rows(bins, leading, axis), from_rows(power, leading, axis))


def segment_indices(segments: int | Sequence[int], number: int) -> Tuple[int, ...]:
    """Indices in ascending order of the averaged segments of the `number` of a row."""
    averaged = _averaged(segments, number)
    if isinstance(averaged, list):
        return tuple(sorted(averaged))
    return tuple(index * number // averaged for index in range(averaged))


def _averaged(segments: int | Sequence[int], number: int) -> int | List[int]:
    """A number of segments of the `number` of a row, or their indices."""
    if not isinstance(segments, (Sequence, np.ndarray)):
        averaged = count(segments, "segments")
        if averaged > number:
            raise ValueError(f"segments is {averaged}, but rows have {number}")
        return averaged
    indices = [count(index, "segments", 0) for index in segments]
    if not indices or len(set(indices)) < len(indices) or max(indices) >= number:
        raise ValueError(f"segments is {indices}, but must be different indices below {number}")
    return indices


def _bins_of(band: Tuple[float, float], estimate: _Estimate) -> Array:
    """The bins of a band of hertz, both ends included."""
    low, high = (float(hertz) for hertz in band)
    hertz, spacing = estimate.frequencies, estimate.fs / estimate.segments.nfft
    # Frequencies that are written in decimals are those of their bins.
    tolerance = 1e-6 * spacing
    inside = np.flatnonzero((hertz >= low - tolerance) & (hertz <= high + tolerance))
    if not len(inside):
        raise ValueError(f"band is {band!r}, but bins are every {spacing} Hz from {hertz.min()} to {hertz.max()}")
    return inside


def _estimate(
    rows: Array,
    fs: float,
    segments: Tuple[Any, Any, Any, Any],
    power: Tuple[str, bool],
    device: str,
    overlap_part: int = 2,
) -> _Estimate:
    scaling, is_onesided = power
    is_two_sided = rows.dtype.kind == "c" or not is_onesided
    return _Estimate(segments_of(rows.shape[1], *segments, overlap_part), rate(fs), scaling, is_two_sided, device)
