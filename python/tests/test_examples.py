"""The examples for Ray and Dask, on clusters of this machine."""

from __future__ import annotations

import importlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import firefly_fft as ff

EXAMPLES = Path(__file__).parents[2] / "examples"

pq = pytest.importorskip("pyarrow.parquet")
wavfile = pytest.importorskip("scipy.io.wavfile")


@pytest.fixture(params=["ray", "dask"])
def script(request: pytest.FixtureRequest) -> Path:
    pytest.importorskip({"ray": "ray", "dask": "distributed"}[request.param])
    return EXAMPLES / f"{request.param}_peaks.py"


@pytest.fixture
def recordings(tmp_path: Path) -> Path:
    """Six WAV files of noise, one of them in a folder of its own."""
    folder = tmp_path / "recordings"
    (folder / "machine").mkdir(parents=True)
    generator = np.random.default_rng(0)
    for index in range(6):
        samples = generator.normal(scale=3000, size=(40_000, 1 + index % 2)).astype(np.int16)
        wavfile.write(folder / ("machine" if index == 5 else ".") / f"{index}.wav", 12_000, samples)
    return folder


def run(script: Path, *arguments: Any) -> str:
    command = [sys.executable, str(script), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_every_file_has_a_part_with_its_peaks(script: Path, recordings: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert "936 frames of 6 files" in run(script, recordings, out, "-k", 3)
    assert len(list(out.rglob("*.parquet"))) == 6
    fs, samples = wavfile.read(recordings / "machine" / "5.wav")
    table = pq.read_table(out / "machine" / "5.wav.parquet").to_pydict()
    frames = samples.T[:, : 384 * 104].reshape(2, 104, 384).astype(np.float32) / 32768
    peaks = ff.welch_peaks(frames, 3, nperseg=256, detrend=False, scaling="power")
    assert_array_equal(table["bin"], peaks.bins.ravel())
    assert_array_equal(np.array(table["power"], np.float32), peaks.power.ravel())
    assert table["file"][0] == "machine/5.wav"
    assert table["time_s"][3] == 384 / fs
    assert table["frequency_hz"][0] == table["bin"][0] * fs / 256


def test_other_settings_are_refused(script: Path, recordings: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    run(script, recordings, out)
    command = [sys.executable, str(script), str(recordings), str(out), "-k", "8"]
    refused = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert refused.returncode == 1
    assert "'k': 16" in refused.stderr and "'k': 8" in refused.stderr and "name another folder" in refused.stderr
    assert "complete" in run(script, recordings, out)


def test_parts_that_are_there_are_left(script: Path, recordings: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    run(script, recordings, out)
    parts = {path: path.stat().st_mtime_ns for path in out.rglob("*.parquet")}
    assert "complete" in run(script, recordings, out)
    (out / "2.wav.parquet").unlink()
    assert "of 1 files" in run(script, recordings, out)
    again = {path: path.stat().st_mtime_ns for path in out.rglob("*.parquet")}
    assert again.keys() == parts.keys()
    assert [path.name for path in parts if again[path] != parts[path]] == ["2.wav.parquet"]


def workers_of(parent: int) -> list[int]:
    """Processes below `parent` that compute parts: workers of Dask, or actors of Ray."""
    parents, names = {}, {}
    for entry in Path("/proc").iterdir():
        try:
            names[int(entry.name)] = (entry / "cmdline").read_bytes()
            parents[int(entry.name)] = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
        except (ValueError, OSError):
            continue

    def descends(process: int) -> bool:
        while process in parents:
            process = parents[process]
            if process == parent:
                return True
        return False

    wanted = (b"ray::MapWorker", b"multiprocessing.spawn")
    return [process for process, name in names.items() if any(word in name for word in wanted) and descends(process)]


def add_long_recordings(folder: Path) -> None:
    """30 more recordings, so that a run lasts until a process of it is killed."""
    generator = np.random.default_rng(1)
    for index in range(30):
        wavfile.write(folder / f"long{index}.wav", 12_000, generator.normal(size=1_000_000).astype(np.float32))


def computing_workers(process: subprocess.Popen[Any], out: Path) -> list[int]:
    """The workers of a run, once three parts are written."""
    while process.poll() is None and len(list(out.rglob("*.parquet"))) < 3:
        time.sleep(0.01)
    workers = workers_of(process.pid)
    assert workers, "no worker was found"
    return workers


@pytest.mark.skipif(sys.platform != "linux", reason="processes are looked for in /proc")
def test_a_worker_that_is_killed_loses_nothing(script: Path, recordings: Path, tmp_path: Path) -> None:
    add_long_recordings(recordings)
    whole, out = tmp_path / "whole", tmp_path / "out"
    run(script, recordings, whole)
    command = [sys.executable, str(script), str(recordings), str(out)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        os.kill(computing_workers(process, out)[0], signal.SIGKILL)
        output, errors = process.communicate(timeout=300)
    assert process.returncode == 0, errors
    assert "of 36 files" in output
    parts = sorted(path.relative_to(whole) for path in whole.rglob("*.parquet"))
    assert sorted(path.relative_to(out) for path in out.rglob("*.parquet")) == parts
    for part in parts:
        assert pq.read_table(out / part).equals(pq.read_table(whole / part))
    assert not list(out.rglob("*.temporary"))


@pytest.mark.skipif(sys.platform != "linux", reason="processes are looked for in /proc")
def test_a_run_that_is_killed_is_continued(script: Path, recordings: Path, tmp_path: Path) -> None:
    add_long_recordings(recordings)
    out = tmp_path / "out"
    command = [sys.executable, str(script), str(recordings), str(out)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True) as process:
        workers = computing_workers(process, out)
        process.kill()
        for worker in workers:
            os.kill(worker, signal.SIGKILL)
    # The part that a killed worker was writing.
    (out / ".0.wav.parquet.1.temporary").write_bytes(b"PAR1")
    computed = {path: path.stat().st_mtime_ns for path in out.rglob("*.parquet")}
    assert 3 <= len(computed) < 36
    assert f"of {36 - len(computed)} files" in run(script, recordings, out)
    assert len(list(out.rglob("*.parquet"))) == 36
    assert all(path.stat().st_mtime_ns == time for path, time in computed.items())
    assert not list(out.rglob("*.temporary"))


def test_parquet_files_have_a_column_per_channel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import pyarrow as pa

    monkeypatch.syspath_prepend(str(EXAMPLES))
    files = importlib.import_module("peaks_of_files")
    folder, out = tmp_path / "in", tmp_path / "out"
    folder.mkdir()
    x = np.random.default_rng(2).normal(size=(2, 4000))
    pq.write_table(pa.table({"left": x[0], "right": x[1]}), folder / "a.parquet")
    assert files.missing(folder, out) == ["a.parquet"]
    threads = ff.num_threads()
    worker = files.PeaksOfFiles(str(folder), str(out), {"k": 2}, None, 100.0, threads)
    assert worker({"file": np.array(["a.parquet"])})["frames"].tolist() == [20]
    assert files.missing(folder, out) == []
    table = pq.read_table(out / "a.parquet.parquet").to_pydict()
    assert set(table["channel"]) == {0, 1}
    assert table["time_s"][2] == 3.84
