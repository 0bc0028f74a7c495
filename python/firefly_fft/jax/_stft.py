"""Short-time Fourier transforms, with the arguments of ``torch.stft`` and ``torch.istft``."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from .._arrays import count
from .._operations import frame_sizes, sides
from ._arrays import compiled, padded, real, rows, values
from ._fft import fft, ifft, irfft, rfft

_PADDINGS = {"reflect": "reflect", "constant": "constant", "replicate": "edge", "circular": "wrap"}


@compiled("x", "window")
def stft(
    x: Any,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Any = None,
    center: bool = True,
    pad_mode: str = "reflect",
    normalized: bool = False,
    onesided: bool | None = None,
    return_complex: bool = True,
) -> Any:
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

    Raises ``ValueError`` for a signal shorter than a frame or its padding, a window longer than a frame, and one-sided
    spectra of complex signals.

    >>> import jax.numpy as jnp
    >>> stft(jnp.ones((2, 3, 1000)), 256, window=jnp.hanning(256)).shape
    (2, 3, 129, 16)
    """
    if not return_complex:
        raise ValueError("return_complex is False, but spectra are complex")
    x = values(x, "x")
    is_complex = jnp.iscomplexobj(x)
    onesided = not is_complex if onesided is None else onesided
    if onesided and is_complex:
        raise ValueError("onesided is True, but x is complex")
    n_fft, hop, length = frame_sizes(n_fft, hop_length, win_length)
    taper = _window(window, length, n_fft, x)
    signal = rows(x, "x")
    if center:
        signal = _centred(signal, n_fft // 2, pad_mode)
    samples = signal.shape[-1]
    if samples < n_fft:
        raise ValueError(f"x has {samples} samples per row with its padding, but must have at least {n_fft}")
    starts = np.arange(0, samples - n_fft + 1, hop)
    frames = signal[:, starts[:, None] + np.arange(n_fft)]
    transform = rfft if onesided else fft
    spectra = transform(frames if taper is None else frames * taper, norm="ortho" if normalized else None)
    return jnp.swapaxes(spectra, -1, -2).reshape(*x.shape[:-1], spectra.shape[-1], len(starts))


def _centred(signal: Any, missing: int, pad_mode: str) -> Any:
    if pad_mode not in _PADDINGS:
        raise ValueError(f"pad_mode is {pad_mode!r}, but must be 'reflect', 'constant', 'replicate' or 'circular'")
    samples = signal.shape[-1]
    least = {"reflect": missing + 1, "circular": missing}.get(pad_mode, 1)
    if samples < least:
        raise ValueError(f"x has {samples} samples per row, but for pad_mode {pad_mode!r} must have at least {least}")
    return padded(signal, missing, missing, _PADDINGS[pad_mode])


def istft(
    x: Any,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Any = None,
    center: bool = True,
    normalized: bool = False,
    onesided: bool | None = None,
    length: int | None = None,
    return_complex: bool = False,
) -> Any:
    """Signals ``[…, samples]`` of short-time Fourier transforms ``[…, bins, frames]``, as ``torch.istft``.

    Frames are multiplied by the window, added where they overlap, and divided by the sum of squared windows.

    Parameters
    ----------
    x : spectra. They and the window are differentiable.
    n_fft, hop_length, win_length, window, center, normalized : those of `stft`.
    onesided : whether bins are the lower n_fft // 2 + 1; by default, whether there are not `n_fft`.
    length : samples of the signal, which is cut or padded with zeros; by default those of all frames.
    return_complex : whether the signal is complex, of two-sided spectra.

    Raises ``ValueError`` for another number of bins, and where windows leave a sample out. If the window is on a CUDA
    device or traced by JAX, such samples are NaN or infinite.

    >>> import jax, jax.numpy as jnp
    >>> x, window = jax.random.normal(jax.random.key(0), (1024,)), jnp.hanning(257)[:256]
    >>> bool(jnp.allclose(istft(stft(x, 256, window=window), 256, window=window), x, atol=1e-5))
    True
    """
    if getattr(x, "ndim", 2) < 2 or getattr(x, "shape", (1,))[-1] == 0:
        raise ValueError(f"x is of shape {list(x.shape)}, but must have bins and frames as its last dimensions")
    if hasattr(x, "shape"):
        _check_window(window, win_length, n_fft, hop_length, x.shape[-1], center, length)
    return _istft(x, n_fft, hop_length, win_length, window, center, normalized, onesided, length, return_complex)


@compiled("x", "window")
def _istft(
    x: Any,
    n_fft: int,
    hop_length: int | None,
    win_length: int | None,
    window: Any,
    center: bool,
    normalized: bool,
    onesided: bool | None,
    length: int | None,
    return_complex: bool,
) -> Any:
    x = values(x, "x")
    n_fft, hop, samples = frame_sizes(n_fft, hop_length, win_length)
    bins, number = x.shape[-2:]
    sides(bins, n_fft, onesided, return_complex)
    norm = "ortho" if normalized else None
    spectra = jnp.swapaxes(x.reshape(-1, bins, number), -1, -2)
    frames = ifft(spectra, norm=norm) if return_complex else irfft(spectra[..., : n_fft // 2 + 1], n_fft, norm=norm)
    taper = _window(window, samples, n_fft, frames)
    if taper is None:
        taper = jnp.ones(n_fft, frames.real.dtype)
    total, start, end = _extent(n_fft, hop, number, center, length)
    signal = _overlapped(frames * taper, hop)[:, start:end]
    weight = _overlapped(jnp.broadcast_to(jnp.square(taper), (1, number, n_fft)), hop)[:, start:end]
    return padded(signal / weight, 0, max(0, end - total)).reshape(*x.shape[:-2], end - start)


def _extent(n_fft: int, hop: int, number: int, center: bool, length: int | None) -> tuple[int, int, int]:
    """Samples of all frames, and the first one of the signal and the one after its last."""
    start, total = n_fft // 2 if center else 0, n_fft + hop * (number - 1)
    return total, start, total - start if length is None else start + count(length, "length")


def _check_window(
    window: Any, win_length: int | None, n_fft: int, hop_length: int | None, number: int, center: bool, length: Any
) -> None:
    """Refuses windows that leave a sample out, if their values are known on the host."""
    if isinstance(window, jax.core.Tracer):
        return
    if any(device.platform != "cpu" for device in getattr(window, "devices", set)()):
        return
    n_fft, hop, samples = frame_sizes(n_fft, hop_length, win_length)
    taper = np.ones(samples) if window is None else np.asarray(window, np.float64)
    if taper.shape != (samples,):
        return
    left = (n_fft - samples) // 2
    square = np.square(np.pad(taper, (left, n_fft - samples - left)))
    total, start, end = _extent(n_fft, hop, number, center, length)
    # Between the first and the last frames weights repeat, so that of many frames few are added.
    blocks = -(-n_fft // hop)
    left_out = max(0, number - 2 * blocks) * hop
    end = end if end <= blocks * hop else max(blocks * hop, end - left_out)
    weight = np.zeros(total - left_out)
    for begin in range(0, len(weight) - n_fft + 1, hop):
        weight[begin : begin + n_fft] += square
    if (weight[start:end] < 1e-11).any():
        raise ValueError("window leaves samples out, but must be positive at each sample of one of its frames")


def _window(window: Any, samples: int, n_fft: int, like: Any) -> Any:
    """The window of a frame, padded with zeros on both sides; none where all samples count the same."""
    if window is None:
        if samples == n_fft:
            return None
        window = jnp.ones(samples, like.real.dtype)
    window = real(window, "window", like.real)
    if window.shape != (samples,):
        raise ValueError(f"window is of shape {list(window.shape)}, but must be of [{samples}]")
    left = (n_fft - samples) // 2
    return padded(window, left, n_fft - samples - left)


def _overlapped(frames: Any, hop: int) -> Any:
    """Sums ``[rows, samples]`` of frames ``[rows, frames, n_fft]`` where they overlap."""
    number, n_fft = frames.shape[-2:]
    # Block b of frame f, of a hop each, is added to block f + b. Blocks b of all frames are a row with one place more
    # than the sum has: without these places row b begins b places later.
    blocks = -(-n_fft // hop)
    frames = padded(frames, 0, blocks * hop - n_fft).reshape(-1, number, blocks, hop)
    frames = jnp.pad(jnp.swapaxes(frames, 1, 2), ((0, 0), (0, 0), (0, blocks), (0, 0)))
    shifted = frames.reshape(-1, blocks * (number + blocks), hop)[:, : blocks * (number + blocks - 1)]
    added = shifted.reshape(-1, blocks, number + blocks - 1, hop).sum(1)
    return added.reshape(-1, (number + blocks - 1) * hop)[:, : n_fft + hop * (number - 1)]
