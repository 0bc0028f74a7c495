"""Segments of rows: lengths, overlap and detrending as in SciPy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Callable, Union

import numpy as np

from ._arrays import Array, as_rows, count, from_rows, rate, warn
from ._batch import apply_to_parts
from ._windows import coefficients, is_named

Detrend = Union[str, bool, None, Callable[[Array], Any]]


@dataclass(frozen=True)
class Segments:
    """Segments of a window's length, `step` samples apart, transformed to `nfft` points."""

    window: Array
    step: int
    nfft: int

    @property
    def length(self) -> int:
        """Samples of a segment."""
        return len(self.window)

    @property
    def overlap(self) -> int:
        """Samples that a segment shares with the next."""
        return self.length - self.step

    def number(self, samples: int) -> int:
        """Segments of a row of `samples` samples."""
        return (samples - self.length) // self.step + 1

    def padded_window(self) -> Array:
        """The window, with zeros up to `nfft` points."""
        return np.pad(self.window, (0, self.nfft - self.length))

    def of(self, rows: Array) -> Array:
        """Segments ``[rows, segments, length]`` of ``[rows, samples]``, a view."""
        return np.lib.stride_tricks.sliding_window_view(rows, self.length, axis=1)[:, :: self.step]


def segments_of(samples: int, window: Any, nperseg: Any, noverlap: Any, nfft: Any, overlap_part: int = 2) -> Segments:
    """The segments of rows of `samples` samples, from SciPy's arguments.

    Segments share a part of their length, half of it by default, where `noverlap` is None.
    """
    if samples == 0:
        raise ValueError("x has no samples along the axis")
    if is_named(window):
        length = count(256 if nperseg is None else nperseg, "nperseg")
        if length > samples:
            if nperseg is not None:
                warn(f"nperseg is {length}, but there are {samples} samples: using as many")
            length = samples
        values = coefficients(window, length)
    else:
        values = coefficients(window, 0)
        length = len(values)
        if length == 0:
            raise ValueError("window has no coefficients")
        if nperseg is not None and count(nperseg, "nperseg") != length:
            raise ValueError(f"nperseg is {nperseg}, but the window has {length} coefficients")
        if length > samples:
            raise ValueError(f"window has {length} coefficients, but there are {samples} samples")
    overlap = length // overlap_part if noverlap is None else count(noverlap, "noverlap", 0)
    if overlap >= length:
        raise ValueError(f"noverlap is {overlap}, but must be less than nperseg, {length}")
    points = length if nfft is None else count(nfft, "nfft")
    if points < length:
        raise ValueError(f"nfft is {points}, but must be at least nperseg, {length}")
    return Segments(values, length - overlap, points)


def frequencies(nfft: int, fs: float, two_sided: bool) -> Array:
    """Frequencies in hertz of the bins of a transform to `nfft` points: all, or those from 0 up."""
    return np.asarray((np.fft.fftfreq if two_sided else np.fft.rfftfreq)(nfft, 1 / rate(fs)))


def detrended(segments: Array, detrend: Detrend) -> Array:
    """Segments ``[…, length]`` without their trend."""
    if callable(detrend):
        return np.asarray(detrend(segments), segments.dtype)
    if removes_mean(detrend):
        return np.asarray(segments - segments.mean(axis=-1, keepdims=True))
    return segments


def as_function(detrend: Detrend) -> Detrend:
    """`detrend`, and a function instead of ``"linear"``."""
    return _without_line if isinstance(detrend, str) and detrend == "linear" else detrend


def _without_line(segments: Array) -> Array:
    rows, leading = as_rows(segments, -1)
    return from_rows(apply_to_parts("detrend", rows, rows.shape[1], (2,), None), leading)


def removes_mean(detrend: Detrend) -> bool:
    """Whether `detrend` is ``"constant"``, or else none."""
    if detrend is None or detrend is False:
        return False
    if detrend == "constant":
        return True
    raise ValueError(f"detrend is {detrend!r}, but must be 'constant', 'linear', False or a function")


def median_bias(number: int) -> float:
    """Expected median of `number` exponential variables of mean 1: B. Allen et al., "FINDCHIRP" (2012), appendix B."""
    terms = 2.0 * np.arange(1, (number - 1) // 2 + 1)
    return 1.0 + float(np.sum(1.0 / (terms + 1.0) - 1.0 / terms))
