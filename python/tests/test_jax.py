"""`firefly_fft.jax` on CPUs, and on a CUDA device where there is one. Skipped without JAX."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any, Callable, Iterator

import numpy as np
import pytest

jax = pytest.importorskip("jax", minversion="0.5", reason="JAX 0.5 is not installed")
jnp = jax.numpy
sys.path.insert(0, str(Path(__file__).parent))

import jax_cases as checks  # noqa: E402

import firefly_fft.jax as ff  # noqa: E402
from firefly_fft import _native, _plans  # noqa: E402


def devices() -> list[Any]:
    """A CPU, and a CUDA device where there is one and the package is built for it."""
    found = [pytest.param(jax.devices("cpu")[0], id="cpu")]
    if jax.default_backend() == "gpu" and _native.BUILT_FOR_CUDA:
        found.append(pytest.param(jax.devices("gpu")[0], id="cuda"))
    return found


CASES = [pytest.param(case, id=case.name) for case in checks.cases()]
of_cases = pytest.mark.parametrize("case", CASES)


@pytest.fixture(params=devices(), autouse=True)
def device(request: pytest.FixtureRequest) -> Iterator[Any]:
    with jax.default_device(request.param):
        yield request.param


@of_cases
def test_values_and_gradients_are_those_of_the_definition(case: checks.Case) -> None:
    checks.check_values(case)


@of_cases
def test_compiled_code_gives_the_values_of_arrays_of_any_layout(case: checks.Case) -> None:
    checks.check_jit(case)


@of_cases
def test_batches_are_one_call_after_the_other(case: checks.Case) -> None:
    checks.check_vmap(case)


@of_cases
def test_float64_is_computed_in_float64(case: checks.Case, device: Any) -> None:
    if device.platform != "cpu":
        pytest.skip("CUDA devices compute in float32")
    checks.check_wide(case)


def test_float64_on_a_cuda_device_is_refused(device: Any) -> None:
    if device.platform == "cpu":
        pytest.skip("CPUs compute in float64")
    with checks.wide():
        x = jnp.ones((2, 64), jnp.float64)
        with pytest.raises(TypeError, match="x is of float64, but CUDA devices compute in float32"):
            ff.welch_psd(x, 16)
        with pytest.raises(Exception, match="but must be of float32 on a CUDA device"):
            jax.block_until_ready(jax.jit(lambda x: ff.welch_psd(x, 16))(x))


def test_gradients_are_those_of_differences() -> None:
    with checks.wide():
        for name in ("welch_psd", "log_mel", "rfft", "stft", "istft", "spectral_conv 2", "long_conv gate", "butterfly"):
            case = next(case for case in checks.cases() if case.name == name)
            arrays = [jax.device_put(x, jax.devices("cpu")[0]) for x in case.arrays(np.float64)]
            total = checks.weighted(case.ours)
            slopes = jax.grad(total, tuple(range(len(arrays))))(*arrays)
            for at, (x, slope) in enumerate(zip(arrays, slopes)):
                step = 1e-6 * np.random.default_rng(1).normal(size=x.shape)
                ends = [total(*arrays[:at], x + sign * step, *arrays[at + 1 :]) for sign in (1, -1)]
                expected = float(jnp.real(slope * step).sum())
                assert float(ends[0] - ends[1]) / 2 == pytest.approx(expected, rel=1e-5), name


def test_gradients_of_gradients_are_refused_by_name_but_of_transforms() -> None:
    x = jnp.asarray(np.random.default_rng(0).normal(size=(2, 16)), jnp.float32)

    def twice(function: Callable[..., Any], x: Any) -> Any:
        slope = jax.grad(lambda x: (jnp.abs(function(x)) ** 4).sum())
        return jax.grad(lambda x: (slope(x) ** 2).sum())(x)

    for ours, theirs in ((ff.rfft, jnp.fft.rfft), (ff.fft2, jnp.fft.fft2)):
        assert checks.error(twice(ours, x), twice(theirs, x)) < 1e-5
    assert twice(lambda x: ff.stft(x, 8), x).shape == x.shape
    with pytest.raises(NotImplementedError, match="welch_psd_backward: gradients of gradients are not supported"):
        twice(lambda x: ff.welch_psd(x, 8), x)


def test_gradients_of_one_argument_leave_the_others_out() -> None:
    x, window = jnp.ones((2, 64)), jnp.ones(16)
    text = str(jax.make_jaxpr(jax.grad(lambda x: ff.welch_psd(x, 16, window=window).sum()))(x))
    assert re.search(r"welch_psd_backward [0-9a-z ]* 1\b['\"\n]", text), text
    text = str(jax.make_jaxpr(jax.grad(lambda w: ff.welch_psd(x, 16, window=w).sum()))(window))
    assert re.search(r"welch_psd_backward [0-9a-z ]* 2\b['\"\n]", text), text


def test_half_floats_compute_in_float32() -> None:
    x = jnp.asarray(np.random.default_rng(0).normal(size=(3, 64)), jnp.float32)
    for dtype in (jnp.float16, jnp.bfloat16):
        power = ff.welch_psd(x.astype(dtype), 16)
        assert power.dtype == jnp.float32
        assert (power == ff.welch_psd(x.astype(dtype).astype(jnp.float32), 16)).all()
        assert jax.grad(lambda x: ff.welch_psd(x, 16).sum())(x.astype(dtype)).dtype == dtype
    # NumPy's arrays of the wrong byte order or type become JAX's first.
    assert ff.rfft(np.ones((2, 8), np.float32)).dtype == jnp.complex64


def test_rows_that_end_in_missing_peaks_get_no_gradient_there() -> None:
    x = jnp.array([[1.0, jnp.nan, 3.0, jnp.inf]])
    bins, values = ff.top_k(x, 3)
    assert bins.tolist() == [[2, 0, -1]] and bins.dtype == jnp.int32
    assert values[0, :2].tolist() == [3.0, 1.0] and bool(jnp.isnan(values[0, 2]))
    slope = jax.grad(lambda x: jnp.nan_to_num(ff.top_k(x, 3).power).sum())(x)
    assert slope.tolist() == [[1.0, 0.0, 1.0, 0.0]]


def test_bins_are_of_the_type_that_is_asked_for() -> None:
    x = jnp.arange(8.0)
    with checks.wide():
        assert ff.top_k(x, 2, index_dtype=jnp.int64).bins.dtype == jnp.int64
        assert ff.welch_peaks(x, 8, 2, index_dtype=jnp.int64).bins.dtype == jnp.int64
    with pytest.raises(ValueError, match="index_dtype is int64, which JAX has with jax_enable_x64 alone"):
        ff.top_k(x, 2, index_dtype=jnp.int64)
    with pytest.raises(ValueError, match="index_dtype is float32, but must be int32 or int64"):
        ff.top_k(x, 2, index_dtype=jnp.float32)


def test_arrays_without_rows_give_none() -> None:
    assert ff.welch_psd(jnp.ones((0, 64)), 16).shape == (0, 9)
    assert ff.rfft(jnp.ones((2, 0, 8))).shape == (2, 0, 5)
    assert ff.top_k(jnp.ones((0, 8)), 3).bins.shape == (0, 3)


def test_calls_in_other_threads_give_the_same_values() -> None:
    from concurrent.futures import ThreadPoolExecutor

    x = jnp.asarray(np.random.default_rng(0).normal(size=(64, 512)), jnp.float32)
    expected = np.asarray(ff.welch_psd(x, 64))
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: np.asarray(ff.welch_psd(x, 64)), range(64)))
    assert all((each == expected).all() for each in found)


def test_windows_that_leave_samples_out_are_refused_where_values_are_known(device: Any) -> None:
    spectra = jnp.ones((9, 12), jnp.complex64)
    hann = jnp.asarray(checks.hann(16), jnp.float32)
    with pytest.raises(ValueError, match="window leaves samples out"):
        ff.istft(spectra, 16, 17, center=False)
    if device.platform == "cpu":
        with pytest.raises(ValueError, match="window leaves samples out"):
            ff.istft(spectra, 16, 16, window=hann)
        # The first sample of the first frame alone.
        with pytest.raises(ValueError, match="window leaves samples out"):
            ff.istft(spectra, 16, 4, window=hann, center=False)
    assert bool(jnp.isfinite(ff.istft(spectra, 16, 4, window=hann)).all())
    traced = jax.jit(lambda w: ff.istft(spectra, 16, 4, window=w, center=False))(hann)
    assert not bool(jnp.isfinite(traced[0]))


X = jnp.ones((2, 64))


@pytest.mark.parametrize(
    ("call", "problem", "message"),
    [
        (lambda: ff.welch_psd(X, 128), ValueError, "x has 64 samples per row, but must have at least n_fft, 128"),
        (lambda: ff.welch_psd(X, 0), ValueError, "n_fft is 0, but must be at least 1"),
        (lambda: ff.welch_psd(X, 16.5), TypeError, "n_fft is 16.5, but must be a whole number"),
        (lambda: ff.welch_psd(X, 16, window=jnp.ones(8)), ValueError, "window"),
        (lambda: ff.welch_psd(X, 16, scaling="density", fs=-1.0), ValueError, "sample_rate|fs"),
        (lambda: ff.welch_psd(X, 16, scaling="other"), ValueError, "scaling is 'other'"),
        (lambda: ff.welch_psd(X.astype(int), 16), TypeError, "x is of int32, but must be of floats"),
        (lambda: ff.welch_psd([1.0, 2.0], 2), TypeError, "x is list, but must be an array"),
        (lambda: ff.welch_psd(X.astype(jnp.complex64), 16), TypeError, "x is of complex64, but must be of floats"),
        (lambda: ff.welch_psd(X, jnp.array(16)), TypeError, "n_fft is an array"),
        (lambda: ff.welch_psd(X, [16]), TypeError, "n_fft is a list"),
        (lambda: ff.welch_peaks(X, 16, 100), ValueError, "`k` is 100"),
        (lambda: ff.welch_peaks(X, 16, 2, band=(3, 30)), ValueError, "band"),
        (lambda: ff.top_k(X, 65), ValueError, "`k` is 65"),
        (lambda: ff.top_k(jnp.float32(1), 1), ValueError, "x is of shape \\[\\]"),
        (lambda: ff.local_maxima(X, 3, interpolation="none"), ValueError, "interpolation is 'none'"),
        (lambda: ff.log_mel(X, 16000, log="two"), ValueError, "log is 'two'"),
        (lambda: ff.mel(X, 16000, pad_mode="circular"), ValueError, "pad_mode is 'circular'"),
        (lambda: ff.fft(X, dim=2), ValueError, "dim is 2, but x has 2 dimensions"),
        (lambda: ff.fft(X, n=0), ValueError, "n is 0"),
        (lambda: ff.rfft(X, norm="both"), ValueError, "norm is 'both'"),
        (lambda: ff.rfftn(X, dim=()), ValueError, "dim is empty"),
        (lambda: ff.fftn(X, [4]), None, ""),
        (lambda: ff.fftn(X, (4, 4), (0,)), ValueError, "s has 2 lengths"),
        (lambda: ff.stft(X, 16, 4, 20), ValueError, "win_length is 20, but must be at most n_fft, 16"),
        (lambda: ff.stft(X, 128, center=False), ValueError, "x has 64 samples per row"),
        (lambda: ff.stft(X, 200), ValueError, "for pad_mode 'reflect' must have at least 101"),
        (lambda: ff.stft(X, 16, pad_mode="edge"), ValueError, "pad_mode is 'edge'"),
        (lambda: ff.istft(jnp.ones((8, 3), jnp.complex64), 16), ValueError, "x has 8 bins, but must have 9"),
        (lambda: ff.fft_convolve(X, X, "all"), ValueError, "mode is 'all'"),
        (lambda: ff.spectral_conv(X[None], jnp.ones((3, 2, 4), jnp.complex64)), ValueError, "weights"),
        (lambda: ff.long_conv(X[None], jnp.ones((3, 4))), ValueError, "kernel"),
        (lambda: ff.butterfly(X[:, :48], X[:, :48], jnp.ones((5, 24, 2))), ValueError, "power of two"),
    ],
)
def test_arguments_are_refused_by_name_when_they_are_traced(
    call: Callable[[], Any], problem: Any, message: str
) -> None:
    if problem is None:
        call()
        return
    for attempt in (call, lambda: jax.eval_shape(call)):
        with pytest.raises(problem, match=message):
            attempt()


def test_forward_mode_is_refused() -> None:
    with pytest.raises(TypeError, match="custom_vjp"):
        jax.jvp(lambda x: ff.rfft(x), (X,), (X,))


def test_another_version_of_the_interface_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from firefly_fft.jax import _operators

    folder = tmp_path / "xla" / "ffi" / "api"
    folder.mkdir(parents=True)
    (folder / "c_api.h").write_text("#define XLA_FFI_API_MAJOR 1\n#define XLA_FFI_API_MINOR 2\n")
    monkeypatch.setattr(jax.ffi, "include_dir", lambda: str(tmp_path))
    with pytest.raises(ImportError, match=r"is of version 1\.2, but must be of a version from 0\.1 on"):
        _operators._register()


def test_results_of_other_shapes_than_the_outputs_are_refused(device: Any) -> None:
    for shape, dtype in (((2, 8), jnp.float32), ((2, 9), jnp.int32)):
        wrong = [jax.ShapeDtypeStruct(shape, dtype)]
        call = jax.ffi.ffi_call("firefly", wrong)
        with pytest.raises(Exception, match="of other shapes or types than the results"):
            jax.block_until_ready(call(X, jnp.ones(16), operation="welch_psd 16 8 7 0 0 false false"))
    with pytest.raises(Exception, match="`` is no operation"):
        jax.block_until_ready(jax.ffi.ffi_call("firefly", wrong)(X))
    with pytest.raises(Exception, match="`values` is I32"):
        jax.block_until_ready(jax.ffi.ffi_call("firefly", wrong)(X.astype(jnp.int32), operation="top_k 2 1"))


def test_shapes_are_those_of_the_table() -> None:
    found = _plans.outputs("long_conv_backward 2", ((1, 2, 8), (2, 3), (1, 2, 8)), True)
    assert found == [((2, 3), "float64")]
    found = _plans.outputs("top_k 3 0", ((0, 8),), False)
    assert found == [((0, 3), "int64"), ((0, 3), "float32")]
    with pytest.raises(ValueError, match="`k` is 9"):
        _plans.outputs("top_k 9 0", ((2, 8),), False)
