"""Functions of PyTorch that call ours for a while."""

from __future__ import annotations

import contextlib
import functools
from typing import Any, Callable, Iterator, List, Tuple

import torch
from torch import Tensor

from .. import _native
from . import _fft, _stft

_TRANSFORMS = "fft ifft rfft irfft fft2 ifft2 rfft2 irfft2 fftn ifftn rfftn irfftn".split()
_TYPES = (torch.float32, torch.complex64)
_TYPES_ON_CPU = (*_TYPES, torch.float64, torch.complex128)
# Arguments that PyTorch's functions have alone.
_OWN = ("out", "align_to_window")
_IS_BUILT_FOR_CUDA = getattr(_native, "BUILT_FOR_CUDA", False)


@contextlib.contextmanager
def patch() -> Iterator[None]:
    """Context in which ``torch.fft.fft``, ``ifft``, ``rfft``, ``irfft``, those of two and of several dimensions,
    ``torch.stft`` and ``torch.istft`` are ours; on exit, also by an exception, they are PyTorch's again.

    Served are float32 and complex64, and on CPUs float64 and complex128. Tensors of other types and devices, empty
    ones, and calls with ``out`` or without ``return_complex=True`` go to PyTorch's own. Arguments that ours refuse
    raise our errors, ``ValueError`` and ``TypeError``. The functions are replaced for all threads. Code that was
    compiled before keeps PyTorch's, and so does a name that was imported before, as by ``from torch.fft import rfft``.

    >>> import torch
    >>> own = torch.fft.rfft
    >>> with patch():
    ...     is_ours = torch.fft.rfft is not own
    ...     spectrum = torch.fft.rfft(torch.ones(8))
    >>> is_ours, torch.fft.rfft is own, spectrum.real[0].item()
    (True, True, 8.0)
    """
    places: List[Tuple[Any, str, Callable[..., Tensor]]] = [
        *((torch.fft, name, getattr(_fft, name)) for name in _TRANSFORMS),
        (torch, "stft", _stft.stft),
        (torch, "istft", _stft.istft),
    ]
    own = [getattr(module, name) for module, name, _ in places]
    try:
        for (module, name, ours), theirs in zip(places, own):
            setattr(module, name, _served(ours, theirs))
        yield
    finally:
        for (module, name, _), theirs in zip(places, own):
            setattr(module, name, theirs)


def _served(ours: Callable[..., Tensor], theirs: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """Ours for the calls that it serves, and PyTorch's own for others."""
    is_stft = ours is _stft.stft

    @functools.wraps(ours)
    def call(input: Any, *arguments: Any, **options: Any) -> Tensor:
        options = {name: value for name, value in options.items() if value is not None or name not in _OWN}
        is_ours = _is_served(input) and not any(name in options for name in _OWN)
        if is_stft:
            # PyTorch's own takes no more than rows, and pairs of numbers for complex ones unless it is told otherwise.
            is_ours = is_ours and input.dim() <= 2 and options.get("return_complex", arguments[8:9] == (True,))
        return ours(input, *arguments, **options) if is_ours else theirs(input, *arguments, **options)

    return call


def _is_served(tensor: Any) -> bool:
    if not isinstance(tensor, Tensor) or tensor.numel() == 0 or tensor.layout != torch.strided:
        return False
    if tensor.device.type == "cpu":
        return tensor.dtype in _TYPES_ON_CPU
    return tensor.device.type == "cuda" and _IS_BUILT_FOR_CUDA and tensor.dtype in _TYPES
