"""Functions of CuPy's arrays where there is no CuPy: NumPy stands for it, and kernels for CPUs for launch plans."""

from __future__ import annotations

import importlib
import importlib.util
import sys
import types
from pathlib import Path
from typing import Any, Callable, Iterator

import numpy as np
import pytest

torch = pytest.importorskip("torch", minversion="2.10", reason="PyTorch 2.10, whose operators compute here, is missing")
sys.path.insert(0, str(Path(__file__).parent))

import gpu_cases as checks  # noqa: E402

import firefly_fft as ff  # noqa: E402
from firefly_fft import _dispatch, _native, _plans  # noqa: E402

pytestmark = pytest.mark.skipif(importlib.util.find_spec("cupy") is not None, reason="CuPy is installed")
CASES = [
    *(case for case in checks.cases() if case.cupy),
    checks.Case("power_spectrum", checks._power_spectrum, (4, 90), checks._power_spectrum_definition),
]
of_cases = pytest.mark.parametrize("case", [pytest.param(case, id=case.name) for case in CASES])


class Device:
    """The only device."""

    id = 0

    def __enter__(self) -> Device:
        return self

    def __exit__(self, *problem: Any) -> None:
        pass


DEVICE = Device()


class Stream:
    ptr = 0

    def synchronize(self) -> None:
        pass


class Array(np.ndarray[Any, Any]):
    """Array that stands for one of CuPy."""

    @property
    def device(self) -> Any:
        return DEVICE

    def get(self) -> Any:
        return self.view(np.ndarray)


def of_numpy(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *arguments, **options: np.asarray(function(*arguments, **options)).view(Array)


@pytest.fixture
def library(monkeypatch: pytest.MonkeyPatch) -> Iterator[checks.Library]:
    """The module for CuPy's arrays, with NumPy's."""
    stand_in = types.ModuleType("cupy")
    for name in "asarray ascontiguousarray clip empty log moveaxis ones_like pad sqrt take_along_axis where".split():
        setattr(stand_in, name, of_numpy(getattr(np, name)))
    stand_in.zeros_like, stand_in.finfo, stand_in.ndarray = of_numpy(np.zeros_like), np.finfo, Array
    stand_in.cuda = types.SimpleNamespace(get_cuda_path=lambda: None, get_current_stream=Stream)
    monkeypatch.setitem(sys.modules, "cupy", stand_in)
    # What a failed import of doctests' leaves.
    monkeypatch.delitem(sys.modules, "firefly_fft.cupy", raising=False)
    module = importlib.import_module("firefly_fft.cupy")
    from firefly_fft.torch._operators import apply

    def computed(operation: str, *inputs: Any) -> list[Any]:
        assert all(x.dtype == np.float32 for x in inputs)
        found = apply(operation, *(torch.from_numpy(np.array(x)) for x in inputs))
        return [output.numpy().view(Array) for output in (found if isinstance(found, tuple) else (found,))]

    module.launched = module._apply
    monkeypatch.setattr(module, "_apply", computed)
    yield checks.CupyLibrary(stand_in)
    del sys.modules["firefly_fft.cupy"]


@of_cases
def test_values_are_those_of_float64(case: checks.Case, library: checks.Library) -> None:
    checks.check_values(case, library)


@of_cases
def test_any_strides_give_the_same_values(case: checks.Case, library: checks.Library) -> None:
    checks.check_strides(case, library)


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (
            lambda x: ff.welch(x.astype(np.float64)),
            ValueError,
            r"float64, but GPUs compute in float32: .*cupy\.asnumpy",
        ),
        (lambda x: ff.welch(x.astype(np.complex64)), TypeError, "x is complex, but must be real"),
        (lambda x: ff.welch(x, return_onesided=False), ValueError, "return_onesided is False, but .* must be True"),
        (lambda x: ff.welch(x, average="median"), ValueError, "average is 'median', but .* must be 'mean'"),
        (lambda x: ff.welch(x, nfft=512), ValueError, "nfft is 512, but .* must be 256"),
        (lambda x: ff.welch(x, detrend=lambda s: s), ValueError, "detrend is a function"),
        (lambda x: ff.welch(x, axis=2), ValueError, "axis is 2, but x has 2 dimensions"),
        (lambda x: ff.welch(x, device="cpu"), ValueError, "x is on cuda:0, but device is 'cpu'"),
        (lambda x: ff.fft.fft(x, 0), ValueError, "n is 0"),
        (lambda x: ff.fft.fft2(x), ValueError, r"of which fft2 is not computed: .*`torch\.from_dlpack\(x\)`"),
        (lambda x: ff.csd(x, x), ValueError, "x is an array of cupy, of which csd is not computed"),
        (lambda x: ff.top_k(x[:, :0], 1), ValueError, "x has no samples"),
        (lambda x: ff.log_mel(x, 8000, log=None), ValueError, "log is 'None'"),
    ],
)
def test_errors_name_the_argument(call: Any, error: type[Exception], text: str, library: checks.Library) -> None:
    with pytest.raises(error, match=text):
        call(library.array(np.ones((3, 384), np.float32)))


def test_devices_are_named_as_elsewhere(library: checks.Library) -> None:
    x = library.array(np.ones((3, 384), np.float32))
    for device in (None, "auto", "cuda", "cuda:0"):
        assert ff.welch_psd(x, device=device).shape == (3, 129)


@pytest.mark.parametrize("size", [0, 512, 1000])
@pytest.mark.parametrize("place", [1 << 20, (1 << 20) + 256])
def test_temporary_memory_is_aligned_whatever_the_allocator(
    place: int, size: int, library: checks.Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    module, given, launches = sys.modules["firefly_fft.cupy"], [], []

    class Plan:
        outputs, workspace = (), size

        def __init__(self, *_: Any) -> None:
            pass

        def launch(self, inputs: Any, outputs: Any, workspace: int, stream: int) -> None:
            launches.append(workspace)

    def alloc(size: int) -> Any:
        given.append(size)
        return types.SimpleNamespace(ptr=place if size else 0)

    monkeypatch.setattr(module, "Plan", Plan)
    monkeypatch.setattr(module.cupy.cuda, "alloc", alloc, raising=False)
    memory = types.SimpleNamespace(ptr=0)
    x = types.SimpleNamespace(strides=(4,), shape=(1,), device=DEVICE, data=memory)
    module.launched("", x)
    assert launches[0] % 512 == 0
    assert launches[0] == 0 if size == 0 else place <= launches[0] <= place + given[0] - size


def test_a_module_that_does_not_load_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_dispatch, "_LIBRARIES", (("torch", "Tensor", "firefly_fft.missing"),))
    with pytest.raises(ImportError, match=r"x is an array of torch: .*firefly_fft\.missing.*x\.numpy\(\)"):
        ff.welch(torch.ones(384))


def test_plans_refuse_by_name() -> None:
    with pytest.raises(ValueError, match="`k` is 9, but must be"):
        _plans.Plan("top_k 9 0", 0, [(0, (2, 5), (5, 1))])
    with pytest.raises(RuntimeError, match="is no operation"):
        _plans.Plan("top_k", 0, [(0, (2, 5), (5, 1))])
    if not getattr(_native, "BUILT_FOR_CUDA", False):
        with pytest.raises(RuntimeError, match="not for CUDA"):
            _plans.Plan("top_k 2 0", 0, [(0, (2, 5), (5, 1))])
