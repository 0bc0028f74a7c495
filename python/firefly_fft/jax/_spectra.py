"""Power spectra, mel spectra, and the strongest values of rows."""

from __future__ import annotations

from typing import Any, NamedTuple, Tuple

import jax
import jax.numpy as jnp

from .. import _operations
from .._arrays import count
from ._arrays import compiled, hann, padded, real, rows, unflattened
from ._operators import apply


class Peaks(NamedTuple):
    """The strongest bins of rows, strongest first; a row with too few finite ones ends in bin −1 and power NaN."""

    bins: Any
    power: Any


class LocalMaxima(NamedTuple):
    """Local maxima of rows, strongest first; where a row has fewer, bins are −1 and the rest NaN.

    `offset` is the distance of the line from its bin, in bins.
    """

    bins: Any
    power: Any
    prominence: Any
    offset: Any


def _samples(x: Any, segments: int | None) -> int:
    """Samples per row, which the options depend on where the number of segments is not given."""
    if x.ndim == 0:
        raise ValueError("x is a scalar, but must have samples along the last dimension")
    return int(x.shape[-1]) if segments is None else 0


def _index_type(dtype: Any) -> int:
    name = jnp.dtype(dtype).name
    if name not in ("int64", "int32"):
        raise ValueError(f"index_dtype is {name}, but must be int32 or int64")
    if name == "int64" and not jax.config.jax_enable_x64:
        raise ValueError("index_dtype is int64, which JAX has with jax_enable_x64 alone, but must be int32")
    return int(name == "int32")


@compiled("x", "window")
def welch_psd(
    x: Any,
    n_fft: int,
    *,
    window: Any = None,
    segments: int | None = None,
    hop: int | None = None,
    scaling: str = "power",
    fs: float = 1.0,
    detrend: bool = False,
) -> Any:
    """One-sided power ``[…, n_fft // 2 + 1]`` of signals ``[…, samples]``, averaged over segments of `n_fft` samples.

    Parameters
    ----------
    window : ``[n_fft]``, a periodic Hann window by default. Signal and window are differentiable.
    segments : the first ones that are averaged; all that a row has by default.
    hop : samples between their starts, half of `n_fft` by default.
    scaling : "power" is |X|², interior bins doubled; "spectrum" and "density" as in ``scipy.signal.welch``, with `fs`
        samples per second.
    detrend : whether the mean of each segment is removed.

    >>> import jax.numpy as jnp
    >>> welch_psd(jnp.ones((2, 3, 1024)), 256).shape
    (2, 3, 129)
    """
    x = real(x, "x")
    options = _operations.welch(_samples(x, segments), n_fft, hop, segments, scaling, fs, detrend, None)
    window = hann(count(n_fft, "n_fft"), x) if window is None else real(window, "window", x)
    return unflattened(apply("welch_psd " + options, rows(x, "x"), window), x)


@compiled("x", "window")
def welch_peaks(
    x: Any,
    n_fft: int,
    k: int,
    *,
    window: Any = None,
    segments: int | None = None,
    hop: int | None = None,
    scaling: str = "power",
    fs: float = 1.0,
    detrend: bool = False,
    band: Tuple[int, int] | None = None,
    index_dtype: Any = jnp.int32,
) -> Peaks:
    """Bins and power ``[…, k]`` of the strongest bins of `welch_psd`, in one launch where that pays.

    `band` is the first bin that is searched and the one after the last. `index_dtype` is the type of the bins,
    which JAX has int64 of with jax_enable_x64. Power is differentiable in the signal and the window.

    >>> import jax.numpy as jnp
    >>> impulse = jnp.zeros(8).at[0].set(1)
    >>> welch_peaks(impulse, 8, 4, window=jnp.ones(8)).bins.tolist()
    [1, 2, 3, 0]
    """
    x = real(x, "x")
    options = _operations.welch(_samples(x, segments), n_fft, hop, segments, scaling, fs, detrend, band)
    window = hann(count(n_fft, "n_fft"), x) if window is None else real(window, "window", x)
    operation = f"welch_peaks {options} {count(k, 'k')} {_index_type(index_dtype)}"
    bins, power = apply(operation, rows(x, "x"), window)
    return Peaks(unflattened(bins, x), unflattened(power, x))


@compiled("x", "window")
def power_spectrum(
    x: Any, *, window: Any = None, scaling: str = "power", fs: float = 1.0, detrend: bool = False
) -> Any:
    """One-sided power ``[…, n // 2 + 1]`` of rows ``[…, n]``: `welch_psd` of one segment, without a window by default.

    >>> import jax.numpy as jnp
    >>> power_spectrum(jnp.array([1.0, 0.0, 0.0, 0.0])).tolist()
    [1.0, 2.0, 1.0]
    """
    x = real(x, "x")
    n = count(x.shape[-1] if x.ndim > 0 else 0, "the length of x")
    window = jnp.ones(n, x.dtype) if window is None else real(window, "window", x)
    options = _operations.welch(0, n, n, 1, scaling, fs, detrend, None)
    return unflattened(apply("welch_psd " + options, rows(x, "x"), window), x)


@compiled("x")
def top_k(x: Any, k: int, *, index_dtype: Any = jnp.int32) -> Peaks:
    """Positions and values ``[…, k]`` of the largest values of rows, largest first; among equals the lower is first.

    Values that are not finite are never selected: a row with fewer than `k` finite ones ends in position −1 and NaN.

    >>> import jax.numpy as jnp
    >>> top_k(jnp.array([1.0, 4.0, float("inf"), 4.0, 3.0]), 3).bins.tolist()
    [1, 3, 4]
    """
    x = real(x, "x")
    bins, power = apply(f"top_k {count(k, 'k')} {_index_type(index_dtype)}", rows(x, "x"))
    return Peaks(unflattened(bins, x), unflattened(power, x))


@compiled("x")
def local_maxima(
    x: Any,
    k: int,
    height: float | None = None,
    distance: int = 1,
    prominence: float | None = None,
    *,
    interpolation: str = "log_parabola",
) -> LocalMaxima:
    """The `k` strongest local maxima of rows, chosen as ``scipy.signal.find_peaks`` does.

    Parameters
    ----------
    height, distance, prominence : least height, least distance in bins, least prominence.
    interpolation : how `offset` is estimated from a bin and its neighbours: "log_parabola", or "hann" for power under a
        Hann window.

    Power, prominence and offset are differentiable.

    >>> import jax.numpy as jnp
    >>> local_maxima(jnp.array([0.0, 2.0, 0.0, 3.0, 1.0]), 2).bins.tolist()
    [3, 1]
    """
    x = real(x, "x")
    values = rows(x, "x")
    bins, bases = apply(
        _operations.local_maxima(k, height, distance, prominence, interpolation, 1), jax.lax.stop_gradient(values)
    )
    found = _operations.of_maxima(jnp, jnp.take_along_axis, values, bins, bases, interpolation)
    return LocalMaxima(*(unflattened(values, x) for values in (bins, *found)))


def _bands(x: Any, window: Any, win_length: int | None, n_fft: int, operation: str) -> Any:
    n_fft = count(n_fft, "n_fft")
    if window is None:
        window = hann(n_fft if win_length is None else count(win_length, "win_length"), x)
    window = real(window, "window", x)
    missing = n_fft - window.shape[-1]
    if missing > 0:
        window = padded(window, missing // 2, missing - missing // 2)
    return unflattened(apply(operation, rows(x, "x"), window), x)


@compiled("x", "window")
def mel(
    x: Any,
    fs: float,
    n_mels: int = 128,
    n_fft: int = 2048,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Any = None,
    *,
    center: bool = True,
    pad_mode: str = "constant",
    power: float = 2.0,
    fmin: float = 0.0,
    fmax: float | None = None,
    htk: bool = False,
    norm: str | None = "slaney",
) -> Any:
    """Mel spectra ``[…, n_mels, frames]`` of signals ``[…, samples]``, as ``librosa.feature.melspectrogram``.

    Arguments are those of `firefly_fft.mel`; `window` is an array of at most `n_fft` samples, or None for a periodic
    Hann window of `win_length`. Signal and window are differentiable.

    >>> import jax.numpy as jnp
    >>> mel(jnp.ones((2, 16000)), fs=16000, n_mels=80, n_fft=400, hop_length=160).shape
    (2, 80, 101)
    """
    x = real(x, "x")
    operation = _operations.mel(
        fs, n_mels, n_fft, hop_length, center, pad_mode, power, fmin, fmax, htk, norm, None, 0.0
    )
    return _bands(x, window, win_length, n_fft, operation)


@compiled("x", "window")
def log_mel(
    x: Any,
    fs: float,
    n_mels: int = 128,
    n_fft: int = 2048,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Any = None,
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
) -> Any:
    """Logarithm of `mel`, in one operation: "decibel", "natural" or "ten", of values of at least `floor`.

    >>> import jax.numpy as jnp
    >>> float(log_mel(jnp.zeros(4096), fs=16000, log="ten").max())
    -10.0
    """
    x = real(x, "x")
    operation = _operations.mel(
        fs, n_mels, n_fft, hop_length, center, pad_mode, power, fmin, fmax, htk, norm, str(log), floor
    )
    return _bands(x, window, win_length, n_fft, operation)
