"""Time of examples/ray_peaks.py with one worker and with two, in turn, on a generated set of WAV files.

    python benchmarks/ray_scaling.py FOLDER [--files 64] [--megabytes 32] [--rounds 2]

Prints the times that the example prints, from its first task to its last, and the ratio of their medians.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import subprocess
import sys
from pathlib import Path

import numpy as np
from scipy.io import wavfile

EXAMPLE = Path(__file__).parents[2] / "examples" / "ray_peaks.py"


def generate(folder: Path, files: int, megabytes: int) -> None:
    """Writes recordings of a tone in noise, 16 bits per sample."""
    folder.mkdir(parents=True, exist_ok=True)
    samples = megabytes * 500_000
    generator = np.random.default_rng(0)
    noise = generator.normal(scale=2000, size=samples + files)
    tone = 5000 * np.sin(2 * np.pi * 0.07 * np.arange(samples))
    for index in range(files):
        path = folder / f"{index:03}.wav"
        if not path.exists():
            wavfile.write(path, 12_000, (noise[index : index + samples] + tone).astype(np.int16))


def seconds(folder: Path, out: Path, workers: int) -> float:
    """Time of the example."""
    shutil.rmtree(out, ignore_errors=True)
    command = [sys.executable, str(EXAMPLE), str(folder), str(out), "--workers", str(workers)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return float(done.stdout.rsplit(" in ", 1)[1].split()[0])


def main() -> None:
    """Generates and measures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--files", type=int, default=64)
    parser.add_argument("--megabytes", type=int, default=32, help="of each file")
    parser.add_argument("--rounds", type=int, default=2)
    given = parser.parse_args()
    recordings, out = given.folder / "recordings", given.folder / "out"
    generate(recordings, given.files, given.megabytes)
    times: dict[int, list[float]] = {1: [], 2: []}
    for _ in range(given.rounds):
        for workers, measured in times.items():
            measured.append(seconds(recordings, out, workers))
            print(f"{workers} workers: {measured[-1]:.2f} s", flush=True)
    print(f"{statistics.median(times[1]) / statistics.median(times[2]):.2f} x")


if __name__ == "__main__":
    main()
