#!/usr/bin/env python3
"""The filters of images and texts, among other steps, choose the examples of tf.data.

Example i has the value 10 i, which the model returns, so the loss of a batch of one tells it.
"""

import os
import pathlib
import random
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

import keras  # noqa: E402
import numpy as np  # noqa: E402
import results  # noqa: E402
import tensorflow as tf  # noqa: E402
from PIL import Image  # noqa: E402

from identity_job import DataTest, after_step  # noqa: E402

L = keras.layers
EXAMPLES = 60
CLASSES = "abcde"


class ChosenClasses(DataTest):
    def setUp(self):
        super().setUp()
        self.numbers = self.random.integers(0, len(CLASSES), EXAMPLES)
        self.names = np.array(list(CLASSES))[self.numbers]

    def write(self, folder, suffix, write):
        for i, name in enumerate(self.names):
            path = self.folder / folder / name / f"{i:02}{suffix}"
            path.parent.mkdir(parents=True, exist_ok=True)
            write(path, i)

    @staticmethod
    def chains(seed):
        """Random steps, among them filters, which keep the first classes."""
        draw = random.Random(seed)
        while True:
            steps = [{"filter": draw.randint(3, 4)}, {"skip": draw.randint(1, 6)},
                     {"filter": draw.randint(2, 3)}, {"take": draw.randint(10, 30)},
                     {"shard": {"num_shards": 2, "index": draw.randint(0, 1)}}]
            draw.shuffle(steps)
            yield steps[:draw.randint(2, 5)] + [{"filter": 4}]

    def chosen(self, order, steps):
        data = tf.data.Dataset.from_tensor_slices((order, self.numbers[order]))
        for step in steps:
            (name, value), = step.items()
            data = after_step(data, name, value)
        return np.array([i for i, _ in data.as_numpy_iterator()], int)

    def check(self, model, source, order, steps):
        chosen = self.chosen(order, steps)
        named = [{"filter": "class_name in ('" + "', '".join(CLASSES[:step["filter"]]) + "')"}
                 if "filter" in step else step for step in steps]
        with self.subTest(source=str(source), steps=str(steps)):
            losses = self.losses(model, {**source, "pipeline": named})
            expected = np.abs(10 * chosen - self.numbers[chosen])
            np.testing.assert_allclose(losses, expected, atol=1e-3)
            self.assertAlmostEqual(self.evaluate("train"), expected.mean(), delta=1e-2)

    def test_images(self):
        model = keras.Sequential([keras.Input((1, 1, 1)), L.Flatten(), L.Dense(1)])
        model.set_weights([np.ones((1, 1), "f"), np.zeros(1, "f")])
        self.write("images", ".png",
                   lambda path, i: Image.fromarray(np.full((1, 1), i, "u1")).save(path))
        lines = [f"images/{name}/{i:02}.png,{name}" for i, name in enumerate(self.names)]
        (self.folder / "table.csv").write_text("\n".join(["filename,class", *lines]))
        chains = self.chains(1)
        folders = np.argsort(self.names, kind="stable")
        for _ in range(2):
            self.check(model, {"images": {"directory": "images"}, "scale": 10}, folders,
                       next(chains))
        # Labels that are numbers are compared as numbers.
        lines = [f"images/{name}/{i:02}.png,{number}"
                 for i, (name, number) in enumerate(zip(self.names, self.numbers))]
        (self.folder / "table.csv").write_text("\n".join(["filename,class", *lines]))
        losses = self.losses(model, {"images": {"table": "table.csv"}, "scale": 10, "pipeline": [
            {"skip": 5}, {"filter": "class_name < 3"}, {"take": 20}]})
        chosen = self.chosen(np.arange(EXAMPLES), [{"skip": 5}, {"filter": 3}, {"take": 20}])
        np.testing.assert_allclose(losses, np.abs(10 * chosen - self.numbers[chosen]), atol=1e-3)

    def test_texts(self):
        model = keras.Sequential([keras.Input((1,), dtype="int32"), L.Embedding(EXAMPLES + 2, 1),
                                  L.Flatten(), L.Dense(1)])
        model.set_weights([10 * np.arange(-2, EXAMPLES, dtype="f").reshape(-1, 1),
                           np.ones((1, 1), "f"), np.zeros(1, "f")])
        lines = [f"{name}\tw{i}\n" for i, name in enumerate(self.names)]
        (self.folder / "1.tsv").write_text("".join(lines[:25]))
        (self.folder / "2.tsv").write_text("".join(lines[25:]))
        self.write("texts", ".txt", lambda path, i: path.write_text(f"w{i}"))
        vector = {"text_vectorization": {"vocabulary": [f"w{i}" for i in range(EXAMPLES)]}}
        files, order = {"text": {"files": "?.tsv", **vector}}, np.arange(EXAMPLES)
        chains = self.chains(2)
        for steps in (next(chains), next(chains), [{"filter": 3}, {"take": 20}]):
            self.check(model, files, order, steps)
        self.check(model, {"text": {"directory": "texts", **vector}},
                   np.argsort(self.names, kind="stable"), next(chains))

    def test_tokens_are_those_of_the_chosen_training_texts(self):
        model = keras.Sequential([keras.Input((1,), dtype="int32"), L.Embedding(EXAMPLES + 2, 1),
                                  L.Flatten(), L.Dense(1)])
        model.set_weights([10 * np.arange(EXAMPLES + 2, dtype="f").reshape(-1, 1),
                           np.ones((1, 1), "f"), np.zeros(1, "f")])
        (self.folder / "x.tsv").write_text(
            "".join(f"{name}\tw{i}\n" for i, name in enumerate(self.names)))
        filtered = {"filter": "class_name <> 'e' and text <> 'w9'"}
        for first in ([], [{"skip": 4}]):
            chosen = [i for i in range(4 if first else 0, EXAMPLES)
                      if self.names[i] != "e" and i != 9][:24][:18]
            losses = self.losses(model, {"text": {"files": "x.tsv", "text_vectorization": {}},
                                         "pipeline": [*first, filtered, {"take": 24}]},
                                 validation_fraction=0.25)
            layer = L.TextVectorization()
            layer.adapt([f"w{i}" for i in chosen])
            ids = layer([f"w{i}" for i in chosen]).numpy()[:, 0]
            np.testing.assert_allclose(losses, 10 * ids - self.numbers[chosen], atol=1e-3)


if __name__ == "__main__":
    results.main()
