"""Functions of `firefly_fft` on PyTorch's tensors and CuPy's arrays beside NumPy in float64, without pytest.

    python tests/gpu_cases.py [--library libfirefly_interop.so] [--device cpu]

prints a line per case and exits with 1 after a failure. With `--library` the operations for CUDA are those of a shared
library, beside a package that was built without them. CuPy's arrays are left out where it or a device is missing.
"""

from __future__ import annotations

import argparse
import os
import sys
import traceback
from dataclasses import dataclass, replace
from typing import Any, Callable, List, Sequence, Tuple

import numpy as np
import torch

import firefly_fft as ff
from firefly_fft import _native


@dataclass(frozen=True)
class Case:
    """A function of one array, which is noise of a shape, and its definition on NumPy's array of float64."""

    name: str
    call: Callable[[Any], Any]
    shape: Sequence[int]
    # The same function of the package on the host, in float64, if None.
    definition: Callable[[Any], Any] | None = None
    is_complex: bool = False
    # Of the error beside the largest value, in float32.
    tolerance: float = 5e-6
    is_differentiable: bool = True
    # Whether CuPy's arrays are computed, too.
    cupy: bool = False

    def noise(self, seed: int = 0) -> Any:
        """The array on the host, of float32 or complex64."""
        generator = np.random.default_rng(seed)
        values = generator.normal(size=self.shape)
        if self.is_complex:
            return (values + 1j * generator.normal(size=self.shape)).astype(np.complex64)
        return values.astype(np.float32)

    def defined(self, x: Any) -> List[Any]:
        """The outputs of the definition, of float64."""
        return outputs((self.definition or self.call)(x.astype(np.complex128 if self.is_complex else np.float64)))


def outputs(found: Any) -> List[Any]:
    """All arrays of a result."""
    return [array for each in found for array in outputs(each)] if isinstance(found, tuple) else [found]


def on_host(array: Any) -> Any:
    """An array of any library as one of NumPy."""
    if isinstance(array, torch.Tensor):
        return array.detach().cpu().resolve_conj().resolve_neg().numpy()
    return array.get() if hasattr(array, "get") else np.asarray(array)


def error(found: Any, expected: Any) -> float:
    """The largest error beside the largest value; of whole numbers, the share of those that differ."""
    found = on_host(found)
    assert found.shape == expected.shape, f"the shape is {found.shape}, and should be {expected.shape}"
    assert found.dtype.kind == expected.dtype.kind, f"the type is {found.dtype}, and should be {expected.dtype}"
    if found.dtype.kind == "i":
        return float((found != expected).mean()) * 1e-3
    wide = found.astype(expected.dtype)
    assert (np.isnan(wide) == np.isnan(expected)).all(), "NaN is in other places"
    return float(np.nanmax(np.abs(wide - expected), initial=0) / max(1e-30, np.nanmax(np.abs(expected), initial=0)))


def welch_definition(x: Any, window: Any, step: int, fs: float, degree: int) -> Any:
    """Density by its definition, of segments without a polynomial of a degree, or none if that is −1."""
    n = len(window)
    frames = np.lib.stride_tricks.sliding_window_view(x, n, axis=-1)[..., ::step, :]
    basis = np.linalg.qr(np.vander(np.arange(n), degree + 1))[0]
    frames = frames - frames @ basis @ basis.T
    power = (np.abs(np.fft.rfft(frames * window)) ** 2).mean(-2) / (fs * (window**2).sum())
    power[..., 1 : (n + 1) // 2] *= 2
    return power


def hann(n: int) -> Any:
    return 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(n) / n)


def without_first(x: Any) -> Any:
    """Segments without their first samples, in any library: a function for `detrend`."""
    return x - x[..., :1]


def on_circle(angle: Any) -> Any:
    """Angles without whole turns, which are of no account where a spectrum is real and negative."""
    library = torch if isinstance(angle, torch.Tensor) else np
    return library.cos(angle), library.sin(angle)


def cases() -> List[Case]:
    """Every function that tensors go to."""
    fft = ff.fft
    signal, images, spectra = (6, 5, 600), (3, 12, 10), (2, 3, 9, 12)
    of_signals: List[Case] = [
        Case(
            "welch",
            lambda x: ff.welch(x, 10.0, nperseg=64)[1],
            signal,
            lambda x: welch_definition(x, hann(64), 32, 10.0, 0),
            cupy=True,
        ),
        Case("welch's frequencies", lambda x: ff.welch(x, 8.0)[0], signal, is_differentiable=False, cupy=True),
        Case(
            "welch_psd of a window",
            lambda x: ff.welch_psd(x, window=np.arange(1.0, 51), noverlap=13, detrend=False),
            signal,
            lambda x: welch_definition(x, np.arange(1.0, 51), 37, 1.0, -1),
            cupy=True,
        ),
        Case("welch_psd along 0", lambda x: ff.welch_psd(x, nperseg=16, axis=0), (600, 7), cupy=True),
        Case("welch_psd along 1", lambda x: ff.welch_psd(x, 3.0, "flattop", 9, axis=-2), (3, 60, 5), cupy=True),
        Case("welch_psd of many segments", lambda x: ff.welch_psd(x, nperseg=16, scaling="spectrum"), (2, 3001)),
        Case("welch_psd, zero-padded", lambda x: ff.welch_psd(x, nperseg=50, nfft=64), signal),
        Case("welch_psd, median", lambda x: ff.welch_psd(x, nperseg=64, average="median"), signal),
        Case("welch_psd, two-sided", lambda x: ff.welch_psd(x, nperseg=33, return_onesided=False), signal),
        Case("welch_psd, detrend of a function", lambda x: ff.welch_psd(x, nperseg=64, detrend=without_first), signal),
        Case(
            "welch_psd without lines",
            lambda x: ff.welch_psd(x, nperseg=50, detrend="linear"),
            signal,
            lambda x: welch_definition(x, hann(50), 25, 1.0, 1),
        ),
        Case("periodogram", lambda x: ff.periodogram(x, 5.0, ("kaiser", 8.6))[1], signal),
        Case("periodogram, cut", lambda x: ff.periodogram(x, nfft=100, axis=0)[1], (120, 4)),
        Case("periodogram, padded", lambda x: ff.periodogram(x, nfft=700, scaling="spectrum")[1], signal),
        Case("welch_peaks", lambda x: ff.welch_peaks(x, 5, 100.0), (500, 384), cupy=True),
        Case(
            "welch_peaks of a band",
            lambda x: ff.welch_peaks(x, 3, 256.0, band=(20.0, 60.0), axis=0),
            (384, 30),
            cupy=True,
        ),
        Case("welch_peaks of 3 segments", lambda x: ff.welch_peaks(x, 4, nperseg=64, segments=3), signal, cupy=True),
        Case(
            "welch_peaks of listed segments",
            lambda x: ff.welch_peaks(x, 4, nperseg=16, segments=[70, 2, 5], detrend=False),
            signal,
            cupy=True,
        ),
        Case("spectrogram", lambda x: ff.spectrogram(x, 10.0, nperseg=64), signal, is_differentiable=False),
        Case("spectrogram, magnitude", lambda x: ff.spectrogram(x, nperseg=64, axis=0, mode="magnitude")[2], (200, 3)),
        Case(
            "spectrogram, angle",
            lambda x: on_circle(ff.spectrogram(x, nperseg=64, mode="angle")[2]),
            (2, 300),
            tolerance=2e-5,
        ),
        Case(
            "spectrogram, phase",
            lambda x: on_circle(ff.spectrogram(x, nperseg=64, mode="phase")[2]),
            (2, 300),
            tolerance=2e-5,
        ),
        Case("stft", lambda x: ff.stft(x, 10.0, nperseg=64)[2], signal),
        Case("stft's times", lambda x: ff.stft(x, 10.0, nperseg=64)[:2], signal, is_differentiable=False),
        Case("stft, odd", lambda x: ff.stft(x, nperseg=50, noverlap=20, nfft=64, boundary="odd")[2], signal),
        Case("stft, even along 1", lambda x: ff.stft(x, nperseg=8, boundary="even", axis=1)[2], (3, 60, 5)),
        Case("stft, constant", lambda x: ff.stft(x, nperseg=7, boundary="constant", detrend="constant")[2], signal),
        Case(
            "stft, no ends",
            lambda x: ff.stft(x, 4.0, "hann", 64, boundary=None, padded=False, scaling="psd")[2],
            signal,
        ),
        Case("stft, two-sided", lambda x: ff.stft(x, nperseg=33, return_onesided=False)[2], signal),
        Case("istft of stft", lambda x: ff.istft(ff.stft(x)[2])[1][..., :600], signal, lambda x: x),
        Case("csd", lambda x: ff.csd(x[0], x[1:], 10.0, nperseg=64)[1], signal),
        Case("csd, median", lambda x: ff.csd(x, x[:1], nperseg=32, average="median", axis=1)[1], (4, 200, 3)),
        Case("coherence", lambda x: ff.coherence(x[:-1], x[1:], nperseg=64)[1], signal),
        Case("hilbert", lambda x: ff.hilbert(x), signal),
        Case("hilbert, padded", lambda x: ff.hilbert(x, 71, axis=0), (64, 3)),
        Case("mel", lambda x: ff.mel(x, 8000, 20, 256, win_length=200), signal, cupy=True),
        Case(
            "log_mel",
            lambda x: ff.log_mel(x, 8000, 20, 256, 100, window="hamming", floor=1e-3, pad_mode="reflect"),
            signal,
            tolerance=2e-5,
            cupy=True,
        ),
        Case("top_k", lambda x: ff.top_k(x, 7), signal, cupy=True),
        Case("top_k along 0", lambda x: ff.top_k(x, 4, axis=0), (90, 5), cupy=True),
        Case("local_maxima", lambda x: ff.local_maxima(x**2, 4, prominence=0.5, distance=3.5), signal, cupy=True),
        Case(
            "local_maxima along 0",
            lambda x: ff.local_maxima(x**2, 9, 0.1, interpolation="hann", axis=0),
            (40, 3),
            tolerance=2e-5,
            cupy=True,
        ),
        Case("rfft", lambda x: fft.rfft(x), signal, np.fft.rfft, cupy=True),
        Case(
            "rfft, cut", lambda x: fft.rfft(x, 100, norm="ortho"), signal, lambda x: np.fft.rfft(x, 100, norm="ortho")
        ),
        Case("rfft along 1", lambda x: fft.rfft(x, axis=1), images, lambda x: np.fft.rfft(x, axis=1), cupy=True),
        Case("fft of real values", lambda x: fft.fft(x, 700), signal, lambda x: np.fft.fft(x, 700), cupy=True),
        Case("ihfft", lambda x: fft.ihfft(x, norm="ortho"), signal, lambda x: np.fft.ihfft(x, norm="ortho")),
        Case("rfft2", lambda x: fft.rfft2(x), images, np.fft.rfft2),
        Case("rfftn", lambda x: fft.rfftn(x, (5, 11), (2, 0)), images, lambda x: np.fft.rfftn(x, (5, 11), (2, 0))),
    ]
    of_complex: List[Case] = [
        Case("fft", lambda x: fft.fft(x), signal, np.fft.fft, cupy=True),
        Case("fft along 0", lambda x: fft.fft(x, 9, 0), images, lambda x: np.fft.fft(x, 9, 0), cupy=True),
        Case(
            "ifft", lambda x: fft.ifft(x, norm="forward"), signal, lambda x: np.fft.ifft(x, norm="forward"), cupy=True
        ),
        Case("irfft", lambda x: fft.irfft(x, 21), images, lambda x: np.fft.irfft(x, 21), cupy=True),
        Case("hfft", lambda x: fft.hfft(x, 21), images, lambda x: np.fft.hfft(x, 21)),
        Case("fft2", lambda x: fft.fft2(x), images, np.fft.fft2),
        Case("ifft2", lambda x: fft.ifft2(x, (4, 14)), images, lambda x: np.fft.ifft2(x, (4, 14))),
        Case("fftn", lambda x: fft.fftn(x), images, np.fft.fftn),
        Case("ifftn", lambda x: fft.ifftn(x, norm="ortho"), images, lambda x: np.fft.ifftn(x, norm="ortho")),
        Case("irfft2", lambda x: fft.irfft2(x), images),
        Case("irfftn", lambda x: fft.irfftn(x), images),
        Case("istft", lambda x: ff.istft(x), spectra, is_differentiable=False),
        Case("istft, psd", lambda x: ff.istft(x, 3.0, nperseg=15, nfft=16, noverlap=11, scaling="psd")[1], spectra),
        Case("istft of other axes", lambda x: ff.istft(x, freq_axis=0, time_axis=1)[1], (9, 20, 4)),
        Case("istft, two-sided", lambda x: ff.istft(x, input_onesided=False, boundary=False)[1], spectra),
        Case("welch_psd", lambda x: ff.welch_psd(x, 10.0, nperseg=16, detrend=False), signal),
        Case("welch's frequencies", lambda x: ff.welch(x, 8.0)[0], signal, is_differentiable=False),
        Case("periodogram", lambda x: ff.periodogram(x, window="hann", axis=0)[1], (65, 4)),
        Case("welch_peaks", lambda x: ff.welch_peaks(x, 3, nperseg=16, segments=2), signal),
        Case("welch_peaks of a band", lambda x: ff.welch_peaks(x, 3, 64.0, nperseg=64, band=(-20.0, 5.0)), signal),
        Case("stft", lambda x: ff.stft(x, nperseg=16, boundary="odd")[2], signal),
        Case("csd", lambda x: ff.csd(x, x[::-1] if isinstance(x, np.ndarray) else x.flip(0), nperseg=32)[1], signal),
        Case("coherence", lambda x: ff.coherence(x[:-1], x[1:], nperseg=64)[1], signal),
        Case("spectrogram, complex", lambda x: ff.spectrogram(x, nperseg=16, mode="complex")[2], signal),
    ]
    return of_signals + [replace(case, name=f"{case.name} of complex values", is_complex=True) for case in of_complex]


def check_values(case: Case, library: Library) -> str:
    """Values beside the definition in float64, and results on the array's device."""
    host = case.noise()
    x = library.array(host)
    found, expected = outputs(case.call(x)), case.defined(host)
    assert len(found) == len(expected)
    assert all(library.is_beside(array, x) for array in found), "a result is elsewhere"
    worst = max(error(a, b) for a, b in zip(found, expected))
    assert worst < case.tolerance, f"the error is {worst:.1e}"
    return f"{worst:.1e}"


def check_strides(case: Case, library: Library) -> str:
    """Arrays with gaps, in another order of dimensions, and that start anywhere."""
    host, expected = case.noise(), case.defined(case.noise())
    wide = np.full([*host.shape[:-1], 2 * host.shape[-1] + 3], np.nan, host.dtype)
    wide[..., 1:-2:2] = host
    turned = np.ascontiguousarray(np.moveaxis(host, -1, 0))
    for x in (library.array(wide)[..., 1:-2:2], library.moved(library.array(turned))):
        worst = max(error(a, b) for a, b in zip(outputs(case.call(x)), expected))
        assert worst < case.tolerance, f"the error is {worst:.1e}"
    return ""


def check_gradient(case: Case, library: Library) -> str:
    """The derivative in a direction, of a sum of outputs with weights, beside the difference in float64."""
    host, direction = case.noise(), case.noise(1).astype(np.complex128 if case.is_complex else np.float64)
    x = library.array(host).requires_grad_()
    generator = np.random.default_rng(2)
    found = [output for output in outputs(case.call(x)) if output.requires_grad]
    weights = []
    for output in found:
        weight = generator.normal(size=output.shape)
        weights.append(weight + 1j * generator.normal(size=output.shape) if output.is_complex() else weight)
    given = [torch.from_numpy(w).to(y.device, y.dtype) for w, y in zip(weights, found)]
    gradient = on_host(torch.autograd.grad(found, x, given)[0]).astype(direction.dtype)

    def total(step: float) -> float:
        values = [y for y in case.defined(host.astype(direction.dtype) + step * direction) if y.dtype.kind in "fc"]
        return float(sum(np.nansum((np.conj(w) * y).real) for w, y in zip(weights, values)))

    difference = (total(1e-6) - total(-1e-6)) / 2e-6
    derivative = float(np.sum((np.conj(gradient) * direction).real))
    scale = float(np.linalg.norm(gradient)) * float(np.linalg.norm(direction)) / np.sqrt(direction.size)
    assert scale > 0, "the gradient is 0"
    worst = abs(derivative - difference) / scale
    assert worst < 1e-4, f"the derivative is {derivative:.6g}, and should be {difference:.6g}"
    return f"{worst:.1e}"


def check_stream(case: Case, library: Library) -> str:
    """A call on another stream takes what is queued there before."""
    host = case.noise()
    x = library.array(host)
    expected = [on_host(array) for array in outputs(case.call(x))]
    with library.busy_stream() as stream:
        late = x * 0
        late += x
        found = outputs(case.call(late))
        found = [array + 0 for array in found]
    stream.synchronize()
    assert all(np.array_equal(on_host(a), b, equal_nan=True) for a, b in zip(found, expected)), "values differ"
    return ""


def check_graph(case: Case, library: Library) -> str:
    """A CUDA graph of the call gives the values of other input."""
    x, other = library.array(case.noise()), library.array(case.noise(5))
    expected = [on_host(array) for array in outputs(case.call(other))]
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        case.call(x)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        found = outputs(case.call(x))
    x.copy_(other)
    graph.replay()
    torch.cuda.synchronize()
    assert all(np.array_equal(on_host(a), b, equal_nan=True) for a, b in zip(found, expected)), "values differ"
    return ""


def refusals() -> List[Case]:
    """Calls that raise ``ValueError`` on a device, with a part of the message as the definition."""

    def of_types(x: Any) -> Any:
        return ff.welch(x.double() if isinstance(x, torch.Tensor) else x.astype(np.float64))

    return [
        Case("float64", of_types, (3, 384), lambda _: "but GPUs compute in float32: convert it first"),
        Case(
            "another device", lambda x: ff.welch(x, device="cpu"), (3, 384), lambda _: "x is on cuda:0, but device is"
        ),
        Case("no axis", lambda x: ff.top_k(x, 2, axis=2), (3, 384), lambda _: "axis is 2, but x has 2 dimensions"),
        Case("an option", lambda x: ff.top_k(x, 400), (3, 384), lambda _: "`k` is 400, but must be"),
        Case("a model", ff.zoo.create("welch_peaks").predict, (3, 384), lambda _: "in the memory of a device: copy it"),
    ]


def check_refusal(case: Case, library: Library) -> str:
    """An error that says why."""
    text = case.definition(None) if case.definition else ""
    try:
        case.call(library.array(case.noise()))
    except ValueError as problem:
        assert text in str(problem), f"the message is {problem}"
        return ""
    raise AssertionError("it is not refused")


class Library:
    """PyTorch's tensors on a device."""

    def __init__(self, device: str) -> None:
        self.device = device

    def array(self, host: Any) -> Any:
        return torch.from_numpy(host).to(self.device)

    def moved(self, array: Any) -> Any:
        return array.movedim(0, -1)

    def is_beside(self, array: Any, other: Any) -> bool:
        return isinstance(array, torch.Tensor) and array.device == other.device

    def busy_stream(self) -> Any:
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        return _Busy(stream, torch.cuda.stream(stream), lambda: torch.cuda._sleep(50_000_000))


class CupyLibrary(Library):
    """CuPy's arrays on the current device."""

    def __init__(self, cupy: Any) -> None:
        self.cupy = cupy

    def array(self, host: Any) -> Any:
        return self.cupy.asarray(host)

    def moved(self, array: Any) -> Any:
        return self.cupy.moveaxis(array, 0, -1)

    def is_beside(self, array: Any, other: Any) -> bool:
        return isinstance(array, self.cupy.ndarray) and array.device == other.device

    def busy_stream(self) -> Any:
        self.cupy.cuda.get_current_stream().synchronize()
        stream = self.cupy.cuda.Stream(non_blocking=True)
        work = self.cupy.ones((4096, 4096), self.cupy.float32)
        return _Busy(stream, stream, lambda: [work @ work for _ in range(8)])


class _Busy:
    """A stream on which work is queued, as the current one within the context."""

    def __init__(self, stream: Any, context: Any, work: Callable[[], Any]) -> None:
        self.stream, self.context, self.work = stream, context, work

    def __enter__(self) -> Any:
        self.context.__enter__()
        self.work()
        return self.stream

    def __exit__(self, *problem: Any) -> None:
        self.context.__exit__(*problem)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--library")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    arguments = parser.parse_args()
    if arguments.library:
        # What calls the C functions loads them from the extension's file.
        _native.__file__, _native.BUILT_FOR_CUDA = os.path.abspath(arguments.library), True
    every, tensors = cases(), Library(arguments.device)
    plan: List[Tuple[str, Callable[[Case, Library], str], Library, List[Case]]] = [
        ("torch values", check_values, tensors, every),
        ("torch strides", check_strides, tensors, every),
        ("torch gradients", check_gradient, tensors, [case for case in every if case.is_differentiable]),
    ]
    if arguments.device != "cpu":
        in_graphs = (
            "welch",
            "welch_peaks",
            "stft",
            "istft of stft",
            "csd",
            "mel",
            "local_maxima",
            "fft2 of complex values",
        )
        plan += [
            ("torch streams", check_stream, tensors, every),
            ("torch graphs", check_graph, tensors, [case for case in every if case.name in in_graphs]),
            ("torch refusals", check_refusal, tensors, refusals()),
        ]
    passed, failed, skipped = 0, 0, ""
    try:
        import cupy

        cupy.cuda.runtime.getDeviceCount()
        arrays, few = CupyLibrary(cupy), [case for case in every if case.cupy]
        few.append(Case("power_spectrum", _power_spectrum, (4, 90), _power_spectrum_definition))
        plan += [
            ("cupy values", check_values, arrays, few),
            ("cupy strides", check_strides, arrays, few),
            ("cupy streams", check_stream, arrays, few),
            ("cupy refusals", check_refusal, arrays, refusals()),
        ]
    except Exception as problem:
        skipped = f", CuPy skipped: {type(problem).__name__}: {problem}"
    for kind, check, library, of_cases in plan:
        for case in of_cases:
            try:
                print(f"ok     {kind}: {case.name} {check(case, library)}", flush=True)
                passed += 1
            except Exception as problem:
                failed += 1
                text = "" if isinstance(problem, AssertionError) else f"\n{traceback.format_exc()[-1500:]}"
                print(f"FAILED {kind}: {case.name}: {type(problem).__name__}: {str(problem)[:300]}{text}", flush=True)
    print(f"{passed} passed, {failed} failed{skipped}")
    sys.exit(failed > 0)


def _power_spectrum(x: Any) -> Any:
    from firefly_fft.cupy import power_spectrum

    return power_spectrum(x)


def _power_spectrum_definition(x: Any) -> Any:
    power = np.abs(np.fft.rfft(x)) ** 2
    power[..., 1 : (x.shape[-1] + 1) // 2] *= 2
    return power


if __name__ == "__main__":
    main()
