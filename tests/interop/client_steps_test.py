"""The package `cairn`: an own train_step or compute_loss, and layers that ask whether they train."""

import gc
import os
import unittest
import weakref

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


def rows(count=96):
    random = np.random.default_rng(2)
    return random.random((count, 6)).astype("float32"), random.random((count, 2)).astype("float32")


def network(kind, *middle, **last):
    inputs = keras.Input((6,))
    x = layers.Dense(5, activation="tanh")(inputs)
    for each in middle:
        x = each(x)
    return kind(inputs, layers.Dense(2, **last)(x))


def with_methods(**methods):
    return type("Own", (keras.Model,), methods)


def mse(loss=None, optimizer=None, **more):
    return {"optimizer": optimizer or keras.optimizers.SGD(0.1), "loss": loss, **more}


def squares(model, x=None, y=None, y_pred=None, sample_weight=None, training=True):
    return ops.mean(ops.square(y - y_pred))


class ComputeLoss(unittest.TestCase):
    def test_with_metrics_of_the_script_and_of_compile(self):
        class Model(keras.Model):
            def __init__(self, *args, **kwargs):
                super().__init__(*args, **kwargs)
                self.largest = keras.metrics.Mean(name="largest")

            def compute_loss(self, x=None, y=None, y_pred=None, sample_weight=None, training=True):
                self.largest.update_state(ops.max(ops.abs(y - y_pred), axis=-1))
                return ops.mean(ops.square(y - y_pred)) + 0.1 * ops.mean(ops.abs(y_pred) * x[:, :2])

        x, y = rows()
        model = network(Model)
        same_as_keras(self, model, mse(metrics=["mae"]), x, y, epochs=2,
                      validation_data=(x[:32], y[:32]))
        np.testing.assert_allclose(cluster.predict(model, x), model.predict(x, verbose=0), atol=1e-5)
        expected = model.evaluate(x, y, verbose=0, return_dict=True)
        found = cluster.evaluate(model, x, y, verbose=0, return_dict=True)
        self.assertEqual(sorted(found), sorted(expected))
        for name in expected:
            self.assertAlmostEqual(found[name], expected[name], places=5)

    def test_of_compile_and_more(self):
        class Model(keras.Model):
            def compute_loss(self, x=None, y=None, y_pred=None, sample_weight=None):
                loss = super().compute_loss(x, y, y_pred, sample_weight)
                first = y_pred["p"] if isinstance(y_pred, dict) else y_pred
                return loss + 0.5 * ops.mean(ops.square(first))

        x, y = rows()
        model = network(Model, kernel_regularizer="l2", activity_regularizer="l1")
        same_as_keras(self, model, mse("mae", metrics=["mse"]), x, y, epochs=2)
        several = keras.Input((6,))
        model = Model(several, {"p": layers.Dense(2, name="p")(several),
                                "q": layers.Dense(2, name="q")(several)})
        same_as_keras(self, model, mse({"p": "mse", "q": "mae"}, loss_weights={"p": 1.0, "q": 0.3}), x,
                      {"p": y, "q": y[:, ::-1].copy()}, epochs=2)

    def test_with_the_losses_of_layers(self):
        class Model(keras.Model):
            def compute_loss(self, x=None, y=None, y_pred=None, sample_weight=None, training=True):
                return ops.mean(ops.square(y - y_pred)) + ops.sum(self.losses)

        x, y = rows()
        same_as_keras(self, network(Model, kernel_regularizer="l2"), mse(), x, y, epochs=2)

    def test_distillation(self):
        class Distiller(keras.Model):
            def __init__(self, student, teacher):
                super().__init__()
                self.student, self.teacher = student, teacher
                self.of_labels = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
                self.of_teacher = keras.losses.KLDivergence()

            def call(self, x):
                return self.student(x)

            def compute_loss(self, x=None, y=None, y_pred=None, sample_weight=None, allow_empty=False):
                taught = ops.softmax(self.teacher(x, training=False) / 3, axis=1)
                learned = ops.softmax(y_pred / 3, axis=1)
                return 0.1 * self.of_labels(y, y_pred) + 0.9 * self.of_teacher(taught, learned) * 9

        x, _ = rows()
        teacher = keras.Sequential([keras.Input((6,)), layers.Dense(12, activation="relu"),
                                    layers.Dropout(0.5), layers.Dense(3)])
        teacher.trainable = False
        student = keras.Sequential([keras.Input((6,)), layers.Dense(4, activation="relu"), layers.Dense(3)])
        model = Distiller(student, teacher)
        model(x[:1])
        y = np.random.default_rng(3).integers(0, 3, 96)
        same_as_keras(self, model, mse(metrics=["sparse_categorical_accuracy"]), x, y, epochs=2,
                      validation_data=(x[:32], y[:32]))


class TrainStep(unittest.TestCase):
    def test_of_the_guide(self):
        class Model(keras.Model):
            def train_step(self, data):
                x, y = data
                with tf.GradientTape() as tape:
                    y_pred = self(x, training=True)
                    loss = self.compute_loss(y=y, y_pred=y_pred)
                weights = self.trainable_variables
                self.optimizer.apply(tape.gradient(loss, weights), weights)
                for metric in self.metrics:
                    if metric.name == "loss":
                        metric.update_state(loss)
                    else:
                        metric.update_state(y, y_pred)
                return {metric.name: metric.result() for metric in self.metrics}

        x, y = rows()
        for optimizer in "adam", keras.optimizers.SGD(0.1, momentum=0.9, clipnorm=0.5):
            model = network(Model, layers.BatchNormalization(), kernel_regularizer="l2")
            same_as_keras(self, model, mse("mse", optimizer, metrics=["mae"]), x, y, epochs=2,
                          validation_data=(x[:32], y[:32]), batches_per_update=1)

    def test_with_metrics_of_its_own(self):
        class Model(keras.Model):
            def __init__(self, *args, **kwargs):
                super().__init__(*args, **kwargs)
                self.tracked = [keras.metrics.Mean(name="loss"),
                                keras.metrics.MeanAbsoluteError(name="mae")]

            metrics = property(lambda self: self.tracked)

            def train_step(self, data):
                x, y = data
                with tf.GradientTape() as tape:
                    y_pred = self(x, training=True)
                    loss = keras.losses.mean_squared_error(y, y_pred)  # Of each example.
                gradients = tape.gradient(loss, self.trainable_weights)
                self.optimizer.apply_gradients(zip(gradients, self.trainable_weights))
                self.tracked[0].update_state(loss)
                self.tracked[1].update_state(y, y_pred)
                return {"loss": self.tracked[0].result(), "error": self.tracked[1].result()}

        x, y = rows()
        same_as_keras(self, network(Model), mse(optimizer=keras.optimizers.SGD(0.003)), x, y, epochs=2)

    def test_of_keras_in_one_of_the_script(self):
        class Model(keras.Model):
            def train_step(self, data):
                return super().train_step(data)

        x, y = rows()
        same_as_keras(self, network(Model), mse("mse", metrics=["mae"]), x, y, epochs=2,
                      validation_split=0.25)

    def test_autoencoder_without_call(self):
        """Keras's variational autoencoder. Its random numbers are those of each side: here they are 0."""
        class Sampling(layers.Layer):
            def call(self, inputs):
                mean, variance = inputs
                noise = keras.random.normal(shape=(ops.shape(mean)[0], ops.shape(mean)[1]), stddev=0.0)
                return mean + ops.exp(0.5 * variance) * noise

        class Autoencoder(keras.Model):
            def __init__(self, encoder, decoder):
                super().__init__()
                self.encoder, self.decoder = encoder, decoder
                self.trackers = [keras.metrics.Mean(name=name) for name in ("total", "reconstruction", "kl")]

            metrics = property(lambda self: self.trackers)

            def train_step(self, data):
                with tf.GradientTape() as tape:
                    mean, variance, z = self.encoder(data)
                    decoded = self.decoder(z)
                    reconstruction = ops.mean(ops.sum(
                        keras.losses.binary_crossentropy(data, decoded), axis=(1, 2)))
                    kl = -0.5 * (1 + variance - ops.square(mean) - ops.exp(variance))
                    kl = ops.mean(ops.sum(kl, axis=1))
                    total = reconstruction + kl
                gradients = tape.gradient(total, self.trainable_weights)
                self.optimizer.apply_gradients(zip(gradients, self.trainable_weights))
                for tracker, value in zip(self.trackers, (total, reconstruction, kl)):
                    tracker.update_state(value)
                return {"loss": self.trackers[0].result(), "reconstruction": self.trackers[1].result(),
                        "kl": self.trackers[2].result()}

        images = keras.Input((8, 8, 1))
        x = layers.Conv2D(4, 3, activation="relu", strides=2, padding="same")(images)
        x = layers.Dense(8, activation="relu")(layers.Flatten()(x))
        mean, variance = layers.Dense(2)(x), layers.Dense(2)(x)
        encoder = keras.Model(images, [mean, variance, Sampling()([mean, variance])])
        code = keras.Input((2,))
        x = layers.Reshape((4, 4, 4))(layers.Dense(64, activation="relu")(code))
        x = layers.Conv2DTranspose(4, 3, activation="relu", strides=2, padding="same")(x)
        decoder = keras.Model(code, layers.Conv2DTranspose(1, 3, activation="sigmoid", padding="same")(x))
        data = np.random.default_rng(5).random((96, 8, 8, 1)).astype("float32")
        model = Autoencoder(encoder, decoder)
        same_as_keras(self, model, mse(optimizer=keras.optimizers.SGD(0.01)), data, epochs=2)
        with self.assertRaisesRegex(cairn.NotSupported, "Autoencoder has no call, and so no predictions"):
            cluster.predict(model, data)
        with self.assertRaisesRegex(cairn.NotSupported, "its validation and evaluate compute another"):
            cluster.evaluate(model, data)
        with self.assertRaisesRegex(cairn.NotSupported, "train_step takes labels, and the model has no"):
            cluster.fit(model, data, data, verbose=0)
        kept = weakref.ref(model)
        del model
        gc.collect()
        self.assertIsNone(kept(), "the cluster keeps the model alive")

    def test_the_optimizer_continues_in_the_next_fit(self):
        class Model(keras.Model):
            def train_step(self, data):
                x, y = data
                with tf.GradientTape() as tape:
                    loss = self.compute_loss(y=y, y_pred=self(x, training=True))
                gradients = tape.gradient(loss, self.trainable_weights)
                self.optimizer.apply_gradients(zip(gradients, self.trainable_weights))
                return {"loss": loss}

        x, y = rows()
        model = network(Model)
        start = model.get_weights()
        model.compile("adam", "mse")
        fit = {"shuffle": False, "verbose": 0, "batch_size": 32}
        cluster.fit(model, x, y, epochs=2, **fit)
        cluster.fit(model, x, y, epochs=1, **fit)
        ours = model.get_weights()
        model.set_weights(start)
        model.compile("adam", "mse")
        model.fit(x, y, epochs=3, **fit)
        for here, there in zip(ours, model.get_weights()):
            np.testing.assert_allclose(here, there, atol=2e-4)


class Training(unittest.TestCase):
    def check(self, layer):
        x, y = rows()

        class Model(keras.Model):
            def __init__(self):
                super().__init__()
                self.first, self.layer = layers.Dense(5, activation="tanh"), layer()
                self.last = layers.Dense(2)

            def call(self, x, training=False):
                return self.last(self.layer(self.first(x), training=training))

        for model in network(keras.Model, layer()), Model():
            model(x[:1])
            same_as_keras(self, model, mse("mse"), x, y, epochs=2, validation_data=(x[:32], y[:32]),
                          batches_per_update=1)
            np.testing.assert_allclose(cluster.predict(model, x), model.predict(x, verbose=0), atol=1e-5)

    def test_a_value_for_training(self):
        class Scaled(layers.Layer):
            def call(self, x, training=None):
                if training:
                    return x * 1.5
                return x * 0.5

        self.check(Scaled)

    def test_layers_in_it_have_their_modes(self):
        class Block(layers.Layer):
            def __init__(self):
                super().__init__()
                self.norm, self.dense, self.drop = \
                    layers.BatchNormalization(), layers.Dense(5), layers.Dropout(0.0)

            def call(self, x, training=False):
                x = self.drop(self.dense(self.norm(x)))
                if not training:
                    return x
                return self.norm(x, training=True) + 0.1

        self.check(Block)

    def test_masks_go_on(self):
        class Block(layers.Layer):
            def __init__(self):
                super().__init__()
                self.norm = layers.LayerNormalization()

            def call(self, x, training=None):
                return self.norm(x) if training else self.norm(2.0 * self.norm(x))

        random = np.random.default_rng(4)
        ids = random.integers(1, 9, (96, 5))
        ids[:, 3:] = 0
        inputs = keras.Input((5,), dtype="int32")
        x = Block()(layers.Embedding(9, 4, mask_zero=True)(inputs))
        for end in layers.LSTM(3), layers.GlobalAveragePooling1D():
            model = keras.Model(inputs, layers.Dense(2)(end(x)))
            same_as_keras(self, model, mse("mse"), ids, rows()[1], epochs=2)

    def test_layers_in_layers(self):
        class Inner(layers.Layer):
            def call(self, x, training=None):
                return x * 1.2 if training else x

        class Outer(layers.Layer):
            def __init__(self):
                super().__init__()
                self.inner = [Inner(), Inner()]

            def call(self, x, training=None):
                x = self.inner[0](x)
                if training is None or not training:
                    x = x + 1.0
                return self.inner[1](x, training=training)

        self.check(Outer)

    def test_a_layer_of_keras_that_is_extended(self):
        class Noise(layers.GaussianNoise):
            pass

        x, y = rows()
        model, without = network(keras.Model, Noise(1.0)), network(keras.Model)
        without.set_weights(model.get_weights())
        losses = []
        for each in without, model:
            each.compile(**mse("mse"))
            losses += cluster.fit(each, x, y, verbose=0).history["loss"]
        self.assertGreater(abs(losses[1] - losses[0]), 1e-3)
        np.testing.assert_allclose(cluster.predict(model, x), model.predict(x, verbose=0), atol=1e-5)

    def test_a_loss_in_training_only_is_refused(self):
        class Penalized(layers.Layer):
            def call(self, x, training=None):
                if training:
                    self.add_loss(ops.mean(ops.square(x)))
                return x

        model = network(keras.Model, Penalized())
        model.compile(**mse("mse"))
        with self.assertRaisesRegex(cairn.NotSupported, "Penalized calls add_loss in training only"):
            cluster.fit(model, *rows(), verbose=0)


class Refused(unittest.TestCase):
    def refused(self, reason, *middle, fit=None, compiled=None, **methods):
        model = network(with_methods(**methods), *middle)
        model.compile(**(compiled or mse("mse")))
        with self.assertRaisesRegex(cairn.NotSupported, reason):
            cluster.fit(model, *rows(), verbose=0, **(fit or {}))

    def test_steps_that_a_job_cannot_compute(self):
        def step(change=lambda gradients: gradients, some=lambda weights: weights, times=1,
                 value=lambda model, x, y: ops.mean(ops.square(y - model(x, training=True)))):
            def train_step(model, data):
                for _ in range(times):
                    with tf.GradientTape() as tape:
                        loss = value(model, *data)
                    weights = some(model.trainable_weights)
                    model.optimizer.apply_gradients(zip(change(tape.gradient(loss, weights)), weights))
                return {"loss": loss}

            return train_step

        x, y = rows()
        self.refused("its validation and evaluate compute another loss", train_step=step(),
                     fit={"validation_data": (x, y)})
        self.refused("trains some of the model's trainable weights only",
                     train_step=step(some=lambda weights: weights[:2]))
        self.refused("computes with gradients: .*clipnorm", train_step=step(
            change=lambda gradients: [tf.clip_by_value(each, -1, 1) for each in gradients]))
        self.refused("computes with gradients: .*clipnorm", train_step=step(
            change=lambda gradients: [each * 2 for each in gradients]))
        self.refused("applies gradients 2 times", train_step=step(times=2))
        self.refused("its loss does not depend", train_step=step(value=lambda *_: 3.0))
        self.refused("does not call the model with its inputs, and layer .* would update",
                     layers.BatchNormalization(), train_step=step(
                         value=lambda model, x, y: ops.mean(ops.square(y - model(2 * x)))))
        self.refused("sample_weight", train_step=step(), fit={"sample_weight": np.ones(96)})
        self.refused("sample_weight of steps", train_step=step(),
                     fit={"sample_weight": np.ones((96, 2))})

    def test_losses_that_a_job_cannot_compute(self):
        self.refused("leaves out the losses of layers", layers.Dense(3, kernel_regularizer="l2"),
                     compute_loss=squares)
        self.refused("leaves out the losses of layers", layers.ActivityRegularization(l2=0.1),
                     compute_loss=squares)
        x, y = rows()
        self.refused("compute_loss of Own has a condition on training", fit={"validation_data": (x, y)},
                     compute_loss=lambda model, x=None, y=None, y_pred=None, sample_weight=None,
                     training=True: squares(model, y=y, y_pred=y_pred) * (2.0 if training else 1.0))
        self.refused("compute_loss of Own does not work with symbolic tensors",
                     compute_loss=lambda model, x, y, y_pred, sample_weight: np.mean(y))
        self.refused("metric other is updated with a sample_weight", compute_loss=lambda model, *given: (
            keras.metrics.Mean(name="other").update_state(given[1], sample_weight=given[1]),
            squares(model, *given[:3]))[1])


if __name__ == "__main__":
    results.main()
