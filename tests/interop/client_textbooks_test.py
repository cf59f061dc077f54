"""What scripts of textbooks do, by the package `cairn`."""

import functools
import tempfile
import unittest

import cairn
import keras
import numpy as np
import tensorflow as tf
from keras import layers, ops

import client
from client import examples, network, same_as_keras

cluster = None


def setUpModule():
    global cluster
    cluster = client.start()


class Difference(keras.metrics.Mean):
    def update_state(self, y_true, y_pred, sample_weight=None):
        super().update_state(ops.abs(y_true - y_pred), sample_weight)


class Squares(keras.metrics.Sum):
    def update_state(self, y_true, y_pred, sample_weight=None):
        super().update_state(ops.square(y_true - y_pred), sample_weight)


class Far(keras.metrics.MeanMetricWrapper):
    def __init__(self, name="far", **kwargs):
        super().__init__(lambda y_true, y_pred: ops.mean(
            ops.cast(ops.abs(y_true - y_pred) > 0.5, "float32"), axis=-1), name=name, **kwargs)


def _normalized(x):
    mean, variance = tf.nn.moments(x, axes=-1, keepdims=True)
    return (x - mean) / tf.sqrt(variance + 1e-3)


FUNCTIONS = {
    "one_hot": lambda x: tf.reshape(tf.one_hot(tf.cast(x[:, :4] > 0.5, "int32"), 3), [-1, 12]),
    "cumsum": lambda x: tf.cumsum(x, axis=1), "split": lambda x: tf.split(x, 2, axis=1)[1],
    "split by sizes": lambda x: tf.split(x, [3, 5], axis=-1)[1], "tile": lambda x: tf.tile(x, [1, 2]),
    "repeat": lambda x: tf.repeat(x, 2, axis=1), "pad": lambda x: tf.pad(x, [[0, 0], [1, 2]]),
    "reverse": lambda x: tf.reverse(x, axis=[1]), "roll": lambda x: tf.roll(x, 2, 1),
    "unstack": lambda x: tf.unstack(tf.reshape(x, [-1, 2, 4]), axis=1)[1],
    "add_n": lambda x: tf.add_n([x, x, x]), "moments": _normalized,
    "bias_add": lambda x: tf.nn.bias_add(x, tf.range(8.0)),
    "l2_normalize": lambda x: tf.math.l2_normalize(x, axis=1),
}


class Function(layers.Layer):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def call(self, x):
        return self.function(x)


class OfWholeNumbers(keras.Model):
    """Its inputs are arrays of whole numbers, of tags as in a ticket."""

    def __init__(self, ids):
        super().__init__()
        self.concatenate, self.flatten = layers.Concatenate(), layers.Flatten()
        self.embedding = layers.Embedding(10, 3) if ids else None
        self.dense = layers.Dense(1)

    def call(self, inputs):
        x = self.concatenate([self.flatten(inputs["tags"]), inputs["size"]])
        if self.embedding:
            x = self.concatenate([x, self.flatten(self.embedding(inputs["ids"]))])
        return self.dense(x)


class DepthPool(layers.Layer):
    """The maxima of groups of channels, whose shape is computed as tensors."""

    def call(self, inputs):
        shape = tf.shape(inputs)
        return tf.reduce_max(tf.reshape(inputs, tf.concat([shape[:-1], [shape[-1] // 2, 2]], axis=0)),
                             axis=-1)


class CellOfACell(layers.Layer):
    """A recurrent cell that calls one of Keras's, and normalizes its output."""

    def __init__(self, cell):
        super().__init__()
        self.cell, self.normalization = cell, layers.LayerNormalization()
        self.state_size, self.output_size = cell.state_size, cell.output_size

    def call(self, inputs, states):
        output, states = self.cell(inputs, states)
        return self.normalization(output), states


class TwiceTheOutput(layers.SimpleRNNCell):
    def call(self, inputs, states, training=False):
        output, states = super().call(inputs, states, training=training)
        return output * 2, states


class Tracked(keras.Model):
    """A train_step with trackers, of which one has the loss under another name."""

    def __init__(self):
        super().__init__()
        self.dense = layers.Dense(1)
        self.total = keras.metrics.Mean(name="total_loss")
        self.error = keras.metrics.Mean(name="error")

    @property
    def metrics(self):
        return [self.total, self.error]

    def call(self, x):
        return self.dense(x)

    def train_step(self, data):
        x, y = data
        with tf.GradientTape() as tape:
            predicted = self(x, training=True)
            error = tf.reduce_mean(tf.square(y - predicted))
            loss = error + 0.1 * tf.reduce_mean(tf.abs(predicted))
        weights = self.trainable_variables
        self.optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights))
        self.total.update_state(loss)
        self.error.update_state(error)
        return {each.name: each.result() for each in self.metrics}


class AlwaysDropout(layers.Dropout):
    """Of the Monte Carlo method, which predicts with it."""

    def call(self, inputs, training=None):
        return super().call(inputs, training=True)


class Reconstructing(keras.Model):
    """Reports its reconstruction error by a metric that its call updates."""

    def __init__(self, asks_for_training):
        super().__init__()
        self.asks_for_training = asks_for_training
        self.hidden = [layers.Dense(6, activation="tanh") for _ in range(2)]
        self.reconstruct, self.out = layers.Dense(8), layers.Dense(1)
        self.error = keras.metrics.Mean(name="reconstruction_error")

    def call(self, inputs, training=None):
        x = inputs
        for each in self.hidden:
            x = each(x)
        error = ops.mean(ops.square(self.reconstruct(x) - inputs))
        self.add_loss(0.05 * error)
        if not self.asks_for_training or training:
            self.error(error)
        return self.out(x)


class Measured(layers.Layer):
    def __init__(self, times=1):
        super().__init__()
        self.times = times
        self.size = keras.metrics.Mean(name="size")
        self.distance = keras.metrics.MeanAbsoluteError(name="distance")

    def call(self, x, training=None):
        for _ in range(self.times):
            self.size.update_state(ops.abs(x) if training else 9 * ops.square(x))
        self.distance.update_state(ops.ones_like(x), x)
        return x


class ClassToken(layers.Layer):
    """A weight in front of the steps of each example, of a vision transformer."""

    def __init__(self, for_each):
        super().__init__()
        self.for_each = for_each

    def build(self, shape):
        self.token = self.add_weight(shape=(1, 1, shape[-1]), initializer="random_normal", name="token")

    def call(self, x):
        return ops.concatenate([self.for_each(self.token, x), x], axis=1)


CLASS_TOKENS = {
    "broadcast": lambda token, x: ops.broadcast_to(token, (ops.shape(x)[0], 1, x.shape[-1])),
    "broadcast of TensorFlow": lambda token, x: tf.broadcast_to(token, [tf.shape(x)[0], 1, x.shape[-1]]),
    "tile": lambda token, x: ops.tile(token, (ops.shape(x)[0], 1, 1)),
    "two steps": lambda token, x: ops.tile(token, (ops.shape(x)[0], 2, 1)),
    "of what is computed": lambda token, x: ops.tile(2.0 * token, (ops.shape(x)[0], 1, 1)),
    "repeat": lambda token, x: ops.repeat(token, ops.shape(x)[0], axis=0),
    "repeat of TensorFlow": lambda token, x: tf.repeat(token, tf.shape(x)[0], axis=0),
}


class Textbooks(unittest.TestCase):
    def test_metrics_that_a_call_updates(self):
        x, y = examples()
        y = y[:, None].astype("float32")
        fit = {"epochs": 2, "validation_data": (x[:96], y[:96])}
        for asks_for_training in True, False:
            with self.subTest(asks_for_training=asks_for_training):
                model = Reconstructing(asks_for_training)
                model(x[:1])
                history = same_as_keras(self, model, {"optimizer": "sgd", "loss": "mse",
                                                      "metrics": ["mae"]}, x, y, **fit)
                # In the validation Keras has no values of it.
                self.assertEqual(history["val_reconstruction_error"][0] == 0, asks_for_training)
                np.testing.assert_allclose(cluster.evaluate(model, x, y, verbose=0),
                                           model.evaluate(x, y, verbose=0), atol=1e-4)
        model = keras.Sequential([keras.Input((8,)), layers.Dense(4), Measured(), layers.Dense(1)])
        history = same_as_keras(self, model, {"optimizer": "sgd", "loss": "mse"}, x, y, **fit)
        self.assertIn("val_distance", history)
        model = keras.Sequential([keras.Input((8,)), Measured(times=2), layers.Dense(1)])
        model.compile("sgd", "mse")
        with self.assertRaisesRegex(cairn.NotSupported, "metric size is updated several times in a call"):
            cluster.fit(model, x, y, verbose=0)

    def test_class_tokens(self):
        x = np.random.default_rng(1).normal(size=(96, 4, 6)).astype("float32")
        for name, for_each in CLASS_TOKENS.items():
            with self.subTest(name):
                model = keras.Sequential([keras.Input((4, 6)), ClassToken(for_each), layers.Conv1D(4, 2),
                                          layers.Flatten(), layers.Dense(1)])
                same_as_keras(self, model, {"optimizer": "sgd", "loss": "mse"}, x,
                              x.sum((1, 2))[:, None], epochs=2)

    def test_losses_as_metrics(self):
        x, y = examples()
        y = np.stack([y, 1 - y], 1).astype("float32")
        model = keras.Sequential([keras.Input((8,)), layers.Dense(2)])
        history = same_as_keras(self, model, {
            "optimizer": "sgd", "loss": keras.losses.Huber(), "metrics": [
                keras.losses.Huber(0.3), keras.losses.LogCosh(), keras.losses.huber,
                keras.losses.MeanSquaredError(), "mae"]}, x, y, epochs=2,
            validation_data=(x[:64], y[:64]))
        self.assertEqual(len(history), 12)

    def test_a_loss_that_joins_the_examples_is_refused(self):
        def dice(y_true, y_pred):
            y_true, y_pred = ops.reshape(y_true, (-1,)), ops.reshape(y_pred, (-1,))
            return 1 - 2 * ops.sum(y_true * y_pred) / (ops.sum(y_true) + ops.sum(y_pred) + 1)

        x, y = examples()
        model = keras.Sequential([keras.Input((8,)), layers.Dense(2)])
        model.compile("sgd", dice)
        with self.assertRaisesRegex(cairn.NotSupported,
                                    "joins the examples of a batch: .*needs no reshape"):
            cluster.fit(model, x, np.stack([y, 1 - y], 1), verbose=0)

    def test_stateful_layers_are_refused(self):
        model = keras.Sequential([keras.Input((4, 6), batch_size=32), layers.LSTM(3, stateful=True),
                                  layers.Dense(1)])
        model.compile("sgd", "mse")
        with self.assertRaisesRegex(cairn.NotSupported, r"\(LSTM\) is stateful: .* use longer sequences"):
            cluster.fit(model, np.zeros((64, 4, 6), "float32"), np.zeros((64, 1)), batch_size=32)

    def test_activations_that_are_layers(self):
        x, y = examples()
        for make in (lambda: layers.LeakyReLU(negative_slope=0.3), layers.PReLU,
                     lambda: layers.ELU(alpha=0.7), lambda: layers.Activation("tanh"),
                     lambda: layers.ReLU(max_value=2.0, negative_slope=0.1)):
            with self.subTest(activation=make().name):
                model = keras.Sequential([
                    keras.Input((8,)), layers.Dense(16, activation=make()), layers.Reshape((4, 4)),
                    layers.Conv1D(4, 3, activation=make()), layers.Flatten(),
                    layers.Dense(2, activation=layers.Softmax())])
                model(x[:1])  # Builds a PReLU.
                same_as_keras(self, model, {"optimizer": "sgd",
                                            "loss": "sparse_categorical_crossentropy"}, x, y, epochs=2)

    def test_metrics_that_extend_a_mean_or_a_sum(self):
        x, y = examples(600)
        y = np.stack([y, 1 - y, y], 1).astype("float32")
        for kind in Difference, Squares, Far:
            with self.subTest(metric=kind.__name__):
                model = keras.Sequential([keras.Input((8,)), layers.Dense(3)])
                same_as_keras(self, model, {"optimizer": "sgd", "loss": "mse", "metrics": [kind()]}, x, y,
                              epochs=2, validation_data=(x[:99], y[:99]))

    def test_a_shape_that_is_computed_as_a_tensor(self):
        x = np.random.default_rng(1).random((96, 6, 6, 4)).astype("float32")
        model = keras.Sequential([keras.Input((6, 6, 4)), layers.Conv2D(8, 3), DepthPool(),
                                  layers.Flatten(), layers.Dense(1)])
        same_as_keras(self, model, {"optimizer": "sgd", "loss": "mse"}, x, x[:, 0, 0, :1], epochs=2)

    def test_cells_that_call_cells_of_keras(self):
        x = np.random.default_rng(1).normal(size=(96, 6, 3)).astype("float32")
        y = x.sum((1, 2))[:, None]
        for make in (lambda: CellOfACell(layers.SimpleRNNCell(4, activation=None)),
                     lambda: CellOfACell(layers.GRUCell(4)), lambda: CellOfACell(layers.LSTMCell(4)),
                     lambda: CellOfACell(layers.GRUCell(4, reset_after=False, use_bias=False)),
                     lambda: TwiceTheOutput(4)):
            for sequences in False, True:
                with self.subTest(cell=make().name, sequences=sequences):
                    model = keras.Sequential([
                        keras.Input((6, 3)), layers.RNN(make(), return_sequences=sequences),
                        layers.Dense(1)])
                    model(x[:1])
                    labels = np.repeat(y[:, None], 6, 1) if sequences else y
                    same_as_keras(self, model, {"optimizer": "sgd", "loss": "mse"}, x, labels, epochs=2)

    def test_a_checkpoint_of_the_best_model_by_a_metric(self):
        """Keras asks its metric whether more is better."""
        x, y = examples()
        for monitor in "val_accuracy", "accuracy", "val_loss":
            model = network()
            with tempfile.TemporaryDirectory() as folder:
                history = cluster.fit(model, x, y, epochs=4, verbose=0, validation_split=0.25, callbacks=[
                    keras.callbacks.ModelCheckpoint(folder + "/best.keras", monitor=monitor,
                                                    save_best_only=True)]).history
                best = keras.saving.load_model(folder + "/best.keras")
            # The first of the best ones.
            values = history[monitor]
            epoch = values.index(min(values) if monitor == "val_loss" else max(values))
            self.assertAlmostEqual(best.evaluate(x[480:], y[480:], verbose=0)[0],
                                   history["val_loss"][epoch], delta=1e-5)

    def test_a_step_that_reports_its_loss_under_another_name(self):
        x, y = examples()
        y = y[:, None].astype("float32")
        model = Tracked()
        model(x[:1])
        history = same_as_keras(self, model, {"optimizer": "sgd"}, x, y, epochs=3)
        self.assertEqual(sorted(history), ["error", "total_loss"])

    def test_functions_of_tensorflow(self):
        x, y = examples(320)
        for name, function in FUNCTIONS.items():
            with self.subTest(function=name):
                model = keras.Sequential([keras.Input((8,)), layers.Dense(8), Function(function),
                                          layers.Dense(2, activation="softmax")])
                same_as_keras(self, model, {"optimizer": "sgd",
                                            "loss": "sparse_categorical_crossentropy"}, x, y, epochs=2)

    def test_whole_numbers_for_a_subclassed_model(self):
        random = np.random.default_rng(1)
        y = random.random((64, 1)).astype("float32")
        for kind in "int64", "int32", "uint8":
            for ids in False, True:
                with self.subTest(kind=kind, ids=ids):
                    x = {"tags": random.integers(0, 2, (64, 2, 3)).astype(kind),
                         "size": random.integers(0, 9, (64, 1)).astype(kind)}
                    if ids:
                        x["ids"] = random.integers(0, 10, (64, 2)).astype(kind)
                    model = OfWholeNumbers(ids)
                    model(x)
                    same_as_keras(self, model, {"optimizer": keras.optimizers.SGD(1e-3), "loss": "mse"},
                                  x, y, epochs=2)

    def test_a_dropout_that_drops_always(self):
        """It does in training. Other draws than Keras's: the losses are near."""
        x, y = examples(6400)
        model = keras.Sequential([keras.Input((8,)), layers.Dense(64, activation="relu"),
                                  AlwaysDropout(0.5), layers.Dense(2, activation="softmax")])
        model.compile("sgd", "sparse_categorical_crossentropy")
        start = model.get_weights()
        losses = []
        for fit in model.fit, functools.partial(cluster.fit, model):
            model.set_weights(start)
            model.compile("sgd", "sparse_categorical_crossentropy")
            losses.append(fit(x, y, epochs=5, batch_size=64, verbose=0).history["loss"])
        np.testing.assert_allclose(*losses, rtol=0.05)
        # Without it the trained model is better than in training.
        inferred = cluster.evaluate(model, x, y, verbose=0)
        self.assertLess(inferred, losses[1][-1] - 0.01)


if __name__ == "__main__":
    unittest.main()
