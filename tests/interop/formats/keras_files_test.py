#!/usr/bin/env python3
"""Keras's own files: Cairn predicts what Keras predicts, and Keras loads what Cairn exports.

Arguments: cases [all], as Models.test_NAME.
"""

import os
import pathlib
import sys
import tempfile
import unittest

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")

import keras
import numpy as np
import safetensors.numpy

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))

import models
import results
from cluster import Job

TOLERANCE = 1e-5
# What the export says of models that Keras would compute in another way.
REFUSED = {"masked_stack": "a stack that goes backwards over masked steps"}


def predictions(model, inputs):
    result = model.predict(inputs if len(inputs) > 1 else inputs[0], verbose=0)
    return result if isinstance(result, list) else [result]


def compare(what, expected, actual):
    assert len(expected) == len(actual), f"{what}: {len(actual)} outputs, not {len(expected)}"
    for one, other in zip(expected, actual):
        assert one.shape == other.shape, f"{what}: {other.shape}, not {one.shape}"
        scale = max(1, np.abs(one).max())
        error = np.abs(one - other).max() / scale
        assert error <= TOLERANCE, f"{what}: differs by {error}"


def check(name, folder):
    model = models.make(name)
    inputs = models.inputs(model)
    expected = predictions(model, inputs)
    names = [tensor._keras_history.operation.name for tensor in model.outputs]
    shapes = list(zip(names, [y.shape[1:] for y in expected]))
    for file in ["model.keras", "model.h5"]:
        inside = pathlib.Path(folder) / file.replace(".", "_")
        inside.mkdir()
        model.save(inside / file)
        job = Job(inside, file, inputs, shapes)
        predicted = job.predict()
        compare(f"{file} in", expected, predicted)
        if name in REFUSED:
            text = job.export("out.keras", fails=True)
            assert REFUSED[name] in text, text
            continue
        exported = keras.models.load_model(job.export("out.keras"))
        compare(f"{file} in, .keras out", predicted, predictions(exported, inputs))
        tensors = safetensors.numpy.load_file(job.export("out.safetensors"))
        ours = sorted(tensor.tobytes() for tensor in tensors.values())
        theirs = sorted(w.numpy().tobytes() for w in model.weights if w.dtype == "float32")
        assert ours == theirs, "safetensors: other weights"


def run_all(check):
    """Runs check(model's name, empty folder) for each model, as a test case: Models.test_NAME."""
    def case(name):
        def run(self):
            with tempfile.TemporaryDirectory(prefix="cairn_formats_") as folder:
                check(name, folder)
        return run

    cases = {f"test_{name}": case(name) for name in models.MODELS}
    sys.modules["__main__"].Models = type("Models", (unittest.TestCase,), cases)
    results.main()


if __name__ == "__main__":
    run_all(check)
