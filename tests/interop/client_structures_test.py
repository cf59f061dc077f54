"""The package `cairn`: models that are not a list of Keras's layers with known shapes."""

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
from keras import layers  # noqa: E402
from keras.src.applications import convnext  # noqa: E402

cluster = None


def setUpModule():
    global cluster
    cluster = client.start()



class Structures(unittest.TestCase):
    def test_operations_on_tensors(self):
        ops = keras.ops
        images = np.random.default_rng(4).random((64, 6, 6, 3)).astype("float32") * 255
        inputs = keras.Input((6, 6, 3))
        x = keras.applications.vgg16.preprocess_input(inputs)
        x = 1 - (x / 255 - np.array([0.1, 0.2, 0.3], "float32")) * 0.5
        x = layers.Conv2D(4, 3)(x) / 10.0  # Large numbers would diverge.
        rows = ops.reshape(ops.transpose(x, (0, 3, 1, 2)), (-1, 4, 16))
        parts = [ops.mean(x, axis=(1, 2)), ops.max(rows, axis=1), ops.sum(x, axis=-1)[:, 1],
                 ops.squeeze(ops.expand_dims(rows[:, -1, 2:5], 1), 1), ops.tanh(rows[:, 0]),
                 ops.mean(x, axis=2, keepdims=True)[:, 0, 0], ops.cumsum(rows, axis=1)[:, -1, :3],
                 ops.cumsum(rows[:, 1], axis=-1)[:, :2]]
        x = ops.concatenate(parts, axis=-1)
        left, right = layers.Dense(5)(x), layers.Dense(5)(x)
        x = ops.abs(left - right) + (left ** 2) / 10.0 + -right * left
        x = ops.stack([ops.relu(x), ops.sigmoid(x)], axis=1)
        model = keras.Model(inputs, layers.Dense(1)(layers.Flatten()(x)))
        y = images.mean((1, 2, 3)) / 255
        same_as_keras(self, model, {"optimizer": "sgd", "loss": "mse"}, images, y, epochs=2)

    def test_mixed_precision(self):
        """CPUs compute in float32, so Keras's numbers are met as far as 16 bits go."""
        random = np.random.default_rng(5)
        x, y = random.random((128, 6)).astype("float32"), random.integers(0, 3, 128)

        def network(policy):
            return keras.Sequential([
                keras.Input((6,)), layers.Dense(16, activation="relu", dtype=policy),
                layers.Dense(3, dtype=policy),
                layers.Activation("softmax", dtype="float32")])

        model, twin = network("mixed_bfloat16"), network("mixed_bfloat16")
        twin.set_weights(model.get_weights())
        compiled = {"optimizer": "sgd", "loss": "sparse_categorical_crossentropy"}
        for each in (model, twin):
            each.compile(**compiled)
        fit = {"batch_size": 32, "epochs": 3, "shuffle": False, "verbose": 0}
        np.testing.assert_allclose(cluster.fit(model, x, y, **fit).history["loss"],
                                   twin.fit(x, y, **fit).history["loss"], rtol=2e-2)
        words = keras.Input((1,), dtype="string")
        hashed = layers.Flatten()(layers.Embedding(8, 3)(layers.Hashing(8)(words)))
        of_words = keras.Model(words, layers.Dense(3, activation="softmax")(hashed))
        of_words.compile(**compiled)
        cluster.fit(of_words, np.array([["a"], ["b"]] * 64, dtype=object), y, **fit)
        refused = network("float16")
        refused.compile(**compiled)
        with self.assertRaisesRegex(
                Exception, "layer dense.* has the dtype policy float16; use float32, mixed_bfloat16 or m"):
            cluster.fit(refused, x, y, **fit)
        refused = keras.Sequential([keras.Input((6,)), layers.Dense(4, dtype="mixed_bfloat16"),
                                    layers.Dense(3, "softmax", dtype="mixed_float16")])
        refused.compile(**compiled)
        with self.assertRaisesRegex(
                Exception, "policy mixed_bfloat16 and layer .* mixed_float16; a job has one precision"):
            cluster.fit(refused, x, y, **fit)

    def test_mixed_precision_with_scaled_losses(self):
        """compile gives the optimizer to a LossScaleOptimizer, whose inner one continues. CPUs compute in
        float32, so Keras's numbers are met as far as float16 goes, and those of float32 far better."""
        random = np.random.default_rng(6)
        x, y = random.random((96, 8, 8, 2)).astype("float32"), random.integers(0, 3, 96)
        self.addCleanup(keras.mixed_precision.set_global_policy, "float32")

        def network(policy):
            keras.mixed_precision.set_global_policy(policy)
            model = keras.Sequential([
                keras.Input((8, 8, 2)), layers.Conv2D(6, 3, activation="relu"),
                layers.BatchNormalization(), layers.Flatten(),
                layers.Dense(3, kernel_regularizer="l2"), layers.Activation("softmax", dtype="float32")])
            model.compile(optimizer=keras.optimizers.SGD(0.01, momentum=0.9),
                          loss="sparse_categorical_crossentropy")
            return model

        model, half, full = network("mixed_float16"), network("mixed_float16"), network("float32")
        self.assertIsInstance(model.optimizer, keras.optimizers.LossScaleOptimizer)
        fit = {"batch_size": 32, "epochs": 3, "shuffle": False, "verbose": 0}
        for twin in (half, full):
            twin.set_weights(model.get_weights())
        for _ in range(2):  # The second time with the momentum of the first.
            losses = cluster.fit(model, x, y, batches_per_update=1, **fit).history["loss"]
            for twin, tolerance in ((half, 1e-2), (full, 1e-5)):
                np.testing.assert_allclose(losses, twin.fit(x, y, **fit).history["loss"], rtol=tolerance)
        self.assertEqual(int(model.optimizer.iterations), int(half.optimizer.iterations))
        for trained, expected in zip(
                [*model.get_weights(), *model.optimizer.inner_optimizer.momentums],
                [*full.get_weights(), *full.optimizer.momentums]):
            np.testing.assert_allclose(trained, expected, atol=1e-4)
        np.testing.assert_allclose(cluster.evaluate(model, x, y, verbose=0),
                                   model.evaluate(x, y, verbose=0), rtol=1e-2)
        model.fit(x, y, **fit)  # Keras's own fit continues, too.
        self.assertEqual(int(model.optimizer.iterations), 27)

    def test_initializers_that_a_job_does_not_have(self):
        """The weights are there before the job."""
        class Ramp(keras.initializers.Initializer):
            def __call__(self, shape, dtype=None):
                return keras.ops.reshape(keras.ops.arange(np.prod(shape), dtype="float32"), shape) / 50

        def small(shape, dtype=None):
            return keras.ops.ones(shape) * 0.1

        random = np.random.default_rng(8)
        table = random.normal(size=(20, 4)).astype("float32")
        model = keras.Sequential([
            keras.Input((6,)), layers.Embedding(20, 4, trainable=False,
                                                embeddings_initializer=keras.initializers.Constant(table)),
            layers.Flatten(), layers.Dense(5, kernel_initializer=Ramp(), bias_initializer=small),
            layers.Dense(2, bias_initializer=keras.initializers.Constant([0.5, -0.5]))])
        np.testing.assert_array_equal(model.get_weights()[0], table)
        same_as_keras(self, model, {"optimizer": "sgd", "loss": "mse"},
                      random.integers(0, 20, (64, 6)), random.random((64, 2)), epochs=2)
        np.testing.assert_array_equal(model.get_weights()[0], table)

    def test_operations_drop_masks(self):
        """As in Keras, where only layers pass them; a cast to the same type returns its argument."""
        ops = keras.ops
        random = np.random.default_rng(9)
        ids = random.integers(1, 20, (64, 6))
        ids[:, 4:] = 0
        inputs = keras.Input((6,), dtype="int32")

        def block(operation, seed):
            x = layers.Embedding(20, 4, mask_zero=True,
                                 embeddings_initializer=keras.initializers.RandomNormal(
                                     stddev=1.0, seed=seed))(inputs)
            return layers.GlobalAveragePooling1D()(operation(x))

        operations = [
            lambda x: x + layers.Dense(4)(x), ops.relu, lambda x: ops.leaky_relu(x), ops.abs,
            lambda x: x ** 2.0, lambda x: x * 0.5, lambda x: -x, lambda x: x ** 1,
            lambda x: ops.cast(x, "float32"), lambda x: layers.LSTM(4, return_sequences=True)(x + x),
            lambda x: ops.concatenate([x, x], axis=1), layers.Activation("tanh")]
        outputs = layers.Concatenate()([block(each, i) for i, each in enumerate(operations)])
        model = keras.Model(inputs, layers.Dense(1)(outputs))
        same_as_keras(self, model, {"optimizer": "sgd", "loss": "mse"}, ids, random.random(64))
        np.testing.assert_allclose(cluster.predict(model, ids), model.predict(ids, verbose=0),
                                   atol=1e-4)

    def test_own_layers_and_subclassed_models(self):
        class Embed(layers.Layer):
            def __init__(self):
                super().__init__()
                self.tokens, self.places = layers.Embedding(30, 8), layers.Embedding(9, 8)

            def call(self, x):
                return self.tokens(x) + self.places(keras.ops.arange(keras.ops.shape(x)[-1]))

        class Block(layers.Layer):
            def build(self, shape):
                self.attention = layers.MultiHeadAttention(2, 4)
                self.dense = keras.Sequential([layers.Dense(8, activation="relu"), layers.Dense(8)])
                self.norm = layers.LayerNormalization()

            def call(self, x, training=False):
                x = self.norm(x + self.attention(x, x, training=training))
                return self.norm(x + self.dense(x))

        class Model(keras.Model):
            def __init__(self):
                super().__init__()
                self.embed, self.blocks = Embed(), [Block(), Block()]
                self.heads = layers.Dense(1), layers.Dense(2)

            def call(self, inputs):
                x = self.embed(inputs["ids"])
                for block in self.blocks:
                    x = block(x)
                x = keras.ops.concatenate([keras.ops.mean(x, axis=1), inputs["size"]], axis=1)
                return {"one": self.heads[0](x), "two": self.heads[1](x)}

        random = np.random.default_rng(5)
        data = {"ids": random.integers(0, 30, (96, 9)), "size": random.random((96, 2))}
        labels = {"one": random.random(96), "two": random.random((96, 2))}
        model = Model()
        model({key: value[:1] for key, value in data.items()})
        compiled = {"optimizer": "sgd", "loss": {"one": "mse", "two": "mae"},
                    "metrics": {"two": ["mse"]},
                    "loss_weights": {"one": 1.0, "two": 0.5}}
        same_as_keras(self, model, compiled, data, labels, epochs=2, validation_data=(data, labels))
        expected = model.predict(data, verbose=0)
        ours = cluster.predict(model, data)
        for name in expected:
            np.testing.assert_allclose(ours[name], expected[name], atol=1e-4)
        fresh = Model()  # Without variables.
        fresh.compile("sgd", "mse")
        cluster.fit(fresh, data, labels, verbose=0)
        self.assertEqual(len(fresh.get_weights()), len(model.get_weights()))

    def test_operations_on_ids(self):
        """As in Keras's example of collaborative filtering: the columns of an input are ids."""
        ops = keras.ops

        class Recommender(keras.Model):
            def __init__(self):
                super().__init__()
                self.users, self.films = layers.Embedding(20, 4), layers.Embedding(30, 4)
                self.bias = layers.Embedding(20, 1)

            def call(self, x):
                product = ops.sum(self.users(x[:, 0]) * self.films(x[:, 1]), axis=1, keepdims=True)
                return product + self.bias(x[:, 0]) + ops.cast(x[:, 2:] > 5, "float32") + \
                    0.01 * ops.cast(x[:, 2:], "float32")

        random = np.random.default_rng(8)
        ids = np.stack([random.integers(0, 20, 96), random.integers(0, 30, 96),
                        random.integers(0, 9, 96)], axis=1)
        model = Recommender()
        model(ids[:1])
        same_as_keras(self, model, {"optimizer": keras.optimizers.SGD(0.5), "loss": "mse"}, ids,
                      random.random(96), epochs=2, validation_split=0.25)
        np.testing.assert_allclose(cluster.predict(model, ids[:9]), model.predict(ids[:9], verbose=0),
                                   atol=1e-4)

    def test_predictions_have_the_structure_of_the_outputs(self):
        class Pair(keras.Model):
            def __init__(self):
                super().__init__()
                self.one, self.two = layers.Dense(1), layers.Dense(2)

            def call(self, x):
                return self.one(x), self.two(x)

        inputs = keras.Input((3,))
        one, two = layers.Dense(1, name="one")(inputs), layers.Dense(2, name="two")(inputs)
        x = np.ones((32, 3), "float32")
        pair = Pair()
        pair(x)
        for model, y in ((keras.Model(inputs, {"two": two, "one": one}),
                          {"one": x[:, :1], "two": x[:, :2]}),
                         (keras.Model(inputs, (one, two)), (x[:, :1], x[:, :2])),
                         (pair, (x[:, :1], x[:, :2]))):
            model.compile("sgd", "mse")
            cluster.fit(model, x, y, verbose=0)
            ours, theirs = cluster.predict(model, x), model.predict(x, verbose=0)
            keras.tree.assert_same_structure(ours, theirs)
            keras.tree.map_structure(lambda a, b: np.testing.assert_allclose(a, b, atol=1e-5), ours, theirs)

    def test_layers_that_drop_numbers_in_training_only(self):
        """Keras writes their default training=False into a functional model."""
        class Own(layers.Layer):
            def __init__(self):
                super().__init__()
                self.dropout = layers.Dropout(0.5)

            def call(self, x):
                return self.dropout(x)

        class Frozen(Own):
            def call(self, x):
                return self.dropout(x, training=False)

        ones, y = np.ones((2000, 6, 4), "float32"), np.zeros((2000, 1), "float32")
        # The mean of the square of a sum of 24 ones, some of which become 0 or 2 together.
        for layer, loss in ((layers.Dropout(0.5), 600), (layers.SpatialDropout1D(0.5), 720), (Own(), 600),
                            (layers.Dropout(0.5, noise_shape=(None, 1, 1)), 1152), (Frozen(), 576),
                            (layers.Dropout(0.5, noise_shape=(None, 6, 1)), 672)):
            with self.subTest(layer.name):
                inputs = keras.Input((6, 4))
                sums = layers.Dense(1, use_bias=False, kernel_initializer="ones")
                model = keras.Model(inputs, sums(layers.Flatten()(layer(inputs))))
                model.compile(keras.optimizers.SGD(0.0), "mse")
                found = cluster.fit(model, ones, y, verbose=0, validation_data=(ones[:9], y[:9])).history
                self.assertAlmostEqual(found["loss"][0], loss, delta=0.5 * (loss - 576))
                self.assertAlmostEqual(found["val_loss"][0], 576, places=3)
        model = keras.Sequential([inputs, layers.Dropout(0.5, noise_shape=(1, 6, 4)), layers.Dense(1)])
        model.compile("sgd", "mse")
        with self.assertRaisesRegex(cairn.NotSupported, "noise_shape is .1, 6, 4.*begin with None"):
            cluster.fit(model, ones, y, verbose=0)

    def test_layers_that_only_models_of_keras_have(self):
        x = np.random.default_rng(10).random((64, 5)).astype("float32")
        inputs = keras.Input((5,))
        scaled = convnext.LayerScale(0.5, 8)(layers.Dense(8)(inputs))
        same_as_keras(self, keras.Model(inputs, layers.Dense(1)(scaled)),
                      {"optimizer": "sgd", "loss": "mse"}, x, x[:, :1], epochs=2)
        features = keras.utils.FeatureSpace(
            {"age": "float_normalized", "kind": "string_categorical"}, output_mode="concat")
        data = tf.data.Dataset.from_tensor_slices(
            ({"age": x[:, 0], "kind": np.where(x[:, 1] > 0.5, "a", "b")}, x[:, 2])).batch(16)
        features.adapt(data.map(lambda x, _: x))
        model = keras.Model(features.get_inputs(), layers.Dense(1)(features.get_encoded_features()))
        same_as_keras(self, model, {"optimizer": "sgd", "loss": "mse"}, lambda: data, batch_size=None)

    def test_outputs_without_a_loss(self):
        """y has no labels for them, or some that nothing takes."""
        random = np.random.default_rng(9)
        x = random.random((64, 6)).astype("float32")
        one, several = random.integers(0, 3, (64, 1)), random.random((64, 4)).astype("float32")
        inputs = keras.Input((6,))
        hidden = layers.Dense(4, activation="relu", name="hidden")(inputs)
        classes = layers.Dense(3, name="classes")(hidden)
        numbers = layers.Dense(4, name="numbers")(hidden)
        entropy = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
        sgd = {"optimizer": "sgd"}
        listed = keras.Model(inputs, [classes, hidden])
        for loss, y in (([entropy, None], one), ([entropy, None], [one, several]),
                        ([lambda a, b: entropy.call(a, b) / 2, None], one)):
            same_as_keras(self, listed, {**sgd, "loss": loss, "metrics": [["accuracy"], None]}, x, y,
                          epochs=2, validation_data=(x[:32], keras.tree.map_structure(
                              lambda each: each[:32], y)))
        same_as_keras(self, listed, {**sgd, "loss": [entropy, None], "metrics": [None, ["mae"]]}, x,
                      [one, several], epochs=2, validation_split=0.25)
        named = keras.Model(inputs, {"classes": classes, "hidden": hidden, "numbers": numbers})
        losses = {**sgd, "loss": {"numbers": "mse", "classes": entropy}}
        same_as_keras(self, named, losses, x, {"numbers": several, "classes": one}, epochs=2)
        found = cluster.evaluate(named, x, {"numbers": several, "classes": one}, return_dict=True)
        self.assertEqual(sorted(found), ["classes_loss", "loss", "numbers_loss"])
        self.assertEqual(sorted(cluster.predict(named, x)), ["classes", "hidden", "numbers"])
        named.compile(**losses, metrics={"hidden": ["mae"]})
        with self.assertRaisesRegex(cairn.NotSupported, "output hidden has metrics, and y has no"):
            cluster.fit(named, x, {"numbers": several, "classes": one}, verbose=0)

    def test_lengths_and_names_that_the_data_say(self):
        random = np.random.default_rng(6)
        inputs = {"a": keras.Input((None,), name="a", dtype="int32"),
                  "b": keras.Input((None, 2), name="b")}
        x = layers.GRU(4)(layers.Embedding(20, 4)(inputs["a"]))
        x = layers.Concatenate()([x, layers.LSTM(3)(inputs["b"])])
        model = keras.Model(inputs, {"p": layers.Dense(1)(x), "q": layers.Dense(1, name="q")(x)})
        data = {"a": random.integers(0, 20, (64, 7)), "b": random.random((64, 5, 2))}
        labels = {"p": random.random(64), "q": random.random(64)}
        same_as_keras(self, model, {"optimizer": "sgd", "loss": {"p": "mse", "q": "mae"}}, data,
                      labels, epochs=2)

    def test_masks_that_attention_removes_when_it_runs(self):
        """The loss of such an output counts all steps, though its symbolic tensor has a mask."""
        random = np.random.default_rng(8)
        ids, others = (random.integers(0, 8, (64, length)).astype("int32") for length in (6, 5))
        y = random.integers(0, 8, (64, 5))

        def attended(query, *values, **causal):
            attention = layers.MultiHeadAttention(2, 4)(query, *values, **causal)
            return layers.LayerNormalization()(layers.Add()([query, attention]))

        def embedded(inputs):
            return layers.Embedding(8, 6, mask_zero=True, embeddings_initializer=keras.initializers
                                    .RandomNormal(stddev=0.7, seed=3))(inputs)

        def decoder(source, target):
            encoded = attended(*[embedded(source)] * 2)
            return attended(attended(embedded(target), embedded(target), use_causal_mask=True), encoded)

        cases = {
            "decoder": decoder,
            "removed": lambda source, target: (lambda x: attended(x, x))(embedded(target)),
            "kept": lambda source, target: layers.LSTM(6, return_sequences=True)(embedded(target)),
            "behind attention": lambda source, target: layers.MultiHeadAttention(2, 4)(
                *[embedded(target)] * 2),
            "dropped": lambda source, target: (lambda x: attended(layers.Dropout(0.0)(x), x))(
                embedded(target)),
        }
        for name, case in cases.items():
            with self.subTest(name):
                source, target = (keras.Input((length,), dtype="int32") for length in (6, 5))
                output = layers.Dense(8, activation="softmax")(case(source, target))
                inputs = [source, target] if name == "decoder" else target
                same_as_keras(self, keras.Model(inputs, output), {
                    "optimizer": keras.optimizers.SGD(0.1), "metrics": ["accuracy"],
                    "loss": "sparse_categorical_crossentropy"},
                    [ids, others] if name == "decoder" else others, y, epochs=2,
                    validation_data=([ids, others] if name == "decoder" else others, y))

    def test_one_mean_for_all(self):
        x = np.random.default_rng(7).random((64, 4)).astype("float32") * 9
        normalization = layers.Normalization(axis=None)
        normalization.adapt(x)
        model = keras.Sequential([keras.Input((4,)), normalization, layers.Dense(1)])
        same_as_keras(self, model, {"optimizer": "sgd", "loss": "mse"}, x, x[:, 0] / 9)


if __name__ == "__main__":
    results.main()
