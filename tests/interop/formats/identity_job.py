"""Jobs whose model returns its inputs: the predictions are the numbers that Cairn read."""

import json
import pathlib
import shutil
import tempfile
import unittest

import keras
import numpy as np

from cluster import cairn


def identity(shape):
    size = int(np.prod(shape))
    model = keras.Sequential([keras.Input(shape), keras.layers.Flatten(),
                              keras.layers.Dense(size)])
    model.set_weights([np.eye(size, dtype="f"), np.zeros(size, "f")])
    return model


def after_step(data, name, value):
    """A tf.data.Dataset of (row, class) after a step. A filter keeps the classes below its value."""
    if name == "filter":
        return data.filter(lambda row, number: number < value)
    if name == "shard":
        return data.shard(value["num_shards"], value["index"])
    return getattr(data, name)(value)


class DataTest(unittest.TestCase):
    """A test with a folder for data files and one job."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.random = np.random.default_rng(7)

    def train(self, model, source, workers=2, **fields):
        """By default trains a step that changes nothing. An earlier job is forgotten."""
        shutil.rmtree(self.folder / "state", ignore_errors=True)
        model.save(self.folder / "model.keras")
        job = {"name": "judged", "model": "model.keras", "loss": "mse", "train": source,
               "optimizer": {"name": "sgd", "learning_rate": 1e-30}, "batch_size": 8, "epochs": 1,
               **fields}
        (self.folder / "job.json").write_text(json.dumps(job))
        return cairn("run", "job.json", "--ps", 1, "--workers", workers, "--state", "state",
                     folder=self.folder)

    def losses(self, model, source, **fields):
        """Those of the batches of one example each, in their order."""
        self.train(model, source, loss="mean_absolute_error", batch_size=1, shuffle=False, **fields)
        text = cairn("history", "judged", "--json", "--state", "state", folder=self.folder)
        batches = [one for one in map(json.loads, text.splitlines())
                   if "batch" in one and "loss" in one]
        return [one["loss"] for one in sorted(batches, key=lambda one: one["batch"])]

    def predict(self, *inputs):
        arguments = [one for each in inputs for one in ("--input", each)]
        cairn("predict", "judged", *arguments, "--output", "out.npy", "--state", "state",
              folder=self.folder)
        return np.load(self.folder / "out.npy")

    def evaluate(self, data):
        text = cairn("evaluate", "judged", "--data", data, "--state", "state", "--json",
                     folder=self.folder)
        return json.loads(text)["loss"]
