"""Training runs."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import firefly_fft as ff

CONFIG: Any = {"task": "transform", "name": "tiny", "schedule": {"log_every": 2}, "training": {"steps": 6}}


def test_a_dictionary_trains_and_its_results_can_be_read(tmp_path: Path) -> None:
    lines: list[Any] = []
    run = ff.train(CONFIG, out=tmp_path / "run", progress=lambda line, steps: lines.append((line["step"], steps)))
    assert run.report.exists()
    assert run.evaluation
    assert [line["step"] for line in run.metrics] == [step for step, _ in lines]
    assert {steps for _, steps in lines} == {6}
    model = run.model()
    assert model.family == "butterfly"
    assert ff.Run(run.folder).model().parameters == model.parameters


def test_several_devices_train_to_the_loss_of_one(tmp_path: Path) -> None:
    config = {"model": {"n_fft": 64, "k": 4}, "training": {"steps": 4, "batch": 8}, "schedule": {"log_every": 1}}

    def losses(device: str) -> Any:
        run = ff.train(config, out=tmp_path / device.replace(":", "-"), device=device)
        return [line["loss"] for line in run.metrics]

    one, two = losses("cpu"), losses("cpu:0,cpu:1")
    assert len(one) >= 4
    np.testing.assert_allclose(two, one, rtol=1e-4)
    with pytest.raises(ValueError, match="named twice"):
        ff.train(config, out=tmp_path / "twice", device="cpu:1,cpu:1")


def test_a_trained_model_of_peaks_predicts(tmp_path: Path) -> None:
    config = {"model": {"n_fft": 64, "k": 4}, "training": {"steps": 2, "batch": 8}}
    run = ff.train(config, out=tmp_path / "run")
    model = run.model()
    peaks = model.predict(np.random.default_rng(0).normal(size=(5, model.inputs[0][1])))
    assert peaks.bins.shape == (5, 4)


def test_a_file_trains_as_its_settings_say(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.toml").write_text('task = "transform"\n[training]\nsteps = 500\n')
    first = ff.train("mine.toml", settings={"training.steps": 2, "schedule.log_every": 1})
    second = ff.train(tmp_path / "mine.toml", settings={"training.steps": 2})
    assert (first.folder, second.folder) == (Path("runs/mine"), Path("runs/mine-2"))
    assert first.metrics[-1]["step"] == 2


def test_settings_take_what_a_configuration_takes(tmp_path: Path) -> None:
    fields = np.random.default_rng(0).normal(size=(8, 16)).astype(np.float32)
    np.save(tmp_path / "größe_😀_x.npy", fields)
    np.save(tmp_path / "größe_😀_y.npy", fields)
    files = {"x": tmp_path / "größe_😀_x.npy"}
    settings = {"model.name": "fno1d_tiny", "data.files": files, "training.steps": np.int64(2)}
    run = ff.train({"task": "operator"}, out=tmp_path / "run", settings=settings)
    assert run.metrics[-1]["step"] == 2
    with pytest.raises(ValueError, match=r"training\.steps is None"):
        ff.train(CONFIG, out=tmp_path / "b", settings={"training.steps": None})


def test_errors_name_the_key_or_the_file(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="did you mean `steps`"):
        ff.train({"training": {"stesp": 3}}, out=tmp_path / "a")
    with pytest.raises(ValueError, match="config"):
        ff.train({"training": {"steps": None}}, out=tmp_path / "a")
    with pytest.raises(FileNotFoundError):
        ff.train(tmp_path / "missing.toml")
    with pytest.raises(ValueError, match="unknown device"):
        ff.train(CONFIG, device="cpuu")
    ff.train(CONFIG, out=tmp_path / "a")
    with pytest.raises(FileExistsError):
        ff.train(CONFIG, out=tmp_path / "a")


def test_an_exception_of_the_observer_ends_the_run(tmp_path: Path) -> None:
    def fail(_line: Any, _steps: int) -> None:
        raise LookupError("enough")

    with pytest.raises(LookupError, match="enough"):
        ff.train(CONFIG, out=tmp_path / "run", progress=fail)
    assert ff.train(CONFIG, out=tmp_path / "run", resume=True).report.exists()


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_ctrl_c_leaves_a_run_that_resumes(tmp_path: Path) -> None:
    code = (
        "import firefly_fft as ff, sys\n"
        "config = {'task': 'transform', 'schedule': {'log_every': 1}, 'training': {'steps': 100000}}\n"
        "ff.train(config, out=sys.argv[1], progress=lambda line, steps: print(line['step'], flush=True))\n"
    )
    arguments = [sys.executable, "-c", code, str(tmp_path / "run")]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        process.stdout.readline()
        os.kill(process.pid, signal.SIGINT)
        start = time.monotonic()
        _, errors = process.communicate(timeout=60)
    assert time.monotonic() - start < 30
    assert "KeyboardInterrupt" in errors
    assert list((tmp_path / "run" / "checkpoints").iterdir())
