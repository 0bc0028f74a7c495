"""C functions of ``interop/include/firefly.h``: launch plans, and shapes and gradients of operations."""

from __future__ import annotations

import ctypes
import functools
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
    ("gradient", ctypes.c_int32, ctypes.c_char_p, ctypes.c_uint8, _u64, ctypes.c_char_p, _u64),
    ("outputs", ctypes.c_int32, ctypes.c_char_p, _pointer, _u32, _u32, ctypes.c_char_p, _u64),
):
    _function = getattr(_library, f"firefly_{_name}")
    _function.restype, _function.argtypes = _result, _arguments

_TYPES = (np.float32, np.int32, np.int64)
# Dimensions of an output, of which operations have four at most.
_ROOM = 8


def _failure() -> Exception:
    message = _library.firefly_error().decode()
    return ValueError(message) if "but must be" in message else RuntimeError(message)


def _described(arrays: Sequence[Tuple[int, Sequence[int], Sequence[int]]]) -> Any:
    described = []
    for address, shape, strides in arrays:
        lengths = ctypes.c_int64 * len(shape)
        described.append(_Array(address, lengths(*shape), lengths(*strides), len(shape)))
    return (_Array * len(described))(*described)


@functools.lru_cache(maxsize=4096)
def gradient(operation: str, needed: int) -> Tuple[str, int, str]:
    """How gradients go back through an operation, the length of rows that they are scattered to (0 for that of the
    first input), and the operation that computes them. `needed` has a bit per input.

    >>> gradient("top_k 5 0", 1)
    ('selected', 0, '')
    """
    buffer = ctypes.create_string_buffer(1024)
    if not 0 <= _library.firefly_gradient(operation.encode(), needed, 0, buffer, 1024) < 1024:
        raise ValueError(_library.firefly_error().decode())
    kind, _, rest = buffer.value.decode().partition(" ")
    length, _, after = rest.partition(" ") if kind == "selected" else ("0", "", rest)
    return kind, int(length), after


@functools.lru_cache(maxsize=4096)
def outputs(operation: str, shapes: Tuple[Tuple[int, ...], ...], is_double: bool) -> List[Tuple[Tuple[int, ...], str]]:
    """Shapes and types of an operation's outputs for inputs of these shapes, of float64 or float32.

    Raises ``ValueError`` for options and shapes that the operation refuses.

    >>> outputs("top_k 5 1", ((8, 129),), False)
    [((8, 5), 'int32'), ((8, 5), 'float32')]
    """
    buffer = ctypes.create_string_buffer(1024)
    inputs = _described([(0, shape, shape) for shape in shapes])
    dtype = 3 if is_double else 0
    if not 0 <= _library.firefly_outputs(operation.encode(), inputs, len(shapes), dtype, buffer, 1024) < 1024:
        raise _failure()
    lines = [line.split(" ") for line in buffer.value.decode().split("\n")]
    return [(tuple(int(length) for length in lengths), name) for name, *lengths in lines]


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
        self._plan = _library.firefly_plan(operation.encode(), device, _described(arrays), len(arrays))
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
