"""The code of the documents runs."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("document", ["python/README.md", "docs/guide/python.md"])
def test_the_code_of_a_document_runs(document: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / document).read_text("utf-8"), re.DOTALL)
    assert blocks
    (tmp_path / "configs").symlink_to(ROOT / "configs")
    monkeypatch.chdir(tmp_path)
    for block in blocks:
        exec(block, {})


def test_the_code_of_the_readme_runs_on_signals_and_frames() -> None:
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text("utf-8"), re.DOTALL)
    assert blocks
    noise = np.random.default_rng(0).normal(size=(8, 1024)).astype(np.float32)
    for block in blocks:
        names: dict[str, Any] = {"signals": noise, "frames": noise[:, :384]}
        exec(block, names)
        assert names["power"].shape == (8, names["frequency"].size)
        assert names["peaks"].bins.shape == (8, 16)
