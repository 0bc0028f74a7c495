"""Short-time Fourier transform and its inverse."""

from __future__ import annotations

import math
from typing import Any, Tuple

import numpy as np

from . import _native
from ._arrays import Array, as_pairs, as_rows, count, from_pairs, from_rows, numeric, placed, rate, warn
from ._dispatch import dispatched
from ._segments import Detrend, Segments, as_function, detrended, frequencies, removes_mean, segments_of
from ._windows import coefficients, is_named


@dispatched("x")
def stft(
    x: Any,
    fs: float = 1.0,
    window: Any = "hann",
    nperseg: int | None = 256,
    noverlap: int | None = None,
    nfft: int | None = None,
    detrend: Detrend = False,
    return_onesided: bool = True,
    boundary: str | None = "zeros",
    padded: bool = True,
    axis: int = -1,
    scaling: str = "spectrum",
    *,
    device: str | None = None,
) -> Tuple[Array, Array, Array]:
    """Frequencies, times and short-time Fourier transform, with the arguments of ``scipy.signal.stft``.

    The transform has the frequencies instead of `axis` and the times as its last dimension. `scaling` is "spectrum" or
    "psd". Two-sided spectra are in the order of ``numpy.fft.fftfreq``; complex signals give those, without a warning.

    >>> import numpy as np
    >>> f, t, Z = stft(np.ones(1000, np.float32), fs=100.0)
    >>> Z.shape, Z.dtype
    ((129, 9), dtype('complex64'))
    """
    detrend = as_function(detrend)
    array, device = placed(x, device, numeric)
    rows, leading = as_rows(array, axis)
    is_two_sided = rows.dtype.kind == "c" or not return_onesided
    segments = segments_of(rows.shape[1], window, nperseg, noverlap, nfft)
    ends = 0 if boundary is None else segments.length // 2
    if boundary in ("even", "odd") and rows.shape[1] <= ends:
        raise ValueError(f"x has {rows.shape[1]} samples, but boundary {boundary!r} needs more than {ends}")
    frames = {
        "step": segments.step,
        "nfft": segments.nfft,
        "ends": ends,
        "boundary": "zeros" if boundary is None else str(boundary),
        "padded": bool(padded),
        "detrend": not callable(detrend) and removes_mean(detrend),
        "two_sided": is_two_sided,
    }
    if callable(detrend):
        parts = [rows] if rows.dtype.kind != "c" else [np.ascontiguousarray(part) for part in (rows.real, rows.imag)]
        framed = [_native.frames(part, segments.length, frames, device) for part in parts]
        values = detrended(framed[0] if len(framed) == 1 else framed[0] + framed[1] * rows.dtype.type(1j), detrend)
        rows = np.ascontiguousarray(values).reshape(len(values), math.prod(values.shape[1:]))
        frames |= {"step": segments.length, "ends": 0}
    taper = segments.window * _scale(segments, fs, scaling)
    hertz = frequencies(segments.nfft, fs, is_two_sided)
    spectra = from_rows(from_pairs(_native.stft(as_pairs(rows), taper, frames, device)), (*leading, len(hertz)))
    time = np.arange(spectra.shape[-1]) * segments.step + (0 if boundary is not None else segments.length / 2)
    return hertz, time / float(fs), np.moveaxis(spectra, len(leading), axis % (len(leading) + 1))


@dispatched("Zxx")
def istft(
    Zxx: Any,
    fs: float = 1.0,
    window: Any = "hann",
    nperseg: int | None = None,
    noverlap: int | None = None,
    nfft: int | None = None,
    input_onesided: bool = True,
    boundary: bool = True,
    time_axis: int = -1,
    freq_axis: int = -2,
    scaling: str = "spectrum",
    *,
    device: str | None = None,
) -> Tuple[Array, Array]:
    """Times and signal of a short-time Fourier transform, with the arguments of ``scipy.signal.istft``.

    Samples are the last dimension of the signal, which is complex if the input is not `input_onesided`.

    >>> import numpy as np
    >>> signal = np.random.default_rng(0).normal(size=(2, 1024))
    >>> bool(np.allclose(istft(stft(signal)[2])[1], signal))
    True
    """
    spectra, device = placed(Zxx, device, numeric, "Zxx")
    if spectra.ndim < 2:
        raise ValueError(f"Zxx has {spectra.ndim} dimensions, but must have frequencies and times")
    time, frequency = time_axis % spectra.ndim, freq_axis % spectra.ndim
    if time == frequency:
        raise ValueError(f"time_axis and freq_axis are both dimension {time}")
    segments = _segments_of_spectra(spectra.shape[frequency], input_onesided, (window, nperseg, noverlap, nfft))
    if (frequency, time) != (spectra.ndim - 2, spectra.ndim - 1):
        # Frequencies go to the last dimension, then times behind them.
        spectra = from_rows(*as_rows(spectra, frequency))
        time -= time > frequency
    rows, leading = as_rows(spectra, time)
    frames = [segments.step, segments.nfft, segments.length // 2 if boundary else 0]
    scale = _scale(segments, fs, scaling)
    signal, is_covered = _native.istft(as_pairs(rows), segments.window, scale, frames, bool(input_onesided), device)
    if not is_covered:
        warn("the windows do not cover every sample: those are not inverted")
    signal = from_rows(signal if input_onesided else from_pairs(signal), leading[:-1])
    return np.arange(signal.shape[-1]) / rate(fs), signal


def _segments_of_spectra(bins: int, onesided: bool, arguments: Tuple[Any, Any, Any, Any]) -> Segments:
    """The segments of spectra of `bins` bins, from SciPy's arguments."""
    window, nperseg, noverlap, nfft = arguments
    default = 2 * (bins - 1) if onesided else bins
    length = default if nperseg is None else count(nperseg, "nperseg")
    if not is_named(window) and nperseg is None:
        length = len(window)
    if nfft is None:
        points = default + 1 if onesided and nperseg is not None and length == default + 1 else default
    else:
        points = count(nfft, "nfft")
    if (points // 2 + 1 if onesided else points) != bins:
        raise ValueError(f"nfft is {points}, but Zxx has {bins} frequencies")
    if points < length:
        raise ValueError(f"nfft is {points}, but must be at least nperseg, {length}")
    values = coefficients(window, length)
    if len(values) != length:
        raise ValueError(f"nperseg is {length}, but the window has {len(values)} coefficients")
    overlap = length // 2 if noverlap is None else count(noverlap, "noverlap", 0)
    if overlap >= length:
        raise ValueError(f"noverlap is {overlap}, but must be less than nperseg, {length}")
    return Segments(values, length - overlap, points)


def _scale(segments: Segments, fs: float, scaling: str) -> float:
    """Factor on spectra."""
    if scaling == "spectrum":
        return float(1 / segments.window.sum())
    if scaling == "psd":
        return float(1 / np.sqrt(rate(fs) * np.square(segments.window).sum()))
    raise ValueError(f"scaling is {scaling!r}, but must be 'spectrum' or 'psd'")
