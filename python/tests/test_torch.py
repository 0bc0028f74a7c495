"""`firefly_fft.torch` on CPUs, and on a CUDA device where there is one. Skipped without PyTorch."""

from __future__ import annotations

import math
import re
import sys
from pathlib import Path
from typing import Any, Callable

import pytest
import scipy.signal

torch = pytest.importorskip("torch", minversion="2.10", reason="PyTorch 2.10 is not installed")
sys.path.insert(0, str(Path(__file__).parent))

import torch_cases as checks  # noqa: E402

import firefly_fft.torch as ff  # noqa: E402
from firefly_fft import _native  # noqa: E402

IS_CUDA = torch.cuda.is_available() and getattr(_native, "BUILT_FOR_CUDA", False)
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
    "name",
    [
        "welch_psd",
        "log_mel",
        "rfft",
        "fft2",
        "irfftn",
        "stft",
        "istft",
        "fft_convolve same",
        "spectral_conv 2",
        "long_conv gate",
        "butterfly gates",
    ],
)
def test_gradients_are_those_of_differences(name: str) -> None:
    case = next(case for case in checks.cases() if case.name == name)
    inputs = checks.leaves(case.tensors("cpu", torch.float64))
    assert torch.autograd.gradcheck(case.ours, inputs, fast_mode=True)


def test_gradients_of_gradients_are_refused_by_name_but_of_transforms() -> None:
    x = torch.randn(2, 16, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradgradcheck(lambda x: ff.rfft(x), [x])
    assert torch.autograd.gradgradcheck(lambda x: ff.stft(x, 8), [x])
    assert torch.autograd.gradgradcheck(lambda x: ff.fft2(x), [x])
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
    assert ff.fft2(torch.zeros(0, 4, 6, device=device)).shape == (0, 4, 6)
    assert ff.stft(torch.zeros(0, 64, device=device), 16, center=False).shape == (0, 9, 13)


@pytest.mark.parametrize(
    "call",
    [
        lambda x, n: ff.top_k(x, n).bins,
        lambda x, n: ff.local_maxima(x, n, distance=n).bins,
        lambda x, n: ff.welch_psd(x, 8 * n, hop=n, segments=n),
        lambda x, n: ff.welch_peaks(x, 8 * n, n, band=(n, 4 * n)).power,
        lambda x, n: ff.mel(x, 8000, n, 32 * n, 8 * n),
        lambda x, n: ff.log_mel(x, 8000, n, 32 * n, win_length=16 * n),
        lambda x, n: ff.rfft(x, 8 * n),
        lambda x, n: ff.stft(x, 8 * n, 4 * n, 6 * n, center=False),
        lambda x, n: ff.istft(ff.stft(x, 16, 4), 8 * n, 2 * n, length=30 * n),
        lambda x, n: ff.Spectrogram(8 * n, 6 * n, 3 * n)(x),
        lambda x, n: ff.MFCC(8000, n, melkwargs={"n_fft": 32 * n, "hop_length": 8 * n, "n_mels": 2 * n})(x),
        lambda x, n: ff.LongConv(n, skip=False)(x[None, :2], x[:2]),
        lambda x, n: ff.LongConv(n)(x[None, :2], x[:2]).isfinite(),
        lambda x, n: ff.SpectralConv(n, n, (4,))(x[None, :2]).isfinite(),
    ],
)
def test_whole_numbers_may_be_floats(call: Callable[..., Any]) -> None:
    x = torch.randn(3, 64, generator=torch.Generator().manual_seed(0))
    assert torch.equal(call(x, 2.0), call(x, 2))
    with pytest.raises(TypeError, match=r"is \d+\.\d+, but must be a whole number"):
        call(x, 2.01)


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
        (lambda x: ff.fftn(x, dim=(0, -2)), r"dim is \[0, -2\], but must have each dimension once"),
        (lambda x: ff.fftn(x, dim=3), "dim is 3, but x has 2 dimensions"),
        (lambda x: ff.rfftn(x, s=(4, 4), dim=1), "s has 2 lengths, but must have one for each of 1 dimensions"),
        (lambda x: ff.rfftn(x, dim=()), "dim is empty"),
        (lambda x: ff.fft2(x, s=(0, 4)), "n is 0"),
        (lambda x: ff.stft(x, 0), "n_fft is 0"),
        (
            lambda x: ff.stft(x, 65, center=False),
            "x has 64 samples per row with its padding, but must have at least 65",
        ),
        (lambda x: ff.stft(x, 16, win_length=17), "win_length is 17, but must be at most n_fft, 16"),
        (lambda x: ff.stft(x, 16, window=x[0]), r"window is of shape \[64\], but must be of \[16\]"),
        (lambda x: ff.stft(x + 0j, 16, onesided=True), "onesided is True, but x is complex"),
        (lambda x: ff.stft(x, 16, return_complex=False), "return_complex is False"),
        (lambda x: ff.istft(x, 16), "x has 3 bins, but must have 9"),
        (lambda x: ff.istft(x, 4, return_complex=True), "return_complex is True, but spectra are one-sided"),
        (lambda x: ff.istft(x, 4, 8, center=False), "window leaves samples out"),
        (lambda x: ff.fft_convolve(x, x, "circular"), "mode is 'circular'"),
        (lambda x: ff.fft_convolve(x, x[:, :0]), "the length of kernel is 0"),
        (lambda x: ff.Spectrogram(normalized="energy"), "normalized is 'energy'"),
        (lambda x: ff.MelSpectrogram(mel_scale="bark"), "'bark'"),
        (lambda x: ff.MelSpectrogram(f_min=9000.0), "f_min, f_max are 9000.0, 8000.0"),
        (lambda x: ff.MFCC(n_mfcc=200), "n_mfcc is 200, but must be at most n_mels, 128"),
        (lambda x: ff.SpectralConv(1, 1, (4, 4), separable=True), "separable is True, but must be False"),
        (lambda x: ff.SpectralConv(1, 1, (4, 4))(x), "x has 2 dimensions, but must have 4"),
        (
            lambda x: ff.SpectralConv(3, 3, 4)(x[None], (128,)),
            r"output_shape is \[128\], but must be the input's, \[64\]",
        ),
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


@pytest.mark.parametrize("name", ["fftn", "ifftn", "rfftn", "irfftn", "fft2", "ifft2", "rfft2", "irfft2"])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"dim": 1},
        {"dim": (0, -1)},
        {"dim": (2, 0), "s": (7, -1)},
        {"s": (5, 6), "norm": "ortho"},
        {"norm": "forward"},
    ],
    ids=str,
)
def test_transforms_of_several_dimensions_take_pytorchs_arguments(name: str, options: Any) -> None:
    if "s" in options and name.endswith("2"):
        options = {"dim": (-2, -1), **options}
    x = torch.randn(4, 6, 9, dtype=torch.float64 if name.startswith("r") else torch.complex128)
    expected = getattr(torch.fft, name)(x, **options)
    assert checks.error(getattr(ff, name)(x, **options), expected) < 1e-12


@pytest.mark.parametrize("center", [False, True])
@pytest.mark.parametrize("is_complex", [False, True])
@pytest.mark.parametrize(
    "options",
    [
        {"n_fft": 32},
        {"n_fft": 25, "hop_length": 5, "normalized": True},
        {"n_fft": 32, "hop_length": 7, "win_length": 21, "onesided": False},
        {"n_fft": 32, "hop_length": 10, "win_length": 32},
    ],
    ids=["defaults", "odd", "short window", "window"],
)
def test_short_time_transforms_take_pytorchs_arguments(options: Any, is_complex: bool, center: bool) -> None:
    x = torch.randn(2, 100, dtype=torch.complex128 if is_complex else torch.float64)
    samples = options.get("win_length", options["n_fft"])
    ones, hamming = torch.ones(samples, dtype=x.real.dtype), torch.hamming_window(samples, dtype=x.real.dtype)
    own: dict[str, Any] = {**options, "center": center, "window": None if "hop_length" not in options else hamming}
    theirs = {**own, "window": ones if own["window"] is None else hamming}
    for mode in ("reflect", "constant", "replicate", "circular") if center else ("constant",):
        expected = torch.stft(x, pad_mode=mode, return_complex=True, **theirs)
        assert checks.error(ff.stft(x, pad_mode=mode, **own), expected) < 1e-12
        assert checks.error(ff.stft(x[None], pad_mode=mode, **own)[0], expected) < 1e-12
        assert checks.error(ff.stft(x[1], pad_mode=mode, **own), expected[1]) < 1e-12
    spectra = ff.stft(x, **own)
    if not center and samples < options["n_fft"]:
        with pytest.raises(ValueError, match="window leaves samples out"):
            ff.istft(spectra, **own)
        return
    for length in (None, 60):
        expected = torch.istft(spectra, length=length, return_complex=is_complex, **theirs)
        assert checks.error(ff.istft(spectra, length=length, return_complex=is_complex, **own), expected) < 1e-11
    if samples < options["n_fft"]:
        return
    short = ff.istft(spectra, return_complex=is_complex, **own)
    longer = ff.istft(spectra, length=130, return_complex=is_complex, **own)
    # As many samples as are in frames, and zeros.
    assert longer.shape == (2, 130) and torch.equal(longer[:, : short.shape[-1]], short) and longer[0, -1] == 0


@pytest.mark.parametrize("mode", ["full", "same", "valid"])
@pytest.mark.parametrize(("n", "k"), [(50, 7), (7, 50), (16, 16), (1, 1), (33, 8)])
def test_convolutions_are_those_of_scipy(mode: str, n: int, k: int) -> None:
    x, kernel = torch.randn(3, 1, n, dtype=torch.float64), torch.randn(3, 2, k, dtype=torch.complex128)
    for second in (kernel, kernel.real):
        expected = scipy.signal.fftconvolve(x.expand(3, 2, n).numpy(), second.numpy(), mode, axes=-1)
        assert checks.error(ff.fft_convolve(x, second, mode), torch.from_numpy(expected)) < 1e-12


@on_devices
@of_cases
def test_vmap_gives_the_results_of_calls(case: checks.Case, device: str) -> None:
    ones, others = (case.tensors(device, torch.float32, seed) for seed in (0, 5))
    expected = [checks.results(case.ours(*inputs)) for inputs in (ones, others)]
    for dim in (0, 1):
        found = checks.results(torch.vmap(case.ours, dim)(*(torch.stack(pair, dim) for pair in zip(ones, others))))
        for position, result in enumerate(found):
            want = torch.stack([outputs[position] for outputs in expected])
            assert checks.error(result, checks.doubled([want])[0]) < case.tolerance
    # The first input alone.
    found = checks.results(torch.vmap(case.ours, (0, *(None for _ in ones[1:])))(torch.stack([ones[0]] * 3), *ones[1:]))
    for result, want in zip(found, expected[0]):
        assert checks.error(result[2], checks.doubled([want])[0]) < case.tolerance


@on_devices
def test_gradients_of_each_row_are_those_of_its_own_call(device: str) -> None:
    x, window = torch.randn(3, 64, device=device), torch.hann_window(16, device=device)

    def loss(window: Any, row: Any) -> Any:
        return ff.welch_psd(row, 16, window=window).square().sum()

    found = torch.vmap(torch.func.grad(loss, argnums=(0, 1)), in_dims=(None, 0))(window, x)
    for position, row in enumerate(x):
        inputs = checks.leaves([window, row])
        expected = torch.autograd.grad(loss(*inputs), inputs)
        assert all(checks.error(a[position], b.double()) < 1e-5 for a, b in zip(found, expected))
    (of_vmap,) = checks.gradients(torch.vmap(ff.rfft), leaves := checks.leaves([x]))
    assert torch.equal(of_vmap, checks.gradients(ff.rfft, leaves)[0])
    jacobian = torch.func.jacrev(lambda row: ff.irfft(ff.rfft(row)[:9], 64))(x[0])
    assert checks.error(jacobian @ x[0], ff.irfft(ff.rfft(x[0])[:9], 64).double()) < 1e-5


@on_devices
def test_what_calls_keep_is_not_of_a_transform(device: str) -> None:
    x = torch.randn(3, 64, device=device, requires_grad=True)
    # The first call with this length of window.
    found = torch.vmap(torch.func.grad(lambda row: ff.welch_psd(row, 20).sum()))(x.detach())
    (expected,) = torch.autograd.grad(ff.welch_psd(x, 20).sum(), x)
    assert checks.error(found, expected.double()) < 1e-5
    torch._dynamo.reset()
    compiled = torch.compile(torch.vmap(lambda row: ff.welch_psd(row, 20)), fullgraph=True, backend="aot_eager")
    assert checks.error(compiled(x.detach()), ff.welch_psd(x.detach(), 20).double()) < 1e-5


@on_devices
def test_autocast_computes_in_float32(device: str) -> None:
    x, weight = torch.randn(2, 400, device=device), torch.eye(400, device=device)
    mfcc = ff.MFCC(8000, 5, melkwargs={"n_fft": 64, "n_mels": 12}).to(device)
    with torch.autocast(device, dtype=torch.bfloat16):
        narrow = x @ weight
        assert narrow.dtype == torch.bfloat16
        for function in (ff.rfft, lambda x: ff.stft(x, 64), lambda x: ff.welch_psd(x, 64), mfcc):
            found = function(narrow)
            assert found.dtype in (torch.float32, torch.complex64)
            with torch.autocast(device, enabled=False):
                assert torch.equal(found, function(narrow.float()))


def test_patched_functions_are_ours_and_are_restored() -> None:
    names = "fft ifft rfft irfft fft2 ifft2 rfft2 irfft2 fftn ifftn rfftn irfftn".split()
    own = [getattr(torch.fft, name) for name in names] + [torch.stft, torch.istft]

    def now() -> list[Callable[..., Any]]:
        return [getattr(torch.fft, name) for name in names] + [torch.stft, torch.istft]

    x, window = torch.randn(2, 64), torch.hann_window(16)
    with ff.patch():
        assert not any(a is b for a, b in zip(now(), own))
        for name, ours, theirs in zip(names, now(), own):
            values = x if name.startswith("r") else torch.complex(x, x.flip(0))
            assert torch.equal(ours(values), getattr(ff, name)(values))
            assert (
                checks.error(ours(input=values, norm="ortho"), checks.doubled([theirs(values, norm="ortho")])[0]) < 1e-5
            )
        spectra = torch.stft(x, 16, window=window, return_complex=True)
        assert torch.equal(spectra, ff.stft(x, 16, window=window))
        assert torch.equal(x.stft(16, window=window, return_complex=True), spectra)
        assert torch.equal(torch.istft(spectra, 16, window=window), ff.istft(spectra, 16, window=window))
        inner = torch.fft.rfft
        with ff.patch():
            assert torch.fft.rfft is not inner
        assert torch.fft.rfft is inner
    assert all(a is b for a, b in zip(now(), own))
    with pytest.raises(KeyError), ff.patch():
        raise KeyError
    assert all(a is b for a, b in zip(now(), own))


def test_patched_functions_leave_the_rest_to_pytorch() -> None:
    x, out = torch.arange(16), torch.empty(9, dtype=torch.complex64)
    expected = torch.fft.rfft(x)
    with ff.patch():
        assert torch.equal(torch.fft.rfft(x), expected)
        assert torch.fft.rfft(x.float(), out=out) is out and torch.allclose(out, expected)
        assert torch.fft.fft(x.to("meta")).device.type == "meta"
        with pytest.raises(RuntimeError):
            torch.fft.rfft(torch.zeros(3, 0))
        with pytest.raises(RuntimeError):
            torch.stft(x.float().reshape(1, 1, 1, 16), 4, return_complex=True)
        with pytest.raises(ValueError, match="norm is 'unit'"):
            torch.fft.rfft(x.float(), norm="unit")
        compiled = torch.compile(lambda x: torch.fft.rfft(x).abs(), fullgraph=True, backend="aot_eager")
        assert torch.equal(compiled(x.float()), ff.rfft(x.float()).abs())


def keys(module: Any) -> dict[str, tuple[tuple[int, ...], Any]]:
    return {name: (tuple(tensor.shape), tensor.dtype) for name, tensor in module.state_dict().items()}


def test_states_have_the_names_and_shapes_of_the_replaced_modules() -> None:
    single, double = torch.float32, torch.complex64
    assert keys(ff.Spectrogram(64, 48)) == {"window": ((48,), single)}
    mel = {"spectrogram.window": ((400,), single), "mel_scale.fb": ((201, 128), single)}
    assert keys(ff.MelSpectrogram()) == mel
    own = {"MelSpectrogram." + name: value for name, value in mel.items()}
    assert keys(ff.MFCC()) == {"dct_mat": ((128, 40), single), **own}
    assert keys(ff.SpectralConv(3, 5, 16)) == {"weight.tensor": ((3, 5, 9), double), "bias": ((5, 1), single)}
    weights = {"weight.tensor": ((3, 5, 16, 7), double), "bias": ((5, 1, 1), single)}
    assert keys(ff.SpectralConv(3, 5, (16, 12))) == weights
    options = {"rank": 1.0, "factorization": None, "fft_norm": "forward", "implementation": "factorized"}
    convolution = ff.SpectralConv(3, 5, (8, 7, 6), max_n_modes=(9, 9, 9), bias=False, **options)
    assert keys(convolution) == {"weight.tensor": ((3, 5, 9, 9, 9), double)}
    assert keys(ff.LongConv(4)) == {"D": ((4,), single)} and keys(ff.LongConv(4, skip=False)) == {}


def spectrogram_definition(x: Any, n_fft: int, hop: int, window: Any, power: float) -> Any:
    spectra = torch.stft(x.flatten(0, -2), n_fft, hop, len(window), window, return_complex=True)
    return spectra.reshape(*x.shape[:-1], *spectra.shape[-2:]).abs().pow(power)


def htk_filters(rate: int, n_fft: int, bands: int, low: float, high: float, device: str) -> Any:
    mels = torch.linspace(
        *(2595 * math.log10(1 + hertz / 700) for hertz in (low, high)), bands + 2, dtype=torch.float64
    )
    edges = 700 * (10 ** (mels / 2595) - 1)
    hertz = torch.linspace(0, rate / 2, n_fft // 2 + 1, dtype=torch.float64)
    columns = []
    for below, middle, above in zip(edges, edges[1:], edges[2:]):
        columns.append(
            torch.minimum((hertz - below) / (middle - below), (above - hertz) / (above - middle)).clamp_min(0)
        )
    return torch.stack(columns, 1).to(device)


@on_devices
@pytest.mark.parametrize("power", [1.0, 2.0, 3.0])
def test_spectrograms_are_those_of_the_definition(power: float, device: str) -> None:
    x = torch.randn(2, 3, 900, device=device, dtype=torch.float64)
    window = torch.hann_window(50, dtype=torch.float64, device=device)
    for normalized, factor in [
        (False, 1.0),
        (True, float(window.norm())),
        ("window", float(window.norm())),
        ("frame_length", 8.0),
    ]:
        module = ff.Spectrogram(64, 50, 20, pad=5, power=power, normalized=normalized).to(device)
        expected = spectrogram_definition(torch.nn.functional.pad(x, (5, 5)), 64, 20, window, power) / factor**power
        assert checks.error(module(x.float()), expected) < 1e-5
    module = ff.Spectrogram(64, power=None, onesided=False, wkwargs={"periodic": False}).to(device)
    window = torch.hann_window(64, False, dtype=torch.float64, device=device)
    expected = torch.stft(x[0], 64, 32, window=window, onesided=False, return_complex=True)
    assert checks.error(module(x[0].float()), expected) < 1e-5


@on_devices
def test_mel_spectrograms_and_coefficients_are_those_of_the_definition(device: str) -> None:
    x = torch.randn(2, 3, 4000, device=device, dtype=torch.float64)
    hann = torch.hann_window(256, dtype=torch.float64, device=device)
    for power in (1.0, 2.0, 3.0):
        module = ff.MelSpectrogram(16000, 256, hop_length=100, f_min=60.0, f_max=7000.0, n_mels=30, power=power)
        module, filters = module.to(device), htk_filters(16000, 256, 30, 60.0, 7000.0, device)
        assert checks.error(module.mel_scale.fb, filters) < 1e-6
        bands = spectrogram_definition(x, 256, 100, hann, power).transpose(-1, -2) @ filters
        assert checks.error(module(x.float()), bands.transpose(-1, -2)) < 1e-5
        # Other filters that a state has.
        state = {name: tensor.clone() for name, tensor in module.state_dict().items()}
        module.load_state_dict({**state, "mel_scale.fb": state["mel_scale.fb"].flip(1)})
        assert checks.error(module(x.float()), bands.flip(-1).transpose(-1, -2)) < 1e-5
        module.load_state_dict(state)
        assert checks.error(module(x.float()), bands.transpose(-1, -2)) < 1e-5
    slaney = ff.MelSpectrogram(16000, 256, n_mels=20, norm="slaney", mel_scale="slaney")
    assert checks.error(slaney.mel_scale.fb.T, checks.mel_filters(16000, 256, 20, hann.cpu())) < 1e-6
    angles = math.pi / 30 * (torch.arange(30, dtype=torch.float64)[:, None] + 0.5) * torch.arange(13)
    cosines = angles.cos() * math.sqrt(2 / 30)
    cosines[:, 0] /= math.sqrt(2)
    options = {"n_fft": 256, "hop_length": 100, "n_mels": 30}
    bands = spectrogram_definition(x, 256, 100, hann, 2).transpose(-1, -2) @ htk_filters(
        16000, 256, 30, 0.0, 8000.0, device
    )
    for log_mels in (False, True):
        module = ff.MFCC(16000, 13, log_mels=log_mels, melkwargs=options).to(device)
        assert checks.error(module.dct_mat.cpu(), cosines) < 1e-6
        for second in (1.0, 1e-6):
            scale = torch.tensor([1.0, second], dtype=x.dtype, device=device)[:, None, None]
            scaled = bands * scale[..., None] ** 2
            decibels = 10 * scaled.clamp_min(1e-10).log10()
            decibels = decibels.maximum(decibels.amax((1, 2, 3), keepdim=True) - 80)
            expected = ((scaled + 1e-6).log() if log_mels else decibels) @ cosines.to(device)
            assert checks.error(module((x * scale).float()), expected.transpose(-1, -2)) < 2e-5


@pytest.mark.parametrize("name", ["Spectrogram", "MelSpectrogram", "MFCC", "SpectralConv", "LongConv"])
def test_gradients_of_modules_are_those_of_differences(name: str) -> None:
    x, k = torch.randn(2, 3, 40, dtype=torch.float64), torch.randn(3, 40, dtype=torch.float64)
    mel = {"n_fft": 16, "n_mels": 4}
    module, *inputs = {
        "Spectrogram": (ff.Spectrogram(16), x),
        "MelSpectrogram": (ff.MelSpectrogram(8000, **mel), x),
        "MFCC": (ff.MFCC(8000, 3, melkwargs=mel), x),
        "SpectralConv": (ff.SpectralConv(3, 2, 8), x),
        "LongConv": (ff.LongConv(3), x, k),
    }[name]
    module = module.double()
    if name == "SpectralConv":
        # PyTorch's ``double`` leaves complex parameters.
        module.weight.tensor.data = module.weight.tensor.data.to(torch.complex128)
    parameters = dict(module.named_parameters())

    def call(*tensors: Any) -> Any:
        named = dict(zip(parameters, tensors[len(inputs) :]))
        return torch.func.functional_call(module, named, tensors[: len(inputs)])

    assert torch.autograd.gradcheck(call, checks.leaves([*inputs, *parameters.values()]), fast_mode=True)


@on_devices
@pytest.mark.parametrize(
    ("modes", "most", "shape"),
    [
        ((16,), None, (40,)),
        ((6, 8), None, (16, 20)),
        ((7, 5), (9, 8), (20, 15)),
        ((40, 40), None, (12, 10)),
        ((4, 5, 6), None, (8, 6, 10)),
    ],
)
def test_spectral_convolutions_are_those_of_neuraloperator(modes: Any, most: Any, shape: Any, device: str) -> None:
    module = ff.SpectralConv(2, 3, modes, max_n_modes=most).to(device)
    x = torch.randn(2, 2, *shape, device=device, dtype=torch.float64)
    for kept in (modes, [max(2, m - 3) for m in modes]):
        module.n_modes = kept
        weight = module.weight.tensor.detach().to(torch.complex128)
        dims = tuple(range(-len(shape), 0))
        middles = [size // 2 for size in shape[:-1]]
        # The lowest frequency of each dimension but the last goes to the middle.
        spectrum = torch.fft.rfftn(x, dim=dims, norm="forward").roll(middles or 0, dims[:-1] or 0)
        total, of_weights, of_bins = spectrum.shape[2:], [], []
        for dim, (size, count) in enumerate(zip(total, module.n_modes)):
            count, room = min(size, count), weight.shape[dim + 2]
            is_last = dim == len(shape) - 1
            first = 0 if is_last else (room - count) // 2
            of_weights.append(slice(first, first + count))
            first = 0 if is_last else size // 2 - count // 2
            of_bins.append(slice(first, first + count))
        product = torch.zeros(2, 3, *total, dtype=torch.complex128, device=device)
        every = (slice(None), slice(None))
        product[(*every, *of_bins)] = torch.einsum(
            "bi...,io...->bo...", spectrum[(*every, *of_bins)], weight[(*every, *of_weights)]
        )
        product = product.roll([-middle for middle in middles] or 0, dims[:-1] or 0)
        for dim in dims[:-1]:
            product = torch.fft.ifft(product, dim=dim, norm="forward")
        expected = torch.fft.irfft(product, shape[-1], norm="forward") + module.bias.detach()
        assert checks.error(module(x.float()), expected) < 1e-5
    assert module.transform(x, shape) is x


@on_devices
def test_long_convolutions_skip_and_gate(device: str) -> None:
    u, k, gate = (torch.randn(*shape, device=device) for shape in ((2, 3, 50), (3, 50), (2, 3, 50)))
    module = ff.LongConv(3).to(device)
    skipped = checks.long_conv_definition(u.double(), k.double()) + u.double() * module.D.detach()[:, None]
    assert checks.error(module(u, k), skipped) < 1e-5
    assert checks.error(module(u, k, gate), skipped * gate) < 1e-5
    assert checks.error(module(u.bfloat16(), k), skipped) < 2e-2
    assert torch.equal(ff.LongConv(3, skip=False)(u, k), ff.long_conv(u, k))


@pytest.mark.parametrize("name", ["Spectrogram", "MelSpectrogram", "MFCC", "SpectralConv", "LongConv"])
def test_modules_compile_to_one_graph(name: str) -> None:
    torch._dynamo.reset()
    x = torch.randn(2, 3, 400)
    module, *inputs = {
        "Spectrogram": (ff.Spectrogram(64), x),
        "MelSpectrogram": (ff.MelSpectrogram(8000, n_fft=64, n_mels=10), x),
        "MFCC": (ff.MFCC(8000, 5, melkwargs={"n_fft": 64, "n_mels": 10}), x),
        "SpectralConv": (ff.SpectralConv(3, 2, 8), x),
        "LongConv": (ff.LongConv(3), x, torch.randn(3, 400)),
    }[name]
    compiled = torch.compile(module, fullgraph=True, backend="aot_eager")
    for rows in (2, 5):
        inputs[0] = torch.randn(rows, 3, 400)
        assert checks.error(compiled(*inputs), checks.doubled([module(*inputs).detach()])[0]) < 1e-5


def test_the_code_of_the_guide_runs() -> None:
    guide = (Path(__file__).parents[2] / "docs/guide/pytorch.md").read_text("utf-8")
    blocks = re.findall(r"```python\n(.*?)```", guide, re.DOTALL)
    assert len(blocks) == 3
    for block in blocks:
        exec(block, {})
