"""Cross spectra, coherence and transfer functions of two signals, or of all channels."""

from __future__ import annotations

from typing import Any, NamedTuple, Tuple

import numpy as np

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
from ._batch import apply, rows_of
from ._dispatch import dispatched, of_numpy
from ._segments import Detrend, Segments, as_function, frequencies, median_bias, removes_mean, segments_of
from ._stft import stft
from ._welch import welch_psd

# Segments up to which one operation averages spectra, in the precision of the signal.
_DIRECT = 4096

# Arguments of `csd` from `fs` to `detrend`.
_Arguments = Tuple[float, Any, "int | None", "int | None", "int | None", Detrend]


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
    (rows, x_exponents), (others, y_exponents) = in_range(rows), in_range(as_rows(second, axis, "y")[0])
    exponents = None
    if x_exponents is not None or y_exponents is not None:
        exponents = np.zeros(len(rows), np.int32)
        exponents += sum(given for given in (x_exponents, y_exponents) if given is not None)
    if average == "mean" and not is_two_sided and _is_direct(segments, rows, others, detrend):
        segmented = _segmented(segments, rows.shape[1], float(fs) if scaling == "density" else None, detrend)
        bins = segments.nfft // 2 + 1
        (cross,) = apply("cross", [rows, others], [bins * 1j], ("csd", segmented), device)
        cross = from_pairs(rescaled(as_pairs(cross), exponents, 1))
        return frequencies(segments.nfft, fs, False), from_rows(cross, leading, axis)
    options: dict[str, Any] = {
        "fs": fs,
        "window": segments.window,
        "nperseg": None,
        "noverlap": segments.overlap,
        "nfft": segments.nfft,
        "detrend": as_function(detrend),
        "return_onesided": not is_two_sided,
        "boundary": None,
        "padded": False,
        "scaling": "psd" if scaling == "density" else scaling,
        "device": device,
    }
    hertz, _, spectra = stft(rows, **options)
    each = np.conj(spectra) * stft(others, **options)[2]
    if average == "mean":
        cross = each.mean(axis=-1)
    else:
        medians = np.median(each.real, axis=-1) + each.dtype.type(1j) * np.median(each.imag, axis=-1)
        cross = medians / median_bias(each.shape[-1])
    if not is_two_sided:
        cross[:, 1 : (segments.nfft + 1) // 2] *= 2
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
    arguments: _Arguments = (fs, window, nperseg, noverlap, nfft, detrend)
    direct, arguments = _direct("coherence", x, y, arguments, axis, device)
    if direct is not None:
        return direct
    first, second, device = _pair(x, y, axis, device)
    hertz, cross = csd(first, second, *arguments, axis=axis, device=device)
    is_onesided = len(hertz) < 2 or bool(hertz[-1] > 0)
    options: dict[str, Any] = {"axis": axis, "device": device}
    powers = [welch_psd(signal, *arguments, is_onesided, **options) for signal in (first, second)]
    with np.errstate(divide="ignore", invalid="ignore"):
        amplitude = np.abs(cross.astype(np.complex128)) / np.sqrt(powers[0], dtype=np.float64)
        squared = np.square(amplitude / np.sqrt(powers[1], dtype=np.float64))
    return hertz, np.asarray(squared.astype(np.result_type(first.real, second.real)))


@of_numpy("x", "y")
def transfer_function(
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
    estimator: str = "H1",
    device: str | None = None,
) -> Tuple[Array, Array]:
    """Frequencies and frequency response of the linear system from `x` to `y`.

    The `estimator` "H1", Pxy / Pxx, is unbiased by noise in `y`, "H2", Pyy / Pyx, by noise in `x`: J. S. Bendat and
    A. G. Piersol, "Random data" (2010). Real signals; the other arguments are those of `csd`. Where a signal has no
    power the response is NaN.

    >>> import numpy as np
    >>> x, noise = np.random.default_rng(0).normal(size=(2, 100_000))
    >>> f, response = transfer_function(x, 3 * np.roll(x, 1) + noise, fs=256)
    >>> float(np.abs(response).mean().round(1))
    3.0
    """
    if estimator not in ("H1", "H2"):
        raise ValueError(f"estimator is {estimator!r}, but must be 'H1' or 'H2'")
    for signal, argument in ((x, "x"), (y, "y")):
        real(signal, argument)
    arguments: _Arguments = (fs, window, nperseg, noverlap, nfft, detrend)
    direct, arguments = _direct(estimator, x, y, arguments, axis, device)
    if direct is not None:
        return direct
    hertz, cross = csd(x, y, *arguments, axis=axis, device=device)
    power = welch_psd(x if estimator == "H1" else y, *arguments, axis=axis, device=device)
    with np.errstate(divide="ignore", invalid="ignore"):
        return hertz, cross / power if estimator == "H1" else power / np.conj(cross)


class CoherentPairs(NamedTuple):
    """The most coherent pairs of channels, strongest first: their channels, the bin and the coherence there."""

    first: Array
    second: Array
    bin: Array
    coherence: Array


@of_numpy("x")
def most_coherent_pairs(
    x: Any,
    k: int,
    fs: float = 1.0,
    window: Any = "hann",
    nperseg: int | None = None,
    noverlap: int | None = None,
    detrend: str | bool | None = "constant",
    *,
    band: Tuple[float, float] | None = None,
    mean: bool = False,
    device: str | None = None,
) -> CoherentPairs:
    """The `k` pairs of the channels ``[…, channels, samples]`` of the greatest `coherence`, each field ``[…, k]``.

    A pair counts by the bin where it is most coherent, or if `mean` by the mean of all bins, of those in the `band` of
    hertz, both ends included. Of equal ones the first in the order of channels is first.

    >>> import numpy as np
    >>> channels = np.random.default_rng(0).normal(size=(4, 5000))
    >>> channels[3] += channels[1]
    >>> pairs = most_coherent_pairs(channels, 1)
    >>> pairs.first.tolist(), pairs.second.tolist()
    ([1], [3])
    """
    rows, leading, segments = _channels(x, window, nperseg, noverlap)
    limits = None
    if band is not None:
        hertz, spacing = frequencies(segments.nfft, fs, False), float(fs) / segments.nfft
        inside = np.flatnonzero((hertz >= band[0] - 1e-6 * spacing) & (hertz <= band[1] + 1e-6 * spacing))
        if not len(inside):
            raise ValueError(f"band is {band!r}, but bins are every {spacing} Hz from 0 to {hertz[-1]}")
        limits = [int(inside[0]), int(inside[-1]) + 1]
    segmented, number = _segmented(segments, rows.shape[1], None, detrend), count(k, "k")
    arguments = leading[-1], segmented, limits, (number, bool(mean))
    results = apply("channels", [in_range(rows)[0]], [number] * 4, arguments, device, leading[-1])
    *integers, values = (from_rows(result, leading[:-1]) for result in results)
    first, second, found = (array.astype(np.int32) for array in integers)
    return CoherentPairs(first, second, found, values)


@of_numpy("x")
def coherence_matrix(
    x: Any,
    fs: float = 1.0,
    window: Any = "hann",
    nperseg: int | None = None,
    noverlap: int | None = None,
    detrend: str | bool | None = "constant",
    *,
    device: str | None = None,
) -> Tuple[Array, Array]:
    """Frequencies, and `coherence` ``[…, channels, channels, bins]`` of all channels ``[…, channels, samples]``.

    >>> import numpy as np
    >>> f, found = coherence_matrix(np.random.default_rng(0).normal(size=(4, 5000)))
    >>> found.shape, bool((found <= 1 + 1e-9).all())
    ((4, 4, 129), True)
    """
    rows, leading, segments = _channels(x, window, nperseg, noverlap)
    channels, bins = leading[-1], segments.nfft // 2 + 1
    arguments = channels, _segmented(segments, rows.shape[1], None, detrend), None, None
    (found,) = apply("channels", [in_range(rows)[0]], [channels * channels * bins], arguments, device, channels)
    return frequencies(segments.nfft, fs, False), found.reshape(*leading, channels, bins)


def _channels(x: Any, window: Any, nperseg: Any, noverlap: Any) -> Tuple[Array, Tuple[int, ...], Segments]:
    """Channels as rows, the leading dimensions and the segments."""
    rows, leading = rows_of(x, -1)
    if not leading or leading[-1] == 0:
        raise ValueError("x has no channels, but must be channels of samples")
    return rows, leading, segments_of(rows.shape[1], window, nperseg, noverlap, None)


def _is_direct(segments: Segments, rows: Array, others: Array, detrend: Detrend) -> bool:
    """Whether one operation computes an estimate: of real rows of one type, by segments as long as their transforms."""
    is_real = rows.dtype == others.dtype and rows.dtype.kind == "f"
    is_short = segments.number(rows.shape[1]) <= _DIRECT
    return is_real and is_short and segments.nfft == segments.length and not callable(detrend)


def _segmented(segments: Segments, samples: int, rate: float | None, detrend: Any) -> Tuple[Any, ...]:
    """An estimate by segments as the extension module takes it: `rate` is that of a density."""
    trend = 2 if detrend == "linear" else int(removes_mean(detrend))
    return segments.window.tolist(), segments.step, segments.number(samples), rate, trend


def _direct(
    kind: str, x: Any, y: Any, arguments: _Arguments, axis: int, device: str | None
) -> Tuple[Tuple[Array, Array] | None, _Arguments]:
    """Frequencies and a ratio of cross spectra and power in one operation, if that computes it, and the arguments with
    the coefficients of the window."""
    first, second, device = _pair(x, y, axis, device)
    (rows, leading), others = as_rows(first, axis), as_rows(second, axis, "y")[0]
    fs, *segment_arguments, detrend = arguments
    segments = segments_of(rows.shape[1], *segment_arguments)
    arguments = fs, segments.window, None, segments.overlap, segments.nfft, detrend
    if not _is_direct(segments, rows, others, detrend):
        return None, arguments
    (rows, x_exponents), (others, y_exponents) = in_range(rows), in_range(others)
    segmented = _segmented(segments, rows.shape[1], None, detrend)
    bins = segments.nfft // 2 + 1
    (ratio,) = apply("cross", [rows, others], [bins if kind == "coherence" else bins * 1j], (kind, segmented), device)
    if kind != "coherence":
        for exponents, sign in ((x_exponents, -1), (y_exponents, 1)):
            ratio = ratio if exponents is None else from_pairs(rescaled(as_pairs(ratio), exponents, sign))
    return (frequencies(segments.nfft, fs, False), from_rows(ratio, leading, axis)), arguments


def _pair(x: Any, y: Any, axis: int, device: str | None) -> Tuple[Array, Array, str]:
    """Two signals of one shape, and the name of the device that computes."""
    first, name = placed(x, device, numeric)
    second, _ = placed(y, device, numeric, "y")
    lengths = [np.moveaxis(array, axis, -1).shape[-1] if array.ndim else 0 for array in (first, second)]
    if lengths[0] != lengths[1]:
        raise ValueError(f"y has {lengths[1]} samples along the axis, but must have those of x, {lengths[0]}")
    first, second = np.broadcast_arrays(first, second)
    return first, second, name
