"""Checks exported ONNX files, and compares their values by onnxruntime with those of the models.

Takes the folder that `models/tests/onnx.rs` writes: a folder per model, with `model.onnx` and a file of
inputs and outputs per batch.
"""

import sys
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
from safetensors.numpy import load_file

# Relative to the largest value of an output, or of the inputs for an output of zeros.
TOLERANCE = 1e-4
# Fewest models: more are exported than this, so that an empty folder fails.
FEWEST = 100


def faults_of(output, got, expected, largest_input):
    """What differs in one output."""
    if got.shape != expected.shape or got.dtype != expected.dtype:
        return [f"{output} is {got.dtype}{got.shape}, not {expected.dtype}{expected.shape}"]
    if got.dtype.kind != "f":
        return [] if np.array_equal(got, expected) else [f"{output} is {got}, not {expected}"]
    finite = np.isfinite(expected)
    if not np.array_equal(got[~finite], expected[~finite], equal_nan=True):
        return [f"{output} has other values that are not finite"]
    scale = np.max(np.abs(expected[finite]), initial=0) or largest_input
    error = np.max(np.abs(got[finite] - expected[finite]), initial=0)
    return [] if error <= TOLERANCE * scale else [f"{output} is off by {error:.2e}, of {scale:.2e}"]


def check(folder):
    """What is wrong with one model."""
    path = folder / "model.onnx"
    onnx.checker.check_model(path, full_check=True)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    inputs = [value.name for value in session.get_inputs()]
    outputs = [value.name for value in session.get_outputs()]
    faults = []
    for case in sorted(folder.glob("batch_*.safetensors")):
        values = load_file(case)
        found = session.run(outputs, {name: values[name] for name in inputs})
        largest = max(np.max(np.abs(values[name])) for name in inputs)
        for name, got in zip(outputs, found, strict=True):
            faults += [f"{case.stem}: {fault}" for fault in faults_of(name, got, values[name], largest)]
    return faults


def main():
    folders = sorted(path.parent for path in Path(sys.argv[1]).glob("*/model.onnx"))
    failed = 0
    for folder in folders:
        try:
            faults = check(folder)
        except Exception as error:
            faults = [str(error)]
        for fault in faults:
            print(f"{folder.name}: {fault}")
        failed += bool(faults)
    print(f"{len(folders)} models, {failed} with faults")
    sys.exit(failed > 0 or len(folders) < FEWEST)


if __name__ == "__main__":
    main()
