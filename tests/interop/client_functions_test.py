"""The package `cairn`: layers with weights of their own, and losses and metrics that are functions."""

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


def rows(count=96, width=8, seed=1):
    random = np.random.default_rng(seed)
    x = random.random((count, width)).astype("float32")
    return x, (x.sum(1, keepdims=True) / width + 0.1 * random.random((count, 1))).astype("float32")


def same_predictions(test, model, x):
    np.testing.assert_allclose(cluster.predict(model, x), model.predict(x, verbose=0), atol=1e-4)


class MyDense(layers.Layer):
    """As textbooks write it with TensorFlow's functions."""

    def __init__(self, units, activation=None, **kwargs):
        super().__init__(**kwargs)
        self.units, self.activation = units, keras.activations.get(activation)

    def build(self, shape):
        self.kernel = self.add_weight(name="kernel", shape=[shape[-1], self.units],
                                      initializer="glorot_normal", regularizer="l2")
        self.bias = self.add_weight(name="bias", shape=[self.units], initializer="zeros")

    def call(self, x):
        return self.activation(tf.matmul(x, self.kernel) + self.bias)


class Linear(layers.Layer):
    """As Keras's guide writes it."""

    def __init__(self, units=8):
        super().__init__()
        self.units = units

    def build(self, shape):
        self.w = self.add_weight(shape=(shape[-1], self.units), initializer="random_normal")
        self.b = self.add_weight(shape=(self.units,), initializer="random_normal")

    def call(self, inputs):
        return ops.matmul(inputs, self.w) + self.b


def huber_fn(y_true, y_pred):
    error = y_true - y_pred
    is_small = tf.abs(error) < 0.3
    return tf.where(is_small, tf.square(error) / 2, 0.3 * tf.abs(error) - 0.3 ** 2 / 2)


class Weights(unittest.TestCase):
    def test_own_dense_layers(self):
        x, y = rows()
        model = keras.Sequential([keras.Input((8,)), MyDense(16, "relu"), layers.Dropout(0.0),
                                  Linear(4), layers.LeakyReLU(), MyDense(1, name="last")])
        same_as_keras(self, model, {"optimizer": "adam", "loss": "mse", "metrics": ["mae"]}, x, y,
                      epochs=3, validation_data=(x, y))
        same_predictions(self, model, x)

    def test_weights_in_other_places(self):
        """Vectors, scalars, and what is computed of weights before a tensor meets it."""
        class Own(layers.Layer):
            def build(self, shape):
                def weight(name, *shape, **kwargs):
                    return self.add_weight(name=name, shape=shape, initializer=keras.initializers.
                                           RandomNormal(stddev=0.5, seed=len(shape)), **kwargs)

                self.scale, self.power = weight("scale", 6), weight("power")
                self.places = weight("places", 1, 5, 6)
                self.mix, self.mask = weight("mix", 5, 5), weight("mask", 6, trainable=False)
                self.heads = weight("heads", 6, 2, 3)
                self.table, self.taps = weight("table", 9, 6), weight("taps", 3, 6, 4)
                self.time, self.unused = weight("time", 5, 1), weight("unused", 3, trainable=False)

            def call(self, x, ids):
                x = x + self.places + ops.take(self.table, ids, axis=0)
                x = x * ops.exp(self.scale) - self.mask / 2.0
                x = ops.matmul(ops.softmax(self.mix), x) * ops.sigmoid(self.power)
                both = [ops.sin(x * self.time[1:2]), ops.conv(x, self.taps, padding="same")]
                parts = ops.einsum("bti,ihd->bthd", x, self.heads)
                return ops.concatenate([*both, ops.reshape(parts, (-1, 5, 6))], axis=-1)

        random = np.random.default_rng(2)
        x, ids = random.random((64, 5, 6)).astype("float32"), random.integers(0, 9, (64, 5))
        inputs = [keras.Input((5, 6)), keras.Input((5,), dtype="int32")]
        model = keras.Model(inputs, layers.Dense(1)(layers.Flatten()(Own()(*inputs))))
        same_as_keras(self, model, {"optimizer": "sgd", "loss": "mse"}, [x, ids],
                      random.random((64, 1)), epochs=2)

    def test_a_layer_that_is_called_twice_and_one_that_is_frozen(self):
        shared, frozen = Linear(8), Linear(8)
        frozen.trainable = False
        inputs = keras.Input((8,))
        model = keras.Model(inputs, layers.Dense(1)(frozen(ops.tanh(shared(shared(inputs))))))
        same_as_keras(self, model, {"optimizer": keras.optimizers.SGD(momentum=0.9), "loss": "mse"},
                      *rows(), epochs=2)

    def test_functions_of_layers_of_keras(self):
        """An activation, a regularizer and a Lambda; and a kernel that two layers share."""
        class Transposed(layers.Layer):
            def __init__(self, dense):
                super().__init__()
                self.dense = dense

            def build(self, shape):
                self.bias = self.add_weight(name="bias", shape=(self.dense.kernel.shape[0],))

            def call(self, x):
                return tf.matmul(x, self.dense.weights[0], transpose_b=True) + self.bias

        x, y = rows()
        tied = layers.Dense(3, activation="relu")
        model = keras.Sequential([
            keras.Input((8,)), tied, Transposed(tied), layers.Lambda(lambda v: v / 2 + 1),
            layers.Reshape((2, 4)), layers.Lambda(lambda v: ops.softmax(v, axis=1)), layers.Flatten(),
            layers.Dense(12), layers.Reshape((4, 3)), layers.Lambda(lambda v: ops.glu(v, axis=1)),
            layers.Flatten(), layers.Lambda(keras.activations.glu),
            layers.Dense(1, activation=lambda z: tf.math.log(1.0 + tf.exp(z)),
                         kernel_regularizer=lambda w: tf.reduce_sum(tf.abs(0.01 * w)))])
        same_as_keras(self, model, {"optimizer": "adam", "loss": "mse"}, x, y, epochs=2,
                      validation_data=(x, y))

    def test_random_numbers_of_own_layers(self):
        class Sampling(layers.Layer):
            def __init__(self, deviation):
                super().__init__()
                self.deviation, self.seed = deviation, keras.random.SeedGenerator(1)

            def call(self, inputs):
                mean, log_variance = inputs
                shape = ops.shape(mean)[0], ops.shape(mean)[1]
                noise = keras.random.normal(shape, stddev=self.deviation, seed=self.seed)
                return mean + ops.exp(0.5 * log_variance) * (noise + tf.random.normal(
                    tf.shape(mean), stddev=self.deviation))

        def model(deviation):
            inputs = keras.Input((8,))
            codes = layers.Dense(3)(inputs), layers.Dense(3)(inputs)
            return keras.Model(inputs, layers.Dense(8)(Sampling(deviation)(codes)))

        x, _ = rows()
        same_as_keras(self, model(0.0), {"optimizer": "adam", "loss": "mse"}, x, x, epochs=2)
        noisy = model(1.0)
        noisy.compile("sgd", "mse")
        losses = cluster.fit(noisy, x, x, epochs=1, verbose=0, validation_data=(x, x)).history
        self.assertGreater(losses["loss"][0], losses["val_loss"][0])  # Which has no noise.

    def test_what_cannot_be_computed_is_refused(self):
        def refused(text, call):
            class Own(layers.Layer):
                def build(self, shape):
                    self.w = self.add_weight(shape=(8, 8), name="w")

                def call(self, x):
                    return call(self, x)

            model = keras.Sequential([keras.Input((8,)), Own(), layers.Dense(1)])
            model.compile("sgd", "mse")
            with self.assertRaisesRegex(cairn.NotSupported, text):
                cluster.fit(model, *rows(), verbose=0)

        refused("computes Arctan", lambda self, x: ops.arctan(ops.matmul(x, self.w)))
        refused("weight .* is taken as an array", lambda self, x: x * np.asarray(self.w)[0])
        refused("assign_add of weight", lambda self, x: x + self.w.assign_add(self.w)[0])
        refused("no output depends on weight", lambda self, x: x)
        refused("tf.sort is no operation", lambda self, x: tf.sort(x, axis=1))


class Halves(unittest.TestCase):
    """glu as an activation: half of the layer's units are gates."""

    def test_layers(self):
        class Gated(keras.Model):
            def __init__(self):
                super().__init__()
                self.conv = layers.Conv1D(6, 3, activation="glu")
                self.flat = layers.Flatten()
                self.dense = layers.Dense(8, activation=keras.activations.glu)
                self.last = layers.Dense(1)

            def call(self, x):
                x = self.conv(ops.expand_dims(x, -1))
                return self.last(self.dense(self.flat(x)))

        x, y = rows()
        model = Gated()
        model(x[:1])
        same_as_keras(self, model, {"optimizer": "adam", "loss": "mse"}, x, y, epochs=2)
        same_predictions(self, model, x)

    def test_outputs(self):
        """Keras says a wrong shape of such an output, and computes the right one."""
        x, y = rows()
        inputs = keras.Input((8,))
        for model in (keras.Sequential([inputs, layers.Dense(2, activation="glu")]),
                      keras.Model(inputs, layers.Activation("glu")(layers.Dense(2)(inputs)))):
            self.assertEqual(model.output_shape, (None, 2))
            same_as_keras(self, model, {"optimizer": "sgd", "loss": "mse", "metrics": ["mae"]}, x, y,
                          epochs=2)
            same_predictions(self, model, x)


class Losses(unittest.TestCase):
    def test_functions_of_tensorflow(self):
        x, y = rows()
        model = keras.Sequential([keras.Input((8,)), layers.Dense(16, activation="relu"),
                                  layers.Dense(1)])
        same_as_keras(self, model, {"optimizer": "nadam", "loss": huber_fn,
                                    "metrics": ["mae", huber_fn]}, x, y, epochs=3,
                      validation_data=(x[:40], y[:40]), sample_weight=y[:, 0])
        same_predictions(self, model, x)
        expected = model.evaluate(x, y, verbose=0, return_dict=True)
        found = cluster.evaluate(model, x, y, verbose=0, return_dict=True)
        self.assertEqual(sorted(found), sorted(expected))
        for key in expected:
            self.assertAlmostEqual(found[key], expected[key], delta=1e-4)

    def test_subclasses_of_loss(self):
        class Mixed(keras.losses.Loss):
            def __init__(self, factor, **kwargs):
                super().__init__(**kwargs)
                self.factor = factor

            def call(self, y_true, y_pred):
                mse = ops.mean(ops.square(y_true - y_pred), axis=-1)
                return mse + self.factor * ops.mean(ops.square(0.5 - y_pred))

        class Weighted(keras.losses.Loss):
            def call(self, y_true, y_pred):
                return ops.abs(y_true - y_pred) * ops.where(y_true > 0.5, 2.0, 1.0)

        x, y = rows()
        for loss in Mixed(0.1), Weighted(), Weighted(reduction="sum"):
            model = keras.Sequential([keras.Input((8,)), layers.Dense(4), layers.Dense(1)])
            same_as_keras(self, model, {"optimizer": keras.optimizers.SGD(0.005), "loss": loss}, x,
                          y, epochs=2, validation_split=0.25)

    def test_of_classes(self):
        """Cross-entropies in losses of the script, with accuracy beside them."""
        def focal(y_true, y_pred):
            entropy = keras.losses.binary_crossentropy(y_true, y_pred)
            right = y_true * y_pred + (1 - y_true) * (1 - y_pred)
            return ops.mean((1 - right) ** 2.5, axis=-1) * entropy

        def smoothed(y_true, y_pred):
            one_hot = ops.one_hot(ops.cast(y_true, "int32"), 3)
            return -ops.sum(ops.clip(one_hot, 0.05, 0.9) * ops.log(y_pred + 1e-7), axis=-1)

        def sparse(y_true, y_pred):
            return 2 * keras.losses.sparse_categorical_crossentropy(y_true, y_pred)

        x, y = rows()
        classes = np.digitize(y[:, 0], [0.5, 0.6])
        for loss, labels, units, activation in (
                (focal, (y > 0.55).astype("float32"), 1, "sigmoid"), (sparse, classes, 3, "softmax"),
                (smoothed, classes, 3, "softmax")):
            with self.subTest(loss.__name__):
                model = keras.Sequential([keras.Input((8,)),
                                          layers.Dense(units, activation=activation)])
                same_as_keras(self, model, {"optimizer": "adam", "loss": loss,
                                            "metrics": ["accuracy"]}, x, labels, epochs=2)

    def test_of_several_outputs(self):
        x, y = rows()
        inputs = keras.Input((8,))
        model = keras.Model(inputs, [layers.Dense(2, name="a")(inputs), layers.Dense(1, name="b")(
            inputs)])
        compiled = {"optimizer": "sgd", "loss": {"a": "mse", "b": huber_fn},
                    "loss_weights": {"a": 0.5, "b": 2.0}, "metrics": {"a": ["mae"], "b": [huber_fn]}}
        same_as_keras(self, model, compiled, x, {"a": x[:, :2], "b": y}, epochs=2,
                      callbacks=[keras.callbacks.EarlyStopping("b_huber_fn", mode="min", patience=3)])

    def test_class_weight(self):
        """Of the training: not of the validation data, which are a part of the same arrays."""
        def entropy(y_true, y_pred):
            return keras.losses.binary_crossentropy(y_true, y_pred)

        x, y = rows(100)
        labels, weights = (y > 0.55).astype("float32"), {0: 0.5, 1: 3.0}
        model = keras.Sequential([keras.Input((8,)), layers.Dense(1, activation="sigmoid")])
        same_as_keras(self, model, {"optimizer": "adam", "loss": entropy, "metrics": ["accuracy"]}, x,
                      labels, epochs=2, class_weight=weights, validation_split=0.25)
        inputs = keras.Input((8,))
        model = keras.Model(inputs, [layers.Dense(1)(inputs), layers.Dense(1)(inputs)])
        model.compile("sgd", "mse")
        with self.assertRaisesRegex(cairn.NotSupported, "class_weight .* several outputs"):
            cluster.fit(model, x, [y, y], class_weight=weights, verbose=0)

    def test_weights_of_steps_and_pixels(self):
        random = np.random.default_rng(11)
        images = random.random((48, 4, 4, 3)).astype("float32")
        classes = random.integers(0, 3, (48, 4, 4, 1))
        weights = np.array([0.5, 1.0, 2.0], "float32")[classes]
        model = keras.Sequential([keras.Input((4, 4, 3)), layers.Conv2D(3, 3, padding="same",
                                                                        activation="softmax")])
        compiled = {"optimizer": "sgd", "loss": "sparse_categorical_crossentropy",
                    "metrics": ["accuracy"]}
        same_as_keras(self, model, compiled, images, classes, epochs=2, batch_size=16,
                      sample_weight=weights[..., 0], validation_data=(images, classes, weights))
        np.testing.assert_allclose(
            cluster.evaluate(model, images, classes, sample_weight=weights, verbose=0),
            model.evaluate(images, classes, sample_weight=weights, verbose=0), atol=1e-4)
        rows = images.reshape(48, 16, 3)
        model = keras.Sequential([keras.Input((16, 3)), layers.Dense(2)])
        same_as_keras(self, model, {"optimizer": "sgd", "loss": keras.losses.Huber()}, rows,
                      rows[..., :2], sample_weight=rows[..., 2], validation_split=0.25)
        model.compile("sgd", "mse", weighted_metrics=["mae"])
        with self.assertRaisesRegex(cairn.NotSupported, "output dense.* has weighted_metrics"):
            cluster.fit(model, rows, rows[..., :2], sample_weight=rows[..., 2], verbose=0)
        model.compile("sgd", "mse", metrics=[])
        with self.assertRaisesRegex(cairn.NotSupported, r"shape \(examples, 15\), and loss .* 16"):
            cluster.fit(model, rows, rows[..., :2], sample_weight=rows[:, 1:, 2], verbose=0)

    def test_weights_of_outputs(self):
        x, y = rows()
        inputs = keras.Input((8,))
        outputs = {"a": layers.Dense(1, name="a")(inputs),
                   "b": layers.Dense(2, activation="softmax", name="b")(inputs)}
        labels = {"a": y, "b": (y[:, 0] > 0.5).astype("int64")}
        compiled = {"optimizer": "sgd", "loss": {"a": "mse", "b": "sparse_categorical_crossentropy"},
                    "loss_weights": {"a": 1.0, "b": 0.3}, "metrics": {"a": ["mae"], "b": ["accuracy"]}}
        weights = {"a": x[:, 0], "b": x[:, 1]}
        same_as_keras(self, keras.Model(inputs, outputs), compiled, x, labels, sample_weight=weights)
        same_as_keras(self, keras.Model(inputs, list(outputs.values())),
                      {key: value if key == "optimizer" else list(value.values())
                       for key, value in compiled.items()},
                      x, list(labels.values()), sample_weight=list(weights.values()))

    def test_names_of_metrics(self):
        def MyMetric(y_true, y_pred):
            return ops.abs(y_true - y_pred)

        class Cm:
            def __call__(self, y_true, y_pred):
                return ops.square(y_true - y_pred)

        x, y = rows(100)
        model = keras.Sequential([keras.Input((8,)), layers.Dense(1)])
        compiled = {"optimizer": "sgd", "loss": "mse", "metrics": [
            MyMetric, "mae", lambda a, b: ops.abs(a - b) / 2, Cm(), lambda a, b: ops.abs(a - b) / 3],
            "weighted_metrics": [MyMetric]}
        names = same_as_keras(self, model, compiled, x, y, epochs=2, validation_split=0.25)
        self.assertLess({"my_metric", "lambda", "lambda_1", "cm", "weighted_my_metric"}, set(names))

    def test_metrics_with_a_state(self):
        """As Keras's guide and textbooks write them."""
        class RootMeanSquaredError(keras.metrics.Metric):
            def __init__(self, name="rmse", **kwargs):
                super().__init__(name=name, **kwargs)
                self.mse_sum = self.add_weight(name="mse_sum", initializer="zeros")
                self.total_samples = self.add_weight(name="total_samples", initializer="zeros")
                self.numbers = self.add_weight(name="numbers", initializer="zeros")

            def update_state(self, y_true, y_pred, sample_weight=None):
                y_true = ops.one_hot(y_true, num_classes=ops.shape(y_pred)[1])
                self.mse_sum.assign_add(ops.sum(ops.square(y_true - y_pred)))
                self.total_samples.assign_add(ops.shape(y_pred)[0])
                self.numbers.assign_add(tf.cast(tf.size(y_pred), tf.float32) - ops.cast(
                    ops.size(y_true), "float32") / 2)

            def result(self):
                return ops.sqrt(self.mse_sum / ops.cast(self.total_samples, "float32")) + \
                    self.numbers / (1 + self.total_samples)

        class CategoricalTruePositives(keras.metrics.Metric):
            def __init__(self, name="true_positives", **kwargs):
                super().__init__(name=name, **kwargs)
                self.true_positives = self.add_weight(name="tp", initializer="zeros")

            def update_state(self, y_true, y_pred, sample_weight=None):
                values = ops.equal(ops.cast(y_true, "int32"),
                                   ops.cast(y_pred[:, 1] > 0.5, "int32"))
                self.true_positives.assign(
                    self.true_positives + ops.sum(ops.cast(values, "float32")))

            def result(self):
                return self.true_positives * 1

        class MeanOfBatches(keras.metrics.Metric):
            def __init__(self):
                super().__init__(name="of_batches")
                self.total = self.add_weight(name="total", initializer="zeros")
                self.count = self.add_weight(name="count", initializer="zeros")

            def update_state(self, y_true, y_pred, sample_weight=None):
                self.total.assign_add(tf.reduce_mean(tf.square(y_pred)))
                self.count.assign_add(1)

            def result(self):
                return {"of_batches": self.total / self.count, "batches": self.count * 1}

        x, y = client.examples(192)
        model = client.network()
        compiled = {"optimizer": "sgd", "loss": "sparse_categorical_crossentropy", "metrics": [
            RootMeanSquaredError(), "accuracy", CategoricalTruePositives(), MeanOfBatches()]}
        there = same_as_keras(self, model, compiled, x, y, epochs=2, validation_data=(x[:96], y[:96]))
        self.assertGreater(there["val_true_positives"][-1], 1)
        results = cluster.evaluate(model, x[:32], y[:32], return_dict=True, verbose=0)
        # In the first call Keras counts the trace of update_state as a batch.
        for _ in range(2):
            expected = model.evaluate(x[:32], y[:32], return_dict=True, verbose=0)
        self.assertEqual(sorted(results), sorted(expected))
        for name, value in expected.items():
            self.assertAlmostEqual(results[name], value, 4, name)

    def test_states_that_are_no_sums_are_refused(self):
        class Largest(keras.metrics.Metric):
            def __init__(self, how):
                super().__init__(name="largest")
                self.how, self.state = how, self.add_weight(name="state", initializer="zeros")

            def update_state(self, y_true, y_pred, sample_weight=None):
                self.how(self.state, ops.mean(y_pred))

            def result(self):
                return self.state

        model = keras.Sequential([keras.Input((8,)), layers.Dense(1)])
        for how, message in (
                (lambda state, value: state.assign(ops.maximum(state, value)), "than its sum with"),
                (lambda state, value: state.assign(0.9 * state + value), "than by a sum|than its sum"),
                (lambda state, value: state.assign_add(value * state), "other than by a sum")):
            model.compile("sgd", "mse", metrics=[Largest(how)])
            with self.assertRaisesRegex(cairn.NotSupported, f"metric largest: .*{message}"):
                cluster.fit(model, *rows())

    def test_accuracy_of_labels_that_equal_outputs(self):
        x, y = rows()
        model = keras.Sequential([keras.Input((8,)), layers.Dense(1), layers.Lambda(ops.sign)])
        same_as_keras(self, model, {"optimizer": "sgd", "loss": "mse",
                                    "metrics": [keras.metrics.Accuracy()]}, x, np.sign(y - 0.5),
                      epochs=1)

    def test_losses_of_keras_in_functions(self):
        def loss(y_true, y_pred):
            return keras.losses.Huber(0.1)(y_true, y_pred) + keras.losses.MeanSquaredError(
                reduction="none")(y_true, y_pred)

        model = keras.Sequential([keras.Input((8,)), layers.Dense(1)])
        same_as_keras(self, model, {"optimizer": "sgd", "loss": loss}, *rows(), epochs=2)

    def test_what_cannot_be_traced_is_refused(self):
        def refused(text, loss, **compiled):
            model = keras.Sequential([keras.Input((8,)), layers.Dense(1)])
            model.compile("sgd", loss, **compiled)
            with self.assertRaisesRegex(cairn.NotSupported, text):
                cluster.fit(model, *rows(), verbose=0)

        def branches(y_true, y_pred):
            return y_true if y_pred > 0 else y_pred

        refused("loss branches cannot be computed by a job", branches)
        refused("loss lambda cannot be", lambda a, b: np.mean((a - b) ** 2))
        refused("a mean or sum over all examples",
                lambda a, b: ops.sqrt(ops.mean(ops.square(a - b))))
        refused("that does not depend", lambda a, b: tf.constant(1.0))
        refused("metric branches", "mse", metrics=[branches])


class Penalties(unittest.TestCase):
    def test_add_loss_and_activity_regularizers(self):
        class Activity(layers.Layer):
            def call(self, x):
                self.add_loss(0.01 * ops.sum(ops.square(x)))
                self.add_loss(0.1 * tf.reduce_mean(x))
                return x

        class Penalized(Linear):
            def call(self, x):
                self.add_loss(0.01 * ops.sum(ops.abs(self.w)))
                return super().call(x)

        class Regularized(layers.Layer):
            def call(self, x):
                return ops.tanh(x)

        x, y = rows()
        model = keras.Sequential([
            keras.Input((8,)), layers.Dense(4), Activity(), Penalized(4),
            Regularized(activity_regularizer="l1"),
            Regularized(activity_regularizer=lambda v: 0.02 * ops.sum(v ** 2)), layers.Dense(1)])
        for loss in "mse", huber_fn:
            same_as_keras(self, model, {"optimizer": keras.optimizers.SGD(0.01), "loss": loss,
                                        "metrics": ["mae"]}, x, y, epochs=2, validation_data=(x, y))

    def test_regularizers(self):
        """Objects and functions of the script, also such that return more than one number."""
        class Own(keras.regularizers.Regularizer):
            def __call__(self, w):
                return 0.02 * ops.sum(ops.abs(w) + ops.square(w))

        x, y = rows(100)
        model = keras.Sequential([
            keras.Input((8,)), layers.Dense(4, kernel_regularizer=Own(), bias_regularizer=Own(),
                                             bias_initializer="ones"),
            layers.Dense(3, kernel_regularizer=lambda w: 0.01 * ops.square(w)),
            layers.Dense(1, activity_regularizer=lambda v: 0.02 * ops.sum(v ** 2)),
            layers.Dense(1, activity_regularizer=Own())])
        same_as_keras(self, model, {"optimizer": keras.optimizers.SGD(0.01), "loss": "mse"}, x, y,
                      epochs=2, validation_data=(x, y))

    def test_labels_that_are_missing(self):
        class Activity(layers.Layer):
            def call(self, x):
                self.add_loss(0.01 * ops.sum(ops.square(x)))
                return x

        x, y = rows()
        model = keras.Sequential([keras.Input((8,)), Activity(), layers.Dense(1)])
        for loss in huber_fn, "mse":
            model.compile("sgd", loss)
            cluster.fit(model, x, y, verbose=0)
            with self.assertRaisesRegex(cairn.NotSupported, "y is missing"):
                cluster.evaluate(model, x, verbose=0)

    def test_weights_of_examples_are_refused(self):
        class Activity(layers.Layer):
            def call(self, x):
                self.add_loss(ops.mean(x))
                return x

        x, y = rows()
        model = keras.Sequential([keras.Input((8,)), Activity(), layers.Dense(1)])
        model.compile("sgd", "mse")
        with self.assertRaisesRegex(cairn.NotSupported, "with add_loss"):
            cluster.fit(model, x, y, sample_weight=y[:, 0], verbose=0)


if __name__ == "__main__":
    results.main()
