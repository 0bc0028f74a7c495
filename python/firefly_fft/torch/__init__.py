"""Firefly's operations as functions of PyTorch's tensors, with gradients, on CPUs and CUDA devices.

On a CUDA device the kernels run on the tensors' own memory and on the current stream, without a copy and without
waiting; they may be captured in CUDA graphs and are part of what ``torch.compile`` compiles. The first call of a kind
compiles its kernels. On a CPU they compute in float32 or float64. float16 and bfloat16 compute in, and return, float32.

Functions work along the last dimension and take any dimensions before it, unless they say otherwise. Tensors may have
any strides. Gradients are exact; those of gradients exist for Fourier transforms alone. Functions may be transformed by
``torch.vmap`` and ``torch.func.grad``. Modules have the arguments and states of those that they replace.

>>> import torch, firefly_fft.torch as ff
>>> time = torch.arange(384, dtype=torch.float64) / 256
>>> bins, power = ff.welch_peaks(torch.sin(2 * torch.pi * 20 * time), n_fft=256, k=1)
>>> bins.tolist()
[20]
"""

from __future__ import annotations

from ._convolutions import butterfly, fft_convolve, long_conv, spectral_conv
from ._fft import fft, fft2, fftn, ifft, ifft2, ifftn, irfft, irfft2, irfftn, rfft, rfft2, rfftn
from ._modules import MFCC, LongConv, MelSpectrogram, SpectralConv, Spectrogram
from ._patch import patch
from ._spectra import LocalMaxima, Peaks, local_maxima, log_mel, mel, power_spectrum, top_k, welch_peaks, welch_psd
from ._stft import istft, stft

__all__ = [
    "MFCC",
    "LocalMaxima",
    "LongConv",
    "MelSpectrogram",
    "Peaks",
    "SpectralConv",
    "Spectrogram",
    "butterfly",
    "fft",
    "fft2",
    "fft_convolve",
    "fftn",
    "ifft",
    "ifft2",
    "ifftn",
    "irfft",
    "irfft2",
    "irfftn",
    "istft",
    "local_maxima",
    "log_mel",
    "long_conv",
    "mel",
    "patch",
    "power_spectrum",
    "rfft",
    "rfft2",
    "rfftn",
    "spectral_conv",
    "stft",
    "top_k",
    "welch_peaks",
    "welch_psd",
]
