"""A file, what the reader of its format gives, and the comparison with what Firefly gives."""

from __future__ import annotations

import json
import os
import subprocess
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

# Tolerances, relative to the largest magnitude: values of equal bits, of arithmetic in f64 and f32, and of decoders of
# lossy codecs, which may round differently.
EQUAL, DOUBLE, SINGLE, LOSSY = 0.0, 1e-13, 2e-7, 1e-4
# Folder with the programs: `firefly`, and the example `samples`.
PROGRAMS = Path(os.environ["FIREFLY_PROGRAMS"])

RATE = 500.0
_time = np.arange(4096)
_lines = [np.sin(0.2 * np.pi * _time), 0.5 * np.sin(0.46 * np.pi * _time)]
# Two channels within [-0.6, 0.6], in which no value repeats, as doubles and as integers.
SIGNAL = 0.5 * np.stack(_lines, 1) + 0.01 * np.random.default_rng(0).normal(size=(4096, 2))
INTEGERS = np.round(SIGNAL * 16_000).astype(np.int16)
# A complex channel.
IQ = SIGNAL[:, 0] + 1j * SIGNAL[:, 1]


@dataclass
class Check:
    """A comparison, and how it fails; empty if it does not."""

    name: str
    fault: str


@dataclass
class Case:
    """A file and its expected samples, `[samples]` or `[samples, channels]`, real or complex; or, of a file that is
    refused, a part of the message. `loss` is a part of the note on samples that a damaged file lacks."""

    name: str
    path: Path
    expected: Any
    tolerance: float = EQUAL
    rate: float | None = None
    titles: list[str] | None = None
    units: list[str] | None = None
    loss: str = ""

    @cached_property
    def fault(self) -> str:
        """How Firefly differs from what is expected; empty if it does not."""
        read = subprocess.run([PROGRAMS / "examples/samples", self.path], capture_output=True, timeout=120)
        text = read.stderr.decode().strip()
        if isinstance(self.expected, str):
            if read.returncode == 0:
                return f"it is read, not refused ({self.expected})"
            return "" if self.expected in text else f"refused, but not with `{self.expected}`: {text}"
        if read.returncode != 0:
            return f"refused: {text}"
        found = json.loads(text)
        samples = np.frombuffer(read.stdout, "<f8").reshape(found["channels"], -1).T
        expected = columns(self.expected)
        if samples.shape != expected.shape:
            return f"{samples.shape} samples and channels, not {expected.shape}; {found['notes'] + found['losses']}"
        if found["is_complex"] != np.iscomplexobj(self.expected):
            return f"is_complex is {found['is_complex']}"
        unequal = difference(samples, expected)
        if unequal > self.tolerance:
            place = np.argmax(np.nan_to_num(np.abs(samples - expected), nan=np.inf))
            pair = f"{samples.flat[place]} in place of {expected.flat[place]}"
            return f"values differ by {unequal:.1e} of the largest: at {place} {pair}"
        for name, wanted in (("rate_hz", self.rate), ("titles", self.titles), ("units", self.units)):
            if wanted is not None and found[name] != wanted:
                return f"{name} is {found[name]}, not {wanted}"
        losses = " ".join(found["losses"])
        is_as_expected = self.loss in losses if self.loss else not losses
        return "" if is_as_expected else f"losses are `{losses}`, not `{self.loss}`"


def columns(samples: Any) -> np.ndarray:
    """Samples as doubles `[samples, channels]`, a complex channel as its two parts."""
    samples = np.asarray(samples)
    samples = samples.reshape(len(samples), -1)
    if np.iscomplexobj(samples):
        return np.stack([samples.real, samples.imag], 2).reshape(len(samples), -1).astype(np.float64)
    return samples.astype(np.float64)


def difference(samples: np.ndarray, expected: np.ndarray) -> float:
    """Largest difference, relative to the largest magnitude; infinite where only one of two values is NaN."""
    if np.array_equal(samples, expected, equal_nan=True):
        return 0.0
    if not np.array_equal(np.isnan(samples), np.isnan(expected)):
        return np.inf
    return float(np.nanmax(np.abs(samples - expected)) / max(np.nanmax(np.abs(expected)), 1e-300))
