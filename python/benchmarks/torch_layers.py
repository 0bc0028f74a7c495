"""Layers of `firefly_fft.torch` beside PyTorch's own, eager and compiled, on a CUDA device.

    python benchmarks/torch_layers.py [--library libfirefly_interop.so] [--rounds 15]

Each layer is verified before it is timed. The time on the device is that of a CUDA graph of repeated calls, forward,
and forward with all gradients; the three ways take turns in random order. The host's time is that of calls that nothing
waits for. Medians, and the least and greatest, in microseconds.
"""

from __future__ import annotations

import argparse
import math
import os
import random
import statistics
import sys
import time
from dataclasses import dataclass
from typing import Any, Callable

import torch
from torch import Tensor

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "tests"))
import torch_cases

RATE, N_FFT, HOP, BANDS = 16000, 400, 160, 80


@dataclass(frozen=True)
class Layer:
    """A layer of ours, PyTorch's, and its definition, of the same inputs; and those of them that have gradients."""

    name: str
    ours: Callable[..., Tensor]
    theirs: Callable[..., Tensor]
    definition: Callable[..., Tensor]
    inputs: list[Tensor]
    where: list[int]
    # Share of rows that may differ from the definition, since rounding selects another bin of nearly the same power.
    ties: float = 0.0


def layers(ff: Any) -> list[Layer]:
    generator = torch.Generator("cuda").manual_seed(0)

    def noise(*shape: int) -> Tensor:
        return torch.randn(*shape, generator=generator, device="cuda")

    hann, short = (torch.hann_window(n, device="cuda") for n in (N_FFT, 256))
    filters = torch_cases.mel_filters(RATE, N_FFT, BANDS, hann)
    doubled = torch_cases.one_sided(torch.ones(129, device="cuda"), 256)

    def log_mel(x: Tensor, window: Tensor) -> Tensor:
        spectrum = torch.stft(x, N_FFT, HOP, window=window, center=True, pad_mode="constant", return_complex=True)
        return 10 * torch.log10((filters @ spectrum.abs().square()).clamp_min(1e-10))

    def welch_peaks(x: Tensor, window: Tensor) -> Tensor:
        power = torch.fft.rfft(x.unfold(1, 256, 128) * window).abs().square().mean(1)
        return (power * doubled).topk(16).values

    def spectral_conv(x: Tensor, re: Tensor, im: Tensor) -> Tensor:
        spectrum, weights, low = torch.fft.rfft2(x), torch.complex(re, im), re.shape[2] // 2
        out = torch.zeros(x.shape[0], re.shape[1], *spectrum.shape[2:], dtype=spectrum.dtype, device="cuda")
        kept = slice(0, re.shape[3])
        for rows in (slice(0, low), slice(-low, None)):
            part = weights[:, :, rows]
            out[:, :, rows, kept] = torch.einsum("bixy,ioxy->boxy", spectrum[:, :, rows, kept], part)
        return torch.fft.irfft2(out, s=x.shape[2:])

    def convolution(batch: int, channels: int, n: int) -> list[Tensor]:
        return [noise(batch, channels, n, n), noise(channels, channels, 32, 17), noise(channels, channels, 32, 17)]

    def ours_log_mel(x: Tensor, window: Tensor) -> Tensor:
        return ff.log_mel(x, RATE, BANDS, N_FFT, HOP, window=window)

    def ours_peaks(x: Tensor, window: Tensor) -> Tensor:
        return ff.welch_peaks(x, 256, 16, window=window, index_dtype=torch.int32)[1]

    def ours_conv(x: Tensor, re: Tensor, im: Tensor) -> Tensor:
        return ff.spectral_conv(x, (re, im))

    def mel_of(x: Tensor, window: Tensor) -> Tensor:
        return torch_cases.mel_definition(x, window, RATE, HOP, BANDS, True)

    def peaks_of(x: Tensor, window: Tensor) -> Tensor:
        return torch_cases.strongest(torch_cases.welch_definition(x, window, 2, 128), 16)

    def conv_of(x: Tensor, re: Tensor, im: Tensor) -> Tensor:
        return torch_cases.spectral_conv_definition(x, torch.complex(re, im))

    long_conv, long = torch_cases.long_conv_definition, [noise(64, 768, 1024), noise(768, 1024)]
    return [
        Layer("log_mel 64 x 160,000", ours_log_mel, log_mel, mel_of, [noise(64, 160000), hann], [0]),
        Layer("welch_peaks 131,072 x 384", ours_peaks, welch_peaks, peaks_of, [noise(131072, 384), short], [0], 1e-4),
        Layer(
            "spectral_conv 16 x 32 x 256 x 256", ours_conv, spectral_conv, conv_of, convolution(16, 32, 256), [0, 1, 2]
        ),
        Layer(
            "spectral_conv 32 x 64 x 128 x 128", ours_conv, spectral_conv, conv_of, convolution(32, 64, 128), [0, 1, 2]
        ),
        Layer("long_conv 64 x 768 x 1,024", ff.long_conv, long_conv, long_conv, long, [0, 1]),
        *(
            Layer(f"{name} {sizes}", getattr(ff, name), theirs, theirs, [x], [0])
            for name, sizes, x in (
                ("rfft", "4,096 x 4,096", noise(4096, 4096)),
                ("irfft", "4,096 x 2,049", torch.complex(noise(4096, 2049), noise(4096, 2049))),
                ("fft", "4,096 x 4,096", torch.complex(noise(4096, 4096), noise(4096, 4096))),
                ("fft2", "64 x 512 x 512", torch.complex(noise(64, 512, 512), noise(64, 512, 512))),
                ("ifft2", "64 x 512 x 512", torch.complex(noise(64, 512, 512), noise(64, 512, 512))),
            )
            for theirs in [getattr(torch.fft, name)]
        ),
    ]


def forward(function: Callable[..., Any], inputs: list[Tensor]) -> Callable[[], Any]:
    def call() -> Any:
        with torch.no_grad():
            return function(*inputs)

    return call


def with_gradients(function: Callable[..., Any], inputs: list[Tensor], where: list[int]) -> Callable[[], Any]:
    leaves = [tensor.detach().clone().requires_grad_() if i in where else tensor for i, tensor in enumerate(inputs)]
    with torch.no_grad():
        output = function(*leaves)
    weight = torch.randn(output.shape, generator=torch.Generator("cuda").manual_seed(1), device="cuda")
    weight = weight.to(output.dtype)
    return lambda: torch.autograd.grad(function(*leaves), [leaves[i] for i in where], weight)


def graph_of(call: Callable[[], Any]) -> tuple[Callable[[], None], int]:
    """A graph of repeated calls, of some milliseconds, and their number."""
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            call()
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        call()
        end.record()
    side.synchronize()
    repeats = max(1, min(30, int(5.0 / max(start.elapsed_time(end), 0.01))))
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(repeats):
            call()
    return graph.replay, repeats


def taking_turns(calls: dict[str, Callable[[], Any]], rounds: int) -> dict[str, list[float]]:
    """Microseconds per call on the device."""
    graphs = {name: graph_of(call) for name, call in calls.items()}
    times: dict[str, list[float]] = {name: [] for name in calls}
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    for turn in range(rounds + 1):
        order = list(graphs)
        random.Random(turn).shuffle(order)
        for name in order:
            replay, repeats = graphs[name]
            start.record()
            replay()
            end.record()
            end.synchronize()
            if turn > 0:
                times[name].append(start.elapsed_time(end) / repeats * 1e3)
    return times


def verified(layer: Layer, made: Callable[..., Callable[[], Any]], arguments: list[Any]) -> list[float]:
    """Largest errors of ours and of PyTorch's beside the largest value of the definition in float64; an error where
    ours is too large."""
    _, *rest = arguments
    expected = made(layer.definition, torch_cases.doubled(layer.inputs), *rest)()
    worst = []
    for function in (layer.ours, layer.theirs):
        found = made(function, *arguments)()
        pairs = list(zip(found, expected)) if isinstance(found, tuple) else [(found, expected)]
        errors = []
        for a, b in pairs:
            difference = (a.detach() - b.detach()).abs().flatten(1).amax(1) / b.detach().abs().max()
            kept = len(difference) - int(layer.ties * len(difference))
            largest = float(difference.sort().values[:kept].max())
            errors.append(math.inf if math.isnan(largest) else largest)
        worst.append(max(errors))
    if not all(error < 1e-4 for error in worst[:1]):
        raise AssertionError(f"{layer.name}: differs from the definition by {worst[0]}")
    return worst


def show(name: str, mode: str, times: dict[str, list[float]], worst: list[float]) -> None:
    medians = {way: statistics.median(values) for way, values in times.items()}
    cells = [f"{medians[way]:9.1f} ({min(values):.1f}-{max(values):.1f})" for way, values in times.items()]
    shares = " ".join(f"{medians['firefly'] / medians[way]:.2f}" for way in medians if way != "firefly")
    print(
        f"{name:34} {mode:10} {' '.join(f'{cell:30}' for cell in cells)} {shares} {worst[0]:.0e} {worst[1]:.0e}",
        flush=True,
    )


def host(name: str, call: Callable[[], Any], rounds: int = 7, calls: int = 500) -> None:
    times = []
    for _ in range(100):
        call()
    for _ in range(rounds):
        torch.cuda.synchronize()
        start = time.perf_counter()
        for _ in range(calls):
            call()
        times.append((time.perf_counter() - start) / calls * 1e6)
    torch.cuda.synchronize()
    print(f"{name:44} {statistics.median(times):8.2f} ({min(times):.2f}-{max(times):.2f})", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--library")
    parser.add_argument("--rounds", type=int, default=15)
    arguments = parser.parse_args()
    if arguments.library:
        torch_cases.use_library(arguments.library)
    import firefly_fft.torch as ff

    print(f"{torch.cuda.get_device_name()}, PyTorch {torch.__version__}")
    print("time on the device, µs: Firefly, PyTorch eager, PyTorch compiled; Firefly's share of each; errors of both")
    for layer in layers(ff):
        torch._dynamo.reset()
        ways = {"firefly": layer.ours, "eager": layer.theirs, "compiled": torch.compile(layer.theirs)}
        modes: list[tuple[str, Callable[..., Callable[[], Any]], list[Any]]] = [
            ("forward", forward, [layer.inputs]),
            ("gradients", with_gradients, [layer.inputs, layer.where]),
        ]
        for mode, made, given in modes:
            try:
                worst = verified(layer, made, given)
                calls = {way: made(function, *given) for way, function in ways.items()}
                show(layer.name, mode, taking_turns(calls, arguments.rounds), worst)
            except Exception as error:
                print(f"{layer.name:34} {mode:10} FAILED {str(error)[:400]}", flush=True)
    x, window = torch.randn(1, 4000, device="cuda"), torch.hann_window(N_FFT, device="cuda")
    frames, short = torch.randn(1, 384, device="cuda"), torch.hann_window(256, device="cuda")
    small = [torch.randn(*shape, device="cuda") for shape in ((4, 8, 64, 64), (8, 8, 12, 12), (8, 8, 12, 12))]
    leaf = x.clone().requires_grad_()
    print("host time per call, µs")
    with torch.no_grad():
        host("torch.sin", lambda: torch.sin(x))
        host("log_mel", lambda: ff.log_mel(x, RATE, BANDS, N_FFT, HOP, window=window))
        host("welch_peaks", lambda: ff.welch_peaks(frames, 256, 16, window=short, index_dtype=torch.int32))
        host("rfft", lambda: ff.rfft(x))
        host("spectral_conv", lambda: ff.spectral_conv(small[0], (small[1], small[2])))
        raw, text = torch.ops.firefly_raw.top_k.default, "top_k 5 1"
        host("top_k, the operator alone", lambda: raw(frames, text))
    weight = torch.ones_like(ff.log_mel(x, RATE, BANDS, N_FFT, HOP, window=window))
    host("torch.sin with its gradient", lambda: torch.autograd.grad(torch.sin(leaf), leaf, x))
    host(
        "log_mel with its gradient",
        lambda: torch.autograd.grad(ff.log_mel(leaf, RATE, BANDS, N_FFT, HOP, window=window), leaf, weight),
    )


if __name__ == "__main__":
    main()
