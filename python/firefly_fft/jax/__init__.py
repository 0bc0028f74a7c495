"""Functions of JAX's arrays, computed by Firefly's kernels on their own buffers and with gradients.

They are calls of XLA's foreign function interface: launch plans on XLA's stream of a CUDA device, and on CPUs the
kernels for CPUs. ``jax.jit``, ``jax.vmap`` and ``jax.grad`` transform them in any order; there is no forward mode, and
gradients of gradients exist for Fourier transforms alone. CUDA devices need a build of the package with the feature
`cuda`, and compute in float32; a first call of a kind compiles its kernels. CPUs compute in float32, or float64 where
JAX has it. float16 and bfloat16 compute in, and return, float32.

Names, arguments and defaults are those of `firefly_fft.torch`, but for bins of int32. Functions work along the last
dimension and take any dimensions before it, unless they say otherwise. Options must be known when JAX compiles.

>>> import jax.numpy as jnp, firefly_fft.jax as ff
>>> time = jnp.arange(384) / 256
>>> bins, power = ff.welch_peaks(jnp.sin(2 * jnp.pi * 20 * time), n_fft=256, k=1)
>>> bins.tolist()
[20]
"""

from __future__ import annotations

from ._convolutions import butterfly, fft_convolve, long_conv, spectral_conv
from ._fft import fft, fft2, fftn, ifft, ifft2, ifftn, irfft, irfft2, irfftn, rfft, rfft2, rfftn
from ._spectra import LocalMaxima, Peaks, local_maxima, log_mel, mel, power_spectrum, top_k, welch_peaks, welch_psd
from ._stft import istft, stft

__all__ = [
    "LocalMaxima",
    "Peaks",
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
