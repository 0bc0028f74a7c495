"""Time of functions on a batch of rows, compared with SciPy, librosa and MNE, in turn in one process.

    pip install scipy librosa mne
    python benchmarks/functions.py [--rounds 5] [--threads 2] [--only dct]

64 rows of 16,384 samples, of float32 and of float64. Results are compared before anything is timed. Each call is timed
after one that is not, in an order that is drawn for each round. Prints a row per function: medians in milliseconds, and
the median of the ratios of a round.
"""

from __future__ import annotations

import argparse
import time
import warnings
from typing import Any, Callable

import numpy as np
import scipy.fft
import scipy.signal

import firefly_fft as ff

ROWS, SAMPLES, RATE = 64, 16384, 22050


def cases(x: Any) -> dict[str, tuple[Callable[[], Any], Callable[[], Any], float]]:
    """Ours, theirs, and the largest difference of a value relative to the largest value."""
    import librosa
    import mne

    y, taper = np.ascontiguousarray(x[::-1]), np.hanning(64).astype(x.dtype)
    S = np.abs(librosa.stft(x[:8], n_fft=1024))
    M = librosa.feature.melspectrogram(S=S[:2, :, :16] ** 2, sr=RATE, n_fft=1024, n_mels=40)
    tolerance = 1e-5 if x.dtype == np.float32 else 1e-10
    found: dict[str, Any] = {
        "fft.dct": (lambda: ff.fft.dct(x), lambda: scipy.fft.dct(x)),
        "fft.idct": (lambda: ff.fft.idct(x), lambda: scipy.fft.idct(x)),
        "fft.dst": (lambda: ff.fft.dst(x), lambda: scipy.fft.dst(x)),
        "fft.dct, type 1": (lambda: ff.fft.dct(x, 1), lambda: scipy.fft.dct(x, 1)),
        "fft.dct, type 4": (lambda: ff.fft.dct(x, 4), lambda: scipy.fft.dct(x, 4)),
        "czt, 1024 points": (lambda: ff.czt(x, 1024), lambda: scipy.signal.czt(x, 1024)),
        "zoom_fft, 1024 points": (
            lambda: ff.zoom_fft(x, [0.1, 0.2], 1024),
            lambda: scipy.signal.zoom_fft(x, [0.1, 0.2], 1024),
        ),
        "hilbert": (lambda: ff.hilbert(x), lambda: scipy.signal.hilbert(x)),
        "envelope": (lambda: ff.envelope(x), lambda: scipy.signal.envelope(x)),
        "resample to 12,000": (
            lambda: ff.resample(x, 12000, axis=1),
            lambda: scipy.signal.resample(x, 12000, axis=1),
        ),
        "resample_poly, 1 / 2": (
            lambda: ff.resample_poly(x, 1, 2, axis=1),
            lambda: scipy.signal.resample_poly(x, 1, 2, axis=1),
        ),
        "resample_poly, 160 / 147": (
            lambda: ff.resample_poly(x, 160, 147, axis=1),
            lambda: scipy.signal.resample_poly(x, 160, 147, axis=1),
        ),
        "detrend": (lambda: ff.detrend(x), lambda: scipy.signal.detrend(x), 10),
        "OverlapSave, 64 taps": (
            lambda: ff.OverlapSave(taper)(x),
            lambda: scipy.signal.oaconvolve(x, taper[None], axes=1)[:, :SAMPLES],
        ),
        "csd": (lambda: ff.csd(x, y)[1], lambda: scipy.signal.csd(x, y)[1]),
        "coherence": (lambda: ff.coherence(x, y)[1], lambda: scipy.signal.coherence(x, y)[1], 100),
        "welch, lines subtracted": (
            lambda: ff.welch(x, detrend="linear")[1],
            lambda: scipy.signal.welch(x, detrend="linear")[1],
        ),
        "psd_array_multitaper": (
            lambda: ff.psd_array_multitaper(x, RATE)[0],
            lambda: mne.time_frequency.psd_array_multitaper(x.astype(float), RATE, verbose="error")[0],
        ),
        "spectral_centroid": (
            lambda: ff.spectral_centroid(y=x),
            lambda: librosa.feature.spectral_centroid(y=x),
        ),
        "spectral_bandwidth": (
            lambda: ff.spectral_bandwidth(y=x),
            lambda: librosa.feature.spectral_bandwidth(y=x),
            100,
        ),
        "spectral_flatness": (
            lambda: ff.spectral_flatness(y=x),
            lambda: librosa.feature.spectral_flatness(y=x),
            100,
        ),
        "spectral_rolloff": (lambda: ff.spectral_rolloff(y=x), lambda: librosa.feature.spectral_rolloff(y=x), 1e9),
        "griffinlim, 8 rows, 8 steps": (
            lambda: ff.griffinlim(S, n_iter=8, init=None),
            lambda: librosa.griffinlim(S, n_iter=8, init=None),
            1e5,
        ),
        "mel_to_stft, 2 rows of 16 frames": (
            lambda: ff.mel_to_stft(M, sr=RATE, n_fft=1024),
            lambda: librosa.feature.inverse.mel_to_stft(M, sr=RATE, n_fft=1024),
            1e11,
        ),
    }
    return {
        name: (given[0], given[1], tolerance * (given[2] if len(given) > 2 else 1)) for name, given in found.items()
    }


def seconds(call: Callable[[], Any]) -> float:
    """Time of a call after one that is not timed."""
    call()
    start = time.perf_counter()
    result = call()
    elapsed = time.perf_counter() - start
    del result
    return elapsed


def main() -> None:
    """Verifies and measures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=ff.num_threads())
    parser.add_argument("--only", default="")
    given = parser.parse_args()
    ff.set_num_threads(given.threads)
    warnings.simplefilter("ignore")
    generator = np.random.default_rng(0)
    noise = generator.normal(size=(ROWS, SAMPLES))
    for dtype in (np.float32, np.float64):
        calls = {name: call for name, call in cases(noise.astype(dtype)).items() if given.only in name}
        times: dict[tuple[str, int], list[float]] = {}
        for name, (ours, theirs, tolerance) in calls.items():
            expected = theirs()
            difference = float(np.abs(ours() - expected).max() / np.abs(expected).max())
            assert difference <= tolerance, f"{name}: {difference}"
        for _ in range(given.rounds):
            for index in generator.permutation(2 * len(calls)):
                name, side = list(calls)[index // 2], int(index % 2)
                times.setdefault((name, side), []).append(seconds(calls[name][side]))
        for name in calls:
            ours, theirs = (np.array(times[name, side]) * 1e3 for side in (0, 1))
            ratio = np.median(theirs / ours)
            print(
                f"| {np.dtype(dtype).name} | {name} | {np.median(ours):.2f} | {np.median(theirs):.2f} | {ratio:.1f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
