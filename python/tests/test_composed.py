"""Cross spectra, coherence, analytic signals and windows are SciPy's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.fft
import scipy.signal
from numpy.testing import assert_allclose, assert_array_equal

import firefly_fft as ff


def pair(kind: str, *shape: int) -> Any:
    """Two signals that have a part in common, in float64 or complex128."""
    parts = np.random.default_rng(0).normal(size=(6, *shape)) + 0.3
    common, x, y = parts[:3] + 1j * parts[3:] if kind == "complex" else parts[:3]
    return x + common, y + 2 * np.roll(common, 3, axis=-1)


OPTIONS: Any = [
    {},
    {"fs": 100.0, "nperseg": 64, "noverlap": 10, "detrend": False},
    {"nperseg": 33, "nfft": 50, "window": ("kaiser", 5.0)},
    {"nperseg": 100, "detrend": lambda segments: scipy.signal.detrend(segments)},
    {"nperseg": 40, "axis": 0},
]


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("average", ["mean", "median"])
@pytest.mark.parametrize("scaling", ["density", "spectrum"])
@pytest.mark.parametrize("kind", ["real", "two-sided", "complex"])
def test_cross_spectra_are_those_of_scipy(options: Any, average: str, scaling: str, kind: str) -> None:
    x, y = pair(kind, 3, 1000)
    if options.get("axis") == 0:
        x, y = x.T, y.T
    options = {**options, "average": average, "scaling": scaling, "return_onesided": kind == "real"}
    (f, cross), expected = ff.csd(x, y, **options), scipy.signal.csd(x, y, **options)
    assert_allclose(f, expected[0], rtol=1e-12)
    assert_allclose(cross, expected[1], atol=1e-12 * np.abs(expected[1]).max())


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex64, np.complex128])
def test_coherence_is_that_of_scipy(options: Any, dtype: Any) -> None:
    x, y = pair("complex" if np.dtype(dtype).kind == "c" else "real", 3, 2000)
    x, y = x.astype(dtype), y.astype(dtype)
    if options.get("axis") == 0:
        x, y = x.T, y.T
    if np.dtype(dtype).kind == "c":
        powers = [scipy.signal.welch(signal, return_onesided=False, **options)[1] for signal in (x, y)]
        f, cross = scipy.signal.csd(x, y, return_onesided=False, **options)
        expected = f, np.abs(cross) ** 2 / powers[0] / powers[1]
    else:
        expected = scipy.signal.coherence(x, y, **options)
    f, found = ff.coherence(x, y, **options)
    assert found.dtype == x.real.dtype
    assert_allclose(f, expected[0], rtol=1e-12)
    # Of float32, the bins without the mean have rounding errors only.
    assert_allclose(found, expected[1], atol=1e-3 if x.real.dtype == np.float32 else 1e-9)


def test_cross_spectra_are_of_any_magnitude_and_broadcast() -> None:
    x, y = pair("real", 3, 1000)
    small, large = (1e-24 * x).astype(np.float32), (1e17 * y[0]).astype(np.float32)
    for signals, scale in [((small, small), 1e-48), ((large, large), 1e34), ((small, large), 1e-7)]:
        cross = ff.csd(*signals, nperseg=128)[1]
        expected = scipy.signal.csd(*(signal.astype(float) for signal in signals), nperseg=128)[1]
        assert cross.shape == expected.shape
        assert cross.dtype == (np.complex128 if scale == 1e-48 else np.complex64)
        assert_allclose(cross, expected, atol=1e-5 * scale * np.abs(expected / scale).max())
    expected = scipy.signal.coherence(x, y[0], nperseg=128)[1]
    assert_allclose(ff.coherence(small, large, nperseg=128)[1], expected, atol=1e-3)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("options", [*OPTIONS, {"detrend": "linear", "nperseg": 64}])
@pytest.mark.parametrize("estimator", ["H1", "H2"])
def test_transfer_functions_are_those_of_their_definition(estimator: str, options: Any, dtype: Any) -> None:
    x, y = pair("real", 3, 2000)
    x, y = x.astype(dtype), y.astype(dtype)
    if options.get("axis") == 0:
        x, y = x.T, y.T
    f, cross = scipy.signal.csd(x.astype(float), y.astype(float), **options)
    power = scipy.signal.welch((x if estimator == "H1" else y).astype(float), **options)[1]
    expected = cross / power if estimator == "H1" else power / np.conj(cross)
    hertz, found = ff.transfer_function(x, y, estimator=estimator, **options)
    assert_allclose(hertz, f, rtol=1e-12)
    assert found.dtype == np.result_type(dtype, np.complex64)
    if dtype == np.float64:
        assert_allclose(found, expected, rtol=1e-9)
    else:  # The bins without the trend have rounding errors only.
        inner = (slice(3, -1), slice(None)) if options.get("axis") == 0 else (slice(None), slice(3, -1))
        assert_allclose(found[inner], expected[inner], rtol=1e-2, atol=1e-3)


def test_transfer_functions_are_of_any_magnitude() -> None:
    x, y = pair("real", 3, 1000)
    expected = ff.transfer_function(x, y, nperseg=64)[1][:, 2:-1]
    for of_x, of_y in [(1e-24, 1e-24), (1e20, 1e15), (1.0, 1e25)]:
        found = ff.transfer_function((of_x * x).astype("f4"), (of_y * y).astype("f4"), nperseg=64)[1][:, 2:-1]
        assert_allclose(found * (of_x / of_y), expected, rtol=1e-2, atol=1e-3)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_matrices_and_pairs_of_channels_are_those_of_coherence(dtype: Any) -> None:
    x = np.random.default_rng(2).normal(size=(2, 5, 3000))
    x[0, 3] += 2 * x[0, 1]
    x[1, 4] += x[1, 0]
    x = x.astype(dtype)
    f, matrix = ff.coherence_matrix(x, fs=100.0, nperseg=64)
    assert matrix.dtype == dtype
    for i in range(5):
        for j in range(5):
            hertz, expected = scipy.signal.coherence(x[:, i], x[:, j], fs=100.0, nperseg=64)
            assert_allclose(f, hertz)
            assert_allclose(matrix[:, i, j, 1:], expected[:, 1:], atol=1e-4 if dtype == np.float32 else 1e-9)
    for band, mean in [(None, False), ((20.0, 40.0), False), ((20.0, 40.0), True)]:
        pairs = ff.most_coherent_pairs(x, 3, 100.0, nperseg=64, band=band, mean=mean)
        inside = (f >= band[0]) & (f <= band[1]) if band else np.ones(len(f), bool)
        for batch, (first, second) in enumerate([(1, 3), (0, 4)]):
            assert (pairs.first[batch, 0], pairs.second[batch, 0]) == (first, second)
            upper = matrix[batch][np.triu_indices(5, 1)][:, inside]
            values = np.sort(upper.mean(axis=1) if mean else upper.max(axis=1))[::-1]
            assert_allclose(pairs.coherence[batch], values[:3], atol=1e-5)
            for rank in range(3):
                row = matrix[batch, pairs.first[batch, rank], pairs.second[batch, rank]]
                assert_allclose(row[pairs.bin[batch, rank]], row[inside].max(), atol=1e-5)


@pytest.mark.parametrize("options", [{}, {"nfft": 256}])
@pytest.mark.parametrize("function", [ff.csd, ff.coherence, ff.transfer_function])
def test_a_segment_longer_than_the_signals_is_warned_of_once(function: Any, options: Any) -> None:
    x, y = np.random.default_rng(0).normal(size=(2, 100))
    with pytest.warns(UserWarning, match="nperseg is 200") as warned:
        found = function(x, y, nperseg=200, **options)[1]
    assert [each.filename for each in warned] == [__file__]
    assert_array_equal(found, function(x, y, nperseg=100, **options)[1])


def test_of_one_segment_coherence_is_one_and_without_power_it_is_missing() -> None:
    x, y = pair("real", 256)
    assert_allclose(ff.coherence(x, y)[1], 1, rtol=1e-9)
    assert np.isnan(ff.coherence(x, 0 * y)[1]).all()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: ff.csd(np.ones(300), np.ones(301)), "y has 301 samples"),
        (lambda: ff.csd(np.ones(300), np.ones(300), scaling="power"), "scaling is 'power'"),
        (lambda: ff.csd(np.ones(300), np.ones(300), average="mode"), "average is 'mode'"),
        (lambda: ff.csd(np.ones((2, 300)), np.ones((3, 300))), "broadcast"),
        (lambda: ff.coherence(np.ones(300), np.ones(200)), "y has 200 samples"),
        (lambda: ff.csd(1.0, 2.0), "x is a scalar"),
        (lambda: ff.transfer_function(np.ones(300), np.ones(300), estimator="H3"), "estimator is 'H3'"),
        (lambda: ff.transfer_function(np.ones(300), np.ones(200)), "y has 200 samples"),
        (lambda: ff.coherence_matrix(np.ones(300)), "x has no channels"),
        (lambda: ff.most_coherent_pairs(np.ones((2, 300)), 2), "`k` is 2"),
        (lambda: ff.most_coherent_pairs(np.ones((2, 300)), 1, band=(0.6, 0.7)), "band is"),
        (lambda: ff.hilbert(np.ones(3), 0), "N is 0"),
        (lambda: ff.get_window("hann", 0), "Nx is 0"),
        (lambda: ff.get_window("hannn", 9), "hannn"),
    ],
)
def test_arguments_out_of_range_are_refused(call: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize("options", [{}, {"N": 90}, {"N": 131}, {"axis": 0}, {"axis": 1, "N": 5}])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_analytic_signals_are_those_of_scipy(options: Any, dtype: Any) -> None:
    x = np.random.default_rng(1).normal(size=(2, 4, 101)).astype(dtype)
    found, expected = ff.hilbert(x, **options), scipy.signal.hilbert(x, **options)
    assert found.dtype == expected.dtype
    assert_allclose(found, expected, atol=1e-5 if dtype == np.float32 else 1e-12)
    with pytest.raises(TypeError, match="complex"):
        ff.hilbert(x * 1j)


@pytest.mark.parametrize("n", [None, 7, 12])
@pytest.mark.parametrize("norm", [None, "backward", "ortho", "forward"])
def test_transforms_of_hermitian_signals_are_those_of_scipy(n: int | None, norm: str | None) -> None:
    x = pair("complex", 2, 9)[0]
    assert_allclose(ff.fft.hfft(x, n, 0 if n == 7 else -1, norm), scipy.fft.hfft(x, n, 0 if n == 7 else -1, norm))
    assert_allclose(ff.fft.ihfft(x.real, n, norm=norm), scipy.fft.ihfft(x.real, n, norm=norm), atol=1e-12)


@pytest.mark.parametrize("window", ["hann", "tukey", ("kaiser", 8.6), "hamming_symmetric", ("gaussian_periodic", 5.0)])
def test_windows_are_periodic_by_default(window: Any) -> None:
    name = window if isinstance(window, str) else window[0]
    for fftbins in [True, False]:
        is_periodic = name.endswith("_periodic") or (fftbins and not name.endswith("_symmetric"))
        base = name.replace("_periodic", "").replace("_symmetric", "")
        expected = scipy.signal.get_window(base if isinstance(window, str) else (base, *window[1:]), 33, is_periodic)
        found = ff.get_window(window, 33, fftbins)
        assert_allclose(found, expected, rtol=1e-9, atol=1e-12)
        found[0] = 9  # The caller's own, and not the one of the next call.
        assert_array_equal(ff.get_window(window, 33, fftbins)[1:], found[1:])
        assert ff.get_window(window, 33, fftbins)[0] != 9
    with pytest.raises(TypeError, match="must be a name"):
        ff.get_window(np.ones(3), 3)
