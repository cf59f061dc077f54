"""Subclasses of Keras's layers, models in models that look texts up, and tied embeddings, by `cairn`."""

import unittest

import cairn
import keras
import numpy as np
from keras import layers, ops

import client
from client import same_as_keras

cluster = None
_WORDS = np.array(["red", "green", "blue", "red rose", "green tree"])[np.arange(192) % 5]
_KINDS = (np.arange(192) % 5 < 2).astype("int64")


def setUpModule():
    global cluster
    cluster = client.start()


def rows():
    return np.random.default_rng(4).normal(size=(192, 5, 8)).astype("float32")


class Averages(layers.BatchNormalization):
    def __init__(self, **arguments):
        super().__init__(momentum=0.9, epsilon=1e-2, **arguments)


class Doubled(layers.BatchNormalization):
    def __init__(self, factor=2.0):
        super().__init__(momentum=0.9)
        self.factor = factor

    def call(self, x, training=None):
        return super().call(x, training=training) * self.factor


class Rectified(layers.Dense):
    def __init__(self, units):
        super().__init__(units, activation="relu", kernel_initializer="he_normal")


class Shifted(layers.Dense):
    def call(self, x):
        return super().call(x) + 1.0


class OtherKernel(layers.Dense):
    def build(self, shape):
        self.other = self.add_weight(shape=(shape[-1], self.units))

    def call(self, x):
        return ops.matmul(x, self.other)


class Residual(layers.LayerNormalization):
    def call(self, x):
        return super().call(x) + x


class Memory(layers.LSTM):
    def __init__(self, units):
        super().__init__(units, return_sequences=False)


class Gated(layers.GRU):
    def call(self, sequences, initial_state=None, mask=None, training=False):
        return 2.0 * super().call(sequences, initial_state=initial_state, mask=mask, training=training)


class Penalized(layers.Embedding):
    def __init__(self, *arguments):
        super().__init__(*arguments, embeddings_regularizer="l2")


class TwoHeads(layers.MultiHeadAttention):
    def __init__(self):
        super().__init__(2, 4)


class SelfAttention(layers.Layer):
    def __init__(self):
        super().__init__()
        self.attention = TwoHeads()

    def call(self, x):
        return self.attention(x, x)


class Same(unittest.TestCase):
    """Each model trains and predicts as by Keras."""

    def compare(self, model, data, labels, loss="mse", **compiled):
        same_as_keras(self, model, {"optimizer": keras.optimizers.SGD(0.05), "loss": loss, **compiled},
                      data, labels, epochs=2, batches_per_update=1)
        np.testing.assert_allclose(cluster.predict(model, data), model.predict(data, verbose=0), atol=1e-4)


class Subclasses(Same):
    def test_few_changes(self):
        x = rows()
        for layer in (Averages(), Doubled(), Rectified(4), Shifted(4), OtherKernel(4), Residual(), Memory(4),
                      Gated(4), SelfAttention()):
            with self.subTest(layer=type(layer).__name__):
                model = keras.Sequential([keras.Input((5, 8)), layer, layers.Flatten(), layers.Dense(1)])
                self.compare(model, x, x.mean((1, 2))[:, None])
        ids = np.random.default_rng(1).integers(0, 11, (192, 5))
        model = keras.Sequential([keras.Input((5,)), Penalized(11, 4), layers.Flatten(), layers.Dense(1)])
        self.compare(model, ids, ids.mean(1, keepdims=True))

    def test_in_subclassed_models(self):
        """Without an argument `training` of the model's call its layers are in inference mode."""
        class Plain(keras.Model):
            def __init__(self, *parts):
                super().__init__()
                self.parts = list(parts)

            def call(self, x):
                for each in self.parts:
                    x = each(x)
                return x

        class Training(Plain):
            def call(self, x, training=None):
                return super().call(x)

        x = rows()[:, 0]
        for kind in Plain, Training:
            for normalization in Averages(), Doubled(), layers.BatchNormalization(momentum=0.5):
                with self.subTest(kind=kind.__name__, layer=type(normalization).__name__):
                    model = kind(Rectified(4), normalization, layers.Dense(1))
                    model(x[:1])
                    self.compare(model, x, x.mean(1, keepdims=True))
                    moved = np.any(normalization.moving_mean.numpy())
                    self.assertEqual(moved, kind is Training)
        model = Plain(layers.Dropout(0.5), layers.Dense(1))
        model(x[:1])
        self.compare(model, x, x.mean(1, keepdims=True))

    def test_a_weight_that_is_used_outside(self):
        class Bad(keras.Model):
            def __init__(self):
                super().__init__()
                self.normalization, self.dense = Averages(name="norm"), layers.Dense(1)

            def call(self, x):
                return self.dense(self.normalization(x)) * ops.sum(self.normalization.gamma)

        model, x = Bad(), rows()[:, 0]
        model.compile("sgd", "mse")
        with self.assertRaisesRegex(cairn.NotSupported,
                                    "norm/gamma belongs to a layer of Averages, and is used outside of it"):
            cluster.fit(model, x, x[:, :1], verbose=0)


class TiedModel(keras.Model):
    def __init__(self, rows, width):
        super().__init__()
        self.embedding, self.dense = layers.Embedding(rows, width, name="table"), layers.Dense(width)

    def call(self, ids):
        return ops.matmul(self.dense(self.embedding(ids)), ops.transpose(self.embedding.embeddings))


class Projection(layers.Layer):
    def __init__(self, embedding):
        super().__init__()
        self.embedding = embedding

    def call(self, x):
        return ops.matmul(x, ops.transpose(self.embedding.embeddings))


class TiedEmbeddings(Same):
    def test_small_tables(self):
        ids = np.random.default_rng(1).integers(0, 11, (96, 5))
        loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
        model = TiedModel(11, 6)
        model(ids[:1])
        self.compare(model, ids, ids * 3 % 11, loss, metrics=["accuracy"])
        for kind in layers.Embedding, Penalized:
            embedding, inputs = kind(11, 6), keras.Input((5,))
            model = keras.Model(inputs, Projection(embedding)(layers.Dense(6)(embedding(inputs))))
            self.compare(model, ids, ids * 3 % 11, loss)

    def test_large_tables_are_refused(self):
        ids = np.random.default_rng(1).integers(0, 11, (96, 5))
        model = TiedModel(10000, 64)
        model.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
        with self.assertRaisesRegex(cairn.NotSupported, "table of 10000 x 64 numbers, which another "
                                                        "operation takes, too: .* at most 65536 .*give"):
            cluster.fit(model, ids, ids, verbose=0)


class Texts(Same):
    """Inputs of one text for each example, and lookups in models in the model."""

    def compare(self, model, data, **_):
        as_keras = keras.tree.map_structure(
            lambda each: ops.convert_to_tensor(each.astype(object)) if each.dtype.kind == "U" else each,
            data)
        super().compare(model, as_keras, _KINDS, "sparse_categorical_crossentropy", metrics=["accuracy"])
        np.testing.assert_allclose(cluster.predict(model, data), model.predict(as_keras, verbose=0),
                                   atol=1e-4)
        np.testing.assert_allclose(
            cluster.evaluate(model, data, _KINDS, verbose=0),
            model.evaluate(as_keras, _KINDS, verbose=0), atol=1e-4)

    @staticmethod
    def vectorization(**arguments):
        layer = layers.TextVectorization(**arguments)
        layer.adapt(_WORDS.astype(object))
        return layer

    def test_inputs_of_one_text(self):
        embed = layers.Embedding(8, 3)
        x = rows()[:, 0]
        for name, make in {
                "ids": lambda text: embed(layers.StringLookup(vocabulary=["red", "green"])(text)),
                "one_hot": layers.StringLookup(vocabulary=["red", "green"], output_mode="one_hot"),
                "sequence": lambda text: layers.Flatten()(layers.Embedding(9, 3)(
                    self.vectorization(output_sequence_length=3)(text))),
                "hash": lambda text: layers.CategoryEncoding(5, "one_hot")(layers.Hashing(5)(text)),
                "multi_hot": self.vectorization(output_mode="multi_hot")}.items():
            with self.subTest(lookup=name):
                text, number = keras.Input((), dtype="string", name="text"), keras.Input((), name="number")
                several = keras.Input((8,), name="several")
                joined = layers.Concatenate()([make(text), several, layers.Reshape((1,))(number)])
                self.compare(keras.Model([text, several, number], layers.Dense(2, "softmax")(joined)),
                             [_WORDS, x, x[:, 1]])
                self.compare(keras.Model(text, layers.Dense(2, "softmax")(make(text))), _WORDS)

    def test_lookups_in_models_in_the_model(self):
        x, text = rows()[:, 0], keras.Input((1,), dtype="string", name="text")
        several = keras.Input((8,), name="several")
        normalization = layers.Normalization()
        normalization.adapt(x)
        one_hot = [layers.StringLookup(vocabulary=["red", "green"]), layers.CategoryEncoding(3, "one_hot")]
        sequence = [keras.Input((1,), dtype="string"), self.vectorization(output_sequence_length=3),
                    layers.Embedding(9, 4)]
        prepared = keras.Model({"text": text, "several": several}, layers.Concatenate()(
            [one_hot[1](one_hot[0](text)), normalization(several)]))
        both = {"text": keras.Input((1,), dtype="string"), "several": keras.Input((8,))}
        column = _WORDS[:, None]
        for name, inputs, hidden, data in (
                ("vectorization", text, lambda: layers.Flatten()(keras.Sequential(sequence)(text)), column),
                ("encoding", text, lambda: keras.Sequential(
                    [keras.Input((1,), dtype="string"), *one_hot])(text), column),
                ("normalization", several, lambda: keras.Sequential([several, normalization])(several), x),
                ("dictionary", both, lambda: prepared(both), {"text": column, "several": x})):
            with self.subTest(model=name):
                self.compare(keras.Model(inputs, layers.Dense(2, "softmax")(hidden())), data)
        self.compare(keras.Sequential([keras.Input((1,), dtype="string"), keras.Sequential(sequence),
                                       layers.Flatten(), layers.Dense(2, "softmax")]), column)


if __name__ == "__main__":
    unittest.main()
