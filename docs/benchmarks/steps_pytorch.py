"""Time of a training step of two models of the zoo in plain PyTorch, on random data.

    python docs/benchmarks/steps_pytorch.py fno2d 64 800
    python docs/benchmarks/steps_pytorch.py fits 64 1024

The arguments are the model and batch sizes. Prints the median, least and greatest of several means over steps, in
milliseconds, on the GPU if there is one. `fno2d` is that of `fno2d_small` (24 channels, 4 modes, 4 dense layers, fields
of 16 × 16 points, relative L2 error, AdamW), `fits` that of `configs/forecasting-etth1-96.toml` (360 rows to 96, 7
channels, squared error, Adam).
"""

from __future__ import annotations

import statistics
import sys
import time

import torch
from torch import nn

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
ROUNDS, STEPS = 5, 300
if DEVICE == "cpu":
    ROUNDS, STEPS = 3, 20


class SpectralConvolution(nn.Module):
    """Products of the lowest modes of a field with learned matrices over its channels."""

    def __init__(self, channels: int, modes: int) -> None:
        super().__init__()
        self.modes = modes
        corners = torch.randn(2, channels, channels, modes, modes, dtype=torch.cfloat)
        self.corners = nn.Parameter(corners / channels)

    def forward(self, field: torch.Tensor) -> torch.Tensor:
        spectrum = torch.fft.rfft2(field)
        product = torch.zeros_like(spectrum)
        low = slice(None, self.modes)
        for rows, weights in ((low, self.corners[0]), (slice(-self.modes, None), self.corners[1])):
            product[:, :, rows, low] = torch.einsum("bixy,ioxy->boxy", spectrum[:, :, rows, low], weights)
        return torch.fft.irfft2(product, s=field.shape[-2:])


class FourierNeuralOperator(nn.Module):
    """Li et al. 2021, in two dimensions, with coordinates as two more input channels."""

    def __init__(self, channels: int = 24, modes: int = 4, layers: int = 4) -> None:
        super().__init__()
        point = lambda inputs, outputs: nn.Sequential(
            nn.Conv2d(inputs, 2 * channels, 1), nn.GELU(), nn.Conv2d(2 * channels, outputs, 1)
        )
        self.lifting, self.projection = point(3, channels), point(channels, 1)
        self.spectral = nn.ModuleList(SpectralConvolution(channels, modes) for _ in range(layers))
        self.skips = nn.ModuleList(nn.Conv2d(channels, channels, 1) for _ in range(layers))

    def forward(self, field: torch.Tensor) -> torch.Tensor:
        rows, columns = (torch.linspace(0, 1, n, device=field.device) for n in field.shape[-2:])
        grid = torch.stack(torch.meshgrid(rows, columns, indexing="ij")).expand(len(field), -1, -1, -1)
        hidden = self.lifting(torch.cat([field, grid], 1))
        for index, (spectral, skip) in enumerate(zip(self.spectral, self.skips)):
            hidden = spectral(hidden) + skip(hidden)
            if index + 1 < len(self.spectral):
                hidden = nn.functional.gelu(hidden)
        return self.projection(hidden)


class Fits(nn.Module):
    """Xu et al. 2024: a complex linear map from the spectrum of the past to that of past and future."""

    def __init__(self, past: int = 360, horizon: int = 96) -> None:
        super().__init__()
        self.length, self.ratio = past + horizon, (past + horizon) / past
        self.interpolation = nn.Linear(past // 2 + 1, self.length // 2 + 1, dtype=torch.cfloat)

    def forward(self, series: torch.Tensor) -> torch.Tensor:
        mean, deviation = series.mean(1, keepdim=True), (series.var(1, keepdim=True) + 1e-5).sqrt()
        spectrum = torch.fft.rfft((series - mean) / deviation, dim=1)
        longer = self.interpolation(spectrum.transpose(1, 2)).transpose(1, 2)
        return torch.fft.irfft(longer, n=self.length, dim=1) * self.ratio * deviation + mean


def relative_error(output: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """Mean over samples of the relative L2 error."""
    return ((output - target).flatten(1).norm(dim=1) / target.flatten(1).norm(dim=1)).mean()


def step_of(model: str, batch: int):
    """A training step on a batch of its own."""
    if model == "fno2d":
        net = FourierNeuralOperator().to(DEVICE)
        optimizer = torch.optim.AdamW(net.parameters(), 1e-2, weight_decay=1e-4)
        inputs, targets = torch.randn(2, batch, 1, 16, 16, device=DEVICE)
        loss = relative_error
    else:
        net = Fits().to(DEVICE)
        optimizer = torch.optim.Adam(net.parameters(), 5e-4)
        windows = torch.randn(batch, 456, 7, device=DEVICE)
        inputs, targets = windows[:, :360], windows[:, 360:]
        loss = lambda output, target: nn.functional.mse_loss(output[:, -96:], target)

    def step() -> None:
        optimizer.zero_grad()
        loss(net(inputs), targets).backward()
        optimizer.step()

    return step


def milliseconds(step) -> float:
    """Mean time of a step."""
    wait = torch.cuda.synchronize if DEVICE == "cuda" else lambda: None
    wait()
    start = time.perf_counter()
    for _ in range(STEPS):
        step()
    wait()
    return (time.perf_counter() - start) / STEPS * 1e3


def main() -> None:
    model, batches = sys.argv[1], [int(batch) for batch in sys.argv[2:]]
    if model not in ("fno2d", "fits"):
        raise SystemExit(f"the model is {model}, but must be fno2d or fits")
    torch.manual_seed(0)
    for batch in batches:
        step = step_of(model, batch)
        for _ in range(10):
            step()
        times = [milliseconds(step) for _ in range(ROUNDS)]
        print(f"{model}, batch {batch}: {statistics.median(times):.2f} ({min(times):.2f} to {max(times):.2f}) ms")


if __name__ == "__main__":
    main()
