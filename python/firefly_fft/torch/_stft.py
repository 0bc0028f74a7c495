"""Short-time Fourier transforms, with the arguments of ``torch.stft`` and ``torch.istft``."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.functional import fold, pad

from .._arrays import count
from .._operations import frame_sizes, sides
from ._fft import fft, ifft, irfft, rfft
from ._tensors import are_abstract, real, rows, unflattened


def stft(
    x: Tensor,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Tensor | None = None,
    center: bool = True,
    pad_mode: str = "reflect",
    normalized: bool = False,
    onesided: bool | None = None,
    return_complex: bool = True,
) -> Tensor:
    """Short-time Fourier transform ``[…, bins, frames]`` of signals ``[…, samples]``, as ``torch.stft``.

    Parameters
    ----------
    x : real or complex signal, with any dimensions before the last. Signal and window are differentiable.
    n_fft, hop_length, win_length : samples of a frame, between frames (a quarter of `n_fft` by default), and of the
        window (`n_fft` by default), which stands in the middle of a frame.
    window : ``[win_length]``, real; ones by default.
    center, pad_mode : whether frames are centred, and what the signal is padded with by n_fft // 2 samples at both
        ends: "reflect", "constant", "replicate" or "circular".
    normalized : whether spectra are multiplied by ``n_fft ** -0.5``.
    onesided : whether bins are the lower n_fft // 2 + 1, as by default for real signals, or all `n_fft`.

    Raises ``ValueError`` for a signal shorter than a frame, a window longer than it, and one-sided spectra of complex
    signals.

    >>> import torch
    >>> stft(torch.ones(2, 3, 1000), 256, window=torch.hann_window(256)).shape
    torch.Size([2, 3, 129, 16])
    """
    if not return_complex:
        raise ValueError("return_complex is False, but spectra are complex")
    x = _values(x, "x")
    onesided = not x.is_complex() if onesided is None else onesided
    if onesided and x.is_complex():
        raise ValueError("onesided is True, but x is complex")
    n_fft, hop, samples = frame_sizes(n_fft, hop_length, win_length)
    taper = _window(window, samples, n_fft, x)
    signal = rows(x, "x")
    if center:
        signal = pad(signal, (n_fft // 2, n_fft // 2), mode=pad_mode)
    if signal.shape[-1] < n_fft:
        raise ValueError(f"x has {signal.shape[-1]} samples per row with its padding, but must have at least {n_fft}")
    frames = signal.unfold(-1, n_fft, hop)
    transform = rfft if onesided else fft
    spectra = transform(frames if taper is None else frames * taper, norm="ortho" if normalized else None)
    return unflattened(spectra.transpose(-1, -2), x)


def istft(
    x: Tensor,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Tensor | None = None,
    center: bool = True,
    normalized: bool = False,
    onesided: bool | None = None,
    length: int | None = None,
    return_complex: bool = False,
) -> Tensor:
    """Signals ``[…, samples]`` of short-time Fourier transforms ``[…, bins, frames]``, as ``torch.istft``.

    Frames are multiplied by the window, added where they overlap, and divided by the sum of squared windows.

    Parameters
    ----------
    x : spectra. They and the window are differentiable.
    n_fft, hop_length, win_length, window, center, normalized : those of `stft`.
    onesided : whether bins are the lower n_fft // 2 + 1; by default, whether there are not `n_fft`.
    length : samples of the signal, which is cut or padded with zeros; by default those of all frames.
    return_complex : whether the signal is complex, of two-sided spectra.

    Raises ``ValueError`` for another number of bins, and where windows leave a sample out. On a CUDA device, in
    compiled code and within transforms of ``torch.func`` such samples are NaN or infinite.

    >>> import torch
    >>> x, window = torch.randn(1024), torch.hann_window(256)
    >>> bool(torch.allclose(istft(stft(x, 256, window=window), 256, window=window), x, atol=1e-5))
    True
    """
    n_fft, hop, samples = frame_sizes(n_fft, hop_length, win_length)
    if x.dim() < 2 or x.shape[-1] == 0:
        raise ValueError(f"x is of shape {list(x.shape)}, but must have bins and frames as its last dimensions")
    bins, number = x.shape[-2:]
    sides(bins, n_fft, onesided, return_complex)
    norm = "ortho" if normalized else None
    spectra = x.reshape(-1, bins, number).transpose(-1, -2)
    frames = ifft(spectra, norm=norm) if return_complex else irfft(spectra[..., : n_fft // 2 + 1], n_fft, norm=norm)
    taper = _window(window, samples, n_fft, frames)
    if taper is None:
        taper = torch.ones(n_fft, dtype=frames.real.dtype, device=frames.device)
    start = n_fft // 2 if center else 0
    total = n_fft + hop * (number - 1)
    end = total - start if length is None else start + count(length, "length")
    signal = _overlapped(frames * taper, hop)[:, start:end]
    weight = _overlapped(taper.square().expand(1, number, n_fft), hop)[:, start:end]
    if not weight.is_cuda and not are_abstract() and bool((weight.detach() < 1e-11).any()):
        raise ValueError("window leaves samples out, but must be positive at each sample of one of its frames")
    signal = signal / weight
    missing = end - total
    return (pad(signal, (0, missing)) if missing > 0 else signal).reshape(*x.shape[:-2], end - start)


def _values(x: Tensor, argument: str) -> Tensor:
    """A tensor of floats or complex numbers in the type that is computed with."""
    if not isinstance(x, Tensor) or not x.is_complex():
        return real(x, argument)
    return x.to(torch.complex64) if x.dtype == torch.complex32 else x


def _window(window: Tensor | None, samples: int, n_fft: int, like: Tensor) -> Tensor | None:
    """The window of a frame, padded with zeros on both sides; none where all samples count the same."""
    if window is None:
        if samples == n_fft:
            return None
        window = torch.ones(samples, dtype=like.real.dtype, device=like.device)
    window = real(window, "window", like.real)
    if window.shape != (samples,):
        raise ValueError(f"window is of shape {list(window.shape)}, but must be of [{samples}]")
    left = (n_fft - samples) // 2
    return pad(window, (left, n_fft - samples - left)) if samples < n_fft else window


def _overlapped(frames: Tensor, hop: int) -> Tensor:
    """Sums ``[rows, samples]`` of frames ``[rows, frames, n_fft]`` where they overlap."""
    if frames.is_complex():
        return torch.complex(_overlapped(frames.real, hop), _overlapped(frames.imag, hop))
    number, n_fft = frames.shape[-2:]
    samples = n_fft + hop * (number - 1)
    return fold(frames.transpose(-1, -2), (1, samples), (1, n_fft), stride=(1, hop)).reshape(-1, samples)
