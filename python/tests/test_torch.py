"""`firefly_fft.torch` on CPUs, and on a CUDA device where there is one. Skipped without PyTorch."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch", minversion="2.10", reason="PyTorch 2.10 is not installed")
sys.path.insert(0, str(Path(__file__).parent))

import torch_cases as checks  # noqa: E402

import firefly_fft.torch as ff  # noqa: E402
from firefly_fft import _native  # noqa: E402

IS_CUDA = torch.cuda.is_available() and hasattr(_native, "from_dlpack")
DEVICES = ["cpu", pytest.param("cuda", marks=pytest.mark.skipif(not IS_CUDA, reason="there is no CUDA device"))]
CASES = [pytest.param(case, id=case.name) for case in checks.cases()]
on_devices = pytest.mark.parametrize("device", DEVICES)
of_cases = pytest.mark.parametrize("case", CASES)
on_cuda = pytest.mark.skipif(not IS_CUDA, reason="there is no CUDA device")


@on_devices
@of_cases
def test_values_and_gradients_are_those_of_the_definition(case: checks.Case, device: str) -> None:
    checks.check_values(case, device)


@on_devices
@of_cases
def test_any_strides_give_the_same_values(case: checks.Case, device: str) -> None:
    checks.check_strides(case, device)


@on_devices
@of_cases
def test_functions_compile_to_one_graph(case: checks.Case, device: str) -> None:
    checks.check_compiled(case, device, "aot_eager" if device == "cpu" else "inductor")


@on_cuda
@of_cases
def test_cuda_graphs_replay_values_and_gradients(case: checks.Case) -> None:
    checks.check_graph(case, "cuda")


@on_cuda
@of_cases
def test_calls_are_queued_on_the_current_stream(case: checks.Case) -> None:
    checks.check_stream(case, "cuda")


@of_cases
def test_float64_is_computed_in_float64(case: checks.Case) -> None:
    inputs = checks.leaves(case.tensors("cpu", torch.float64))
    for found, expected in zip(checks.results(case.ours(*inputs)), checks.results(case.definition(*inputs))):
        assert found.dtype == expected.dtype
        assert checks.error(found, expected) < 1e-11
    found, expected = checks.gradients(case.ours, inputs), checks.gradients(case.definition, inputs)
    assert all(checks.error(a, b) < 1e-11 for a, b in zip(found, expected))


@pytest.mark.parametrize(
    "name", ["welch_psd", "log_mel", "rfft", "spectral_conv 2", "long_conv gate", "butterfly gates"]
)
def test_gradients_are_those_of_differences(name: str) -> None:
    case = next(case for case in checks.cases() if case.name == name)
    inputs = checks.leaves(case.tensors("cpu", torch.float64))
    assert torch.autograd.gradcheck(case.ours, inputs, fast_mode=True)


def test_gradients_of_gradients_are_refused_by_name_but_of_transforms() -> None:
    x = torch.randn(2, 16, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradgradcheck(lambda x: ff.rfft(x), [x])
    (first,) = torch.autograd.grad(ff.welch_psd(x, 8).sum(), x, create_graph=False)
    assert first.shape == x.shape
    with pytest.raises(NotImplementedError, match="welch_psd_backward: gradients of gradients"):
        torch.autograd.grad(ff.welch_psd(x, 8).sum(), x, create_graph=True)


@on_devices
def test_the_registered_operators_keep_pytorchs_rules(device: str) -> None:
    x = torch.randn(3, 64, device=device, requires_grad=True)
    window = torch.hann_window(16, device=device)
    static = ("test_schema", "test_faketensor", "test_autograd_registration")
    dynamic = "test_aot_dispatch_dynamic"
    # PyTorch's check adds outputs up in the type of the first, which must not be of integers.
    calls: list[tuple[str, Any, tuple[str, ...]]] = [
        ("welch_psd", (x, window, "welch_psd 16 8 2 0 0 false false"), (*static, dynamic)),
        ("welch_peaks", (x, window, "welch_peaks 16 8 2 0 0 false false 3 0"), static),
        ("top_k", (x, "top_k 3 0"), static),
        ("real_fft", (x, "real_fft 64 0 1.0 1.0"), (*static, dynamic)),
        ("long_conv", (x.reshape(1, 3, 64), torch.randn(3, 5, device=device), "long_conv"), (*static, dynamic)),
    ]
    for name, arguments, tests in calls:
        torch.library.opcheck(getattr(torch.ops.firefly, name).default, arguments, test_utils=tests)


@on_devices
def test_half_floats_compute_in_float32(device: str) -> None:
    x = torch.randn(3, 64, device=device)
    for dtype in (torch.float16, torch.bfloat16):
        narrow = x.to(dtype).requires_grad_()
        power = ff.welch_psd(narrow, 16)
        assert power.dtype == torch.float32
        assert torch.equal(power, ff.welch_psd(narrow.detach().float(), 16))
        power.sum().backward()
        assert narrow.grad is not None and narrow.grad.dtype == dtype


@on_devices
def test_rows_that_end_in_missing_peaks_get_no_gradient_there(device: str) -> None:
    x = torch.tensor([[1.0, float("nan"), 3.0, float("inf")]], device=device, requires_grad=True)
    bins, values = ff.top_k(x, 3)
    assert bins.tolist() == [[2, 0, -1]] and bins.dtype == torch.int64
    assert values[0, :2].tolist() == [3.0, 1.0] and bool(values[0, 2].isnan())
    values.nan_to_num().sum().backward()
    assert x.grad is not None and x.grad.tolist() == [[1.0, 0.0, 1.0, 0.0]]


@on_devices
def test_no_rows_give_no_rows(device: str) -> None:
    assert ff.welch_psd(torch.zeros(0, 64, device=device), 16).shape == (0, 9)
    assert ff.rfft(torch.zeros(0, 64, device=device)).shape == (0, 33)


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda x: ff.welch_psd(x, 0), "n_fft is 0, but must be at least 1"),
        (lambda x: ff.welch_psd(x, 65), "x has 64 samples per row"),
        (lambda x: ff.welch_psd(x, 16, segments=8), "`signal` is 64 samples per row, but must be at least 72"),
        (lambda x: ff.welch_psd(x, 16, window=torch.ones(15)), "`window` is .*15.*, but must be .*16"),
        (lambda x: ff.welch_psd(x, 16, scaling="psd"), "scaling is 'psd'"),
        (lambda x: ff.welch_peaks(x, 16, 10), "`k` is 10, but must be from 1 to the number of bins, 9"),
        (lambda x: ff.welch_peaks(x, 16, 1, index_dtype=torch.int16), "index_dtype is torch.int16"),
        (lambda x: ff.top_k(x, 65), "`k` is 65"),
        (lambda x: ff.local_maxima(x, 3, distance=0), "distance is 0"),
        (lambda x: ff.mel(x, 0.0, n_fft=32), "`sample_rate` is 0"),
        (lambda x: ff.mel(x, 16000, n_fft=32, pad_mode="zero"), "pad_mode is 'zero'"),
        (lambda x: ff.rfft(x, dim=2), "dim is 2, but x has 2 dimensions"),
        (lambda x: ff.rfft(x, norm="unit"), "norm is 'unit'"),
        (lambda x: ff.spectral_conv(x, (x, x)), "`weights` is"),
        (lambda x: ff.long_conv(x.reshape(1, 3, 64), torch.ones(4, 5)), "`kernel` is .*4, 5.*, but must be .*3, 5"),
        (lambda x: ff.butterfly(x, x, torch.ones(6, 31, 2)), "`twiddles` is"),
    ],
)
def test_errors_name_the_argument(call: Any, text: str) -> None:
    with pytest.raises(ValueError, match=text):
        call(torch.randn(3, 64))


def test_other_types_are_refused() -> None:
    with pytest.raises(TypeError, match=r"x is of torch\.int64, but must be of floats"):
        ff.welch_psd(torch.ones(3, 64, dtype=torch.int64), 16)
    with pytest.raises(TypeError, match="x is list, but must be a tensor"):
        ff.top_k([1.0, 2.0], 1)  # type: ignore[arg-type]
