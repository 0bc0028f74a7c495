"""Operators that the extension registers with PyTorch: calls, shapes and gradients.

Every operation of the table is an operator ``firefly::name(Tensor …, str operation)``: the text has the name of the
operation and its options. ``firefly_raw::name`` is the same without gradients, which costs less per call.
"""

from __future__ import annotations

import ctypes
import functools
import os
from typing import Any, Callable, Dict, List, Sequence, Tuple, TypeVar, cast

import torch
from torch import Tensor

from .. import _native, _operations
from .._libdevice import find_libdevice
from .._plans import gradient

_library = ctypes.CDLL(_native.__file__)
_library.firefly_error.restype = ctypes.c_char_p
_library.firefly_torch_operators.restype = ctypes.c_char_p

T = TypeVar("T", bound=Callable[..., Any])


def cached(function: T) -> T:
    """A function of few different arguments that computes each result once; compilers trace the function itself."""
    once = functools.lru_cache(maxsize=1024)(function)

    @functools.wraps(function)
    def call(*arguments: Any) -> Any:
        return function(*arguments) if torch.compiler.is_compiling() else once(*arguments)

    return cast(T, call)


def _register() -> Dict[Tuple[str, int], Tuple[Any, Any]]:
    """Registers the operators: those without and those with gradients, by the name of the row and the tensors."""
    if torch.version.cuda is not None:
        find_libdevice()
    folder = os.path.join(os.path.dirname(torch.__file__), "lib")
    if _library.firefly_torch_register(os.fsencode(folder)) != 0:
        raise ImportError(f"firefly_fft.torch: {_library.firefly_error().decode()}")
    words = _library.firefly_torch_operators().decode().split(" ")
    found = {}
    for name, row in zip(words[::2], words[1::2]):
        pair = tuple(getattr(getattr(torch.ops, space), name).default for space in ("firefly_raw", "firefly"))
        found[row, len(pair[0]._schema.arguments) - 1] = pair
        for space in ("firefly_raw", "firefly"):
            torch.library.register_fake(f"{space}::{name}", _outputs)
        torch.library.register_autograd(f"firefly::{name}", _backward, setup_context=_setup)
        torch.library.register_vmap(f"firefly::{name}", _vectorized)
    return cast(Dict[Tuple[str, int], Tuple[Any, Any]], found)


def apply(operation: str, *tensors: Tensor) -> Any:
    """The outputs of an operation, which autograd follows where a gradient is needed."""
    raw, differentiable = _OPERATORS[operation.split(" ", 1)[0], len(tensors)]
    if torch.compiler.is_compiling():
        return differentiable(*tensors, operation)
    if torch._C._are_functorch_transforms_active():
        return _TransformedOperation.apply(operation, *tensors)
    if torch.is_grad_enabled():
        for tensor in tensors:
            if tensor.requires_grad:
                return _Operation.apply(operation, *tensors)
    try:
        return raw(*tensors, operation)
    except RuntimeError as error:
        message = str(error).split("\n", 1)[0]
        if "but must be" in message:
            raise ValueError(message) from None
        raise


def _setup(ctx: Any, inputs: Tuple[Any, ...], output: Any) -> None:
    """Keeps what the gradients of a call depend on."""
    *tensors, operation = inputs
    outputs = output if isinstance(output, tuple) else (output,)
    kind, _, backward = gradient(operation, 0)
    ctx.operation = operation
    ctx.shapes = [tensor.shape for tensor in tensors]
    ctx.outputs = [result.shape for result in outputs]
    inputs_matter = kind == "backward" or (kind == "selected" and backward != "")
    bins = [outputs[0]] if kind == "selected" else []
    ctx.save_for_backward(*bins, *(tensors if inputs_matter else []))


def _backward(ctx: Any, *grads: Any) -> Tuple[Any, ...]:
    """Gradients of the tensors of an operator, and none of its text."""
    return (*_gradients(ctx, ctx.needs_input_grad[:-1], grads), None)


def _gradients(ctx: Any, needed: Sequence[bool], grads: Sequence[Any]) -> List[Any]:
    kind, length, backward = gradient(ctx.operation, sum(need << place for place, need in enumerate(needed)))
    if kind in ("unsupported", "discrete"):
        raise NotImplementedError(f"{ctx.operation.split(' ')[0]}: gradients through it are not supported")
    if kind == "selected":
        bins, *inputs = ctx.saved_tensors
        width = length or ctx.shapes[0][-1]
        scattered = _scattered(grads[1], bins, width)
        found = apply(backward, *inputs, scattered) if backward else scattered
    else:
        known = next(grad for grad in grads if grad is not None)
        wholes = [known.new_zeros(s) if g is None else g.contiguous() for g, s in zip(grads, ctx.outputs)]
        found = apply(backward, *ctx.saved_tensors, *wholes)
    results = list(found) if isinstance(found, (tuple, list)) else [found]
    if kind == "adjoint":
        # The adjoint is of whole rows, where the inputs may have been cut or padded.
        results = [_resized(result, shape[1]) for result, shape in zip(results, ctx.shapes)]
    return [result if need else None for result, need in zip(results, needed)]


def _scattered(grad: Tensor, bins: Tensor, length: int) -> Tensor:
    """Gradients of selected values as those of all values of rows, which are zero where nothing was selected."""
    grad = grad.masked_fill(bins < 0, 0.0)
    zeros = grad.new_zeros((*grad.shape[:-1], length))
    return zeros.scatter_add(-1, bins.clamp_min(0).to(torch.int64), grad)


def _resized(tensor: Tensor, width: int) -> Tensor:
    """Rows ``[rows, …]`` cut or padded with zeros to `width` values."""
    if tensor.shape[1] >= width:
        return tensor[:, :width]
    return torch.nn.functional.pad(tensor, (0, 0) * (tensor.dim() - 2) + (0, width - tensor.shape[1]))


class _Operation(torch.autograd.Function):
    """An operation with its gradients, for calls outside of compilers: it costs less than the registered ones."""

    @staticmethod
    def forward(ctx: Any, operation: str, *tensors: Tensor) -> Any:
        if gradient(operation, 0)[0] == "unsupported":
            name = operation.split(" ", 1)[0]
            raise NotImplementedError(f"{name}: gradients of gradients are not supported")
        output = apply(operation, *tensors)
        _setup(ctx, (*tensors, operation), output)
        if isinstance(output, tuple):
            ctx.mark_non_differentiable(*(result for result in output if not result.is_floating_point()))
        return output

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Tuple[Any, ...]:
        return (None, *_gradients(ctx, ctx.needs_input_grad[1:], grads))


class _TransformedOperation(torch.autograd.Function):
    """An operation with its gradients under transforms of ``torch.func``, as vmap and grad."""

    @staticmethod
    def forward(operation: str, *tensors: Tensor) -> Any:
        return apply(operation, *tensors)

    @staticmethod
    def setup_context(ctx: Any, inputs: Tuple[Any, ...], output: Any) -> None:
        operation, *tensors = inputs
        _setup(ctx, (*tensors, operation), output)
        if isinstance(output, tuple):
            ctx.mark_non_differentiable(*(result for result in output if not result.is_floating_point()))

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Tuple[Any, ...]:
        return (None, *_gradients(ctx, ctx.needs_input_grad[1:], grads))

    @staticmethod
    def vmap(info: Any, places: Sequence[Any], operation: str, *tensors: Tensor) -> Tuple[Any, Any]:
        return _vectorized(info, (*places[1:], None), *tensors, operation)


def _vectorized(info: Any, places: Sequence[int | None], *arguments: Any) -> Tuple[Any, Any]:
    """Outputs of an operation under ``vmap``: of more rows, or of one call after the other where an input that rows
    share differs."""
    *tensors, operation = arguments
    batch = info.batch_size
    shared = _operations.shared_inputs(operation, [place is not None for place in places[:-1]])
    firsts = [t if place is None else t.movedim(place, 0) for t, place in zip(tensors, places)]
    if shared is None:
        calls = [apply(operation, *(t if p is None else t[i] for t, p in zip(firsts, places))) for i in range(batch)]
        found = [torch.stack(outputs) for outputs in zip(*(c if isinstance(c, tuple) else (c,) for c in calls))]
    else:
        flat = [
            t if is_shared else (t.expand(batch, *t.shape) if place is None else t).flatten(0, 1)
            for t, place, is_shared in zip(firsts, places, shared)
        ]
        outputs = apply(operation, *flat)
        found = [
            # A gradient that is not needed is no rows.
            output.new_empty(batch, 0) if output.dim() == 1 else output.unflatten(0, (batch, output.shape[0] // batch))
            for output in (outputs if isinstance(outputs, tuple) else (outputs,))
        ]
    return (tuple(found), (0,) * len(found)) if len(found) > 1 else (found[0], 0)


def _outputs(*arguments: Any) -> Any:
    """New tensors of the shapes that an operation's outputs have."""
    *tensors, operation = arguments
    name, *words = operation.split(" ")
    first = tensors[0]
    new = first.new_empty
    if name.endswith("_backward"):
        # The last option says which gradients are needed.
        forward = len(_OPERATORS[name, len(tensors)][0]._schema.returns)
        results = tuple(
            torch.empty_like(tensor, memory_format=torch.contiguous_format) if int(words[-1]) >> place & 1 else new(0)
            for place, tensor in enumerate(tensors[:forward])
        )
        return results if len(results) > 1 else results[0]
    if name in ("welch_peaks", "top_k", "local_maxima"):
        shape, dtype = (first.shape[0], int(words[-2])), torch.int32 if words[-1] == "1" else torch.int64
        return new(shape, dtype=dtype), new(shape, dtype=dtype if name == "local_maxima" else first.dtype)
    if name == "welch_psd":
        return new((first.shape[0], int(words[0]) // 2 + 1))
    if name == "mel":
        # A constant that the signal is padded with stands behind the kind of padding.
        after = 6 if words[4] == "0" else 5
        n_fft, hop, count = int(words[0]), int(words[1]), int(words[after + 3])
        padded = first.shape[1] + (n_fft // 2 * 2 if words[3] == "true" else 0)
        return new((first.shape[0], count, (padded - n_fft) // hop + 1))
    if name == "interleaved_fft":
        form, n = int(words[0]), int(words[1])
        shapes = ((first.shape[0], n, 2), first.shape, (first.shape[0], n // 2 + 1, 2), (first.shape[0], n))
        return new(shapes[form])
    if name == "butterfly":
        return new(first.shape), new(first.shape)
    if name == "spectral_conv":
        return new((first.shape[0], tensors[1].shape[1], *first.shape[2:]))
    if name == "peak_loss":
        return new((first.shape[0], 2))
    return new(first.shape)


_OPERATORS: Dict[Tuple[str, int], Tuple[Any, Any]] = _register()
