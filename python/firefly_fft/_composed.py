"""Functions of SciPy that are composed of the others: cross spectra, coherence and analytic signals."""

from __future__ import annotations

from typing import Any, Tuple

import numpy as np

from . import fft
from ._arrays import (
    Array,
    as_pairs,
    as_rows,
    count,
    from_pairs,
    from_rows,
    in_range,
    numeric,
    placed,
    real,
    rescaled,
)
from ._dispatch import dispatched
from ._segments import Detrend, median_bias, segments_of
from ._stft import stft
from ._welch import welch_psd


@dispatched("x", "y")
def csd(
    x: Any,
    y: Any,
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
    """Frequencies and cross power spectral density, with the arguments of ``scipy.signal.csd``.

    The density is that of the conjugate of the transform of `x` times the transform of `y`, which have the same number
    of samples; their other dimensions are broadcast. `scaling` is "density" or "spectrum". The other arguments, and the
    differences from SciPy, are those of `welch`.

    >>> import numpy as np
    >>> time = np.arange(2048) / 256
    >>> x, y = np.sin(2 * np.pi * 32 * time), np.sin(2 * np.pi * 32 * time - np.pi / 3)
    >>> f, cross = csd(x, y, fs=256)
    >>> float(f[np.abs(cross).argmax()]), int(np.degrees(np.angle(cross[32])).round())
    (32.0, -60)
    """
    if scaling not in ("density", "spectrum"):
        raise ValueError(f"scaling is {scaling!r}, but must be 'density' or 'spectrum'")
    if average not in ("mean", "median"):
        raise ValueError(f"average is {average!r}, but must be 'mean' or 'median'")
    first, second, device = _pair(x, y, axis, device)
    is_two_sided = not return_onesided or "c" in (first.dtype.kind, second.dtype.kind)
    rows, leading = as_rows(first, axis)
    segments = segments_of(rows.shape[1], window, nperseg, noverlap, nfft)
    options: dict[str, Any] = {
        "fs": fs,
        "window": segments.window,
        "nperseg": None,
        "noverlap": segments.overlap,
        "nfft": segments.nfft,
        "detrend": detrend,
        "return_onesided": not is_two_sided,
        "boundary": None,
        "padded": False,
        "scaling": "psd" if scaling == "density" else scaling,
        "device": device,
    }
    (rows, x_exponents), (others, y_exponents) = in_range(rows), in_range(as_rows(second, axis, "y")[0])
    hertz, _, spectra = stft(rows, **options)
    each = np.conj(spectra) * stft(others, **options)[2]
    if average == "mean":
        cross = each.mean(axis=-1)
    else:
        medians = np.median(each.real, axis=-1) + each.dtype.type(1j) * np.median(each.imag, axis=-1)
        cross = medians / median_bias(each.shape[-1])
    if not is_two_sided:
        cross[:, 1 : (segments.nfft + 1) // 2] *= 2
    if x_exponents is not None or y_exponents is not None:
        exponents = np.zeros(len(rows), np.int32)
        exponents += sum(given for given in (x_exponents, y_exponents) if given is not None)
        cross = from_pairs(rescaled(as_pairs(np.ascontiguousarray(cross)), exponents, 1))
    return hertz, from_rows(cross, leading, axis)


@dispatched("x", "y")
def coherence(
    x: Any,
    y: Any,
    fs: float = 1.0,
    window: Any = "hann",
    nperseg: int | None = None,
    noverlap: int | None = None,
    nfft: int | None = None,
    detrend: Detrend = "constant",
    axis: int = -1,
    *,
    device: str | None = None,
) -> Tuple[Array, Array]:
    """Frequencies and magnitude-squared coherence from 0 to 1, with the arguments of ``scipy.signal.coherence``.

    The arguments are those of `csd`. Of a single segment coherence is 1, and where a signal has no power it is NaN.

    >>> import numpy as np
    >>> x, noise = np.random.default_rng(0).normal(size=(2, 100_000))
    >>> float(coherence(x, x + noise)[1].mean().round(2))
    0.5
    """
    first, second, device = _pair(x, y, axis, device)
    arguments = (fs, window, nperseg, noverlap, nfft, detrend)
    hertz, cross = csd(first, second, *arguments, axis=axis, device=device)
    is_onesided = len(hertz) < 2 or bool(hertz[-1] > 0)
    options: dict[str, Any] = {"axis": axis, "device": device}
    powers = [welch_psd(signal, *arguments, is_onesided, **options) for signal in (first, second)]
    with np.errstate(divide="ignore", invalid="ignore"):
        amplitude = np.abs(cross.astype(np.complex128)) / np.sqrt(powers[0], dtype=np.float64)
        squared = np.square(amplitude / np.sqrt(powers[1], dtype=np.float64))
    return hertz, np.asarray(squared.astype(np.result_type(first.real, second.real)))


@dispatched("x")
def hilbert(x: Any, N: int | None = None, axis: int = -1, *, device: str | None = None) -> Array:
    """Analytic signal of real values, with the arguments of ``scipy.signal.hilbert``.

    Its real part is the signal, cut or padded with zeros to `N` samples, and its magnitude the envelope.

    >>> import numpy as np
    >>> time = np.arange(1000) / 1000
    >>> envelope = np.abs(hilbert((1 + 0.5 * np.cos(2 * np.pi * 5 * time)) * np.cos(2 * np.pi * 100 * time)))
    >>> float(envelope.max().round(3)), float(envelope.min().round(3))
    (1.5, 0.5)
    """
    array, device = placed(x, device, real)
    spectrum = fft.fft(array, None if N is None else count(N, "N"), axis, device=device)
    n = spectrum.shape[axis]
    weights = np.zeros(n, array.dtype)
    weights[1 : (n + 1) // 2] = 2
    weights[[0, n // 2 if n % 2 == 0 else 0]] = 1
    return fft.ifft(
        spectrum * np.expand_dims(weights, [i for i in range(array.ndim) if i != axis % array.ndim]), axis=axis
    )


def _pair(x: Any, y: Any, axis: int, device: str | None) -> Tuple[Array, Array, str]:
    """Two signals of one shape, and the name of the device that computes."""
    first, name = placed(x, device, numeric)
    second, _ = placed(y, device, numeric, "y")
    lengths = [array.shape[axis] if array.ndim else 0 for array in (first, second)]
    if lengths[0] != lengths[1]:
        raise ValueError(f"y has {lengths[1]} samples along the axis, but must have those of x, {lengths[0]}")
    first, second = np.broadcast_arrays(first, second)
    return first, second, name
