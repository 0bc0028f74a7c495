"""Tensors of PyTorch in the package's functions, on CPUs and on a CUDA device where there is one."""

from __future__ import annotations

import inspect
import multiprocessing
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any, Callable

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

torch = pytest.importorskip("torch", minversion="2.10", reason="PyTorch 2.10 is not installed")
sys.path.insert(0, str(Path(__file__).parent))

import gpu_cases as checks  # noqa: E402

import firefly_fft as ff  # noqa: E402
from firefly_fft import _native  # noqa: E402
from firefly_fft.torch import _scipy  # noqa: E402

IS_CUDA = torch.cuda.is_available() and getattr(_native, "BUILT_FOR_CUDA", False)
no_cuda = pytest.mark.skipif(not IS_CUDA, reason="there is no CUDA device")
on_devices = pytest.mark.parametrize("device", ["cpu", pytest.param("cuda", marks=no_cuda)])
of_cases = pytest.mark.parametrize("case", [pytest.param(case, id=case.name) for case in checks.cases()])
# Spectra of noise that is not of a signal.
uncovered = pytest.mark.filterwarnings("ignore:the windows do not cover every sample")


@on_devices
@of_cases
@uncovered
def test_values_are_those_of_float64(case: checks.Case, device: str) -> None:
    checks.check_values(case, checks.Library(device))


@on_devices
@of_cases
@uncovered
def test_any_strides_give_the_same_values(case: checks.Case, device: str) -> None:
    checks.check_strides(case, checks.Library(device))


@on_devices
@pytest.mark.parametrize("case", [pytest.param(c, id=c.name) for c in checks.cases() if c.is_differentiable])
@uncovered
def test_gradients_are_those_of_differences(case: checks.Case, device: str) -> None:
    checks.check_gradient(case, checks.Library(device))


@no_cuda
@of_cases
@uncovered
def test_calls_are_queued_on_the_current_stream(case: checks.Case) -> None:
    checks.check_stream(case, checks.Library("cuda"))


@of_cases
@uncovered
def test_float64_is_computed_in_float64(case: checks.Case) -> None:
    host = case.noise().astype(np.complex128 if case.is_complex else np.float64)
    for found, expected in zip(checks.outputs(case.call(torch.from_numpy(host))), case.defined(host)):
        assert checks.error(found, expected) < 1e-10
        assert expected.dtype.kind == "i" or checks.on_host(found).dtype == expected.dtype


@on_devices
def test_a_window_may_be_a_tensor_with_gradients(device: str) -> None:
    x = torch.randn(3, 300, device=device)
    window = torch.hann_window(64, device=device, requires_grad=True)
    functions: list[Callable[[Any], Any]] = [
        lambda w: ff.welch_psd(x, window=w),
        lambda w: ff.welch_psd(x, window=w, nfft=100),
        lambda w: ff.welch_peaks(x, 3, window=w).power,
        lambda w: ff.stft(x, window=w, nperseg=None)[2].abs(),
        lambda w: ff.mel(x, 8000, 10, 64, window=w),
        lambda w: ff.istft(torch.ones(33, 9, device=device), window=w)[1],
        lambda w: ff.csd(x, x[:1], window=w)[1].abs(),
    ]
    for function in functions:
        expected = checks.on_host(function(ff.get_window("hann", 64))).astype(np.float64)
        assert checks.error(function(window), expected) < 1e-5
        (gradient,) = torch.autograd.grad(function(window).sum(), window)
        assert gradient.shape == (64,) and float(gradient.abs().max()) > 0


@on_devices
def test_types_are_those_of_the_guide(device: str) -> None:
    x = torch.randn(10, 384, device=device)
    for narrow in (x.half(), x.bfloat16()):
        power = ff.welch_psd(narrow)
        assert power.dtype == torch.float32 and torch.equal(power, ff.welch_psd(narrow.float()))
    for wide in (x.double(), x.int(), x.bool(), x.to(torch.complex128)):
        if device == "cpu":
            assert ff.fft.fft(wide).dtype == torch.complex128
            continue
        with pytest.raises(ValueError, match=r"float32: convert it first, as with `\.float\(\)`, or .* `\.cpu\(\)`"):
            ff.fft.fft(wide)
    with pytest.raises(TypeError, match="x is complex, but must be real"):
        ff.top_k(x.to(torch.complex64), 2)
    with pytest.raises(ValueError, match="x is on cpu with the layout"):
        ff.welch(x.cpu().to_sparse())
    with pytest.raises(ValueError, match="x is on meta"):
        ff.welch(x.to("meta"))


# Functions that take no arrays, or of numpy.fft.
OTHERS = "dpss get_window mel_filters num_threads set_num_threads train fftfreq rfftfreq fftshift ifftshift".split()
PUBLIC = [(name, getattr(module, name)) for module in (ff, ff.fft) for name in module.__all__ if name not in OTHERS]


@pytest.mark.parametrize(
    ("name", "function"),
    [pair for pair in PUBLIC if inspect.isroutine(pair[1]) and not hasattr(_scipy, pair[0])],
)
def test_functions_without_tensors_name_themselves_and_the_conversion(name: str, function: Any) -> None:
    parameters = inspect.signature(function).parameters.values()
    required = [each.name for each in parameters if each.default is each.empty] or ["y", "S"]
    taken = [each for each in required if each in "x y z S M data input target".split()]
    assert taken
    for argument in taken:
        text = f"{argument} is an array of torch, but {name} takes NumPy's: .*`{argument}.detach().cpu().numpy()`"
        with pytest.raises(ValueError, match=re.escape(text).replace(r"\.\*", ".*")):
            function(**{**dict.fromkeys(required, np.ones(64)), argument: torch.ones(64)})


def test_a_lazy_sign_counts() -> None:
    x = torch.randn(384, dtype=torch.complex64).conj().imag
    assert x.is_neg()
    assert torch.equal(ff.fft.rfft(x), ff.fft.rfft(x.resolve_neg()))


@on_devices
def test_a_device_is_the_tensor_s(device: str) -> None:
    x = torch.randn(10, 384, device=device)
    for name in (None, "auto", device, "cpu" if device == "cpu" else "cuda:0"):
        assert torch.equal(ff.welch_psd(x, device=name), ff.welch_psd(x))
    for name in ("cuda:1", "vulkan", "cuda" if device == "cpu" else "cpu"):
        with pytest.raises(ValueError, match=f"x is on {device}.*, but device is '{name}'"):
            ff.welch_psd(x, device=name)


@on_devices
def test_no_rows_give_no_rows(device: str) -> None:
    empty = torch.zeros((0, 384), device=device)
    assert ff.welch_psd(empty).shape == (0, 129)
    assert ff.stft(empty, nperseg=64)[2].shape == (0, 33, 13)
    assert ff.istft(torch.zeros((0, 33, 13), device=device, dtype=torch.complex64))[1].shape == (0, 384)
    assert ff.welch_peaks(torch.zeros((2, 0, 384), device=device), k=3).bins.shape == (2, 0, 3)
    with pytest.raises(ValueError, match="no samples"):
        ff.welch(torch.zeros((3, 0), device=device))
    with pytest.raises(ValueError, match="scalar"):
        ff.welch(torch.zeros((), device=device))


def test_medians_and_peaks_of_nan_are_those_of_numpy() -> None:
    x = np.random.default_rng(0).normal(size=(3, 300))
    x[1, 7] = np.nan
    tensor = torch.from_numpy(x)
    assert_allclose(ff.welch_psd(tensor, nperseg=64, average="median"), ff.welch_psd(x, nperseg=64, average="median"))
    found, expected = ff.welch_peaks(tensor, 3), ff.welch_peaks(x, 3)
    assert_array_equal(found.bins, expected.bins)
    assert_allclose(found.power, expected.power)


@on_devices
@pytest.mark.parametrize("scale", [1e-40, 1e-22, 1e18, 2e37])
@pytest.mark.parametrize("is_complex", [False, True])
def test_coherence_is_that_of_rows_of_any_magnitude(is_complex: bool, scale: float, device: str) -> None:
    pair = np.random.default_rng(0).normal(size=(2, 3, 2000)) + np.random.default_rng(1).normal(size=(3, 2000))
    if is_complex:
        pair = pair + 1j * pair[:, ::-1]
    expected = ff.coherence(*pair, nperseg=64)[1]
    x, y = (torch.from_numpy(rows).to(device, torch.complex64 if is_complex else torch.float32) for rows in pair)
    scales = torch.tensor([[scale], [1.0], [1 / max(scale, 1e-37)]], dtype=torch.float64, device=device).float()
    # Rows of other magnitudes than those of the other signal.
    found = ff.coherence((x * scales).requires_grad_(), y * scales.flip(0), nperseg=64)[1]
    # Subnormal samples have few digits.
    assert checks.error(found, expected) < (1e-4 if scale < 1e-37 else 2e-6)
    assert not ff.coherence(x * scales, x * 0, nperseg=64)[1].isfinite().any()
    assert (
        checks.error(ff.coherence(x.conj(), y.conj(), nperseg=64)[1], ff.coherence(*pair.conj(), nperseg=64)[1]) < 2e-6
    )
    x[0, 7] = torch.inf
    found = ff.coherence(x, y, nperseg=64)[1]
    assert found[0].isnan().all() and checks.error(found[1:], expected[1:]) < 2e-6


def test_gradients_of_coherence_are_those_of_differences_at_any_magnitude() -> None:
    x, y = np.random.default_rng(0).normal(size=(2, 300))
    at = ff.coherence(x, y, nperseg=64)[1]
    tensor = torch.from_numpy(x * 1e-170).requires_grad_()
    ff.coherence(tensor, torch.from_numpy(y), nperseg=64)[1].square().sum().backward()
    for place in (0, 150, 299):
        ends = [x + step * (np.arange(300) == place) for step in (1e-6, -1e-6)]
        values = [(ff.coherence(end, y, nperseg=64)[1] ** 2).sum() for end in ends]
        expected = (values[0] - values[1]) / 2e-6
        assert abs(float(tensor.grad[place]) * 1e-170 - expected) < 1e-6 * max(1.0, float(at.max()))


@pytest.mark.parametrize(
    "call",
    [
        lambda x: ff.welch(x, nperseg=200),
        lambda x: ff.welch_psd(x, nperseg=200),
        lambda x: ff.welch_psd(x=x, nperseg=200, average="median"),
        lambda x: ff.welch_peaks(x, 2, nperseg=200),
        lambda x: ff.welch_peaks(x, 2, nperseg=200, detrend="linear"),
        lambda x: ff.spectrogram(x, nperseg=200, mode="phase"),
        lambda x: ff.stft(x, nperseg=200),
        lambda x: ff.csd(x, x, nperseg=200),
        lambda x: ff.coherence(x, x, nperseg=200),
        lambda x: ff.coherence(x, x, nperseg=200, nfft=256),
        lambda x: ff.mel(x, 8000, 100, 64),
        lambda x: ff.log_mel(x, 8000, 100, 64),
        lambda x: ff.istft(x.reshape(25, 4), noverlap=0),
    ],
)
@pytest.mark.parametrize("of_torch", [True, False])
def test_one_warning_names_the_line_of_the_caller(call: Callable[[Any], Any], of_torch: bool) -> None:
    x = np.ones(100, np.float32)
    with pytest.warns(UserWarning, match=r"nperseg is 200|mel bands|do not cover") as warned:
        call(torch.from_numpy(x) if of_torch else x)
    assert [(each.filename, each.lineno) for each in warned] == [(__file__, call.__code__.co_firstlineno)]


@pytest.mark.parametrize("n", [1, 2, 3])
def test_a_line_through_short_segments_is_removed(n: int) -> None:
    x = np.random.default_rng(0).normal(size=(3, 90))
    found = ff.welch_psd(torch.from_numpy(x), window="boxcar", nperseg=n, noverlap=0, detrend="linear")
    expected = checks.welch_definition(x, np.ones(n), n, 1.0, min(n - 1, 1))
    assert_allclose(found, expected, atol=1e-25)


@pytest.mark.parametrize("mode", ["angle", "phase"])
def test_angles_are_those_of_numpy(mode: str) -> None:
    x = np.random.default_rng(0).normal(size=(3, 300)) + np.array([[0.0], [-3.0], [3.0]])
    expected = ff.spectrogram(x, nperseg=64, detrend=False, mode=mode)[2]
    found = ff.spectrogram(torch.from_numpy(x), nperseg=64, detrend=False, mode=mode)[2]
    assert_allclose(found, expected, atol=1e-9)


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda x: ff.welch(x, axis=2), ValueError, "axis is 2, but x has 2 dimensions"),
        (lambda x: ff.welch(x, scaling="psd"), ValueError, "scaling is 'psd'"),
        (lambda x: ff.welch(x, return_onesided=False, scaling="psd"), ValueError, "scaling is 'psd'"),
        (lambda x: ff.welch(x, average="mode"), ValueError, "average is 'mode'"),
        (lambda x: ff.welch(x, detrend="quadratic"), ValueError, "detrend is 'quadratic'"),
        (lambda x: ff.welch(x, nperseg=64, noverlap=64), ValueError, "noverlap is 64"),
        (lambda x: ff.welch(x, window=x), ValueError, "window has 2 dimensions"),
        (lambda x: ff.welch(x, window="hat"), ValueError, "window 'hat' is none of"),
        (lambda x: ff.welch_peaks(x, 300), ValueError, "`k` is 300"),
        (lambda x: ff.welch_peaks(x, segments=3), ValueError, "segments is 3, but rows have 2"),
        (lambda x: ff.welch_peaks(x, nperseg=4, segments=3), ValueError, "rows have 191 segments, .* at most 128"),
        (lambda x: ff.welch_peaks(x, band=(2.0, 3.0)), ValueError, "band is"),
        (lambda x: ff.spectrogram(x, mode="power"), ValueError, "mode is 'power'"),
        (lambda x: ff.stft(x, boundary="mirror"), ValueError, "boundary is 'mirror'"),
        (lambda x: ff.stft(x, scaling="density"), ValueError, "scaling is 'density'"),
        (lambda x: ff.istft(x, nfft=9), ValueError, "nfft is 9"),
        (lambda x: ff.istft(x[:, :0]), ValueError, "Zxx is without times"),
        (lambda x: ff.csd(x, x[:, :9]), ValueError, "y has 9 samples"),
        (lambda x: ff.csd(x, x.numpy()), TypeError, "y is ndarray, but must be a tensor"),
        (lambda x: ff.csd(x.numpy(), x), TypeError, "x is ndarray, but must be a tensor"),
        (lambda x: ff.mel(x, 8000, window=torch.ones(3000)), ValueError, "window has 3000 coefficients"),
        (lambda x: ff.log_mel(x, 8000, log="two"), ValueError, "log is 'two'"),
        (lambda x: ff.top_k(x, 0), ValueError, "k is 0"),
        (lambda x: ff.local_maxima(x, 2, distance=0), ValueError, "distance is 0"),
        (lambda x: ff.fft.rfft(x, axis=5), ValueError, "axis is 5"),
        (lambda x: ff.fft.fftn(x, axes=(0, 4)), ValueError, "axes is 4"),
        (lambda x: ff.fft.fft(x, 0), ValueError, "n is 0"),
    ],
)
def test_errors_name_the_argument(call: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        call(torch.randn(3, 384))


def _power_in_child(connection: Any) -> None:
    # As workers of a DataLoader do: PyTorch's own operations hang on threads that a fork lacks.
    torch.set_num_threads(1)
    connection.send(ff.welch_psd(torch.ones(1000, 384)).shape)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_a_forked_process_computes() -> None:
    ff.welch_psd(torch.ones(1000, 384))
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe()
    child = context.Process(target=_power_in_child, args=(theirs,))
    child.start()
    assert ours.poll(30), "the child hangs"
    assert ours.recv() == (1000, 129)
    child.join(30)


def test_the_number_of_threads_can_be_set_and_changes_no_result() -> None:
    code = (
        "import torch, firefly_fft as ff; x = torch.randn(500, 384); power = ff.welch_psd(x); "
        "ff.set_num_threads(3); print(torch.equal(ff.welch_psd(x), power))"
    )
    assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == "True"


@no_cuda
def test_a_second_gpu_computes_what_it_holds() -> None:
    if torch.cuda.device_count() < 2:
        pytest.skip("there is one CUDA device")
    x = torch.randn(10, 384, device="cuda:1")
    power = ff.welch_psd(x)
    assert power.device == x.device
    assert checks.error(power, ff.welch_psd(x.cpu().double().numpy())) < 1e-5


def test_models_take_tensors_of_the_host_and_give_tensors() -> None:
    model, x = ff.zoo.create("welch_peaks", n_fft=64, k=3), torch.randn(5, 96)
    peaks, expected = model.predict(x), model.predict(x.numpy())
    assert isinstance(peaks.power, torch.Tensor) and isinstance(expected.power, np.ndarray)
    assert_array_equal(peaks.bins, expected.bins)
    assert_array_equal(model.predict(x, batch_size=2).power, expected.power)
    with pytest.raises(TypeError, match="grad"):
        model.predict(x.requires_grad_())
    if IS_CUDA:
        with pytest.raises(ValueError, match=r"input is a torch\.Tensor in the memory of a device: .*`\.cpu\(\)`"):
            model.predict(x.detach().cuda())


def test_sample_rates_of_tensors_are_positive_and_finite() -> None:
    x = torch.randn(300, dtype=torch.float64)
    for call in [
        lambda: ff.welch_psd(x, 0.0, return_onesided=False),
        lambda: ff.spectrogram(x, -1.0),
        lambda: ff.periodogram(x, float("nan")),
        lambda: ff.welch_peaks(x, 3, -1.0, detrend="linear"),
        lambda: ff.coherence(x, x, 0.0),
    ]:
        with pytest.raises(ValueError, match=r"^fs is .*, but must be positive and finite"):
            call()
