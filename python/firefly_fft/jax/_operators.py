"""Operations as calls of XLA's foreign function interface: shapes, gradients and batches.

All of them are calls of the target ``firefly``, whose attribute ``operation`` has the name of an operation of the table
and its options as text.
"""

from __future__ import annotations

import ctypes
import functools
import os
import re
from typing import Any, Callable, List, Sequence, Tuple

import jax
import jax.numpy as jnp
from jax.custom_batching import custom_vmap

from .. import _native, _operations, _plans
from .._libdevice import find_libdevice

_TARGET = "firefly"


def _register() -> None:
    """Registers the handlers, after the version of the interface is checked."""
    header = os.path.join(jax.ffi.include_dir(), "xla", "ffi", "api", "c_api.h")
    with open(header, encoding="utf-8") as text:
        found = dict(re.findall(r"define XLA_FFI_API_(MAJOR|MINOR) (\d+)", text.read()))
    version = (int(found.get("MAJOR", -1)), int(found.get("MINOR", -1)))
    if version[0] != 0 or version[1] < 1:
        raise ImportError(
            f"firefly_fft.jax: XLA's foreign function interface is of version {version[0]}.{version[1]}, but must be "
            "of a version from 0.1 on and before 1"
        )
    library = ctypes.CDLL(_native.__file__)
    library.firefly_jax_minor(version[1])
    for platform, handler in (("cpu", library.firefly_jax_cpu), ("CUDA", library.firefly_jax_cuda)):
        jax.ffi.register_ffi_target(_TARGET, jax.ffi.pycapsule(handler), platform=platform)
    if _native.BUILT_FOR_CUDA:
        find_libdevice()


_register()


def apply(operation: str, *arrays: Any) -> Any:
    """The outputs of an operation on arrays of one type, which gradients go back through."""
    found = _differentiable(operation)(*arrays)
    return found if len(found) > 1 else found[0]


def _call(operation: str, *arrays: Any) -> Tuple[Any, ...]:
    """The outputs, without gradients. Parts of complex values are the last dimension of operations."""
    shapes = tuple((*array.shape, 2) if jnp.iscomplexobj(array) else array.shape for array in arrays)
    outputs = _plans.outputs(operation, shapes, arrays[0].dtype in (jnp.float64, jnp.complex128))
    results = [
        jax.ShapeDtypeStruct(shape[:-1], jnp.result_type(dtype, jnp.complex64))
        if operation.startswith("interleaved_fft ") and len(shape) > 2
        else jax.ShapeDtypeStruct(shape, dtype)
        for shape, dtype in outputs
    ]
    return tuple(jax.ffi.ffi_call(_TARGET, results)(*arrays, operation=operation))


@functools.lru_cache(maxsize=4096)
def _batched(operation: str) -> Callable[..., Tuple[Any, ...]]:
    """The operation with a rule for ``vmap``: a call of more rows, or a call after the other where an input that rows
    share differs."""
    call = custom_vmap(functools.partial(_call, operation))

    def rule(size: int, differ: Sequence[bool], *arrays: Any) -> Tuple[Any, Any]:
        shared = _operations.shared_inputs(operation, differ)
        if shared is None:

            def one(differing: List[Any]) -> Tuple[Any, ...]:
                remaining = iter(differing)
                return call(*(next(remaining) if differs else x for x, differs in zip(arrays, differ)))

            found = jax.lax.map(one, [x for x, differs in zip(arrays, differ) if differs])
        else:
            flat = [
                x if is_shared else _flattened(x if differs else jnp.broadcast_to(x, (size, *x.shape)))
                for x, differs, is_shared in zip(arrays, differ, shared)
            ]
            found = [x.reshape(size, x.shape[0] // size, *x.shape[1:]) for x in call(*flat)]
        return tuple(found), (True,) * len(found)

    call.def_vmap(rule)
    return call


def _flattened(x: Any) -> Any:
    return x.reshape(x.shape[0] * x.shape[1], *x.shape[2:])


@jax.tree_util.register_pytree_node_class
class _Saved:
    """What the gradients of a call depend on: arrays, and what is known when it is traced."""

    def __init__(self, arrays: Sequence[Any], needed: Tuple[bool, ...], shapes: Tuple[Tuple[int, ...], ...]) -> None:
        self.arrays, self.needed, self.shapes = arrays, needed, shapes

    def tree_flatten(self) -> Tuple[Sequence[Any], Any]:
        return self.arrays, (self.needed, self.shapes)

    @classmethod
    def tree_unflatten(cls, known: Any, arrays: Sequence[Any]) -> _Saved:
        return cls(arrays, *known)


@functools.lru_cache(maxsize=4096)
def _differentiable(operation: str) -> Callable[..., Tuple[Any, ...]]:
    """The operation with its gradients."""
    name = operation.split(" ", 1)[0]
    kind, _, backward = _plans.gradient(operation, 0)
    function = jax.custom_vjp(_batched(operation))

    def forward(*primals: Any) -> Tuple[Tuple[Any, ...], _Saved]:
        if kind in ("unsupported", "discrete"):
            of = "gradients of gradients" if name.endswith("_backward") else "gradients through it"
            raise NotImplementedError(f"{name}: {of} are not supported")
        arrays = [primal.value for primal in primals]
        outputs = function(*arrays)
        inputs_matter = kind == "backward" or (kind == "selected" and backward != "")
        saved = [*(outputs[:1] if kind == "selected" else ()), *(arrays if inputs_matter else ())]
        needed = tuple(bool(primal.perturbed) for primal in primals)
        return outputs, _Saved(saved, needed, tuple(array.shape for array in arrays))

    function.defvjp(forward, functools.partial(_gradients, operation), symbolic_zeros=True)
    return function


def _gradients(operation: str, saved: _Saved, grads: Sequence[Any]) -> Tuple[Any, ...]:
    """Gradients of the inputs from those of the outputs; None for inputs that need none."""
    bits = sum(need << place for place, need in enumerate(saved.needed))
    kind, length, backward = _plans.gradient(operation, bits)
    if operation.startswith("interleaved_fft "):
        # Gradients of complex values are those of their conjugates elsewhere: of the transpose, not the adjoint.
        words = backward.split(" ")
        words[3] = operation.split(" ")[3]
        backward = " ".join(words)
    if kind == "selected":
        bins, *inputs = saved.arrays
        scattered = _scattered(_dense(grads[1]), bins, length or saved.shapes[0][-1])
        found = apply(backward, *inputs, scattered) if backward else scattered
    else:
        found = apply(backward, *saved.arrays, *map(_dense, grads))
    results = list(found) if isinstance(found, tuple) else [found]
    if kind == "adjoint":
        # The adjoint is of whole rows, where the inputs may have been cut or padded.
        return tuple(_resized(result, shape[1]) for result, shape in zip(results, saved.shapes))
    # Other gradients are those that are needed.
    remaining = iter(results)
    return tuple(next(remaining) if need else None for need in saved.needed)


def _dense(grad: Any) -> Any:
    return jnp.zeros(grad.shape, grad.dtype) if isinstance(grad, jax.custom_derivatives.SymbolicZero) else grad


def _scattered(grad: Any, bins: Any, length: int) -> Any:
    """Gradients of selected values as those of all values of rows, which are zero where nothing was selected."""
    zeros = jnp.zeros((grad.shape[0], length), grad.dtype)
    rows = jnp.arange(grad.shape[0])[:, None]
    # No bin is selected twice.
    return zeros.at[rows, jnp.where(bins < 0, length, bins)].set(grad, mode="drop", unique_indices=False)


def _resized(x: Any, width: int) -> Any:
    """Rows ``[rows, …]`` cut or padded with zeros to `width` values."""
    missing = width - x.shape[1]
    return x[:, :width] if missing <= 0 else jnp.pad(x, [(0, 0), (0, missing)] + [(0, 0)] * (x.ndim - 2))
