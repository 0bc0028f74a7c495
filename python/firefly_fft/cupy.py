"""Functions of `firefly_fft` on CuPy's arrays: kernels on their own memory and on CuPy's current stream.

Arguments are those of the functions of the same names in `firefly_fft` and `firefly_fft.fft`, which take such arrays,
too. These are of float32, float16 or complex64, with any strides. Results and temporary memory are of CuPy's pool, and
calls return without waiting. What is not computed is refused with a ``ValueError`` that names the argument. It needs a
build of the package with the feature `cuda`. A first call compiles kernels, and uploads the window of a name.

>>> import cupy, firefly_fft.cupy as ff  # doctest: +SKIP
>>> ff.rfft(cupy.ones((2, 15), cupy.float32)).shape  # doctest: +SKIP
(2, 8)
"""

from __future__ import annotations

import functools
import inspect
import math
import os
from typing import Any, Callable, Dict, List, Tuple

import cupy
import numpy as np

from . import _mel, _operations, _select, _welch
from . import fft as _fft
from ._arrays import count
from ._dispatch import check_device
from ._operations import COMPLEX, INVERSE_REAL, REAL
from ._plans import Plan
from ._segments import frequencies, removes_mean, segments_of
from ._select import LocalMaxima, TopK
from ._welch import Peaks
from ._windows import coefficients, is_named

__all__ = "fft ifft rfft irfft welch welch_psd welch_peaks power_spectrum top_k local_maxima mel log_mel".split()

_WINDOWS: Dict[Any, Any] = {}
# Bytes that launches need temporary memory to be aligned to.
_ALIGNMENT = 512
# The compiler looks for CUDA's functions of numbers in a folder of this name.
_toolkit = cupy.cuda.get_cuda_path()
if _toolkit and os.path.isdir(os.path.join(_toolkit, "nvvm", "libdevice")):
    os.environ.setdefault("CUDA_PATH", _toolkit)


def _apply(operation: str, *inputs: Any) -> List[Any]:
    """The outputs of an operation."""
    arrays = [x if all(s >= 0 and s % 4 == 0 for s in x.strides) else cupy.ascontiguousarray(x) for x in inputs]
    device = inputs[0].device.id
    plan = Plan(operation, device, [(x.data.ptr, x.shape, [s // 4 for s in x.strides]) for x in arrays])
    outputs = [cupy.empty(shape, dtype) for shape, dtype in plan.outputs]
    # The pool gives the memory to what is queued on this stream later. Other allocators align it to less.
    size = plan.workspace
    workspace = cupy.cuda.alloc(size + _ALIGNMENT if size else 0)
    address = -(-workspace.ptr // _ALIGNMENT) * _ALIGNMENT
    of_inputs, of_outputs = ([x.data.ptr for x in group] for group in (arrays, outputs))
    plan.launch(of_inputs, of_outputs, address, cupy.cuda.get_current_stream().ptr)
    return outputs


def _rows(x: Any, axis: int, is_real: bool = True) -> Tuple[Any, Tuple[int, ...]]:
    """An array as rows along `axis`, and the lengths of its other dimensions."""
    if x.dtype.kind == "c" and is_real:
        raise TypeError("x is complex, but must be real")
    if x.dtype not in (np.float16, np.float32, np.complex64):
        raise ValueError(
            f"x is of {x.dtype}, which is computed in float64, but GPUs compute in float32: convert it first, as with "
            "`x.astype(cupy.float32)`, or copy it to the host with `cupy.asnumpy(x)`"
        )
    if not -x.ndim <= axis < x.ndim:
        raise ValueError(f"axis is {axis}, but x has {x.ndim} dimensions")
    x = cupy.moveaxis(x if x.dtype.kind == "c" else x.astype(np.float32, copy=False), axis, -1)
    if x.shape[-1] == 0:
        raise ValueError("x has no samples along the axis")
    return x.reshape(math.prod(x.shape[:-1]), x.shape[-1]), x.shape[:-1]


def _back(result: Any, leading: Tuple[int, ...], axis: int) -> Any:
    return cupy.moveaxis(result.reshape(*leading, *result.shape[1:]), -1, axis)


def _arguments_of(plain: Callable[..., Any]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorator of a function that takes all arguments of one of NumPy's arrays, and has its name and documentation."""
    signature = inspect.signature(plain)

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **options: Any) -> Any:
            bound = signature.bind(*arguments, **options)
            bound.apply_defaults()
            x = bound.arguments["x"]
            if not isinstance(x, cupy.ndarray):
                raise TypeError(f"x is {type(x).__name__}, but must be an array of CuPy")
            check_device(x, "x", bound.arguments.pop("device", None))
            with x.device:
                return function(**bound.arguments)

        return functools.update_wrapper(call, plain)

    return decorate


def _transform(form: int, forward: bool, x: Any, n: int | None, axis: int, norm: str | None) -> Any:
    rows, leading = _rows(x, axis, form == REAL)
    default = 2 * (rows.shape[1] - 1) if form == INVERSE_REAL else rows.shape[1]
    if form != REAL:
        # Real and imaginary parts side by side.
        rows = cupy.ascontiguousarray(rows, np.complex64).view(np.float32).reshape(*rows.shape, 2)
    text = _operations.transform(form, count(default if n is None else n, "n"), forward, norm)
    [found] = _apply(text, rows)
    return _back(found if form == INVERSE_REAL else found.view(np.complex64)[..., 0], leading, axis)


fft = _arguments_of(_fft.fft)(functools.partial(_transform, COMPLEX, True))
ifft = _arguments_of(_fft.ifft)(functools.partial(_transform, COMPLEX, False))
rfft = _arguments_of(_fft.rfft)(functools.partial(_transform, REAL, True))
irfft = _arguments_of(_fft.irfft)(functools.partial(_transform, INVERSE_REAL, False))


def _taper(window: Any, n: int, like: Any, points: int = 0) -> Any:
    """A window's coefficients beside an array, with zeros on both sides up to a number of points."""
    missing = max(0, points - (n if is_named(window) else len(window)))
    ends = (missing // 2, missing - missing // 2)
    if isinstance(window, cupy.ndarray):
        return cupy.pad(window.astype(np.float32, copy=False), ends)
    if not is_named(window):
        return cupy.asarray(np.pad(coefficients(window, n), ends).astype(np.float32))
    key = (window, n, points, like.device.id)
    if key not in _WINDOWS:
        _WINDOWS[key] = cupy.asarray(np.pad(coefficients(window, n), ends).astype(np.float32))
        # Other streams may use the values next.
        cupy.cuda.get_current_stream().synchronize()
    return _WINDOWS[key]


def _only(name: str, value: Any, only: Any) -> None:
    if value != only:
        raise ValueError(f"{name} is {value!r}, but of CuPy's arrays must be {only!r}")


def _psd(
    name: str, x: Any, fs: Any, framing: Tuple[Any, ...], detrend: Any, scaling: str, axis: int, **more: Any
) -> Any:
    """The segments, and the results of an operation of Welch's method."""
    rows, leading = _rows(x, axis)
    window, *others = framing
    known = np.ones(len(window)) if isinstance(window, cupy.ndarray) else window
    segments = segments_of(rows.shape[1], known, *others)
    _only("nfft", segments.nfft, segments.length)
    if callable(detrend):
        raise ValueError("detrend is a function, but of CuPy's arrays must be 'constant' or False")
    number, band, averaged = segments.number(rows.shape[1]), more.get("band"), more.get("segments")
    if band is not None:
        searched = _welch._bins_of(band, _welch._Estimate(segments, float(fs), scaling, False, "cpu"))
        band = (int(searched[0]), int(searched[-1]) + 1)
    chosen = None if averaged is None else _welch.segment_indices(averaged, number)
    options = (number, scaling, float(fs), removes_mean(detrend), band, chosen)
    text = f"{name} {_operations.welch(0, segments.length, segments.step, *options)}{more.get('suffix', '')}"
    found = _apply(text, rows, _taper(window, segments.length, rows))
    return segments, [_back(values, leading, axis) for values in found]


@_arguments_of(_welch.welch)
def welch(x: Any, fs: float, return_onesided: bool, average: str, **options: Any) -> Any:
    _only("return_onesided", bool(return_onesided), True)
    _only("average", average, "mean")
    framing = tuple(options.pop(name) for name in ("window", "nperseg", "noverlap", "nfft"))
    segments, (power,) = _psd("welch_psd", x, fs, framing, **options)
    return cupy.asarray(frequencies(segments.nfft, fs, False)), power


def welch_psd(x: Any, *arguments: Any, **options: Any) -> Any:
    """Power of `welch`, whose arguments these are."""
    return welch(x, *arguments, **options)[1]


def power_spectrum(x: Any, fs: float = 1.0, window: Any = "boxcar", **options: Any) -> Any:
    """One-sided power of whole rows: by default the squared magnitude of the transform, interior bins doubled.

    `options` are `detrend`, `scaling` and `axis` of `welch`, by default False, "power" and −1.
    """
    axis = options.get("axis", -1)
    samples = x.shape[axis] if -x.ndim <= axis < x.ndim else None
    return welch(x, fs, window, samples, 0, **{"detrend": False, "scaling": "power", **options})[1]


@_arguments_of(_welch.welch_peaks)
def welch_peaks(x: Any, k: int, fs: float, window: Any, nperseg: Any, noverlap: Any, **more: Any) -> Peaks:
    framing = (window, nperseg, noverlap, None)
    return Peaks(*_psd("welch_peaks", x, fs, framing, suffix=f" {count(k, 'k')} 1", **more)[1])


@_arguments_of(_select.top_k)
def top_k(x: Any, k: int, axis: int) -> TopK:
    rows, leading = _rows(x, axis)
    return TopK(*(_back(values, leading, axis) for values in _apply(f"top_k {count(k, 'k')} 1", rows)))


@_arguments_of(_select.local_maxima)
def local_maxima(x: Any, k: int, axis: int, **conditions: Any) -> LocalMaxima:
    rows, leading = _rows(x, axis)
    conditions = _select.conditions_of(**conditions)
    bins, bases = _apply(_operations.local_maxima(count(k, "k"), **conditions, index=1), rows)
    found = _operations.of_maxima(cupy, cupy.take_along_axis, rows, bins, bases, conditions["interpolation"])
    return LocalMaxima(*(_back(values, leading, axis) for values in (bins, *found)))


def _bands(x: Any, window: Any, win_length: Any, **options: Any) -> Any:
    rows, leading = _rows(x, -1)
    logarithm = {"log": str(options.pop("log")), "floor": options.pop("floor")} if "log" in options else {}
    bands = _mel._bands(*(options[name] for name in ("fs", "n_mels", "fmin", "fmax", "htk", "norm")))
    n_fft = count(options["n_fft"], "n_fft")
    taper = _taper(window, n_fft if win_length is None else count(win_length, "win_length"), rows, n_fft)
    (found,) = _apply(_operations.mel(**{"log": None, "floor": 0.0, **options, **logarithm}), rows, taper)
    _mel._warn_of_empty(n_fft, bands)
    return found.reshape(*leading, *found.shape[1:])


mel, log_mel = _arguments_of(_mel.mel)(_bands), _arguments_of(_mel.log_mel)(_bands)
