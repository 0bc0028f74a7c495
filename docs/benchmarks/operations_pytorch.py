"""Time of Fourier transforms and spectral layers in PyTorch on a CUDA device, for the sizes of these pages.

    python docs/benchmarks/operations_pytorch.py fft
    python docs/benchmarks/operations_pytorch.py layers
    python docs/benchmarks/operations_pytorch.py composed

Prints medians between device events in milliseconds. Results go into memory that PyTorch uses again; inputs are larger
than the GPU's L2 cache. Gradients are those of the result in all inputs, with given weights of the result.
"""

from __future__ import annotations

import importlib.util
import statistics
import sys
from collections.abc import Callable, Sequence

import torch

WARMUP, ROUNDS = 4, 15
POINTS = 1 << 25
LENGTHS = [
    64,
    100,
    256,
    360,
    456,
    512,
    1000,
    1024,
    1080,
    1920,
    2048,
    4095,
    4096,
    10_000,
    16_384,
    65_536,
    1 << 20,
    251,
    1009,
    10_007,
]
FIELDS = [(4096, 64), (256, 256), (16, 1024), (2048, 85), (64, 421)]
# Batch, channels, points per dimension, modes.
LINES = [(1024, 64, 128, 64), (1024, 64, 256, 32), (1024, 64, 1024, 16)]
PLANES = [(32, 64, 128, 32), (16, 64, 256, 12)]
# Batch, channels, samples.
SEQUENCES = [(64, 768, 1024), (16, 768, 4096), (4, 768, 16_384)]
# Batch, samples, transform, hop, bands.
RECORDINGS = [(32, 480_000, 400, 160, 80), (64, 160_000, 512, 128, 64)]


def milliseconds(call: Callable[..., object], *arguments: object) -> float:
    """Median time of a call with these arguments by the device's events."""
    times = []
    for _ in range(WARMUP + ROUNDS):
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        call(*arguments)
        end.record()
        torch.cuda.synchronize()
        times.append(start.elapsed_time(end))
    return statistics.median(times[WARMUP:])


def transforms() -> None:
    source, target = torch.randn(2, 1 << 26, device="cuda")
    print(f"copy of 256 MiB: {milliseconds(target.copy_, source):.3f}")
    for n in LENGTHS:
        signal = torch.randn(POINTS // n, n, device="cuda")
        values, spectrum = torch.randn_like(signal, dtype=torch.complex64), torch.fft.rfft(signal)
        forward, real = milliseconds(torch.fft.fft, values), milliseconds(torch.fft.rfft, signal)
        inverse = milliseconds(torch.fft.irfft, spectrum, n)
        print(f"n {n}: fft {forward:.3f}, rfft {real:.3f}, irfft {inverse:.3f}", flush=True)
    for batch, side in FIELDS:
        field = torch.randn(batch, side, side, device="cuda")
        print(f"rfft2 of {batch} × {side}²: {milliseconds(torch.fft.rfft2, field):.3f}", flush=True)


def line_convolution(signal: torch.Tensor, weights: torch.Tensor) -> torch.Tensor:
    """Products of the lowest modes with matrices over channels."""
    spectrum, modes = torch.fft.rfft(signal), weights.shape[-1]
    product = torch.zeros_like(spectrum)
    product[..., :modes] = torch.einsum("bix,iox->box", spectrum[..., :modes], weights)
    return torch.fft.irfft(product, n=signal.shape[-1])


def plane_convolution(field: torch.Tensor, corners: torch.Tensor) -> torch.Tensor:
    """The same in two dimensions; `corners` are of positive and negative frequencies along the first."""
    spectrum, modes = torch.fft.rfft2(field), corners.shape[-1]
    product = torch.zeros_like(spectrum)
    for rows, weights in ((slice(None, modes), corners[0]), (slice(-modes, None), corners[1])):
        product[:, :, rows, :modes] = torch.einsum("bixy,ioxy->boxy", spectrum[:, :, rows, :modes], weights)
    return torch.fft.irfft2(product, s=field.shape[-2:])


def long_convolution(signal: torch.Tensor, kernel: torch.Tensor) -> torch.Tensor:
    """Causal convolution of every channel with a kernel as long as the signal."""
    samples = signal.shape[-1]
    spectra = torch.fft.rfft(signal, n=2 * samples) * torch.fft.rfft(kernel, n=2 * samples)
    return torch.fft.irfft(spectra, n=2 * samples)[..., :samples]


def log_mel(signal: torch.Tensor, window: torch.Tensor, hop: int, filters: torch.Tensor) -> torch.Tensor:
    """Decimal logarithm of the power in bands `filters` `[bands, bins]`."""
    spectrum = torch.stft(signal, len(window), hop, window=window, return_complex=True)
    power = spectrum.real.square() + spectrum.imag.square()
    return torch.log10(torch.clamp(filters @ power, min=1e-10))


def report(name: str, layer: Callable[..., torch.Tensor], inputs: Sequence[torch.Tensor]) -> None:
    """Prints the times of a layer, and with its gradients."""
    with torch.no_grad():
        forward = milliseconds(layer, *inputs)
    for tensor in inputs:
        tensor.requires_grad_()
    weights = torch.randn_like(layer(*inputs))

    def step() -> None:
        torch.autograd.grad(layer(*inputs), inputs, weights)

    backward = milliseconds(step)
    print(f"{name}: forward {forward:.3f}, with gradients {backward:.3f}", flush=True)


def layers() -> None:
    for batch, channels, n, modes in LINES:
        weights = torch.randn(channels, channels, modes, dtype=torch.complex64, device="cuda")
        signal = torch.randn(batch, channels, n, device="cuda")
        report(f"spectral convolution, {batch} × {channels} × {n}, {modes} modes", line_convolution, [signal, weights])
    for batch, channels, n, modes in PLANES:
        corners = torch.randn(2, channels, channels, modes, modes, dtype=torch.complex64, device="cuda")
        field = torch.randn(batch, channels, n, n, device="cuda")
        report(f"spectral convolution, {batch} × {channels} × {n}², {modes} modes", plane_convolution, [field, corners])
    for batch, channels, samples in SEQUENCES:
        signal = torch.randn(batch, channels, samples, device="cuda")
        kernel = torch.randn(channels, samples, device="cuda")
        report(f"long convolution, {batch} × {channels} × {samples}", long_convolution, [signal, kernel])
    for batch, samples, n, hop, bands in RECORDINGS:
        signal = torch.randn(batch, samples, device="cuda")
        window, filters = torch.hann_window(n, device="cuda"), torch.rand(bands, n // 2 + 1, device="cuda")
        with torch.no_grad():
            eager = milliseconds(log_mel, signal, window, hop, filters)
            compiled = milliseconds(torch.compile(log_mel), signal, window, hop, filters)
        name = f"log-mel, {batch} × {samples}, n {n}, hop {hop}, {bands} mels"
        print(f"{name}: eager {eager:.3f}, compiled {compiled:.3f}", flush=True)


def analytic(signal: torch.Tensor) -> torch.Tensor:
    """Signal without negative frequencies."""
    gain = torch.zeros(signal.shape[1], device=signal.device)
    gain[1 : len(gain) // 2] = 2
    gain[[0, len(gain) // 2]] = 1
    return torch.fft.ifft(torch.fft.fft(signal) * gain)


def cross_spectra(signal: torch.Tensor, window: torch.Tensor) -> torch.Tensor:
    """Products of all pairs of channels per bin, summed over segments that half overlap."""
    spectra = torch.fft.rfft(signal.unfold(1, 256, 128) * window).permute(2, 0, 1).contiguous()
    return spectra.conj() @ spectra.transpose(1, 2)


def composed() -> None:
    signal = torch.randn(4096, 4096, device="cuda")
    channels, window = torch.randn(256, 60_000, device="cuda"), torch.hann_window(256, device="cuda")
    for name, call in [("fft", torch.fft.fft), ("rfft", torch.fft.rfft), ("analytic signal", analytic)]:
        print(f"{name} of 4096 × 4096: {milliseconds(call, signal):.3f}", flush=True)
    print(f"cross spectra of 256 × 60,000: {milliseconds(cross_spectra, channels, window):.3f}", flush=True)
    if importlib.util.find_spec("cupy"):
        import cupy
        from cupyx.scipy.fft import dct

        print(f"CuPy's dct of 4096 × 4096: {milliseconds(dct, cupy.asarray(signal)):.3f}", flush=True)


if __name__ == "__main__":
    suites = {"fft": transforms, "layers": layers, "composed": composed}
    if sys.argv[1:2] not in [[name] for name in suites]:
        raise SystemExit(f"usage: operations_pytorch.py {'|'.join(suites)}")
    print(torch.cuda.get_device_name(), "PyTorch", torch.__version__)
    suites[sys.argv[1]]()
