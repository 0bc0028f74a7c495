"""Peaks of a tensor in a GPU's memory: `firefly_fft.welch_peaks` on it, through the host, and the same in PyTorch.

Needs PyTorch with CUDA, and the package built with the feature `cuda`:

    python benchmarks/resident.py --rows 131072
"""

from __future__ import annotations

import argparse
import statistics
import time
from typing import Any, Callable, Dict, List, Tuple

import numpy as np
import torch

import firefly_fft as ff

FRAME, N_FFT, HOP, K = 384, 256, 128, 16
Peaks = Tuple[Any, Any]


def resident(x: Any) -> Peaks:
    """Bins and power as tensors, without the host's memory."""
    return ff.welch_peaks(x, k=K, nperseg=N_FFT, detrend=False)


def through_host(x: Any) -> Peaks:
    """Samples to the host, from there to the GPU and back, and the peaks to the GPU again."""
    peaks = ff.welch_peaks(x.cpu().numpy(), k=K, nperseg=N_FFT, detrend=False, device="cuda")
    return torch.from_numpy(peaks.bins).cuda(), torch.from_numpy(peaks.power).cuda()


def plain(x: Any) -> Peaks:
    """The same in PyTorch's operations."""
    window = torch.hann_window(N_FFT, device=x.device)
    spectrum = torch.fft.rfft(x.unfold(-1, N_FFT, HOP) * window)
    power = (spectrum.real.square() + spectrum.imag.square()).mean(dim=1) / window.square().sum()
    power[:, 1:-1] *= 2
    power, bins = torch.topk(power, K)
    return bins, power


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=131_072)
    parser.add_argument("--rounds", type=int, default=40)
    arguments = parser.parse_args()

    torch.manual_seed(0)
    x = torch.randn(arguments.rows, FRAME, device="cuda")
    strategies: Dict[str, Callable[[], Peaks]] = {
        "resident": lambda: resident(x),
        "through the host": lambda: through_host(x),
        "PyTorch": lambda: plain(x),
    }
    bins, power = plain(x)
    for name, strategy in strategies.items():
        found_bins, found_power = strategy()
        torch.testing.assert_close(
            found_power, power, rtol=1e-4, atol=1e-6, msg=lambda text, name=name: f"{name}: {text}"
        )
        agreement = (found_bins == bins).float().mean().item()
        assert agreement > 0.999, f"{name}: {agreement} of the bins agree"

    times: Dict[str, List[float]] = {name: [] for name in strategies}
    for round in range(arguments.rounds + 5):
        for name, strategy in strategies.items():
            torch.cuda.synchronize()
            start = time.perf_counter()
            strategy()
            torch.cuda.synchronize()
            if round >= 5:
                times[name].append(1e3 * (time.perf_counter() - start))
    size = f"{arguments.rows} x {FRAME} float32, n_fft {N_FFT}, k {K}"
    print(f"{torch.cuda.get_device_name()}, {size}, PyTorch {torch.__version__}, NumPy {np.__version__}")
    print(f"{'':28}{'median ms':>10}{'least':>10}{'most':>10}")
    for name, taken in times.items():
        print(f"{name:28}{statistics.median(taken):10.3f}{min(taken):10.3f}{max(taken):10.3f}")


if __name__ == "__main__":
    main()
