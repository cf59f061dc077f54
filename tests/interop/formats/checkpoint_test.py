#!/usr/bin/env python3
"""TensorFlow's checkpoints: Cairn starts from what TensorFlow wrote, and TensorFlow reads exports.

Arguments: cases [all], as Models.test_NAME.
"""

import json
import os
import pathlib

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")

import keras
import numpy as np
import tensorflow as tf
import tf_keras

import models
from cluster import Job
from keras_files_test import compare, predictions, run_all

# Models whose layers are in a model, or that have masks: Keras 3 has other objects than the export.
OTHER_OBJECTS = ["shared_and_nested", "stacked_cells", "embedding", "masked_states", "masked_stack",
                 "merged_masks", "masked_ends", "masking"]
# Keras 3 leaves their variables out of checkpoints.
STACKED_CELLS = ["stacked_cells", "masked_stack"]


def randomize(model):
    random = np.random.default_rng(3)
    for variable in model.weights:
        low = .5 if "variance" in variable.name else -.5
        if "float32" in str(variable.dtype):
            variable.assign(random.uniform(low, low + 1, variable.shape).astype("f"))


def check_in(folder, name, model, expected, inputs, shapes, checkpoint):
    """Cairn's predictions with the architecture of a file and the values of a checkpoint."""
    inside = pathlib.Path(folder) / f"in_{name}"
    inside.mkdir()
    # No weights: all values come from the checkpoint.
    (inside / "model.json").write_text(model.to_json())
    job = Job(inside, "model.json", inputs, shapes, resume_from=str(checkpoint))
    compare(f"{name} in", expected, job.predict())
    return job


def check(name, folder):
    model = models.make(name)
    inputs = models.inputs(model)
    expected = predictions(model, inputs)
    names = [tensor._keras_history.operation.name for tensor in model.outputs]
    shapes = list(zip(names, [y.shape[1:] for y in expected]))
    if not any(weight.dtype == "float32" for weight in model.weights):
        return
    saved = tf.train.Checkpoint(model=model).save(f"{folder}/ckpt")
    if name not in STACKED_CELLS:
        check_in(folder, "checkpoint", model, expected, inputs, shapes, f"{saved}.index")
    model.export(f"{folder}/saved", verbose=False)
    job = check_in(folder, "saved_model", model, expected, inputs, shapes,
                   f"{folder}/saved/variables/variables.index")

    # Out: the variables by name, and the whole model.
    predicted = job.predict()
    prefix = str(job.export("out.ckpt"))
    reader = tf.train.load_checkpoint(prefix)
    for key in reader.get_variable_to_shape_map():
        reader.get_tensor(key)  # With its checksum.
    ours = sorted(reader.get_tensor(key).tobytes() for key in reader.get_variable_to_shape_map()
                  if key != "_CHECKPOINTABLE_OBJECT_GRAPH")
    theirs = sorted(w.numpy().tobytes() for w in model.weights if w.dtype == "float32")
    assert ours == theirs, "other weights"
    if name in OTHER_OBJECTS:
        return
    for root in ({"model": None}, {}):
        other = models.make(name)
        randomize(other)
        holder = tf.train.Checkpoint(model=other) if root else tf.train.Checkpoint(other)
        holder.read(prefix).expect_partial()
        compare("checkpoint out", predicted, predictions(other, inputs))


def check_tf_keras(folder):
    """Keras 2: model.save_weights() and load_weights() in the format of TensorFlow."""
    layers = tf_keras.layers

    def make():
        i = layers.Input((5, 4), name="i")
        x = layers.LSTM(3, return_sequences=True, name="lstm")(i)
        x = layers.Bidirectional(layers.LSTM(2, return_sequences=True), name="both")(x)
        x = layers.BatchNormalization(name="norm", momentum=1.)(x)
        x = layers.Conv1D(3, 2, name="conv")(x)
        return tf_keras.Model(i, layers.Dense(2, name="out")(layers.Flatten(name="flat")(x)))

    model, other = make(), make()
    randomize(model)
    inputs = [np.random.default_rng(1).normal(0, 1, (6, 5, 4)).astype("f")]
    expected = predictions(model, inputs)
    model.compile("adam", "mse")
    model.fit(inputs[0], expected[0], verbose=0)  # For the slots of Adam.
    expected = predictions(model, inputs)
    model.save_weights(f"{folder}/weights.ckpt")
    job = check_in(folder, "tf_keras", model, expected, inputs, [("out", (2,))],
                   f"{folder}/weights.ckpt.index")
    other.load_weights(str(job.export("out.ckpt"))).expect_partial()
    compare("tf-keras out", job.predict(), predictions(other, inputs))
    model.save(f"{folder}/tf_keras_saved")
    check_in(folder, "tf_keras_model", model, expected, inputs, [("out", (2,))],
             f"{folder}/tf_keras_saved")


def check_mapping(folder):
    """Variables of a program without Keras, under its own names."""
    w = np.random.default_rng(2).normal(0, 1, (4, 3)).astype("f")
    checkpoint = tf.train.Checkpoint(encoder=tf.train.Checkpoint(
        w=tf.Variable(w), offset=tf.Variable(tf.ones(3)), scale=tf.Variable(2.)))
    saved = pathlib.Path(checkpoint.save(f"{folder}/run/ckpt"))
    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3, name="dense")])
    key = "encoder/{}/.ATTRIBUTES/VARIABLE_VALUE"
    mapping = pathlib.Path(folder) / "map.json"
    mapping.write_text(json.dumps({
        "checkpoint": f"run/{saved.name}",
        "variables": {"dense/kernel": key.format("w"), "dense/bias": "encoder/offset"}}))
    x = np.random.default_rng(4).normal(0, 1, (5, 4)).astype("f")
    check_in(folder, "mapping", model, [x @ w + 1], [x], [("dense", (3,))], mapping)


OTHERS = {"tf_keras": check_tf_keras, "mapping": check_mapping}


def check_any(name, folder):
    OTHERS[name](folder) if name in OTHERS else check(name, folder)


if __name__ == "__main__":
    models.MODELS.update(OTHERS)
    run_all(check_any)
