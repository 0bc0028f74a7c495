"""Mel spectra are the product of filters and power."""

from __future__ import annotations

import warnings
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


@pytest.mark.parametrize("function", [ff.mel, ff.log_mel, lambda x, **options: ff.mel_filters(**options)])
def test_bands_without_a_bin_are_warned_of(function: Any) -> None:
    x = np.random.default_rng(1).normal(size=2000)
    empty = int((ff.mel_filters(16000, 256, 100).max(axis=1) == 0).sum())
    assert empty > 0
    with pytest.warns(UserWarning, match=f"{empty} of 100 mel bands have no bin") as warned:
        function(x, fs=16000, n_mels=100, n_fft=256)
    assert warned[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        function(x, fs=16000, n_mels=20, n_fft=256)


@pytest.mark.parametrize("magnitude", [1e-23, 1e21])
@pytest.mark.parametrize("power", [1.0, 2.0])
def test_bands_of_float32_of_any_magnitude_are_right(magnitude: float, power: float) -> None:
    x = (magnitude * np.random.default_rng(2).normal(size=(2, 4000))).astype(np.float32)
    options: Any = {"fs": 16000, "n_mels": 20, "n_fft": 400, "power": power}
    bands, expected = ff.mel(x, **options), ff.mel(x.astype(float), **options)
    assert bands.dtype == (np.float64 if power == 2 else np.float32)
    assert_allclose(bands, expected, rtol=1e-3)
    for log in ["decibel", "natural", "ten"]:
        logarithms = ff.log_mel(x, log=log, floor=1e-30, **options)
        assert logarithms.dtype == np.float32
        assert_allclose(logarithms, ff.log_mel(x.astype(float), log=log, floor=1e-30, **options), atol=0.01)
    with pytest.raises(ValueError, match="floor"):
        ff.log_mel(x, floor=1e-60, **options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"power": 3}, "power is 3"),
        ({"norm": 2}, "norm is 2"),
        ({"pad_mode": "mean"}, "pad_mode"),
        ({"n_mels": 0}, "n_mels"),
        ({"fmin": 9000}, "f_max"),
        ({"fs": -1}, "fs is -1"),
        ({"win_length": 4096}, "window_length"),
    ],
)
def test_arguments_out_of_range_are_refused(options: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        ff.mel(np.ones(4000), **{"fs": 16000, **options})


def test_signals_without_samples_are_refused() -> None:
    for function in [ff.mel, ff.log_mel]:
        with pytest.raises(ValueError, match="x has no samples"):
            function(np.ones((2, 0)), 8000.0, 4, 8)
