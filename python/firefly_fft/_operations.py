"""Operations with their options as text, which the extension's C functions and operators of other libraries take."""

from __future__ import annotations

import math
from typing import Any, Callable, List, Sequence, Tuple, Union

from ._arrays import count, step

Lengths = Union[int, Sequence[int], None]
Dims = Union[int, Sequence[int], None]

# Segments of a row of which some can be chosen.
_MAX_CHOSEN = 128

# Forms of transforms: of complex rows, of complex columns of matrices, of real rows, and to real rows.
COMPLEX, COLUMNS, REAL, INVERSE_REAL = range(4)

# Inputs of operations that all rows share, a bit each; of the others, each row is computed for itself.
_SHARED = {
    "welch_psd": 0b110,
    "welch_peaks": 0b110,
    "top_k": 0,
    "local_maxima": 0,
    "butterfly": 0b1100,
    "interleaved_fft": 0,
    "dct": 0,
    "mel": 0b10,
    "peak_loss": 0,
    "spectral_conv": 0b110,
    "long_conv": 0b10,
}


def shared_inputs(operation: str, differ: Sequence[bool]) -> List[bool] | None:
    """Which inputs of an operation all rows share, where a batch of calls is one call of more rows.

    `differ` says which inputs differ from call to call. None where one that rows share does.
    """
    name, *words = operation.split(" ")
    forward = name[: -len("_backward")] if name.endswith("_backward") else name
    different = sum(differs << place for place, differs in enumerate(differ))
    shared, inputs = _SHARED.get(forward, -1), len(differ)
    if name != forward:
        # A gradient of what rows share is a sum over them. The last inputs are gradients of the outputs.
        different |= int(words[-1])
        inputs -= 2 if forward == "butterfly" else 1
    shared &= (1 << inputs) - 1
    return None if different & shared else [bool(shared >> place & 1) for place in range(len(differ))]


def points(shape: Sequence[int], n: int | None, dim: int, is_half: bool = False) -> int:
    """Points of a transform along a dimension: `n`, or all values, of a half spectrum those of the whole."""
    if not -len(shape) <= dim < len(shape):
        raise ValueError(f"dim is {dim}, but x has {len(shape)} dimensions")
    if n is None:
        n = 2 * (shape[dim] - 1) if is_half else shape[dim]
    return count(n, "n")


def axes(rank: int, s: Lengths, dim: Dims) -> List[Tuple[int, int | None]]:
    """Dimensions that are transformed, and their points: `dim`, or as many of the last as `s` has, or all."""
    lengths = None if s is None else [s] if isinstance(s, int) else list(s)
    if dim is None:
        dims = list(range(-(rank if lengths is None else len(lengths)), 0))
    else:
        dims = [dim] if isinstance(dim, int) else list(dim)
    if lengths is not None and len(lengths) != len(dims):
        raise ValueError(f"s has {len(lengths)} lengths, but must have one for each of {len(dims)} dimensions")
    for axis in dims:
        if not -rank <= axis < rank:
            raise ValueError(f"dim is {axis}, but x has {rank} dimensions")
    if len({axis % rank for axis in dims}) < len(dims):
        raise ValueError(f"dim is {dims}, but must have each dimension once")
    return [(axis, None if n == -1 else n) for axis, n in zip(dims, lengths or [-1] * len(dims))]


def last_axis(found: List[Tuple[int, int | None]]) -> Tuple[int, int | None]:
    """Takes the last of the dimensions that are transformed."""
    if not found:
        raise ValueError("dim is empty, but must have at least one dimension")
    return found.pop()


def convolution(n: int, k: int, mode: str) -> Tuple[int, int, int]:
    """Points of the transforms of a convolution, the least even number that suffices and is a power of two times 1, 3,
    5, 9 or 15; the first value that is kept, and how many are."""
    kept = {"full": (0, n + k - 1), "same": ((k - 1) // 2, n), "valid": (min(n, k) - 1, abs(n - k) + 1)}
    if mode not in kept:
        raise ValueError(f"mode is {mode!r}, but must be 'full', 'same' or 'valid'")
    least = n + k - 1
    fast = min(factor << max(1, (-(-least // factor) - 1).bit_length()) for factor in (1, 3, 5, 9, 15))
    return (fast, *kept[mode])


def frame_sizes(n_fft: int, hop_length: int | None, win_length: int | None) -> Tuple[int, int, int]:
    """Samples of a frame, between frames, and of the window."""
    n_fft = count(n_fft, "n_fft")
    hop = max(1, n_fft // 4) if hop_length is None else step(hop_length, "hop_length")
    samples = n_fft if win_length is None else count(win_length, "win_length")
    if samples > n_fft:
        raise ValueError(f"win_length is {samples}, but must be at most n_fft, {n_fft}")
    return n_fft, hop, samples


def sides(bins: int, n_fft: int, onesided: bool | None, return_complex: bool) -> bool:
    """Whether spectra of so many bins are one-sided."""
    onesided = bins != n_fft if onesided is None else onesided
    if bins != (n_fft // 2 + 1 if onesided else n_fft):
        raise ValueError(f"x has {bins} bins, but must have {n_fft // 2 + 1 if onesided else n_fft}")
    if onesided and return_complex:
        raise ValueError("return_complex is True, but spectra are one-sided")
    return onesided


def transform(form: int, n: int, forward: bool, norm: str | None) -> str:
    """A transform of `n` points as text."""
    norms = {"backward": (1.0, 1 / n), "ortho": (1 / math.sqrt(n),) * 2, "forward": (1 / n, 1.0)}
    known = "backward" if norm is None else norm
    if known not in norms:
        raise ValueError(f"norm is {norm!r}, but must be 'backward', 'ortho' or 'forward'")
    return f"interleaved_fft {form} {n} {int(not forward)} {norms[known][int(not forward)]!r} 1.0"


def welch(
    samples: int,
    n_fft: int,
    hop: int | None,
    segments: int | None,
    scaling: str,
    fs: float,
    detrend: bool,
    band: Tuple[int, int] | None,
    chosen: Tuple[int, ...] | None = None,
) -> str:
    """Options of Welch's method as text; all segments that fit into `samples` are averaged if there is no number.

    `chosen` are the indices of segments that alone are averaged, in ascending order, all of them if None.
    """
    n_fft = count(n_fft, "n_fft")
    hop = max(1, n_fft // 2) if hop is None else step(hop, "hop")
    if segments is None:
        if count(samples, "x", 0) < n_fft:
            raise ValueError(f"x has {samples} samples per row, but must have at least n_fft, {n_fft}")
        segments = (count(samples, "x") - n_fft) // hop + 1
    scalings = {"power": "0", "spectrum": "1", "density": f"2 {float(fs)!r}"}
    if scaling not in scalings:
        raise ValueError(f"scaling is {scaling!r}, but must be 'power', 'spectrum' or 'density'")
    within = "false" if band is None else f"true {count(band[0], 'band', 0)} {count(band[1], 'band')}"
    if detrend not in (True, False):
        raise ValueError(f"detrend is {detrend!r}, but must be True (the mean) or False")
    segments = count(segments, "segments")
    listed = "false"
    if chosen is not None and len(chosen) < segments:
        if segments > _MAX_CHOSEN:
            raise ValueError(
                f"segments is given, but rows have {segments} segments, and must have at most {_MAX_CHOSEN}"
            )
        bits = sum(1 << index for index in chosen)
        listed = f"true {bits % (1 << 64)} {bits >> 64}"
    return f"{n_fft} {hop} {segments} {scalings[scaling]} {int(bool(detrend))} {within} {listed}"


def local_maxima(
    k: int, height: float | None, distance: int, prominence: float | None, interpolation: str, index: int
) -> str:
    """Local maxima as text; `index` is 0 for bins of int64 and 1 for int32."""
    if interpolation not in ("log_parabola", "hann"):
        raise ValueError(f"interpolation is {interpolation!r}, but must be 'log_parabola' or 'hann'")
    least, above = (("false" if v is None else f"true {float(v)!r}") for v in (height, prominence))
    options = f"{least} {step(distance, 'distance')} {above} {int(interpolation == 'hann')}"
    return f"local_maxima {options} {count(k, 'k')} {index}"


def of_maxima(
    library: Any, take: Callable[..., Any], rows: Any, bins: Any, bases: Any, interpolation: str
) -> Tuple[Any, Any, Any]:
    """Power, prominence and offsets of local maxima of rows; `take` is the function of NumPy's `take_along_axis`.

    NaN where there is no maximum. The offset is 0 where a neighbour is not positive and normal.
    """
    where, one, last = library.where, library.ones_like(rows[:, :1]), rows.shape[1] - 1

    def at(places: Any) -> Any:
        return take(rows, library.clip(places, 0, last), 1)

    below, power, above = at(bins - 1), at(bins), at(bins + 1)
    tiny = library.finfo(rows.dtype).tiny
    usable = (bins >= 0) & (below >= tiny) & (above >= tiny)
    low, peak, high = (where(usable, values, one) for values in (below, power, above))
    if interpolation == "hann":
        low, peak, high = library.sqrt(low), library.sqrt(peak), library.sqrt(high)
        offset = 2 * (high - low) / (low + 2 * peak + high)
    else:
        low, peak, high = library.log(low), library.log(peak), library.log(high)
        rise, fall = peak - low, peak - high
        # Three equal values have no vertex.
        offset = (rise - fall) / (2 * where(rise + fall == 0, one, rise + fall))
    power, prominence, offset = (where(bins < 0, one * math.nan, v) for v in (power, power - at(bases), offset))
    return power, prominence, offset


def mel(
    fs: float,
    n_mels: int,
    n_fft: int,
    hop_length: int | None,
    center: bool,
    pad_mode: str,
    power: float,
    fmin: float,
    fmax: float | None,
    htk: bool,
    norm: str | None,
    log: str | None,
    floor: float,
) -> str:
    """A mel spectrum, or its logarithm, as text."""
    n_fft = count(n_fft, "n_fft")
    hop = max(1, n_fft // 4) if hop_length is None else step(hop_length, "hop_length")
    modes = {"constant": "0 0.0", "reflect": "1", "edge": "2", "wrap": "3"}
    if pad_mode not in modes:
        raise ValueError(f"pad_mode is {pad_mode!r}, but must be 'constant', 'reflect', 'edge' or 'wrap'")
    if power not in (1, 2):
        raise ValueError(f"power is {power}, but must be 1 or 2")
    if norm not in (None, "slaney"):
        raise ValueError(f"norm is {norm!r}, but must be 'slaney' or None")
    units = {None: "false", "natural": "true 0", "ten": "true 1", "decibel": "true 2"}
    if log not in units:
        raise ValueError(f"log is {log!r}, but must be 'decibel', 'natural' or 'ten'")
    frames = f"{n_fft} {hop} false {str(bool(center)).lower()} {modes[pad_mode]} false true"
    highest = "false" if fmax is None else f"true {float(fmax)!r}"
    bands = f"{float(fs)!r} {count(n_mels, 'n_mels')} {float(fmin)!r} {highest} {int(not htk)} {int(norm is not None)}"
    logarithm = units[log] if log is None else f"{units[log]} 1 {float(floor)!r}"
    return f"mel {frames} {bands} {int(power == 2)} {logarithm}"
