"""Functions of `firefly_fft.jax` beside their definitions in float64, for the tests and for a program without pytest.

    python tests/jax_cases.py [--library libfirefly_interop.so] [--device cpu]

runs every check on a device and prints a table of errors and times; with `--library` on the C library alone, without
the extension. Definitions are computed on the CPU by JAX's own functions, and their gradients are JAX's.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
import traceback
import types
from dataclasses import dataclass
from typing import Any, Callable, Iterator, List, Sequence, Tuple

import jax
import jax.numpy as jnp
import numpy as np
from definitions import mel_filters


def use_library(path: str) -> None:
    """Stands for the package's extension by a shared library with the same C functions."""
    package = types.ModuleType("firefly_fft")
    package.__path__ = [os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "firefly_fft")]
    native = types.ModuleType("firefly_fft._native")
    native.__file__ = os.path.abspath(path)
    native.BUILT_FOR_CUDA = True  # type: ignore[attr-defined]
    package._native = native  # type: ignore[attr-defined]
    sys.modules["firefly_fft"] = package
    sys.modules["firefly_fft._native"] = native


def wide() -> Any:
    """Context in which JAX has float64."""
    if hasattr(jax, "enable_x64"):
        return jax.enable_x64(True)
    from jax.experimental import enable_x64

    return enable_x64()


@dataclass(frozen=True)
class Case:
    """A function of ours, its definition by JAX's own functions, and the shapes of the arrays that both take."""

    name: str
    ours: Callable[..., Any]
    definition: Callable[..., Any]
    shapes: Sequence[Sequence[int]]
    # Of the error beside the largest value, in float32.
    tolerance: float = 3e-6
    is_complex: Sequence[int] = ()

    def arrays(self, dtype: Any = np.float32, seed: int = 0) -> List[Any]:
        """Noise of the shapes, on the host."""
        generator = np.random.default_rng(seed)
        found = []
        for position, shape in enumerate(self.shapes):
            values = generator.normal(size=shape)
            if position in self.is_complex:
                values = values + 1j * generator.normal(size=shape)
                found.append(values.astype(np.complex64 if dtype == np.float32 else np.complex128))
            else:
                found.append(values.astype(dtype))
        return found


def results(found: Any) -> List[Any]:
    """The outputs that are floats."""
    outputs = found if isinstance(found, tuple) else (found,)
    return [value for value in outputs if jnp.issubdtype(value.dtype, jnp.inexact)]


def error(found: Any, expected: Any) -> float:
    """The largest error beside the largest value."""
    found, expected = np.asarray(found), np.asarray(expected)
    assert found.shape == expected.shape, f"the shape is {found.shape}, and should be {expected.shape}"
    assert np.iscomplexobj(found) == np.iscomplexobj(expected), f"the type is {found.dtype}"
    return float(np.abs(found.astype(expected.dtype) - expected).max() / max(1e-30, np.abs(expected).max()))


def one_sided(power: Any, n: int) -> Any:
    return power * np.array([1.0 if k == 0 or 2 * k == n else 2.0 for k in range(n // 2 + 1)])


def hann(n: int) -> Any:
    return 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(n) / n)


def framed(x: Any, n: int, hop: int) -> Any:
    starts = np.arange(0, x.shape[-1] - n + 1, hop)
    return x[..., starts[:, None] + np.arange(n)]


def welch_definition(x: Any, window: Any, segments: int, hop: int, fs: float = 0, detrend: bool = False) -> Any:
    n = window.shape[0]
    frames = framed(x, n, hop)[..., :segments, :]
    if detrend:
        frames = frames - frames.mean(-1, keepdims=True)
    power = one_sided((jnp.abs(jnp.fft.rfft(frames * window)) ** 2).mean(-2), n)
    return power / ((window**2).sum() * fs) if fs else power


def mel_definition(x: Any, window: Any, fs: float, hop: int, bands: int, log: bool) -> Any:
    n = window.shape[0]
    padded = jnp.pad(x, [(0, 0)] * (x.ndim - 1) + [(n // 2, n // 2)])
    power = jnp.abs(jnp.fft.rfft(framed(padded, n, hop) * window)) ** 2
    mels = mel_filters(fs, n, bands)[0].values @ jnp.swapaxes(power, -1, -2)
    return 10 * jnp.log10(jnp.maximum(mels, 1e-10)) if log else mels


def stft_definition(x: Any, n_fft: int, hop: int, window: Any, center: bool, onesided: bool, factor: float) -> Any:
    left = (n_fft - len(window)) // 2
    taper = jnp.pad(window, (left, n_fft - len(window) - left))
    if center:
        x = jnp.pad(x, ((0, 0), (n_fft // 2, n_fft // 2)), mode="reflect")
    transform = jnp.fft.rfft if onesided else jnp.fft.fft
    return factor * jnp.swapaxes(transform(framed(x, n_fft, hop) * taper), -1, -2)


def istft_definition(x: Any, n_fft: int, hop: int, window: Any, start: int, length: int, onesided: bool) -> Any:
    left = (n_fft - len(window)) // 2
    taper = jnp.pad(window, (left, n_fft - len(window) - left))
    spectra = jnp.swapaxes(x, -1, -2)
    frames = (jnp.fft.irfft(spectra, n_fft) if onesided else jnp.fft.ifft(spectra)) * taper
    number = x.shape[-1]
    signal, weight = jnp.zeros((x.shape[0], n_fft + hop * (number - 1)), frames.dtype), 0.0
    for frame in range(number):
        place = slice(frame * hop, frame * hop + n_fft)
        signal = signal.at[:, place].add(frames[:, frame])
        weight = jnp.zeros(signal.shape[1]).at[place].add(taper**2) + weight
    return signal[:, start : start + length] / weight[start : start + length]


def convolution_definition(x: Any, kernel: Any) -> Any:
    """Sum of the values of one, times what is shifted of the other."""
    n, found = x.shape[-1], 0.0
    for i in range(n):
        found = found + x[..., i : i + 1] * jnp.pad(kernel, [(0, 0)] * (kernel.ndim - 1) + [(i, n - 1 - i)])
    return found


def spectral_conv_definition(x: Any, weights: Any) -> Any:
    dims = tuple(range(2, x.ndim))
    spectrum = jnp.fft.rfftn(x, axes=dims)
    places = []
    for dim in dims:
        modes, points = weights.shape[dim], x.shape[dim]
        high = 0 if dim == dims[-1] else modes // 2
        places.append(np.concatenate([np.arange(modes - high), np.arange(points - high, points)]))
    grid = (slice(None), slice(None), *np.ix_(*places))
    product = jnp.einsum("bi...,io...->bo...", spectrum[grid], weights)
    whole = jnp.zeros((x.shape[0], weights.shape[1], *spectrum.shape[2:]), spectrum.dtype).at[grid].set(product)
    for dim in dims[:-1]:
        whole = jnp.fft.ifft(whole, axis=dim)
    return jnp.fft.irfft(whole, x.shape[-1])


def long_conv_definition(x: Any, kernel: Any, gate: Any = None) -> Any:
    n, points = x.shape[-1], x.shape[-1] + kernel.shape[-1]
    convolved = jnp.fft.irfft(jnp.fft.rfft(x, points) * jnp.fft.rfft(kernel, points), points)[..., :n]
    return convolved if gate is None else convolved * gate


def butterfly_definition(re: Any, im: Any, twiddles: Any, gates: Any = None) -> Any:
    n, stages = re.shape[-1], twiddles.shape[0]
    order = np.array([int(format(i, f"0{stages}b")[::-1], 2) for i in range(n)])
    values = (re + 1j * im)[..., order]
    for stage in range(stages):
        half = 1 << stage
        pairs = values.reshape(*values.shape[:-1], n // (2 * half), 2, half)
        a, b = pairs[..., 0, :], pairs[..., 1, :]
        w = (twiddles[stage, :, 0] + 1j * twiddles[stage, :, 1]).reshape(n // (2 * half), half)
        joined = jnp.stack([a + w * b, a - w * b], -2)
        if gates is not None:
            g = gates[stage].reshape(n // (2 * half), 1, half)
            joined = g * joined + (1 - g) * pairs
        values = joined.reshape(values.shape)
    return values.real, values.imag


def strongest(power: Any, k: int) -> Any:
    return jax.lax.top_k(power, k)[0]


def local_maxima_definition(power: Any, k: int) -> Any:
    inner = power[..., 1:-1]
    is_maximum = (inner > power[..., :-2]) & (inner > power[..., 2:])
    return strongest(jnp.where(is_maximum, inner, -jnp.inf), k)


def cases() -> List[Case]:
    """Every function. Imported here, so that a library may stand for the extension."""
    import firefly_fft.jax as ff

    fft = jnp.fft
    return [
        Case(
            "welch_psd",
            lambda x, w: ff.welch_psd(x, 64, window=w, segments=3),
            lambda x, w: welch_definition(x, w, 3, 32),
            [[5, 150], [64]],
        ),
        Case(
            "welch_psd density",
            lambda x: ff.welch_psd(x, 60, hop=20, scaling="density", fs=50.0, detrend=True),
            lambda x: welch_definition(x, hann(60), 5, 20, 50.0, True),
            [[2, 3, 150]],
        ),
        Case(
            "welch_peaks",
            lambda x, w: ff.welch_peaks(x, 64, 5, window=w),
            lambda x, w: strongest(welch_definition(x, w, 3, 32), 5),
            [[40, 128], [64]],
        ),
        Case(
            "power_spectrum",
            ff.power_spectrum,
            lambda x: one_sided(jnp.abs(fft.rfft(x)) ** 2, 90),
            [[7, 90]],
        ),
        Case("top_k", lambda x: ff.top_k(x, 4), lambda x: strongest(x, 4), [[6, 100]]),
        Case(
            "local_maxima",
            lambda x: ff.local_maxima(x**2, 3)[1],
            lambda x: local_maxima_definition(x**2, 3),
            [[6, 100]],
        ),
        Case(
            "mel",
            lambda x, w: ff.mel(x, 16000, 20, 400, 160, window=w),
            lambda x, w: mel_definition(x, w, 16000, 160, 20, False),
            [[2, 2000], [400]],
        ),
        Case(
            "log_mel",
            lambda x, w: ff.log_mel(x, 16000, 20, 400, 160, window=w),
            lambda x, w: mel_definition(x, w, 16000, 160, 20, True),
            [[2, 2000], [400]],
            2e-5,
        ),
        Case("rfft", ff.rfft, fft.rfft, [[4, 3, 45]]),
        Case(
            "rfft along 1",
            lambda x: ff.rfft(x, 20, 1, "ortho"),
            lambda x: fft.rfft(x, 20, 1, "ortho"),
            [[4, 18, 5]],
        ),
        Case("irfft", lambda x: ff.irfft(x, 45), lambda x: fft.irfft(x, 45), [[4, 23]], is_complex=[0]),
        Case("fft", ff.fft, fft.fft, [[4, 50]], is_complex=[0]),
        Case("fft cut", lambda x: ff.fft(x, 40, norm="forward"), lambda x: fft.fft(x, 40, norm="forward"), [[4, 50]]),
        Case("ifft", lambda x: ff.ifft(x, 64), lambda x: fft.ifft(x, 64), [[4, 50]], is_complex=[0]),
        Case("fft along 1", lambda x: ff.fft(x, dim=1), lambda x: fft.fft(x, axis=1), [[4, 18, 5]], is_complex=[0]),
        Case("fft2", ff.fft2, fft.fft2, [[3, 16, 20]], is_complex=[0]),
        Case(
            "ifft2 cut",
            lambda x: ff.ifft2(x, (9, 24), norm="ortho"),
            lambda x: fft.ifft2(x, (9, 24), norm="ortho"),
            [[3, 16, 20]],
            is_complex=[0],
        ),
        Case("fftn", lambda x: ff.fftn(x, dim=[0, 2]), lambda x: fft.fftn(x, axes=(0, 2)), [[6, 3, 10]]),
        Case("ifftn", ff.ifftn, fft.ifftn, [[6, 5, 8]], is_complex=[0]),
        Case("rfft2", ff.rfft2, fft.rfft2, [[3, 16, 20]]),
        Case(
            "rfftn",
            lambda x: ff.rfftn(x, (12, 4, 9), norm="forward"),
            lambda x: fft.rfftn(x, (12, 4, 9), (-3, -2, -1), norm="forward"),
            [[2, 10, 6, 8]],
        ),
        Case("irfft2", ff.irfft2, lambda x: fft.irfft(fft.ifft(x, axis=-2)), [[3, 16, 11]], is_complex=[0]),
        Case(
            "irfftn",
            lambda x: ff.irfftn(x, (6, 5, 9)),
            lambda x: fft.irfft(fft.ifft(fft.ifft(x, axis=-3), axis=-2), 9),
            [[2, 6, 5, 5]],
            is_complex=[0],
        ),
        Case(
            "stft",
            lambda x, w: ff.stft(x, 40, 12, 30, w),
            lambda x, w: stft_definition(x, 40, 12, w, True, True, 1.0),
            [[3, 200], [30]],
        ),
        Case(
            "stft two-sided",
            lambda x, w: ff.stft(x, 32, window=w, center=False, normalized=True),
            lambda x, w: stft_definition(x, 32, 8, w, False, False, 32**-0.5),
            [[3, 128], [32]],
            is_complex=[0],
        ),
        Case(
            "istft",
            lambda x, w: ff.istft(x, 40, 12, 30, jnp.abs(w) + 0.5, length=190),
            lambda x, w: istft_definition(x, 40, 12, jnp.abs(w) + 0.5, 20, 190, True),
            [[3, 21, 17], [30]],
            is_complex=[0],
        ),
        Case(
            "istft complex",
            lambda x: ff.istft(x, 24, 6, center=False, normalized=True, return_complex=True),
            lambda x: istft_definition(x * 24**0.5, 24, 6, np.ones(24), 0, 120, False),
            [[3, 24, 17]],
            is_complex=[0],
        ),
        Case("fft_convolve", ff.fft_convolve, convolution_definition, [[3, 1, 50], [4, 13]]),
        Case(
            "fft_convolve same",
            lambda x, y: ff.fft_convolve(x, y, "same"),
            lambda x, y: convolution_definition(x, y)[..., 6:56],
            [[3, 50], [3, 13]],
            is_complex=[1],
        ),
        Case("spectral_conv 1", ff.spectral_conv, spectral_conv_definition, [[3, 2, 40], [2, 4, 9]], is_complex=[1]),
        Case(
            "spectral_conv 2",
            ff.spectral_conv,
            spectral_conv_definition,
            [[3, 2, 16, 20], [2, 4, 7, 6]],
            is_complex=[1],
        ),
        Case(
            "spectral_conv 3",
            ff.spectral_conv,
            spectral_conv_definition,
            [[2, 2, 8, 10, 12], [2, 3, 4, 5, 4]],
            is_complex=[1],
        ),
        Case("long_conv", ff.long_conv, long_conv_definition, [[3, 4, 50], [4, 50]]),
        Case("long_conv gate", ff.long_conv, long_conv_definition, [[3, 4, 50], [4, 70], [3, 4, 50]]),
        Case("butterfly", ff.butterfly, butterfly_definition, [[3, 2, 16], [3, 2, 16], [4, 8, 2]]),
        Case("butterfly gates", ff.butterfly, butterfly_definition, [[5, 16], [5, 16], [4, 8, 2], [4, 8]]),
    ]


def weighted(function: Callable[..., Any], seed: int = 9) -> Callable[..., Any]:
    """The sum of a function's outputs with weights, of which imaginary parts count, too."""

    def total(*arrays: Any) -> Any:
        generator = np.random.default_rng(seed)
        found = 0.0
        for output in results(function(*arrays)):
            for part in (output.real, output.imag) if jnp.iscomplexobj(output) else (output,):
                found = found + (part * generator.normal(size=part.shape).astype(part.dtype)).sum()
        return found

    return total


def gradients(function: Callable[..., Any], arrays: Sequence[Any]) -> List[Any]:
    return list(jax.grad(weighted(function), tuple(range(len(arrays))))(*arrays))


def defined(case: Case, arrays: Sequence[Any]) -> Tuple[List[Any], List[Any]]:
    """Values and gradients of the definition in float64, on the host."""
    with wide(), jax.default_device(jax.devices("cpu")[0]):
        doubled = [jnp.asarray(x.astype(np.complex128 if np.iscomplexobj(x) else np.float64)) for x in arrays]
        values = [np.asarray(value) for value in results(case.definition(*doubled))]
        return values, [np.asarray(value) for value in gradients(case.definition, doubled)]


def check_values(case: Case) -> float:
    """Values and gradients of float32 beside the definition in float64."""
    arrays = case.arrays()
    values, slopes = defined(case, arrays)
    placed = [jnp.asarray(x) for x in arrays]
    errors = [error(*pair) for pair in zip(results(case.ours(*placed)), values)]
    assert max(errors) < case.tolerance, errors
    of_gradients = [error(*pair) for pair in zip(gradients(case.ours, placed), slopes)]
    assert max(of_gradients) < 4 * case.tolerance, ("gradients", of_gradients)
    return max(errors + of_gradients)


def check_wide(case: Case) -> float:
    """Values and gradients of float64 beside the definition."""
    with wide():
        arrays = case.arrays(np.float64)
        values, slopes = defined(case, arrays)
        found = results(case.ours(*map(jnp.asarray, arrays)))
        assert all(np.asarray(value).dtype in (np.float64, np.complex128) for value in found)
        of_gradients = gradients(case.ours, list(map(jnp.asarray, arrays)))
        errors = [error(*pair) for pair in zip([*found, *of_gradients], [*values, *slopes])]
    assert max(errors) < 1e-11, errors
    return max(errors)


def check_jit(case: Case) -> float:
    """Within compiled code, of arrays that come in another order and with gaps, values and gradients are the same."""
    arrays = [jnp.asarray(x) for x in case.arrays()]

    def laid(x: Any) -> Any:
        return jnp.pad(jnp.moveaxis(x, -1, 0), [(1, 2)] + [(0, 0)] * (x.ndim - 1), constant_values=jnp.nan)

    @jax.jit
    def found(*turned: Any) -> Any:
        inputs = [jnp.moveaxis(x[1:-2], 0, -1) for x in turned]
        return results(case.ours(*inputs)), gradients(case.ours, inputs)

    values, slopes = found(*map(laid, arrays))
    expected = (*results(case.ours(*arrays)), *gradients(case.ours, arrays))
    errors = [error(*pair) for pair in zip((*values, *slopes), expected)]
    assert max(errors) < case.tolerance, errors
    return max(errors)


def check_vmap(case: Case) -> float:
    """Batches of calls, and their gradients, are those of one call after the other: where all inputs differ, the first
    alone or the last alone, twice batched, and batched before or after gradients are taken."""
    batches = [case.arrays(seed=seed) for seed in range(3)]
    whole = [jnp.stack(list(map(jnp.asarray, group))) for group in zip(*batches)]
    count, errors = len(whole), []
    every = tuple(range(count))
    slope = jax.grad(weighted(case.ours), every)

    def both(*arrays: Any) -> Any:
        return (*results(case.ours(*arrays)), *slope(*arrays))

    one = jax.jit(both)
    for differ in {(True,) * count, (True,) + (False,) * (count - 1), (False,) * (count - 1) + (True,)}:
        places = [0 if differs else None for differs in differ]
        inputs = [x if differs else x[0] for x, differs in zip(whole, differ)]
        expected = [one(*(x[i] if differs else x for x, differs in zip(inputs, differ))) for i in range(3)]

        def batched(*arrays: Any, places: Any = places) -> Any:
            total = jax.grad(lambda *x: jax.vmap(weighted(case.ours), places)(*x).sum(), every)
            twice = jax.vmap(jax.vmap(case.ours, places), places)
            nested = twice(*(x if place is None else x[None] for x, place in zip(arrays, places)))
            return jax.vmap(both, places)(*arrays), total(*arrays), results(nested)

        found, slopes, nested = jax.jit(batched)(*inputs)
        errors += [error(x, np.stack(each)) for x, each in zip(found, zip(*expected))]
        for x, differs, each in zip(slopes, differ, zip(*(each[-count:] for each in expected))):
            errors.append(error(x, np.stack(each) if differs else np.sum(each, 0)))
        errors += [error(x[0], np.stack(each)) for x, each in zip(nested, zip(*expected))]
    assert max(errors) < 4 * case.tolerance, max(errors)
    return max(errors)


def check_streams(case: Case) -> float:
    """A call is queued behind what its inputs wait for, and the host does not wait for either."""
    arrays = [jnp.asarray(x) for x in case.arrays()]
    expected = results(case.ours(*arrays))
    zeros = jnp.zeros((6000, 6000), jnp.float32)

    @jax.jit
    def late(busy: Any, *inputs: Any) -> Any:
        for _ in range(12):
            busy = busy @ busy
        return results(case.ours(*(x + busy[0, 0].astype(x.dtype) for x in inputs)))

    jax.block_until_ready(late(zeros, *arrays))
    begin = time.perf_counter()
    found = late(zeros, *arrays)
    returned = time.perf_counter() - begin
    jax.block_until_ready(found)
    total = time.perf_counter() - begin
    assert returned < 0.5 * total, f"the call returned after {1e3 * returned:.2f} of {1e3 * total:.2f} ms"
    return max(error(*pair) for pair in zip(found, expected))


def timings() -> Iterator[Tuple[str, Callable[..., Any], Callable[..., Any], List[Any]]]:
    """Functions of usual sizes beside those of jax.numpy."""
    import firefly_fft.jax as ff

    def noise(*shape: int) -> Any:
        return jax.random.normal(jax.random.key(0), shape, jnp.float32)

    window = jnp.asarray(hann(400), jnp.float32)
    filters = jnp.asarray(mel_filters(16000, 400, 80)[0].values, jnp.float32)

    def log_mel(x: Any) -> Any:
        frames = framed(jnp.pad(x, ((0, 0), (200, 200))), 400, 160)
        power = jnp.abs(jnp.fft.rfft(frames * window)) ** 2
        mels = jnp.einsum("mk,bfk->bmf", filters, power, precision="highest")
        return 10 * jnp.log10(jnp.maximum(mels, 1e-10))

    taper = jnp.asarray(hann(256), jnp.float32)
    weights = jax.lax.complex(noise(32, 32, 32, 17), noise(32, 32, 32, 17)) / 32
    kernel = noise(256, 4096) / 64
    return iter(
        [
            ("rfft 4096 x 4096", ff.rfft, jnp.fft.rfft, [noise(4096, 4096)]),
            ("fft2 64 x 512 x 512", ff.fft2, jnp.fft.fft2, [noise(64, 512, 512)]),
            (
                "welch_peaks 65,536 x 384",
                lambda x: ff.welch_peaks(x, 256, 16).power,
                lambda x: strongest(welch_definition(x, taper, 2, 128), 16),
                [noise(65536, 384)],
            ),
            ("log_mel 64 x 160,000", lambda x: ff.log_mel(x, 16000, 80, 400, 160), log_mel, [noise(64, 160000)]),
            (
                "spectral_conv 16 x 32 x 256 x 256",
                ff.spectral_conv,
                spectral_conv_definition,
                [noise(16, 32, 256, 256), weights],
            ),
            ("long_conv 8 x 256 x 4096", ff.long_conv, long_conv_definition, [noise(8, 256, 4096), kernel]),
        ]
    )


def time_of(function: Callable[..., Any], arrays: Sequence[Any]) -> float:
    """Milliseconds of a call among many that are in flight."""
    compiled = jax.jit(function)
    jax.block_until_ready(compiled(*arrays))
    found = []
    for _ in range(5):
        begin, calls = time.perf_counter(), 0
        while calls < 3 or time.perf_counter() - begin < 0.1:
            last = compiled(*arrays)
            calls += 1
        jax.block_until_ready(last)
        found.append((time.perf_counter() - begin) / calls * 1e3)
    return sorted(found)[2]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--library")
    parser.add_argument("--device")
    parser.add_argument("--no-times", action="store_true")
    arguments = parser.parse_args()
    if arguments.library:
        use_library(arguments.library)
    device = jax.devices(arguments.device)[0]
    print(f"JAX {jax.__version__} on {device.device_kind} ({device.platform})")
    every = cases()
    checks: List[Tuple[str, Callable[[Case], float]]] = [
        ("values and gradients", check_values),
        ("jit", check_jit),
        ("vmap", check_vmap),
    ]
    checks.append(("float64", check_wide) if device.platform == "cpu" else ("streams", check_streams))
    failed = 0
    with jax.default_device(device):
        for name, check in checks:
            worst, passed = 0.0, 0
            for case in every:
                try:
                    worst, passed = max(worst, check(case)), passed + 1
                except Exception as problem:
                    failed += 1
                    text = traceback.format_exc() if not isinstance(problem, AssertionError) else ""
                    print(f"FAILED {name}: {case.name}: {str(problem)[:300]} {text[-1500:]}", flush=True)
            print(f"{name:22} {passed:3} of {len(every)} cases, largest error {worst:.1e}", flush=True)
        for name, ours, theirs, arrays in () if arguments.no_times else timings():
            # On the CPU: on CUDA devices JAX's inverse is another one where the first bin of a spectrum is not real.
            with jax.default_device(jax.devices("cpu")[0]):
                expected = np.asarray(theirs(*map(np.asarray, arrays)))
            values = error(ours(*arrays), expected)
            assert values < 1e-4, f"{name}: {values} from its definition"
            slopes = [
                jax.grad(lambda *x, f=f: jnp.sum(jnp.abs(f(*x))), tuple(range(len(arrays)))) for f in (ours, theirs)
            ]
            times = [time_of(f, arrays) for f in (ours, theirs, *slopes)]
            print(
                f"{name:34} ours {times[0]:8.3f} ms, jax.numpy {times[1]:8.3f} ms; with gradients {times[2]:8.3f} and "
                f"{times[3]:8.3f} ms; difference {values:.1e}",
                flush=True,
            )
    print("all passed" if failed == 0 else f"{failed} FAILED")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
