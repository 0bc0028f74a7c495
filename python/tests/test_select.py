"""Largest values and local maxima."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.signal
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.testing import assert_array_equal

import firefly_fft as ff


@settings(max_examples=100, deadline=None)
@given(
    x=hnp.arrays(
        np.float32,
        hnp.array_shapes(min_dims=1, max_dims=3, max_side=40),
        elements=st.one_of(st.floats(width=32), st.sampled_from([0.0, -0.0, 1.0])),
    ),
    data=st.data(),
)
def test_the_largest_finite_values_come_first_and_ties_in_order(x: Any, data: Any) -> None:
    axis = data.draw(st.integers(-x.ndim, x.ndim - 1))
    k = data.draw(st.integers(1, x.shape[axis]))
    largest = ff.top_k(x, k, axis)
    rows = np.moveaxis(x, axis, -1).astype(float)
    finite = np.where(np.isfinite(rows), rows, -np.inf)
    order = np.argsort(-finite, axis=-1, kind="stable")[..., :k]
    missing = np.isneginf(np.take_along_axis(finite, order, -1))
    assert_array_equal(np.moveaxis(largest.indices, axis, -1), np.where(missing, -1, order))
    expected = np.where(missing, np.nan, np.take_along_axis(rows, order, -1))
    assert_array_equal(np.moveaxis(largest.values, axis, -1), expected)


@pytest.mark.parametrize("conditions", [{}, {"height": 0.5}, {"distance": 6}, {"prominence": 0.7}])
def test_local_maxima_are_those_of_scipy(conditions: Any) -> None:
    x = np.random.default_rng(0).normal(size=(20, 300))
    found = ff.local_maxima(x, k=100, **conditions)
    for row, bins, power, prominence in zip(x, found.bins, found.power, found.prominence):
        places, _ = scipy.signal.find_peaks(row, **conditions)
        order = places[np.argsort(-row[places], kind="stable")]
        kept = bins >= 0
        assert_array_equal(bins[kept], order[:100])
        assert_array_equal(power[kept], row[order[:100]])
        np.testing.assert_allclose(prominence[kept], scipy.signal.peak_prominences(row, order[:100])[0])
        assert np.isnan(power[~kept]).all()


def test_a_line_between_two_bins_is_placed() -> None:
    time = np.arange(256)
    power = ff.welch_psd(np.sin(2 * np.pi * 10.3 / 256 * time), detrend=False)
    lines = ff.local_maxima(power, k=1, interpolation="hann")
    assert abs(lines.bins[0] + lines.offset[0] - 10.3) < 0.01


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: ff.top_k([1.0], 2), "k"),
        (lambda: ff.top_k([], 1), "values"),
        (lambda: ff.local_maxima([1.0, 2.0], 1, interpolation="cubic"), "log_parabola"),
        (lambda: ff.local_maxima([1.0, 2.0], 1, height=float("nan")), "height"),
    ],
)
def test_arguments_out_of_range_are_refused(call: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()


def test_a_distance_between_two_bins_is_rounded_up() -> None:
    x = np.array([0.0, 3.0, 0.0, 2.0, 0.0, 0.0, 1.0, 0.0])
    found = ff.local_maxima(x, 3, distance=2.5).bins
    assert_array_equal(np.sort(found[found >= 0]), scipy.signal.find_peaks(x, distance=2.5)[0])
