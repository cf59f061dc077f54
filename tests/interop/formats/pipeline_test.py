#!/usr/bin/env python3
"""The steps of a pipeline compute what tf.data with Keras's layers and TensorFlow compute.

The judged model of most tests is an identity, so its predictions are the numbers after the steps.
"""

import json
import os
import pathlib
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

import keras  # noqa: E402
import numpy as np  # noqa: E402
import results  # noqa: E402
import tensorflow as tf  # noqa: E402
from PIL import Image  # noqa: E402

from cluster import cairn  # noqa: E402
from identity_job import DataTest, identity  # noqa: E402

L = keras.layers


class Pipeline(DataTest):
    def source(self, x, size, steps, **fields):
        """A source of arrays whose labels are those of identity()."""
        np.save(self.folder / "x.npy", x)
        np.save(self.folder / "y.npy", np.zeros((len(x), size), "f"))
        return {"npy": {"features": "x.npy", "labels": "y.npy"}, "pipeline": steps, **fields}

    def check(self, x, steps, expected, atol=1e-5, **fields):
        """Training takes the source, and predictions are the expected numbers."""
        expected = np.asarray(expected)
        size = int(np.prod(expected.shape[1:]))
        self.train(identity(expected.shape[1:]), self.source(x, size, steps, **fields))
        np.testing.assert_allclose(self.predict("x.npy").reshape(expected.shape), expected,
                                   rtol=1e-6, atol=atol)

    def test_numbers(self):
        x = self.random.normal(0, 3, (12, 5, 3)).astype("f")
        mean, deviation = [1, -2, 0.5], [2, 0.25, 3]
        data = tf.data.Dataset.from_tensor_slices(x)
        expected = data.map(lambda one: tf.cast(tf.cast(one, tf.int32), tf.float32)).map(
            lambda one: (one - mean) / deviation).map(
                lambda one: tf.pad(one, [[0, 2], [0, 0]], constant_values=-7))
        self.check(x, [{"cast": "int32"}, {"normalize": {"mean": mean, "deviation": deviation}},
                       {"pad": {"length": 7, "value": -7}}], list(expected.as_numpy_iterator()))

    def test_measured_numbers(self):
        """As an adapted Normalization, of the training rows only."""
        x = self.random.normal(3, 5, (40, 4)).astype("f")
        layer = L.Normalization()
        layer.adapt(np.trunc(x[:30]))
        expected = layer(np.trunc(x)).numpy()
        source = self.source(x, 4, [{"cast": "int8"}, {"normalize": {}}])
        self.train(identity((4,)), source, validation_fraction=0.25)
        np.testing.assert_allclose(self.predict("x.npy"), expected, rtol=1e-5, atol=1e-5)

    def test_ids(self):
        ids = self.random.integers(-2**60, 2**60, (20, 3))
        hashed = L.Hashing(11, mask_value=int(ids[2, 1]))(tf.constant(ids))
        one_hot = tf.one_hot(hashed, 11)
        self.check(ids, [{"hash": {"num_bins": 11, "mask_value": int(ids[2, 1])}},
                         {"one_hot": 11}], one_hot)
        few = self.random.choice([3, -8, 2**54 + 1], (20, 1))
        lookup = L.IntegerLookup(vocabulary=[3, 2**54 + 1], output_mode="int")(tf.constant(few))
        # Keras gives unknown numbers the first index, and Cairn the last one.
        expected = L.CategoryEncoding(3, output_mode="one_hot")((lookup.numpy() - 1) % 3)
        self.check(few, [{"vocabulary": {"numbers": [3, 2**54 + 1], "unknown": True}},
                         {"one_hot": 3}], expected)

    def test_hashed_columns(self):
        """Texts of CSV, and texts and whole numbers of records."""
        words = [f"Wört {i}" for i in self.random.integers(0, 9, 30)]
        numbers = self.random.integers(-2**62, 2**62, 30)
        spec = {"num_bins": 100, "salt": [133, 137]}
        strong = L.Hashing(100, salt=[133, 137])
        expected = np.stack([strong(tf.constant(words)), L.Hashing(50)(tf.constant(numbers))], 1)
        rows = [f"{word},{number},0,0" for word, number in zip(words, numbers)]
        (self.folder / "x.csv").write_text("\n".join(["w,n,a,b", *rows]))
        columns = [{"name": "w", "hash": spec}, {"name": "n", "hash": {"num_bins": 50}}]
        self.train(identity((2,)), {"csv": {"files": "x.csv", "features": columns,
                                            "labels": ["a", "b"]}})
        np.testing.assert_array_equal(self.predict("x.csv"), expected)
        with tf.io.TFRecordWriter(str(self.folder / "x.tfrecord")) as writer:
            for word, number in zip(words, numbers):
                writer.write(tf.train.Example(features=tf.train.Features(feature={
                    "w": tf.train.Feature(bytes_list=tf.train.BytesList(value=[word.encode()])),
                    "n": tf.train.Feature(int64_list=tf.train.Int64List(value=[number])),
                    "y": tf.train.Feature(float_list=tf.train.FloatList(value=[0, 0]))
                })).SerializeToString())
        self.train(identity((2,)), {"tfrecord": {"files": "x.tfrecord", "features": columns,
                                                 "labels": {"name": "y", "shape": [2]}}})
        np.testing.assert_array_equal(self.predict("x.tfrecord"), expected)

    def test_lists_of_any_length(self):
        """A pipeline that begins with "pad" takes lists, as padded_batch does."""
        lists = [self.random.integers(1, 99, n).tolist() for n in self.random.integers(0, 6, 20)]
        with tf.io.TFRecordWriter(str(self.folder / "x.tfrecord")) as writer:
            for one in lists:
                writer.write(tf.train.Example(features=tf.train.Features(feature={
                    "x": tf.train.Feature(int64_list=tf.train.Int64List(value=one)),
                    "y": tf.train.Feature(float_list=tf.train.FloatList(value=[0] * 6))
                })).SerializeToString())
        data = tf.data.Dataset.from_generator(
            lambda: lists, output_signature=tf.TensorSpec((None,), tf.float32))
        expected = next(data.padded_batch(20, [6], -1.0).as_numpy_iterator())
        self.train(identity((6,)), {
            "tfrecord": {"files": "x.tfrecord", "features": "x",
                         "labels": {"name": "y", "shape": [6]}},
            "pipeline": [{"pad": {"length": 6, "value": -1}}]})
        np.testing.assert_array_equal(self.predict("x.tfrecord"), expected)

    def test_images_of_arrays(self):
        x = self.random.integers(0, 256, (8, 17, 12, 3), dtype="u1")
        resized = L.Resizing(9, 10, crop_to_aspect_ratio=True)(x.astype("f"))
        self.check(x, [{"resize": {"size": [9, 10], "crop_to_aspect_ratio": True}},
                       {"crop": {"size": [4, 7], "random": True}},
                       {"flip": "horizontal"}], L.CenterCrop(4, 7)(resized))
        nearest = tf.image.resize(x, (20, 5), "nearest")
        self.check(x, [{"resize": {"size": [20, 5], "interpolation": "nearest"}}], nearest)
        for name in ["bicubic", "area", "lanczos3", "lanczos5", "gaussian", "mitchellcubic"]:
            with self.subTest(name):
                resized = tf.image.resize(x, (20, 5), name)
                self.check(x, [{"resize": {"size": [20, 5], "interpolation": name}}], resized,
                           atol=1e-3)

    def test_images_of_files(self):
        """Decoded to one size, cropped to another one."""
        for name in ["train/a/one.png", "train/b/two.png", "new/x.png", "new/y.png"]:
            (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
            pixels = self.random.integers(0, 256, (31, 40, 3), dtype="u1")
            Image.fromarray(pixels).save(self.folder / name)
        images = np.concatenate(list(keras.utils.image_dataset_from_directory(
            self.folder / "new", labels=None, image_size=(20, 16), shuffle=False,
            verbose=False).as_numpy_iterator()))
        model = keras.Sequential([keras.Input((8, 9, 3)), L.Flatten(), L.Dense(2)])
        crop = {"crop": {"size": [8, 9], "random": True}}
        for form, steps in [({"image_size": [20, 16]}, [crop]),
                            ({}, [{"resize": {"size": [20, 16]}}, {"cache": {}}, crop])]:
            self.train(model, {"images": {"directory": "train", **form}, "one_hot": True,
                               "pipeline": steps})
            np.testing.assert_allclose(self.predict("new"), model(L.CenterCrop(8, 9)(images)),
                                       rtol=1e-4, atol=1e-3)

    def test_random_steps_are_those_of_the_epoch_and_the_example(self):
        """A model of one weight: the loss tells what was drawn. Workers change nothing."""
        x = np.arange(16, dtype="f").reshape(1, 4, 4, 1).repeat(6, 0)
        model = keras.Sequential([keras.Input((1, 1, 1)), L.Flatten(),
                                  L.Dense(1, kernel_initializer="ones")])
        source = self.source(x, 1, [{"crop": {"size": 1, "random": True}}])
        fields = {"loss": "mean_absolute_error", "batch_size": 1, "epochs": 8, "shuffle": False,
                  "seed": 3}
        seen = []
        for _ in range(2):
            self.train(model, source, **fields)
            text = cairn("history", "judged", "--json", "--state", "state", folder=self.folder)
            batches = [one for one in map(json.loads, text.splitlines())
                       if "batch" in one and "loss" in one]
            seen.append([round(one["loss"]) for one in sorted(batches, key=lambda b: b["batch"])])
        self.assertEqual(seen[0], seen[1])
        self.assertEqual(len(seen[0]), 48)
        # Each epoch draws anew, for each example, all over the image.
        epochs = np.reshape(seen[0], (8, 6))
        self.assertEqual(len({tuple(epoch) for epoch in epochs.tolist()}), 8)
        self.assertGreater(len(set(seen[0])), 10)
        self.assertTrue(all(0 <= one < 16 for one in seen[0]))
        # An evaluation takes the middle.
        self.assertAlmostEqual(self.evaluate("train"), 5, delta=1e-4)


if __name__ == "__main__":
    results.main()
