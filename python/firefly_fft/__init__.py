"""Spectra, peaks and models of many signals at once, on NumPy arrays.

Functions take the names, arguments and defaults of SciPy where SciPy has them. Arrays may be of any shape, stride and
byte order; lists, and arrays of other libraries that support DLPack, are arrays too. float32 computes in float32,
float64 and integers in float64. Results are NumPy arrays, which other libraries take by DLPack
(``torch.from_dlpack``). Tensors of PyTorch are computed by `firefly_fft.torch` where they are, and give tensors with
gradients; arrays of CuPy by `firefly_fft.cupy`.

>>> import numpy as np, firefly_fft as ff
>>> time = np.arange(4096) / 1000
>>> frequency, power = ff.welch(np.sin(2 * np.pi * 125 * time), fs=1000)
>>> float(frequency[power.argmax()])
125.0
"""

from . import fft, zoo
from ._audio import (
    griffinlim,
    mel_to_stft,
    multi_resolution_stft_loss,
    spectral_bandwidth,
    spectral_centroid,
    spectral_flatness,
    spectral_kurtosis,
    spectral_rolloff,
)
from ._composed import CoherentPairs, coherence, coherence_matrix, csd, most_coherent_pairs, transfer_function
from ._mel import log_mel, mel, mel_filters
from ._multitaper import Multitaper, dpss, multitaper, psd_array_multitaper
from ._native import __version__, num_threads, set_num_threads
from ._select import LocalMaxima, TopK, local_maxima, top_k
from ._signal import (
    OverlapSave,
    czt,
    detrend,
    envelope,
    hilbert,
    minimum_phase,
    real_cepstrum,
    resample,
    resample_poly,
    zoom_fft,
)
from ._stft import istft, stft
from ._train import Run, train
from ._welch import Peaks, periodogram, spectrogram, welch, welch_peaks, welch_psd
from ._windows import get_window

__all__ = [
    "CoherentPairs",
    "LocalMaxima",
    "Multitaper",
    "OverlapSave",
    "Peaks",
    "Run",
    "TopK",
    "__version__",
    "coherence",
    "coherence_matrix",
    "csd",
    "czt",
    "detrend",
    "dpss",
    "envelope",
    "fft",
    "get_window",
    "griffinlim",
    "hilbert",
    "istft",
    "local_maxima",
    "log_mel",
    "mel",
    "mel_filters",
    "mel_to_stft",
    "minimum_phase",
    "most_coherent_pairs",
    "multi_resolution_stft_loss",
    "multitaper",
    "num_threads",
    "periodogram",
    "psd_array_multitaper",
    "real_cepstrum",
    "resample",
    "resample_poly",
    "set_num_threads",
    "spectral_bandwidth",
    "spectral_centroid",
    "spectral_flatness",
    "spectral_kurtosis",
    "spectral_rolloff",
    "spectrogram",
    "stft",
    "top_k",
    "train",
    "transfer_function",
    "welch",
    "welch_peaks",
    "welch_psd",
    "zoo",
    "zoom_fft",
]
