"""Functions of `firefly_fft` on PyTorch's tensors: SciPy's arguments, on the operations of this module."""

from __future__ import annotations

from typing import Any, Sequence, Tuple

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import pad

from .. import _mel
from .._arrays import count, rate, warn
from .._segments import Detrend, Segments, median_bias, removes_mean, segments_of
from .._select import LocalMaxima, TopK, conditions_of
from .._stft import _scale, _segments_of_spectra
from .._welch import _BLOCK, _DIRECT, Peaks, _bins_of, _Estimate, segment_indices
from .._windows import coefficients, is_named
from ..fft import _INVERTED
from . import _fft, _spectra
from ._operators import apply
from ._stft import _overlapped
from ._tensors import kept, rows, unflattened
from ._tensors import real as _float

# The least sum of squared windows that a sample is divided by.
_MIN_ENVELOPE = 1e-10


def _numeric(x: Any, argument: str = "x") -> Tensor:
    """A tensor in the type that is computed with; integers on the host in float64."""
    if not isinstance(x, Tensor):
        raise TypeError(f"{argument} is {type(x).__name__}, but must be a tensor, as other arguments are")
    if x.device.type not in ("cpu", "cuda") or x.layout != torch.strided:
        raise ValueError(
            f"{argument} is on {x.device} with the layout {x.layout}, but must be dense, on a CPU or a CUDA device: "
            "convert it first, as with `.to_dense()` or `.cpu()`"
        )
    is_float = x.is_floating_point() or x.is_complex()
    if x.is_cuda and (not is_float or x.dtype in (torch.float64, torch.complex128)):
        raise ValueError(
            f"{argument} is of {x.dtype}, which is computed in float64, but GPUs compute in float32: convert it first, "
            "as with `.float()`, or copy it to the host with `.cpu()`"
        )
    if x.is_complex():
        return x.to(torch.complex64) if x.dtype == torch.complex32 else x
    return _float(x if is_float else x.double(), argument)


def _real(x: Any, argument: str = "x") -> Tensor:
    x = _numeric(x, argument)
    if x.is_complex():
        raise TypeError(f"{argument} is complex, but must be real")
    return x


def _checked(x: Tensor, axis: int, argument: str = "x", name: str = "axis") -> Tensor:
    """A tensor that has the dimension `axis`."""
    if x.dim() == 0:
        raise ValueError(f"{argument} is a scalar, but must have at least one dimension")
    if not -x.dim() <= axis < x.dim():
        raise ValueError(f"{name} is {axis}, but {argument} has {x.dim()} dimensions")
    return x


def _along(x: Tensor, axis: int, argument: str = "x") -> Tensor:
    """A tensor whose last dimension is `axis`."""
    return _checked(x, axis, argument).movedim(axis, -1)


def _taper(window: Any, n: int, like: Tensor) -> Tensor:
    """The coefficients of a window, of `n` if it has a name, in the real type and on the device of a tensor."""
    like = like.real
    if isinstance(window, Tensor):
        taper = _float(window, "window", like)
        if taper.dim() != 1:
            raise ValueError(f"window has {taper.dim()} dimensions, but must have one")
        return taper
    values = coefficients(window, n)
    if is_named(window):
        return kept((window, n), like, lambda: torch.tensor(values))
    return torch.tensor(values).to(like.device, like.dtype)


def _framing(x: Tensor, framing: Tuple[Any, Any, Any, Any], overlap_part: int = 2) -> Tuple[Segments, Tensor]:
    """The segments of rows, from SciPy's `window`, `nperseg`, `noverlap` and `nfft`, and their window as a tensor."""
    window, nperseg, noverlap, nfft = framing
    # A tensor's values may be on a device, and differentiable: its length is what matters here.
    known = np.ones(len(window)) if isinstance(window, Tensor) else window
    segments = segments_of(x.shape[-1], known, nperseg, noverlap, nfft, overlap_part)
    return segments, _taper(window, segments.length, x)


def _detrended(frames: Tensor, detrend: Detrend) -> Tensor:
    if callable(detrend):
        found: Any = detrend(frames)
        return torch.as_tensor(found, dtype=frames.dtype, device=frames.device)
    if detrend == "linear":
        n = frames.shape[-1]
        time = torch.arange(n, dtype=frames.real.dtype, device=frames.device) - (n - 1) / 2
        slope = (frames * time).sum(-1, keepdim=True) / time.square().sum().clamp_min(0.5)
        return frames - frames.mean(-1, keepdim=True) - slope * time
    return frames - frames.mean(-1, keepdim=True) if removes_mean(detrend) else frames


def _is_direct(detrend: Detrend) -> bool:
    """Whether operations have this way of detrending."""
    return not callable(detrend) and detrend != "linear"


def _near_one(x: Tensor) -> Tensor:
    """Rows divided by powers of two near their largest magnitudes, which no gradient follows, where those are far from
    1; rows of 0 and rows that are not finite as they are."""
    values = x.detach()
    parts = torch.maximum(values.real.abs(), values.imag.abs()) if x.is_complex() else values.abs()
    largest = parts.amax(-1, keepdim=True)
    # The power of two and its inverse are normal numbers.
    limits = torch.finfo(largest.dtype)
    bounded = largest.clamp(4 * limits.tiny, limits.max / 8)
    factor = torch.frexp(bounded).mantissa / bounded
    # A function as `detrend` gets other rows as they are, as it does from NumPy's arrays.
    is_far = ((largest < 2.0**-30) | (largest >= 2.0**31)) & (largest > 0) & largest.isfinite()
    return x * torch.where(is_far, factor, 1.0)


def _spectra_of(x: Tensor, segments: Segments, taper: Tensor, detrend: Detrend, is_two_sided: bool) -> Tensor:
    """Spectra ``[…, segments, bins]`` of the segments of rows."""
    frames = _detrended(x.unfold(-1, segments.length, segments.step), detrend) * taper
    return (_fft.fft if is_two_sided else _fft.rfft)(frames, segments.nfft)


def _doubled(power: Tensor, nfft: int) -> Tensor:
    """One-sided power: twice that of the bins that stand for two frequencies."""
    upper = (nfft + 1) // 2
    return torch.cat([power[..., :1], 2 * power[..., 1:upper], power[..., upper:]], -1)


def _factor(scaling: str, taper: Tensor, fs: float) -> Any:
    """Factor of power."""
    if scaling not in ("density", "spectrum", "power"):
        raise ValueError(f"scaling is {scaling!r}, but must be 'density', 'spectrum' or 'power'")
    if scaling == "power":
        return 1.0
    return 1 / (taper.square().sum() * float(fs)) if scaling == "density" else 1 / taper.sum().square()


def _each(x: Tensor, segments: Segments, taper: Tensor, detrend: Detrend, kind: Tuple[str, float, bool]) -> Tensor:
    """Power ``[…, segments, bins]`` of the segments of rows; `kind` is scaling, rate, and whether it is two-sided."""
    scaling, fs, is_two_sided = kind
    spectra = _spectra_of(x, segments, taper, detrend, is_two_sided)
    power = (spectra.real.square() + spectra.imag.square()) * _factor(scaling, taper, fs)
    return power if is_two_sided else _doubled(power, segments.nfft)


def _mean(x: Tensor, segments: Segments, taper: Tensor, options: Tuple[str, float, bool]) -> Tensor:
    """Mean one-sided power of the segments of real rows; `options` are scaling, rate, and whether means are removed."""
    number, step = segments.number(x.shape[-1]), segments.step
    scaling, fs, detrend = options

    def psd(x: Tensor, number: int) -> Tensor:
        text = _spectra._welch(0, segments.length, step, number, scaling, float(fs), detrend, None)
        return unflattened(apply("welch_psd " + text, rows(x, "x"), taper), x)

    if number <= _DIRECT or x.is_cuda:
        return psd(x, number)
    # Blocks of segments, which keep all threads busy.
    blocks, rest = divmod(number, _BLOCK)
    advance = _BLOCK * step
    power = psd(x.unfold(-1, advance + segments.overlap, advance)[..., :blocks, :], _BLOCK).mean(-2)
    if rest:
        power = (power * (blocks * _BLOCK) + psd(x[..., blocks * advance :], rest) * rest) / number
    return power


def _median(values: Tensor, dim: int) -> Tensor:
    """Median with the mean of the two in the middle of an even number, and NaN where one is."""
    n, ordered = values.shape[dim], values.sort(dim).values
    middle = (ordered.select(dim, (n - 1) // 2) + ordered.select(dim, n // 2)) / 2
    return middle.masked_fill(values.isnan().any(dim), float("nan"))


def _averaged_over(values: Tensor, dim: int, average: str) -> Tensor:
    """The mean, or the median without its bias, of real or complex values."""
    if average == "mean":
        return values.mean(dim)
    if values.is_complex():
        return torch.complex(*(_averaged_over(part, dim, average) for part in (values.real, values.imag)))
    return _median(values, dim) / median_bias(values.shape[dim])


def _check_average(average: str) -> None:
    if average not in ("mean", "median"):
        raise ValueError(f"average is {average!r}, but must be 'mean' or 'median'")


def _frequencies(segments: Segments, fs: float, is_two_sided: bool, like: Tensor) -> Tensor:
    """Frequencies of the bins in hertz, of float64."""
    frequencies = torch.fft.fftfreq if is_two_sided else torch.fft.rfftfreq
    return frequencies(segments.nfft, 1 / rate(fs), dtype=torch.float64, device=like.device)


def _times(count: int, step: float, first: float, fs: float, like: Tensor) -> Tensor:
    return (torch.arange(count, dtype=torch.float64, device=like.device) * step + first) / rate(fs)


def _welch(
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
) -> Tuple[Tensor, Segments, bool]:
    """Power, the segments, and whether it is two-sided."""
    _check_average(average)
    fs = rate(fs)
    x = _along(_numeric(x), axis)
    segments, taper = _framing(x, (window, nperseg, noverlap, nfft))
    is_two_sided = x.is_complex() or not return_onesided
    if average == "mean" and not is_two_sided and segments.nfft == segments.length and _is_direct(detrend):
        power = _mean(x, segments, taper, (scaling, fs, removes_mean(detrend)))
    else:
        each = _each(x, segments, taper, detrend, (scaling, fs, is_two_sided))
        power = _averaged_over(each, -2, average)
    return power.movedim(-1, axis), segments, is_two_sided


def welch(x: Any, fs: float = 1.0, *arguments: Any, **options: Any) -> Tuple[Tensor, Tensor]:
    """`firefly_fft.welch` of a tensor: frequencies and power, on its device."""
    power, segments, is_two_sided = _welch(x, fs, *arguments, **options)
    return _frequencies(segments, fs, is_two_sided, power), power


def periodogram(
    x: Any,
    fs: float = 1.0,
    window: Any = "boxcar",
    nfft: int | None = None,
    detrend: Detrend = "constant",
    return_onesided: bool = True,
    scaling: str = "density",
    axis: int = -1,
) -> Tuple[Tensor, Tensor]:
    """`firefly_fft.periodogram` of a tensor."""
    x = _along(_numeric(x), axis)
    if nfft is not None:
        x = x[..., : count(nfft, "nfft")]
    f, power = welch(x, fs, window, x.shape[-1] or None, 0, nfft, detrend, return_onesided, scaling)
    return f, power.movedim(-1, axis)


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
) -> Peaks:
    """`firefly_fft.welch_peaks` of a tensor; bins are of int64."""
    x, k = _along(_numeric(x), axis), count(k, "k")
    geometry, taper = _framing(x, (window, nperseg, noverlap, None))
    number = geometry.number(x.shape[-1])
    estimate = _Estimate(geometry, rate(fs), scaling, x.is_complex(), "cpu")
    searched = None if band is None else _bins_of(band, estimate)
    chosen = None if segments is None else segment_indices(segments, number)
    if not x.is_complex() and _is_direct(detrend) and (chosen or x.is_cuda or number <= _DIRECT):
        within = None if searched is None else (int(searched[0]), int(searched[-1]) + 1)
        options = (number, scaling, float(fs), removes_mean(detrend), within, chosen)
        text = _spectra._welch(0, geometry.length, geometry.step, *options)
        bins, power = apply(f"welch_peaks {text} {k} 0", rows(x, "x"), taper)
        return Peaks(unflattened(bins, x).movedim(-1, axis), unflattened(power, x).movedim(-1, axis))
    if not x.is_complex() and _is_direct(detrend):
        power = _mean(x, geometry, taper, (scaling, fs, removes_mean(detrend)))
    else:
        each = _each(x, geometry, taper, detrend, (scaling, fs, x.is_complex()))
        power = (each if chosen is None else each[..., list(chosen), :]).mean(-2)
    if searched is None:
        found = _spectra.top_k(power, k)
    else:
        places = torch.from_numpy(searched).to(x.device)
        bins, power = _spectra.top_k(power[..., places], k)
        found = _spectra.Peaks(torch.where(bins < 0, bins, places[bins.clamp_min(0)]), power)
    return Peaks(*(values.movedim(-1, axis) for values in found))


def welch_psd(x: Any, *arguments: Any, **options: Any) -> Tensor:
    """`firefly_fft.welch_psd` of a tensor."""
    return _welch(x, *arguments, **options)[0]


def spectrogram(
    x: Any,
    fs: float = 1.0,
    window: Any = ("tukey", 0.25),
    nperseg: int | None = None,
    noverlap: int | None = None,
    nfft: int | None = None,
    detrend: Detrend = "constant",
    return_onesided: bool = True,
    scaling: str = "density",
    axis: int = -1,
    mode: str = "psd",
) -> Tuple[Tensor, Tensor, Tensor]:
    """`firefly_fft.spectrogram` of a tensor."""
    x = _along(_numeric(x), axis)
    segments, taper = _framing(x, (window, nperseg, noverlap, nfft), 8)
    is_two_sided = x.is_complex() or not return_onesided
    if mode == "psd":
        spectra = _each(x, segments, taper, detrend, (scaling, fs, is_two_sided))
    elif mode in ("complex", "magnitude", "angle", "phase"):
        if scaling not in ("density", "spectrum"):
            raise ValueError(f"scaling is {scaling!r}, but must be 'density' or 'spectrum' with the mode {mode!r}")
        taper = taper * _factor(scaling, taper, fs).sqrt()
        spectra = _spectra_of(x, segments, taper, detrend, is_two_sided)
        if mode == "magnitude":
            spectra = spectra.abs()
        elif mode != "complex":
            spectra = spectra.angle()
        if mode == "phase":
            spectra = _unwrapped(spectra)
    else:
        raise ValueError(f"mode is {mode!r}, but must be 'psd', 'complex', 'magnitude', 'angle' or 'phase'")
    times = _times(spectra.shape[-2], segments.step, segments.length / 2, fs, x)
    return _frequencies(segments, fs, is_two_sided, x), times, _placed(spectra, axis)


def _placed(spectra: Tensor, axis: int) -> Tensor:
    """Spectra ``[…, times, bins]`` with the bins at `axis` of the signal and the times as the last dimension."""
    return spectra.movedim(-2, -1).movedim(-2, axis % (spectra.dim() - 1))


def _unwrapped(angle: Tensor) -> Tensor:
    """Angles along the last dimension without jumps of more than half a turn, as ``numpy.unwrap``."""
    steps = angle.diff(dim=-1)
    wrapped = (steps + torch.pi).remainder(2 * torch.pi) - torch.pi
    wrapped = wrapped.masked_fill((wrapped == -torch.pi) & (steps > 0), torch.pi)
    turns = (wrapped - steps).masked_fill(steps.abs() < torch.pi, 0.0)
    return angle + pad(turns.cumsum(-1), (1, 0))


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
) -> Tuple[Tensor, Tensor, Tensor]:
    """`firefly_fft.stft` of a tensor."""
    x = _along(_numeric(x), axis)
    segments, taper = _framing(x, (window, nperseg, noverlap, nfft))
    is_two_sided = x.is_complex() or not return_onesided
    signal = x if boundary is None else _extended(x, segments.length // 2, boundary)
    rest = (signal.shape[-1] - segments.length) % segments.step
    if padded and rest:
        signal = pad(signal, (0, segments.step - rest))
    if scaling not in ("spectrum", "psd"):
        raise ValueError(f"scaling is {scaling!r}, but must be 'spectrum' or 'psd'")
    scale = taper.sum() if scaling == "spectrum" else (taper.square().sum() * float(fs)).sqrt()
    spectra = _spectra_of(signal, segments, taper / scale, detrend, is_two_sided)
    first = 0 if boundary is not None else segments.length / 2
    times = _times(spectra.shape[-2], segments.step, first, fs, x)
    return _frequencies(segments, fs, is_two_sided, x), times, _placed(spectra, axis)


def _extended(x: Tensor, ends: int, boundary: str) -> Tensor:
    """Rows with `ends` samples more at each end."""
    if boundary not in ("zeros", "even", "odd", "constant"):
        raise ValueError(f"boundary is {boundary!r}, but must be one of 'zeros', 'even', 'odd', 'constant' or None")
    if boundary == "zeros" or ends == 0:
        return pad(x, (ends, ends))
    first, last = x[..., :1], x[..., -1:]
    if boundary == "constant":
        return torch.cat([first.expand(*x.shape[:-1], ends), x, last.expand(*x.shape[:-1], ends)], -1)
    if x.shape[-1] <= ends:
        raise ValueError(f"x has {x.shape[-1]} samples, but boundary {boundary!r} needs more than {ends}")
    before, after = x[..., 1 : ends + 1].flip(-1), x[..., -ends - 1 : -1].flip(-1)
    if boundary == "odd":
        before, after = 2 * first - before, 2 * last - after
    return torch.cat([before, x, after], -1)


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
) -> Tuple[Tensor, Tensor]:
    """`firefly_fft.istft` of a tensor. Samples that no window covers are warned of unless `window` is a tensor."""
    spectra = _numeric(Zxx, "Zxx")
    if spectra.dim() < 2:
        raise ValueError(f"Zxx has {spectra.dim()} dimensions, but must have frequencies and times")
    time, frequency = time_axis % spectra.dim(), freq_axis % spectra.dim()
    if time == frequency:
        raise ValueError(f"time_axis and freq_axis are both dimension {time}")
    known = np.ones(len(window)) if isinstance(window, Tensor) else window
    segments = _segments_of_spectra(spectra.shape[frequency], input_onesided, (known, nperseg, noverlap, nfft))
    taper = _taper(window, segments.length, spectra)
    spectra = spectra.movedim((time, frequency), (-2, -1))
    number, length = spectra.shape[-2], segments.length
    if number == 0:
        raise ValueError("Zxx is without times, but must have at least one")
    ends = length // 2 if boundary else 0
    total = length + (number - 1) * segments.step
    frames = _fft.irfft(spectra, segments.nfft) if input_onesided else _fft.ifft(spectra, segments.nfft)
    frames = frames[..., :length] * taper
    signal = _overlapped(frames.reshape(-1, number, length), segments.step)[:, ends : total - ends]
    envelope = _overlapped(taper.square().expand(1, number, length), segments.step)[:, ends : total - ends]
    is_covered = envelope > _MIN_ENVELOPE
    signal = signal / torch.where(is_covered, envelope, 1.0)
    _scale(segments, fs, scaling)  # Checks the scaling.
    signal = signal * (taper.sum() if scaling == "spectrum" else (taper.square().sum() * float(fs)).sqrt())
    if not isinstance(window, Tensor) and not _covers(segments, number, ends):
        warn("the windows do not cover every sample: those are not inverted")
    signal = signal.reshape(*spectra.shape[:-2], signal.shape[-1])
    return _times(signal.shape[-1], 1, 0, fs, signal), signal


def _covers(segments: Segments, number: int, ends: int) -> bool:
    """Whether the windows of `number` segments, without so many samples at both ends, cover every sample."""
    step, parts = segments.step, -(-segments.length // segments.step)
    # More segments only repeat what is in the middle of these.
    number = min(number, 2 * parts + 1)
    squares = np.pad(np.square(segments.window), (0, parts * step - segments.length)).reshape(parts, step)
    sums = np.zeros((number + parts - 1, step))
    for part, values in enumerate(squares):
        sums[part : part + number] += values
    total = segments.length + (number - 1) * step
    return bool((sums.reshape(-1)[ends : max(ends, total - ends)] > _MIN_ENVELOPE).all())


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
) -> Tuple[Tensor, Tensor]:
    """`firefly_fft.csd` of two tensors on one device."""
    if scaling not in ("density", "spectrum"):
        raise ValueError(f"scaling is {scaling!r}, but must be 'density' or 'spectrum'")
    _check_average(average)
    x, y = _pair(x, y, axis)
    is_two_sided = x.is_complex() or y.is_complex() or not return_onesided
    segments, taper = _framing(x, (window, nperseg, noverlap, nfft))
    factor = _factor(scaling, taper, fs)
    first, second = (_spectra_of(z, segments, taper.to(z.real.dtype), detrend, is_two_sided) for z in (x, y))
    cross = _averaged_over(first.conj() * second, -2, average) * factor
    cross = cross if is_two_sided else _doubled(cross, segments.nfft)
    return _frequencies(segments, fs, is_two_sided, x), cross.movedim(-1, axis)


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
) -> Tuple[Tensor, Tensor]:
    """`firefly_fft.coherence` of two tensors on one device."""
    x, y = _pair(x, y, axis)
    is_two_sided = x.is_complex() or y.is_complex()
    segments, taper = _framing(x, (window, nperseg, noverlap, nfft))
    first, second = (_spectra_of(_near_one(z), segments, taper.to(z.real.dtype), detrend, is_two_sided) for z in (x, y))
    cross = (first.conj() * second).mean(-2).abs()
    roots = ((z.real.square() + z.imag.square()).mean(-2).sqrt() for z in (first, second))
    squared = (cross / next(roots) / next(roots)).square()
    return _frequencies(segments, fs, is_two_sided, x), squared.movedim(-1, axis)


def _pair(x: Any, y: Any, axis: int) -> Tuple[Tensor, Tensor]:
    """Two signals of one shape, with their samples along the last dimension."""
    x, y = _along(_numeric(x), axis), _along(_numeric(y, "y"), axis, "y")
    if x.device != y.device:
        raise ValueError(f"y is on {y.device}, but x on {x.device}")
    if x.shape[-1] != y.shape[-1]:
        raise ValueError(f"y has {y.shape[-1]} samples along the axis, but must have those of x, {x.shape[-1]}")
    first, second = torch.broadcast_tensors(x, y)
    return first, second


def hilbert(x: Any, N: int | None = None, axis: int = -1) -> Tensor:
    """`firefly_fft.hilbert` of a tensor."""
    x = _along(_real(x), axis)
    n = x.shape[-1] if N is None else count(N, "N")
    spectrum = _fft.rfft(x, n)
    # The frequencies above half of the rate are zero.
    whole = pad(_doubled(spectrum, n), (0, n - spectrum.shape[-1]))
    return _fft.ifft(whole).movedim(-1, axis)


def mel(x: Any, fs: float, *arguments: Any, **options: Any) -> Tensor:
    """`firefly_fft.mel` of a tensor."""
    return _bands(_spectra.mel, x, fs, *arguments, **options)


def log_mel(x: Any, fs: float, *arguments: Any, **options: Any) -> Tensor:
    """`firefly_fft.log_mel` of a tensor."""
    return _bands(_spectra.log_mel, x, fs, *arguments, **options)


def _bands(
    function: Any,
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
    **logarithm: Any,
) -> Tensor:
    x = _real(x)
    frames = _mel._frames(n_fft, hop_length, center, pad_mode, power)
    bands = _mel._bands(fs, n_mels, fmin, fmax, htk, norm)
    n_fft, hop = frames["n_fft"], frames["hop_length"]
    taper = _taper(window, n_fft if win_length is None else count(win_length, "win_length"), x)
    if len(taper) > n_fft:
        raise ValueError(f"window has {len(taper)} coefficients, but must have at most n_fft, {n_fft}")
    of_bands = {"power": power, "fmin": fmin, "fmax": fmax, "htk": htk, "norm": norm, **logarithm}
    found = function(x, fs, bands["n_mels"], n_fft, hop, None, taper, center=center, pad_mode=pad_mode, **of_bands)
    _mel._warn_of_empty(n_fft, bands)
    return found


def top_k(x: Any, k: int, axis: int = -1) -> TopK:
    """`firefly_fft.top_k` of a tensor; indices are of int64."""
    found = _spectra.top_k(_along(_real(x), axis), count(k, "k"))
    return TopK(*(values.movedim(-1, axis) for values in found))


def local_maxima(
    x: Any,
    k: int,
    height: float | None = None,
    distance: float | None = None,
    prominence: float | None = None,
    *,
    interpolation: str = "log_parabola",
    axis: int = -1,
) -> LocalMaxima:
    """`firefly_fft.local_maxima` of a tensor; bins are of int64."""
    x = _along(_real(x), axis)
    found = _spectra.local_maxima(x, count(k, "k"), **conditions_of(height, distance, prominence, interpolation))
    return LocalMaxima(*(values.movedim(-1, axis) for values in found))


def _one(transform: Any, x: Tensor, n: Any, axis: int, norm: str | None) -> Tensor:
    """A transform along one axis."""
    return transform(_checked(x, axis), None if n is None else count(n, "n"), axis, norm)


def _several(transform: Any, x: Tensor, s: Any, axes: Any, norm: str | None) -> Tensor:
    """A transform along several axes."""
    for axis in () if axes is None else axes:
        _checked(x, axis, name="axes")
    return transform(x, s, axes, norm)


def fft(x: Any, n: Any = None, axis: int = -1, norm: str | None = None) -> Tensor:
    """`firefly_fft.fft.fft` of a tensor, as those below are the functions of their names."""
    return _one(_fft.fft, _numeric(x), n, axis, norm)


def ifft(x: Any, n: Any = None, axis: int = -1, norm: str | None = None) -> Tensor:
    return _one(_fft.ifft, _numeric(x), n, axis, norm)


def rfft(x: Any, n: Any = None, axis: int = -1, norm: str | None = None) -> Tensor:
    return _one(_fft.rfft, _real(x), n, axis, norm)


def irfft(x: Any, n: Any = None, axis: int = -1, norm: str | None = None) -> Tensor:
    return _one(_fft.irfft, _numeric(x), n, axis, norm)


def hfft(x: Any, n: Any = None, axis: int = -1, norm: str | None = None) -> Tensor:
    return _one(_fft.irfft, _numeric(x).conj(), n, axis, _INVERTED.get(norm, norm))


def ihfft(x: Any, n: Any = None, axis: int = -1, norm: str | None = None) -> Tensor:
    return _one(_fft.rfft, _real(x), n, axis, _INVERTED.get(norm, norm)).conj().resolve_conj()


def fftn(x: Any, s: Any = None, axes: Any = None, norm: str | None = None) -> Tensor:
    return _several(_fft.fftn, _numeric(x), s, axes, norm)


def ifftn(x: Any, s: Any = None, axes: Any = None, norm: str | None = None) -> Tensor:
    return _several(_fft.ifftn, _numeric(x), s, axes, norm)


def rfftn(x: Any, s: Any = None, axes: Any = None, norm: str | None = None) -> Tensor:
    return _several(_fft.rfftn, _real(x), s, axes, norm)


def irfftn(x: Any, s: Any = None, axes: Any = None, norm: str | None = None) -> Tensor:
    return _several(_fft.irfftn, _numeric(x), s, axes, norm)


def fft2(x: Any, s: Any = None, axes: Any = (-2, -1), norm: str | None = None) -> Tensor:
    return fftn(x, s, axes, norm)


def ifft2(x: Any, s: Any = None, axes: Any = (-2, -1), norm: str | None = None) -> Tensor:
    return ifftn(x, s, axes, norm)


def rfft2(x: Any, s: Any = None, axes: Any = (-2, -1), norm: str | None = None) -> Tensor:
    return rfftn(x, s, axes, norm)


def irfft2(x: Any, s: Any = None, axes: Any = (-2, -1), norm: str | None = None) -> Tensor:
    return irfftn(x, s, axes, norm)
