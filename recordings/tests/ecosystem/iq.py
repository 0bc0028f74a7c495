"""Peaks of complex recordings by the program `firefly`, against SciPy's two-sided Welch estimate of every frame."""

from __future__ import annotations

import csv
import subprocess
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import scipy.io.wavfile
import scipy.signal

from case import PROGRAMS, Check
from instruments import stored_sigmf

RATE, CENTRE = 1e6, 1e8
N_FFT, SEGMENTS, COUNT = 256, 8, 16
FRAME = N_FFT // 2 * (SEGMENTS + 1)
# Relative to the strongest power of a frame, of an estimate in f32.
TOLERANCE = 1e-6


def recording() -> np.ndarray:
    """Lines of positive and negative frequencies that come and go, in noise."""
    random = np.random.default_rng(7)
    time = np.arange(86 * FRAME + 100) / RATE
    samples = random.normal(size=(len(time), 2)) @ [0.01, 0.01j]
    for frequency in (-437_500.0, -310_123.4, -62_500.0, 0.0, 7_812.5, 123_456.7, 400_000.0):
        level = np.abs(np.sin(2 * np.pi * random.uniform(5, 50) * time))
        samples += random.uniform(0.05, 0.5) * level * np.exp(2j * np.pi * frequency * time)
    return (0.3 * samples).astype(np.complex64)


def of_firefly(folder: Path) -> Iterator[Check]:
    """Peaks and local maxima of complex recordings in every kind of file."""
    samples = recording()
    pairs = np.stack([samples.real, samples.imag], 1)
    np.save(folder / "x.npy", samples)
    samples.tofile(folder / "x.cf32")
    scipy.io.wavfile.write(folder / "x.wav", int(RATE), pairs)
    small = np.round(100 * pairs).astype(np.int8)
    facts = {"core:sample_rate": RATE}
    stored, meta = stored_sigmf(folder / "x", small, "ci8", facts, [(0, {"core:frequency": CENTRE})])
    rate = ["--rate", str(RATE)]
    for name, path, options, expected, centre in (
        ("NPY", folder / "x.npy", rate, samples, 0.0),
        ("raw cf32", folder / "x.cf32", [*rate, "--format", "cf32"], samples, 0.0),
        ("WAV", folder / "x.wav", ["--iq"], samples, 0.0),
        ("SigMF ci8", meta, [], stored, CENTRE),
    ):
        for scaling in ("spectrum", "density"):
            for detrend in ("none", "constant"):
                estimate = ["--scaling", scaling, "--detrend", detrend]
                table = peaks(path, folder / "out.csv", [*options, *estimate])
                fault = strongest(table, expected, centre, scaling, detrend)
                yield Check(f"IQ peaks, {name}, {scaling}, detrend {detrend}", fault)
        table = peaks(path, folder / "out.csv", [*options, "--scaling", "spectrum", "--local-maxima"])
        yield Check(f"IQ local maxima, {name}", maxima(table, expected, centre))


def peaks(path: Path, out: Path, options: list[str]) -> dict[int, list[dict[str, float]]]:
    """Peaks of every frame."""
    estimate = ["--n-fft", N_FFT, "--segments", SEGMENTS, "-k", COUNT, "--device", "cpu", "--quiet", "--out", out]
    out.unlink(missing_ok=True)
    subprocess.run(
        [PROGRAMS / "firefly", "peaks", path, *map(str, estimate), *options], check=True, capture_output=True
    )
    frames: dict[int, list[dict[str, float]]] = {}
    with out.open(encoding="utf-8") as file:
        for row in csv.DictReader(file):
            numbers = {name: float(row[name]) for name in ("bin", "frequency_hz", "power", "time_s")}
            frames.setdefault(int(row["frame"]), []).append(numbers)
    return frames


def welch(samples: np.ndarray, frame: int, scaling: str, detrend: str) -> tuple[np.ndarray, np.ndarray]:
    """Frequencies and power of a frame, in the order of `fftfreq`."""
    part = samples[frame * FRAME : (frame + 1) * FRAME].astype(np.complex128)
    options = {"nperseg": N_FFT, "scaling": scaling, "return_onesided": False}
    return scipy.signal.welch(part, RATE, detrend=False if detrend == "none" else detrend, **options)


def strongest(table: dict, samples: np.ndarray, centre: float, scaling: str, detrend: str) -> str:
    """How the strongest bins of all frames differ."""
    if sorted(table) != list(range(len(samples) // FRAME)):
        return f"{len(table)} frames, not {len(samples) // FRAME}"
    for frame, rows in table.items():
        frequencies, power = welch(samples, frame, scaling, detrend)
        bins = np.array([int(row["bin"]) for row in rows])
        found = np.array([row["power"] for row in rows])
        limit = TOLERANCE * power.max()
        if len(set(bins)) != COUNT or np.abs(found - power[bins]).max() > limit:
            return f"frame {frame}: bins {bins} have {found}, not {power[bins]}"
        # Ranks may differ where powers are equal within the tolerance.
        if np.abs(np.sort(power)[::-1][:COUNT] - power[bins]).max() > 2 * limit:
            return f"frame {frame}: {bins} are not the strongest bins"
        if not np.array_equal([row["frequency_hz"] for row in rows], frequencies[bins] + centre):
            return f"frame {frame}: frequencies of bins {bins} are {[row['frequency_hz'] for row in rows]}"
        if any(row["time_s"] != frame * FRAME / RATE for row in rows):
            return f"frame {frame} begins at {rows[0]['time_s']} s"
    return ""


def maxima(table: dict, samples: np.ndarray, centre: float) -> str:
    """How the strongest local maxima of all frames, from the lowest frequency to the highest, differ."""
    for frame in range(len(samples) // FRAME):
        rows = table.get(frame, [])
        power = np.fft.fftshift(welch(samples, frame, "spectrum", "none")[1])
        places, _ = scipy.signal.find_peaks(power)
        places = places[np.argsort(-power[places], kind="stable")][:COUNT]
        found, wanted = [sorted(row["power"] for row in rows), sorted(power[places])]
        if len(found) != len(wanted) or np.abs(np.subtract(found, wanted)).max() > TOLERANCE * power.max():
            return f"frame {frame}: {found}, not {wanted}"
        # A frequency between bins is within half a bin of its own.
        for row in rows:
            own = np.fft.fftfreq(N_FFT, 1 / RATE)[int(row["bin"])] + centre
            if abs(row["frequency_hz"] - own) > RATE / N_FFT / 2:
                return f"frame {frame}: bin {row['bin']} has {row['frequency_hz']} Hz"
    return ""
