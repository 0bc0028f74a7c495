"""Arrays of PyTorch and CuPy, which their own modules compute."""

from __future__ import annotations

import functools
import importlib
import sys
from typing import Any, Callable, Tuple, TypeVar, cast

import numpy as np

Function = TypeVar("Function", bound=Callable[..., Any])

# Libraries, the class of their arrays, and the module that has the functions of these.
_LIBRARIES = (("torch", "Tensor", "firefly_fft.torch._scipy"), ("cupy", "ndarray", "firefly_fft.cupy"))


def library_of(values: Any) -> Tuple[str, str] | None:
    """The library of a tensor of PyTorch or an array of CuPy, and the module for it; None for anything else.

    A library that nobody has imported has no arrays, and is not imported.
    """
    if type(values) is np.ndarray:
        return None
    for library, name, module in _LIBRARIES:
        kind = getattr(sys.modules.get(library), name, None)
        if kind is not None and isinstance(values, kind):
            return library, module
    return None


def dispatched(*names: str) -> Callable[[Function], Function]:
    """Decorator of a function of arrays: those of PyTorch and CuPy go to the function of the same name for them.

    `names` are the leading parameters that may be such arrays. The result is in the memory of the array, and `device`
    may only be None, "auto" or the array's own.
    """

    def decorate(function: Function) -> Function:
        @functools.wraps(function)
        def call(*arguments: Any, **options: Any) -> Any:
            for place, name in enumerate(names):
                values = arguments[place] if place < len(arguments) else options.get(name)
                found = library_of(values)
                if found is not None:
                    check_device(values, name, options.pop("device", None))
                    return _function(function.__name__, name, *found)(*arguments, **options)
            return function(*arguments, **options)

        return cast(Function, call)

    return decorate


def of_numpy(*names: str) -> Callable[[Function], Function]:
    """Decorator of a function of NumPy's arrays alone: those of PyTorch and CuPy as the parameters `names`, the first
    ones or given by name, are refused."""

    def decorate(function: Function) -> Function:
        @functools.wraps(function)
        def call(*arguments: Any, **options: Any) -> Any:
            for name, values in (*zip(names, arguments), *options.items()):
                if name in names:
                    refuse(values, name, function.__name__)
            return function(*arguments, **options)

        return cast(Function, call)

    return decorate


def refuse(values: Any, argument: str, name: str) -> None:
    """Raises ``ValueError`` for an array of PyTorch or CuPy, of which the function of this name has no kernels."""
    found = library_of(values)
    if found is not None:
        convert = f"{argument}.detach().cpu().numpy()" if found[0] == "torch" else f"cupy.asnumpy({argument})"
        raise ValueError(
            f"{argument} is an array of {found[0]}, but {name} takes NumPy's: convert it, as with `{convert}`"
        )


def _function(name: str, argument: str, library: str, module: str) -> Callable[..., Any]:
    try:
        function = getattr(importlib.import_module(module), name, None)
    except ImportError as error:
        convert = "x.numpy()" if library == "torch" else "cupy.asnumpy(x)"
        raise ImportError(f"{argument} is an array of {library}: {error}; NumPy's are {convert}") from error
    if function is None:
        raise ValueError(
            f"{argument} is an array of {library}, of which {name} is not computed: copy it to the host first, as with "
            "`cupy.asnumpy(x)`, or take a tensor, as of `torch.from_dlpack(x)`"
        )
    return cast(Callable[..., Any], function)


def check_device(values: Any, argument: str, device: str | None) -> None:
    """Refuses the name of a device where values are not."""
    if device is None or device == "auto":
        return
    own = str(values.device) if not hasattr(values.device, "id") else f"cuda:{values.device.id}"
    if own != (f"{device}:0" if device == "cuda" else device):
        raise ValueError(f"{argument} is on {own}, but device is {device!r}: move it there first, or leave device out")
