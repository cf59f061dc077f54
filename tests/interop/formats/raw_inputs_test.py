#!/usr/bin/env python3
"""A model that is exported with its preprocessing predicts from raw values what Cairn predicts.

Arguments: cases [all], as Models.test_NAME.
"""

import json
import os
import pathlib

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")

import keras
import numpy as np
import onnxruntime
import tensorflow as tf

import models
from cluster import Job, cairn
from keras_files_test import compare, predictions, run_all

L = keras.layers
MODELS = {
    "rows": lambda: models.rows(L.Dense(5, activation="tanh")),
    "images": lambda: models.image(L.Conv2D(3, 2)),
    "two_inputs": lambda: two_inputs(),
    "columns": lambda: columns_model(),
    "pipeline": lambda: models.image(L.Conv2D(3, 2)),
}
PREPROCESSING = [{"scale": .5}, {"standardize": True}, {"scale": .01, "standardize": True}]


def two_inputs():
    a, b = keras.Input((4,), name="a"), keras.Input((3,), name="b")
    return keras.Model([a, b], L.Dense(2)(L.Concatenate()([L.Dense(3)(a), L.Dense(3)(b)])))


# Of raw.csv, which has texts that train.csv lacks.
CITIES, SIZES = ["Rome", "Bern", "?", "Oslo", "Lima"], [3, -1.5, 40, 7, 0]
KINDS, USERS = ["b", "a", "a", "c", "b"], ["ann", "eve", "bob", "bob", "ann"]
COLUMNS = {
    "files": "train.csv",
    "features": [{"name": "kind", "categorical": True, "input": "ids"},
                 {"name": "my city", "vocabulary": ["Bern", "Rome", "Oslo"], "one_hot": True,
                  "unknown": True, "input": "wide"},
                 {"name": "size", "input": "wide"},
                 {"name": "user", "vocabulary": ["ann", "bob"], "unknown": True, "input": "ids"}],
    "labels": [{"name": "y"}, {"name": "z"}]}


def columns_model():
    ids, wide = keras.Input((2,), dtype="int32", name="ids"), keras.Input((5,), name="wide")
    deep = L.Flatten()(L.Embedding(3, 4)(ids))
    return keras.Model([ids, wide], L.Dense(2)(L.Concatenate()([deep, L.Dense(3)(wide)])))


def write_csv(file, rows):
    lines = [",".join(map(str, row)) for row in rows]
    file.write_text("\n".join(["kind,my city,size,user,y,z", *lines, ""]))


def check_columns(folder):
    """Columns of categories are inputs of text in front of the model."""
    folder = pathlib.Path(folder)
    keras.utils.set_random_seed(4)
    columns_model().save(folder / "model.keras")
    write_csv(folder / "train.csv", [["a", "Rome", 1, "ann", 0, 1], ["b", "Bern", 30, "bob", 1, 1],
                                     ["c", "Oslo", 12.5, "x", 0, 2]])
    write_csv(folder / "raw.csv", zip(KINDS, CITIES, SIZES, USERS, SIZES, SIZES))
    job = {"name": "judged", "model": "model.keras", "loss": "mse", "epochs": 1, "batch_size": 3,
           "optimizer": {"name": "sgd", "learning_rate": 1e-30},
           "train": {"csv": COLUMNS, "scale": .5, "standardize": True}}
    (folder / "job.json").write_text(json.dumps(job))
    cairn("run", "job.json", "--ps", 1, "--workers", 1, "--state", "state", folder=folder)
    cairn("predict", "judged", "--input", "raw.csv", "--output", "y.npy", "--state", "state",
          folder=folder)
    predicted = [np.load(folder / "y.npy")]
    raw = {"kind": KINDS, "my city": CITIES, "size": np.array(SIZES, "f"), "user": USERS}
    for name in ["out.keras", "out.onnx", "out.savedmodel"]:
        cairn("export", "judged", "--output", name, "--with-preprocessing", "--state", "state",
              folder=folder)
    tensors = {name: tf.constant(np.reshape(values, (-1, 1))) for name, values in raw.items()}
    loaded = keras.models.load_model(folder / "out.keras")
    compare("columns .keras", predicted, [loaded.predict(tensors, verbose=0)])
    session = onnxruntime.InferenceSession(str(folder / "out.onnx"),
                                           providers=["CPUExecutionProvider"])
    feeds = {name: np.reshape(np.array(values, "f" if name == "size" else object), (-1, 1))
             for name, values in raw.items()}
    compare("columns .onnx", predicted, session.run(None, feeds))
    signature = tf.saved_model.load(str(folder / "out.savedmodel")).signatures["serving_default"]
    compare("columns SavedModel", predicted, [next(iter(signature(**tensors).values())).numpy()])
    check_lookup_in_the_model(folder, raw, predicted)


def check_lookup_in_the_model(folder, raw, predicted):
    """The exported model is one that Cairn takes itself: its layers look the texts up."""
    job = json.loads((folder / "job.json").read_text())
    features = [{"name": name, "input": name} for name in raw]
    job.update(name="again", model="out.keras",
               train={"csv": {"files": "train.csv", "features": features,
                              "labels": [{"name": "y"}, {"name": "z"}]}})
    (folder / "again.json").write_text(json.dumps(job))
    cairn("run", "again.json", "--ps", 1, "--workers", 1, "--state", "again", folder=folder)
    cairn("predict", "again", "--input", "raw.csv", "--output", "again.npy", "--state", "again",
          folder=folder)
    compare("texts in", predicted, [np.load(folder / "again.npy")])
    cairn("export", "again", "--output", "again.keras", "--state", "again", folder=folder)
    tensors = {name: tf.constant(np.reshape(values, (-1, 1))) for name, values in raw.items()}
    loaded = keras.models.load_model(folder / "again.keras")
    compare("texts in, .keras out", predicted, [loaded.predict(tensors, verbose=0)])


def check_exports(name, job, inputs, output, layers):
    """The exported models predict from the raw inputs what the job predicts, which is returned."""
    predicted = job.predict()
    loaded = keras.models.load_model(job.export("out.keras", "--with-preprocessing"))
    compare(f"{name} .keras", predicted, predictions(loaded, inputs))
    session = onnxruntime.InferenceSession(
        str(job.export("out.onnx", "--with-preprocessing")), providers=["CPUExecutionProvider"])
    feeds = {one.name: array for one, array in zip(session.get_inputs(), inputs)}
    compare(f"{name} .onnx", predicted, session.run([output], feeds))
    saved = tf.saved_model.load(str(job.export("out.savedmodel", "--with-preprocessing")))
    signature = saved.signatures["serving_default"]
    result = signature(**{one: tf.constant(x) for one, x in zip(layers, inputs)})
    compare(f"{name} SavedModel", predicted, [result[output].numpy()])
    return predicted


def check_pipeline(folder):
    """Steps are layers in front of the model, whose input has the shape of the files."""
    random = np.random.default_rng(5)
    images = random.normal(30, 10, (6, 13, 9, 3)).astype("f")
    ids = random.integers(0, 4, (6, 1)).astype("f")
    lists = random.integers(0, 4, (6, 5)).astype("f")
    classes = keras.Sequential([keras.Input((4,), name="x"), L.Dense(2)])
    vectors = keras.Sequential([keras.Input((5, 4), name="x"), L.Flatten(), L.Dense(2)])
    sizes = keras.Sequential([keras.Input((6, 5, 3), name="x"), L.Conv2D(2, 2), L.Flatten(),
                              L.Dense(2)])
    size = {"crop": {"size": [6, 5], "random": True}}
    for i, (model, x, steps) in enumerate([
            (sizes, images, [{"resize": {"size": [9, 8]}}, size, {"flip": "vertical"},
                             {"normalize": {}}]),
            (sizes, images, [{"normalize": {"mean": [30, 20, 10], "deviation": [3, 5, 7]}},
                             {"resize": {"size": [6, 5], "interpolation": "nearest"}},
                             {"normalize": {"mean": 1, "deviation": 2}}]),
            (classes, lists[:, :4] * 1e-8, [{"normalize": {"mean": 1e-8, "deviation": 1e-8}}]),
            (classes, lists[:, :4] * 1e-6,
             [{"normalize": {"mean": 1e-6, "deviation": [1e-7, 1e-6, 2, 3]}}]),
            (classes, ids, [{"one_hot": 4}, {"cast": "float32"}]),
            (vectors, lists, [{"one_hot": 4}]),
            (sizes, images, [{"resize": {"size": [6, 5], "pad_to_aspect_ratio": True}}])]):
        inside = pathlib.Path(folder) / str(i)
        inside.mkdir()
        model.save(inside / "model.keras")
        output = model.layers[-1].name
        job = Job(inside, "model.keras", [x], [(output, (2,))],
                  train={"npy": {"features": "x0.npy", "labels": "label0.npy"}, "pipeline": steps})
        if "pad_to_aspect_ratio" in steps[0].get("resize", {}):
            text = job.export("out.keras", "--with-preprocessing", fails=True)
            assert 'no layer of a model does what the step "resize"' in text, text
        else:
            check_exports(steps, job, [x], output, ["x"])


def check(name, folder):
    if name == "columns":
        return check_columns(folder)
    if name == "pipeline":
        return check_pipeline(folder)
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
        layers = [tensor._keras_history.operation.name for tensor in model.inputs]
        predicted = check_exports(fields, job, inputs, output, layers)
        # Without the flag the model takes prepared values, as before.
        plain = keras.models.load_model(job.export("plain.keras"))
        assert np.abs(predictions(plain, inputs)[0] - predicted[0]).max() > 1e-3


if __name__ == "__main__":
    models.MODELS = MODELS
    run_all(check)
