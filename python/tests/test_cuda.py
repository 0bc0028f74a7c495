"""Tensors in a GPU's memory. Skipped where PyTorch or CuPy, a CUDA device, or a build for CUDA is missing."""

from __future__ import annotations

import gc
import threading
from typing import Any, Callable

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import firefly_fft as ff
from firefly_fft import _native

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
pytestmark = [
    pytest.mark.skipif(not hasattr(_native, "from_dlpack"), reason="the package was built without the feature cuda"),
    pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA device"),
]

_GENERATOR = np.random.default_rng(0)


def noise(*shape: int) -> Any:
    """Noise of float32 on the first GPU, and the same on the host."""
    host = _GENERATOR.normal(size=shape).astype(np.float32)
    return torch.from_numpy(host).cuda(), host


def complex_noise(*shape: int) -> Any:
    """Noise of complex64 on the first GPU, and the same on the host."""
    host = (_GENERATOR.normal(size=shape) + 1j * _GENERATOR.normal(size=shape)).astype(np.complex64)
    return torch.from_numpy(host).cuda(), host


def assert_same(result: Any, expected: Any, rtol: float = 2e-4) -> None:
    """An array on the first GPU, of the type, shape and values of an array on the host."""
    assert isinstance(result, ff.DeviceArray)
    assert (result.shape, result.dtype, result.device) == (expected.shape, expected.dtype, "cuda")
    assert (result.ndim, result.size, len(result)) == (expected.ndim, expected.size, len(expected))
    taken = torch.from_dlpack(result)
    assert taken.device == torch.device("cuda", 0)
    assert_array_equal(taken.cpu().numpy(), result.numpy())
    assert_allclose(result.numpy(), expected, rtol=rtol, atol=rtol * max(1e-30, float(np.abs(expected).max(initial=0))))


def test_peaks_of_a_tensor_stay_on_its_gpu() -> None:
    x, host = noise(500, 384)
    peaks, expected = ff.welch_peaks(x, k=5, fs=100.0), ff.welch_peaks(host, k=5, fs=100.0)
    assert_same(peaks.power, expected.power)
    assert isinstance(peaks.bins, ff.DeviceArray) and peaks.bins.dtype == np.int32
    assert (peaks.bins.numpy() == expected.bins).mean() > 0.999
    assert torch.from_dlpack(peaks.bins).dtype == torch.int32
    assert repr(peaks.power) == "DeviceArray(shape=(500, 5), dtype=float32, device='cuda')"


FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "welch": lambda x: ff.welch(x, fs=10.0, nperseg=64)[1],
    "welch without detrend": lambda x: ff.welch_psd(x, detrend=False, scaling="spectrum"),
    "welch of many segments": lambda x: ff.welch_psd(x, nperseg=16),
    "welch along the first axis": lambda x: ff.welch_psd(x, nperseg=8, axis=0),
    "welch along the middle axis": lambda x: ff.welch_psd(x.reshape(6, 60, -1), nperseg=8, axis=1),
    "welch of an axis from the end": lambda x: ff.welch_psd(x.reshape(6, 60, -1), nperseg=8, axis=-2),
    "periodogram": lambda x: ff.periodogram(x, window="hann")[1],
    "top_k": lambda x: ff.top_k(x, 7).values,
    "top_k along the first axis": lambda x: ff.top_k(x, 7, axis=0).values,
    "positions along the first axis": lambda x: ff.top_k(x, 7, axis=0).indices,
    "local_maxima": lambda x: ff.local_maxima(x, 4, prominence=0.5).prominence,
    "mel": lambda x: ff.mel(x, fs=8000, n_mels=20, n_fft=256),
    "log_mel": lambda x: ff.log_mel(x.reshape(2, -1, 600), fs=8000, n_mels=20, n_fft=256, floor=1e-3),
    "rfft": lambda x: ff.fft.rfft(x),
    "rfft of fewer points": lambda x: ff.fft.rfft(x, 100, norm="ortho"),
    "rfft along the first axis": lambda x: ff.fft.rfft(x, axis=0),
    "fft of real values": lambda x: ff.fft.fft(x, 700),
    "irfft of real values": lambda x: ff.fft.irfft(x),
    "rfft2": lambda x: ff.fft.rfft2(x),
    "stft": lambda x: ff.stft(x, nperseg=64)[2],
    "stft of longer transforms": lambda x: ff.stft(x, nperseg=50, noverlap=20, nfft=64, boundary="odd")[2],
    "stft along the first axis": lambda x: ff.stft(x, nperseg=64, detrend="constant", axis=0)[2],
    "stft along the middle axis": lambda x: ff.stft(x.reshape(6, 60, -1), nperseg=8, boundary="even", axis=1)[2],
    "stft without ends": lambda x: ff.stft(x, nperseg=64, boundary=None, padded=False, scaling="psd")[2],
    "two-sided welch": lambda x: ff.welch_psd(x, nperseg=64, return_onesided=False),
    "two-sided stft": lambda x: ff.stft(x, nperseg=33, return_onesided=False)[2],
    "fftn": lambda x: ff.fft.fftn(x.reshape(6, 60, -1)),
}


@pytest.mark.parametrize("function", FUNCTIONS.values(), ids=FUNCTIONS.keys())
def test_results_are_those_of_the_host(function: Callable[[Any], Any]) -> None:
    x, host = noise(360, 600)
    assert_same(function(x), function(host))


@pytest.mark.parametrize("name", ["welch_peaks", "learned_welch_peaks_tiny", "fits_tiny", "fno2d_tiny", "log_mel_tiny"])
def test_models_compute_on_their_gpu(name: str) -> None:
    model, reference = ff.zoo.create(name, device="cuda"), ff.zoo.create(name)
    if model.parameters:
        reference = ff.zoo._from_bytes(model._native.to_bytes(), "cpu")
    pairs = [noise(7, *shape[1:]) for shape in model.inputs]
    outputs = model.predict(*(x for x, _ in pairs))
    expected = reference.predict(*(host for _, host in pairs))
    outputs, expected = (value if isinstance(value, tuple) else (value,) for value in (outputs, expected))
    assert len(outputs) == len(expected) > 0
    for output, host in zip(outputs, expected):
        if host.dtype.kind == "f":
            # Linear layers are matrix products of Burn, which round to TF32 on CUDA.
            assert_same(output, host, rtol=2e-3 if name in ("fits_tiny", "fno2d_tiny") else 2e-4)
        else:
            assert isinstance(output, ff.DeviceArray) and output.shape == host.shape
            assert (output.numpy() == host).mean() > 0.99


def test_models_refuse_tensors_of_other_memory() -> None:
    x, host = noise(3, 384)
    with pytest.raises(ValueError, match="cuda"):
        ff.zoo.create("welch_peaks").predict(x)
    with pytest.raises(ValueError, match="batch_size can't be given"):
        ff.zoo.create("welch_peaks", device="cuda").predict(x, batch_size=2)
    assert isinstance(ff.zoo.create("welch_peaks", device="cuda").predict(host).power, np.ndarray)


COMPLEX_FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "fft": lambda z: ff.fft.fft(z),
    "ifft": lambda z: ff.fft.ifft(z, 50),
    "fft along the first axis": lambda z: ff.fft.fft(z, axis=0),
    "irfft": lambda z: ff.fft.irfft(z),
    "irfft along the middle axis": lambda z: ff.fft.irfft(z.reshape(4, 9, -1), axis=1),
    "ifft2": lambda z: ff.fft.ifft2(z),
    "irfftn": lambda z: ff.fft.irfftn(z.reshape(4, 9, -1)),
    "istft": lambda z: ff.istft(z.reshape(4, 9, -1))[1],
    "istft of two-sided spectra": lambda z: ff.istft(z.reshape(4, 9, -1), input_onesided=False)[1],
    "welch": lambda z: ff.welch_psd(z, fs=10.0, nperseg=16),
    "welch along the first axis": lambda z: ff.welch_psd(z, nperseg=8, detrend=False, axis=0),
    "periodogram": lambda z: ff.periodogram(z, window="hann")[1],
    "welch_peaks": lambda z: ff.welch_peaks(z, k=3, nperseg=16, segments=2).power,
    "stft": lambda z: ff.stft(z, nperseg=16, boundary="odd")[2],
    "spectrogram": lambda z: ff.spectrogram(z, nperseg=16, mode="complex")[2],
    "istft of other axes": lambda z: ff.istft(z.reshape(9, -1, 4), freq_axis=0, time_axis=1)[1],
}


@pytest.mark.parametrize("function", COMPLEX_FUNCTIONS.values(), ids=COMPLEX_FUNCTIONS.keys())
def test_results_of_complex_values_are_those_of_the_host(function: Callable[[Any], Any]) -> None:
    z, host = complex_noise(36, 65)
    assert_same(function(z), function(host))


def test_short_time_transforms_are_inverted() -> None:
    x, host = noise(3, 1000)
    signal = ff.istft(ff.stft(x)[2])[1]
    assert isinstance(signal, ff.DeviceArray)
    assert_allclose(signal.numpy()[:, :1000], host, atol=1e-5)


def test_results_are_inputs_without_a_copy() -> None:
    x, host = noise(20, 300)
    spectrum = ff.fft.rfft(x)
    assert_same(ff.fft.irfft(spectrum), host)
    power = ff.welch_psd(x)
    assert _native.from_dlpack(power, "x", None).__dlpack_device__() == power.__dlpack_device__()
    assert_same(ff.top_k(power, 3).values, ff.top_k(ff.welch_psd(host), 3).values)
    with pytest.raises(ValueError, match="int32"):
        ff.top_k(ff.top_k(power, 3).indices, 2)


def test_results_are_given_without_a_copy() -> None:
    x, _ = noise(20, 300)
    power = ff.welch_psd(x)
    one, other = torch.from_dlpack(power), torch.from_dlpack(power)
    assert one.data_ptr() == other.data_ptr()
    one.fill_(7)
    assert (power.numpy() == 7).all() and (np.asarray(power) == 7).all()
    assert (ff.top_k(power, 2).values.numpy() == 7).all()
    assert np.asarray(power, np.float64).dtype == np.float64


def test_a_tensor_outlives_the_array_that_it_was_taken_of() -> None:
    x, host = noise(200, 384)
    taken = torch.from_dlpack(ff.welch_psd(x))
    gc.collect()
    for _ in range(20):
        ff.welch_psd(torch.zeros_like(x))
    assert_allclose(taken.cpu().numpy(), ff.welch_psd(host), rtol=2e-4, atol=1e-6)


def test_memory_is_reused_only_when_its_work_is_done() -> None:
    x, host = noise(200, 384)
    side = torch.cuda.Stream()
    for _ in range(5):
        taken = torch.from_dlpack(ff.welch_psd(x))
        with torch.cuda.stream(side):
            torch.cuda._sleep(50_000_000)
            copy = taken.clone()
        del taken
        gc.collect()
        for _ in range(3):
            ff.welch_psd(torch.zeros_like(x))
        side.synchronize()
        assert_allclose(copy.cpu().numpy(), ff.welch_psd(host), rtol=2e-4, atol=1e-6)


def test_work_in_flight_on_an_input_is_waited_for() -> None:
    x, host = noise(200, 384)
    for stream in (torch.cuda.current_stream(), torch.cuda.Stream()):
        late = torch.zeros_like(x)
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            torch.cuda._sleep(100_000_000)
            late.copy_(x)
            result = ff.welch_psd(late)
        assert_same(result, ff.welch_psd(host))


def test_gaps_between_rows_are_left_out() -> None:
    x, host = noise(64, 500)
    for part in (np.s_[:, 100:484], np.s_[::2], np.s_[3:, :384], np.s_[5], np.s_[:1, :300]):
        assert_same(ff.welch_psd(x[part]), ff.welch_psd(host[part]))
    x, host = noise(4, 8, 500)
    assert_same(ff.welch_psd(x[..., 20:420]), ff.welch_psd(host[..., 20:420]))
    assert_same(ff.welch_psd(x[:, 2:]), ff.welch_psd(host[:, 2:]))
    for strided in (x[0].T, x[..., ::2], x.transpose(0, 1), x[:, 1:, 1:], x[:1].expand(4, 8, 500)):
        with pytest.raises(ValueError, match="contiguous"):
            ff.welch_psd(strided)
        assert_same(ff.welch_psd(strided.contiguous()), ff.welch_psd(strided.cpu().numpy()))


def test_types_are_those_of_the_guide() -> None:
    x, host = noise(10, 384)
    half = ff.welch_psd(x.half())
    assert_same(half, ff.welch_psd(host.astype(np.float16)))
    for other in (x.double(), x.int(), x.bool(), x.to(torch.uint8), x.to(torch.complex128)):
        with pytest.raises(ValueError, match="float32"):
            ff.top_k(other, 2)
    with pytest.raises(TypeError, match="x is of bfloat16"):
        ff.welch(x.bfloat16())
    with pytest.raises(TypeError, match="complex"):
        ff.welch(x.to(torch.complex64))
    with pytest.raises(TypeError, match="complex"):
        ff.top_k(x.to(torch.complex64), 2)
    with pytest.raises(TypeError, match="grad"):
        ff.welch(x.requires_grad_())


def test_a_device_is_the_tensor_s() -> None:
    x, host = noise(10, 384)
    for device in ("cuda", "cuda:0", "auto"):
        assert_same(ff.welch_psd(x, device=device), ff.welch_psd(host))
    for device in ("cpu", "cuda:1"):
        with pytest.raises(ValueError, match="memory of a device, cuda, but device is"):
            ff.welch_psd(x, device=device)
    with pytest.raises(ValueError, match="unknown device"):
        ff.welch_psd(x, device="gpu0")
    assert isinstance(ff.welch_psd(host, device="cuda"), np.ndarray)


def test_a_second_gpu_computes_what_it_holds() -> None:
    if torch.cuda.device_count() < 2:
        pytest.skip("there is one CUDA device")
    x, host = noise(10, 384)
    power = ff.welch_psd(x.to("cuda:1"))
    assert power.device == "cuda:1" and torch.from_dlpack(power).device == torch.device("cuda", 1)
    assert_allclose(power.numpy(), ff.welch_psd(host), rtol=2e-4, atol=1e-6)


def test_no_rows_give_no_rows() -> None:
    empty = torch.zeros((0, 384), device="cuda")
    assert_same(ff.welch_psd(empty), np.zeros((0, 129), np.float32))
    assert_same(ff.fft.rfft(empty), np.zeros((0, 193), np.complex64))
    assert_same(ff.stft(empty, nperseg=64)[2], np.zeros((0, 33, 13), np.complex64))
    assert_same(
        ff.istft(torch.zeros((0, 33, 13), device="cuda", dtype=torch.complex64))[1], np.zeros((0, 384), np.float32)
    )
    assert ff.welch_peaks(torch.zeros((2, 0, 384), device="cuda"), k=3).bins.shape == (2, 0, 3)
    with pytest.raises(ValueError, match="no samples"):
        ff.welch(torch.zeros((3, 0), device="cuda"))
    with pytest.raises(ValueError, match="scalar"):
        ff.welch(torch.zeros((), device="cuda"))


def test_what_is_computed_on_the_host_says_so() -> None:
    x, _ = noise(10, 384)
    for function in (
        lambda: ff.stft(x, detrend=lambda segments: segments),
        lambda: ff.welch(x, average="median"),
        lambda: ff.welch(x, nperseg=100, nfft=200),
        lambda: ff.periodogram(x, nfft=200),
        lambda: ff.welch(np.zeros(384, np.float32), window=x[0]),
    ):
        with pytest.raises(ValueError, match="memory of a device"):
            function()


def test_arrays_of_cupy_go_in_and_out() -> None:
    cupy = pytest.importorskip("cupy", reason="CuPy is not installed")
    _, host = noise(10, 384)
    power = ff.welch_psd(cupy.asarray(host))
    assert_same(power, ff.welch_psd(host))
    assert_array_equal(cupy.asnumpy(cupy.from_dlpack(power)), power.numpy())
    with cupy.cuda.Stream(non_blocking=True):
        assert_same(ff.welch_psd(cupy.asarray(host) * 2), ff.welch_psd(host * 2))


def test_the_protocol_of_dlpack_is_kept() -> None:
    x, _ = noise(10, 384)
    power = ff.welch_psd(x)
    assert power.__dlpack_device__() == (2, 0)
    assert '"dltensor"' in repr(power.__dlpack__())
    assert '"dltensor_versioned"' in repr(power.__dlpack__(max_version=(1, 1), stream=1, dl_device=(2, 0), copy=False))
    assert_array_equal(np.from_dlpack(_OnHost(power)), power.numpy())
    for options in ({"copy": True}, {"dl_device": (2, 1)}, {"dl_device": (1, 0), "copy": False}):
        with pytest.raises(BufferError):
            power.__dlpack__(**options)
    with pytest.raises(ValueError, match="copy"):
        power.__array__(copy=False)


class _OnHost:
    """An array in a GPU's memory, which is asked for in the host's."""

    def __init__(self, array: Any) -> None:
        self.array = array

    def __dlpack__(self, **options: Any) -> Any:
        return self.array.__dlpack__(dl_device=(1, 0))

    def __dlpack_device__(self) -> Any:
        return (1, 0)


def test_a_tensor_on_another_device_than_it_says_is_refused() -> None:
    class Liar(_OnHost):
        def __dlpack_device__(self) -> Any:
            return (2, 0)

    x, _ = noise(10, 384)
    with pytest.raises(ValueError, match="memory of a device"):
        ff.welch(Liar(ff.welch_psd(x)))


def test_threads_compute_side_by_side_on_a_gpu() -> None:
    inputs = [noise(100, 384) for _ in range(8)]
    expected = [ff.welch_psd(host) for _, host in inputs]
    results: dict[int, Any] = {}

    def compute(index: int) -> None:
        for _ in range(10):
            results[index] = torch.from_dlpack(ff.welch_psd(inputs[index][0])).clone()

    threads = [threading.Thread(target=compute, args=(index,)) for index in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for index, power in enumerate(expected):
        assert_allclose(results[index].cpu().numpy(), power, rtol=2e-4, atol=1e-6)


def test_memory_does_not_grow_with_calls() -> None:
    x, _ = noise(20_000, 384)
    for _ in range(5):
        torch.from_dlpack(ff.welch_peaks(x).power).sum()
    torch.cuda.synchronize()
    before, _ = torch.cuda.mem_get_info()
    for _ in range(50):
        torch.from_dlpack(ff.welch_peaks(x).power).sum()
    torch.cuda.synchronize()
    after, _ = torch.cuda.mem_get_info()
    assert before - after < 64 << 20


def test_inputs_are_neither_changed_nor_kept_on_a_gpu() -> None:
    x, _ = noise(2000, 384)
    before = x.clone()
    for _ in range(3):
        ff.welch_peaks(x)
        ff.top_k(x, 3)
        ff.fft.fft(x)
    assert torch.equal(x, before)
    used = torch.cuda.memory_allocated()
    del x
    gc.collect()
    assert torch.cuda.memory_allocated() < used
