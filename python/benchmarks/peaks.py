"""Time of peaks from Python, from Rust, and by SciPy, one after the other in every round.

    cargo build --release --example rust_peaks
    python benchmarks/peaks.py TARGET_FOLDER/release/examples/rust_peaks [--threads 1] [--rounds 60]

8,192 frames of 384 float32 samples, two segments of 256, 16 peaks, with the defaults of ``scipy.signal.welch``. Results
are compared with SciPy's before anything is timed. Prints the median of each, and the median of the ratios of a round.
"""

from __future__ import annotations

import argparse
import subprocess
import time
from pathlib import Path
from typing import Any, Callable

import numpy as np
import scipy.signal

import firefly

ROWS, FRAME, N_FFT, K = 8192, 384, 256, 16


def by_scipy(frames: Any) -> tuple[Any, Any]:
    """Bins and power of the strongest bins, by SciPy."""
    power = scipy.signal.welch(frames)[1]
    bins = np.argpartition(power, -K, axis=1)[:, -K:]
    order = np.argsort(-np.take_along_axis(power, bins, axis=1), axis=1, kind="stable")
    bins = np.take_along_axis(bins, order, axis=1)
    return bins, np.take_along_axis(power, bins, axis=1)


def verify(frames: Any) -> float:
    """The largest relative difference from the power of SciPy's strongest bins."""
    peaks, (_, expected) = firefly.welch_peaks(frames, K), by_scipy(frames)
    np.testing.assert_allclose(peaks.power, expected, rtol=1e-5)
    power = scipy.signal.welch(frames)[1]
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
    firefly.set_num_threads(given.threads)
    frames = np.random.default_rng(0).normal(size=(ROWS, FRAME)).astype(np.float32)
    print(f"largest relative difference from SciPy: {verify(frames):.1e}")

    command = [str(given.rust), *map(str, (ROWS, FRAME, N_FFT, K, given.threads))]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as rust:

        def by_rust() -> float:
            assert rust.stdin is not None and rust.stdout is not None
            rust.stdin.write("\n")
            rust.stdin.flush()
            return float(rust.stdout.readline())

        calls = {
            "python": lambda: seconds(lambda: firefly.welch_peaks(frames, K)),
            "rust": by_rust,
            "python again": lambda: seconds(lambda: firefly.welch_peaks(frames, K)),
            "rust again": by_rust,
            "scipy": lambda: seconds(lambda: by_scipy(frames)),
        }
        for call in calls.values():
            call()
        generator = np.random.default_rng(1)
        times: dict[str, list[float]] = {name: [] for name in calls}
        for _ in range(given.rounds):
            for index in generator.permutation(len(calls)):
                name = list(calls)[index]
                times[name].append(calls[name]())
        rust.communicate()
    rows = {name: np.array(values) for name, values in times.items()}
    for name, values in rows.items():
        print(f"{name:13} {np.median(values) * 1e3:9.3f} ms, {np.median(values / rows['rust']):7.3f} x rust")


if __name__ == "__main__":
    main()
