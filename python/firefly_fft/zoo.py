"""Models by name: Welch peaks, learned transforms, mel spectra, forecasts, operators, classifiers.

>>> import numpy as np
>>> model = create("welch_peaks", n_fft=64, k=3)
>>> peaks = model.predict(np.random.default_rng(0).normal(size=(5, 96)))
>>> peaks._fields, peaks.power.shape
(('bins', 'power'), (5, 3))
"""

from __future__ import annotations

import json
import os
import sys
from collections import namedtuple
from typing import Any, Dict, List

import numpy as np

from . import _native
from ._arrays import Array, as_array, count, plain, real
from ._dispatch import library_of

__all__ = ["Model", "card", "create", "list_models", "list_pretrained", "load", "pretrained"]


def list_models(filter: str = "") -> List[str]:
    """Names of the models that contain a text.

    >>> list_models("welch_peaks")[0]
    'welch_peaks'
    """
    return _native.list_models(filter)


def list_pretrained() -> List[str]:
    """Names of the models whose trained weights ship with the package.

    >>> "butterfly_dft_8" in list_pretrained()
    True
    """
    return _native.list_pretrained()


def card(name: str) -> Dict[str, Any]:
    """Card of a model: what it computes, its paper, inputs, outputs, settings, parameters and measured results.

    >>> card("fits")["paper"]["authors"]
    'Xu et al. 2024'
    """
    return _decoded(_native.card(name))


def create(name: str, *, device: str = "cpu", **settings: Any) -> Model:
    """Untrained model of a name, with settings of its card replaced.

    >>> create("learned_welch_peaks_tiny").parameters > 0
    True
    """
    return Model(_native.create(name, json.dumps(settings, default=plain), device))


def pretrained(name: str, *, device: str = "cpu") -> Model:
    """Model with the trained weights that ship with the package.

    >>> pretrained("butterfly_dft_8").family
    'butterfly'
    """
    return Model(_native.pretrained(name, device))


def load(path: str | os.PathLike[str], *, device: str = "cpu") -> Model:
    """Model that `Model.save` wrote to a safetensors file; of a run, see `firefly_fft.Run.model`.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     create("fits_tiny").save(f"{folder}/model.safetensors")
    ...     load(f"{folder}/model.safetensors")
    <firefly_fft.zoo.Model fits, 180 parameters>
    """
    return Model(_native.load(os.fspath(path), device))


class Model:
    """A model of the zoo. It can be pickled, which takes it to another process with its weights.

    >>> import numpy as np, pickle
    >>> model = create("fits_tiny")
    >>> outputs = model.predict(np.zeros([2, *model.inputs[0][1:]]))
    >>> outputs._fields
    ('forecast', 'reconstruction')
    >>> pickle.loads(pickle.dumps(model))
    <firefly_fft.zoo.Model fits, 180 parameters>
    """

    def __init__(self, native: _native.Model) -> None:
        self._native = native
        names = native.outputs()
        self._outputs = namedtuple("Outputs", names, rename=True) if len(names) > 1 else None

    def predict(self, *inputs: Any, batch_size: int | None = None) -> Any:
        """Outputs of arrays of inputs, whose first dimension is the batch.

        Floats compute in float32, the type of the weights; tokens are integers. A model with one output returns an
        array, with several a named tuple. With `batch_size`, so many examples are computed at a time.

        Inputs are in the host's memory; of tensors of PyTorch outputs are tensors there, without gradients. A model is
        on one device; for several, create one per device and give each its part of the batch.

        >>> import numpy as np
        >>> bins, power = create("welch_peaks", n_fft=64, k=3).predict(np.ones((5, 96)), batch_size=2)
        >>> bins.shape
        (5, 3)
        """
        floats = self._native.float_inputs()
        if len(inputs) != len(floats):
            raise ValueError(f"{len(inputs)} inputs are given, but {self._native.family()} has {len(floats)}")
        arrays = [_input(value, is_float) for value, is_float in zip(inputs, floats)]
        if batch_size is None:
            outputs = self._native.predict(arrays)
        else:
            step = count(batch_size, "batch_size")
            if len({array.shape[:1] for array in arrays}) > 1:
                lengths = ", ".join(str(array.shape) for array in arrays)
                raise ValueError(f"inputs are of the shapes {lengths}, but must have one number of examples")
            starts = range(0, max(1, len(arrays[0])), step)
            parts = [self._native.predict([array[start : start + step] for array in arrays]) for start in starts]
            outputs = [np.concatenate(part) for part in zip(*parts)]
        if any((library_of(value) or ("",))[0] == "torch" for value in inputs):
            outputs = [sys.modules["torch"].from_numpy(output) for output in outputs]
        return outputs[0] if self._outputs is None else self._outputs(*outputs)

    @property
    def family(self) -> str:
        """Name of the model's family."""
        return self._native.family()

    @property
    def inputs(self) -> List[List[int]]:
        """Shapes of the inputs for a batch of one."""
        return self._native.inputs()

    @property
    def settings(self) -> Dict[str, Any]:
        """Every setting of the model's configuration."""
        return _decoded(self._native.settings())

    @property
    def parameters(self) -> int:
        """Number of trainable values."""
        return self._native.parameters()

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the model to a safetensors file, which `load` reads. An existing file is replaced.

        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     create("fits_tiny").save(f"{folder}/model.safetensors")
        """
        self._native.save(os.fspath(path))

    def __repr__(self) -> str:
        return f"<firefly_fft.zoo.Model {self.family}, {self.parameters} parameters>"

    def __reduce__(self) -> Any:
        return _from_bytes, (self._native.to_bytes(), self._native.device())


def _from_bytes(weights: bytes, device: str) -> Model:
    return Model(_native.from_bytes(weights, device))


def _input(value: Any, is_float: bool) -> Array:
    if is_float:
        return np.require(real(value, "input"), np.float32, ["C_CONTIGUOUS", "ALIGNED"])
    array = as_array(value, "input")
    if array.dtype.kind not in "iu":
        raise TypeError(f"input is of {array.dtype}, but must be of integers")
    if array.size and array.max() > np.iinfo(np.int64).max:
        raise ValueError(f"input has the token {array.max()}, but they must be at most {np.iinfo(np.int64).max}")
    return np.require(array, np.int64, ["C_CONTIGUOUS", "ALIGNED"])


def _decoded(text: str) -> Dict[str, Any]:
    value: Dict[str, Any] = json.loads(text)
    return value
