"""Time of an example with one worker and with two, in turn, on a generated set of WAV files.

    python benchmarks/workers.py ray|dask FOLDER [--files 64] [--megabytes 32] [--rounds 2]

Prints the time that the example prints, the time from its first part to its last, and the ratios of their medians.
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

EXAMPLES = Path(__file__).parents[2] / "examples"


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


def seconds(script: Path, folder: Path, out: Path, workers: int) -> tuple[float, float]:
    """Time that the example prints, and time from its first part to its last."""
    shutil.rmtree(out, ignore_errors=True)
    command = [sys.executable, str(script), str(folder), str(out), "--workers", str(workers)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    written = [part.stat().st_mtime for part in out.rglob("*.parquet")]
    return float(done.stdout.rsplit(" in ", 1)[1].split()[0]), max(written) - min(written)


def main() -> None:
    """Generates and measures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("example", choices=["ray", "dask"])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--files", type=int, default=64)
    parser.add_argument("--megabytes", type=int, default=32, help="of each file")
    parser.add_argument("--rounds", type=int, default=2)
    given = parser.parse_args()
    recordings, out = given.folder / "recordings", given.folder / "out"
    generate(recordings, given.files, given.megabytes)
    times: dict[int, list[tuple[float, float]]] = {1: [], 2: []}
    for _ in range(given.rounds):
        for workers, measured in times.items():
            measured.append(seconds(EXAMPLES / f"{given.example}_peaks.py", recordings, out, workers))
            print(f"{workers} workers: %.2f s, of which %.2f s after the first part" % measured[-1], flush=True)
    one, two = ([statistics.median(column) for column in zip(*measured)] for measured in times.values())
    print(f"{one[0] / two[0]:.2f} x, after the first part {one[1] / two[1]:.2f} x")


if __name__ == "__main__":
    main()
