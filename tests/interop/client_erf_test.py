"""The package `cairn`: erf, and functions without a gradient, train as Keras trains them."""

import math
import os
import unittest

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import cairn  # noqa: E402
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

    def test_round_and_stop_gradient(self):
        functions = {
            "round": lambda x, w: w * ops.round(3 * x) + x,
            # Some are halves, of which every other one is rounded up.
            "halves": lambda x, w: w * ops.round(0.5 * ops.floor(4 * x)) + x,
            "stop": lambda x, w: w * x + x * ops.stop_gradient(x),
            "stop of small and large numbers": lambda x, w: x * ops.stop_gradient(
                1e-9 * w * x) * 1e9 + ops.stop_gradient(1e9 * x) * 1e-9,
            "stop of a weight": lambda x, w: x * ops.stop_gradient(w) + w,
            # The gradient is that of x.
            "straight through": lambda x, w: w * (x + ops.stop_gradient(ops.round(x) - x)),
            "TensorFlow": lambda x, w: w * (x + tf.stop_gradient(tf.round(x) - x))}
        for name, function in functions.items():
            with self.subTest(name):
                self.trains(own(function))

    def test_places_of_the_largest_and_smallest(self):
        def floats(places):
            return ops.cast(places, "float32")

        functions = {
            "argmax": lambda x, w: w * x * ops.one_hot(ops.argmax(x, axis=-1), 6),
            "the first of equal ones": lambda x, w: w * x + floats(
                ops.argmax(ops.sign(x), axis=-1, keepdims=True)),
            "argmin": lambda x, w: w * x + floats(ops.argmin(x, axis=1, keepdims=True)),
            "of the first of two axes": lambda x, w: w * x + ops.repeat(floats(
                ops.argmax(ops.reshape(x, (-1, 3, 2)), axis=1)), 3, axis=1),
            "TensorFlow": lambda x, w: w * x * tf.one_hot(tf.argmax(x, -1), 6) + x * tf.one_hot(
                tf.argmin(x, axis=1), 6)}
        for name, function in functions.items():
            with self.subTest(name):
                self.trains(own(function))

    def test_places_in_a_batch_are_refused(self):
        with self.assertRaisesRegex(cairn.NotSupported, "Argmax .*over the axis of the examples"):
            self.trains(own(lambda x, w: w * x + ops.cast(ops.argmax(x, axis=0), "float32")))

    def test_a_quantizer_with_a_codebook(self):
        """Of a VQ-VAE: the nearest of some vectors, which the loss of the layer moves."""
        class Quantizer(layers.Layer):
            def build(self, shape):
                self.codes = self.add_weight(shape=(shape[-1], 5), initializer="random_uniform", name="c")

            def call(self, x):
                distances = ops.sum(x**2, axis=1, keepdims=True) + ops.sum(self.codes**2, axis=0) - \
                    2 * ops.matmul(x, self.codes)
                found = ops.one_hot(ops.argmin(distances, axis=1), 5)
                quantized = ops.matmul(found, ops.transpose(self.codes))
                self.add_loss(0.25 * ops.mean((ops.stop_gradient(quantized) - x)**2) +
                              ops.mean((quantized - ops.stop_gradient(x))**2))
                return x + ops.stop_gradient(quantized - x)

        self.trains(Quantizer())

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
