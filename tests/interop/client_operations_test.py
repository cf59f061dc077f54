"""The package `cairn`: operations along axes, cells of the script, and models for each step."""

import os
import unittest

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import cairn  # noqa: E402
import client  # noqa: E402
import keras  # noqa: E402
import numpy as np  # noqa: E402
import results  # noqa: E402
from client import same_as_keras  # noqa: E402
from keras import layers  # noqa: E402

cluster = None


def setUpModule():
    global cluster
    cluster = client.start()


class Operations(unittest.TestCase):
    def test_operations_along_axes(self):
        """Each result is multiplied, so that an element at another place has another gradient."""
        ops = keras.ops
        functions = {
            "split": lambda x: ops.split(x, 3, axis=-1)[0] * ops.split(x, 3, axis=-1)[2],
            "split at": lambda x: ops.concatenate(ops.split(x, [1, 3], axis=1)[::-1], axis=1) * x,
            "array_split": lambda x: ops.concatenate(ops.array_split(x, 3, axis=1)[::-1], 1) * x,
            "unstack": lambda x: ops.unstack(x, axis=1)[1] - 0.5 * ops.unstack(x, axis=1)[3],
            "slice": lambda x: ops.slice(x, (0, 1, 2), (-1, 3, -1)) * 0.5,
            "roll": lambda x: ops.roll(x, 1, axis=1) * x,
            "roll of two axes": lambda x: ops.roll(x, (-1, 2), axis=(1, 2)) * x,
            "flip": lambda x: ops.flip(x, axis=1) * x,
            "flip of two axes": lambda x: ops.flip(x, axis=(1, -1)) * x,
            "repeat": lambda x: ops.repeat(x, 2, axis=1) * ops.tile(x, (1, 2, 1)),
            "tile": lambda x: ops.tile(x, (2, 3)) * np.arange(18, dtype="float32"),
            "moveaxis": lambda x: ops.moveaxis(x, 1, -1) * np.arange(4, dtype="float32"),
            "pad": lambda x: ops.pad(x, ((0, 0), (1, 2), (0, 3))) * np.arange(9, dtype="float32"),
        }
        random = np.random.default_rng(5)
        x, y = random.random((64, 4, 6)).astype("float32"), random.random((64, 1))
        for name, function in functions.items():
            with self.subTest(function=name):
                inputs = keras.Input((4, 6))
                result = layers.Flatten()(function(layers.Dense(6)(inputs)))
                model = keras.Model(inputs, layers.Dense(1)(result))
                same_as_keras(self, model, {"optimizer": keras.optimizers.SGD(0.001), "loss": "mse"},
                              x, y, epochs=2)
        part = ops.split(keras.Input((6,)), 2, axis=-1)
        model = keras.Model(part[0]._keras_history.operation.input, part)
        model.compile("sgd", "mse")
        with self.assertRaisesRegex(cairn.NotSupported, "one of the parts that split.* Identity"):
            cluster.fit(model, x[:, 0], [x[:, 0, :3], x[:, 0, 3:]], verbose=0)

    def test_functions_of_numbers(self):
        ops = keras.ops
        inputs = keras.Input((6,))
        x = layers.Dense(6)(inputs)
        left, right = ops.split(x, 2, axis=-1)
        results_of_one = [
            ops.log2(ops.square(x) + 1), ops.log10(ops.square(x) + 1), ops.exp2(x), ops.tan(x * 0.1),
            ops.deg2rad(x), ops.rad2deg(x * 0.01), ops.full_like(x, 3.0) * x,
            *(getattr(ops, name)(x) for name in ("hard_tanh", "hard_silu", "tanh_shrink", "celu",
                                                 "squareplus", "soft_shrink", "hard_shrink"))]
        results_of_two = [ops.logaddexp(left, right), ops.hypot(left, right + 3.0),
                          left * ops.cast(ops.logical_xor(left > 0, right > 0), "float32")]
        model = keras.Model(inputs, layers.Dense(1)(
            ops.concatenate(results_of_one + results_of_two, axis=-1)))
        random = np.random.default_rng(6)
        same_as_keras(self, model, {"optimizer": keras.optimizers.SGD(0.01), "loss": "mse"},
                      random.random((64, 6)).astype("float32"), random.random((64, 1)), epochs=2)

    def test_softmax_along_another_axis_and_a_lambda_behind_it(self):
        inputs = keras.Input((4, 6))
        x = layers.Softmax(axis=1)(layers.Dense(6)(inputs))
        x = layers.Lambda(lambda t: t / (1.0 + keras.ops.sum(t, axis=-1, keepdims=True)))(x)
        model = keras.Model(inputs, layers.Dense(1)(layers.Flatten()(x)))
        random = np.random.default_rng(7)
        same_as_keras(self, model, {"optimizer": "sgd", "loss": "mse"},
                      random.random((64, 4, 6)).astype("float32"), random.random((64, 1)), epochs=2)

    def test_cells_of_the_script(self):
        ops = keras.ops

        class Cell(layers.Layer):
            """As in Keras's guide."""

            def __init__(self, units, **kwargs):
                super().__init__(**kwargs)
                self.units = self.state_size = units

            def build(self, shape):
                self.kernel = self.add_weight(shape=(shape[-1], self.units), name="kernel")
                self.recurrent_kernel = self.add_weight(shape=(self.units, self.units), name="recurrent")

            def call(self, inputs, states):
                output = ops.tanh(ops.matmul(inputs, self.kernel)) + \
                    ops.matmul(states[0], self.recurrent_kernel)
                return output, [output]

        inputs = keras.Input((5, 3))
        start = layers.Dense(4)(inputs[:, 0])
        every, last = layers.RNN(Cell(4), return_sequences=True, return_state=True)(inputs)
        back = layers.RNN(Cell(4), go_backwards=True)(every, initial_state=[start])
        model = keras.Model(inputs, layers.Dense(1)(ops.concatenate([last, back], axis=-1)))
        random = np.random.default_rng(8)
        x, y = random.random((64, 5, 3)).astype("float32"), random.random((64, 1))
        same_as_keras(self, model, {"optimizer": "adam", "loss": "mse"}, x, y, epochs=2)
        masked = keras.Sequential([keras.Input((5, 3)), layers.Masking(), layers.RNN(Cell(1))])
        masked.compile("sgd", "mse")
        with self.assertRaisesRegex(cairn.NotSupported, "RNN. with the cell Cell: its input has a mask"):
            cluster.fit(masked, x, y, verbose=0)

    def test_models_that_are_applied_to_each_step(self):
        def images(functional):
            inner = keras.Sequential([keras.Input((8, 8, 1)), layers.Conv2D(3, 3, activation="relu"),
                                      layers.MaxPooling2D(), layers.Flatten(), layers.Dense(4)])
            if functional:
                inner = keras.Model(inner.inputs[0], inner.outputs[0])
            inputs = keras.Input((4, 8, 8, 1))
            x = layers.LSTM(5)(layers.TimeDistributed(inner)(inputs))
            return keras.Model(inputs, layers.Dense(3, activation="softmax")(x))

        random = np.random.default_rng(9)
        x, y = random.random((64, 4, 8, 8, 1)).astype("float32"), random.integers(0, 3, 64)
        for functional in False, True:
            model = images(functional)
            same_as_keras(self, model, {"optimizer": "adam", "metrics": ["accuracy"],
                                        "loss": "sparse_categorical_crossentropy"}, x, y, epochs=2)
            np.testing.assert_allclose(cluster.predict(model, x), model.predict(x, verbose=0), atol=1e-5)
        step = keras.Input((6,))
        sums = keras.Model(step, layers.Add()([layers.Dense(2)(step), layers.Dense(2)(step)]))
        model = keras.Sequential([keras.Input((4, 6)), layers.TimeDistributed(sums), layers.Flatten(),
                                  layers.Dense(1)])
        model.compile("sgd", "mse")
        with self.assertRaisesRegex(cairn.NotSupported, "do not follow one after the other"):
            cluster.fit(model, random.random((64, 4, 6)), y, verbose=0)


if __name__ == "__main__":
    results.main()
