"""Functions of `firefly_fft.torch` beside their definitions in float64, for the tests and for a program without pytest.

    python tests/torch_cases.py [--library libfirefly_interop.so] [--device cpu]

runs every check on a device; with `--library` on the C library alone, without the extension. It needs SciPy.
"""

from __future__ import annotations

import argparse
import functools
import os
import sys
import traceback
import types
from dataclasses import dataclass
from typing import Any, Callable, Sequence

import definitions
import torch
from torch import Tensor


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


@dataclass(frozen=True)
class Case:
    """A function of ours, its definition, and the tensors that both take."""

    name: str
    ours: Callable[..., Any]
    definition: Callable[..., Any]
    shapes: Sequence[Sequence[int]]
    # Of the error beside the largest value, in float32.
    tolerance: float = 3e-6
    is_complex: Sequence[int] = ()

    def tensors(self, device: str, dtype: torch.dtype, seed: int = 0) -> list[Tensor]:
        """Noise of the shapes, which is the same on every device."""
        generator = torch.Generator().manual_seed(seed)
        found = []
        for position, shape in enumerate(self.shapes):
            values = torch.randn(*shape, generator=generator, dtype=torch.float64)
            if position in self.is_complex:
                values = torch.complex(values, torch.randn(*shape, generator=generator, dtype=torch.float64))
                found.append(values.to(device, torch.complex64 if dtype == torch.float32 else torch.complex128))
            else:
                found.append(values.to(device, dtype))
        return found


def results(output: Any) -> list[Tensor]:
    """The outputs that are floats."""
    outputs = output if isinstance(output, tuple) else (output,)
    return [value for value in outputs if value.is_floating_point() or value.is_complex()]


def error(found: Tensor, expected: Tensor) -> float:
    """The largest error beside the largest value."""
    if found.shape != expected.shape:
        raise AssertionError(f"{tuple(found.shape)} is not the shape {tuple(expected.shape)}")
    found = found.detach().to(torch.complex128 if found.is_complex() else torch.float64)
    return float((found - expected.detach()).abs().max() / expected.detach().abs().max().clamp_min(1e-30))


def one_sided(power: Tensor, n: int) -> Tensor:
    factors = torch.full((n // 2 + 1,), 2.0, dtype=power.dtype, device=power.device)
    factors[0] = 1
    if n % 2 == 0:
        factors[-1] = 1
    return power * factors


def welch_definition(
    x: Tensor, window: Tensor, segments: int, hop: int, fs: float = 0, detrend: bool = False
) -> Tensor:
    n = window.shape[0]
    frames = x.unfold(-1, n, hop)[..., :segments, :]
    if detrend:
        frames = frames - frames.mean(-1, keepdim=True)
    power = one_sided(torch.fft.rfft(frames * window).abs().square().mean(-2), n)
    return power / (window.square().sum() * fs) if fs else power


def mel_filters(fs: float, n_fft: int, bands: int, like: Tensor) -> Tensor:
    """Filters by Slaney's formula and norm."""
    return torch.from_numpy(definitions.mel_filters(fs, n_fft, bands)[0].values).to(like.device, like.dtype)


def mel_definition(x: Tensor, window: Tensor, fs: float, hop: int, bands: int, log: bool) -> Tensor:
    n = window.shape[0]
    padded = torch.nn.functional.pad(x, (n // 2, n // 2))
    power = torch.fft.rfft(padded.unfold(-1, n, hop) * window).abs().square()
    mels = mel_filters(fs, n, bands, power) @ power.transpose(-1, -2)
    return 10 * torch.log10(mels.clamp_min(1e-10)) if log else mels


def spectral_conv_definition(x: Tensor, weights: Tensor) -> Tensor:
    dims = tuple(range(2, x.dim()))
    spectrum = torch.fft.rfftn(x, dim=dims)
    places = []
    for dim in dims:
        modes = weights.shape[dim]
        high = 0 if dim == dims[-1] else modes // 2
        points = x.shape[dim]
        places.append(torch.cat([torch.arange(modes - high), torch.arange(points - high, points)]).to(x.device))
    grid = torch.meshgrid(*places, indexing="ij")
    kept = spectrum[(slice(None), slice(None), *grid)]
    product = torch.einsum("bi...,io...->bo...", kept, weights)
    whole = torch.zeros(x.shape[0], weights.shape[1], *spectrum.shape[2:], dtype=spectrum.dtype, device=x.device)
    whole[(slice(None), slice(None), *grid)] = product
    # One dimension at a time: cuFFT's inverse of several takes the first column to be Hermitian, which it is not.
    for dim in dims[:-1]:
        whole = torch.fft.ifft(whole, dim=dim)
    return torch.fft.irfft(whole, x.shape[-1])


def irfftn_definition(x: Tensor, s: Sequence[int]) -> Tensor:
    """One dimension at a time, as in the convolution above."""
    for dim, points in zip(range(-len(s), -1), s):
        x = torch.fft.ifft(x, points, dim)
    return torch.fft.irfft(x, s[-1])


def convolution_definition(x: Tensor, kernel: Tensor) -> Tensor:
    """Sum of the values of one, times what is shifted of the other."""
    n, k = x.shape[-1], kernel.shape[-1]
    pad = torch.nn.functional.pad
    return sum((x[..., i : i + 1] * pad(kernel, (i, n - 1 - i)) for i in range(n)), x.new_zeros(n + k - 1))


def windows(x: Tensor, n: int) -> Tensor:
    return torch.ones(n, dtype=x.real.dtype, device=x.device)


def long_conv_definition(x: Tensor, kernel: Tensor, gate: Tensor | None = None) -> Tensor:
    n, points = x.shape[-1], x.shape[-1] + kernel.shape[-1]
    product = torch.fft.rfft(x, points) * torch.fft.rfft(kernel, points)
    convolved = torch.fft.irfft(product, points)[..., :n]
    return convolved if gate is None else convolved * gate


def butterfly_definition(
    re: Tensor, im: Tensor, twiddles: Tensor, gates: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    n, stages = re.shape[-1], twiddles.shape[0]
    order = [int(format(i, f"0{stages}b")[::-1], 2) for i in range(n)]
    values = torch.complex(re, im)[..., order]
    for stage in range(stages):
        half = 1 << stage
        pairs = values.reshape(*values.shape[:-1], n // (2 * half), 2, half)
        a, b = pairs[..., 0, :], pairs[..., 1, :]
        w = torch.view_as_complex(twiddles[stage].contiguous()).reshape(n // (2 * half), half)
        joined = torch.stack([a + w * b, a - w * b], -2)
        if gates is not None:
            g = gates[stage].reshape(n // (2 * half), 1, half)
            joined = g * joined + (1 - g) * pairs
        values = joined.reshape(*values.shape)
    return values.real, values.imag


def strongest(power: Tensor, k: int) -> Tensor:
    return power.topk(k).values


def cases() -> list[Case]:
    """Every function. Imported here, so that a library may stand for the extension."""
    import firefly_fft.torch as ff

    hann = functools.partial(torch.hann_window, dtype=torch.float64)

    def windowed(x: Tensor, n: int) -> Tensor:
        return hann(n).to(x.device, x.dtype)

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
            lambda x: welch_definition(x, windowed(x, 60), 5, 20, 50.0, True),
            [[2, 3, 150]],
        ),
        Case(
            "welch_peaks",
            lambda x, w: ff.welch_peaks(x, 64, 5, window=w),
            lambda x, w: strongest(welch_definition(x, w, 3, 32), 5),
            [[40, 128], [64]],
        ),
        Case(
            "welch_peaks int32",
            lambda x: ff.welch_peaks(x, 256, 16, segments=2, index_dtype=torch.int32),
            lambda x: strongest(welch_definition(x, windowed(x, 256), 2, 128), 16),
            [[33, 384]],
        ),
        Case(
            "power_spectrum",
            lambda x: ff.power_spectrum(x),
            lambda x: one_sided(torch.fft.rfft(x).abs().square(), 90),
            [[7, 90]],
        ),
        Case("top_k", lambda x: ff.top_k(x, 4), lambda x: strongest(x, 4), [[6, 100]]),
        Case(
            "local_maxima",
            lambda x: ff.local_maxima(x.square(), 3)[1],
            lambda x: local_maxima_definition(x.square(), 3),
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
        Case("rfft", ff.rfft, torch.fft.rfft, [[4, 3, 45]]),
        Case(
            "rfft along 1",
            lambda x: ff.rfft(x, 20, 1, "ortho"),
            lambda x: torch.fft.rfft(x, 20, 1, "ortho"),
            [[4, 18, 5]],
        ),
        Case("irfft", lambda x: ff.irfft(x, 45), lambda x: torch.fft.irfft(x, 45), [[4, 23]], is_complex=[0]),
        Case("fft", ff.fft, torch.fft.fft, [[4, 50]], is_complex=[0]),
        Case(
            "fft cut",
            lambda x: ff.fft(x, 40, norm="forward"),
            lambda x: torch.fft.fft(x, 40, norm="forward"),
            [[4, 50]],
        ),
        Case("ifft", lambda x: ff.ifft(x, 64), lambda x: torch.fft.ifft(x, 64), [[4, 50]], is_complex=[0]),
        Case(
            "fft along 1", lambda x: ff.fft(x, dim=1), lambda x: torch.fft.fft(x, dim=1), [[4, 18, 5]], is_complex=[0]
        ),
        Case("fft2", ff.fft2, torch.fft.fft2, [[3, 16, 20]], is_complex=[0]),
        Case(
            "ifft2 cut",
            lambda x: ff.ifft2(x, (9, 24), norm="ortho"),
            lambda x: torch.fft.ifft2(x, (9, 24), norm="ortho"),
            [[3, 16, 20]],
            is_complex=[0],
        ),
        Case("fftn", lambda x: ff.fftn(x, dim=(0, 2)), lambda x: torch.fft.fftn(x, dim=(0, 2)), [[6, 3, 10]]),
        Case("ifftn", ff.ifftn, torch.fft.ifftn, [[6, 5, 8]], is_complex=[0]),
        Case("rfft2", ff.rfft2, torch.fft.rfft2, [[3, 16, 20]]),
        Case(
            "rfftn",
            lambda x: ff.rfftn(x, (12, 4, 9), norm="forward"),
            lambda x: torch.fft.rfftn(x, (12, 4, 9), norm="forward"),
            [[2, 10, 6, 8]],
        ),
        Case("irfft2", ff.irfft2, lambda x: irfftn_definition(x, (16, 20)), [[3, 16, 11]], is_complex=[0]),
        Case(
            "irfftn",
            lambda x: ff.irfftn(x, (6, 5, 9)),
            lambda x: irfftn_definition(x, (6, 5, 9)),
            [[2, 6, 5, 5]],
            is_complex=[0],
        ),
        Case(
            "stft",
            lambda x, w: ff.stft(x, 40, 12, 30, w),
            lambda x, w: torch.stft(x, 40, 12, 30, w, return_complex=True),
            [[3, 200], [30]],
        ),
        Case(
            "stft two-sided",
            lambda x, w: ff.stft(x, 32, window=w, center=False, normalized=True),
            lambda x, w: torch.stft(x, 32, window=w, center=False, normalized=True, return_complex=True),
            [[3, 128], [32]],
            is_complex=[0],
        ),
        Case(
            "istft",
            lambda x, w: ff.istft(x, 40, 12, 30, w.abs() + 0.5, length=190),
            lambda x, w: torch.istft(x, 40, 12, 30, w.abs() + 0.5, length=190),
            [[3, 21, 17], [30]],
            is_complex=[0],
        ),
        Case(
            "istft complex",
            lambda x: ff.istft(x, 24, 6, center=False, normalized=True, return_complex=True),
            lambda x: torch.istft(
                x, 24, 6, window=windows(x, 24), center=False, normalized=True, onesided=False, return_complex=True
            ),
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


def local_maxima_definition(power: Tensor, k: int) -> Tensor:
    inner = power[:, 1:-1]
    is_maximum = (inner > power[:, :-2]) & (inner > power[:, 2:])
    return torch.where(is_maximum, inner, -torch.inf).topk(k).values


def leaves(tensors: Sequence[Tensor]) -> list[Tensor]:
    return [tensor.detach().clone().requires_grad_() for tensor in tensors]


def doubled(tensors: Sequence[Tensor]) -> list[Tensor]:
    return [tensor.to(torch.complex128 if tensor.is_complex() else torch.float64) for tensor in tensors]


def gradients(function: Callable[..., Any], inputs: Sequence[Tensor], seed: int = 9) -> list[Tensor]:
    """Gradients of the inputs, of a sum of outputs with weights."""
    outputs = results(function(*inputs))
    generator = torch.Generator().manual_seed(seed)
    weights = []
    for output in outputs:
        weight = torch.randn(*output.shape, generator=generator, dtype=torch.float64)
        if output.is_complex():
            weight = torch.complex(weight, torch.randn(*output.shape, generator=generator, dtype=torch.float64))
        weights.append(weight.to(output.device, output.dtype))
    return list(torch.autograd.grad(outputs, list(inputs), weights))


def check_values(case: Case, device: str) -> None:
    """Values and gradients of float32 beside the definition in float64."""
    inputs = leaves(case.tensors(device, torch.float32))
    wide = leaves(doubled(inputs))
    for found, expected in zip(results(case.ours(*inputs)), results(case.definition(*wide))):
        assert error(found, expected) < case.tolerance, (case.name, error(found, expected))
    for position, (found, expected) in enumerate(zip(gradients(case.ours, inputs), gradients(case.definition, wide))):
        assert error(found, expected) < 4 * case.tolerance, (case.name, "gradient", position, error(found, expected))
    with torch.no_grad():
        plain = results(case.ours(*inputs))
    # Calls that autograd follows give the same bits.
    assert all(torch.equal(a, b) for a, b in zip(plain, results(case.ours(*inputs)))), case.name


def check_strides(case: Case, device: str) -> None:
    """Inputs with gaps, in other orders, and that start anywhere, give the values of contiguous ones."""
    inputs = case.tensors(device, torch.float32)
    expected = results(case.ours(*inputs))

    def gaps(tensor: Tensor) -> Tensor:
        wide = torch.full((*tensor.shape[:-1], tensor.shape[-1] + 3), torch.nan, dtype=tensor.dtype, device=device)
        wide[..., 1:-2] = tensor
        return wide[..., 1:-2]

    def turned(tensor: Tensor) -> Tensor:
        return tensor.movedim(-1, 0).contiguous().movedim(0, -1)

    for laid in (gaps, turned):
        for found, want in zip(results(case.ours(*map(laid, inputs))), expected):
            assert error(found, doubled([want])[0]) < case.tolerance, (case.name, laid.__name__)


def check_compiled(case: Case, device: str, backend: str) -> None:
    """What is compiled in one graph gives the values and gradients of eager calls, also with other rows."""
    torch._dynamo.reset()
    compiled = torch.compile(case.ours, fullgraph=True, backend=backend)
    inputs = leaves(case.tensors(device, torch.float32))
    for found, want in zip(results(compiled(*inputs)), results(case.ours(*inputs))):
        assert error(found, doubled([want])[0]) < case.tolerance, (case.name, "compiled")
    for found, want in zip(gradients(compiled, inputs), gradients(case.ours, inputs)):
        assert error(found, doubled([want])[0]) < 4 * case.tolerance, (case.name, "gradient of compiled")


def check_graph(case: Case, device: str) -> None:
    """A CUDA graph of values and gradients gives those of eager calls on other inputs."""
    inputs = leaves(case.tensors(device, torch.float32))
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        case.ours(*inputs)
        weights = [torch.ones_like(output) for output in results(case.ours(*inputs))]
        torch.autograd.grad(results(case.ours(*inputs)), inputs, weights)
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        outputs = results(case.ours(*inputs))
        found = torch.autograd.grad(outputs, inputs, weights)
    others = leaves(case.tensors(device, torch.float32, seed=5))
    with torch.no_grad():
        for tensor, other in zip(inputs, others):
            tensor.copy_(other)
    graph.replay()
    torch.cuda.synchronize()
    expected = results(case.ours(*others))
    assert all(torch.equal(a, b) for a, b in zip(outputs, expected)), case.name
    assert all(torch.equal(a, b) for a, b in zip(found, torch.autograd.grad(expected, others, weights))), case.name


def check_stream(case: Case, device: str) -> None:
    """A call on a side stream waits for what is queued there, and the host does not."""
    inputs = case.tensors(device, torch.float32)
    expected = results(case.ours(*inputs))
    side, busy = torch.cuda.Stream(), torch.randn(4096, 4096, device=device)
    torch.cuda.synchronize()
    with torch.cuda.stream(side):
        late = [torch.zeros_like(tensor) for tensor in inputs]
        for _ in range(8):
            busy = busy @ busy / 64
        for tensor, value in zip(late, inputs):
            tensor.copy_(value)
        found = results(case.ours(*late))
        is_busy = not side.query()
    side.synchronize()
    assert is_busy, f"{case.name}: the call has waited for the stream"
    assert all(torch.equal(a, b) for a, b in zip(found, expected)), case.name


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--library")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    arguments = parser.parse_args()
    if arguments.library:
        use_library(arguments.library)
    every = cases()
    checks: list[tuple[str, Callable[..., None], list[Case]]] = [
        ("values and gradients", check_values, every),
        ("strides", check_strides, every),
        ("compiled in one graph", functools.partial(check_compiled, backend="aot_eager"), every),
    ]
    if arguments.device == "cuda":
        few = [case for case in every if case.name in ("log_mel", "welch_peaks", "spectral_conv 2")]
        checks += [
            ("CUDA graphs", check_graph, every),
            ("side streams", check_stream, every),
            ("inductor", functools.partial(check_compiled, backend="inductor"), few),
        ]
    failed = 0
    for name, check, of_cases in checks:
        for case in of_cases:
            try:
                check(case, arguments.device)
            except Exception as problem:
                failed += 1
                text = traceback.format_exc() if not isinstance(problem, AssertionError) else ""
                print(f"FAILED {name}: {case.name}: {str(problem)[:300]} {text[-1500:]}", flush=True)
        print(f"{name}: {len(of_cases)} cases", flush=True)
    print("all passed" if failed == 0 else f"{failed} FAILED")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
