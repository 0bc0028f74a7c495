"""Power spectra by Welch's method, and their strongest bins."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, List, NamedTuple, Sequence, Tuple

import numpy as np

from ._arrays import Array, DeviceArray, as_rows, count, from_rows, on_host, placed, real
from ._native import WelchEstimate
from ._segments import Detrend, Segments, detrended, removes_mean, segments_of
from ._select import top_k

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
class _Estimate:
    segments: Segments
    fs: float
    scaling: str
    device: str

    def native(
        self, window: Array, step: int, number: int, removes_mean: bool, averaged: int | List[int] | None = None
    ) -> WelchEstimate:
        arguments = {
            "hop": step,
            "segments": number,
            "averaged": averaged,
            "scaling": self.scaling,
            "fs": self.fs,
            "detrend": removes_mean,
            "device": self.device,
        }
        return WelchEstimate(window, arguments)

    def averaging(self, number: int, removes_mean: bool, averaged: int | List[int] | None = None) -> WelchEstimate:
        """The mean over `number` segments, or over some of them: so many, spread evenly, or those of these indices."""
        return self.native(self.segments.window, self.segments.step, number, removes_mean, averaged)

    def mean(self, rows: Array, removes_mean: bool) -> Array:
        """Mean power ``[rows, bins]`` over all segments."""
        number = self.segments.number(rows.shape[1])
        if number <= _DIRECT or isinstance(rows, DeviceArray):
            return self.averaging(number, removes_mean).psd(rows)
        blocks, rest = divmod(number, _BLOCK)
        advance = _BLOCK * self.segments.step
        frame = advance + self.segments.overlap
        views = np.lib.stride_tricks.sliding_window_view(rows, frame, axis=1)[:, ::advance][:, :blocks]
        estimate = self.averaging(_BLOCK, removes_mean)
        total = np.zeros((len(rows), self.segments.nfft // 2 + 1))
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
            total += rest * self.averaging(rest, removes_mean).psd(end)
        return (total / number).astype(rows.dtype)

    def each(self, rows: Array, detrend: Detrend) -> Array:
        """Power ``[rows, segments, bins]`` of every segment."""
        segments = detrended(self.segments.of(rows), detrend)
        shape, nfft = segments.shape[:2], self.segments.nfft
        padded = np.zeros((shape[0] * shape[1], nfft), rows.dtype)
        padded[:, : self.segments.length] = segments.reshape(len(padded), -1)
        return self.native(self.segments.padded_window(), nfft, 1, False).psd(padded).reshape(*shape, -1)

    def is_mean(self, detrend: Detrend) -> bool:
        """Whether the native estimate computes this: segments as long as their transforms, with or without mean."""
        return self.segments.nfft == self.segments.length and not callable(detrend)


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
    x : array of real numbers; float32 gives float32, others float64.
    fs : samples per second.
    window : a name, a tuple of name and parameter, or the coefficients.
    nperseg : samples per segment; 256, or the length of the window, by default.
    noverlap : samples that segments share; half a segment by default.
    nfft : points of the transform; segments are padded with zeros to it.
    detrend : "constant" (subtract the mean), False, or a function of an array of segments.
    return_onesided : only True.
    scaling : "density" (per hertz), "spectrum", or "power" (the squared magnitude itself).
    axis : the dimension along which samples lie.
    average : "mean" or "median".
    device : where the power is computed, such as "cpu" or "cuda:0"; by default on the GPU whose memory `x` is in, where
        the result stays, or else on the CPU.

    Differences from SciPy: complex signals and two-sided spectra raise; scaling "power" is more; a short signal without
    an explicit `nperseg` is one segment without a warning; an array without samples raises.

    >>> import numpy as np
    >>> f, p = welch(np.random.default_rng(0).normal(size=(3, 5000)).astype(np.float32), fs=8000.0, nperseg=512)
    >>> f.shape, p.shape, p.dtype
    ((257,), (3, 257), dtype('float32'))
    """
    if not return_onesided:
        raise ValueError("return_onesided is False, but power is one-sided")
    if average not in ("mean", "median"):
        raise ValueError(f"average is {average!r}, but must be 'mean' or 'median'")
    array, device = _real_signal(x, device)
    rows, leading = as_rows(array, axis)
    estimate = _estimate(rows, fs, (window, nperseg, noverlap, nfft), scaling, device)
    if average == "mean" and estimate.is_mean(detrend):
        power = estimate.mean(rows, removes_mean(detrend))
    else:
        on_host(rows, "a median, an nfft above nperseg or a detrend function")
        each = estimate.each(rows, detrend)
        power = each.mean(axis=1) if average == "mean" else np.median(each, axis=1) / _median_bias(each.shape[1])
    frequency = np.fft.rfftfreq(estimate.segments.nfft, 1 / float(fs))
    if not isinstance(power, DeviceArray):
        power = power.astype(rows.dtype, copy=False)
    return frequency, from_rows(power, leading, axis)


def welch_psd(x: Any, *args: Any, **kwargs: Any) -> Array:
    """Power spectral density without the frequencies: the second result of `welch`, whose arguments it takes.

    >>> import numpy as np
    >>> welch_psd(np.ones(512), detrend=False, scaling="spectrum").round(3)[:3]
    array([1. , 0.5, 0. ])
    """
    return welch(x, *args, **kwargs)[1]


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

    A smaller `nfft` than there are samples takes the first `nfft` of them, a larger one pads them with zeros.

    >>> import numpy as np
    >>> f, p = periodogram(np.cos(np.pi * np.arange(100) / 5), fs=100.0)
    >>> float(f[p.argmax()])
    10.0
    """
    array, device = _real_signal(x, device)
    if isinstance(array, DeviceArray):
        samples = array.shape[axis] if -array.ndim <= axis < array.ndim else 0
        if nfft is not None and nfft != samples:
            on_host(array, "a periodogram with an nfft that is not the number of samples")
        return welch(array, fs, window, samples, 0, None, detrend, return_onesided, scaling, axis, device=device)
    if array.ndim:
        array = np.moveaxis(array, axis, -1)
        if nfft is not None:
            array = array[..., : count(nfft, "nfft")]
    samples = array.shape[-1] if array.ndim else 1
    options: dict[str, Any] = {"nperseg": samples or None, "noverlap": 0, "nfft": nfft, "device": device}
    f, power = welch(array, fs, window, detrend=detrend, return_onesided=return_onesided, scaling=scaling, **options)
    return f, power if axis in (-1, power.ndim - 1) else np.moveaxis(power, -1, axis)


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
    ``b * fs / nperseg`` hertz; with `band`, bins are those of the frequencies from ``band[0]`` to ``band[1]`` hertz,
    both included. Of a tensor in a GPU's memory, bins and power are a `DeviceArray` each, there:

    >>> x = torch.randn(8192, 384, device="cuda")  # doctest: +SKIP
    >>> torch.from_dlpack(welch_peaks(x).power).device  # doctest: +SKIP
    device(type='cuda', index=0)

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
    """
    array, device = _real_signal(x, device)
    rows, leading = as_rows(array, axis)
    estimate = _estimate(rows, fs, (window, nperseg, noverlap, None), scaling, device)
    searched = None if band is None else _bins_of(band, estimate.segments.nfft, float(fs))
    number = estimate.segments.number(rows.shape[1])
    averaged = None if segments is None else _averaged(segments, number)
    if averaged is not None and not estimate.is_mean(detrend):
        raise ValueError("segments is given, but must be None with a function as detrend")
    is_direct = averaged is not None or number <= _DIRECT or isinstance(rows, DeviceArray)
    if not is_direct or not estimate.is_mean(detrend):
        power = welch_psd(rows, fs, window, nperseg, noverlap, detrend=detrend, scaling=scaling, device=device)
        first, end = searched or (0, power.shape[-1])
        bins, power = top_k(power[:, first:end], k, device=device)
        bins = np.where(bins < 0, bins, bins + first)
    else:
        of_rows = estimate.averaging(number, removes_mean(detrend), averaged)
        bins, power = of_rows.peaks(rows, count(k, "k"), searched)
    return Peaks(from_rows(bins, leading, axis), from_rows(power, leading, axis))


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


def _bins_of(band: Tuple[float, float], nfft: int, fs: float) -> Tuple[int, int]:
    """The first bin of a band of hertz, both ends included, and the one after its last."""
    low, high = (float(hertz) for hertz in band)
    frequencies = np.fft.rfftfreq(nfft, 1 / fs)
    # Frequencies that are written in decimals are those of their bins.
    tolerance = 1e-6 * fs / nfft
    inside = np.flatnonzero((frequencies >= low - tolerance) & (frequencies <= high + tolerance))
    if not len(inside):
        raise ValueError(f"band is {band!r}, but bins are every {fs / nfft} Hz from 0 to {frequencies[-1]}")
    return int(inside[0]), int(inside[-1]) + 1


def _real_signal(x: Any, device: str | None) -> Tuple[Array, str]:
    try:
        return placed(x, device, real)
    except TypeError as error:
        if "is complex" not in str(error):
            raise
        raise TypeError(
            "x is complex: power is computed of real signals; use firefly_fft.fft.fft, or scipy.signal"
        ) from None


def _estimate(rows: Array, fs: float, segments: Tuple[Any, Any, Any, Any], scaling: str, device: str) -> _Estimate:
    return _Estimate(segments_of(rows.shape[1], *segments), float(fs), scaling, device)


def _median_bias(number: int) -> float:
    """Expected median of `number` exponential variables of mean 1: B. Allen et al., "FINDCHIRP" (2012), appendix B."""
    terms = 2.0 * np.arange(1, (number - 1) // 2 + 1)
    return 1.0 + float(np.sum(1.0 / (terms + 1.0) - 1.0 / terms))
