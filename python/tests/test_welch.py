"""Power spectra are SciPy's."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
import scipy.signal
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

import firefly_fft as ff


def assert_same(ours: Any, theirs: Any) -> None:
    """Frequencies are equal, and power within 1e-5 of each row's largest."""
    assert_allclose(ours[0], theirs[0], rtol=1e-12)
    assert ours[1].dtype == theirs[1].dtype
    assert ours[1].shape == theirs[1].shape
    assert_allclose(ours[1], theirs[1], rtol=1e-5, atol=1e-6 * np.max(theirs[1], initial=0))


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"fs": 8000.0, "nperseg": 512},
        {"nperseg": 100, "noverlap": 30},
        {"nperseg": 255, "noverlap": 0, "scaling": "spectrum"},
        {"window": "boxcar", "detrend": False},
        {"window": ("kaiser", 8.6), "nperseg": 64},
        {"window": ("tukey", 0.3)},
        {"window": "tukey"},
        {"window": ("dpss", 3.0), "nperseg": 200},
        {"window": ("gaussian", 20.0)},
        {"window": np.hamming(120)},
        {"nperseg": 200, "nfft": 256},
        {"nperseg": 201, "nfft": 333, "scaling": "spectrum"},
        {"nperseg": 4999},
        {"nperseg": 1, "detrend": False, "window": "boxcar"},
        {"average": "median"},
        {"average": "median", "nperseg": 1000, "nfft": 1024},
        {"detrend": lambda segments: scipy.signal.detrend(segments)},
        {"axis": 0},
        {"axis": -2, "nperseg": 3, "window": "boxcar"},
    ],
)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_every_option_is_as_in_scipy(noise: Any, options: Any, dtype: Any) -> None:
    x = noise.astype(dtype)
    if options.get("axis") == 0:
        x = x.T
    assert_same(ff.welch(x, **options), scipy.signal.welch(x, **options))


def test_options_may_be_positional(noise: Any) -> None:
    arguments = (100.0, "hamming", 128, 32, 256, "constant", True, "spectrum", 1, "median")
    assert_same(ff.welch(noise, *arguments), scipy.signal.welch(noise, *arguments))


@pytest.mark.parametrize("samples", [256, 257, 128 * 64 + 128, 128 * 65 + 128, 100_000, 300_001])
def test_long_signals_are_averaged_in_blocks(samples: int) -> None:
    x = np.random.default_rng(1).normal(size=samples).astype(np.float32) + 3
    assert_same(ff.welch(x), scipy.signal.welch(x))


def test_many_long_rows_are_averaged_in_blocks() -> None:
    x = np.random.default_rng(2).normal(size=(700, 2, 3000)).astype(np.float32)
    assert_same(ff.welch(x, nperseg=32), scipy.signal.welch(x, nperseg=32))


@settings(max_examples=60, deadline=None)
@given(
    shape=st.lists(st.integers(1, 4), min_size=0, max_size=3),
    samples=st.integers(8, 600),
    nperseg=st.integers(1, 300),
    data=st.data(),
)
def test_any_shape_axis_and_length_is_as_in_scipy(shape: Any, samples: int, nperseg: int, data: Any) -> None:
    axis = data.draw(st.integers(-len(shape) - 1, len(shape)))
    noverlap = data.draw(st.integers(0, min(nperseg, samples) - 1))
    shape.insert(axis if axis >= 0 else axis + len(shape) + 1, samples)
    x = np.random.default_rng(3).normal(size=shape)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        options: Any = {"nperseg": nperseg, "noverlap": noverlap, "axis": axis}
        assert_same(ff.welch(x, **options), scipy.signal.welch(x, **options))


def test_arrays_of_any_layout_have_the_same_power(noise: Any) -> None:
    expected = ff.welch(noise)[1]
    wide = np.zeros((3, 10_000))
    wide[:, ::2] = noise
    unaligned = np.frombuffer(b"\0" + noise.tobytes(), np.uint8)[1:].view(np.float64).reshape(noise.shape)
    for layout in [
        np.asfortranarray(noise),
        wide[:, ::2],
        noise[:, ::-1][:, ::-1],
        noise.astype(">f8"),
        unaligned,
        noise.tolist(),
        np.ma.array(noise).data,
    ]:
        assert_array_equal(ff.welch(layout)[1], expected)
    read_only = noise.copy()
    read_only.flags.writeable = False
    assert_array_equal(ff.welch(read_only)[1], expected)
    assert_array_equal(ff.welch(noise.T, axis=0)[1], expected.T)


def test_numbers_are_converted() -> None:
    x = np.random.default_rng(4).integers(-100, 100, 1000)
    for dtype in [np.int8, np.uint16, np.int64, bool]:
        values = (x > 0) if dtype is bool else (x & 127).astype(dtype)
        ours = ff.welch(values)
        assert_same(ours, scipy.signal.welch(values.astype(float)))
    assert ff.welch(x.astype(np.float16))[1].dtype == np.float32


def test_rows_that_are_not_finite_disturb_no_other(noise: Any) -> None:
    expected = ff.welch(noise)[1]
    noise[1, 7] = np.nan
    power = ff.welch(noise)[1]
    assert np.isnan(power[1]).all()
    assert_array_equal(power[[0, 2]], expected[[0, 2]])


def test_the_mean_of_many_segments_is_that_of_power_near_the_largest_of_float32() -> None:
    tone = np.sin(2 * np.pi * 5 / 64 * np.arange(64 * 80)).astype(np.float32)
    # Of 159 segments, the last 31 are a block of their own.
    power = ff.welch_psd(tone * np.float32(1e19), scaling="spectrum", nperseg=64)
    assert power.dtype == np.float32
    assert_allclose(power[5], 5e37, rtol=1e-5)
    # Signals of two types have no operation of their own.
    assert_allclose(ff.coherence(tone * np.float32(3e18), tone.astype(np.float64), nperseg=64)[1][5], 1, rtol=1e-5)


def test_no_rows_have_no_power() -> None:
    assert ff.welch(np.empty((0, 2, 300)))[1].shape == (0, 2, 129)
    assert ff.welch_peaks(np.empty((0, 300)), k=4).bins.shape == (0, 4)


def test_a_segment_longer_than_the_signal_is_shortened_with_a_warning() -> None:
    x = np.ones(100)
    with pytest.warns(UserWarning, match="nperseg is 200"):
        assert_same(ff.welch(x, nperseg=200), scipy.signal.welch(x, nperseg=100))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert ff.welch(x)[1].shape == (51,)


@pytest.mark.parametrize(
    ("x", "options", "kind", "message"),
    [
        (1.0, {}, ValueError, "x is a scalar"),
        ([], {}, ValueError, "no samples"),
        (np.empty((2, 0)), {}, ValueError, "no samples"),
        (np.ones(300, np.clongdouble), {}, TypeError, "complex128 first"),
        (["a", "b"], {}, TypeError, "x is of <U1"),
        ([[1.0], [1.0, 2.0]], {}, (ValueError, TypeError), "inhomogeneous|object"),
        ([None, 1.0], {}, TypeError, "x is of object"),
        (np.ones(9, np.longdouble), {}, TypeError, "float64 first"),
        (np.ma.ones(9), {}, TypeError, "masked"),
        (np.ones(300), {"axis": 1}, ValueError, "axis 1"),
        (np.ones(300), {"nperseg": 0}, ValueError, "nperseg is 0"),
        (np.ones(300), {"nperseg": 2.5}, TypeError, "nperseg is 2.5"),
        (np.ones(300), {"noverlap": 256}, ValueError, "noverlap is 256"),
        (np.ones(300), {"noverlap": -1}, ValueError, "noverlap is -1"),
        (np.ones(300), {"nfft": 100}, ValueError, "nfft is 100"),
        (np.ones(300), {"window": "hannn"}, ValueError, "scipy.signal.get_window"),
        (np.ones(300), {"window": ("kaiser", -1)}, ValueError, "beta"),
        (np.ones(300), {"window": np.ones((2, 2))}, ValueError, "2 dimensions"),
        (np.ones(300), {"window": 5.0}, ValueError, "0 dimensions"),
        (np.ones(300), {"window": np.ones(9), "nperseg": 8}, ValueError, "9 coefficients"),
        (np.ones(300), {"window": np.ones(301)}, ValueError, "301 coefficients"),
        (np.ones(300), {"detrend": "cubic"}, ValueError, "'constant', 'linear'"),
        (np.ones(300), {"scaling": "densty"}, ValueError, "'density', 'spectrum' or 'power'"),
        (np.ones(300), {"average": "mode"}, ValueError, "'mean' or 'median'"),
        (np.ones(300), {"fs": 0}, ValueError, "fs is 0"),
        (np.ones(300), {"device": "gpu9"}, ValueError, "unknown device"),
        (np.ones(300), {"device": "rocm"}, ValueError, "not in this build"),
    ],
)
def test_what_is_not_supported_is_refused_by_name(x: Any, options: Any, kind: Any, message: str) -> None:
    with pytest.raises(kind, match=message):
        ff.welch(x, **options)


def test_the_raw_power_is_the_squared_magnitude(noise: Any) -> None:
    power = ff.welch_psd(noise[:, :256], window="boxcar", detrend=False, scaling="power")
    spectrum = np.abs(np.fft.rfft(noise[:, :256])) ** 2
    spectrum[:, 1:-1] *= 2
    assert_allclose(power, spectrum, rtol=1e-10)


def iq(seed: int, *shape: int) -> Any:
    """Complex noise with an offset, and a line at a negative frequency."""
    generator = np.random.default_rng(seed)
    noise = generator.normal(size=shape) + 1j * generator.normal(size=shape)
    return noise + (0.5 - 0.3j) + 2 * np.exp(-0.7j * np.arange(shape[-1]))


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"fs": 2e6, "nperseg": 512, "scaling": "spectrum"},
        {"nperseg": 33, "noverlap": 20, "detrend": False},
        {"nperseg": 100, "nfft": 128, "average": "median"},
        {"window": "boxcar", "nperseg": 2},
        {"window": "boxcar", "nperseg": 1, "detrend": False},
        {"nperseg": 200, "detrend": lambda segments: scipy.signal.detrend(segments)},
        {"axis": 0, "nperseg": 64},
    ],
)
@pytest.mark.parametrize("dtype", [np.complex64, np.complex128, np.float32, np.float64])
def test_two_sided_power_is_that_of_scipy(options: Any, dtype: Any) -> None:
    x = iq(9, 3, 1000).astype(dtype) if np.dtype(dtype).kind == "c" else iq(9, 3, 1000).real.astype(dtype)
    x = x.T if options.get("axis") == 0 else x
    options = {**options, "return_onesided": False}
    assert_same(ff.welch(x, **options), scipy.signal.welch(x, **options))


def test_complex_signals_are_two_sided_and_real_ones_mirrored() -> None:
    x = iq(10, 2, 600)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert_array_equal(ff.welch_psd(x), ff.welch_psd(x, return_onesided=False))
    for nperseg in [100, 101]:
        power = ff.welch_psd(x.real, nperseg=nperseg, return_onesided=False)
        assert_array_equal(power[:, 1:], power[:, :0:-1])
        half = ff.welch_psd(x.real, nperseg=nperseg)
        assert_allclose(half.sum(axis=1), power.sum(axis=1), rtol=1e-12)


@pytest.mark.parametrize("samples", [128 * 65 + 128, 100_001])
def test_long_complex_signals_are_averaged_in_blocks(samples: int) -> None:
    x = iq(11, 2, samples).astype(np.complex64)
    assert_same(ff.welch(x), scipy.signal.welch(x, return_onesided=False))


@pytest.mark.parametrize("options", [{}, {"nfft": 600}, {"nfft": 301}, {"window": "hann", "detrend": False}])
def test_two_sided_periodograms_are_those_of_scipy(options: Any) -> None:
    x = iq(12, 2, 500)
    for signal in [x, x.real]:
        expected = scipy.signal.periodogram(signal, fs=10.0, return_onesided=False, **options)
        assert_same(ff.periodogram(signal, fs=10.0, return_onesided=False, **options), expected)


@pytest.mark.parametrize("samples", [900, 40_000])
@pytest.mark.parametrize("detrend", ["constant", lambda rows: rows])
@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_peaks_of_complex_signals_are_the_strongest_bins_of_scipy(samples: int, detrend: Any, dtype: Any) -> None:
    x = iq(13, 3, samples).astype(dtype)
    options: dict[str, Any] = {"fs": 1000.0, "nperseg": 100, "detrend": detrend}
    f, power = scipy.signal.welch(x, return_onesided=False, **options)
    peaks = ff.welch_peaks(x, k=5, **options)
    assert peaks.power.dtype == x.real.dtype
    assert_array_equal(peaks.bins, np.argsort(-power, axis=1)[:, :5])
    assert_allclose(peaks.power, np.take_along_axis(power, peaks.bins.astype(int), axis=1), rtol=1e-5)
    # A band across zero has bins of both ends of the order.
    inside = (f >= -120.0) & (f <= 50.0)
    expected = np.argsort(np.where(inside, -power, 0.0), axis=1)[:, :7]
    assert_array_equal(ff.welch_peaks(x, k=7, band=(-120.0, 50.0), **options).bins, expected)
    with pytest.raises(ValueError, match=r"bins are every 10\.0 Hz from -500\.0 to 490\.0"):
        ff.welch_peaks(x, k=1, band=(-509.0, -501.0), **options)
    with pytest.raises(ValueError, match="k"):
        ff.welch_peaks(x, k=19, band=(-120.0, 50.0), **options)


def test_some_segments_of_complex_signals_are_averaged() -> None:
    x = iq(14, 4, 288)
    each = [scipy.signal.welch(x[:, 32 * i : 32 * i + 64], nperseg=64, return_onesided=False)[1] for i in [0, 2, 5]]
    expected = -np.sort(-np.mean(each, axis=0), axis=1)[:, :5]
    for segments in [3, [0, 5, 2]]:
        assert_allclose(ff.welch_peaks(x, k=5, nperseg=64, segments=segments).power, expected, rtol=1e-10)


def test_complex_frames_without_finite_power_have_no_peaks() -> None:
    x = iq(15, 2, 384)
    x[1, 300] = complex(0, np.nan)
    for band in [None, (-0.2, 0.1)]:
        peaks = ff.welch_peaks(x, k=2, band=band)
        assert peaks.bins[1].tolist() == [-1, -1]
        assert np.isnan(peaks.power[1]).all()
        assert (peaks.bins[0] >= 0).all()


@pytest.mark.parametrize("mode", ["psd", "complex", "magnitude", "angle", "phase"])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"fs": 100.0, "nperseg": 64, "noverlap": 48, "scaling": "spectrum", "detrend": False},
        {"window": "hann", "nperseg": 33, "nfft": 50, "return_onesided": False},
        {"nperseg": 50, "detrend": scipy.signal.detrend},
        {"nperseg": 50, "axis": 0},
        {"nperseg": 50, "axis": 1},
    ],
)
@pytest.mark.parametrize("kind", ["real", "complex"])
def test_spectrograms_are_those_of_scipy(mode: str, options: Any, kind: str) -> None:
    shape = [2, 3]
    axis = options.get("axis", 2)
    x = np.moveaxis(iq(16, *shape, 500), -1, axis)
    x = x.real if kind == "real" else x
    options = {"mode": mode, **options, **({"return_onesided": False} if kind == "complex" else {})}
    ours, theirs = ff.spectrogram(x, **options), scipy.signal.spectrogram(x, **options)
    for a, b in zip(ours, theirs):
        assert a.dtype == b.dtype
        assert a.shape == b.shape
    assert_allclose(ours[0], theirs[0], rtol=1e-12)
    assert_allclose(ours[1], theirs[1], rtol=1e-12)
    if mode in ("angle", "phase"):  # Angles of the bins that the mean is in are those of rounding.
        assert_allclose(np.median(np.abs(np.exp(1j * ours[2]) - np.exp(1j * theirs[2]))), 0, atol=1e-9)
    else:
        assert_allclose(ours[2], theirs[2], rtol=1e-9, atol=1e-12 * np.abs(theirs[2]).max())


def test_spectrograms_of_float32_are_of_float32() -> None:
    x = iq(17, 1000)
    for signal in [x.astype(np.complex64), x.real.astype(np.float32)]:
        options: Any = {"return_onesided": signal.dtype.kind != "c"}
        ours, theirs = ff.spectrogram(signal, **options)[2], scipy.signal.spectrogram(signal, **options)[2]
        assert ours.dtype == theirs.dtype == np.float32
        assert_allclose(ours, theirs, atol=1e-5 * theirs.max())


def test_arguments_of_spectrograms_out_of_range_are_refused() -> None:
    for options, message in [({"mode": "power"}, "mode is 'power'"), ({"scaling": "psdd"}, "psdd")]:
        with pytest.raises(ValueError, match=message):
            ff.spectrogram(np.ones(300), **options)


@pytest.mark.parametrize("magnitude", [1e-30, 1e-23, 1e-12, 1e12, 1e18, 1e30])
@pytest.mark.parametrize("samples", [900, 40_000])
@pytest.mark.parametrize("kind", ["real", "complex"])
def test_power_of_float32_of_any_magnitude_is_right(magnitude: float, samples: int, kind: str) -> None:
    x = iq(18, 3, samples)
    x = (x.real if kind == "real" else x) * np.array([[magnitude], [1.0], [0.0]])
    narrow = x.astype(np.complex64 if kind == "complex" else np.float32)
    options: dict[str, Any] = {"nperseg": 128, "fs": 100.0}
    expected = scipy.signal.welch(narrow.astype(x.dtype), return_onesided=kind == "real", **options)[1]
    is_held = (expected[0] > 1e-37).all() and (expected < 1e38).all()
    peaks = ff.welch_peaks(narrow, k=3, **options)
    for power in [ff.welch_psd(narrow, **options), ff.welch_psd(narrow, average="median", **options), peaks.power]:
        assert power.dtype == (np.float32 if is_held else np.float64)
    power = ff.welch_psd(narrow, **options)
    assert_allclose(power, expected, rtol=1e-4, atol=0 if kind == "complex" else 1e-5 * magnitude**2)
    for row in range(2):
        assert_array_equal(peaks.bins[row], np.argsort(-expected[row])[:3])
        assert_allclose(peaks.power[row], -np.sort(-expected[row])[:3], rtol=1e-4)
    assert peaks.bins[2].tolist() == [0, 1, 2]
    each = ff.spectrogram(narrow, **options)[2].astype(float)
    assert_allclose(
        each[0].mean(axis=-1) / magnitude**2, ff.spectrogram(x[0] / magnitude, **options)[2].mean(-1), rtol=1e-3
    )


def test_rows_out_of_range_leave_others_as_they_are() -> None:
    x = np.random.default_rng(19).normal(size=(3, 384)).astype(np.float32)
    expected = ff.welch_psd(x)
    x[0] *= np.float32(1e15)
    power = ff.welch_psd(x)
    assert power.dtype == np.float32
    assert_array_equal(power[1:], expected[1:])
    assert_allclose(power[0], expected[0] * np.float32(1e15) ** 2, rtol=1e-5)
    x[0, 5] = np.inf
    assert np.isnan(ff.welch_psd(x)[0]).all()


def test_a_line_that_overflows_is_the_strongest() -> None:
    n = np.arange(4000)
    x = (1e18 * (np.sin(2 * np.pi * n / 8) + 0.01 * np.sin(2 * np.pi * n / 5))).astype(np.float32)
    peaks = ff.welch_peaks(x, k=1, fs=8000.0, scaling="power")
    assert peaks.bins.tolist() == [32]
    assert_allclose(peaks.power, ff.welch_peaks(x.astype(float), k=1, fs=8000.0, scaling="power").power, rtol=1e-5)


@pytest.mark.parametrize("options", [{}, {"nfft": 600}, {"nfft": 300}, {"window": "hann", "axis": 0, "detrend": False}])
def test_periodograms_are_those_of_scipy(noise: Any, options: Any) -> None:
    x = noise[:, :500].T if options.get("axis") == 0 else noise[:, :500]
    assert_same(ff.periodogram(x, fs=10.0, **options), scipy.signal.periodogram(x, fs=10.0, **options))


@pytest.mark.parametrize("options", [{}, {"nperseg": 100}, {"detrend": False, "scaling": "spectrum"}])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_peaks_are_the_strongest_bins_of_scipy(options: Any, dtype: Any) -> None:
    x = np.random.default_rng(5).normal(size=(200, 384)).astype(dtype)
    power = scipy.signal.welch(x, **options)[1]
    bins, values = ff.welch_peaks(x, k=5, **options)
    along = ff.welch_peaks(x.T, k=5, axis=0, **options)
    assert_array_equal(along.bins.T, bins)
    assert_array_equal(along.power.T, values)
    assert values.dtype == dtype
    assert_allclose(values, -np.sort(-power, axis=1)[:, :5], rtol=1e-5)
    assert_allclose(np.take_along_axis(power, bins.astype(int), axis=1), values, rtol=1e-5)


def test_peaks_of_long_signals_are_those_of_their_average() -> None:
    x = np.random.default_rng(6).normal(size=(2, 20_000))
    power = scipy.signal.welch(x)[1]
    peaks = ff.welch_peaks(x, k=4)
    assert_array_equal(peaks.bins, np.argsort(-power, axis=1)[:, :4])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    ("segments", "indices"),
    [(4, [0, 2, 4, 6]), (3, [0, 2, 5]), (1, [0]), (8, range(8)), ([0, 1, 7], [0, 1, 7]), (np.array([5, 2]), [2, 5])],
)
def test_some_segments_are_spread_evenly_or_listed(segments: Any, indices: Any, dtype: Any) -> None:
    x = np.random.default_rng(8).normal(size=(40, 64 + 7 * 32)).astype(dtype)
    options: dict[str, Any] = {"nperseg": 64, "scaling": "spectrum"}
    each = [scipy.signal.welch(x[:, 32 * index : 32 * index + 64], **options)[1] for index in indices]
    power = np.mean(each, axis=0)
    bins, values = ff.welch_peaks(x, k=5, segments=segments, **options)
    assert_allclose(values, -np.sort(-power, axis=1)[:, :5], rtol=1e-5)
    assert_allclose(np.take_along_axis(power, bins.astype(int), axis=1), values, rtol=1e-5)


@pytest.mark.parametrize("segments", [0, 9, [], [0, 0], [8], [-1]])
def test_segments_that_rows_do_not_have_are_refused(segments: Any) -> None:
    with pytest.raises(ValueError, match="segments is"):
        ff.welch_peaks(np.ones((2, 288)), k=2, nperseg=64, segments=segments)


def test_segments_are_refused_with_a_function_that_detrends() -> None:
    with pytest.raises(ValueError, match="segments is given"):
        ff.welch_peaks(np.ones((2, 288)), k=2, nperseg=64, segments=2, detrend=lambda rows: rows)


@pytest.mark.parametrize("samples", [900, 40_000])
@pytest.mark.parametrize("detrend", ["constant", lambda rows: rows])
def test_peaks_of_a_band_are_the_strongest_between_its_frequencies(samples: int, detrend: Any) -> None:
    x = np.random.default_rng(5).normal(size=(3, samples))
    options: dict[str, Any] = {"fs": 1000.0, "nperseg": 100, "detrend": detrend}
    f, power = scipy.signal.welch(x, **options)
    inside = (f >= 50.0) & (f <= 200.0)
    expected = np.argsort(np.where(inside, -power, 0.0), axis=1)[:, :7]
    peaks = ff.welch_peaks(x, k=7, band=(50.0, 200.0), **options)
    assert_array_equal(peaks.bins, expected)
    assert_allclose(peaks.power, np.take_along_axis(power, expected, axis=1), rtol=1e-10)
    with pytest.raises(ValueError, match=r"bins are every 10\.0 Hz from 0\.0 to 500\.0"):
        ff.welch_peaks(x, k=1, band=(51.0, 59.0), **options)
    with pytest.raises(ValueError, match="k"):
        ff.welch_peaks(x, k=17, band=(50.0, 200.0), **options)


def test_an_edge_of_a_band_in_decimals_is_that_of_its_bin() -> None:
    x = np.random.default_rng(6).normal(size=600)
    for tenth in range(1, 128):
        edge = tenth / 10
        peaks = ff.welch_peaks(x, k=1, fs=25.6, nperseg=256, band=(edge, edge))
        assert (peaks.bins == tenth).all()


def test_frames_without_finite_power_have_no_peaks() -> None:
    x = np.random.default_rng(7).normal(size=(3, 384))
    x[1, 300] = np.inf
    peaks = ff.welch_peaks(x, k=2)
    assert peaks.bins[1].tolist() == [-1, -1]
    assert np.isnan(peaks.power[1]).all()
    assert (peaks.bins[[0, 2]] >= 0).all()


@pytest.mark.parametrize(("k", "kind"), [(0, ValueError), (130, ValueError), (2.5, TypeError), ("3", TypeError)])
def test_a_number_of_peaks_out_of_range_is_refused(k: Any, kind: Any) -> None:
    with pytest.raises(kind, match="k"):
        ff.welch_peaks(np.ones((2, 384)), k=k)


@pytest.mark.parametrize("options", [{}, {"detrend": "linear"}, {"nfft": 100}])
def test_arrays_without_rows_have_spectra_without_rows(options: Any) -> None:
    x, bins = np.ones((0, 3, 300), np.float32), options.get("nfft", 64) // 2 + 1
    assert ff.welch(x, nperseg=64, average="median", **options)[1].shape == (0, 3, bins)
    assert ff.spectrogram(x, nperseg=64, **options)[2].shape == (0, 3, bins, 5)
    assert ff.csd(x, x, nperseg=64, **options)[1].shape == (0, 3, bins)
    assert ff.coherence(x, x, nperseg=64, **options)[1].shape == (0, 3, bins)


@pytest.mark.parametrize("fs", [0, -1.0, np.nan, np.inf])
def test_sample_rates_are_positive_and_finite(fs: float) -> None:
    x = np.random.default_rng(0).normal(size=600)
    for call in [
        lambda: ff.welch(x, fs, scaling="spectrum"),
        lambda: ff.spectrogram(x, fs),
        lambda: ff.stft(x, fs),
        lambda: ff.istft(np.ones((9, 4)), fs),
        lambda: ff.csd(x, x, fs, scaling="spectrum"),
        lambda: ff.coherence(x, x, fs),
        lambda: ff.transfer_function(x, x, fs),
        lambda: ff.multitaper(x, fs),
        lambda: ff.psd_array_multitaper(x, fs),
        lambda: ff.zoom_fft(x, 0.1, fs=fs),
        lambda: ff.spectral_centroid(y=x, sr=fs),
    ]:
        with pytest.raises(ValueError, match=rf"^(fs|sr|sfreq) is {fs}, but must be positive and finite"):
            call()
    with pytest.raises(TypeError, match="fs is 'x', but must be a number"):
        ff.welch(x, "x")  # type: ignore[arg-type]


def test_an_axis_that_is_none_is_refused_of_two_signals() -> None:
    for function in [ff.csd, ff.coherence, ff.transfer_function]:
        with pytest.raises(ValueError, match="axis -3"):
            function(np.ones((2, 9)), np.ones((2, 9)), axis=-3)
