#!/usr/bin/env python3
"""Keras's own files: Cairn predicts what Keras predicts, and Keras loads what Cairn exports.

Arguments: cases [all], as Models.test_NAME.
"""

import json
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
from cluster import Job, cairn

TOLERANCE = 1e-5
# What the export says of models that Keras would compute in another way.
REFUSED = {"masked_stack": "a stack that goes backwards over masked steps"}


def predictions(model, inputs):
    """Of one batch, without the graph of predict(), which takes longer to make than to compute."""
    result = model(inputs if len(inputs) > 1 else inputs[0], training=False)
    return [np.asarray(each) for each in (result if isinstance(result, list) else [result])]


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


class Training(unittest.TestCase):
    def test_dropout_of_a_functional_model_drops(self):
        """Keras 3 writes its default training=False into the file. The loss of a sum of 24 ones, of
        which half are doubled and the others dropped, is 600 with a deviation of 5; without it 576."""
        inputs = keras.Input((24,))
        dense = keras.layers.Dense(1, use_bias=False, kernel_initializer="ones", name="sum")
        model = keras.Model(inputs, dense(keras.layers.Dropout(0.5)(inputs)))
        with tempfile.TemporaryDirectory(prefix="cairn_formats_") as folder:
            model.save(pathlib.Path(folder, "model.keras"))
            job = Job(folder, "model.keras", [np.ones((2000, 24), "f")], [("sum", (1,))], seed=1)
            history = cairn("history", "judged", "--json", "--state", "state", folder=folder)
            losses = [json.loads(line)["loss"] for line in history.splitlines() if '"batch"' in line]
            self.assertEqual(len(losses), 1, history)
            self.assertAlmostEqual(losses[0], 600, delta=20)
            np.testing.assert_array_equal(job.predict()[0], np.full((2000, 1), 24, "f"))


if __name__ == "__main__":
    run_all(check)
