"""The package `cairn`: erf, floor and ceil train as Keras trains them."""

import math
import os
import unittest

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import client  # noqa: E402
import keras  # noqa: E402
import numpy as np  # noqa: E402
import results  # noqa: E402
import tensorflow as tf  # noqa: E402
from client import same_as_keras  # noqa: E402
from keras import layers, ops  # noqa: E402

cluster = None


def setUpModule():
    global cluster
    cluster = client.start()


def own(function):
    """A layer of the script with a weight w of shape (6,)."""
    class Own(layers.Layer):
        def build(self, shape):
            self.w = self.add_weight(shape=(6,), initializer="ones", name="w")

        def call(self, x):
            return function(x, self.w)

    return Own()


class ErfAndFloor(unittest.TestCase):
    def trains(self, make, optimizer="adam"):
        """Trains x -> Dense -> make(x) -> Dense, and predicts with the result."""
        random = np.random.default_rng(11)
        x, y = random.normal(size=(64, 4)).astype("float32"), random.random((64, 1))
        inputs = keras.Input((4,))
        model = keras.Model(inputs, layers.Dense(1)(make(layers.Dense(6)(inputs))))
        same_as_keras(self, model, {"optimizer": optimizer, "loss": "mse"}, x, y, epochs=2)
        np.testing.assert_allclose(cluster.predict(model, x), model.predict(x, verbose=0), atol=1e-5)
        return model

    def test_gelu_by_hand(self):
        functions = {
            "number": lambda x, w: w * (0.5 * x * (1 + ops.erf(x / math.sqrt(2)))),
            "tensor": lambda x, w: w * 0.5 * x * (1.0 + ops.erf(x / ops.sqrt(2.0))),
            "cast": lambda x, w: w * x * 0.5 * (1.0 + ops.erf(x / ops.cast(ops.sqrt(2.0), x.dtype))),
            "TensorFlow": lambda x, w: w * x * (1.0 + tf.math.erf(x / tf.sqrt(2.0))) / 2.0,
            "weight": lambda x, w: x * ops.erf(w) + ops.erf(x * w)}
        for name, function in functions.items():
            with self.subTest(name):
                self.trains(own(function))

    def test_operations_of_a_functional_model(self):
        self.trains(lambda x: ops.concatenate(
            [ops.erf(x), x - ops.floor(x), ops.ceil(2.0 * x) - x], axis=-1))

    def test_erf_as_an_activation(self):
        self.trains(layers.Dense(5, activation=ops.erf))
        self.trains(layers.Activation(ops.erf))

    def test_floor_and_ceil_in_own_layers(self):
        functions = {
            "sawtooth": lambda x, w: w * (x - ops.floor(x)),
            "ceil": lambda x, w: w * ops.ceil(3.0 * x) + x,
            "of a weight": lambda x, w: x * ops.floor(1.5 * w) * ops.ceil(0.5 * w) + w,
            "TensorFlow": lambda x, w: w * (tf.math.ceil(x) - tf.floor(x)) + x,
            "to integers": lambda x, w: w * ops.cast(ops.cast(ops.floor(x), "int32"), "float32") + x,
            "one-hot": lambda x, w: ops.sum(
                ops.one_hot(ops.cast(ops.floor(2 * ops.sigmoid(x)), "int32"), 2)[:, :, 1:], axis=-1) *
            w + x}
        for name, function in functions.items():
            with self.subTest(name):
                self.trains(own(function))

    def test_what_lies_before_floor_does_not_learn(self):
        inputs = keras.Input((4,))
        before = layers.Dense(6)
        model = keras.Model(inputs, layers.Dense(1)(ops.floor(before(inputs))))
        start = before.get_weights()
        random = np.random.default_rng(12)
        model.compile("sgd", "mse")
        cluster.fit(model, random.normal(size=(64, 4)).astype("float32"), random.random((64, 1)),
                    epochs=2, verbose=0)
        for now, initial in zip(before.get_weights(), start):
            np.testing.assert_array_equal(now, initial)
        self.assertNotEqual(float(model.layers[-1].bias[0]), 0)


if __name__ == "__main__":
    results.main()
