"""The package `cairn`: operations as layers compute the numbers and gradients of Keras."""

import json
import os
import unittest

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import cairn  # noqa: E402
import keras  # noqa: E402
import numpy as np  # noqa: E402
import results  # noqa: E402
import tensorflow as tf  # noqa: E402
from cairn import structure, tracing  # noqa: E402
from keras import layers, ops  # noqa: E402
from keras.ops import sum as ops_sum  # noqa: E402
from keras.random import normal as keras_normal  # noqa: E402
from keras.random import uniform as keras_uniform  # noqa: E402
from tensorflow import matmul, reduce_mean  # noqa: E402
from tensorflow.nn import softmax  # noqa: E402
from tensorflow.random import normal, stateless_uniform, uniform  # noqa: E402


class NoObjectives:
    whole_inputs = ()

    has_train_step = False

    def job_outputs_of(self, outputs, _):
        return outputs

    def trace(self, *_):
        return [], []

    def translated(self, _):
        pass


def layer_of(name, function):
    """A layer that only a job has."""
    return type(name, (layers.Layer,), {"call": lambda self, x: function(x)})


LAYERS = {name: layer_of(name, function) for name, function in {
    "Cos": tf.cos, "Erf": tf.math.erf, "Floor": tf.floor, "Log": tf.math.log,
    "Reciprocal": tf.math.reciprocal, "Sign": tf.sign, "Sin": tf.sin, "Sqrt": tf.sqrt}.items()}
WEIGHT = [[0.5, -2.0, 1.0, 3.0]] * 3 + [[1.0, 0.25, -1.0, 0.0]]
X = np.array([[0.0, 0.5, -0.0, 2.0], [1.0, -1.0, 3.0, -2.5], [1e-12, 1e-5, 0.3, 7.0]], np.float32)
POSITIVE = np.abs(X)


class Own(layers.Layer):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def build(self, _):
        self.w = self.add_weight(shape=(4, 4), name="w")
        self.w.assign(WEIGHT)

    def call(self, x):
        return self.function(x, self.w) + 0.0 * ops.sum(self.w)


def rebuilt(function):
    """(the own layer, the job's model) of a function of (x, weight)."""
    own = Own(function)
    own.build(None)
    own.built = True
    inputs = keras.Input((4,), name="x")

    class Model(keras.Model):
        def __init__(self):
            super().__init__()
            self.own = own

        def call(self, x):
            return self.own(x)

    model = Model()
    model.built = True
    found = structure.rebuild(model, [inputs], 0, NoObjectives())
    for node in found.topology["config"]["layers"]:
        if node["class_name"] in LAYERS:
            node["registered_name"] = node["class_name"]
    job = keras.models.model_from_json(json.dumps(found.topology), custom_objects=LAYERS)
    for layer in job.layers:
        for variable in layer.weights:  # Without the states of random numbers.
            value, shape = found.weights[f"{layer.name}/{variable.name}"]
            variable.assign(np.reshape(np.asarray(value), shape))
    return own, job


def of_job(job):
    """The job's model as a function of x: the ids of its weights' tables are 0."""
    return lambda x: job([x, tf.zeros((len(x), 1), "int32")] if len(job.inputs) > 1 else x)


def with_gradient(function, x):
    x = tf.constant(x)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = function(x)
        total = tf.reduce_sum(tf.cast(y, tf.float32))
    gradient = tape.gradient(total, x, unconnected_gradients="zero")
    return np.asarray(tf.cast(y, tf.float32)), np.asarray(gradient)


class Translations(unittest.TestCase):
    def same(self, cases):
        for name, (function, x) in cases.items():
            with self.subTest(name):
                own, job = rebuilt(lambda x, w: ops.cast(function(x, w), "float32"))
                values, gradients = with_gradient(own, x)
                ours, our_gradients = with_gradient(of_job(job), x)
                np.testing.assert_allclose(np.reshape(ours, values.shape), values, rtol=2e-5, atol=1e-6)
                np.testing.assert_allclose(our_gradients, gradients, rtol=2e-5, atol=1e-6)

    def refused(self, cases):
        for text, function in cases.items():
            with self.subTest(text), self.assertRaisesRegex(cairn.NotSupported, text):
                rebuilt(function)

    def test_comparisons_and_truth(self):
        self.same({
            "==": (lambda x, w: ops.where(x == 1.0, 3.0, x), X),
            "!=": (lambda x, w: ops.where(x != 1.0, 3.0, x), X),
            "== of weight": (lambda x, w: ops.where(w[0] == 1.0, 3.0, 1.0) * x, X),
            "mask": (lambda x, w: ops.where(3 * ops.sign(x), x, 5.0), X),
            "for all": (lambda x, w: ops.where(np.array([[True, False] * 2]), x, 2 * x), X),
            "and": (lambda x, w: ops.logical_and(2 * x, x + 1), X),
            "and for all": (lambda x, w: ops.logical_and(x, np.array([[True, False] * 2])), X),
            "or": (lambda x, w: ops.logical_or(x, x - 1), X),
            "not": (lambda x, w: ops.logical_not(x * 2), X),
            "bool": (lambda x, w: ops.cast(ops.cast(x * 3, "bool"), "float32"), X),
        })
        self.refused({
            "finite": lambda x, w: ops.where(x > 0, x, -np.inf)})

    def test_bounds(self):
        self.same({
            "log of clip": (lambda x, w: ops.log(ops.clip(x, 1e-10, 1.0)), POSITIVE),
            "minimum": (lambda x, w: ops.minimum(x, 1e9), X),
            "maximum": (lambda x, w: ops.maximum(-3.3e8, x * 1e-3), X),
            "of 0": (lambda x, w: ops.maximum(x, 0.0) + ops.maximum(0.0, 2 * x), X),
            "channels": (lambda x, w: ops.maximum(x, np.array([0.0, 1.0, 0.5, 3.0], np.float32)), X),
            "infinite": (lambda x, w: ops.maximum(ops.log(ops.relu(x)), -100.0), X * 0 + 0.0),
            "of a weight": (lambda x, w: x * ops.clip(w[0], -1.0, 1.0), X),
            "entropy": (lambda x, w: keras.losses.binary_crossentropy(ops.sign(x), ops.sigmoid(x))[:, None],
                        POSITIVE[1:]),
            "abs": (lambda x, w: ops.abs(x), X),
        })

    def test_powers(self):
        self.same({
            **{f"x ** {power}": (lambda x, w, power=power: x ** power, X + 0.25)
               for power in (0, 1, 2, 3, 7, 10, 13.0, -1, -2, -5)},
            **{f"x ** {power} at 0": (lambda x, w, power=power: x ** power, X)
               for power in (2, 10)},
            "2.5 at 0": (lambda x, w: ops.relu(x) ** 2.5, X),
            "1.01": (lambda x, w: ops.relu(x) ** 1.01, X),
            "negative base": (lambda x, w: (x * 0 - 1.5) ** 2.5, X),
            "logsumexp": (lambda x, w: ops.logsumexp(100 * x, axis=-1, keepdims=True), X),
            "logsumexp of one": (lambda x, w: ops.logsumexp(100 * x, axis=-1)[:, None], X),
            "divide_no_nan": (lambda x, w: ops.divide_no_nan(w[0], x), X),
        })
        self.refused({"by 0": lambda x, w: x / 0.0})

    def test_shapes(self):
        self.refused({
            "number of examples": lambda x, w: ops.reshape(x, (-1, 1)),
            "mean or sum over all": lambda x, w: ops.leaky_relu(ops.mean(x)) * x})

    def test_functions_of_tensorflow(self):
        names = {function.__name__ for module in (tf, tf.math, tf.nn, tf.linalg, tf.image)
                 for function in vars(module).values() if hasattr(function, "__name__")}
        self.assertEqual(set(tracing._FUNCTIONS) - names, set())
        unary = {name: getattr(tf, name, None) or getattr(tf.math, name) for name in (
            "abs", "square", "exp", "negative", "sign", "sin", "cos", "sinh", "cosh", "tanh", "sigmoid",
            "identity", "zeros_like", "ones_like", "expm1", "softplus", "erf",
            "floor")}
        unary["ceil"] = tf.math.ceil
        unary.update({name: getattr(tf.nn, name) for name in (
            "relu", "relu6", "elu", "selu", "softsign", "silu", "gelu", "leaky_relu", "softmax",
            "log_softmax")})
        self.same({
            **{name: (lambda x, w, f=f: f(x), X) for name, f in unary.items()},
            **{f"{name} of a weight": (lambda x, w, f=f: x * ops.mean(f(w), axis=0), X)
               for name, f in unary.items() if "softmax" not in name},
            "reductions": (lambda x, w: x * (
                tf.reduce_sum(w) + tf.reduce_mean(w, axis=0) + tf.reduce_max(w) + tf.reduce_min(w) +
                tf.reduce_sum(tf.square(w)) + tf.math.reduce_std(w) + tf.math.reduce_variance(w) +
                tf.reduce_logsumexp(w)), X),
            "pairs": (lambda x, w: x + tf.reduce_mean(
                tf.add(w, 1.0) + tf.subtract(w, 2.0) + tf.multiply(w, w) + tf.maximum(w, 0.5) +
                tf.minimum(w, 0.5) + tf.divide(w, 3.0) + tf.pow(w, 2) + tf.clip_by_value(w, -1.0, 1.0) +
                tf.math.squared_difference(w, 1.0) + tf.transpose(w) + tf.where(w > 0, w, 0.0)), X),
            "shapes": (lambda x, w: tf.squeeze(tf.expand_dims(x, 1), axis=[1]), X),
            "div_no_nan": (lambda x, w: tf.math.divide_no_nan(x, x - 1.0), X),
            "matmul": (lambda x, w: tf.matmul(x, w, transpose_b=True), X),
            "tensordot": (lambda x, w: tf.tensordot(x, w, axes=1), X),
            "norm": (lambda x, w: tf.norm(x, axis=-1, keepdims=True), X[1:]),
        })
        self.refused({
            "ord": lambda x, w: tf.norm(x, ord=1, axis=-1, keepdims=True),
            "batch_dims": lambda x, w: tf.gather(x, [[0], [1]], batch_dims=1, axis=1),
            "adjoint_b": lambda x, w: tf.matmul(x, w, adjoint_b=True),
            "axes": lambda x, w: tf.tensordot(x, w, axes=[[1], [1]])})

    def test_patches(self):
        def images(x):  # Of 4 x 3 pixels.
            return ops.reshape(ops.concatenate([x, 2 * x, 3 * x, x - 1, x * x, ops.sin(x)], axis=-1),
                               (-1, 4, 3, 2))

        def of_tensorflow(size, *, strides=None, rates=1, padding="VALID"):
            return lambda x, w: tf.image.extract_patches(
                images(x), [1, *size, 1], [1, *(strides or size), 1], [1, rates, rates, 1], padding)

        self.same({
            "rows": (lambda x, w: ops.image.extract_patches(images(x), (2, 1)), X),
            "a part": (lambda x, w: ops.image.extract_patches(images(x), 2), X),
            "padding": (lambda x, w: ops.image.extract_patches(images(x), (2, 3), padding="same"), X),
            "of TensorFlow": (of_tensorflow((2, 3)), X), "same": (of_tensorflow((4, 1), padding="SAME"), X)})
        self.refused({
            "beside each other": of_tensorflow((2, 2), strides=(1, 1)),
            "dilation_rate 2": of_tensorflow((2, 2), rates=2),
            "images of 4 x 3, with padding": of_tensorflow((2, 2), padding="SAME")})

    def test_functions_that_are_imported_by_name(self):
        self.same({
            "reduce_mean": (lambda x, w: x * reduce_mean(w), X),
            "matmul": (lambda x, w: matmul(x, w), X),
            "softmax": (lambda x, w: softmax(x) + softmax(w)[0], X),
            "sum": (lambda x, w: ops_sum(x, axis=1, keepdims=True) * x, X)})
        self.refused({
            "tensorflow.random_normal": lambda x, w: x + normal((4,)),
            "tensorflow.random_uniform": lambda x, w: x + uniform((4,)),
            "tensorflow.random_uniform is called":
                lambda x, w: x + tf.cast(uniform(tf.shape(x), maxval=9, dtype=tf.int32), tf.float32),
            "tensorflow.stateless_random_uniform": lambda x, w: x + stateless_uniform((4,), [1, 2]),
            "random.uniform": lambda x, w: x + keras_uniform((4,)),
            "random.normal": lambda x, w: x + keras.initializers.RandomNormal()((4,))})
        for function in normal, keras_normal:
            _, job = rebuilt(lambda x, w, function=function: x + function(tf.shape(x), stddev=0.5))
            [noise] = [each for each in job.layers if isinstance(each, layers.GaussianNoise)]
            self.assertEqual(noise.stddev, 0.5)

    def test_random_functions_are_refused(self):
        self.refused({
            r"random.uniform": lambda x, w: x + keras.random.uniform((4,)),
            r"random.normal": lambda x, w: x + keras.random.normal((4,)),
            r"Generator.normal": lambda x, w: x + tf.random.get_global_generator().normal((4,)),
            r"random.truncated_normal": lambda x, w: x + tf.random.truncated_normal((4,)),
            r"random.stateless_uniform": lambda x, w: x + tf.random.stateless_uniform((4,), [1, 2])})

    def test_random_numbers_have_their_deviation(self):
        for module in keras.random, tf.random:
            _, job = rebuilt(lambda x, w: x + module.normal(tf.shape(x), stddev=0.5, mean=2.0))
            [noise] = [each for each in job.layers if isinstance(each, layers.GaussianNoise)]
            self.assertEqual(noise.stddev, 0.5)

    def test_uniform_numbers_are_uniform_in_training(self):
        zeros = tf.zeros((20000, 4))
        for function in keras_uniform, uniform:
            _, job = rebuilt(lambda x, w, f=function: x + f((tf.shape(x)[0], 1), -1.0, 3.0))
            inputs = {"x": zeros, "zeros": zeros[:, :1], "own_weights": tf.zeros((len(zeros), 1), "int32")}
            np.testing.assert_allclose(job(inputs), 1, rtol=1e-6, err_msg="their mean")
            draws = np.asarray(job(inputs, training=True))
            self.assertTrue((draws == draws[:, :1]).all(), "one number for each example")
            counts, _ = np.histogram(draws[:, 0], bins=8, range=(-1, 3))
            self.assertEqual(counts.sum(), len(zeros), "all are within the bounds")
            # Of 2500 in each bin; 6 standard deviations.
            self.assertLess(np.abs(counts - 2500).max(), 6 * 47)


if __name__ == "__main__":
    results.main()
