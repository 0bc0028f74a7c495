"""Models by name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import firefly_fft as ff
from firefly_fft import zoo


def example(model: zoo.Model, batch: int) -> Any:
    """Inputs of a model: noise, or tokens."""
    generator = np.random.default_rng(0)
    shapes = [(batch, *shape[1:]) for shape in model.inputs]
    floats = model._native.float_inputs()
    return [
        generator.normal(size=shape) if is_float else np.zeros(shape, int) for shape, is_float in zip(shapes, floats)
    ]


@pytest.mark.parametrize("name", [name for name in zoo.list_models() if name.endswith("_tiny")])
def test_every_family_predicts(name: str) -> None:
    card, model = zoo.card(name), zoo.create(name)
    outputs = model.predict(*example(model, 3))
    outputs = outputs if isinstance(outputs, tuple) else (outputs,)
    assert len(outputs) == len(card["outputs"])
    assert model.parameters == card["parameters"]
    assert model.family == card["family"]
    assert model.settings == card["settings"]
    for output in outputs:
        assert len(output) == 3


def test_batches_are_computed_one_after_the_other() -> None:
    model = zoo.create("welch_peaks", n_fft=64, k=3)
    (x,) = example(model, 7)
    whole, parts = model.predict(x), model.predict(x, batch_size=3)
    assert_array_equal(whole.bins, parts.bins)
    assert_array_equal(whole.power, parts.power)
    assert_array_equal(whole.bins, ff.welch_peaks(x.astype("f4"), 3, nperseg=64, detrend=False).bins)


def test_weights_survive_a_file_and_a_process(tmp_path: Path) -> None:
    import pickle

    model = zoo.create("learned_welch_peaks_tiny")
    model.save(tmp_path / "model.safetensors")
    inputs = example(model, 2)
    for other in (zoo.load(tmp_path / "model.safetensors"), pickle.loads(pickle.dumps(model))):
        assert other.settings == model.settings
        assert_array_equal(other.predict(*inputs).power, model.predict(*inputs).power)


def test_trained_weights_ship() -> None:
    names = zoo.list_pretrained()
    assert names
    assert all(zoo.card(name)["has_weights"] for name in names)
    assert zoo.pretrained(names[0]).parameters > 0


@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (lambda: zoo.create("welch_peeks"), ValueError, "did you mean `welch_peaks`"),
        (lambda: zoo.create("welch_peaks", nfft=3), ValueError, "no setting `nfft`"),
        (lambda: zoo.create("welch_peaks", n_fft=0), ValueError, "n_fft"),
        (lambda: zoo.create("welch_peaks", n_fft="many"), ValueError, "n_fft"),
        (lambda: zoo.pretrained("welch_peaks"), ValueError, "no trained weights"),
        (lambda: zoo.load("/nowhere/model.safetensors"), OSError, "nowhere"),
        (lambda: zoo.create("welch_peaks").predict(), ValueError, "0 inputs"),
        (lambda: zoo.create("welch_peaks").predict(np.ones((2, 10))), ValueError, "signal"),
        (lambda: zoo.create("welch_peaks").predict(np.ones((2, 384), complex)), TypeError, "complex"),
    ],
)
def test_what_the_zoo_does_not_have_is_refused_by_name(call: Any, kind: Any, message: str) -> None:
    with pytest.raises(kind, match=message):
        call()


def test_settings_are_numbers_of_numpy_too() -> None:
    model = zoo.create("welch_peaks_tiny", n_fft=np.int64(32), k=np.uint8(2))
    assert (model.settings["n_fft"], model.settings["k"]) == (32, 2)
    with pytest.raises(TypeError, match="no setting"):
        zoo.create("welch_peaks_tiny", n_fft=object())


def test_inputs_have_one_number_of_examples() -> None:
    model = zoo.create("butterfly_tiny")
    n = model.inputs[0][1]
    with pytest.raises(ValueError, match="one number of examples"):
        model.predict(np.zeros((4, n)), np.zeros((8, n)), batch_size=4)
