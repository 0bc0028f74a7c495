"""Names, defaults and windows are SciPy's."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest
import scipy.fft
import scipy.signal
from numpy.testing import assert_allclose, assert_array_equal

import firefly_fft as ff
from firefly_fft._windows import coefficients

# Other names of windows, of the same coefficients.
NAMED = (
    "boxcar box ones rect rectangular hann han hamming hamm ham blackman black blk nuttall nutl nut blackmanharris "
    "blackharr bkh flattop flat flt tukey tuk"
).split()
WITH_PARAMETERS = [
    ("kaiser", 8.6),
    ("ksr", 2.0),
    ("gaussian", 7.0),
    ("gauss", 3.0),
    ("gss", 3.0),
    ("tukey", 0.3),
    ("dpss", 2.5),
]
SIZES = [1, 2, 9, 64]
HAS_SUFFIXES = tuple(map(int, scipy.__version__.split(".")[:2])) >= (1, 17)

# Arguments of SciPy that ours lack: buffers and threads of its own.
WITHOUT = {"overwrite_x", "overwrite_data", "workers", "plan"}
# Arguments that are ours alone, by keyword.
OURS = {"device"}
# Defaults that are written differently and mean the same: SciPy before 1.17 names its periodic window `hann`.
SAME = {"hann_periodic": "hann", ("tukey_periodic", 0.25): ("tukey", 0.25)}
# Functions of NumPy, whose arguments they have.
NUMPY = {"fftfreq", "rfftfreq", "fftshift", "ifftshift"}
NAMES = (
    "welch periodogram spectrogram stft istft csd coherence hilbert envelope czt zoom_fft resample resample_poly "
    "detrend"
).split()
FUNCTIONS = [
    *[(getattr(ff, name), getattr(scipy.signal, name)) for name in NAMES if hasattr(scipy.signal, name)],
    *[(getattr(ff.fft, name), getattr(scipy.fft, name)) for name in ff.fft.__all__ if name not in NUMPY],
]


def with_suffix(window: Any, suffix: str) -> Any:
    return window + suffix if isinstance(window, str) else (window[0] + suffix, *window[1:])


@pytest.mark.parametrize("window", [*NAMED, *WITH_PARAMETERS], ids=str)
@pytest.mark.parametrize(("suffix", "periodic"), [("", True), ("_periodic", True), ("_symmetric", False)])
def test_windows_of_every_name_have_the_coefficients_of_scipy(window: Any, suffix: str, periodic: bool) -> None:
    named = with_suffix(window, suffix)
    for n in SIZES:
        if window[0] == "dpss" and n < 9:
            continue
        ours = coefficients(named, n)
        assert_allclose(ours, scipy.signal.get_window(window, n, fftbins=periodic), rtol=1e-9, atol=1e-12)
        if HAS_SUFFIXES:
            assert_allclose(ours, scipy.signal.get_window(named, n), rtol=1e-9, atol=1e-12)


def test_the_suffix_counts_in_every_function(noise: Any) -> None:
    for suffix, periodic in [("_periodic", True), ("_symmetric", False)]:
        values = scipy.signal.get_window("hamming", 128, fftbins=periodic)
        for function in [ff.welch, ff.stft]:
            named = function(noise, window=f"hamming{suffix}", nperseg=128)[-1]
            assert_allclose(named, function(noise, window=values, nperseg=128)[-1], rtol=1e-9, atol=1e-12)
    periodogram = ff.periodogram(noise, window="hann_symmetric")[1]
    assert_allclose(
        periodogram, scipy.signal.periodogram(noise, window=np.hanning(noise.shape[-1]))[1], rtol=1e-5, atol=1e-9
    )
    assert_array_equal(ff.welch(noise, window="hann_periodic")[1], ff.welch(noise)[1])


@pytest.mark.parametrize(
    "window", ["hann_periodic_symmetric", "_periodic", "hann_", "hannsymmetric", "cosine_periodic"]
)
def test_names_that_are_none_are_refused(window: str) -> None:
    with pytest.raises(ValueError, match="_periodic or _symmetric"):
        ff.welch(np.ones(300), window=window)


@pytest.mark.parametrize(("ours", "theirs"), FUNCTIONS, ids=lambda function: function.__name__)
def test_arguments_and_their_defaults_are_those_of_scipy(ours: Any, theirs: Any) -> None:
    ours, theirs = inspect.signature(ours).parameters, inspect.signature(theirs).parameters
    positional = [name for name in theirs if name not in WITHOUT]
    assert [name for name in ours if name not in OURS] == positional
    keywords = [name for name in positional if theirs[name].kind is inspect.Parameter.KEYWORD_ONLY]
    assert [name for name, given in ours.items() if given.kind is given.KEYWORD_ONLY] == [*keywords, *sorted(OURS)]
    for name in positional:
        expected = theirs[name].default
        if isinstance(expected, (str, tuple)):
            expected = SAME.get(expected, expected)
        assert ours[name].default == expected, name
