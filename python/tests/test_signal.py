"""Transforms, envelopes, resampling, trends and cepstra are SciPy's, or those of their definitions."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import scipy.fft
import scipy.signal
from numpy.testing import assert_allclose, assert_array_equal

import firefly_fft as ff

TOLERANCES = {"f4": 4e-6, "f8": 1e-12, "c8": 4e-6, "c16": 1e-12}


def signal(*shape: int, dtype: str = "f8", seed: int = 0) -> Any:
    """Noise with an offset."""
    values = np.random.default_rng(seed).normal(size=(2, *shape)) + 0.3
    return (values[0] + 1j * values[1] if dtype[0] == "c" else values[0]).astype(dtype)


def assert_close(found: Any, expected: Any, dtype: str) -> None:
    """Within the error of a transform of the largest value, in the type of the input."""
    precision = np.dtype(dtype).itemsize // (2 if dtype[0] == "c" else 1)
    assert found.dtype.itemsize == precision * (2 if found.dtype.kind == "c" else 1)
    assert found.shape == expected.shape
    assert_allclose(found, expected, rtol=0, atol=TOLERANCES[dtype] * max(np.abs(expected).max(initial=0), 1e-30))


@pytest.mark.parametrize("dtype", TOLERANCES)
@pytest.mark.parametrize("norm", [None, "ortho", "forward"])
@pytest.mark.parametrize("kind", [1, 2, 3, 4])
@pytest.mark.parametrize("name", ["dct", "idct", "dst", "idst"])
def test_cosine_and_sine_transforms_are_those_of_scipy(name: str, kind: int, norm: str | None, dtype: str) -> None:
    ours = getattr(ff.fft, name)

    def theirs(
        x: Any, *arguments: Any, **options: Any
    ) -> Any:  # SciPy's leaves `orthogonalize` out for complex values.
        function = getattr(scipy.fft, name)
        real = function(x.real, *arguments, **options)
        return real + 1j * function(x.imag, *arguments, **options) if x.dtype.kind == "c" else real

    for n in [2, 3, 4, 5, 31, 64, 100, 243, 1500, 16384]:
        x = signal(3, n, dtype=dtype)
        for orthogonalize in [None, False, True]:
            options = {"norm": norm, "orthogonalize": orthogonalize}
            wide = x.astype("c16" if dtype[0] == "c" else "f8")
            assert_close(ours(x, kind, **options), theirs(wide, kind, **options), dtype)
    x = signal(2, 7, 3, dtype=dtype)
    for n in [5, 9]:
        wide = x.astype("c16" if dtype[0] == "c" else "f8")
        assert_close(ours(x, kind, n, 1, norm), theirs(wide, kind, n, 1, norm), dtype)


def test_transforms_of_one_value_are_those_of_scipy() -> None:
    for kind in [1, 2, 3, 4]:
        assert_allclose(ff.fft.dst([2.5], kind), scipy.fft.dst(np.array([2.5]), kind))
        if kind > 1:
            assert_allclose(ff.fft.dct([2.5], kind), scipy.fft.dct(np.array([2.5]), kind))


@pytest.mark.parametrize("dtype", TOLERANCES)
def test_spectra_of_arcs_and_bands_are_those_of_scipy(dtype: str) -> None:
    x = signal(2, 3, 50, dtype=dtype)
    wide = x.astype("c16")
    for m in [None, 1, 7, 50, 91]:
        assert_close(ff.czt(x, m), scipy.signal.czt(wide, m), dtype)
        assert_close(ff.zoom_fft(x, [0.1, 0.3], m), scipy.signal.zoom_fft(wide, [0.1, 0.3], m), dtype)
    spiral = {"w": 0.999 * np.exp(-0.02j), "a": 1.01 * np.exp(0.3j)}
    assert_close(ff.czt(x, 20, **spiral, axis=1), scipy.signal.czt(wide, 20, **spiral, axis=1), dtype)
    options: Any = {"fs": 48_000.0, "endpoint": True, "axis": 0}
    assert_close(ff.zoom_fft(x, 900.0, 12, **options), scipy.signal.zoom_fft(wide, 900.0, 12, **options), dtype)


def test_spectra_of_bands_are_those_of_the_definition() -> None:
    x, frequencies = signal(40), 100 + 25 * np.arange(8) / 8
    expected = np.exp(-2j * np.pi * np.outer(frequencies / 1000, np.arange(40))) @ x
    assert_allclose(ff.zoom_fft(x, [100, 125], 8, fs=1000), expected, atol=1e-11)


@pytest.mark.skipif(not hasattr(scipy.signal, "envelope"), reason="SciPy before 1.16")
@pytest.mark.parametrize("n", [64, 65])
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_envelopes_are_those_of_scipy(n: int, dtype: str) -> None:
    x = signal(3, n, dtype=dtype)
    for band in [(1, None), (5, 20), (3, n // 2), (None, None), (-4, 9), (2, 3), (None, -3), (-20, 31)]:
        for n_out in [None, 32, 33, 40, 100, 7]:
            for squared in [False, True]:
                for residual in ["lowpass", "all", None]:
                    options: Any = {"n_out": n_out, "squared": squared, "residual": residual}
                    if n % 2 == 0 and band[0] is None and n_out is not None:
                        with pytest.raises(ValueError, match="must begin above -32 with n_out"):
                            ff.envelope(x, band, **options)
                        continue
                    expected = scipy.signal.envelope(x.astype(float), band, **options)
                    found = ff.envelope(x, band, **options)
                    assert found.shape == expected.shape
                    # Each part has errors of its own size, and both those of the signal.
                    for got, want in zip(found, expected) if residual else [(found, expected)]:
                        assert_allclose(
                            got,
                            want,
                            rtol=0,
                            atol=10 * TOLERANCES[dtype] * np.abs(x).max() ** 2,
                            err_msg=f"{band} {options}",
                        )
    moved = ff.envelope(np.moveaxis(x, 1, 0), axis=0)
    assert_allclose(np.moveaxis(moved, 1, 2), ff.envelope(x), rtol=0, atol=1e-5)


def test_envelopes_are_of_any_magnitude_and_keep_what_lies_above_a_band_from_zero() -> None:
    x = signal(100)
    for scale in [1e-30, 1e30]:
        found = ff.envelope((scale * x).astype("f4"))
        assert_allclose(found / scale, ff.envelope(x), atol=1e-5)
    low, above = ff.envelope(x, (0, 10), residual="all")
    spectrum = np.fft.rfft(x)
    spectrum[:10] = 0
    assert_allclose(above, np.fft.irfft(spectrum, 100), atol=1e-12)
    assert low.shape == above.shape


@pytest.mark.parametrize("dtype", TOLERANCES)
@pytest.mark.parametrize("n", [20, 21])
def test_resampled_signals_are_those_of_scipy(n: int, dtype: str) -> None:
    x = signal(2, n, dtype=dtype)
    wide = x.astype("c16" if dtype[0] == "c" else "f8")
    names: Any = ["hann", ("kaiser", 5.0)]
    windows: Any = [None, lambda f: np.exp(-f * f), np.cos(np.fft.fftfreq(n))]
    for num in [1, 2, 7, 8, 20, 21, 33, 40, 64]:
        # SciPy's named windows are not symmetric for an odd number of samples.
        for window in windows if n % 2 and dtype[0] == "c" else windows + names:
            expected = scipy.signal.resample(wide, num, axis=1, window=window)
            assert_close(ff.resample(x, num, axis=1, window=window), expected, dtype)
    time = np.arange(2) * 0.5 + 3
    (found, times), expected = ff.resample(x, 5, time), scipy.signal.resample(wide, 5, time)
    assert_close(found, expected[0], dtype)
    assert_allclose(times, expected[1])
    if dtype[0] != "c":
        uneven = np.linspace(0, 1, n)
        expected = scipy.signal.resample(wide, 9, axis=1, window=uneven)
        assert_close(ff.resample(x, 9, axis=1, window=uneven), expected, dtype)


@pytest.mark.parametrize("dtype", TOLERANCES)
@pytest.mark.parametrize("rates", [(1, 2), (2, 1), (3, 2), (160, 147), (147, 160), (4, 6), (7, 7), (1, 30), (30, 1)])
def test_signals_at_other_rates_are_those_of_scipy(rates: tuple[int, int], dtype: str) -> None:
    x = signal(2, 101, dtype=dtype)
    wide = x.astype("c16" if dtype[0] == "c" else "f8")
    for options in [
        {},
        {"window": "hamming"},
        {"window": np.arange(1.0, 8)},
        {"window": [0.5, 1.0]},
        {"padtype": "mean"},
        *([{"padtype": "maximum"}, {"padtype": "median"}, {"cval": 2.0}] if dtype[0] == "f" else []),
    ]:
        expected = scipy.signal.resample_poly(wide, *rates, axis=1, **options)
        assert_close(ff.resample_poly(x, *rates, axis=1, **options), expected, dtype)
    assert_close(ff.resample_poly(x.T, *rates), scipy.signal.resample_poly(wide.T, *rates), dtype)


@pytest.mark.parametrize("dtype", TOLERANCES)
def test_signals_without_a_trend_are_those_of_scipy(dtype: str) -> None:
    x = (signal(3, 50, dtype=dtype) + 3 * np.arange(50)).astype(dtype)
    wide = x.astype("c16" if dtype[0] == "c" else "f8")
    for options in [{}, {"type": "constant"}, {"bp": 20}, {"bp": [10, 30, 31]}, {"axis": 0}]:
        found, expected = ff.detrend(x, **options), scipy.signal.detrend(wide, **options)
        assert found.dtype == x.dtype
        assert_allclose(found, expected, rtol=0, atol=TOLERANCES[dtype] * 150)


@pytest.mark.parametrize(
    "estimate", ["welch", "csd", "coherence", "periodogram", "spectrogram", "stft", "psd of peaks"]
)
@pytest.mark.parametrize("kind", ["f4", "f8", "c16"])
def test_lines_are_subtracted_in_every_estimate(estimate: str, kind: str) -> None:
    x = (signal(2, 1000, dtype=kind) + 0.01 * np.arange(1000)).astype(kind)
    y = (signal(2, 1000, dtype=kind, seed=1) - 0.02 * np.arange(1000) + x).astype(kind)
    tolerance = {"rtol": 2e-3 if kind == "f4" else 1e-9, "atol": 1e-5 if kind == "f4" else 1e-11}
    if estimate == "psd of peaks":
        peaks = ff.welch_peaks(x, 3, nperseg=64, detrend="linear")
        power = scipy.signal.welch(x, nperseg=64, detrend="linear", return_onesided=kind[0] == "f")[1]
        assert_allclose(peaks.power, -np.sort(-power, axis=1)[:, :3], **tolerance)
        return
    options: Any = {"detrend": "linear"}
    if estimate != "coherence":
        options["return_onesided"] = kind[0] == "f"
    elif kind[0] == "c":
        return
    if estimate != "periodogram":
        options["nperseg"] = 64
    signals = (x, y) if estimate in ("csd", "coherence") else (x,)
    found = getattr(ff, estimate)(*signals, **options)
    expected = getattr(scipy.signal, estimate)(*signals, **options)
    for got, want in zip(found, expected):
        assert_allclose(got, want, **tolerance)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("n", [64, 65])
def test_cepstra_and_their_signals_are_those_of_the_definition(n: int, dtype: str) -> None:
    x = signal(3, 40, dtype=dtype)
    expected = np.fft.irfft(np.log(np.abs(np.fft.rfft(x.astype(float), n))), n)
    cepstrum = ff.real_cepstrum(x, n)
    assert cepstrum.dtype == x.dtype
    assert_allclose(cepstrum, expected, atol=1e-4 if dtype == "f4" else 1e-11)
    found = ff.minimum_phase(cepstrum)
    # The magnitude is that of the signal, and the energy of the first samples is the greatest of all such signals.
    assert_allclose(np.abs(np.fft.rfft(found)), np.abs(np.fft.rfft(x, n)), rtol=1e-2 if dtype == "f4" else 1e-8)
    folded = expected * np.where(np.arange(n) == 0, 1, np.where(2 * np.arange(n) < n, 2, 0))
    if n % 2 == 0:
        folded[:, n // 2] = expected[:, n // 2]
    again = np.fft.ifft(np.exp(np.fft.fft(folded))).real
    assert_allclose(found, again, atol=1e-3 if dtype == "f4" else 1e-9)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_convolutions_by_blocks_are_those_of_the_whole(dtype: str) -> None:
    x, kernels = signal(2, 3, 100, dtype=dtype), signal(6, 9, dtype=dtype)
    # One for all rows is applied directly up to 128 taps, by transforms beyond.
    for kernel in [kernels[0], kernels, kernels[:1, :1], signal(128, dtype=dtype), signal(129, dtype=dtype)]:
        convolution = ff.OverlapSave(kernel)
        assert convolution.history is None
        blocks = [convolution(block) for block in np.split(x, [1, 4, 50, 51], axis=2)]
        taps = np.broadcast_to(np.atleast_2d(kernel), (6, np.shape(kernel)[-1])).astype(float)
        expected = [np.convolve(row, tap)[:100] for row, tap in zip(x.reshape(6, 100).astype(float), taps)]
        assert_close(np.concatenate(blocks, axis=2), np.reshape(expected, (2, 3, 100)), dtype)
    with pytest.raises(ValueError, match="block has 2 rows, but the last one had 6"):
        convolution(x[0, :2])
    with pytest.raises(ValueError, match="but the kernel has 6"):
        ff.OverlapSave(kernels)(x[0])


FUNCTIONS: Any = {
    "dct": ff.fft.dct,
    "idst of type 4": lambda x: ff.fft.idst(x, 4),
    "czt": lambda x: ff.czt(x, 20),
    "zoom_fft": lambda x: ff.zoom_fft(x, 0.2, 20),
    "hilbert": ff.hilbert,
    "envelope": lambda x: ff.envelope(x, residual=None),
    "resample": lambda x: ff.resample(x, 77, axis=-1),
    "resample_poly": lambda x: ff.resample_poly(x, 3, 2, axis=-1),
    "detrend": ff.detrend,
    "real_cepstrum": ff.real_cepstrum,
    "minimum_phase": ff.minimum_phase,
}


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_rows_do_not_depend_on_their_place_or_the_threads(name: str, dtype: str) -> None:
    function, x = FUNCTIONS[name], signal(150, 5000, dtype=dtype)
    found, threads = function(x), ff.num_threads()
    assert_array_equal(function(x[::-1]), found[::-1])
    try:
        ff.set_num_threads(3 if threads == 1 else 1)
        assert_array_equal(function(x), found)
    finally:
        ff.set_num_threads(threads)
    x[3, 100] = np.nan
    assert_array_equal(np.delete(function(x), 3, axis=0), np.delete(found, 3, axis=0))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_arrays_of_any_layout_are_taken_and_those_without_rows_have_none(name: str) -> None:
    function, x = FUNCTIONS[name], signal(4, 60)
    found = function(x)
    assert_array_equal(function(np.asfortranarray(x)), found)
    assert_array_equal(function(x.astype(">f8")), found)
    assert_array_equal(function(x.reshape(2, 2, 60)), found.reshape(2, 2, -1))
    empty = function(x[:0])
    assert empty.shape == (0, *found.shape[1:])
    assert empty.dtype == found.dtype
    for wrong, message in [(np.ones((3, 0)), "has no samples"), (1.0, "is a scalar")]:
        with pytest.raises(ValueError, match=message):
            function(wrong)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda x: ff.fft.dct(x, 5), "type is 5"),
        (lambda x: ff.fft.dct(x, norm="unit"), "norm is 'unit'"),
        (lambda x: ff.fft.dct(x, n=0), "n is 0"),
        (lambda x: ff.fft.dct(x, 1, 1), "n is 1, but must be at least 2"),
        (lambda x: ff.czt(x, 0), "m is 0"),
        (lambda x: ff.czt(x, w=0), "`w` is 0"),
        (lambda x: ff.czt(x, a=np.inf), "`a` is inf"),
        (lambda x: ff.czt(x, w=1.5), "`w` is 1.5 in magnitude"),
        (lambda x: ff.zoom_fft(x, [1, 2, 3]), "fn is"),
        (lambda x: ff.zoom_fft(x, np.nan), "`band` is"),
        (lambda x: ff.zoom_fft(x, 0.2, fs=0), "fs is 0"),
        (lambda x: ff.zoom_fft(x, 0.2, 1, endpoint=True), "`m` is 1"),
        (lambda x: ff.envelope(x, residual="highpass"), "residual is 'highpass'"),
        (lambda x: ff.envelope(x, (5, 5)), "bp_in is"),
        (lambda x: ff.envelope(x, (0, 99)), "bp_in is"),
        (lambda x: ff.envelope(x, n_out=0), "n_out is 0"),
        (lambda x: ff.resample(x, 0), "num is 0"),
        (lambda x: ff.resample(x, 5, domain="freq"), "domain is 'freq'"),
        (lambda x: ff.resample(x, 5, window=np.ones(3)), "window has the shape"),
        (lambda x: ff.resample(x + 1j, 5, window=np.linspace(0, 1, 50)), "window differs"),
        (lambda x: ff.resample_poly(x, 0, 1), "up is 0"),
        (lambda x: ff.resample_poly(x, 1, 0), "down is 0"),
        (lambda x: ff.resample_poly(x, 2, 1, padtype="wrap"), "padtype is 'wrap'"),
        (lambda x: ff.resample_poly(x, 2, 1, padtype="mean", cval=1.0), "cval is 1.0"),
        (lambda x: ff.resample_poly(x, 2, 1, window=np.ones((2, 2))), "window has the shape"),
        (lambda x: ff.resample_poly(x, 2, 1, window="none"), "none"),
        (lambda x: ff.detrend(x, type="cubic"), "type is 'cubic'"),
        (lambda x: ff.detrend(x, bp=51), "bp is 51"),
        (lambda x: ff.welch(x, detrend="cubic"), "detrend is 'cubic'"),
        (lambda x: ff.real_cepstrum(x, 0), "n is 0"),
        (lambda x: ff.OverlapSave(np.ones((2, 2, 2))), "kernel has 3 dimensions"),
        (lambda x: ff.hilbert(x, device="gpu"), "gpu"),
    ],
)
def test_arguments_out_of_range_are_refused(call: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call(signal(50))


def test_complex_values_are_refused_where_they_have_no_meaning() -> None:
    for function in [ff.envelope, ff.hilbert, ff.real_cepstrum, ff.minimum_phase, ff.multitaper, ff.OverlapSave]:
        with pytest.raises(TypeError, match="complex"):
            function(signal(50, dtype="c16"))


@pytest.mark.parametrize(
    ("library", "kind", "convert"),
    [("torch", "Tensor", r"`\1\.detach\(\)\.cpu\(\)\.numpy\(\)`"), ("cupy", "ndarray", r"`cupy\.asnumpy\(\1\)`")],
)
def test_arrays_of_pytorch_and_cupy_are_refused_where_no_function_takes_them(
    library: str, kind: str, convert: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Tensor:
        def __array__(self, *_: Any, **__: Any) -> Any:
            return np.ones((33, 64))

    monkeypatch.setitem(sys.modules, library, SimpleNamespace(**{kind: Tensor}))
    x = Tensor()
    for call in [
        *(function for name, function in FUNCTIONS.items() if name != "hilbert"),
        ff.multitaper,
        ff.coherence_matrix,
        ff.griffinlim,
        lambda x: ff.spectral_centroid(S=x),
        lambda x: ff.spectral_centroid(y=x),
        lambda x: ff.transfer_function(np.ones(9), x),
        lambda x: ff.OverlapSave([1.0])(x),
    ]:
        with pytest.raises(ValueError, match=rf"^(\w+) is an array of {library}, but \w+ takes NumPy's: .*{convert}$"):
            call(x)


@pytest.mark.parametrize("magnitude", [1e-25, 1e25])
def test_squared_envelopes_of_float32_of_any_magnitude_are_right(magnitude: float) -> None:
    x = (signal(2, 64) * np.array([[1.0], [magnitude]])).astype("f4")
    found, expected = ff.envelope(x, squared=True), ff.envelope(x.astype("f8"), squared=True)
    assert_allclose(found[0], expected[0], rtol=1e-3, atol=1e-6 * magnitude**2 * (magnitude < 1))
    assert_allclose(found[1], expected[1], rtol=0, atol=1e-5 * max(magnitude, 1))
    assert ff.envelope(x[:1], squared=True).dtype == np.float32
