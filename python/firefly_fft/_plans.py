"""Launch plans of the C functions of ``interop/include/firefly.h``: kernels on memory and streams of others."""

from __future__ import annotations

import ctypes
from typing import Any, List, Sequence, Tuple

import numpy as np

from . import _native


class _Array(ctypes.Structure):
    _fields_ = (
        ("address", ctypes.c_uint64),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("dimensions", ctypes.c_uint32),
    )


_library = ctypes.CDLL(_native.__file__)
_pointer, _u32, _u64 = ctypes.c_void_p, ctypes.c_uint32, ctypes.c_uint64
for _name, _result, *_arguments in (
    ("error", ctypes.c_char_p),
    ("plan", _pointer, ctypes.c_char_p, _u32, _pointer, _u32),
    ("plan_free", None, _pointer),
    ("plan_workspace", _u64, _pointer),
    ("plan_outputs", _u32, _pointer),
    ("plan_output", ctypes.c_int32, _pointer, _u32, _pointer, _u32, _pointer),
    ("plan_launch", ctypes.c_int32, _pointer, _pointer, _pointer, _u64, _pointer),
):
    _function = getattr(_library, f"firefly_{_name}")
    _function.restype, _function.argtypes = _result, _arguments

_TYPES = (np.float32, np.int32, np.int64)
# Dimensions of an output, of which operations have four at most.
_ROOM = 8


def _failure() -> Exception:
    message = _library.firefly_error().decode()
    return ValueError(message) if "but must be" in message else RuntimeError(message)


class Plan:
    """The launches of an operation, in whose text its options are, for arrays of float32 on a CUDA device.

    `arrays` are addresses, shapes, and strides in values. Raises ``ValueError`` for options and shapes that the
    operation refuses, and ``RuntimeError`` for a device or a build that can't compute it.

    >>> try:
    ...     Plan("top_k 9 0", 0, [(0, (2, 5), (5, 1))])
    ... except ValueError as error:
    ...     print("`k` is 9" in str(error))
    True
    """

    def __init__(self, operation: str, device: int, arrays: Sequence[Tuple[int, Sequence[int], Sequence[int]]]) -> None:
        self._plan = None
        described = []
        for address, shape, strides in arrays:
            lengths = ctypes.c_int64 * len(shape)
            described.append(_Array(address, lengths(*shape), lengths(*strides), len(shape)))
        inputs = (_Array * len(described))(*described)
        self._plan = _library.firefly_plan(operation.encode(), device, inputs, len(described))
        if not self._plan:
            raise _failure()

    def __del__(self) -> None:
        if self._plan:
            _library.firefly_plan_free(self._plan)

    @property
    def outputs(self) -> List[Tuple[Tuple[int, ...], Any]]:
        """Shapes and types of the outputs, which are contiguous; whole numbers come before floats."""
        found = []
        for index in range(_library.firefly_plan_outputs(self._plan)):
            shape, dtype = (ctypes.c_int64 * _ROOM)(), ctypes.c_uint32()
            rank = _library.firefly_plan_output(self._plan, index, shape, _ROOM, ctypes.byref(dtype))
            found.append((tuple(shape[:rank]), _TYPES[dtype.value]))
        return found

    @property
    def workspace(self) -> int:
        """Bytes of temporary memory that a launch needs, aligned to 512."""
        return int(_library.firefly_plan_workspace(self._plan))

    def launch(self, inputs: Sequence[int], outputs: Sequence[int], workspace: int, stream: int) -> None:
        """Launches on a stream, and returns without waiting; inputs and outputs are addresses."""
        places = [(ctypes.c_uint64 * len(group))(*group) for group in (inputs, outputs)]
        if _library.firefly_plan_launch(self._plan, *places, workspace, stream) != 0:
            raise _failure()
