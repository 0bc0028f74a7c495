"""Modules that take the place of others without changing a model's weights or its numbers."""

from __future__ import annotations

import math
from typing import Any, Callable, Dict, List, Sequence, Union

import torch
from torch import Tensor, nn
from torch.nn.functional import pad

from .._arrays import count, step
from ._convolutions import long_conv, spectral_conv
from ._spectra import mel
from ._stft import stft
from ._tensors import real

_PADDINGS = {"constant": "constant", "reflect": "reflect", "replicate": "edge", "circular": "wrap"}


class SpectralConv(nn.Module):
    """Spectral convolution of a Fourier neural operator: ``neuralop.layers.spectral_convolution.SpectralConv``.

    The result is ``[batch, out_channels, n…]`` for inputs ``[batch, in_channels, n…]`` in one to three dimensions.
    Weights are those of neuraloperator 2 without a factorization: ``weight.tensor``, complex
    ``[in_channels, out_channels, modes…]`` with the lowest frequency of each dimension but the last in the middle,
    and ``bias`` ``[out_channels, 1…]``. A model takes it as ``FNO(…, conv_module=SpectralConv)``.

    Parameters
    ----------
    n_modes : frequencies per dimension, negative ones included; of the last dimension the lower n // 2 + 1 are kept.
        May be set later to fewer, of which those in the middle of the weights are used.
    max_n_modes : modes of the weights; those that are kept by default, and as they are otherwise.
    bias : whether there is one.
    init_std : standard deviation of the first weights, ``(2 / (in_channels + out_channels)) ** 0.5`` for "auto".
    options : neuraloperator's others. Of those that change the numbers only the defaults are served.

    Raises ``ValueError`` for other options, and for an output of another shape than the input's. Along dimensions of
    odd length except for the last, neuraloperator 2 returns each frequency one place too low; here it keeps its place.

    >>> import torch
    >>> conv = SpectralConv(3, 5, (16, 16))
    >>> conv(torch.randn(2, 3, 32, 48)).shape, conv.weight.tensor.shape
    (torch.Size([2, 5, 32, 48]), torch.Size([3, 5, 16, 9]))
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        n_modes: Union[int, Sequence[int]],
        *,
        max_n_modes: Union[int, Sequence[int], None] = None,
        bias: bool = True,
        init_std: Union[float, str] = "auto",
        device: Any = None,
        **options: Any,
    ) -> None:
        super().__init__()
        served = {
            "complex_data": (False,),
            "separable": (False,),
            "resolution_scaling_factor": (None,),
            "fno_block_precision": ("full",),
            "factorization": (None, "dense", "Dense"),
        }
        # These change no numbers: of the two transforms any norm cancels, and there are no factors.
        without_effect = {"rank", "implementation", "fixed_rank_modes", "decomposition_kwargs", "fft_norm"}
        for name, value in options.items():
            if name not in served and name not in without_effect:
                raise TypeError(f"{name} is no argument of SpectralConv")
            if name in served and value not in served[name]:
                raise ValueError(f"{name} is {value!r}, but must be {served[name][0]!r}")
        in_channels, out_channels = count(in_channels, "in_channels"), count(out_channels, "out_channels")
        self.in_channels, self.out_channels = in_channels, out_channels
        self.n_modes = n_modes
        self.order = len(self.n_modes)
        kept = self.n_modes if max_n_modes is None else max_n_modes
        self.max_n_modes = [kept] if isinstance(kept, int) else list(kept)
        std = math.sqrt(2 / (in_channels + out_channels)) if init_std == "auto" else float(init_std)
        shape = (in_channels, out_channels, *self.max_n_modes)
        self.weight = _Weight(std * torch.randn(shape, dtype=torch.complex64, device=device))
        ones = (1,) * self.order
        self.bias = nn.Parameter(std * torch.randn(out_channels, *ones, device=device)) if bias else None

    @property
    def n_modes(self) -> List[int]:
        """Modes that are used of each dimension: of the last, n // 2 + 1 of the number n that was set."""
        return self._n_modes

    @n_modes.setter
    def n_modes(self, n_modes: Union[int, Sequence[int]]) -> None:
        modes = [n_modes] if isinstance(n_modes, int) else list(n_modes)
        self._n_modes = [*modes[:-1], modes[-1] // 2 + 1]

    def transform(self, x: Tensor, output_shape: Sequence[int] | None = None) -> Tensor:
        """What a block adds to the convolution: `x` itself, since the output has the input's shape."""
        self._check(x, output_shape)
        return x

    def forward(self, x: Tensor, output_shape: Sequence[int] | None = None) -> Tensor:
        """``[batch, out_channels, n…]`` of `x` ``[batch, in_channels, n…]``."""
        self._check(x, output_shape)
        weight = self.weight.tensor
        bins = (*x.shape[2:-1], x.shape[-1] // 2 + 1)
        for dim, (most, size, modes) in enumerate(zip(self.max_n_modes, bins, self.n_modes), 2):
            kept, is_last = min(size, modes), dim == weight.dim() - 1
            # The lowest frequency is in the middle, or first along the last dimension.
            weight = weight.narrow(dim, 0 if is_last else (most - kept) // 2, kept)
            weight = weight if is_last else weight.roll(-(kept // 2), dim)
        convolved = spectral_conv(x, weight)
        return convolved if self.bias is None else convolved + self.bias

    def _check(self, x: Tensor, output_shape: Sequence[int] | None) -> None:
        if x.dim() != self.order + 2:
            raise ValueError(f"x has {x.dim()} dimensions, but must have {self.order + 2}")
        if output_shape is not None and tuple(output_shape) != tuple(x.shape[2:]):
            raise ValueError(f"output_shape is {list(output_shape)}, but must be the input's, {list(x.shape[2:])}")


class _Weight(nn.Module):
    """A tensor under the name that a dense factorization has it."""

    def __init__(self, tensor: Tensor) -> None:
        super().__init__()
        self.tensor = nn.Parameter(tensor)


class Spectrogram(nn.Module):
    """Spectrograms ``[…, bins, frames]`` of waveforms ``[…, samples]``: ``torchaudio.transforms.Spectrogram``.

    Arguments and defaults are torchaudio's, and ``window`` ``[win_length]`` is its buffer. Results are powers of the
    magnitude, or complex spectra if `power` is None. `normalized` is "window" (or True) for the window's norm, or
    "frame_length" for √n_fft. Errors are those of `stft`.

    >>> import torch
    >>> Spectrogram(n_fft=256)(torch.ones(2, 1000)).shape
    torch.Size([2, 129, 8])
    """

    def __init__(
        self,
        n_fft: int = 400,
        win_length: int | None = None,
        hop_length: int | None = None,
        pad: int = 0,
        window_fn: Callable[..., Tensor] = torch.hann_window,
        power: float | None = 2.0,
        normalized: Union[bool, str] = False,
        wkwargs: Dict[str, Any] | None = None,
        center: bool = True,
        pad_mode: str = "reflect",
        onesided: bool = True,
        return_complex: bool | None = None,
    ) -> None:
        super().__init__()
        if normalized not in (False, True, "window", "frame_length"):
            raise ValueError(f"normalized is {normalized!r}, but must be a bool, 'window' or 'frame_length'")
        self.n_fft = count(n_fft, "n_fft")
        self.win_length = self.n_fft if win_length is None else count(win_length, "win_length")
        self.hop_length = max(1, self.win_length // 2) if hop_length is None else step(hop_length, "hop_length")
        self.pad, self.power, self.normalized = pad, power, normalized
        self.center, self.pad_mode, self.onesided = center, pad_mode, onesided
        self.register_buffer("window", window_fn(self.win_length, **(wkwargs or {})))

    def forward(self, waveform: Tensor) -> Tensor:
        """``[…, bins, frames]`` of a waveform ``[…, samples]``."""
        sizes = (self.n_fft, self.hop_length, self.win_length)
        window = self._scaled_window()
        spectra = stft(self._padded(waveform), *sizes, window, self.center, self.pad_mode, False, self.onesided)
        if self.power is None:
            return spectra
        if self.power == 2:
            return torch.view_as_real(spectra).square().sum(-1)
        return spectra.abs() if self.power == 1 else spectra.abs().pow(self.power)

    def _padded(self, waveform: Tensor) -> Tensor:
        return pad(waveform, (self.pad, self.pad)) if self.pad > 0 else waveform

    def _scaled_window(self) -> Tensor:
        """The window times the factor of spectra."""
        window = real(self.window, "window")
        if self.normalized == "frame_length":
            return window / math.sqrt(self.n_fft)
        return window / window.square().sum().sqrt() if self.normalized else window


class MelSpectrogram(nn.Module):
    """Mel spectrograms ``[…, n_mels, frames]`` of waveforms: ``torchaudio.transforms.MelSpectrogram``.

    Arguments and defaults are torchaudio's; ``spectrogram.window`` ``[win_length]`` and ``mel_scale.fb``
    ``[n_fft // 2 + 1, n_mels]`` are its buffers. Powers and magnitudes under the filters that the arguments make take
    one operation, `mel`; other exponents, and filters that a state has loaded in their place, take a pass each.
    Frequencies are in hertz, `sample_rate` in samples per second. Raises ``ValueError`` for a bad scale, norm or band.

    >>> import torch
    >>> MelSpectrogram(16000, n_fft=400, hop_length=160, n_mels=40)(torch.ones(2, 16000)).shape
    torch.Size([2, 40, 101])
    """

    def __init__(
        self,
        sample_rate: int = 16000,
        n_fft: int = 400,
        win_length: int | None = None,
        hop_length: int | None = None,
        f_min: float = 0.0,
        f_max: float | None = None,
        pad: int = 0,
        n_mels: int = 128,
        window_fn: Callable[..., Tensor] = torch.hann_window,
        power: float = 2.0,
        normalized: bool = False,
        wkwargs: Dict[str, Any] | None = None,
        center: bool = True,
        pad_mode: str = "reflect",
        onesided: bool | None = None,
        norm: str | None = None,
        mel_scale: str = "htk",
    ) -> None:
        super().__init__()
        self.spectrogram = Spectrogram(
            n_fft, win_length, hop_length, pad, window_fn, power, normalized, wkwargs, center, pad_mode
        )
        n_fft = self.spectrogram.n_fft
        self.sample_rate, self.n_fft, self.n_mels = sample_rate, n_fft, count(n_mels, "n_mels")
        self.power = power
        self.f_min, self.f_max = float(f_min), float(sample_rate // 2) if f_max is None else float(f_max)
        self.norm, self.scale = norm, mel_scale
        self.mel_scale = _MelScale(self._filters().float())
        # Of odd lengths and rates, torchaudio's bins are not where those of a transform are.
        is_even = sample_rate % 2 == 0 and n_fft % 2 == 0
        self._is_one_operation = is_even and power in (1, 2) and pad_mode in _PADDINGS and self.f_max <= sample_rate / 2
        self.register_load_state_dict_post_hook(MelSpectrogram._loaded)

    def forward(self, waveform: Tensor) -> Tensor:
        """``[…, n_mels, frames]`` of a waveform ``[…, samples]``."""
        part = self.spectrogram
        if not self._is_one_operation or not self.mel_scale.is_made:
            return self.mel_scale(part(waveform))
        return mel(
            part._padded(waveform),
            self.sample_rate,
            self.n_mels,
            self.n_fft,
            part.hop_length,
            window=part._scaled_window(),
            center=part.center,
            pad_mode=_PADDINGS[part.pad_mode],
            power=self.power,
            fmin=self.f_min,
            fmax=self.f_max,
            htk=self.scale == "htk",
            norm=self.norm,
        )

    def _filters(self) -> Tensor:
        """Triangles ``[n_fft // 2 + 1, n_mels]`` of the scale, in float64."""
        if self.scale not in ("htk", "slaney") or self.norm not in (None, "slaney"):
            raise ValueError(f"mel_scale, norm are {self.scale!r}, {self.norm!r}, but must be 'htk' or 'slaney'")
        if not 0 <= self.f_min < self.f_max:
            raise ValueError(f"f_min, f_max are {self.f_min}, {self.f_max}, but must rise from at least 0")
        low, high = (_mel_of(hertz, self.scale) for hertz in (self.f_min, self.f_max))
        edges = _hertz_of(torch.linspace(low, high, self.n_mels + 2, dtype=torch.float64), self.scale)
        hertz = torch.linspace(0, self.sample_rate // 2, self.n_fft // 2 + 1, dtype=torch.float64)[:, None]
        rise, fall = (hertz - edges[:-2]) / edges.diff()[:-1], (edges[2:] - hertz) / edges.diff()[1:]
        weights = torch.minimum(rise, fall).clamp_min(0)
        return weights * (2 / (edges[2:] - edges[:-2])) if self.norm == "slaney" else weights

    def _loaded(self, _: Any) -> None:
        """Finds out whether a state has the filters that the arguments make."""
        filters, made = self.mel_scale.fb.detach().cpu().double(), self._filters()
        self.mel_scale.is_made = filters.shape == made.shape and bool(
            torch.allclose(filters, made, 1e-3, 1e-4 * float(made.max()))
        )


class _MelScale(nn.Module):
    """Filters ``[bins, n_mels]`` of spectrograms, under torchaudio's name."""

    fb: Tensor

    def __init__(self, filters: Tensor) -> None:
        super().__init__()
        self.register_buffer("fb", filters)
        # Whether they are those of the arguments.
        self.is_made = True

    def forward(self, spectrogram: Tensor) -> Tensor:
        return _product(spectrogram, self.fb)


class MFCC(nn.Module):
    """Mel-frequency cepstral coefficients ``[…, n_mfcc, frames]`` of waveforms: ``torchaudio.transforms.MFCC``.

    Arguments and defaults are torchaudio's; ``dct_mat`` ``[n_mels, n_mfcc]`` and the buffers of ``MelSpectrogram``
    are its own. Coefficients are of decibels, at most 80 below the strongest value of each item (of all rows, where the
    waveform has fewer than three dimensions), or of the natural logarithm if `log_mels` is True. Raises ``ValueError``
    for more coefficients than bands and for other transforms than the second.

    >>> import torch
    >>> MFCC(16000, 13, melkwargs={"n_fft": 400, "hop_length": 160, "n_mels": 40})(torch.randn(1, 16000)).shape
    torch.Size([1, 13, 101])
    """

    dct_mat: Tensor

    def __init__(
        self,
        sample_rate: int = 16000,
        n_mfcc: int = 40,
        dct_type: int = 2,
        norm: str | None = "ortho",
        log_mels: bool = False,
        melkwargs: Dict[str, Any] | None = None,
    ) -> None:
        super().__init__()
        if dct_type != 2:
            raise ValueError(f"dct_type is {dct_type}, but must be 2")
        if norm not in (None, "ortho"):
            raise ValueError(f"norm is {norm!r}, but must be 'ortho' or None")
        self.MelSpectrogram = MelSpectrogram(sample_rate, **(melkwargs or {}))
        n_mels = self.MelSpectrogram.n_mels
        n_mfcc = count(n_mfcc, "n_mfcc")
        if n_mfcc > n_mels:
            raise ValueError(f"n_mfcc is {n_mfcc}, but must be at most n_mels, {n_mels}")
        self.sample_rate, self.n_mfcc, self.log_mels, self.top_db = sample_rate, n_mfcc, log_mels, 80.0
        angles = torch.arange(n_mfcc) * ((torch.arange(n_mels, dtype=torch.float64)[:, None] + 0.5) * math.pi / n_mels)
        cosines = 2 * angles.cos()
        if norm == "ortho":
            cosines *= math.sqrt(0.5 / n_mels)
            cosines[:, 0] *= math.sqrt(0.5)
        self.register_buffer("dct_mat", cosines.float())

    def forward(self, waveform: Tensor) -> Tensor:
        """``[…, n_mfcc, frames]`` of a waveform ``[…, samples]``."""
        bands = self.MelSpectrogram(waveform)
        if self.log_mels:
            return _product((bands + 1e-6).log(), self.dct_mat)
        decibels = 10 * bands.clamp_min(1e-10).log10()
        floor = decibels.amax(tuple(range(-min(3, decibels.dim()), 0)), keepdim=True) - self.top_db
        return _product(torch.maximum(decibels, floor), self.dct_mat)


class LongConv(nn.Module):
    """Causal convolution of each channel with a filter as long as the sequence: the layer of Hyena and of S4.

    The result is ``irfft(rfft(u, 2n) · rfft(k, 2n))[…, :n] + u · D``, times a gate, ``[batch, channels, n]``. The
    filter is an argument, since models compute it; ``D`` ``[channels]`` is the parameter, of draws of N(0, 1) at first.

    Parameters
    ----------
    channels : channels of the sequences.
    skip : whether there is a skip connection, with the weights ``D``.

    >>> import torch
    >>> u, k = torch.randn(4, 8, 100), torch.randn(8, 100)
    >>> LongConv(8)(u, k).shape
    torch.Size([4, 8, 100])
    """

    def __init__(self, channels: int, skip: bool = True, device: Any = None) -> None:
        super().__init__()
        channels = self.channels = count(channels, "channels")
        self.D = nn.Parameter(torch.randn(channels, device=device)) if skip else None

    def forward(self, u: Tensor, k: Tensor, gate: Tensor | None = None) -> Tensor:
        """``[batch, channels, n]`` of sequences of that shape, filters ``[channels, n]`` and perhaps a gate like `u`.

        Raises ``ValueError`` for other shapes.
        """
        if self.D is not None:
            # A skip connection is the filter's first tap.
            k = real(k, "k")
            k = torch.cat([k[:, :1] + self.D[:, None], k[:, 1:]], 1)
        return long_conv(u, k, gate)


def _product(rows: Tensor, matrix: Tensor) -> Tensor:
    """``[…, m, frames]`` of ``[…, n, frames]`` and a matrix ``[n, m]``, in the rows' type also under autocast."""
    with torch.autocast(rows.device.type, enabled=False):
        return (rows.transpose(-1, -2) @ matrix.to(rows.dtype)).transpose(-1, -2)


_STEP, _CORNER, _LOG_STEP = 200 / 3, 1000.0, math.log(6.4) / 27


def _mel_of(hertz: float, scale: str) -> float:
    """Mels of a frequency, by HTK's formula, or Slaney's: linear below 1 kHz and logarithmic above."""
    if scale == "htk":
        return 2595 * math.log10(1 + hertz / 700)
    return hertz / _STEP if hertz < _CORNER else _CORNER / _STEP + math.log(hertz / _CORNER) / _LOG_STEP


def _hertz_of(mels: Tensor, scale: str) -> Tensor:
    if scale == "htk":
        return 700 * (10 ** (mels / 2595) - 1)
    return torch.where(mels * _STEP < _CORNER, mels * _STEP, _CORNER * torch.exp(_LOG_STEP * (mels - _CORNER / _STEP)))
