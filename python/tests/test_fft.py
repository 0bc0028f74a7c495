"""Fourier transforms are NumPy's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

import firefly_fft as ff


def assert_near(ours: Any, theirs: Any, single: bool) -> None:
    """Values within the rounding of float32 or float64 of the largest."""
    assert ours.shape == theirs.shape
    assert_allclose(ours, theirs, rtol=0, atol=(1e-5 if single else 1e-12) * np.abs(theirs).max(initial=1e-30))


@pytest.mark.parametrize("single", [True, False])
@pytest.mark.parametrize("norm", [None, "backward", "ortho", "forward"])
@pytest.mark.parametrize("n", [None, 1, 5, 64, 97])
@pytest.mark.parametrize("name", ["fft", "ifft", "rfft", "irfft"])
def test_one_dimension(name: str, n: int | None, norm: Any, single: bool) -> None:
    generator = np.random.default_rng(0)
    x = generator.normal(size=(3, 60, 2))
    values = x[..., 0] if name == "rfft" else x[..., 0] + 1j * x[..., 1]
    if single:
        values = values.astype(np.float32 if name == "rfft" else np.complex64)
    for axis in (-1, 0):
        ours = getattr(ff.fft, name)(values, n, axis, norm)
        kinds = ("f4", "f8") if name == "irfft" else ("c8", "c16")
        assert ours.dtype == kinds[0 if single else 1]
        assert_near(ours, getattr(np.fft, name)(values, n, axis, norm), single)


@pytest.mark.parametrize("name", ["fftn", "ifftn", "rfftn", "irfftn", "fft2", "ifft2", "rfft2", "irfft2"])
@pytest.mark.parametrize("norm", [None, "ortho"])
def test_several_dimensions(name: str, norm: Any) -> None:
    generator = np.random.default_rng(1)
    x = generator.normal(size=(4, 6, 5))
    values = x if name.startswith("r") else x + 1j * generator.normal(size=x.shape)
    ours, theirs = getattr(ff.fft, name), getattr(np.fft, name)
    assert_near(ours(values, norm=norm), theirs(values, norm=norm), False)
    assert_near(ours(values, s=(7, 3), axes=(0, 2), norm=norm), theirs(values, s=(7, 3), axes=(0, 2), norm=norm), False)


def test_a_length_of_minus_one_is_that_of_the_axis() -> None:
    x = np.random.default_rng(3).normal(size=(4, 6))
    assert_near(ff.fft.fftn(x, s=(-1, 3)), np.fft.fftn(x, s=(4, 3), axes=(0, 1)), False)
    assert_near(ff.fft.rfftn(x, s=(-1, -1)), np.fft.rfftn(x), False)


def test_real_values_of_any_kind_have_complex_transforms() -> None:
    x = [3, 1, 4, 1, 5]
    assert_allclose(ff.fft.fft(x), np.fft.fft(x), atol=1e-12)
    assert ff.fft.fft(np.array(x, np.float16)).dtype == np.complex64
    assert_allclose(ff.fft.fft(np.array(x, ">c16")), np.fft.fft(x), atol=1e-12)


@pytest.mark.parametrize("kind", ["f4", "f8", "c8", "c16"])
@pytest.mark.parametrize("name", ["fft", "ifft", "fft2"])
def test_the_input_stays_as_it_is(name: str, kind: str) -> None:
    x = np.random.default_rng(2).normal(size=(8, 64)).astype(kind)
    before = x.copy()
    assert_near(getattr(ff.fft, name)(x), getattr(np.fft, name)(x), kind in ("f4", "c8"))
    assert np.array_equal(x, before)


def test_no_rows_have_no_spectra() -> None:
    assert ff.fft.rfft(np.empty((0, 8))).shape == (0, 5)
    assert ff.fft.fft(np.empty((2, 0, 8))).shape == (2, 0, 8)


@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (lambda: ff.fft.fft([]), ValueError, "x has no samples"),
        (lambda: ff.fft.fft(3.0), ValueError, "scalar"),
        (lambda: ff.fft.fft([1.0], n=0), ValueError, "n is 0"),
        (lambda: ff.fft.fft([1.0], norm="orth"), ValueError, "'backward', 'ortho' or 'forward'"),
        (lambda: ff.fft.rfft([1j]), TypeError, "complex"),
        (lambda: ff.fft.irfft([1.0]), ValueError, "n is 0"),
        (lambda: ff.fft.fft(np.ones(3, np.clongdouble)), TypeError, "complex128"),
        (lambda: ff.fft.fftn(np.ones((2, 2)), s=(2,), axes=(0, 1)), ValueError, "1 lengths"),
        (lambda: ff.fft.fft(np.ones(3), axis=2), ValueError, "axis 2"),
    ],
)
def test_arguments_out_of_range_are_refused(call: Any, kind: Any, message: str) -> None:
    with pytest.raises(kind, match=message):
        call()


@pytest.mark.parametrize("name", ["fft", "ifft", "rfft", "irfft", "hfft", "ihfft"])
def test_rows_without_samples_are_refused_with_any_number_of_points(name: str) -> None:
    for n in [None, 4]:
        with pytest.raises(ValueError, match="x has no samples along the axis"):
            getattr(ff.fft, name)(np.ones((2, 0)), n)
    with pytest.raises(ValueError, match="x has no samples along the axis"):
        ff.fft.fftn(np.ones((0, 4)), (3, 4))
    with pytest.raises(ValueError, match="norm is 3"):
        getattr(ff.fft, name)(np.ones(4), norm=3)
    with pytest.raises(TypeError, match=r"axis is 1\.5"):
        getattr(ff.fft, name)(np.ones(4), axis=1.5)
    with pytest.raises(ValueError, match="n is 0, but must be at least 1"):
        ff.fft.irfft(np.ones(1))
