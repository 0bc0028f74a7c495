"""Short-time transforms are SciPy's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.signal
from numpy.testing import assert_allclose

import firefly_fft as ff

OPTIONS: Any = [
    {},
    {"fs": 100.0, "nperseg": 64, "noverlap": 48},
    {"window": "boxcar", "nperseg": 33, "noverlap": 0},
    {"nperseg": 100, "nfft": 128},
    {"scaling": "psd", "window": ("kaiser", 4.0)},
]


@pytest.mark.parametrize(
    "options",
    [
        *OPTIONS,
        {"boundary": None},
        {"boundary": "even", "padded": False},
        {"boundary": "odd", "detrend": "constant"},
        {"boundary": "even", "detrend": scipy.signal.detrend, "nperseg": 100, "noverlap": 33, "nfft": 120},
        {"nperseg": 1, "noverlap": 0, "window": "boxcar"},
        {"boundary": "constant"},
        {"axis": 0},
        {"axis": -3},
        {"axis": 1},
    ],
)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_transforms_are_those_of_scipy(options: Any, dtype: Any) -> None:
    shape = [2, 3]
    shape.insert({0: 0, -3: 0, 1: 1}.get(options.get("axis"), 2), 1000)
    x = np.random.default_rng(0).normal(size=shape).astype(dtype)
    ours, theirs = ff.stft(x, **options), scipy.signal.stft(x, **options)
    for a, b in zip(ours, theirs):
        assert a.shape == b.shape
        assert_allclose(a, b, atol=1e-5 if dtype == np.float32 else 1e-12)
    assert ours[2].dtype == theirs[2].dtype


@pytest.mark.parametrize("options", OPTIONS)
def test_the_inverse_gives_the_signal_back(options: Any) -> None:
    x = np.random.default_rng(1).normal(size=(2, 1000))
    spectra = ff.stft(x, **options)[2]
    if "nfft" in options:
        options = {**options, "nperseg": 100}
    time, signal = ff.istft(spectra, **options)
    expected = scipy.signal.istft(spectra, **options)[1]
    # SciPy takes the length of the first dimension.
    assert_allclose(time, scipy.signal.istft(spectra[0], **options)[0])
    assert_allclose(signal, expected, atol=1e-12)
    assert_allclose(signal[:, :1000], x, atol=1e-12)


@pytest.mark.parametrize(
    "options",
    [
        *OPTIONS,
        {"boundary": "odd", "detrend": "constant", "nperseg": 101},
        {"boundary": None, "padded": False, "detrend": scipy.signal.detrend},
        {"nperseg": 1, "noverlap": 0, "window": "boxcar"},
        {"axis": 0},
    ],
)
@pytest.mark.parametrize("dtype", [np.complex64, np.complex128, np.float32, np.float64])
def test_two_sided_transforms_are_those_of_scipy(options: Any, dtype: Any) -> None:
    generator = np.random.default_rng(3)
    x = generator.normal(size=(2, 1000)) + 0.1
    x = (x + 1j * generator.normal(size=x.shape) if np.dtype(dtype).kind == "c" else x).astype(dtype)
    x = x.T if options.get("axis") == 0 else x
    ours = ff.stft(x, return_onesided=False, **options)
    for a, b in zip(ours, scipy.signal.stft(x, return_onesided=False, **options)):
        assert a.shape == b.shape
        assert_allclose(a, b, atol=1e-5 if x.real.dtype == np.float32 else 1e-12)
    assert ours[2].dtype == np.result_type(dtype, np.complex64)


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_the_inverse_of_two_sided_spectra_is_complex(options: Any, dtype: Any) -> None:
    generator = np.random.default_rng(4)
    x = (generator.normal(size=(2, 1000)) + 1j * generator.normal(size=(2, 1000))).astype(dtype)
    spectra = ff.stft(x, **options)[2]
    if "nfft" in options:
        options = {**options, "nperseg": 100}
    signal = ff.istft(spectra, input_onesided=False, **options)[1]
    assert signal.dtype == dtype
    atol = 1e-5 if dtype == np.complex64 else 1e-12
    assert_allclose(signal, scipy.signal.istft(spectra, input_onesided=False, **options)[1], atol=atol)
    assert_allclose(signal[:, :1000], x, atol=atol)
    assert ff.istft(spectra[:0], input_onesided=False, **options)[1].dtype == dtype


def test_axes_of_spectra_may_lie_anywhere() -> None:
    x = np.random.default_rng(2).normal(size=(2, 1024))
    spectra = ff.stft(x)[2]
    moved = np.moveaxis(spectra, (-2, -1), (0, 1))
    assert_allclose(ff.istft(moved, freq_axis=0, time_axis=1)[1], x, atol=1e-12)


def test_no_rows_give_no_rows() -> None:
    spectra = ff.stft(np.zeros((0, 2, 384)), nperseg=64)[2]
    assert spectra.shape == (0, 2, 33, 13)
    assert ff.istft(spectra)[1].shape == (0, 2, 384)


def test_a_single_segment_is_all_ends_or_inverted_without_them() -> None:
    spectra = ff.stft(np.arange(8.0), nperseg=8, boundary=None)[2]
    assert spectra.shape == (5, 1)
    assert ff.istft(spectra)[1].shape == scipy.signal.istft(spectra)[1].shape == (0,)
    with pytest.warns(UserWarning, match="cover"):
        assert_allclose(ff.istft(spectra, boundary=False)[1][1:], np.arange(1.0, 8.0), atol=1e-12)


def test_windows_that_do_not_cover_the_signal_are_warned_of() -> None:
    spectra = ff.stft(np.ones(1000), noverlap=0)[2]
    with pytest.warns(UserWarning, match="cover"):
        ff.istft(spectra, noverlap=0)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: ff.stft(np.ones(300), boundary="zero"), "boundary"),
        (lambda: ff.stft(np.ones(300), scaling="density"), "'spectrum' or 'psd'"),
        (lambda: ff.stft([]), "no samples"),
        (lambda: ff.istft(np.ones(3)), "dimensions"),
        (lambda: ff.istft(np.ones((3, 3)), time_axis=0, freq_axis=0), "both"),
        (lambda: ff.istft(np.ones((3, 3)), nfft=8), "3 frequencies"),
        (lambda: ff.istft(np.ones((3, 3)), nfft=4, input_onesided=False), "3 frequencies"),
        (lambda: ff.istft(np.ones((3, 0))), "without times"),
    ],
)
def test_arguments_out_of_range_are_refused(call: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()
