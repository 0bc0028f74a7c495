"""Memory, other libraries, threads and processes."""

from __future__ import annotations

import gc
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import firefly_fft as ff


def test_results_own_their_memory_and_can_be_written() -> None:
    power = ff.welch_psd(np.ones((4000, 384), np.float32))
    copy = power.copy()
    gc.collect()
    ff.welch_psd(np.zeros((4000, 384), np.float32))
    assert_array_equal(power, copy)
    power[0] = 7
    assert (power[0] == 7).all()


def test_inputs_are_neither_changed_nor_kept() -> None:
    x = np.random.default_rng(0).normal(size=(2000, 384))
    z = x.astype(complex)
    before, references = x.copy(), sys.getrefcount(x)
    for _ in range(3):
        ff.welch_peaks(x)
        ff.top_k(x, 3)
        ff.fft.rfft(x)
        ff.fft.fft(x)
        ff.fft.ifft(z)
        ff.fft.irfft(z)
    assert_array_equal(x, before)
    assert_array_equal(z, before)
    assert sys.getrefcount(x) == references


def test_results_are_given_by_dlpack() -> None:
    peaks = ff.welch_peaks(np.ones((3, 384), np.float32))
    assert_array_equal(np.from_dlpack(peaks.power), peaks.power)


class Exporter:
    """An array that is no NumPy array, and can be had by DLPack only."""

    def __init__(self, array: Any, device: int = 1) -> None:
        self.array, self.device = array, device

    def __dlpack__(self, **options: Any) -> Any:
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self) -> Any:
        return (self.device, 0)


def test_arrays_are_taken_by_dlpack() -> None:
    x = np.random.default_rng(1).normal(size=(3, 384))
    assert_array_equal(ff.welch(Exporter(x))[1], ff.welch(x)[1])
    # GPUs of AMD and of NVIDIA.
    for device in (10, 2):
        with pytest.raises(ValueError, match=r"x is a .*Exporter in the memory of a device: .*`cupy\.from_dlpack`"):
            ff.welch(Exporter(x, device))


def test_arrays_with_an_interface_of_cuda_alone_are_refused_by_name() -> None:
    class Resident:
        __cuda_array_interface__ = None

    with pytest.raises(ValueError, match=r"window is a .*Resident in the memory of a device: .*`cupy\.asarray`"):
        ff.welch(np.ones(384), window=Resident())


def test_a_library_that_is_not_imported_is_not_imported() -> None:
    code = "import sys, firefly_fft as ff; ff.welch([1.0] * 300); print({'torch', 'cupy'} & set(sys.modules))"
    assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == "set()"


def test_other_threads_run_meanwhile() -> None:
    x = np.ones((20_000, 1152), np.float32)
    done, ticks = threading.Event(), 0

    def compute() -> None:
        for _ in range(5):
            ff.welch_psd(x)
        done.set()

    thread = threading.Thread(target=compute)
    thread.start()
    while not done.is_set():
        ticks += 1
        time.sleep(0.001)
    thread.join()
    assert ticks > 5


def test_threads_compute_the_same_side_by_side() -> None:
    x = np.random.default_rng(2).normal(size=(500, 384))
    expected = ff.welch_psd(x)
    results: list[Any] = []
    threads = [threading.Thread(target=lambda: results.append(ff.welch_psd(x))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 8
    for result in results:
        assert_array_equal(result, expected)


def test_the_number_of_threads_can_be_set_and_changes_no_result() -> None:
    x = np.random.default_rng(3).normal(size=(500, 384))
    before, expected = ff.num_threads(), ff.welch_psd(x)
    try:
        for count in (1, 3):
            ff.set_num_threads(count)
            assert ff.num_threads() == count
            assert_array_equal(ff.welch_psd(x), expected)
    finally:
        ff.set_num_threads(before)
    with pytest.raises(ValueError, match="count is 0"):
        ff.set_num_threads(0)


def _power_in_child(connection: Any) -> None:
    connection.send(ff.welch_psd(np.ones((1000, 384))).shape)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_a_forked_process_computes() -> None:
    ff.welch_psd(np.ones((1000, 384)))
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe()
    child = context.Process(target=_power_in_child, args=(theirs,))
    child.start()
    assert ours.poll(30), "the child hangs"
    assert ours.recv() == (1000, 129)
    child.join(30)


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_ctrl_c_ends_a_long_call() -> None:
    x = np.ones((200_000, 1152), np.float32)
    sent: list[float] = []

    def interrupt() -> None:
        sent.append(time.perf_counter())
        os.kill(os.getpid(), signal.SIGINT)

    timer = threading.Timer(0.15, interrupt)
    with pytest.raises(KeyboardInterrupt):
        timer.start()
        while not sent or time.perf_counter() < sent[0] + 60:
            ff.welch_psd(x)
    assert time.perf_counter() - sent[0] < 1
    timer.join()
    assert ff.welch_psd(x[:2]).shape == (2, 129)


def test_the_import_takes_less_than_a_fifth_of_a_second_beside_numpys() -> None:
    # Time of the processor, which does not depend on what else the machine does; NumPy's grows with its threads.
    code = "import time, numpy; start = time.process_time(); import firefly_fft; print(time.process_time() - start)"
    times = [float(subprocess.check_output([sys.executable, "-c", code])) for _ in range(5)]
    assert min(times) < 0.2, times


def test_scipy_is_not_imported() -> None:
    code = "import sys, firefly_fft as ff; ff.welch([1.0] * 300); print('scipy' in sys.modules)"
    assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == "False"
