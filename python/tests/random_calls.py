"""Random calls of the package's functions, compared with definitions in float64 by NumPy and SciPy, or written out.

    pip install scipy
    python tests/random_calls.py [--calls 100000] [--seed 0] [--only welch fft.rfft] [--seconds 600]

Shapes, axes, options, layouts, types and values are random: those of a call follow from `--seed` and its number. Where
PyTorch is installed, some are tensors on the CPU. A call must give the values, shapes and types of its definition,
refuse what that refuses by an error that names an argument, and leave its input as it was; where a row has a value that
is not finite, the definition says which results are not finite either, or all of the row may be NaN. A failure is a
line with the options that repeat it; a call that ends or halts the process is one, too. The table at the end has the
largest errors in float32 and float64, relative to the largest value of the row, and for power the root of it.
"""

from __future__ import annotations

import argparse
import inspect
import math
import multiprocessing
import queue
import random
import re
import sys
import time
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Callable

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))

import definitions as of
from definitions import Expected, Strongest, largest

import firefly_fft as ff

try:
    import torch
except ImportError:
    torch = None  # type: ignore[assignment]

PATIENCE = 120.0  # Seconds after which a call counts as one that never ends.
NAMES = ("boxcar", "hann", "hamming", "blackman", "nuttall", "blackmanharris", "flattop", ("tukey", 0.3), "bartlett")
WINDOWS = (*NAMES[:-1], ("kaiser", 8.6), ("gaussian", 20.0), ("kaiser", 0.0), ("tukey", 1.0), "hann_symmetric")
RUBBISH = (0, -1, -3, 2.5, math.nan, "rubbish", None)


class Draw:
    """Choices of one call."""

    def __init__(self, seed: int, call: int) -> None:
        self.random = random.Random(f"{seed} {call}")
        self.numbers = np.random.default_rng(self.random.getrandbits(64))

    def chance(self, probability: float) -> bool:
        return self.random.random() < probability

    def pick(self, *values: Any) -> Any:
        return self.random.choice(values)

    def whole(self, low: int, high: int) -> int:
        return self.random.randint(low, max(low, high))

    def size(self, low: int, high: int) -> int:
        """A length, of each order of magnitude as often."""
        return low if high <= low else int(math.exp(self.random.uniform(math.log(low), math.log(high + 0.999))))

    def some(self, **options: Any) -> dict[str, Any]:
        """Options, about half of them."""
        return {name: value for name, value in options.items() if self.chance(0.5)}

    def window(self, n: int) -> Any:
        return self.pick(*WINDOWS) if self.chance(0.8) else self.numbers.uniform(0.1, 1, n)

    def framing(self, n: int, nfft: bool = True) -> dict[str, Any]:
        """Window, length, overlap and points of segments of `n` samples."""
        options = {"window": self.window(self.size(1, n))} if self.chance(0.7) else {}
        length = min(256, n)
        if isinstance(options.get("window"), np.ndarray):
            length = len(options["window"])
        elif self.chance(0.7):
            options["nperseg"] = self.size(1, n + n // 20)
            length = min(options["nperseg"], n)
        # A thousand segments at most, so that a call takes no longer than others.
        options |= self.some(noverlap=self.whole(0, max(0, length - 1 - n // 1000)))
        return options | (self.some(nfft=length + self.size(1, length) - 1) if nfft else {})

    def array(self, shape: tuple[int, ...], dtype: str, digits: int) -> Any:
        """Values of one kind."""
        kind, complex_, n = self.pick(*KINDS), dtype[0] == "c", max(1, math.prod(shape))

        def real() -> Any:
            noise = np.asarray(self.numbers.standard_normal(shape))
            index = np.arange(math.prod(shape)).reshape(shape)
            return {
                "noise": lambda: noise,
                "offset": lambda: noise + 100,
                "tone": lambda: np.cos(self.random.uniform(0, np.pi) * index) + 1e-4 * noise,
                "constant": lambda: np.full(shape, self.random.uniform(-9, 9)),
                "zeros": lambda: np.zeros(shape),
                "impulse": lambda: (index == self.whole(0, n - 1)).astype(float),
                "steps": lambda: np.round(noise),
            }[kind]()

        x = np.asarray(real() + 1j * real() if complex_ else real())
        digits = 4 if dtype == "f2" else digits if dtype[0] in "fc" else 0
        if self.chance(0.2) and digits:
            x = np.asarray(x) * 10 ** self.random.uniform(-digits, digits - 2 * (dtype == "f2"))
        if self.chance(0.03) and digits > 12:
            x = x * (1e-309 if dtype in ("f8", "c16") else 1e-40)
        if self.chance(0.05) and digits:
            x = np.array(x)
            x.reshape(-1)[self.numbers.integers(0, n, self.whole(1, 3)) if x.size else []] = self.pick(
                np.nan, np.inf, -np.inf
            )
        if dtype == "?":
            return np.asarray(x > 0)
        x = np.asarray(x)
        with np.errstate(over="ignore", invalid="ignore"):
            if dtype[0] in "iu":
                x = np.clip(np.rint(30 * x), 0 if dtype == "u1" else -32768, 255)
            return np.asarray(x).astype(dtype)

    def laid_out(self, x: Any) -> Any:
        """The same values in another layout."""
        if not x.ndim:
            return x
        layout = self.pick(
            "plain", "plain", "plain", "fortran", "reversed", "strided", "unaligned", "readonly", "swapped"
        )
        if layout == "fortran":
            return np.asfortranarray(x)
        if layout == "reversed":
            return np.ascontiguousarray(x[..., ::-1])[..., ::-1] if x.ndim else x
        if layout == "strided":
            return np.repeat(x, 2, axis=-1)[..., ::2] if x.ndim else x
        if layout == "unaligned":
            raw = np.zeros(x.nbytes + 1, np.uint8)
            view = raw[1:].view(x.dtype).reshape(x.shape) if x.nbytes else x
            view[...] = x
            return view
        if layout == "swapped":
            return x.astype(x.dtype.newbyteorder())
        if layout == "readonly" and x.ndim:
            x.flags.writeable = False
        return x


# Options of which any value means something here, or that definitions need.
FIXED = ("sym", "fftbins", "htk", "kernel", "cuts", "orthogonalize", "w", "a", "squared", "endpoint", "padded")
NEEDED = (("istft", "nperseg"), ("zoom_fft", "fs"))
KINDS = ("noise",) * 4 + ("offset", "tone", "constant", "zeros", "impulse", "steps")


@dataclass(frozen=True)
class Function:
    """How arguments are drawn of the samples along the axis, and what the results of a call are.

    `kinds` are the types of input that it takes, `signals` how many; `axes` how many dimensions behind the leading
    ones the results have; `factor` is that of the tolerance of a transform.
    """

    options: Callable[[Draw, int], dict[str, Any]]
    define: Callable[..., list[Any]]
    complex: bool = True
    signals: int = 1
    factor: float = 2.0
    axis: bool = True
    several: bool = False
    tensors: bool = True
    double: float = 1.0
    more: int = 0


def blocks(block: Any, kernel: Any, cuts: Any) -> Any:
    """`OverlapSave` of the parts of a signal."""
    convolution = ff.OverlapSave(kernel)
    return np.concatenate([convolution(part) for part in np.split(block, cuts, axis=-1)], axis=-1)


# --- Arguments: what is drawn of them, of `n` samples. ---

RATE = (1.0, 8000.0, 22050.0, 0.5)


def of_norm(d: Draw, n: int) -> dict[str, Any]:
    return d.some(norm=d.pick(None, "backward", "ortho", "forward"))


def of_trend(d: Draw, n: int) -> dict[str, Any]:
    return d.some(type=d.pick("constant", "linear"), bp=d.whole(0, n))


def of_transform(d: Draw, n: int) -> dict[str, Any]:
    return d.some(n=d.size(1, 2 * n), norm=d.pick(None, "backward", "ortho", "forward"))


def of_trigonometric(d: Draw, n: int) -> dict[str, Any]:
    given = of_transform(d, n) | d.some(type=d.pick(1, 2, 3, 4), orthogonalize=d.pick(None, True, False))
    return given


def of_power(d: Draw, n: int) -> dict[str, Any]:
    trend = d.pick("constant", "linear", False)
    return d.framing(n) | d.some(fs=d.pick(*RATE), scaling=d.pick("density", "spectrum"), detrend=trend)


def of_welch(d: Draw, n: int) -> dict[str, Any]:
    return of_power(d, n) | d.some(average=d.pick("mean", "median"), return_onesided=d.pick(True, False))


def of_periodogram(d: Draw, n: int) -> dict[str, Any]:
    given = of_power(d, n) | d.some(return_onesided=d.pick(True, False))
    window = {"window": d.pick(*WINDOWS)} if d.chance(0.5) else {}
    return (
        {name: given[name] for name in given if name not in ("nperseg", "noverlap", "nfft", "window")}
        | window
        | (d.some(nfft=d.size(1, 2 * n)))
    )


def of_stft(d: Draw, n: int) -> dict[str, Any]:
    given = of_power(d, n) | d.some(boundary=d.pick(None, "zeros", "even", "odd", "constant"), padded=d.chance(0.5))
    return {**given, "scaling": d.pick("spectrum", "psd")} | d.some(return_onesided=d.chance(0.5))


def of_ratio(d: Draw, n: int) -> dict[str, Any]:
    given = of_power(d, n)
    given.pop("scaling", None)
    return given


def of_peaks(d: Draw, n: int) -> dict[str, Any]:
    given = of_power(d, n)
    given.pop("nfft", None)
    given = {"k": d.size(1, 5), **given}
    # Some segments are averaged of 128 at most, and with the mean subtracted at most.
    return given if given.get("detrend") == "linear" or n > 128 else given | d.some(segments=d.size(1, 2))


def of_mel(d: Draw, n: int) -> dict[str, Any]:
    n_fft, fs = d.size(1, min(2 * n, 512)), d.pick(8000.0, 22050.0)
    given = {"fs": fs, "n_fft": n_fft, "n_mels": d.size(1, 60), "hop_length": d.size(max(1, n // 100), n)}
    given |= d.some(win_length=d.size(1, n_fft), window=d.pick(*WINDOWS), center=d.chance(0.5), htk=d.chance(0.5))
    given |= d.some(fmin=d.pick(0.0, 20.0, 300.0), fmax=d.pick(3000.0, fs / 2), norm=d.pick(None, "slaney"))
    return given | d.some(power=d.pick(1.0, 2.0), pad_mode=d.pick("constant", "reflect", "edge", "wrap"))


def of_filters(d: Draw, n: int) -> dict[str, Any]:
    names = "fs", "n_fft", "n_mels", "fmin", "fmax", "htk", "norm"
    return {name: value for name, value in of_mel(d, n).items() if name in names}


def of_sequences(d: Draw, n: int) -> dict[str, Any]:
    return {"M": d.size(2, 1000), "NW": d.pick(1.5, 2.5, 4.0)} | d.some(Kmax=d.whole(1, 7), sym=d.chance(0.5))


def of_matrix(d: Draw, n: int) -> dict[str, Any]:
    given = of_ratio(d, n)
    return {name: given[name] for name in given if name != "nfft"}


def of_feature(d: Draw, n: int) -> dict[str, Any]:
    n_fft = d.size(2, min(2 * n + 2, 512))
    given = {"n_fft": n_fft, "hop_length": d.size(max(1, n // 100), n), "sr": d.pick(8000.0, 22050.0)}
    return given | d.some(win_length=d.size(1, n_fft), window=d.pick(*WINDOWS), center=d.chance(0.5))


def of_envelope(d: Draw, n: int) -> dict[str, Any]:
    low = d.whole(1, max(1, n // 2 - 1))
    given = d.some(bp_in=(low, d.pick(None, d.whole(low + 1, (n + 1) // 2))), squared=d.chance(0.5))
    return given | d.some(residual=d.pick("lowpass", "all", None), n_out=d.size(1, 2 * n))


def of_istft(d: Draw, bins: int) -> dict[str, Any]:
    n = 2 * (bins - 1) + d.pick(0, 1)
    given = {"nperseg": n, **d.some(fs=d.pick(*RATE), boundary=d.chance(0.5), scaling=d.pick("spectrum", "psd"))}
    return given | d.some(noverlap=d.whole(0, n - 1), window=d.pick("hann", "hamming", "boxcar", ("tukey", 0.3)))


def of_blocks(d: Draw, n: int) -> dict[str, Any]:
    return {
        "kernel": d.numbers.standard_normal(d.size(1, 300)),
        "cuts": sorted({d.whole(1, n - 1) for _ in range(2)} if n > 1 else ()),
    }


def of_maxima(d: Draw, n: int) -> dict[str, Any]:
    return {"k": d.size(1, min(n, 50))} | d.some(
        height=d.random.gauss(0, 1), distance=d.random.uniform(1, 9), prominence=d.random.uniform(0, 2)
    )


def of_multitaper(d: Draw, n: int) -> dict[str, Any]:
    return d.some(
        fs=d.pick(*RATE),
        NW=d.pick(1.5, 2.0, 2.5, 3.5, 4.0),
        Kmax=d.whole(1, 5),
        tapers=d.pick("dpss", "sine"),
        detrend=d.pick("constant", "linear", False),
    )


def of_mne(d: Draw, n: int) -> dict[str, Any]:
    rate = d.pick(1.0, 250.0)
    return {"sfreq": rate} | d.some(
        fmin=0.1 * rate,
        fmax=0.3 * rate,
        bandwidth=rate * d.random.uniform(2, 12) / n,
        normalization=d.pick("length", "full"),
        low_bias=d.chance(0.5),
        remove_dc=d.chance(0.5),
    )


def of_czt(d: Draw, n: int) -> dict[str, Any]:
    given = {"m": d.size(1, max(1, min(2 * n, 100_000 // n)))} if n > 300 or d.chance(0.5) else {}
    # Numbers of magnitude 1 in a definition that knows their angles alone.
    w, a = (complex(np.exp(1j * d.random.uniform(-3, 3))) for _ in range(2))
    return given | d.some(w=w, a=a)


def of_zoom(d: Draw, n: int) -> dict[str, Any]:
    low = d.random.uniform(0, 0.5)
    fs = d.pick(2.0, 48000.0)
    return {"fn": [low * fs, (low + d.random.uniform(0.01, 0.4)) * fs], "fs": fs} | d.some(
        m=d.size(2, 2 * n), endpoint=True
    )


def of_rates(d: Draw, n: int) -> dict[str, Any]:
    given: dict[str, Any] = {"up": d.size(1, 12), "down": d.size(1, 12)}
    given |= d.some(window=d.pick("hamming", ("kaiser", 3.0), d.numbers.uniform(0, 1, d.size(1, 30))))
    return given | d.some(padtype=d.pick("constant", "mean", "median", "minimum", "maximum"))


FUNCTIONS: dict[str, Function] = {
    **{f"fft.{name}": Function(of_transform, of.fourier(name), complex=name not in ("rfft", "ihfft"), factor=1.0)
       for name in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft")},
    **{f"fft.{name}": Function(of_norm, of.fourier_n(name), several=True, axis=False, complex=name[0] != "r")
       for name in ("fft2", "ifft2", "rfft2", "irfft2", "fftn", "ifftn", "rfftn", "irfftn")},
    **{f"fft.{name}": Function(of_trigonometric, of.trigonometric(name), tensors=False)
       for name in ("dct", "idct", "dst", "idst")},
    "hilbert": Function(lambda d, n: d.some(N=d.size(1, 2 * n)), of.hilbert, complex=False),
    "envelope": Function(of_envelope, of.envelope, complex=False, tensors=False, factor=4),
    "czt": Function(of_czt, of.czt, tensors=False, factor=4, double=100),
    "zoom_fft": Function(of_zoom, of.zoom_fft, tensors=False, factor=4, double=100),
    "resample": Function(lambda d, n: {"num": d.size(1, 2 * n)}, of.resample, tensors=False),
    "resample_poly": Function(of_rates, of.resample_poly, tensors=False, factor=4),
    "detrend": Function(of_trend, of.detrend, tensors=False),
    "real_cepstrum": Function(lambda d, n: d.some(n=d.size(1, 2 * n)), of.real_cepstrum, complex=False, tensors=False),
    "minimum_phase": Function(lambda d, n: {}, of.minimum_phase, complex=False, tensors=False),
    "OverlapSave": Function(of_blocks, of.overlap_save, complex=False, tensors=False, axis=False),
    "welch": Function(of_welch, of.welch, factor=4),
    "periodogram": Function(of_periodogram, of.periodogram, factor=4),
    "spectrogram": Function(of_power, of.spectrogram, factor=4, more=1),
    "stft": Function(of_stft, of.stft, factor=4, more=1),
    "istft": Function(of_istft, of.istft, factor=4, axis=False),
    "welch_psd": Function(of_welch, lambda x, **given: of.welch(x, **given)[1:], factor=4),
    "get_window": Function(lambda d, n: {"window": d.pick(*WINDOWS), "Nx": max(n, 1)} | d.some(fftbins=d.chance(0.5)),
                           of.get_window, signals=0, axis=False),
    "dpss": Function(of_sequences, of.dpss, signals=0, axis=False),
    "mel_filters": Function(of_filters, of.mel_filters, signals=0, axis=False),
    "coherence_matrix": Function(of_matrix, of.coherence_matrix, complex=False, tensors=False, axis=False, factor=8,
                                 more=1),
    "csd": Function(of_welch, of.csd, signals=2, factor=4),
    "coherence": Function(of_ratio, of.ratio("coherence"), signals=2, factor=8),
    "transfer_function": Function(lambda d, n: of_ratio(d, n) | d.some(estimator=d.pick("H1", "H2")), of.ratio("H"),
                                  signals=2, factor=8, complex=False, tensors=False),
    "welch_peaks": Function(of_peaks, of.welch_peaks, factor=4),
    "top_k": Function(lambda d, n: {"k": d.size(1, n)}, of.top_k, complex=False),
    "local_maxima": Function(of_maxima, of.local_maxima, complex=False),
    "mel": Function(of_mel, of.mel, complex=False, axis=False, factor=4, double=8, more=1),
    "log_mel": Function(lambda d, n: of_mel(d, n) | {"log": d.pick("decibel", "natural", "ten")}, of.mel, complex=False,
                        axis=False, factor=16, double=8, more=1),
    "multitaper": Function(of_multitaper, of.multitaper, complex=False, tensors=False, factor=4, double=1000),
    "psd_array_multitaper": Function(of_mne, of.psd_array_multitaper, complex=False, tensors=False, axis=False,
                                     factor=4, double=1000),
    **{f"spectral_{kind}": Function(of_feature, of.feature(kind), complex=False, tensors=False, axis=False, factor=8,
                                    more=1, double=100)
       for kind in ("centroid", "bandwidth", "kurtosis", "rolloff", "flatness")},
}  # fmt: skip


# --- Judgement ---


@dataclass
class Tally:
    """What a function's calls came to; the largest errors in float32 and float64."""

    calls: int = 0
    refused: int = 0
    single: float = 0.0
    double: float = 0.0

    def add(self, other: Tally) -> None:
        self.calls, self.refused = self.calls + other.calls, self.refused + other.refused
        self.single, self.double = max(self.single, other.single), max(self.double, other.double)


def tolerance(points: int, function: Function, is_single: bool) -> float:
    """Relative tolerance of a transform in float32, of docs/guide/trust.md, and of as many digits in float64."""
    rough = points
    for prime in (2, 3, 5, 7, 11, 13):
        while rough % prime == 0:
            rough //= prime
    single = (2e-6 + 5e-7 * math.log10(points)) * function.factor * (2 if rough > 1 else 1)
    return single if is_single else single * 2.0**-26 * function.double


@dataclass
class Judge:
    """The type of a call's input, which rows hold values that are not finite, and if digits are left in denormals."""

    function: Function
    is_single: bool
    is_tensor: bool
    bad: Any
    is_denormal: bool

    def wrong(self, expected: Any, got: Any) -> tuple[float, str]:
        """The largest error of a result, and what is wrong with it."""
        values, got = np.asarray(expected.values), np.asarray(got)
        if got.shape != values.shape:
            return 0.0, f"has the shape {got.shape}, not {values.shape}"
        if expected.exact:
            atol = 1e-9 * float(largest(values, None).max(initial=0))
            is_close = np.allclose(got, values, rtol=1e-9, atol=atol, equal_nan=True)
            return 0.0, "" if got.dtype == np.float64 and is_close else "differs from the definition"
        bad = np.broadcast_to(self.bad, values.shape)
        if values.dtype.kind == "i":
            is_same = (got == values) | bad
            return 0.0, "" if got.dtype in (np.int32, np.int64) and is_same.all() else "is of other bins"
        limits = np.finfo(np.float32 if self.is_single else np.float64)
        scale = np.broadcast_to(largest(values) if expected.scale is None else expected.scale, values.shape)
        size = np.abs(values)
        # Float32 can't hold all power: then it is of float64. Parts of complex numbers may be rounding.
        spread = 1e-15 if values.dtype.kind == "c" else 1e-37
        is_lost = expected.wide or (
            not self.is_tensor and bool(((size > 1 / spread) | (size < spread) | np.isinf(scale)).any())
        )
        kinds = (np.complex64, np.complex128) if values.dtype.kind == "c" else (np.float32, np.float64)
        if got.dtype not in (kinds if self.is_single and is_lost else kinds[not self.is_single :][:1]):
            return 0.0, f"is of {got.dtype}"
        wide, floor = got.astype(kinds[1]), 4 * limits.tiny
        is_over = size > 0.5 * (limits.max if got.dtype == kinds[not self.is_single] else 1e308)
        if expected.root:
            wide, values = np.sqrt(wide), np.sqrt(values)
            floor = math.sqrt(limits.tiny) if self.is_tensor or not self.is_single else 1e-37
        is_judged = np.isfinite(scale) & ~(bad & (scale == 0)) & ~is_over
        if (is_judged & np.isfinite(values) & ~np.isfinite(wide) & ~bad).any():
            return 0.0, "is not finite where the definition is"
        if (is_judged & ~np.isfinite(values) & np.isfinite(wide)).any():
            return 0.0, "is finite where the definition is not"
        is_judged &= np.isfinite(values) & np.isfinite(wide)
        error = np.where(is_judged, np.maximum(np.abs(wide - values) - floor, 0), 0)
        worst = 0.0 if self.is_denormal else float(np.where(error > 0, error / scale, 0).max(initial=0))
        allowed = tolerance(expected.points or max(2, values.shape[-1]), self.function, self.is_single)
        return worst, "" if worst <= allowed else f"has an error of {worst:.1e} of the largest, more than {allowed:.1e}"

    def wrong_peaks(self, expected: Strongest, bins: Any, power: Any) -> tuple[float, str]:
        """The largest error of the strongest bins, among which rounding may decide."""
        candidates = np.where(expected.inside, expected.power, np.nan)
        shape, worst = (*candidates.shape[:-1], expected.k), 0.0
        if (bins.shape, power.shape) != (shape, shape):
            return 0.0, f"has the shapes {bins.shape} and {power.shape}, not {shape}"
        is_wide = not self.is_tensor and bool((expected.power < 1e-37).any())
        of_row = Judge(self.function, self.is_single, self.is_tensor, False, self.is_denormal)
        for index in np.ndindex(shape[:-1]):
            row, found = candidates[index], bins[index]
            if self.bad[index].any() or np.isnan(row).all():
                continue
            if (found < 0).any() or len(set(found.tolist())) < len(found) or np.isnan(row[found]).any():
                return 0.0, f"has the bins {found.tolist()}"
            strongest = row[np.argsort(-np.where(np.isnan(row), -1, row), kind="stable")[: expected.k]]
            for values in (row[found], strongest):
                wanted = Expected(values, expected.scale[index], root=True, wide=is_wide)
                error, wrong = of_row.wrong(wanted, power[index])
                worst = max(worst, error)
                if wrong:
                    return worst, wrong
        return worst, ""


# --- Calls ---


def arguments_of(d: Draw, name: str, function: Function) -> tuple[tuple[int, ...], dict[str, Any]]:
    """Shape of the inputs of a call, and its options."""
    is_long = d.chance(1 / 5000)
    n = d.size(1 << 16, 1 << 20) if is_long else d.pick(d.size(1, 16), d.size(1, 300), d.size(1, 3000))
    leading = () if is_long else tuple(d.whole(1, 4) for _ in range(d.pick(0, 0, 1, 1, 2, 3)))
    while math.prod(leading) * n > 6000 and leading:
        leading = leading[1:]
    if d.chance(0.01) and leading:
        leading = (0, *leading[1:])
    options = function.options(d, n)
    shape = (*leading, 0 if d.chance(0.01) else n)
    if name == "istft" or (name.startswith("spectral_") and d.chance(0.5)):
        shape = (*leading[-1:], max(1 + (name == "istft"), min(n, 257)), d.size(1, 20))
        options = of_istft(d, shape[-2]) if name == "istft" else {key: options[key] for key in options if key == "sr"}
    elif function.several:
        shape = tuple(min(length, 60) for length in (*leading, d.size(1, 60), shape[-1]))
        axes = d.random.sample(range(-len(shape), 0), 2 if name[-1] == "2" else d.whole(1, len(shape)))
        options |= {"axes": axes} | d.some(s=[d.size(1, 60) for _ in axes])
    if not function.signals:
        shape = (1,)
    if name == "spectral_flatness":
        options.pop("sr")
    elif name == "spectral_rolloff":
        options |= d.some(roll_percent=d.random.uniform(0, 1))
    if function.axis and (len(shape) > 1 or name.startswith("resample")):
        place = d.pick(-1, d.whole(-len(shape), -1)) + len(shape)
        shape = (*shape[:place], shape[-1], *shape[place:-1])
        options["axis"] = d.pick(place, place - len(shape))
    return (() if d.chance(0.003) and function.signals and name != "OverlapSave" else shape), options


def described(values: Any) -> str:
    shape = getattr(values, "shape", ())
    return f"{values.dtype}{list(shape)}" if len(shape) else repr(values)


def target_of(name: str) -> Callable[..., Any]:
    target: Any = ff
    for part in name.split("."):
        target = getattr(target, part)
    return blocks if name == "OverlapSave" else target


def one_call(name: str, seed: int, call: int, tally: Tally) -> str:
    """What is wrong with a call, if anything."""
    d, function = Draw(seed, call), FUNCTIONS[name]
    is_tensor = torch is not None and function.tensors and d.chance(0.2)
    dtype = d.pick("f4", "f4", "f8", "f8", "f2", "i4", "i2", "u1", "?", *("c8", "c16") * 2)
    if dtype[0] == "c" and not function.complex and d.chance(0.9):
        dtype = d.pick("f4", "f8")
    shape, options = arguments_of(d, name, function)
    signals = [d.array(shape, dtype, 12 if is_tensor else 30) for _ in range(function.signals)]
    is_spectrum = name.startswith("spectral_") and "n_fft" not in options
    if is_spectrum and dtype[0] in "fi":
        signals = [np.abs(x) for x in signals]
    known = [key for key in options if key not in FIXED and (name, key) not in NEEDED and (not is_tensor or key != "s")]
    spoiled = d.pick(*known) if known and d.chance(0.06) else None
    if spoiled:
        options[spoiled] = d.pick(*RUBBISH)
    given = [torch.from_numpy(np.array(x, order=d.pick("C", "F"))) if is_tensor else d.laid_out(x) for x in signals]
    names = (
        ("S" if is_spectrum else "y",)
        if name.startswith("spectral_")
        else list(inspect.signature(target_of(name)).parameters)
    )
    passed = {**dict(zip(names, given)), **options}
    before = [np.asarray(x).tobytes() for x in given]
    text = f"({', '.join(f'{key}={described(value)}' for key, value in passed.items())})"

    # The signals in float64 with their samples last, and what they are by the definition.
    axis = options.pop("axis", -1) if function.axis else -1
    wide = [x.astype(complex if dtype[0] == "c" else float) for x in signals]
    is_axis = isinstance(axis, int) and -len(shape) <= axis < len(shape)
    must_refuse = not is_axis or (dtype[0] == "c" and not function.complex)
    # Rows without samples are refused, arrays without rows have results without rows.
    without = is_axis and (shape[axis] == 0 or (is_spectrum and 0 in shape[-2:]))
    expected: Any = None
    if is_axis:
        wide = [np.moveaxis(x, axis, -1) for x in wide]
    if not must_refuse and not without and 0 not in shape:
        try:
            expected = function.define(**dict(zip(names, wide)), **options)
        except Exception:
            must_refuse = True
    try:
        got = target_of(name)(**passed)
    except (ValueError, TypeError) as error:
        tally.refused += 1
        parameters = "|".join([*names, "y", "S", "n", "axis"])
        # That a value is of another type Python itself may say.
        if not spoiled and not re.search(rf"\b({parameters})\b|`\w+`", str(error)):
            return f"{text} is refused without the name of an argument: {type(error).__name__}: {error}"
        is_wrong = expected is not None and not spoiled
        return f"{text} is refused, but defined: {error}" if is_wrong else ""
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # A panic is no `Exception`.
        return f"{text} ended in {type(error).__name__}: {error}"
    if [np.asarray(x).tobytes() for x in given] != before:
        return f"{text} changed its input"
    results = [np.asarray(found) for found in (got if isinstance(got, tuple) else (got,)) if found is not None]
    if expected is None:
        is_empty = 0 in shape and not must_refuse and not (without and not function.several)
        return (
            ""
            if is_empty and any(found.size == 0 for found in results)
            else ""
            if spoiled and 0 in shape
            else f"{text} is computed, but must be refused"
        )

    if function.several:
        over: Any = range(-len(shape), 0) if options["axes"] is None else options["axes"]
    else:
        over = (-2, -1) if is_spectrum or name in ("istft", "coherence_matrix") else (-1,)
        place = axis % len(shape)
        results = [
            found
            if found.ndim < len(shape) + function.more or not function.axis
            else np.moveaxis(found, place, -2)
            if function.more
            else np.moveaxis(found, place - len(shape), -1)
            for found in results
        ]
    bad: Any = False
    for x in wide:
        bad = bad | ~np.isfinite(x).all(axis=tuple(over), keepdims=True)
    bad = bad[..., 0] if name == "istft" else bad[..., None] if function.more and not is_spectrum else bad
    is_single = dtype in ("f2", "f4", "c8")
    is_denormal = any(
        ((np.abs(x) > 0) & (np.abs(x) < 1e4 * np.finfo("f4" if is_single else "f8").tiny)).any() for x in wide
    )
    judge = Judge(function, is_single, is_tensor, bad, is_denormal)
    for place, found in enumerate(results[: len(expected)]):
        if isinstance(expected[place], Strongest):
            error, wrong = judge.wrong_peaks(expected[place], *results)
        else:
            error, wrong = judge.wrong(expected[place], found)
        if wrong:
            return f"{text}: result {place} {wrong}"
        if is_single:
            tally.single = max(tally.single, error)
        else:
            tally.double = max(tally.double, error)
    return ""


def calls(given: argparse.Namespace, first: int, current: Any, found: Any) -> None:
    """Calls from the number `first` on, of which it sends tallies and failures now and then."""
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    ff.set_num_threads(given.threads)
    names = given.only or list(FUNCTIONS)
    tallies: dict[str, Tally] = {}
    failures: list[str] = []
    sent = time.monotonic()
    for call in range(first, given.calls):
        current.value = call
        name = names[random.Random(call).randrange(len(names))]
        tally = tallies.setdefault(name, Tally())
        tally.calls += 1
        wrong = one_call(name, given.seed, call, tally)
        if wrong:
            failures.append(f"{name}{wrong}: --seed {given.seed} --call {call}")
        if time.monotonic() - sent > 1:
            found.put((call + 1, tallies, failures))
            tallies, failures, sent = {}, [], time.monotonic()
            parent = multiprocessing.parent_process()
            if parent is None or not parent.is_alive():
                return
    found.put((given.calls, tallies, failures))


def main() -> int:
    """Makes the calls in a process of their own, which is started again where a call ends it or does not end."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--calls", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--call", type=int, help="number of the only call")
    parser.add_argument("--only", nargs="*", choices=FUNCTIONS, metavar="NAME")
    parser.add_argument("--seconds", type=float, default=math.inf, help="time after which no more calls are made")
    parser.add_argument("--threads", type=int, default=1)
    given = parser.parse_args()
    first, end = 0, time.monotonic() + given.seconds
    if given.call is not None:
        first, given.calls = given.call, given.call + 1
    tallies: dict[str, Tally] = {}
    failures = 0
    context = multiprocessing.get_context("spawn")
    while first < given.calls and time.monotonic() < end:
        current, found = context.Value("q", first), context.Queue()
        process = context.Process(target=calls, args=(given, first, current, found), daemon=True)
        process.start()
        heard = time.monotonic()
        while first < given.calls and time.monotonic() < end:
            try:
                first, some, wrong = found.get(timeout=1)
            except queue.Empty:
                if process.is_alive() and time.monotonic() - heard < PATIENCE:
                    continue
                ended = "does not end" if process.is_alive() else f"ends the process, with {process.exitcode}"
                wrong, some, first = [f"{ended}: --seed {given.seed} --call {current.value}"], {}, current.value + 1
            heard = time.monotonic()
            for name, tally in some.items():
                tallies.setdefault(name, Tally()).add(tally)
            for line in wrong:
                failures += 1
                print(line, flush=True)
            if not some:
                break
        process.kill()
    print("| function | calls | refused | largest error, float32 | float64 |\n| --- | --- | --- | --- | --- |")
    for name, tally in sorted(tallies.items()):
        print(f"| `{name}` | {tally.calls} | {tally.refused} | {tally.single:.1e} | {tally.double:.1e} |")
    print(f"{sum(tally.calls for tally in tallies.values())} calls, {failures} failures, seed {given.seed}")
    return int(failures > 0)


if __name__ == "__main__":
    sys.exit(main())
