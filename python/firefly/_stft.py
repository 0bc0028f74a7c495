"""Short-time Fourier transform and its inverse."""

from __future__ import annotations

import warnings
from typing import Any, Dict, Tuple

import numpy as np

from . import fft
from ._arrays import Array, as_rows, count, from_rows, numeric, real
from ._segments import Detrend, Segments, detrended, segments_of
from ._windows import coefficients, is_named

# Names of SciPy's extensions of the signal, as numpy.pad takes them.
_BOUNDARIES: Dict[str, Any] = {
    "zeros": {"mode": "constant"},
    "even": {"mode": "reflect"},
    "odd": {"mode": "reflect", "reflect_type": "odd"},
    "constant": {"mode": "edge"},
}
# Least sum of squared windows that a sample is divided by.
_LEAST_NORM = 1e-10


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
    device: str = "cpu",
) -> Tuple[Array, Array, Array]:
    """Frequencies, times and short-time Fourier transform, with the arguments of ``scipy.signal.stft``.

    The transform has the frequencies in place of `axis` and the times as its last dimension. `scaling` is "spectrum" or
    "psd". Differences from SciPy: complex signals and two-sided spectra raise.

    >>> import numpy as np
    >>> f, t, Z = stft(np.ones(1000, np.float32), fs=100.0)
    >>> Z.shape, Z.dtype
    ((129, 9), dtype('complex64'))
    """
    if not return_onesided:
        raise ValueError("return_onesided is False, but spectra are one-sided")
    if boundary is not None and boundary not in _BOUNDARIES:
        raise ValueError(f"boundary is {boundary!r}, but must be one of {', '.join(map(repr, _BOUNDARIES))} or None")
    rows, leading = as_rows(real(x), axis)
    segments = segments_of(rows.shape[1], window, nperseg, noverlap, nfft)
    half = segments.length // 2
    if boundary is not None:
        if boundary in ("even", "odd") and rows.shape[1] <= half:
            raise ValueError(f"x has {rows.shape[1]} samples, but boundary {boundary!r} needs more than {half}")
        rows = np.pad(rows, ((0, 0), (half, half)), **_BOUNDARIES[boundary])
    if padded:
        rows = np.pad(rows, ((0, 0), (0, -(rows.shape[1] - segments.length) % segments.step)))
    values = detrended(segments.of(rows), detrend) * segments.window.astype(rows.dtype)
    spectra = fft.rfft(values, segments.nfft, device=device) * rows.dtype.type(_scale(segments, fs, scaling))
    time = np.arange(spectra.shape[1]) * segments.step + (0 if boundary is not None else segments.length / 2)
    # Times come last, so that a dimension counted from the end is one further from it.
    spectra = np.moveaxis(from_rows(spectra, leading), -1, axis - 1 if axis < 0 else axis)
    return np.fft.rfftfreq(segments.nfft, 1 / float(fs)), time / float(fs), spectra


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
    device: str = "cpu",
) -> Tuple[Array, Array]:
    """Times and signal of a short-time Fourier transform, with the arguments of ``scipy.signal.istft``.

    Samples are the last dimension of the signal.

    >>> import numpy as np
    >>> signal = np.random.default_rng(0).normal(size=(2, 1024))
    >>> bool(np.allclose(istft(stft(signal)[2])[1], signal))
    True
    """
    if not input_onesided:
        raise ValueError("input_onesided is False, but spectra are one-sided")
    spectra = numeric(Zxx, "Zxx")
    if spectra.ndim < 2:
        raise ValueError(f"Zxx has {spectra.ndim} dimensions, but must have frequencies and times")
    if time_axis % spectra.ndim == freq_axis % spectra.ndim:
        raise ValueError(f"time_axis and freq_axis are both dimension {time_axis % spectra.ndim}")
    spectra = np.moveaxis(spectra, (time_axis, freq_axis), (-2, -1))
    segments = _segments_of_spectra(spectra.shape[-1], window, nperseg, noverlap, nfft)
    values = fft.irfft(spectra, segments.nfft, device=device)[..., : segments.length]
    taper = segments.window.astype(values.dtype)
    values = values * (taper / values.dtype.type(_scale(segments, fs, scaling)))

    number, length, step = values.shape[-2], segments.length, segments.step
    signal = np.zeros((*values.shape[:-2], length + (number - 1) * step), values.dtype)
    norm = np.zeros(signal.shape[-1], values.dtype)
    for index in range(number):
        place = slice(index * step, index * step + length)
        signal[..., place] += values[..., index, :]
        norm[place] += taper * taper
    if boundary:
        kept = slice(length // 2, len(norm) - length // 2)
        signal, norm = signal[..., kept], norm[kept]
    if np.any(norm <= _LEAST_NORM):
        warnings.warn("the windows do not cover every sample: those are not inverted", UserWarning, stacklevel=2)
    signal = signal / np.where(norm > _LEAST_NORM, norm, 1)
    return np.arange(signal.shape[-1]) / float(fs), signal


def _segments_of_spectra(
    bins: int, window: Any, nperseg: int | None, noverlap: int | None, nfft: int | None
) -> Segments:
    """The segments of spectra of `bins` bins, from SciPy's arguments."""
    default = 2 * (bins - 1)
    length = default if nperseg is None else count(nperseg, "nperseg")
    if not is_named(window) and nperseg is None:
        length = len(window)
    if nfft is None:
        points = default + 1 if nperseg is not None and length == default + 1 else default
    else:
        points = count(nfft, "nfft")
    if points // 2 + 1 != bins:
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
        return float(1 / np.sqrt(float(fs) * np.square(segments.window).sum()))
    raise ValueError(f"scaling is {scaling!r}, but must be 'spectrum' or 'psd'")
