"""Arguments of functions: arrays of one type as rows, and back; functions that are compiled once per options."""

from __future__ import annotations

import functools
import inspect
from typing import Any, Callable, Tuple, TypeVar, cast

import jax
import jax.numpy as jnp
import numpy as np

Function = TypeVar("Function", bound=Callable[..., Any])


def compiled(*arrays: str) -> Callable[[Function], Function]:
    """Decorator of a function that JAX compiles for its options: all arguments but `arrays`."""

    def decorate(function: Function) -> Function:
        names = list(inspect.signature(function).parameters)
        options = [name for name in names if name not in arrays]
        of_options = jax.jit(function, static_argnames=options, inline=True)

        @functools.wraps(function)
        def call(*values: Any, **more: Any) -> Any:
            for name, value in (*zip(names, values), *more.items()):
                if name in options:
                    _check_option(name, value)
                else:
                    _check_device(name, value)
            return of_options(*values, **more)

        return cast(Function, call)

    return decorate


def _check_option(name: str, value: Any) -> None:
    if isinstance(value, (jax.Array, np.ndarray)):
        raise TypeError(f"{name} is an array, but must be a number or a text that is known when JAX compiles")
    try:
        hash(value)
    except TypeError:
        raise TypeError(f"{name} is a {type(value).__name__}, but must be a number, a text or a tuple") from None


def _check_device(name: str, value: Any) -> None:
    """Refuses float64 on a device that computes in float32, which a traced array is refused for when it is computed."""
    if getattr(value, "dtype", None) not in (np.float64, np.complex128) or isinstance(value, jax.core.Tracer):
        return
    if any(device.platform != "cpu" for device in getattr(value, "devices", set)()):
        raise TypeError(f"{name} is of {value.dtype}, but CUDA devices compute in float32: convert it first")


def real(x: Any, argument: str, like: Any = None) -> Any:
    """An array of floats in the type that is computed with: float64, or float32 for any smaller float."""
    dtype = _dtype(x, argument)
    if not jnp.issubdtype(dtype, jnp.floating):
        raise TypeError(f"{argument} is of {dtype}, but must be of floats")
    if like is not None:
        return x.astype(like.dtype)
    return x.astype(jnp.float64 if dtype == jnp.float64 else jnp.float32)


def _dtype(x: Any, argument: str) -> Any:
    if not isinstance(x, (jax.Array, np.ndarray)):
        raise TypeError(f"{argument} is {type(x).__name__}, but must be an array")
    return x.dtype


def is_complex(x: Any, argument: str) -> bool:
    """Whether an array is complex."""
    return bool(jnp.issubdtype(_dtype(x, argument), jnp.complexfloating))


def values(x: Any, argument: str) -> Any:
    """An array of floats or complex numbers in the type that is computed with."""
    return x if is_complex(x, argument) else real(x, argument)


def complex_values(x: Any, argument: str) -> Any:
    """An array of floats or complex numbers as complex numbers."""
    x = values(x, argument)
    return x if jnp.iscomplexobj(x) else jax.lax.complex(x, jnp.zeros_like(x))


def parts_of(x: Any, argument: str) -> Tuple[Any, Any]:
    """Real and imaginary parts of an array of floats or complex numbers."""
    if is_complex(x, argument):
        return jnp.real(x), jnp.imag(x)
    x = real(x, argument)
    return x, jnp.zeros_like(x)


def rows(x: Any, argument: str) -> Any:
    """An array as rows along its last dimension."""
    if x.ndim == 0 or x.shape[-1] == 0:
        raise ValueError(f"{argument} is of shape {list(x.shape)}, but must have values along the last dimension")
    return x.reshape(-1, x.shape[-1])


def unflattened(result: Any, x: Any) -> Any:
    """Results of rows in the dimensions that `rows` flattened of an array."""
    return result.reshape(*x.shape[:-1], *result.shape[1:])


def hann(n: int, like: Any) -> Any:
    """The periodic Hann window of `n` samples, in the type of an array."""
    return jnp.asarray(np.sin(np.pi * np.arange(n) / n) ** 2 if n > 1 else np.ones(1), like.dtype)


def padded(x: Any, before: int, after: int, mode: str = "constant") -> Any:
    """An array with more values at the ends of its last dimension."""
    return jnp.pad(x, [(0, 0)] * (x.ndim - 1) + [(before, after)], mode=mode)
