"""The package `cairn`: datasets and generators in place of arrays."""

import os
import unittest

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import cairn.data  # noqa: E402
import client  # noqa: E402
import keras  # noqa: E402
import numpy as np  # noqa: E402
import results  # noqa: E402
import tensorflow as tf  # noqa: E402
from client import examples, network, same_as_keras  # noqa: E402
from keras import layers  # noqa: E402

cluster = None


def setUpModule():
    global cluster
    cluster = client.start()



class Datasets(unittest.TestCase):
    def test_datasets_without_an_end(self):
        x, y = examples(100)

        def generator():
            while True:
                for i in range(0, 96, 16):
                    yield x[i:i + 16], y[i:i + 16]

        batches = tf.data.Dataset.from_tensor_slices((x, y)).repeat().batch(16)
        for make in generator, lambda: batches:
            model = keras.Sequential([keras.Input((8,)), layers.Dense(2, activation="softmax")])
            same_as_keras(self, model, {"optimizer": "adam", "metrics": ["accuracy"],
                                        "loss": "sparse_categorical_crossentropy"}, make,
                          batch_size=None, epochs=3, steps_per_epoch=5,
                          validation_data=batches, validation_steps=3)

    def test_batches_of_different_lengths(self):
        """They are padded with zeros, which a mask leaves out."""
        random = np.random.default_rng(8)
        ids = [random.integers(1, 20, random.integers(3, 9)) for _ in range(64)]
        y = random.random(64)
        batches = tf.data.Dataset.from_generator(
            lambda: zip(ids, y), output_signature=(tf.TensorSpec((None,), tf.int64),
                                                   tf.TensorSpec((), tf.float32)))
        batches = batches.padded_batch(16)
        model = keras.Sequential([keras.Input((None,)), layers.Embedding(20, 4, mask_zero=True),
                                  layers.LSTM(4), layers.Dense(1)])
        same_as_keras(self, model, {"optimizer": "sgd", "loss": "mse"}, lambda: batches,
                      batch_size=None, epochs=2, validation_data=batches)

    def test_a_dataset_with_a_shuffle_is_shuffled_in_each_epoch(self):
        x, y = examples(64)
        rows = tf.data.Dataset.from_tensor_slices((x, y))
        for dataset, expected in ((rows.shuffle(64).batch(16).prefetch(1), True),
                                  (rows.batch(16).map(lambda a, b: (a, b)), False)):
            self.assertEqual(cairn.data.from_batches("x", dataset).shuffled, expected)

    def test_a_dataset_of_unknown_size_with_a_shuffle(self):
        x, y = examples(64)
        rows = tf.data.Dataset.from_tensor_slices((x, y)).filter(lambda a, b: True).shuffle(64)
        for dataset, steps, expected in ((rows.batch(16), None, True), (rows.batch(16), 9, True),
                                         (rows.batch(16), 4, True), (rows.batch(16), 3, False)):
            with self.subTest(steps=steps):
                self.assertEqual(cairn.data.from_batches("x", dataset, steps).shuffled, expected)

    def test_a_generator_of_batches_of_different_sizes_is_refused(self):
        x, y = examples(64)
        batches = ((x[begin:end], y[begin:end]) for begin, end in ((0, 8), (8, 32), (32, 64)))
        with self.assertRaisesRegex(cairn.NotSupported, "batches of different sizes"):
            cairn.data.from_batches("x", batches)

    def test_small_batches_between_others(self):
        x, y = examples(40)
        rows = tf.data.Dataset.from_tensor_slices((x, y)).batch(16)
        read = cairn.data.from_batches("x", rows.repeat(), 5)
        self.assertEqual(read.batch_size, 16)
        np.testing.assert_array_equal(read.x, np.concatenate([x, x[:32]]))
        history = cluster.fit(network(), rows.repeat(), epochs=2, steps_per_epoch=3, verbose=0)
        self.assertEqual(history.epoch, [0, 1])


if __name__ == "__main__":
    results.main()
