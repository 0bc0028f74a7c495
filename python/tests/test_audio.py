"""Features of audio, inverse mel spectra, Griffin-Lim and the loss are those of their definitions, and librosa's."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest
import scipy.signal
from numpy.testing import assert_allclose, assert_array_equal

import firefly_fft as ff

FEATURES = ["centroid", "bandwidth", "kurtosis", "rolloff", "flatness"]


def sound(*shape: int, dtype: Any = np.float64) -> Any:
    """A chirp in noise."""
    time = np.arange(shape[-1]) / 22050
    noise = 0.1 * np.random.default_rng(0).normal(size=shape)
    return (noise + np.sin(2 * np.pi * (300 + 2000 * time) * time)).astype(dtype)


def framed(x: Any, n_fft: int, hop: int) -> Any:
    padded = np.pad(x, [(0, 0)] * (x.ndim - 1) + [(n_fft // 2, n_fft // 2)])
    return np.lib.stride_tricks.sliding_window_view(padded, n_fft, axis=-1)[..., ::hop, :]


def magnitudes(x: Any, n_fft: int, hop: int) -> Any:
    """Magnitudes ``[…, bins, frames]`` of centred frames under a Hann window."""
    window = scipy.signal.get_window("hann", n_fft)
    return np.abs(np.fft.rfft(framed(x, n_fft, hop) * window)).swapaxes(-1, -2)


def feature(kind: str, S: Any, hertz: Any) -> Any:
    """The definition of a feature."""
    hertz = hertz[:, None]
    weights = S / S.sum(axis=-2, keepdims=True)
    centroid = (weights * hertz).sum(axis=-2, keepdims=True)
    moment = [(weights * (hertz - centroid) ** power).sum(axis=-2, keepdims=True) for power in (2, 4)]
    sums = S.cumsum(axis=-2)
    below = (sums < 0.85 * sums[..., -1:, :]).sum(axis=-2, keepdims=True)
    power = np.maximum(S**2, 1e-10)
    return {
        "centroid": centroid,
        "bandwidth": np.sqrt(moment[0]),
        "kurtosis": moment[1] / moment[0] ** 2,
        "rolloff": hertz[:, 0][below],
        "flatness": np.exp(np.log(power).mean(axis=-2, keepdims=True)) / power.mean(axis=-2, keepdims=True),
    }[kind]


@pytest.mark.parametrize("kind", FEATURES)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_features_are_those_of_the_definition(kind: str, dtype: Any) -> None:
    function, y = getattr(ff, f"spectral_{kind}"), sound(2, 3, 5000, dtype=dtype)
    S = magnitudes(y.astype(float), 512, 128)
    rate = {} if kind == "flatness" else {"sr": 8000}
    expected = feature(kind, S, np.fft.rfftfreq(512, 1 / (8000 if rate else 1)))
    tolerance = 2e-4 if dtype == np.float32 else 1e-9
    found = function(y=y, n_fft=512, hop_length=128, **rate)
    assert found.dtype == dtype
    assert found.shape == (2, 3, 1, 40)
    of_spectra = function(S=S.astype(dtype), **rate)
    for values in (found, of_spectra):
        if kind == "rolloff":  # Rounding may move the threshold past a bin.
            assert np.mean(np.abs(values - expected) < 1e-3) > 0.95
        else:
            assert_allclose(values, expected, rtol=tolerance)
    assert_array_equal(function(y=y[1, 2], n_fft=512, hop_length=128, **rate), found[1, 2])
    assert function(y=y[:0], n_fft=512, hop_length=128, **rate).shape == (0, 3, 1, 40)


def test_frequencies_of_bins_may_be_given_and_frames_of_zeros_have_none() -> None:
    S, hertz = np.abs(sound(65, 9)), np.arange(65.0) ** 2
    for kind in ["centroid", "bandwidth", "kurtosis", "rolloff"]:
        assert_allclose(getattr(ff, f"spectral_{kind}")(S=S, freq=hertz), feature(kind, S, hertz), rtol=1e-9)
    assert_array_equal(ff.spectral_centroid(S=np.zeros((5, 2))), [[0, 0]])


def test_spectra_of_mel_bands_solve_least_squares() -> None:
    filters = ff.mel_filters(16000, 512, 40)
    S = np.random.default_rng(0).uniform(size=(2, 257, 7))
    M = filters @ S
    expected = np.maximum(np.linalg.pinv(filters) @ M, 0)
    for power in [1.0, 2.0, 3.0]:
        found = ff.mel_to_stft(M, sr=16000, n_fft=512, power=power)
        assert_allclose(found**power, expected, atol=1e-5)
    narrow = ff.mel_to_stft(M.astype("f4"), sr=16000, n_fft=512)
    assert narrow.dtype == np.float32
    assert_allclose(narrow, np.sqrt(expected), atol=2e-3)
    options: Any = {"fmin": 100.0, "fmax": 6000.0, "htk": True, "norm": None}
    filters = ff.mel_filters(16000, 512, 40, **options)
    expected = np.maximum(np.linalg.pinv(filters) @ (filters @ S), 0)
    found = ff.mel_to_stft(filters @ S, sr=16000, n_fft=512, power=1.0, **options)
    assert_allclose(found, expected, atol=1e-5)


def reconstructed(S: Any, steps: int, momentum: float, hop: int) -> Any:
    """Griffin-Lim from phases of 0, by the definition."""
    n_fft = 2 * (len(S) - 1)
    window = scipy.signal.get_window("hann", n_fft)
    count = S.shape[1]

    def inverse(spectra: Any) -> Any:
        frames = np.fft.irfft(spectra.T, n_fft) * window
        total, weights = np.zeros((2, (count - 1) * hop + n_fft))
        for index, frame in enumerate(frames):
            total[index * hop :][:n_fft] += frame
            weights[index * hop :][:n_fft] += window**2
        kept = slice(n_fft // 2, -n_fft // 2)
        return total[kept] / weights[kept]

    phase, before = np.ones(S.shape, complex), None
    for _ in range(steps):
        spectra = np.fft.rfft(framed(inverse(S * phase), n_fft, hop) * window).T
        step = spectra if before is None else spectra - momentum / (1 + momentum) * before
        phase, before = step / np.maximum(np.abs(step), 1e-30), spectra
    return inverse(S * phase)


@pytest.mark.parametrize("momentum", [0.0, 0.99])
def test_signals_of_magnitudes_are_those_of_the_definition(momentum: float) -> None:
    S = magnitudes(sound(2, 2000), 128, 32)
    found = ff.griffinlim(S, n_iter=8, hop_length=32, momentum=momentum, init=None)
    for row in range(2):
        assert_allclose(found[row], reconstructed(S[row], 8, momentum, 32), atol=1e-7)
    narrow = ff.griffinlim(S.astype("f4"), n_iter=8, hop_length=32, momentum=momentum, init=None)
    assert narrow.dtype == np.float32
    assert_allclose(narrow, found, atol=2e-2)


def test_signals_from_random_phases_approach_the_magnitudes() -> None:
    S = magnitudes(sound(3, 4000), 256, 64)
    found = ff.griffinlim(S, random_state=7)
    for row in range(3):  # The same phases, wherever a row is.
        assert_array_equal(ff.griffinlim(S[row], random_state=7), found[row])
    assert np.abs(found - ff.griffinlim(S, random_state=8)).max() > 1e-3
    again = magnitudes(found, 256, 64)
    assert np.linalg.norm(again - S) < 0.2 * np.linalg.norm(S)
    for state in [np.random.default_rng(1), np.random.RandomState(1), None]:
        assert ff.griffinlim(S, n_iter=1, random_state=state).shape == found.shape
    assert ff.griffinlim(S, n_iter=1, length=3000).shape == (3, 3000)
    assert ff.griffinlim(S, n_iter=1, win_length=200, window="hamming").shape == found.shape


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_loss_is_that_of_the_definition(dtype: Any) -> None:
    x, y = sound(2, 6000, dtype=dtype), (sound(2, 6000)[:, ::-1] * 0.5).astype(dtype)
    sizes = [(512, 100, 400), (256, 64, 256)]
    expected = 0.0
    for n_fft, hop, length in sizes:
        window = np.pad(scipy.signal.get_window("hann", length), (n_fft - length) // 2)
        padded = np.pad(np.stack([x, y]).astype(float), [(0, 0), (0, 0), (n_fft // 2, n_fft // 2)], "reflect")
        frames = np.lib.stride_tricks.sliding_window_view(padded, n_fft, axis=-1)[..., ::hop, :]
        X, Y = np.sqrt(np.maximum(np.abs(np.fft.rfft(frames * window)) ** 2, 1e-8))
        expected += (np.linalg.norm(Y - X) / np.linalg.norm(Y) + np.abs(np.log(Y / X)).mean()) / len(sizes)
    found = ff.multi_resolution_stft_loss(x, y, *zip(*sizes))
    assert_allclose(found, expected, rtol=1e-3 if dtype == np.float32 else 1e-9)
    assert ff.multi_resolution_stft_loss(x, x) == 0


ONES = np.ones((33, 4))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: ff.spectral_centroid(), "one of y and S"),
        (lambda: ff.spectral_centroid(y=np.ones(99), S=ONES), "one of y and S"),
        (lambda: ff.spectral_centroid(S=-ONES), "S has values below 0"),
        (lambda: ff.spectral_centroid(S=np.ones(5)), "S has the shape"),
        (lambda: ff.spectral_centroid(S=ONES, freq=np.ones(5)), "freq has the shape"),
        (lambda: ff.spectral_centroid(y=np.ones(99), pad_mode="zero"), "pad_mode is"),
        (lambda: ff.spectral_centroid(y=np.ones(99), center=False), "99"),
        (lambda: ff.spectral_centroid(y=np.ones(99), hop_length=0), "hop_length is 0"),
        (lambda: ff.spectral_rolloff(S=ONES, roll_percent=1.5), "`roll_percent` is 1.5"),
        (lambda: ff.spectral_bandwidth(S=ONES, p=3), "p is 3"),
        (lambda: ff.spectral_bandwidth(S=ONES, norm=False), "norm is False"),
        (lambda: ff.spectral_bandwidth(S=ONES, centroid=ONES[:1]), "centroid is"),
        (lambda: ff.spectral_flatness(S=ONES, amin=1.0), "amin is 1.0"),
        (lambda: ff.spectral_flatness(S=ONES, power=1.0), "power is 1.0"),
        (lambda: ff.mel_to_stft(ONES, norm="l1"), "norm is 'l1'"),
        (lambda: ff.mel_to_stft(ONES, n_fft=0), "n_fft is 0"),
        (lambda: ff.mel_to_stft(ONES, fmin=9000.0, fmax=8000.0), "`f_max`|`f_min`"),
        (lambda: ff.griffinlim(ONES, n_fft=99), "n_fft is 99"),
        (lambda: ff.griffinlim(ONES, init="zero"), "init is 'zero'"),
        (lambda: ff.griffinlim(ONES, dtype=np.float64), "dtype is"),
        (lambda: ff.griffinlim(ONES, momentum=-1.0), "`momentum` is -1"),
        (lambda: ff.griffinlim(ONES, random_state=-1), "random_state is -1"),
        (lambda: ff.griffinlim(ONES, length=0), "length is 0"),
        (lambda: ff.multi_resolution_stft_loss(np.ones(9000), np.ones(9001)), "target has the shape"),
        (lambda: ff.multi_resolution_stft_loss(np.ones(100), np.ones(100)), "100"),
        (lambda: ff.multi_resolution_stft_loss(np.ones(9000), np.ones(9000), (8, 16)), "same length"),
        (lambda: ff.multi_resolution_stft_loss(np.ones((0, 9000)), np.ones((0, 9000))), "input has no rows"),
    ],
)
def test_arguments_out_of_range_are_refused(call: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()


def test_functions_of_librosa_have_its_arguments_and_values() -> None:
    librosa = pytest.importorskip("librosa")
    y = sound(2, 8000)
    functions = [(ff.griffinlim, librosa.griffinlim)]
    for kind in ["centroid", "bandwidth", "rolloff", "flatness"]:
        ours, theirs = getattr(ff, f"spectral_{kind}"), getattr(librosa.feature, f"spectral_{kind}")
        functions.append((ours, theirs))
        for options in [{}, {"n_fft": 512, "hop_length": 100, "win_length": 400, "window": "hamming"}]:
            for padding in [{}, {"center": False}, {"pad_mode": "reflect"}]:
                assert_allclose(ours(y=y, **options, **padding), theirs(y=y, **options, **padding), rtol=1e-6)
    for ours, theirs in functions:
        parameters = dict(inspect.signature(ours).parameters)
        assert parameters.pop("device").default is None
        expected = inspect.signature(theirs).parameters
        assert list(parameters) == list(expected)
        assert [p.default for p in parameters.values()] == [p.default for p in expected.values()]
    S = np.abs(librosa.stft(y, n_fft=512))
    options = {"n_iter": 5, "init": None}
    assert_allclose(ff.griffinlim(S, **options), librosa.griffinlim(S, **options), atol=1e-5)


@pytest.mark.parametrize("kind", FEATURES)
@pytest.mark.parametrize("magnitude", [1e-42, 1e-30, 1e30])
def test_features_of_float32_of_any_magnitude_are_right(kind: str, magnitude: float) -> None:
    function, y = getattr(ff, f"spectral_{kind}"), sound(3, 2000)
    y[1] *= magnitude
    y = y.astype("f4")
    of_rows, alone = function(y=y, n_fft=256), function(y=y[::2], n_fft=256)
    expected = function(y=y.astype("f8"), n_fft=256)
    assert of_rows.dtype == np.float32
    assert_array_equal(of_rows[::2], alone)  # The other rows are what they are alone.
    assert_allclose(of_rows[1], expected[1], rtol=1e-5)
    S = np.abs(y[:, :60]).reshape(3, 20, 3)
    assert_allclose(function(S=S), function(S=S.astype("f8")), rtol=1e-3)


@pytest.mark.parametrize("kind", FEATURES)
def test_spectra_of_one_bin_have_features(kind: str) -> None:
    found = getattr(ff, f"spectral_{kind}")(S=np.ones((2, 1, 3)))
    assert_array_equal(found, np.full((2, 1, 3), 1.0 if kind == "flatness" else 0.0))
