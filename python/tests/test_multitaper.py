"""Multitaper estimates are those of their definition, with SciPy's tapers, and of MNE where that is installed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.signal
import scipy.stats
from numpy.testing import assert_allclose, assert_array_equal

import firefly_fft as ff

RATE = 250.0


def recording(n: int = 600, dtype: Any = np.float64) -> Any:
    """Noise with an offset, and a line in one of the rows."""
    values = np.random.default_rng(0).normal(size=(3, n)) + 5
    values[1] += 3 * np.cos(2 * np.pi * 50 * np.arange(n) / RATE + 0.7)
    return values.astype(dtype)


def spectra_of(x: Any, NW: float, count: int) -> tuple[Any, Any, Any]:
    """Spectra ``[…, tapers, bins]`` of the rows without their mean, tapers, and their shares of energy."""
    n = x.shape[-1]
    tapers, ratios = scipy.signal.windows.dpss(n, NW, count, sym=False, return_ratios=True)
    return np.fft.rfft((x - x.mean(axis=-1, keepdims=True))[..., None, :] * tapers), tapers, ratios


def one_sided(n: int) -> Any:
    sides = np.full(n // 2 + 1, 2.0)
    sides[0] = 1
    if n % 2 == 0:
        sides[-1] = 1
    return sides


@pytest.mark.parametrize(("M", "NW", "Kmax"), [(64, 2.5, 4), (65, 4.0, 7), (200, 3.0, 5)])
@pytest.mark.parametrize("sym", [True, False])
def test_sequences_are_those_of_scipy(M: int, NW: float, Kmax: int, sym: bool) -> None:
    found, ratios = ff.dpss(M, NW, Kmax, sym, return_ratios=True)
    expected, shares = scipy.signal.windows.dpss(M, NW, Kmax, sym, return_ratios=True)
    assert_allclose(found, expected, atol=1e-9)
    assert_allclose(ratios, shares, atol=1e-9)
    assert_allclose(ff.dpss(M, NW, Kmax, sym, 2), expected, atol=1e-9)
    one, share = ff.dpss(M, NW, sym=sym, return_ratios=True)
    assert_allclose(one, scipy.signal.windows.dpss(M, NW, sym=sym), atol=1e-9)
    assert share == ratios[0]
    assert ff.dpss(M, NW, sym=sym).shape == (M,)


@pytest.mark.parametrize("n", [600, 601])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_power_is_that_of_the_definition(n: int, dtype: Any) -> None:
    x = recording(n, dtype)
    spectra, _, ratios = spectra_of(x.astype(float), 3.0, 5)
    expected = (ratios[:, None] * np.abs(spectra) ** 2).sum(axis=1) / ratios.sum() * one_sided(n) / RATE
    found = ff.multitaper(x, RATE, 3.0)
    assert found.psd.dtype == dtype
    assert found.low is None and found.high is None and found.statistic is None and found.amplitude is None
    assert_allclose(found.frequencies, np.fft.rfftfreq(n, 1 / RATE))
    # The mean that is subtracted has a rounding error in float32.
    tolerance = {"rtol": 1e-4, "atol": 1e-6} if dtype == np.float32 else {"rtol": 1e-8, "atol": 1e-12}
    assert_allclose(found.psd, expected, **tolerance)
    moved = ff.multitaper(np.moveaxis(x, 1, 0), RATE, 3.0, axis=0)
    assert_allclose(moved.psd.T, found.psd, rtol=1e-6)


def test_power_by_sines_is_that_of_the_definition() -> None:
    x = recording()
    n, count = x.shape[1], 4
    orders, time = np.arange(1, count + 1)[:, None], np.arange(1, n + 1)
    tapers = np.sqrt(2 / (n + 1)) * np.sin(np.pi * orders * time / (n + 1))
    expected = (np.abs(np.fft.rfft(x[:, None] * tapers)) ** 2).mean(axis=1) * one_sided(n) / RATE
    found = ff.multitaper(x, RATE, Kmax=count, tapers="sine", detrend=False)
    assert_allclose(found.psd, expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_lines_and_intervals_are_those_of_the_definition(dtype: Any) -> None:
    x, count = recording(dtype=dtype), 7
    n = x.shape[1]
    spectra, tapers, ratios = spectra_of(x.astype(float), 4.0, count)
    sums = tapers.sum(axis=1)
    amplitude = np.einsum("rkf,k->rf", spectra, sums) / (sums**2).sum()
    rest = np.abs(spectra - amplitude[:, None] * sums[:, None]) ** 2
    statistic = (count - 1) * np.abs(amplitude) ** 2 * (sums**2).sum() / rest.sum(axis=1)
    powers = np.abs(spectra) ** 2 * one_sided(n) / RATE
    left_out = [
        np.log(np.average(np.delete(powers, k, axis=1), axis=1, weights=np.delete(ratios, k))) for k in range(count)
    ]
    spread = np.std(left_out, axis=0) * np.sqrt(count - 1)
    width = np.exp(spread * scipy.stats.t.ppf(0.95, count - 1))
    found = ff.multitaper(x, RATE, line_test=True, confidence=0.9)
    assert found.statistic is not None and found.p_value is not None and found.amplitude is not None
    assert found.low is not None and found.high is not None
    inner = slice(8, -8)  # Bins that the mean does not reach.
    tolerance = 1e-2 if dtype == np.float32 else 1e-7
    assert_allclose(found.statistic[:, inner], statistic[:, inner], rtol=tolerance, atol=tolerance)
    probability = scipy.stats.f.sf(statistic, 2, 2 * count - 2)
    assert_allclose(found.p_value[:, inner], probability[:, inner], rtol=10 * tolerance, atol=tolerance)
    assert_allclose(found.amplitude[:, inner], (amplitude * one_sided(n))[:, inner], atol=tolerance)
    assert_allclose(found.low[:, inner], (found.psd / width)[:, inner], rtol=tolerance)
    assert_allclose(found.high[:, inner], (found.psd * width)[:, inner], rtol=tolerance)
    line = found.amplitude[1, found.p_value[1].argmin()]
    assert found.frequencies[found.p_value[1].argmin()] == 50
    assert abs(line - 3 * np.exp(0.7j)) < 0.2


@pytest.mark.parametrize("scale", [1e-25, 1e25])
def test_power_is_of_any_magnitude(scale: float) -> None:
    x = recording()
    found = ff.multitaper((scale * x).astype(np.float32), RATE, line_test=True, confidence=0.9)
    expected = ff.multitaper(x, RATE, line_test=True, confidence=0.9)
    assert found.psd.dtype == np.float64
    assert found.amplitude is not None and expected.amplitude is not None
    assert found.low is not None and expected.low is not None
    inner = slice(8, -8)
    assert_allclose(found.psd[:, inner] / scale**2, expected.psd[:, inner], rtol=1e-2)
    assert_allclose(found.low[:, inner] / scale**2, expected.low[:, inner], rtol=1e-2)
    assert_allclose(found.amplitude[:, inner] / scale, expected.amplitude[:, inner], atol=1e-4)


@pytest.mark.parametrize("options", [{}, {"bandwidth": 4.0}, {"normalization": "full"}, {"remove_dc": False}])
@pytest.mark.parametrize("low_bias", [True, False])
def test_power_with_fixed_weights_is_that_of_mnes_definition(options: Any, low_bias: bool) -> None:
    x = recording()
    n = x.shape[1]
    half = options.get("bandwidth", 8 * RATE / n) * n / 2 / RATE
    tapers, ratios = scipy.signal.windows.dpss(n, half, int(2 * half), sym=False, return_ratios=True)
    if low_bias:
        tapers, ratios = tapers[ratios > 0.9], ratios[ratios > 0.9]
    centred = x - x.mean(axis=1, keepdims=True) if options.get("remove_dc", True) else x
    power = np.abs(np.fft.rfft(centred[:, None] * tapers)) ** 2
    expected = np.average(power, axis=1, weights=ratios) * one_sided(n)
    if options.get("normalization") == "full":
        expected /= RATE
    found, frequencies = ff.psd_array_multitaper(x, RATE, low_bias=low_bias, **options)
    assert_allclose(frequencies, np.fft.rfftfreq(n, 1 / RATE))
    assert_allclose(found, expected, rtol=1e-8, atol=1e-10)
    part, kept = ff.psd_array_multitaper(x, RATE, 20.0, 60.0, low_bias=low_bias, **options)
    inside = (frequencies >= 20) & (frequencies <= 60)
    assert_allclose(kept, frequencies[inside])
    assert_allclose(part, found[:, inside])


def test_tapers_are_those_of_each_call() -> None:
    x = recording()
    first = [ff.psd_array_multitaper(x, RATE, bandwidth=width)[0] for width in (4.0, 6.0)]
    for width, expected in zip((4.0, 6.0), first):
        assert_array_equal(ff.psd_array_multitaper(x, RATE, bandwidth=width)[0], expected)
    assert ff.psd_array_multitaper(x[:, 1:], RATE, bandwidth=4.0)[0].shape == (3, 300)


@pytest.mark.parametrize("adaptive", [False, True])
def test_power_is_that_of_mne(adaptive: bool) -> None:
    mne = pytest.importorskip("mne")
    x = recording(1000)
    x[2] = np.cumsum(x[2] - 5)
    options: Any = {"fmin": 1.0, "fmax": 100.0, "adaptive": adaptive, "verbose": "error"}
    expected, frequencies = mne.time_frequency.psd_array_multitaper(x, RATE, **options)
    del options["verbose"]
    found, kept = ff.psd_array_multitaper(x, RATE, **options)
    assert_allclose(kept, frequencies)
    assert_allclose(found, expected, rtol=1e-4 if adaptive else 1e-8)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda x: ff.psd_array_multitaper(x, RATE, normalization="none"), "normalization is 'none'"),
        (lambda x: ff.psd_array_multitaper(x, RATE, output="complex"), "output is 'complex'"),
        (lambda x: ff.psd_array_multitaper(x, RATE, bandwidth=0.1), "bandwidth is 0.1"),
        (lambda x: ff.psd_array_multitaper(x, RATE, bandwidth=1000.0), "bandwidth is 1000.0"),
        (lambda x: ff.psd_array_multitaper(x, RATE, adaptive=True, max_iter=0), "max_iter is 0"),
        (lambda x: ff.multitaper(x, tapers="slepian"), "tapers is 'slepian'"),
        (lambda x: ff.multitaper(x, tapers="sine", adaptive=True), "adaptive is True"),
        (lambda x: ff.multitaper(x, Kmax=0), "Kmax is 0"),
        (lambda x: ff.multitaper(x, Kmax=1, line_test=True), "`tapers` is 1"),
        (lambda x: ff.multitaper(x, confidence=1.0), "`confidence` is 1"),
        (lambda x: ff.multitaper(x, fs=0.0), "fs is 0"),
        (lambda x: ff.multitaper(x, detrend="cubic"), "detrend is 'cubic'"),
        (lambda x: ff.multitaper(x, NW=40.0, Kmax=5), "`half_bandwidth` is 40"),
        (lambda x: ff.dpss(0, 2.0), "M is 0"),
        (lambda x: ff.dpss(9, 2.0, 10), "`k` is 10"),
        (lambda x: ff.dpss(9, 2.0, norm=2), "norm is 2"),
    ],
)
def test_arguments_out_of_range_are_refused(call: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call(np.ones(64))


def test_few_tapers_are_warned_of() -> None:
    x = recording()
    with pytest.warns(UserWarning, match="too few for adaptive weights"):
        found = ff.psd_array_multitaper(x, RATE, bandwidth=0.9, adaptive=True, low_bias=False)[0]
    assert_allclose(found, ff.psd_array_multitaper(x, RATE, bandwidth=0.9, low_bias=False)[0])
