"""The package `cairn`: layers of the script that multiply matrices, above all attention."""

import os
import unittest

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import cairn  # noqa: E402
import client  # noqa: E402
import keras  # noqa: E402
import numpy as np  # noqa: E402
from client import same_as_keras  # noqa: E402
from keras import layers, ops  # noqa: E402

STEPS, SIZE = 6, 8


def setUpModule():
    client.start()


def layer_of(call, *parts):
    """A layer of the script: call(parts, inputs)."""
    class Own(layers.Layer):
        def __init__(self):
            super().__init__()
            self.parts = list(parts)

        def call(self, *inputs):
            return call(self.parts, *inputs)

    return Own()


class Products(unittest.TestCase):
    def train(self, layer, optimizer="sgd"):
        """By both: the layer takes a sequence and a number for each step, of which the first is large."""
        random = np.random.default_rng(1)
        sequence, numbers = keras.Input((STEPS, SIZE)), keras.Input((STEPS,))
        result = layer(layers.Dense(SIZE)(sequence), numbers)
        model = keras.Model([sequence, numbers], layers.Dense(1)(layers.Flatten()(result)))
        x = random.random((64, STEPS, SIZE)).astype("float32")
        c = random.random((64, STEPS)).astype("float32")
        c[:, 0] = 1
        optimizer = keras.optimizers.get({"class_name": optimizer, "config": {"learning_rate": 1e-3}})
        same_as_keras(self, model, {"optimizer": optimizer, "loss": "mse"}, [x, c],
                      random.random(64).astype("float32"), epochs=2)

    def test_attention_of_matmul_einsum_and_dot_product_attention(self):
        def call(dense, x, _):
            query, key, value = (ops.reshape(each(x), (-1, STEPS, 2, 4)) for each in dense)
            weights = ops.softmax(ops.einsum("bqhd,bkhd->bhqk", query, key) / 2.0)
            of_einsum = ops.einsum("bhqk,bkhd->bqhd", weights, value)
            by_heads = [ops.transpose(each, (0, 2, 1, 3)) for each in (query, key, value)]
            scores = ops.matmul(by_heads[0], ops.transpose(by_heads[1], (0, 1, 3, 2)))
            of_matmul = ops.transpose(ops.matmul(ops.softmax(scores / 2.0), by_heads[2]), (0, 2, 1, 3))
            return of_einsum + 2.0 * ops.dot_product_attention(query, key, value) + 3.0 * of_matmul

        self.train(layer_of(call, *(layers.Dense(SIZE) for _ in range(3))))

    def test_other_products(self):
        def call(_, x, c):
            outer = ops.einsum("bi,bj->bij", c, c)
            return ops.concatenate([
                ops.einsum("bti,btj->bij", x, x), ops.einsum("bti,bt->bi", x, c)[:, None, :],
                ops.einsum("btu,bti->biu", outer, x)[:, :, :1] * ops.ones_like(x[:, :1, :]),
                # The axes of the others have length 1 in one of them.
                ops.matmul(x[:, None], ops.reshape(ops.transpose(x[:, :4], (0, 2, 1)),
                                                   (-1, 1, SIZE, 4)))[:, 0] * 0.1
                @ ops.reshape(x[:, :4], (-1, 4, SIZE))], axis=1)

        self.train(layer_of(call))

    def test_dot_product_attention_with_masks_a_bias_and_groups_of_heads(self):
        def call(_, x, c):
            heads = ops.reshape(x, (-1, STEPS, 4, 2))
            mask = ops.reshape(c > 0.3, (-1, 1, 1, STEPS))
            return ops.dot_product_attention(heads, heads[:, :, :2], heads[:, :, 2:], mask=mask,
                                             scale=0.3) + \
                ops.dot_product_attention(heads, heads, heads, bias=c[:, None, None, :],
                                          is_causal=True) + \
                ops.dot_product_attention(heads, heads, heads,
                                          mask=np.eye(STEPS, dtype=bool)[None, None])

        self.train(layer_of(call))

    def test_group_query_attention(self):
        for name, arguments, call in (
                ("plain", {}, {}), ("causal", {"use_bias": False}, {"use_causal_mask": True}),
                # A dropout, which keeps all, computes the scores by itself.
                ("scores", {"dropout": 1e-12}, {"use_causal_mask": True})):
            with self.subTest(name):
                attention = layers.GroupQueryAttention(4, 4, 2, **arguments)
                self.train(lambda x, _: attention(x, x[:, :4] if name == "plain" else x, **call), "adam")

    def test_attention_and_softmax_with_own_masks(self):
        def call(parts, x, c):
            dot, additive, concat, softmax = parts
            counts = c > 0.3
            first = np.array([[True, True, False, True, False, True]])
            return ops.concatenate([
                dot([x, x], mask=[counts, counts]), additive([x, x], mask=[None, counts]),
                concat([x, x, x * 2.0], mask=[counts] * 3, use_causal_mask=True),
                ops.transpose(softmax(ops.transpose(x, (0, 2, 1)), mask=counts[:, None, :]), (0, 2, 1)),
                softmax(c, mask=first)[:, :, None] * x], axis=1)

        self.train(layer_of(call, layers.Attention(use_scale=True), layers.AdditiveAttention(),
                            layers.Attention(score_mode="concat"), layers.Softmax()))

    def test_what_a_job_does_not_have_is_refused_by_name(self):
        cases = {
            "write a letter for each axis":
                lambda _, x, c: ops.einsum("b...,b...->b...", x, x),
            "it sums over an axis of one tensor; use ops.sum before":
                lambda _, x, c: ops.einsum("bti,bui->bt", x, x),
            "give the axis of the examples the first letter":
                lambda _, x, c: ops.transpose(ops.einsum("bti,btj->tbij", x, x), (1, 0, 2, 3)),
            "72 products of matrices for each example, and a job has at most 64":
                lambda _, x, c: ops.einsum("bti,bti->bti", ops.concatenate([x, x[:, :3]], 1),
                                           ops.concatenate([x, x[:, :3]], 1)),
        }
        for reason, call in cases.items():
            with self.subTest(reason), self.assertRaisesRegex(cairn.NotSupported, reason):
                self.train(layer_of(call))


if __name__ == "__main__":
    unittest.main()
