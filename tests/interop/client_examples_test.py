"""The package `cairn`: layers and steps as Keras's own examples write them."""

import os
import unittest

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import cairn  # noqa: E402
import client  # noqa: E402
import keras  # noqa: E402
import numpy as np  # noqa: E402
import tensorflow as tf  # noqa: E402
from client import same_as_keras  # noqa: E402
from keras import layers, ops  # noqa: E402

cluster = None


def setUpModule():
    global cluster
    cluster = client.start()


class Distances(layers.Layer):
    def call(self, anchor, positive, negative):
        return ops.sum(tf.square(anchor - positive), -1), ops.sum(tf.square(anchor - negative), -1)


class OfNetwork(keras.Model):
    def __init__(self, network):
        super().__init__()
        self.network = network
        self.loss_tracker = keras.metrics.Mean(name="loss")

    def call(self, inputs):
        return self.network(inputs)

    @property
    def metrics(self):
        return [self.loss_tracker]


class Siamese(OfNetwork):
    """Its step calls the network in it, and not the model."""

    def train_step(self, data):
        with tf.GradientTape() as tape:
            to_positive, to_negative = self.network(data)
            loss = ops.maximum(to_positive - to_negative + 0.5, 0.0)
        weights = self.network.trainable_weights
        self.optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights))
        self.loss_tracker.update_state(loss)
        return {"loss": self.loss_tracker.result()}


class Stepping:
    """The step of a model, which computes output_of(x)."""

    def train_step(self, data):
        x, y = data
        with tf.GradientTape() as tape:
            loss = ops.mean(ops.square(self.output_of(x) - ops.reshape(y, (-1, 1))))
        gradients = tape.gradient(loss, self.trainable_weights)
        self.optimizer.apply_gradients(zip(gradients, self.trainable_weights))
        self.loss_tracker.update_state(loss)
        return {"loss": self.loss_tracker.result()}


class Step(Stepping, OfNetwork):
    pass


class FunctionalStep(Stepping, keras.Model):
    loss_tracker = keras.metrics.Mean(name="loss")

    @property
    def metrics(self):
        return [self.loss_tracker]


class Normalized(layers.Layer):
    """Its normalization trains if `normalizes` says so, or else as the layer is called."""

    def __init__(self, **normalizes):
        super().__init__()
        self.normalizes = normalizes
        self.normalization = layers.BatchNormalization(momentum=0.5)

    def call(self, x):
        return self.normalization(x, **self.normalizes)


class Doubled(layers.Layer):
    def call(self, x, training=None):
        return x * 2.0 if training else x


class InstanceAttention(layers.Layer):
    """The attention to each of several instances: weights that each of them takes."""

    def build(self, shapes):
        size = shapes[0][-1]
        self.v = self.add_weight(name="v", shape=(size, 4), regularizer=keras.regularizers.L2(0.01))
        self.w = self.add_weight(name="w", shape=(4, 1))

    def call(self, instances):
        scores = ops.stack([ops.tensordot(ops.tanh(ops.tensordot(each, self.v, axes=1)), self.w, axes=1)
                            for each in instances])
        weights = ops.softmax(scores, axis=0)
        return [weights[i] for i in range(len(instances))]


class Ensemble(layers.Layer):
    def __init__(self):
        super().__init__()
        self.parts = [layers.Dense(4) for _ in range(3)]

    def call(self, x):
        stacked = ops.stack([part(x) for part in self.parts], axis=0)
        weights = ops.softmax(stacked, axis=0)
        return ops.sum(weights * ops.tanh(stacked), axis=0) + ops.mean(stacked, axis=0) + \
            ops.max(stacked[:2] * 2.0, axis=0) + weights[0] * weights[-1] + \
            ops.logsumexp(stacked + x[:, :4], axis=0)


class StochasticDepth(layers.Layer):
    def __init__(self, rate):
        super().__init__()
        self.rate = rate
        self.seed_generator = keras.random.SeedGenerator(1337)

    def call(self, x, training=None):
        if training:
            shape = (ops.shape(x)[0],) + (1,) * (len(x.shape) - 1)
            drawn = keras.random.uniform(shape, 0, 1, seed=self.seed_generator)
            return x / (1 - self.rate) * ops.cast(drawn >= self.rate, x.dtype)
        return x


class Examples(unittest.TestCase):
    def test_a_triplet_loss_of_a_dataset_of_three_inputs(self):
        embedding = keras.Sequential([
            keras.Input((6, 6, 3)), layers.Flatten(), layers.Dense(8, activation="relu"),
            layers.BatchNormalization(), layers.Dense(4)], name="embedding")
        inputs = [keras.Input((6, 6, 3), name=name) for name in ("anchor", "positive", "negative")]
        model = Siamese(keras.Model(inputs, Distances()(*map(embedding, inputs))))
        random = np.random.default_rng(1)
        images = tuple(random.random((64, 6, 6, 3)).astype("float32") for _ in range(3))
        model(images)
        dataset = tf.data.Dataset.from_tensor_slices(images).batch(16)
        # Keras scales the gradient by the number of examples: the loss of a step is one for each.
        same_as_keras(self, model, {"optimizer": keras.optimizers.SGD(1e-4)}, dataset, epochs=2,
                      batches_per_update=1)
        for ours, theirs in zip(cluster.predict(model, images), model.predict(images, verbose=0)):
            self.assertEqual(ours.shape, theirs.shape)
            np.testing.assert_allclose(ours, theirs, atol=1e-4)

    def train(self, model, output_of):
        model.output_of = output_of
        x, _ = client.examples(128)
        model(x)
        same_as_keras(self, model, {"optimizer": keras.optimizers.SGD(0.01)}, x, x.sum(1), epochs=2,
                      batches_per_update=1)

    def test_a_step_is_for_training_where_it_says_so(self):
        """Keras runs the layers that a step calls without training=True in inference mode."""
        def parts():
            return [keras.Input((8,)), layers.Dense(6, activation="relu"),
                    layers.BatchNormalization(momentum=0.5), layers.Dense(1)]

        for name, training in (("none", {}), ("False", {"training": False}), ("True", {"training": True})):
            with self.subTest(name):
                model = Step(keras.Sequential(parts()))
                self.train(model, lambda x: model(x, **training))
            with self.subTest(name, kind="functional"):
                inputs, *others = parts()
                functional = FunctionalStep(inputs, keras.Sequential(others)(inputs))
                self.train(functional, lambda x: functional(x, **training))
            with self.subTest(name, kind="a layer of an own layer"):
                # Doubled is first: with Keras it would also get the mode of what was called before it.
                model = Step(keras.Sequential([keras.Input((8,)), Doubled(), Normalized(**training),
                                               layers.Dense(1)]))
                self.train(model, lambda x: model(x))
            with self.subTest(name, kind="an own layer"):
                model = Step(keras.Sequential([keras.Input((8,)), Normalized(), Doubled(),
                                               layers.Dense(1)]))
                self.train(model, lambda x: model.network(x, **training))

    def test_a_loss_passes_its_training_on(self):
        class Losing(keras.Model):
            def __init__(self, network, block):
                super().__init__()
                self.network, self.block = network, block

            def call(self, inputs):
                return self.network(inputs)

            def compute_loss(self, x=None, y=None, y_pred=None, sample_weight=None, training=True):
                return ops.mean(ops.square(self.block(x, training=training)[:, 0] - y)) + \
                    0.0 * ops.mean(y_pred)

        x, _ = client.examples(128)
        model = Losing(keras.Sequential([keras.Input((8,)), layers.Dense(1)]),
                       keras.Sequential([keras.Input((8,)), Normalized(), layers.Dense(1)]))
        model(x)
        same_as_keras(self, model, {"optimizer": keras.optimizers.SGD(0.01)}, x, x.sum(1), epochs=2,
                      batches_per_update=1)

    def test_a_step_draws(self):
        """Also in layers that it calls without training=True, as Keras does."""
        class Noise(layers.Layer):
            def call(self, x):
                return keras.random.normal((ops.shape(x)[0], 8)) + 0.0 * x

        noise = Noise()
        model = Step(keras.Sequential([keras.Input((8,)), layers.Dense(1)]))
        model.output_of = lambda x: 0.0 * model(x) + ops.mean(ops.square(noise(x)), axis=1, keepdims=True)
        x, _ = client.examples(640)
        model(x)
        model.compile(optimizer="sgd")
        # The mean of the squares is 1, and their variance 2 / 8.
        [loss] = cluster.fit(model, x, np.zeros(640), verbose=0).history["loss"]
        self.assertAlmostEqual(loss, 1.25, delta=0.2)

    def test_what_is_stacked_in_front_of_the_examples(self):
        random = np.random.default_rng(2)
        x = [random.random((64, 8)).astype("float32") for _ in range(3)]
        y = random.random(64).astype("float32")
        compiled = {"optimizer": "sgd", "loss": "mse"}
        inputs = [keras.Input((8,)) for _ in range(3)]
        with self.subTest("attention"):
            shared = layers.Dense(6, activation="relu")
            instances = [shared(each) for each in inputs]
            weights = InstanceAttention()(instances)
            scaled = [layers.multiply(pair) for pair in zip(weights, instances)]
            same_as_keras(self, keras.Model(inputs, layers.Dense(1)(layers.concatenate(scaled))),
                          compiled, x, y, epochs=2)
        with self.subTest("ensemble"):
            same_as_keras(self, keras.Model(inputs[0], layers.Dense(1)(Ensemble()(inputs[0]))),
                          compiled, x[0], y, epochs=2)
        with self.subTest("refused"), self.assertRaisesRegex(
                cairn.NotSupported, "stacked in front of the axis of the examples: stack it behind that"):
            class Permuted(layers.Layer):
                def call(self, x):
                    return ops.transpose(ops.stack([x, x]), (2, 0, 1))[0]

            model = keras.Model(inputs[0], Permuted()(inputs[0]))
            model.compile("sgd", "mse")
            cluster.fit(model, x[0], y, verbose=0)

    def test_stochastic_depth(self):
        def network(rate):
            inputs = keras.Input((8,))
            branch = StochasticDepth(rate)(layers.Dense(8, activation="relu")(inputs))
            return keras.Model(inputs, layers.Dense(1)(inputs + branch))

        x, _ = client.examples(256)
        y = x.sum(1)
        compiled = {"optimizer": keras.optimizers.SGD(0.01), "loss": "mse"}
        same_as_keras(self, network(0.0), compiled, x, y, epochs=2)
        # The others depend on the generator. Where half of the branches are dropped, and the others
        # count twice, a step differs from that without, and inference does not.
        model, whole = network(0.5), network(0.0)
        whole.set_weights(model.get_weights())
        for each in (model, whole):
            each.compile(**compiled)
            cluster.fit(each, x, y, batch_size=256, verbose=0)
        self.assertGreater(np.abs(model.get_weights()[0] - whole.get_weights()[0]).max(), 1e-5)
        np.testing.assert_allclose(cluster.predict(model, x), model.predict(x, verbose=0), atol=1e-5)


if __name__ == "__main__":
    unittest.main()
