"""Mel spectra are the product of filters and power."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.signal
from numpy.testing import assert_allclose

import firefly_fft as ff


@pytest.mark.parametrize(
    ("power", "dtype", "pad_mode"),
    [(2.0, np.float32, "constant"), (1.0, np.float64, "wrap"), (1.0, np.float32, "edge")],
)
def test_bands_are_sums_of_weighted_power(power: float, dtype: Any, pad_mode: Any) -> None:
    x = np.random.default_rng(0).normal(size=(2, 4000)).astype(dtype)
    padded = np.pad(x, ((0, 0), (200, 200)), pad_mode)
    frames = np.lib.stride_tricks.sliding_window_view(padded, 400, axis=1)[:, ::160]
    spectra = np.abs(np.fft.rfft(frames * scipy.signal.get_window("hann", 400))) ** power
    expected = ff.mel_filters(16000, 400, 40) @ spectra.transpose(0, 2, 1)
    options: Any = {"fs": 16000, "n_mels": 40, "n_fft": 400, "hop_length": 160, "power": power}
    options["pad_mode"] = pad_mode
    bands = ff.mel(x, **options)
    assert bands.dtype == dtype
    assert_allclose(bands, expected, rtol=1e-4)
    decibels = ff.log_mel(x, **options)
    assert_allclose(decibels, 20 / power * np.log10(np.maximum(expected, 1e-10)), atol=1e-3)


def test_filters_have_equal_area_by_default() -> None:
    filters = ff.mel_filters(16000, 2048, 20)
    assert_allclose(filters.sum(axis=1) * 16000 / 2048, 1, rtol=0.05)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"power": 3}, "power is 3"),
        ({"norm": 2}, "norm is 2"),
        ({"pad_mode": "mean"}, "pad_mode"),
        ({"n_mels": 0}, "n_mels"),
        ({"fmin": 9000}, "f_max"),
        ({"fs": -1}, "sample_rate"),
        ({"win_length": 4096}, "window_length"),
    ],
)
def test_arguments_out_of_range_are_refused(options: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        ff.mel(np.ones(4000), **{"fs": 16000, **options})
