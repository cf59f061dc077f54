#!/usr/bin/env python3
"""A model that is exported with its preprocessing predicts from raw values what Cairn predicts.

Arguments: cases [all], as Models.test_NAME.
"""

import os
import pathlib

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")

import keras
import numpy as np
import onnxruntime
import tensorflow as tf

import models
from cluster import Job
from keras_files_test import compare, predictions, run_all

L = keras.layers
MODELS = {
    "rows": lambda: models.rows(L.Dense(5, activation="tanh")),
    "images": lambda: models.image(L.Conv2D(3, 2)),
    "two_inputs": lambda: two_inputs(),
}
PREPROCESSING = [{"scale": .5}, {"standardize": True}, {"scale": .01, "standardize": True}]


def two_inputs():
    a, b = keras.Input((4,), name="a"), keras.Input((3,), name="b")
    return keras.Model([a, b], L.Dense(2)(L.Concatenate()([L.Dense(3)(a), L.Dense(3)(b)])))


def check(name, folder):
    models.MODELS.update(MODELS)
    model = models.make(name)
    random = np.random.default_rng(5)
    inputs = [random.normal(30, 10, (6, *tensor.shape[1:])).astype("f") for tensor in model.inputs]
    output = model.outputs[0]._keras_history.operation.name
    for i, fields in enumerate(PREPROCESSING):
        inside = pathlib.Path(folder) / str(i)
        inside.mkdir()
        model.save(inside / "model.keras")
        names = [f"x{k}.npy" for k in range(len(inputs))]
        train = {"npy": {"features": names if len(names) > 1 else names[0],
                         "labels": "label0.npy"}, **fields}
        job = Job(inside, "model.keras", inputs, [(output, (2,))], train=train)
        predicted = job.predict()
        loaded = keras.models.load_model(job.export("out.keras", "--with-preprocessing"))
        compare(f"{fields} .keras", predicted, predictions(loaded, inputs))
        session = onnxruntime.InferenceSession(
            str(job.export("out.onnx", "--with-preprocessing")), providers=["CPUExecutionProvider"])
        feeds = {one.name: array for one, array in zip(session.get_inputs(), inputs)}
        compare(f"{fields} .onnx", predicted, session.run([output], feeds))
        saved = tf.saved_model.load(str(job.export("out.savedmodel", "--with-preprocessing")))
        signature = saved.signatures["serving_default"]
        layers = [tensor._keras_history.operation.name for tensor in model.inputs]
        result = signature(**{one: tf.constant(x) for one, x in zip(layers, inputs)})
        compare(f"{fields} SavedModel", predicted, [result[output].numpy()])
        # Without the flag the model takes prepared values, as before.
        plain = keras.models.load_model(job.export("plain.keras"))
        assert np.abs(predictions(plain, inputs)[0] - predicted[0]).max() > 1e-3


if __name__ == "__main__":
    models.MODELS = MODELS
    run_all(check)
