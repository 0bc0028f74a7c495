"""Functions of audio spectra, with the arguments of librosa."""

from __future__ import annotations

import math
from typing import Any, Sequence, Tuple

import numpy as np

from ._arrays import Array, count, from_rows, in_range, rate, real
from ._batch import apply, rows_of
from ._dispatch import of_numpy
from ._mel import _bands, _frames, _window

_Framing = Tuple[int, "int | None", "int | None", Any, bool, str]


@of_numpy("S")
def griffinlim(
    S: Any,
    *,
    n_iter: int = 32,
    hop_length: int | None = None,
    win_length: int | None = None,
    n_fft: int | None = None,
    window: Any = "hann",
    center: bool = True,
    dtype: Any = None,
    length: int | None = None,
    pad_mode: str = "constant",
    momentum: float = 0.99,
    init: str | None = "random",
    random_state: Any = None,
    device: str | None = None,
) -> Array:
    """Signal ``[…, samples]`` whose short-time spectra have the magnitudes `S`, as ``librosa.griffinlim``.

    `random_state` is a seed, or a generator that gives one, of the phases to start from, which are the same for each
    row; with an `init` of None they are 0. `dtype` can only be None: the result has the type of `S`.

    >>> import numpy as np
    >>> griffinlim(np.ones((2, 513, 20), np.float32), random_state=0).shape
    (2, 4864)
    """
    if init not in ("random", None):
        raise ValueError(f"init is {init!r}, but must be 'random' or None")
    if dtype is not None:
        raise ValueError(f"dtype is {dtype!r}, but must be None")
    rows, leading, (bins, number) = _spectra(S, "S")
    points = 2 * (bins - 1) if n_fft is None else count(n_fft, "n_fft")
    if points // 2 + 1 != bins:
        raise ValueError(f"n_fft is {points}, but S has {bins} bins")
    frames, taper = _framing((points, hop_length, win_length, window, center, pad_mode))
    seed = None if init is None else _seed(random_state)
    end = None if length is None else count(length, "length")
    samples = (number - 1) * frames["hop_length"] + points - (2 * (points // 2) if center else 0)
    arguments = frames, taper, count(n_iter, "n_iter", 0), float(momentum), seed, end
    (signal,) = apply("griffin_lim", [rows], [max(samples, 1) if end is None else end], arguments, device)
    return from_rows(signal, leading)


@of_numpy("M")
def mel_to_stft(
    M: Any,
    *,
    sr: float = 22050,
    n_fft: int = 2048,
    power: float = 2.0,
    fmin: float = 0.0,
    fmax: float | None = None,
    htk: bool = False,
    norm: str | None = "slaney",
    device: str | None = None,
) -> Array:
    """Magnitudes ``[…, bins, frames]`` of mel spectra `M`, as ``librosa.feature.inverse.mel_to_stft``.

    They are the solution of least squares of least norm, 0 where that is negative, as torchaudio's ``InverseMelScale``
    has it; librosa iterates to the one that is not negative.

    >>> import numpy as np
    >>> mel_to_stft(np.ones((2, 40, 10)), sr=16000, n_fft=512).shape
    (2, 257, 10)
    """
    rows, leading, (number, frames) = _spectra(M, "M")
    points, bands = count(n_fft, "n_fft"), _bands(sr, number, fmin, fmax, htk, norm)
    bins = points // 2 + 1
    (spectra,) = apply("inverse_mel", [rows], [bins * frames], (points, number, bands), device)
    spectra = np.sqrt(spectra) if power == 2 else spectra if power == 1 else spectra ** (1 / power)
    return spectra.reshape(*leading, bins, frames)


@of_numpy("y", "S")
def spectral_centroid(
    *,
    y: Any = None,
    sr: float = 22050,
    S: Any = None,
    n_fft: int = 2048,
    hop_length: int = 512,
    freq: Any = None,
    win_length: int | None = None,
    window: Any = "hann",
    center: bool = True,
    pad_mode: str = "constant",
    device: str | None = None,
) -> Array:
    """Mean frequency ``[…, 1, frames]`` of each frame, as ``librosa.feature.spectral_centroid``.

    Frames are those of a signal `y`, or `S` has the magnitudes ``[…, bins, frames]``; `freq` are the frequencies of the
    bins. A frame of zeros has 0.

    >>> import numpy as np
    >>> tone = np.sin(2 * np.pi * 1000 * np.arange(8192) / 8000)
    >>> float(spectral_centroid(y=tone, sr=8000)[0, 8].round())
    1000.0
    """
    framing = n_fft, hop_length, win_length, window, center, pad_mode
    return _feature("centroid", (y, S), sr, freq, framing, device)


@of_numpy("y", "S")
def spectral_bandwidth(
    *,
    y: Any = None,
    sr: float = 22050,
    S: Any = None,
    n_fft: int = 2048,
    hop_length: int = 512,
    win_length: int | None = None,
    window: Any = "hann",
    center: bool = True,
    pad_mode: str = "constant",
    freq: Any = None,
    centroid: Any = None,
    norm: bool = True,
    p: float = 2,
    device: str | None = None,
) -> Array:
    """Standard deviation of frequency about the centroid of each frame, as ``librosa.feature.spectral_bandwidth``.

    The arguments are those of `spectral_centroid`; `centroid`, `norm` and `p` can only have their defaults.

    >>> import numpy as np
    >>> spectral_bandwidth(S=np.array([[1.0], [0.0], [1.0]]), sr=8000, n_fft=4)
    array([[2000.]])
    """
    for value, only, argument in ((centroid, None, "centroid"), (norm, True, "norm"), (p, 2, "p")):
        if value is not only and (only is None or value != only):
            raise ValueError(f"{argument} is {value!r}, but must be {only}")
    framing = n_fft, hop_length, win_length, window, center, pad_mode
    return _feature("bandwidth", (y, S), sr, freq, framing, device)


@of_numpy("y", "S")
def spectral_kurtosis(
    *,
    y: Any = None,
    sr: float = 22050,
    S: Any = None,
    n_fft: int = 2048,
    hop_length: int = 512,
    freq: Any = None,
    win_length: int | None = None,
    window: Any = "hann",
    center: bool = True,
    pad_mode: str = "constant",
    device: str | None = None,
) -> Array:
    """Kurtosis of frequency about the centroid of each frame, with the arguments of `spectral_centroid`.

    It is 3 for a Gaussian, and 0 where the bandwidth is 0: G. Peeters, "A large set of audio features" (2004).

    >>> import numpy as np
    >>> spectral_kurtosis(S=np.array([[1.0], [0.0], [1.0]]))
    array([[1.]])
    """
    framing = n_fft, hop_length, win_length, window, center, pad_mode
    return _feature("kurtosis", (y, S), sr, freq, framing, device)


@of_numpy("y", "S")
def spectral_rolloff(
    *,
    y: Any = None,
    sr: float = 22050,
    S: Any = None,
    n_fft: int = 2048,
    hop_length: int = 512,
    win_length: int | None = None,
    window: Any = "hann",
    center: bool = True,
    pad_mode: str = "constant",
    freq: Any = None,
    roll_percent: float = 0.85,
    device: str | None = None,
) -> Array:
    """Frequency below which a frame has a share of its magnitude, as ``librosa.feature.spectral_rolloff``.

    The arguments are those of `spectral_centroid`; `roll_percent` is the share, from 0 to 1.

    >>> import numpy as np
    >>> spectral_rolloff(S=np.array([[1.0], [1.0], [0.1]]), sr=8000, n_fft=4)
    array([[2000.]])
    """
    framing = n_fft, hop_length, win_length, window, center, pad_mode
    return _feature("rolloff", (y, S), sr, freq, framing, device, float(roll_percent))


@of_numpy("y", "S")
def spectral_flatness(
    *,
    y: Any = None,
    S: Any = None,
    n_fft: int = 2048,
    hop_length: int = 512,
    win_length: int | None = None,
    window: Any = "hann",
    center: bool = True,
    pad_mode: str = "constant",
    amin: float = 1e-10,
    power: float = 2.0,
    device: str | None = None,
) -> Array:
    """Geometric over arithmetic mean of the power of each frame, as ``librosa.feature.spectral_flatness``.

    The arguments are those of `spectral_centroid`; `amin` and `power` can only have their defaults.

    >>> import numpy as np
    >>> spectral_flatness(S=np.array([[1.0], [1.0], [1.0]]))
    array([[1.]])
    """
    for value, only, argument in ((amin, 1e-10, "amin"), (power, 2.0, "power")):
        if value != only:
            raise ValueError(f"{argument} is {value!r}, but must be {only}")
    framing = n_fft, hop_length, win_length, window, center, pad_mode
    return _feature("flatness", (y, S), 1.0, None, framing, device)


@of_numpy("input", "target")
def multi_resolution_stft_loss(
    input: Any,
    target: Any,
    fft_sizes: Sequence[int] = (1024, 2048, 512),
    hop_sizes: Sequence[int] = (120, 240, 50),
    win_lengths: Sequence[int] = (600, 1200, 240),
    *,
    device: str | None = None,
) -> float:
    """Distance of two signals by their short-time magnitudes, as ``MultiResolutionSTFTLoss`` of auraloss by default.

    The mean over resolutions of the spectral convergence and of the mean difference of logarithms: R. Yamamoto, E. Song
    and J. Kim, "Parallel WaveGAN" (2020). Signals ``[…, samples]`` have one shape.

    >>> import numpy as np
    >>> x = np.random.default_rng(0).normal(size=8192)
    >>> round(multi_resolution_stft_loss(2 * x, x) - math.log(2), 6)
    1.0
    """
    (first, leading), (second, others) = rows_of(input, -1, real, "input"), rows_of(target, -1, real, "target")
    if (leading, first.shape) != (others, second.shape):
        raise ValueError(f"target has the shape {np.shape(target)}, but must have that of input, {np.shape(input)}")
    if not len(first):
        raise ValueError("input has no rows")
    if len({len(fft_sizes), len(hop_sizes), len(win_lengths)}) > 1:
        raise ValueError("fft_sizes, hop_sizes and win_lengths must have the same length")
    names = "fft_sizes", "hop_sizes", "win_lengths"
    sizes = [
        [count(size, name) for size, name in zip(sizes, names)] for sizes in zip(fft_sizes, hop_sizes, win_lengths)
    ]
    common = np.result_type(first, second)
    rows = [array.astype(common, copy=False) for array in (first, second)]
    return float(apply("stft_loss", rows, [1], (sizes,), device, per=len(first))[0][0, 0])


def _feature(
    kind: str,
    given: Tuple[Any, Any],
    sr: float,
    freq: Any,
    framing: _Framing,
    device: str | None,
    share: float = 0.0,
) -> Array:
    y, S = given
    if (y is None) == (S is None):
        raise ValueError("one of y and S must be given, the signal or its magnitudes")
    if S is not None:
        rows, leading, (bins, number) = _spectra(S, "S")
        points = framing[0] if framing[0] // 2 + 1 == bins else max(2 * (bins - 1), 1)
        frames = None
    else:
        rows, leading = rows_of(y, -1, real, "y")
        frames = _framing(framing)
        points, hop = frames[0]["n_fft"], frames[0]["hop_length"]
        padding = 2 * (points // 2) if framing[4] else 0
        number = max(rows.shape[1] + padding - points, 0) // hop + 1
        bins = points // 2 + 1
    hertz = np.fft.rfftfreq(points, 1 / rate(sr, "sr")) if freq is None else np.asarray(real(freq, "freq"), np.float64)
    if hertz.shape != (bins,):
        raise ValueError(f"freq has the shape {hertz.shape}, but must have a frequency for each of {bins} bins")
    arguments = kind, hertz.tolist(), share, frames
    (values,) = apply("feature", [rows], [number], arguments, device)
    _, exponents = in_range(rows)
    if exponents is not None:  # Power that float32 can't hold.
        is_far = exponents != 0
        values[is_far] = apply("feature", [rows[is_far].astype(np.float64)], [number], arguments, None)[0]
    return values.reshape(*leading, 1, number)


def _spectra(values: Any, argument: str) -> Tuple[Array, Tuple[int, ...], Tuple[int, int]]:
    """Spectra ``[…, bins, frames]`` as rows ``[rows, bins * frames]``, the leading dimensions, and the last two."""
    array = real(values, argument)
    if array.ndim < 2 or 0 in array.shape[-2:]:
        raise ValueError(f"{argument} has the shape {array.shape}, but must have bins and frames")
    if (array < 0).any():
        raise ValueError(f"{argument} has values below 0")
    *leading, bins, frames = array.shape
    rows = array.reshape(math.prod(leading), bins * frames)
    return np.require(rows, requirements=["C_CONTIGUOUS", "ALIGNED"]), tuple(leading), (bins, frames)


def _framing(framing: _Framing) -> Tuple[dict[str, Any], list[float]]:
    """The entries of frames, and the window."""
    n_fft, hop_length, win_length, window, center, pad_mode = framing
    frames = _frames(n_fft, hop_length, center, pad_mode, 1.0)
    return frames, _window(window, win_length, frames["n_fft"]).tolist()


def _seed(random_state: Any) -> int:
    """A seed from one, a generator, or none."""
    if random_state is None:
        random_state = np.random.default_rng()
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(1 << 63))
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(1 << 31))
    return count(random_state, "random_state", 0, (1 << 64) - 1)
