"""Signals that the tests share."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray


@pytest.fixture
def noise() -> NDArray[Any]:
    """Three rows of 5,000 samples with an offset, in float64."""
    return np.random.default_rng(0).normal(size=(3, 5000)) + 0.5
