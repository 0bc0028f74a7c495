"""Mel spectra."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Tuple

import numpy as np

from . import _native
from ._arrays import Array, count, from_rows, in_range, placed, rate, real, rescaled, step, warn
from ._batch import apply, rows_of
from ._dispatch import dispatched
from ._windows import coefficients, is_named


@dispatched("x")
def mel(
    x: Any,
    fs: float,
    n_mels: int = 128,
    n_fft: int = 2048,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Any = "hann",
    *,
    center: bool = True,
    pad_mode: str = "constant",
    power: float = 2.0,
    fmin: float = 0.0,
    fmax: float | None = None,
    htk: bool = False,
    norm: str | None = "slaney",
    device: str | None = None,
) -> Array:
    """Mel spectra ``[…, n_mels, frames]`` of signals ``[…, samples]``, as ``librosa.feature.melspectrogram``.

    Parameters
    ----------
    x : array of real numbers.
    fs : samples per second, librosa's `sr`.
    n_mels : bands.
    n_fft, hop_length, win_length : samples of a frame, between frames (a quarter by default), and of the window.
    window : as in `firefly_fft.welch`.
    center, pad_mode : whether frames are centred, and what the signal is padded with: "constant", "reflect", "edge" or
        "wrap".
    power : 2 for power, 1 for amplitude.
    fmin, fmax : lowest and highest edge in hertz; half of `fs` by default.
    htk, norm : the scale's formula, and "slaney" or None, as in ``librosa.filters.mel``.

    >>> import numpy as np
    >>> mel(np.ones((2, 16000), np.float32), fs=16000, n_mels=80, n_fft=400, hop_length=160).shape
    (2, 80, 101)
    """
    frames = _frames(n_fft, hop_length, center, pad_mode, power)
    return _mel(x, _window(window, win_length, n_fft), frames, _bands(fs, n_mels, fmin, fmax, htk, norm), device)


@dispatched("x")
def log_mel(
    x: Any,
    fs: float,
    n_mels: int = 128,
    n_fft: int = 2048,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Any = "hann",
    *,
    log: str = "decibel",
    floor: float = 1e-10,
    center: bool = True,
    pad_mode: str = "constant",
    power: float = 2.0,
    fmin: float = 0.0,
    fmax: float | None = None,
    htk: bool = False,
    norm: str | None = "slaney",
    device: str | None = None,
) -> Array:
    """Logarithm of `mel`, in one operation: ``librosa.power_to_db(…, top_db=None)`` of its mel spectra.

    Parameters
    ----------
    log : "decibel", "natural" or "ten".
    floor : the value that smaller ones are replaced by.

    The others are those of `mel`.

    >>> import numpy as np
    >>> float(log_mel(np.zeros(4096), fs=16000, log="ten").max())
    -10.0
    """
    frames = _frames(n_fft, hop_length, center, pad_mode, power)
    frames["logarithm"] = (log, float(floor))
    return _mel(x, _window(window, win_length, n_fft), frames, _bands(fs, n_mels, fmin, fmax, htk, norm), device)


def mel_filters(
    fs: float,
    n_fft: int,
    n_mels: int = 128,
    fmin: float = 0.0,
    fmax: float | None = None,
    htk: bool = False,
    norm: str | None = "slaney",
) -> Array:
    """Weights ``[n_mels, n_fft // 2 + 1]`` of the bands, as ``librosa.filters.mel``; bands without a bin are warned of.

    >>> mel_filters(8000, 256, n_mels=20).shape
    (20, 129)
    """
    points, bands = count(n_fft, "n_fft"), _bands(fs, n_mels, fmin, fmax, htk, norm)
    filters = _native.mel_filters(points, bands)
    _warn_of_empty(points, bands)
    return filters


def _mel(x: Any, window: Array, frames: dict[str, Any], bands: dict[str, Any], device: str | None) -> Array:
    array, device = placed(x, device, real)
    rows, leading = rows_of(array, -1)
    scaled, exponents = in_range(rows)

    def spectra(rows: Array, frames: dict[str, Any]) -> Array:
        (power,) = apply("mel", [rows], [0], (window.tolist(), frames, bands), device)
        return power.reshape(len(power), bands["n_mels"], power.shape[1] // bands["n_mels"])

    if exponents is None:
        power = spectra(rows, frames)
    else:
        spectra(scaled[:0], frames)  # Checks the logarithm.
        power = spectra(scaled, {**frames, "logarithm": None})
        power = rescaled(power, exponents, 1 if frames["amplitude"] else 2)
        if frames["logarithm"] is not None:
            power = _logarithm(power, frames["amplitude"], *frames["logarithm"]).astype(rows.dtype)
    _warn_of_empty(frames["n_fft"], bands)
    return from_rows(power, leading)


def _logarithm(power: Array, is_amplitude: bool, unit: str, floor: float) -> Array:
    """The logarithm of `log_mel`, of power that float32 may not hold."""
    guarded = np.maximum(power.astype(np.float64), floor)
    if unit == "natural":
        return np.asarray(np.log(guarded))
    decibels = 20 if is_amplitude else 10
    return np.asarray(np.log10(guarded) * (decibels if unit == "decibel" else 1))


def _warn_of_empty(n_fft: int, bands: dict[str, Any]) -> None:
    """Warns of bands that no bin falls in, whose power is 0."""
    empty = _empty(n_fft, tuple(bands.items()))
    if empty:
        warn(f"{empty} of {bands['n_mels']} mel bands have no bin: use fewer (n_mels), a longer n_fft or a higher fmin")


@lru_cache(maxsize=64)
def _empty(n_fft: int, bands: Tuple[Tuple[str, Any], ...]) -> int:
    return int(np.count_nonzero(_native.mel_filters(n_fft, dict(bands)).max(axis=1) == 0))


def _window(window: Any, win_length: int | None, n_fft: int) -> Array:
    if not is_named(window):
        return coefficients(window, 0)
    samples = count(n_fft, "n_fft") if win_length is None else count(win_length, "win_length")
    return np.asarray(coefficients(window, samples))


def _frames(n_fft: int, hop_length: int | None, center: bool, pad_mode: str, power: float) -> dict[str, Any]:
    if power not in (1, 2):
        raise ValueError(f"power is {power}, but must be 1 or 2")
    points = count(n_fft, "n_fft")
    return {
        "n_fft": points,
        "hop_length": max(1, points // 4) if hop_length is None else step(hop_length, "hop_length"),
        "center": bool(center),
        "pad_mode": pad_mode,
        "amplitude": power == 1,
        "logarithm": None,
    }


def _bands(fs: float, n_mels: int, fmin: float, fmax: float | None, htk: bool, norm: str | None) -> dict[str, Any]:
    if norm not in (None, "slaney"):
        raise ValueError(f"norm is {norm!r}, but must be 'slaney' or None")
    return {
        "fs": rate(fs),
        "n_mels": count(n_mels, "n_mels"),
        "fmin": float(fmin),
        "fmax": None if fmax is None else float(fmax),
        "htk": bool(htk),
        "slaney_norm": norm == "slaney",
    }
