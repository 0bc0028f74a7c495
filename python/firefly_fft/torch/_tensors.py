"""Arguments of functions: tensors of one type as rows, and back."""

from __future__ import annotations

from typing import Any, Callable, Dict, Tuple

import torch
from torch import Tensor

_FLOAT32 = torch.float32
_REAL = {torch.complex32: torch.float32, torch.complex64: torch.float32, torch.complex128: torch.float64}
_KEPT: Dict[Tuple[Any, ...], Tensor] = {}


def real(tensor: Any, argument: str, like: Tensor | None = None) -> Tensor:
    """A tensor of floats in the type that is computed with: float64, or float32 for any smaller float."""
    # The usual cases first: a call on a device takes the host some microseconds in all.
    if isinstance(tensor, Tensor):
        if like is None:
            if tensor.dtype == _FLOAT32:
                return tensor
        elif tensor.dtype == like.dtype and tensor.device == like.device:
            return tensor
    else:
        raise TypeError(f"{argument} is {type(tensor).__name__}, but must be a tensor")
    if not tensor.is_floating_point():
        raise TypeError(f"{argument} is of {tensor.dtype}, but must be of floats")
    if like is not None:
        if tensor.device != like.device:
            raise ValueError(f"{argument} is on {tensor.device}, but the first argument on {like.device}")
        return tensor.to(like.dtype)
    if tensor.dtype == torch.float64:
        if tensor.is_cuda:
            raise TypeError(f"{argument} is of float64, but CUDA devices compute in float32: convert it first")
        return tensor
    return tensor.float()


def parts_of(x: Any, argument: str) -> Tuple[Tensor, Tensor]:
    """Real and imaginary parts of a tensor of floats or complex numbers."""
    if not isinstance(x, Tensor) or not x.is_complex():
        values = real(x, argument)
        return values, torch.zeros_like(values)
    # A conjugate that is lazy has an imaginary part that is lazily negative, which operators resolve.
    return real(x.real.to(_REAL[x.dtype]), argument), real(x.imag.to(_REAL[x.dtype]), argument)


def pairs(x: Any, argument: str) -> Tensor:
    """A tensor of floats or complex numbers as real and imaginary parts side by side, ``[…, 2]``."""
    if not isinstance(x, Tensor) or not x.is_complex():
        values = real(x, argument)
        return torch.stack((values, torch.zeros_like(values)), -1)
    x = x.to(torch.complex64) if x.dtype == torch.complex32 else x
    return real(torch.view_as_real(x.resolve_conj()), argument)


def rows(tensor: Tensor, argument: str) -> Tensor:
    """A tensor as rows along its last dimension."""
    if tensor.dim() == 2:
        return tensor
    if tensor.dim() == 0 or tensor.shape[-1] == 0:
        raise ValueError(f"{argument} is of shape {list(tensor.shape)}, but must have values along the last dimension")
    return tensor.reshape(-1, tensor.shape[-1])


def unflattened(result: Tensor, x: Tensor) -> Tensor:
    """Results of rows in the dimensions that `rows` flattened of a tensor."""
    return result if x.dim() == 2 else result.reshape(*x.shape[:-1], *result.shape[1:])


def are_abstract() -> bool:
    """Whether tensors may have no values of their own: in compilers, and within transforms of ``torch.func``."""
    return torch.compiler.is_compiling() or torch._C._are_functorch_transforms_active()


def hann(n: int, like: Tensor) -> Tensor:
    """The periodic Hann window of `n` samples, in the type and on the device of a tensor."""
    return kept((n,), like, lambda: torch.hann_window(n, dtype=torch.float64, device=like.device))


def kept(key: Tuple[Any, ...], like: Tensor, make: Callable[[], Tensor]) -> Tensor:
    """Constants in the type and on the device of a tensor, which are made once for each `key`."""
    key = (*key, like.dtype, like.device)
    if are_abstract():
        return make().to(like.device, like.dtype)
    known = _KEPT.get(key)
    if known is not None:
        return known
    with torch.inference_mode(False), torch.no_grad():
        constants = make().to(like.device, like.dtype)
    if like.is_cuda:
        if torch.cuda.is_current_stream_capturing():
            # The graph's own memory, which holds no values until it is replayed.
            return constants
        # Other streams may use the values next.
        torch.cuda.current_stream(like.device).synchronize()
    _KEPT[key] = constants
    return constants
