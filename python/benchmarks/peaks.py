"""Time of peaks from Python, from Rust, and by SciPy, one after the other in every round.

    cargo build --release --example rust_peaks
    python benchmarks/peaks.py TARGET_FOLDER/release/examples/rust_peaks [--threads 1] [--rounds 60]

8,192 frames of 384 float32 samples, two segments of 256, 16 peaks, with the defaults of ``scipy.signal.welch``, and
without detrending. Results are compared with SciPy's before anything is timed. Calls of Python and Rust are timed after
one that is not. Prints the median of each, and the median of the ratios of a round.
"""

from __future__ import annotations

import argparse
import subprocess
import time
from functools import partial
from pathlib import Path
from typing import Any, Callable

import numpy as np
import scipy.signal

import firefly_fft as ff

ROWS, FRAME, N_FFT, K = 8192, 384, 256, 16


def by_scipy(frames: Any, detrend: Any) -> tuple[Any, Any]:
    """Bins and power of the strongest bins, by SciPy."""
    power = scipy.signal.welch(frames, detrend=detrend)[1]
    bins = np.argpartition(power, -K, axis=1)[:, -K:]
    order = np.argsort(-np.take_along_axis(power, bins, axis=1), axis=1, kind="stable")
    bins = np.take_along_axis(bins, order, axis=1)
    return bins, np.take_along_axis(power, bins, axis=1)


def verify(frames: Any, detrend: Any) -> float:
    """The largest relative difference from the power of SciPy's strongest bins."""
    peaks, (_, expected) = ff.welch_peaks(frames, K, detrend=detrend), by_scipy(frames, detrend)
    np.testing.assert_allclose(peaks.power, expected, rtol=1e-5)
    power = scipy.signal.welch(frames, detrend=detrend)[1]
    np.testing.assert_allclose(np.take_along_axis(power, peaks.bins.astype(int), axis=1), peaks.power, rtol=1e-5)
    return float(np.max(np.abs(peaks.power - expected) / expected))


def seconds(call: Callable[[], Any]) -> float:
    """Time of a call."""
    start = time.perf_counter()
    result = call()
    elapsed = time.perf_counter() - start
    del result
    return elapsed


def main() -> None:
    """Verifies and measures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rust", type=Path, help="the program rust_peaks")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=60)
    given = parser.parse_args()
    ff.set_num_threads(given.threads)
    frames = np.random.default_rng(0).normal(size=(ROWS, FRAME)).astype(np.float32)

    command = [str(given.rust), *map(str, (ROWS, FRAME, N_FFT, K, given.threads))]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as rust:

        def by_rust(detrend: str) -> float:
            assert rust.stdin is not None and rust.stdout is not None
            rust.stdin.write(f"{detrend}\n")
            rust.stdin.flush()
            return float(rust.stdout.readline())

        calls: dict[tuple[str, str], Callable[[], float]] = {}
        for name, detrend in (("constant", "constant"), ("none", False)):
            print(f"detrend {name}: largest relative difference from SciPy {verify(frames, detrend):.1e}")
            calls["python", name] = partial(seconds, partial(ff.welch_peaks, frames, K, detrend=detrend))
            calls["rust", name] = calls["rust again", name] = partial(by_rust, name)
            calls["scipy", name] = partial(seconds, partial(by_scipy, frames, detrend))
        generator = np.random.default_rng(1)
        times: dict[tuple[str, str], list[float]] = {case: [] for case in calls}
        for _ in range(given.rounds):
            for index in generator.permutation(len(calls)):
                case = list(calls)[index]
                if case[0] != "scipy":
                    calls[case]()
                times[case].append(calls[case]())
        rust.communicate()
    rows = {case: np.array(values) for case, values in times.items()}
    for (name, detrend), values in rows.items():
        ratio = np.median(values / rows["rust", detrend])
        print(f"detrend {detrend:8} {name:10} {np.median(values) * 1e3:8.3f} ms, {ratio:6.3f} x rust")


if __name__ == "__main__":
    main()
