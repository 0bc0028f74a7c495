"""Sizes that no memory holds are errors that name the argument, and neither end the process nor keep it busy."""

from __future__ import annotations

from typing import Any, Callable

import numpy as np
import pytest

import firefly_fft as ff

X = np.ones((2, 64))

CALLS: list[tuple[str, Callable[[int], Any]]] = [
    ("n", lambda n: ff.fft.fft(X, n)),
    ("n", lambda n: ff.fft.rfft(X, n)),
    ("n", lambda n: ff.fft.irfft(X, n)),
    ("n", lambda n: ff.fft.dct(X, 2, n)),
    ("N", lambda n: ff.hilbert(X, n)),
    ("num", lambda n: ff.resample(X, n)),
    ("m", lambda n: ff.czt(X, n)),
    ("m", lambda n: ff.zoom_fft(X, 0.5, n)),
    ("nfft", lambda n: ff.welch(X, nperseg=16, nfft=n)),
    ("nfft", lambda n: ff.stft(X, nperseg=16, nfft=n)),
    ("nfft", lambda n: ff.periodogram(X, nfft=n)),
    ("nfft", lambda n: ff.spectrogram(X, nperseg=16, noverlap=8, nfft=n)),
    ("n_fft", lambda n: ff.mel(X, 8000.0, n_fft=n)),
    ("n_mels", lambda n: ff.mel(X, 8000.0, n, 32)),
    ("n_fft", lambda n: ff.mel_filters(8000.0, n)),
    ("n_fft", lambda n: ff.spectral_centroid(y=X, n_fft=n)),
    ("fft_sizes", lambda n: ff.multi_resolution_stft_loss(X, X, [n], [8], [16])),
    ("Nx", lambda n: ff.get_window("hann", n)),
    ("M", lambda n: ff.dpss(n, 2.0)),
    ("k", lambda n: ff.top_k(X, n)),
]


@pytest.mark.parametrize("n", [1 << 40, 1 << 62])
@pytest.mark.parametrize(("argument", "call"), CALLS)
def test_a_size_that_no_memory_holds_is_refused(argument: str, call: Callable[[int], Any], n: int) -> None:
    with pytest.raises(ValueError, match=f"{argument}`? is {n}, but must be at most"):
        call(n)


def test_a_distance_takes_no_memory() -> None:
    assert ff.mel(X, 8000.0, 4, 32, 1 << 40).shape[-1] == 1
    assert (ff.local_maxima(np.array([[0.0, 2.0, 0.0, 3.0, 0.0]]), 2, distance=1 << 40).bins == [[3, -1]]).all()
