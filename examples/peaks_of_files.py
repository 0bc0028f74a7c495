"""Peaks of recordings in files, one part of the results per file: what the examples for Ray and Dask distribute.

A part is a Parquet file with the columns of ``firefly peaks --out``. It is written to a temporary file, synced and
renamed, so that a part that is there is complete: a run that was killed is started again and computes the missing ones.
The settings are in a file beside the parts, and a run with others is refused. One run at a time writes to a folder.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
from pathlib import Path
from typing import Any, Dict, Iterator, List, Tuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from scipy.io import wavfile

import firefly_fft as ff

# Frames that are computed at a time.
FRAMES = 1 << 14


class PeaksOfFiles:
    """Model that a worker loads once, and calls for every file.

    `settings` are those of the exact estimate, `weights` the file of a trained model in its place. `fs` is the sample
    rate of files that have none. `threads` are those of the worker.
    """

    def __init__(
        self, folder: str, out: str, settings: Dict[str, Any], weights: str | None, fs: float, threads: int
    ) -> None:
        ff.set_num_threads(threads)
        pa.set_cpu_count(threads)
        self.model = ff.zoo.load(weights) if weights else ff.zoo.create("welch_peaks", **settings)
        self.n_fft = self.model.settings["n_fft"]
        self.frame = self.model.inputs[0][1]
        self.folder, self.out, self.fs = Path(folder), Path(out), fs

    def __call__(self, batch: Dict[str, Any]) -> Dict[str, Any]:
        """Writes the parts of files, and returns their numbers of frames: what Ray's ``map_batches`` calls."""
        return {"file": batch["file"], "frames": np.array([self.write_part(str(file)) for file in batch["file"]])}

    def write_part(self, file: str) -> int:
        """Writes the part of a file, and returns the number of its frames."""
        part = part_of(self.out, file)
        part.parent.mkdir(parents=True, exist_ok=True)
        temporary = part.with_name(f".{part.name}.{os.getpid()}{TEMPORARY}")
        fs, scale, channels = read(self.folder / file, self.fs)
        frames = 0
        try:
            with open(temporary, "wb") as opened, pq.ParquetWriter(opened, SCHEMA, **ENCODING) as writer:
                for table, number in self.tables(file, fs, scale, channels):
                    writer.write_table(table)
                    frames += number
            replace(temporary, part)
        finally:
            temporary.unlink(missing_ok=True)
        return frames

    def tables(self, file: str, fs: float, scale: float, channels: np.ndarray) -> Iterator[Tuple[pa.Table, int]]:
        """Peaks of the frames of ``[channels, samples]``, table by table, and their number of frames."""
        count = channels.shape[1] // self.frame
        for channel, samples in enumerate(channels):
            rows = samples[: count * self.frame].reshape(count, self.frame)
            for start in range(0, count, FRAMES):
                frames = rows[start : start + FRAMES].astype(np.float32) / np.float32(scale)
                bins, power = self.model.predict(frames)
                yield self.table(file, fs, channel, start, bins, power), len(bins)

    def table(self, file: str, fs: float, channel: int, start: int, bins: np.ndarray, power: np.ndarray) -> pa.Table:
        """Rows of the peaks of frames from `start` on; there is none where a frame has too few finite bins."""
        frames, k = bins.shape
        found = bins.ravel() >= 0
        frame = np.repeat(np.arange(start, start + frames, dtype=np.int64), k)[found]
        bins, power = bins.ravel()[found].astype(np.int32), power.ravel()[found]
        with np.errstate(divide="ignore"):
            decibels = 10 * np.log10(power.astype(np.float64))
        number = len(frame)
        columns = [
            pa.DictionaryArray.from_arrays(np.zeros(number, np.int32), [file]),
            np.full(number, channel, np.int32),
            frame,
            frame * (self.frame / fs),
            np.tile(np.arange(1, k + 1, dtype=np.int32), frames)[found],
            bins,
            bins * (fs / self.n_fft),
            power,
            decibels,
        ]
        return pa.Table.from_arrays([pa.array(column) for column in columns], schema=SCHEMA)


# End of the names of files that are being written, and the name of that with the settings.
TEMPORARY = ".temporary"
SETTINGS = "settings.json"

# Values of these columns repeat; dictionaries of the others would be built in vain.
ENCODING: Any = {"compression": "zstd", "use_dictionary": ["file", "channel", "rank", "bin", "frequency_hz"]}
SCHEMA = pa.schema(
    [
        ("file", pa.dictionary(pa.int32(), pa.string())),
        ("channel", pa.int32()),
        ("frame", pa.int64()),
        ("time_s", pa.float64()),
        ("rank", pa.int32()),
        ("bin", pa.int32()),
        ("frequency_hz", pa.float64()),
        ("power", pa.float32()),
        ("power_db", pa.float64()),
    ]
)


def read(path: Path, fs: float) -> Tuple[float, float, np.ndarray]:
    """Sample rate, full scale and samples ``[channels, samples]``; integers of WAV files are to be divided by it.

    Files are WAV, or Parquet with a column per channel.
    """
    if path.suffix.lower() == ".wav":
        try:
            rate, samples = wavfile.read(path, mmap=True)
        except ValueError:
            # Samples of 24 bits can't be mapped.
            rate, samples = wavfile.read(path)
        if samples.dtype == np.uint8:
            samples = (samples ^ 128).view(np.int8)
        scale = 1.0 if samples.dtype.kind == "f" else float(np.iinfo(samples.dtype).max) + 1
        return float(rate), scale, np.atleast_2d(samples.T)
    table = pq.read_table(path, use_threads=False)
    return fs, 1.0, np.stack([column.to_numpy() for column in table.columns])


def part_of(out: Path, file: str) -> Path:
    """Path of the part of a file."""
    return out / f"{file}.parquet"


def replace(temporary: Path, path: Path) -> None:
    """Renames a file that is written, once it is on the disk."""
    with open(temporary, "rb") as written:
        os.fsync(written.fileno())
    os.replace(temporary, path)


def begin(given: argparse.Namespace) -> List[str]:
    """Files to compute. Exits if the parts that are there are of other settings."""
    given.out.mkdir(parents=True, exist_ok=True)
    remove_temporaries(given.out)
    path = given.out / SETTINGS
    settings = exact_settings(given)
    if given.weights:
        settings = {"weights": hashlib.sha256(Path(given.weights).read_bytes()).hexdigest()}
    settings["fs"] = given.fs
    if not path.exists():
        temporary = path.with_name(path.name + TEMPORARY)
        temporary.write_text(json.dumps(settings))
        replace(temporary, path)
    there = json.loads(path.read_text())
    if there != settings:
        raise SystemExit(f"{given.out} holds peaks of {there}, not of {settings}: name another folder")
    return missing(given.folder, given.out)


def remove_temporaries(out: Path) -> None:
    """Removes what workers that were killed have left."""
    for left in out.rglob("*" + TEMPORARY):
        left.unlink()


def missing(folder: Path, out: Path) -> List[str]:
    """Files of recordings whose part is not there, by their paths in the folder."""
    found = (path.relative_to(folder) for path in folder.rglob("*") if path.suffix.lower() in (".wav", ".parquet"))
    files = (path.as_posix() for path in found if not any(part.startswith(".") for part in path.parts))
    return sorted(file for file in files if not part_of(out, file).exists())


def arguments(description: str) -> argparse.Namespace:
    """The command line of an example."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("folder", type=Path, help="WAV files, or Parquet files with a column of samples per channel")
    parser.add_argument("out", type=Path, help="folder of the results, outside of the other")
    parser.add_argument("--scheduler", help="address of a running cluster, in place of processes of this machine")
    parser.add_argument("--workers", type=int, default=2, help="processes that compute")
    parser.add_argument("--threads", type=int, default=1, help="threads of each")
    parser.add_argument("--n-fft", type=int, default=256)
    parser.add_argument("-k", type=int, default=16, help="peaks per frame")
    parser.add_argument("--segments", type=int, default=2, help="segments whose power is averaged")
    parser.add_argument("--weights", help="safetensors file of a trained model, in place of the exact estimate")
    parser.add_argument("--fs", type=float, default=1.0, help="samples per second of Parquet files")
    return parser.parse_args()


def exact_settings(given: argparse.Namespace) -> Dict[str, Any]:
    """Settings of the exact estimate."""
    return {"n_fft": given.n_fft, "k": given.k, "segments": given.segments}


def model_arguments(given: argparse.Namespace) -> Dict[str, Any]:
    """Arguments of `PeaksOfFiles`."""
    return {
        "folder": str(given.folder.resolve()),
        "out": str(given.out.resolve()),
        "settings": exact_settings(given),
        "weights": given.weights and str(Path(given.weights).resolve()),
        "fs": given.fs,
        "threads": given.threads,
    }
