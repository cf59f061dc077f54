#!/usr/bin/env python3
"""TensorFlow predicts with an exported SavedModel what Cairn predicts.

Arguments: cases [all], as Models.test_NAME.
"""

import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")

import tensorflow as tf

import models
from cluster import Job
from keras_files_test import compare, predictions, run_all

# What the export says of models that it does not have.
REFUSED = {"adaptive_pooling": "does not have this layer", "volumes": "does not have this layer",
           "conv_lstm": "does not have this layer"}


def check(name, folder):
    model = models.make(name)
    inputs = models.inputs(model)
    names = [tensor._keras_history.operation.name for tensor in model.outputs]
    expected = predictions(model, inputs)
    model.save(f"{folder}/model.keras")
    job = Job(folder, "model.keras", inputs, list(zip(names, [y.shape[1:] for y in expected])))
    if name in REFUSED:
        text = job.export("out.savedmodel", fails=True)
        assert REFUSED[name] in text, text
        return
    predicted = job.predict()
    file = job.export("out.savedmodel")
    signature = tf.saved_model.load(str(file)).signatures["serving_default"]
    layers = [tensor._keras_history.operation.name for tensor in model.inputs]
    outputs = signature(**{layer: tf.constant(x) for layer, x in zip(layers, inputs)})
    assert sorted(outputs) == sorted(names), f"the outputs are {sorted(outputs)}"
    compare("SavedModel out", predicted, [outputs[one].numpy() for one in names])
    # Another batch than that of the job.
    signature(**{layer: tf.constant(x[:1]) for layer, x in zip(layers, inputs)})


if __name__ == "__main__":
    run_all(check)
