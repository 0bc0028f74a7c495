"""Some random calls of the functions are those of their definitions, and a wrong result is found."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import firefly_fft as ff

sys.path.insert(0, str(Path(__file__).parent))

import random_calls


def test_random_calls_are_those_of_the_definitions() -> None:
    command = [sys.executable, str(Path(random_calls.__file__)), "--calls", "500", "--seed", "5"]
    found = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert found.returncode == 0, found.stdout + found.stderr
    assert "500 calls, 0 failures" in found.stdout


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda y: y + 1e-3, "has an error of"),
        (lambda y: y[..., :-1], "has the shape"),
        (lambda y: y.astype(np.longdouble), "is of "),
        (lambda y: y * np.nan, "is not finite"),
        (lambda y: 1 / 0, "ended in ZeroDivisionError"),
    ],
)
@pytest.mark.filterwarnings("ignore")
def test_wrong_results_are_found(change: object, message: str, monkeypatch: pytest.MonkeyPatch) -> None:
    right = ff.hilbert
    monkeypatch.setattr(ff, "hilbert", lambda x, N=None, axis=-1: change(right(x, N, axis)))  # type: ignore[operator]
    found = [random_calls.one_call("hilbert", 0, call, random_calls.Tally()) for call in range(20)]
    assert any(message in line for line in found)
