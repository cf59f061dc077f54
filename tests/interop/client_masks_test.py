"""The package `cairn`: masks that own layers and scripts compute, and give to layers.

    CAIRN_SEED=N                   the seed of an earlier run
    CAIRN_VARIANTS=N               random models [8]
"""

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

SEED = int(os.environ.get("CAIRN_SEED") or int.from_bytes(os.urandom(3), "big"))
VARIANTS = int(os.environ.get("CAIRN_VARIANTS") or 8)
IDS, WIDTH, STEPS = 12, 8, 7
SPARSE = "sparse_categorical_crossentropy"

cluster = None


def setUpModule():
    global cluster
    print(f"CAIRN_SEED={SEED}", flush=True)
    cluster = client.start()


def sequences(random, steps=STEPS, count=64):
    """Sequences of ids that end with zeros."""
    ids = random.integers(1, IDS, (count, steps))
    ids[np.arange(steps) >= random.integers(2, steps + 1, (count, 1))] = 0
    return ids


def check(test, model, loss, x, y):
    same_as_keras(test, model, compiled(loss), x, y, epochs=2)
    np.testing.assert_allclose(cluster.predict(model, x), model.predict(x, verbose=0), atol=1e-5)


def compiled(loss):
    return {"optimizer": keras.optimizers.SGD(0.1), "loss": loss, "metrics": ["accuracy"]}


class PositionalEmbedding(layers.Layer):
    def __init__(self, steps):
        super().__init__()
        self.tokens, self.positions = layers.Embedding(IDS, WIDTH), layers.Embedding(steps, WIDTH)

    def call(self, inputs):
        return self.tokens(inputs) + self.positions(ops.arange(0, ops.shape(inputs)[-1], 1))

    def compute_mask(self, inputs, mask=None):
        return ops.not_equal(inputs, 0)


class WrappedEmbedding(layers.Layer):
    def __init__(self, steps):
        super().__init__()
        self.tokens = layers.Embedding(IDS, WIDTH, mask_zero=True)
        self.positions = layers.Embedding(steps, WIDTH)

    def call(self, inputs):
        return self.tokens(inputs) * ops.sqrt(ops.cast(WIDTH, "float32")) + \
            self.positions(ops.arange(inputs.shape[1]))[None]

    def compute_mask(self, *args, **kwargs):
        return self.tokens.compute_mask(*args, **kwargs)


class Encoder(layers.Layer):
    def __init__(self, dropout=0.0):
        super().__init__()
        self.attention = layers.MultiHeadAttention(2, WIDTH, dropout=dropout)
        self.dense = keras.Sequential([layers.Dense(16, activation="relu"), layers.Dense(WIDTH)])
        self.norms = [layers.LayerNormalization() for _ in range(2)]
        self.supports_masking = True

    def call(self, inputs, mask=None):
        if mask is not None:
            mask = ops.cast(mask[:, None, :], dtype="int32")
        attended = self.attention(query=inputs, value=inputs, key=inputs, attention_mask=mask)
        inputs = self.norms[0](inputs + attended)
        return self.norms[1](inputs + self.dense(inputs))


class Decoder(layers.Layer):
    def __init__(self):
        super().__init__()
        self.attentions = [layers.MultiHeadAttention(2, WIDTH) for _ in range(2)]
        self.dense = keras.Sequential([layers.Dense(16, activation="relu"), layers.Dense(WIDTH)])
        self.norms = [layers.LayerNormalization() for _ in range(3)]
        self.supports_masking = True

    def causal(self, inputs):
        shape = tf.shape(inputs)
        i, j = tf.range(shape[1])[:, tf.newaxis], tf.range(shape[1])
        mask = tf.reshape(tf.cast(i >= j, dtype="int32"), (1, shape[1], shape[1]))
        return tf.tile(mask, tf.concat([tf.expand_dims(shape[0], -1), tf.constant([1, 1])], axis=0))

    def call(self, inputs, mask=None):
        inputs, encoded = inputs
        causal, padding = self.causal(inputs), None
        masks = (None, None) if mask is None else mask
        if masks[1] is not None:
            padding = ops.cast(masks[1][:, None, :], "int32")
        attended = self.attentions[0](query=inputs, value=inputs, key=inputs, attention_mask=causal,
                                      query_mask=masks[0])
        inputs = self.norms[0](inputs + attended)
        attended = self.attentions[1](query=inputs, value=encoded, key=encoded, attention_mask=padding,
                                      key_mask=masks[1])
        inputs = self.norms[1](inputs + attended)
        return self.norms[2](inputs + self.dense(inputs))


class Attended(layers.Layer):
    """Of TensorFlow's tutorial of the transformer."""

    def __init__(self, causal=False):
        super().__init__()
        self.attention, self.add = layers.MultiHeadAttention(2, 4), layers.Add()
        self.norm, self.causal, self.scores = layers.LayerNormalization(), causal, None

    def call(self, x, context=None):
        context = x if context is None else context
        attended, self.scores = self.attention(query=x, key=context, value=context,
                                               use_causal_mask=self.causal,
                                               return_attention_scores=True)
        return self.norm(self.add([x, attended]))


class Tutorial(keras.Model):
    def __init__(self):
        super().__init__()
        self.tables = [WrappedEmbedding(STEPS), WrappedEmbedding(5)]
        self.encoder, self.decoder, self.cross = Attended(), Attended(causal=True), Attended()
        self.logits = layers.Dense(IDS)

    def call(self, inputs):
        context, target = (table(each) for table, each in zip(self.tables, inputs))
        return self.logits(self.cross(self.decoder(target), self.encoder(context)))


def classifier(inputs, x):
    return keras.Model(inputs, layers.Dense(3, activation="softmax")(x))


def input_of_ids(steps=STEPS):
    return keras.Input((steps,), dtype="int64")


class Transformers(unittest.TestCase):
    def setUp(self):
        self.random = np.random.default_rng(3)
        self.ids, self.target = sequences(self.random), sequences(self.random, 6)

    def test_encoder(self):
        for end in layers.GlobalMaxPooling1D, layers.GlobalAveragePooling1D:
            inputs = keras.Input((None,), dtype="int64")
            x = Encoder()(Encoder(dropout=0.0)(PositionalEmbedding(STEPS)(inputs)))
            check(self, classifier(inputs, end()(x)), SPARSE, self.ids, self.random.integers(0, 3, 64))

    def test_encoder_and_decoder(self):
        """With the mask of the target in the loss, too, and with `ignore_class` in its place."""
        for loss in SPARSE, keras.losses.SparseCategoricalCrossentropy(ignore_class=0):
            source, target = (keras.Input((None,), dtype="int64") for _ in range(2))
            encoded = Encoder()(PositionalEmbedding(STEPS)(source))
            decoded = PositionalEmbedding(5)(target)
            for _ in range(2):
                decoded = Decoder()([decoded, encoded])
            if not isinstance(loss, str):
                decoded = decoded * 1.0  # Without the mask.
            model = keras.Model([source, target], layers.Dense(IDS, activation="softmax")(decoded))
            check(self, model, loss, [self.ids, self.target[:, :-1]], self.target[:, 1:])

    def test_a_mask_that_is_an_argument(self):
        class Counted(layers.Layer):
            def __init__(self, steps):
                super().__init__()
                self.tokens, self.positions = layers.Embedding(IDS, WIDTH), layers.Embedding(steps, WIDTH)

            def call(self, ids):
                return self.tokens(ids) + self.positions(ops.cumsum(ops.ones_like(ids), axis=-1) - 1)

        class Block(layers.Layer):
            def __init__(self):
                super().__init__()
                self.own, self.cross = layers.MultiHeadAttention(2, 4), layers.MultiHeadAttention(2, 4)
                self.norm = layers.LayerNormalization()

            def call(self, target, source, source_mask):
                target = self.norm(target + self.own(target, target, use_causal_mask=True))
                return self.norm(target + self.cross(target, source, attention_mask=source_mask[:, None, :]))

        source, target = (keras.Input((None,), dtype="int32") for _ in range(2))
        x = Block()(target=Counted(5)(target), source=Counted(STEPS)(source),
                    source_mask=ops.not_equal(source, 0))
        model = keras.Model([source, target], layers.Dense(IDS, activation="softmax")(x))
        check(self, model, SPARSE, [self.ids, self.target[:, :-1]], self.target[:, 1:])

    def test_layers_that_keep_the_scores(self):
        model = Tutorial()
        data = [self.ids, self.target[:, :-1]]
        model([each[:1] for each in data])
        loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
        check(self, model, loss, data, self.target[:, 1:])

    def test_causal_masks(self):
        def lower(steps):
            return ops.arange(steps)[:, None] >= ops.arange(steps)

        ways = {
            "tile": lambda n, t: ops.tile(ops.cast(lower(t), "int32")[None], [n, 1, 1]),
            "broadcast": lambda n, t: ops.broadcast_to(lower(t), (n, t, t)),
            "repeat": lambda n, t: ops.repeat(lower(t)[None], n, axis=0),
            "tril": lambda n, t: ops.tril(ops.ones((t, t))),
            "not causal": lambda n, t: ops.triu(ops.ones((1, t, t)), k=-2) == 0,
            "of heads": lambda n, t: ops.stack([ops.tril(ops.ones((t, t))), ops.eye(t)])[None],
        }
        for name, way in ways.items():
            class Causal(layers.Layer):
                def __init__(self):
                    super().__init__()
                    self.attention = layers.MultiHeadAttention(2, 4)

                def call(self, x):
                    return x + self.attention(x, x, attention_mask=way(*ops.shape(x)[:2]))

            with self.subTest(name):
                inputs = input_of_ids()
                x = Causal()(layers.Embedding(IDS, WIDTH)(inputs))
                model = keras.Model(inputs, layers.Dense(IDS, activation="softmax")(x))
                check(self, model, SPARSE, self.ids, np.roll(self.ids, -1, 1))


class Given(unittest.TestCase):
    def setUp(self):
        self.random = np.random.default_rng(4)
        self.ids, self.y = sequences(self.random), self.random.integers(0, 3, 64)

    def check(self, inputs, x, data):
        check(self, classifier(inputs, x), SPARSE, data, self.y)

    def test_to_layers_by_the_script(self):
        mask = self.random.random((64, STEPS)) < 0.7
        mask[:, 0] = True
        for end in (layers.LSTM(4), layers.Bidirectional(layers.GRU(3)), layers.GlobalAveragePooling1D(),
                    layers.RNN(layers.SimpleRNNCell(4), go_backwards=True)):
            with self.subTest(end.name):
                inputs, truths = input_of_ids(), keras.Input((STEPS,), dtype="bool")
                x = layers.Embedding(IDS, WIDTH)(inputs)
                self.check([inputs, truths], end(x, mask=truths), [self.ids, mask])
                self.check(inputs, type(end).from_config(end.get_config())(
                    x, mask=ops.not_equal(inputs, 0)), self.ids)

    def test_by_own_layers(self):
        class Computed(layers.Layer):
            def call(self, x):
                return x * 2

            def compute_mask(self, inputs, mask=None):
                return ops.any(ops.abs(inputs) > 0.02, axis=-1)

        class Handed(layers.Layer):
            def __init__(self):
                super().__init__()
                self.supports_masking = True

            def call(self, x, mask=None):
                return x * 2 if mask is None else x * ops.cast(mask, x.dtype)[:, :, None]

        class Table(layers.Embedding):
            pass

        class Reader(layers.Layer):
            def __init__(self):
                super().__init__()
                self.table, self.lstm = layers.Embedding(IDS, 3), layers.LSTM(2)

            def call(self, ids):
                return self.lstm(self.table(ids), mask=ops.not_equal(ids, 0))

        stacks = {
            "computed": lambda: [layers.Embedding(IDS, 3), Computed(), layers.LSTM(2)],
            "handed": lambda: [layers.Embedding(IDS, 3, mask_zero=True), Handed(), layers.LSTM(2)],
            "a table": lambda: [Table(IDS, 3, mask_zero=True), layers.LSTM(2)],
            "a lambda": lambda: [layers.Embedding(IDS, 3, mask_zero=True), layers.Lambda(
                lambda x: x * 2, mask=lambda x, mask: ops.logical_not(mask)), layers.LSTM(2)],
            "a reader": lambda: [Reader()],
        }
        for name, stack in stacks.items():
            for functional in False, True:
                with self.subTest(name, functional=functional):
                    model = keras.Sequential([input_of_ids(), *stack(), layers.Dense(3, "softmax")])
                    if functional:
                        model = keras.Model(model.inputs, model.outputs)
                    check(self, model, SPARSE, self.ids, self.y)

    def test_to_a_tensor_that_has_another_one(self):
        inputs, others = input_of_ids(), input_of_ids()
        x = layers.LSTM(4)(layers.Embedding(IDS, WIDTH, mask_zero=True)(inputs),
                           mask=ops.not_equal(others, 0))
        self.check([inputs, others], x, [self.ids, sequences(self.random)])

    def test_to_attention(self):
        shapes = {"scores": (STEPS, STEPS), "positions": (1, STEPS), "heads": (2, STEPS, STEPS)}
        for name, shape in shapes.items():
            for dropout in 0.0, 0.4:
                with self.subTest(name, dropout=dropout):
                    inputs, mask = input_of_ids(), keras.Input(shape, dtype="bool")
                    x = layers.Embedding(IDS, WIDTH)(inputs)
                    attention = layers.MultiHeadAttention(2, 4, dropout=dropout)
                    x = layers.GlobalAveragePooling1D()(attention(x, x, attention_mask=mask))
                    data = [self.ids, self.random.random((64, *shape)) < 0.6]
                    if not dropout:
                        self.check([inputs, mask], x, data)
                        continue
                    model = classifier([inputs, mask], x)  # What it drops is random.
                    model.compile(**compiled(SPARSE))
                    cluster.fit(model, data, self.y, verbose=0)
                    np.testing.assert_allclose(cluster.predict(model, data),
                                               model.predict(data, verbose=0), atol=1e-5)

    def test_what_a_job_does_not_have_is_refused_by_name(self):
        def scores(x, own):
            class Scores(layers.Layer):
                def __init__(self):
                    super().__init__()
                    self.attention = layers.MultiHeadAttention(1, 2, name="shown")

                def call(self, x):
                    attended, scores = self.attention(x, x, return_attention_scores=True)
                    return attended * scores[:, 0, :, :1]

            return Scores()(x)

        cases = {
            "TimeDistributed steps is called with a mask that is not of an Embedding with mask_zero":
                lambda x, own: layers.TimeDistributed(layers.Dense(2), name="steps")(own),
            r"layer examples \(MultiHeadAttention\): its attention_mask has shape \(64, 7, 7\)":
                lambda x, own: layers.MultiHeadAttention(1, 2, name="examples")(
                    x, x, attention_mask=np.tri(7)[None].repeat(64, 0)),
            r"layer shown \(MultiHeadAttention\): its attention scores are computed with": scores,
            r"layer heads \(MultiHeadAttention\): an attention_mask with an axis for the heads":
                lambda x, own: layers.MultiHeadAttention(2, 2, name="heads")(
                    own, own, attention_mask=ops.ones((1, 2, 7, 7)) * ops.sign(own[:, None, :, :1])),
        }
        for reason, case in cases.items():
            with self.subTest(reason):
                inputs = input_of_ids()
                x = layers.Embedding(IDS, WIDTH)(inputs)
                output = layers.Flatten()(case(x, PositionalEmbedding(STEPS)(inputs)))
                model = classifier(inputs, output)
                model.compile(**compiled(SPARSE))
                with self.assertRaisesRegex(Exception, reason):
                    cluster.fit(model, self.ids, self.y, verbose=0)


class Random(unittest.TestCase):
    """Models whose mask comes from somewhere and passes layers to where it is used."""

    def source(self, random, inputs):
        table = layers.Embedding(IDS, WIDTH, embeddings_initializer=keras.initializers.RandomNormal(
            seed=int(random.integers(99))), mask_zero=bool(random.integers(2)))
        return [PositionalEmbedding(STEPS), WrappedEmbedding(STEPS), table][random.integers(3)](inputs)

    def step(self, random, inputs, x):
        def attention(x, **given):
            return layers.MultiHeadAttention(int(random.integers(1, 3)), 4)(x, x, **given)

        steps = {
            "encoder": lambda: Encoder()(x),
            "attention": lambda: attention(x, use_causal_mask=bool(random.integers(2))),
            "attention and mask": lambda: attention(x, attention_mask=ops.not_equal(inputs, 1)[:, None]),
            "constant": lambda: attention(x, attention_mask=(np.tri(STEPS, k=1) > 0)[None]),
            "norm": lambda: layers.LayerNormalization()(x),
            "dense": lambda: layers.Dense(WIDTH, activation="tanh")(x),
            "own activation": lambda: layers.Dense(WIDTH, activation=lambda x: x * ops.sigmoid(x))(x),
            "lstm": lambda: layers.LSTM(WIDTH, return_sequences=True)(x),
            "sum": lambda: layers.Add()([x, layers.Dense(WIDTH)(x)]),
            "operation": lambda: ops.tanh(x),
            "given": lambda: layers.GRU(WIDTH, return_sequences=True)(x, mask=ops.not_equal(inputs, 2)),
        }
        name = list(steps)[random.integers(len(steps))]
        return name, steps[name]()

    def test_chains(self):
        for variant in range(VARIANTS):
            random = np.random.default_rng([SEED, variant])
            keras.utils.set_random_seed(int(random.integers(1 << 30)))
            inputs, names = input_of_ids(), []
            x = self.source(random, inputs)
            for _ in range(random.integers(1, 5)):
                name, x = self.step(random, inputs, x)
                names.append(name)
            names.append(["mean", "lstm", "steps"][random.integers(3)])
            with self.subTest(f"{variant}: {', '.join(names)}"):
                ids = sequences(random)
                if names[-1] == "steps":
                    model = keras.Model(inputs, layers.Dense(IDS, activation="softmax")(x))
                    y = np.roll(ids, -1, 1)
                else:
                    end = layers.LSTM(4) if names[-1] == "lstm" else layers.GlobalAveragePooling1D()
                    model, y = classifier(inputs, end(x)), random.integers(0, 3, 64)
                same_as_keras(self, model, {**compiled(SPARSE), "metrics": None}, ids, y, epochs=2)


if __name__ == "__main__":
    results.main()
