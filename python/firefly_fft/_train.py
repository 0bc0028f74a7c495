"""Training runs."""

from __future__ import annotations

import json
import logging
import math
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Callable, Dict, List, Mapping, Union

from . import _native
from ._arrays import plain
from .zoo import Model

Config = Union[str, "os.PathLike[str]", Mapping[str, Any]]
Progress = Callable[[Dict[str, Any], int], Any]

_LOG = logging.getLogger("firefly_fft")


@dataclass(frozen=True)
class Run:
    """The folder of a run: what `train` returns, or a folder of an earlier one.

    >>> import tempfile
    >>> out = tempfile.mkdtemp() + "/run"
    >>> run = train({"task": "transform", "training": {"steps": 2}}, out=out)
    >>> run = Run(Path(out))
    >>> [row["name"] for row in run.evaluation], run.metrics[-1]["step"]
    (['learned'], 2)
    >>> run.model().family
    'butterfly'
    """

    folder: Path

    @property
    def evaluation(self) -> List[Dict[str, Any]]:
        """Rows of the evaluation: the learned model and what it is compared with."""
        rows: List[Dict[str, Any]] = json.loads((self.folder / "evaluation.json").read_text("utf-8"))
        return rows

    @property
    def metrics(self) -> List[Dict[str, Any]]:
        """Lines of metrics, in the order of their steps."""
        return [json.loads(line) for line in (self.folder / "metrics.jsonl").read_text("utf-8").splitlines()]

    @property
    def report(self) -> Path:
        """Page of the report."""
        return self.folder / "report.html"

    def model(self, *, device: str = "cpu") -> Model:
        """The trained model, whose inputs are normalised as the task does it."""
        return Model(_native.load_run(os.fspath(self.folder), device))


def train(
    config: Config,
    *,
    out: str | os.PathLike[str] | None = None,
    data: str | os.PathLike[str] | None = None,
    settings: Mapping[str, Any] | None = None,
    device: str | None = None,
    resume: bool = False,
    progress: Progress | None = None,
) -> Run:
    """Trains a configuration to its end, and returns the run.

    Parameters
    ----------
    config : path of a TOML file, or a dictionary of the same keys.
    out : the run's folder; ``runs/NAME``, or the first free ``runs/NAME-2`` and so on, by default.
    data : folder that the configuration's paths of data start in; ``FIREFLY_DATA`` of the environment by default, or
        else the working folder. ``"synthetic"`` replaces all files by generated data.
    settings : keys to change, such as ``{"training.steps": 20}``.
    device : where to train, such as "cpu", "cuda:0", or several as in "cuda:0,cuda:1" or "cuda:*"; the configuration's
        ``devices`` by default, or else the CPU.
    resume : continue the run in the folder from its last checkpoint.
    progress : called with every line of metrics, and the steps of the run; an exception there ends the run.

    Ctrl-C ends the run at its next step with a checkpoint, and raises ``KeyboardInterrupt``; ``resume=True`` continues
    to the same result. Messages of the run go to the logger ``firefly_fft``.

    >>> import tempfile
    >>> config = {"task": "transform", "training": {"steps": 2}}
    >>> run = train(config, out=tempfile.mkdtemp() + "/run")
    >>> run.report.exists()
    True
    """
    root = data if data is not None else os.environ.get("FIREFLY_DATA") or None
    is_mapping = isinstance(config, Mapping)
    arguments = {
        "text": json.dumps(config, default=plain) if isinstance(config, Mapping) else _text(config),
        "is_json": is_mapping,
        "path": "config" if isinstance(config, Mapping) else os.fspath(config),
        "settings": [f"{key}={_setting(key, value)}" for key, value in (settings or {}).items()],
        "data": None if root is None else os.fspath(root),
        "out": None if out is None else os.fspath(out),
        "resume": bool(resume),
        "device": device,
    }

    def observe(kind: str, steps: int, text: str) -> None:
        if kind == "message":
            _LOG.warning(text)
        elif progress is not None:
            progress(json.loads(text), steps)

    return Run(Path(_native.train(arguments, observe)))


def _setting(key: str, value: Any) -> str:
    """A value in TOML."""
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{json.dumps(name)} = {_setting(key, item)}" for name, item in value.items()) + " }"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(_setting(key, item) for item in value) + "]"
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        raise ValueError(f"settings: {key} is {value}, which no key accepts")
    return json.dumps(value, ensure_ascii=False, default=plain)


def _text(path: str | os.PathLike[str]) -> str:
    return Path(path).read_text("utf-8")
