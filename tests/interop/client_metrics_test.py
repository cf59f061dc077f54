"""The package `cairn`: arguments of Keras's losses and metrics that a job does not have."""

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
from keras import layers, losses, metrics, ops  # noqa: E402

cluster = None


def setUpModule():
    global cluster
    keras.utils.set_random_seed(1)
    cluster = client.start()


def dense(units, activation):
    return keras.Sequential([keras.Input((8,)), layers.Dense(units, activation=activation)])


class Refused(unittest.TestCase):
    def refused(self, text, model, labels, loss, metric=None, **fit):
        model.compile("sgd", loss, metrics=[metric] if metric else [])
        with self.assertRaisesRegex(cairn.NotSupported, text):
            cluster.fit(model, np.zeros((32, 8), "float32"), labels, verbose=0, **fit)


class IgnoredClasses(Refused):
    def test_classes_that_the_output_does_not_have(self):
        random = np.random.default_rng(2)
        x, y = random.random((96, 4, 4, 3)).astype("float32"), random.integers(0, 3, (96, 4, 4))
        # The labels have an axis of length 1 in one of them.
        for ignored, from_logits in ((-1, True), (255, False)):
            with self.subTest(ignored):
                labels = np.where(random.random(y.shape) < 0.3, ignored, y)
                labels = labels[..., None] if from_logits else labels
                model = keras.Sequential([keras.Input((4, 4, 3)), layers.Conv2D(
                    3, 3, padding="same", activation=None if from_logits else "softmax")])

                def entropy(kind, ignored=ignored, from_logits=from_logits, **kwargs):
                    return kind.SparseCategoricalCrossentropy(
                        ignore_class=ignored, from_logits=from_logits, **kwargs)

                there = same_as_keras(self, model, {
                    "optimizer": "adam", "loss": entropy(losses),
                    "metrics": ["accuracy", entropy(metrics, name="entropy"),
                                metrics.SparseTopKCategoricalAccuracy(2),
                                metrics.MeanIoU(3, ignore_class=ignored, sparse_y_pred=False,
                                                name="mean_io_u"),
                                metrics.IoU(3, [0, 2], ignore_class=ignored, sparse_y_pred=False)]},
                    x, labels, epochs=2, validation_data=(x[:32], labels[:32]))
                self.assertGreater(there["mean_io_u"][0], 0.05)
                ours = cluster.evaluate(model, x[:40], labels[:40], return_dict=True, verbose=0)
                for _ in range(2):  # In the first call Keras counts the labels of its trace, too.
                    theirs = model.evaluate(x[:40], labels[:40], return_dict=True, verbose=0)
                for name, value in theirs.items():
                    self.assertAlmostEqual(ours[name], value, delta=2e-4, msg=name)

    def test_weights_of_examples(self):
        x, _ = client.examples(96)
        random = np.random.default_rng(4)
        weights = random.random(96).astype("float32")
        there = same_as_keras(self, dense(3, "softmax"), {
            "optimizer": "adam", "loss": losses.SparseCategoricalCrossentropy(ignore_class=-1),
            "metrics": ["accuracy"], "weighted_metrics": ["accuracy"]}, x, random.integers(-1, 3, 96),
            epochs=2, sample_weight=weights)
        self.assertNotEqual(there["accuracy"], there["weighted_accuracy"])

    def test_a_class_that_the_output_has(self):
        x, y = client.examples(96)
        model = client.network()
        same_as_keras(self, model, {
            "optimizer": "sgd", "loss": losses.SparseCategoricalCrossentropy(ignore_class=0),
            "metrics": ["accuracy", metrics.MeanIoU(2, ignore_class=0, sparse_y_pred=False),
                        metrics.SparseCategoricalCrossentropy(ignore_class=0, name="entropy")]},
            x, y, epochs=2)

    def test_what_is_refused(self):
        loss = losses.SparseCategoricalCrossentropy(ignore_class=-1)
        labels = np.zeros(32, "int32")
        self.refused("categorical_crossentropy beside a loss with ignore_class=-1", dense(3, "softmax"),
                     labels, loss, "sparse_categorical_crossentropy")
        self.refused("num_classes is 4, and the output has 3", dense(3, "softmax"), labels, loss,
                     metrics.MeanIoU(4, ignore_class=-1, sparse_y_pred=False))
        self.refused("sparse_y_pred=False", dense(3, "softmax"), labels, loss,
                     metrics.MeanIoU(3, ignore_class=-1))
        for weights in {"sample_weight": np.ones(32)}, {"class_weight": {0: 2.0, 1: 1.0}}:
            self.refused("weight with a loss of the reduction mean_with_sample_weight", dense(1, None),
                         labels, losses.MeanSquaredError(reduction="mean_with_sample_weight"), **weights)
        self.refused("reduction is 'sum'", dense(3, "softmax"), labels,
                     losses.SparseCategoricalCrossentropy(ignore_class=-1, reduction="sum"))


class Masks(unittest.TestCase):
    """The steps of padding have no loss, as with a tag for each word of a sentence."""

    def setUp(self):
        self.random = np.random.default_rng(5)
        ids = self.random.integers(1, 30, (80, 12))
        ids[np.arange(12) >= self.random.integers(3, 13, (80, 1))] = 0
        self.ids = ids

    def tagger(self, units, activation):
        return keras.Sequential([
            keras.Input((None,)), layers.Embedding(30, 8, mask_zero=True),
            layers.Bidirectional(layers.LSTM(8, return_sequences=True)),
            layers.Dense(units, activation=activation)])

    def same(self, model, x, labels, loss, given_metrics=(), rate=0.1):
        return same_as_keras(self, model, {"optimizer": keras.optimizers.SGD(rate), "loss": loss,
                                           "metrics": list(given_metrics)},
                             x, labels, epochs=2, validation_data=(x[:40], labels[:40]))

    def test_class_numbers(self):
        ids = self.ids
        values = self.random.random((80, 12, 3)).astype("float32") * (ids > 0)[..., None]
        masked = keras.Sequential([
            keras.Input((12, 3)), layers.Masking(), layers.GRU(4, return_sequences=True),
            layers.TimeDistributed(layers.Dense(5))])
        for model, x, loss in (
                (self.tagger(5, "softmax"), ids, "sparse_categorical_crossentropy"),
                (masked, values, losses.SparseCategoricalCrossentropy(from_logits=True))):
            self.same(model, x, ids % 5, loss, ["accuracy", metrics.SparseTopKCategoricalAccuracy(2)])
            np.testing.assert_allclose(cluster.predict(model, x[:9]), model.predict(x[:9], verbose=0),
                                       atol=1e-4)
            with self.assertRaisesRegex(cairn.NotSupported, "output that has a mask"):
                cluster.fit(model, x, ids % 5, sample_weight=np.ones(80), verbose=0)

    def test_ignored_classes(self):
        labels = np.where(self.random.random((80, 12)) < 0.2, -1, self.ids % 5)
        self.same(self.tagger(5, "softmax"), self.ids, labels,
                  losses.SparseCategoricalCrossentropy(ignore_class=-1), ["accuracy"])

    def test_one_hot_labels(self):
        labels = np.eye(5, dtype="float32")[self.ids % 5]
        self.same(self.tagger(5, "softmax"), self.ids, labels, "categorical_crossentropy", [
            "accuracy", metrics.TopKCategoricalAccuracy(2), metrics.CategoricalCrossentropy(name="e")])

    def test_binary_labels(self):
        """Precision counts masked steps, in Keras too."""
        labels = (self.random.random((80, 12, 3)) < 0.4).astype("float32")
        self.same(self.tagger(3, "sigmoid"), self.ids, labels,
                  losses.BinaryCrossentropy(label_smoothing=0.1),
                  ["accuracy", metrics.BinaryAccuracy(threshold=0.4, name="at_0.4"), "mae",
                   metrics.Precision(name="precision")])

    def test_numbers(self):
        labels = self.random.normal(size=(80, 12, 3)).astype("float32")
        mae = losses.MeanAbsoluteError(reduction="mean_with_sample_weight")
        self.same(self.tagger(3, None), self.ids, labels, mae, [
            "mse", metrics.RootMeanSquaredError(name="rmse"), metrics.CosineSimilarity(name="cosine"),
            lambda y, p: ops.max(ops.abs(y - p), axis=-1)])
        self.same(self.tagger(3, None), self.ids, labels, "cosine_similarity")
        self.same(self.tagger(3, None), self.ids, labels,
                  lambda y, p: ops.mean(ops.abs(y - p) ** 3, axis=-1))
        self.same(self.tagger(3, None), self.ids, labels, losses.MeanSquaredError(reduction="sum"),
                  rate=1e-4)

    def test_several_outputs(self):
        x = layers.Embedding(30, 8, mask_zero=True)(inputs := keras.Input((12,)))
        other = keras.Input((2,))
        x = layers.LSTM(8, return_sequences=True)(x)
        tags = layers.Dense(2, name="tags")(x)
        whole = layers.Dense(1, name="whole")(layers.concatenate(
            [layers.GlobalAveragePooling1D()(x), other]))
        model = keras.Model([inputs, other], [tags, whole])
        labels = {"tags": self.random.normal(size=(80, 12, 2)).astype("float32"),
                  "whole": self.random.normal(size=(80, 1)).astype("float32")}
        there = same_as_keras(self, model, {
            "optimizer": "sgd", "loss": {"tags": "mse", "whole": "mae"},
            "loss_weights": {"tags": 2.0, "whole": 0.5},
            "metrics": {"tags": ["mae"], "whole": ["mse"]}},
            [self.ids[:64], labels["tags"][:64, 0]], {name: each[:64] for name, each in labels.items()},
            epochs=2)
        self.assertIn("tags_mae", there)

    def test_what_is_refused(self):
        class Mean(metrics.MeanMetricWrapper):
            pass

        labels = np.ones((80, 12, 3), "float32")
        for text, loss, metric in (
                ("Mean is a class of the script", "mse",
                 Mean(lambda y, p: ops.mean(y - p, axis=-1), name="mean")),
                ("ignore_class is not supported with an output that has a mask", "mse",
                 metrics.SparseCategoricalCrossentropy(ignore_class=0)),
                ("values of shape .*give labels of the output's shape", "mse",
                 lambda y, p: ops.mean(y - p, axis=[1, 2])),
                ("computes All", "hinge", "mse")):
            model = self.tagger(3, None)
            model.compile("sgd", loss, metrics=[metric])
            with self.subTest(text), self.assertRaisesRegex(cairn.NotSupported, text):
                cluster.fit(model, self.ids, labels, verbose=0)


class States(unittest.TestCase):
    def test_states_that_are_vectors(self):
        """A number for each class, as in metrics of the precision and recall of classes."""
        class OfClasses(metrics.Metric):
            def __init__(self, classes):
                super().__init__(name="of_classes")
                self.right, self.labels, self.predicted = (
                    self.add_weight(name=name, shape=(classes,), initializer="zeros")
                    for name in ("right", "labels", "predicted"))
                self.steps = self.add_weight(name="steps", shape=(2, classes), initializer="zeros")

            def update_state(self, y_true, y_pred, sample_weight=None):
                predicted = ops.cast(y_pred > 0.3, "float32")
                self.right.assign_add(ops.sum(y_true * predicted, axis=0))
                self.labels.assign_add(ops.cast(tf.reduce_sum(y_true, axis=0), "float32"))
                self.predicted.assign(self.predicted + ops.sum(predicted, axis=0))
                self.steps.assign_sub(ops.sum(ops.stack([y_pred, y_true], axis=1), axis=0))

            def result(self):
                return {"precision": ops.mean(self.right / (self.predicted + 1e-7)),
                        "recall": ops.mean(self.right / (self.labels + 1e-7)),
                        "shift": ops.sum(self.steps[0] * self.steps[1])}

        x, y = client.examples(100)
        labels = np.eye(3, dtype="float32")[y + (x[:, 0] > 0.5)]
        there = same_as_keras(self, dense(3, "softmax"), {
            "optimizer": keras.optimizers.SGD(1e-4), "loss": "categorical_crossentropy",
            "metrics": [OfClasses(3)]}, x, labels, epochs=2, validation_data=(x[:40], labels[:40]))
        self.assertGreater(there["val_recall"][0], 0.1)

    def test_what_is_refused(self):
        class Vector(metrics.Metric):
            def __init__(self, size, of):
                super().__init__(name="vector")
                self.of, self.state = of, self.add_weight(name="state", shape=(size,),
                                                          initializer="zeros")

            def update_state(self, y_true, y_pred, sample_weight=None):
                self.state.assign_add(self.of(y_pred))

            def result(self):
                return ops.sum(self.state)

        for size, of, text in ((101, lambda p: 1.0, "it has 101 numbers"),
                               (3, lambda p: ops.exp(ops.sum(p, axis=0)), "is not ops.sum"),
                               (3, lambda p: ops.cast(ops.sum(p, axis=0), "int32"), "is not ops.sum"),
                               (3, lambda p: ops.sum(p, axis=-1), "is not ops.sum")):
            model = dense(3, None)
            model.compile("sgd", "mse", metrics=[Vector(size, of)])
            with self.assertRaisesRegex(cairn.NotSupported, f"metric vector: state state: .*{text}"):
                cluster.fit(model, np.zeros((32, 8)), np.zeros((32, 3)), verbose=0)


class Aucs(Refused):
    def test_labels_and_thresholds(self):
        random = np.random.default_rng(3)
        x = random.random((96, 8)).astype("float32")
        labels = (x[:, :3] + 0.3 * random.random((96, 3)) > 0.6).astype("float32")
        several = [metrics.AUC(multi_label=True, num_labels=3, label_weights=[1.0, 2.0, 0.5],
                               curve="PR", name="weighted"),
                   metrics.AUC(thresholds=[0.2, 0.45, 0.6], name="three"),
                   metrics.AUC(thresholds=[0.3, 0.5, 0.9], summation_method="minoring", curve="PR",
                               name="minoring"),
                   metrics.AUC(thresholds=[0.2, 0.4, 0.6, 0.8], name="even")]
        for activation, more in (("sigmoid", several), (None, [])):
            from_logits = activation is None
            there = same_as_keras(self, dense(3, activation), {
                "optimizer": "adam", "loss": losses.BinaryCrossentropy(from_logits=from_logits),
                "metrics": ["accuracy", metrics.AUC(multi_label=True, from_logits=from_logits,
                                                    name="mean"), *more]},
                x, labels, epochs=2, validation_data=(x[:40], labels[:40]))
            self.assertGreater(there["mean"][0], 0.2)

    def test_several_outputs(self):
        x, y = client.examples(96)
        inputs = keras.Input((8,))
        model = keras.Model(inputs, [layers.Dense(2, activation="sigmoid", name="a")(inputs),
                                     layers.Dense(3, activation="softmax", name="b")(inputs)])
        compiled = {"optimizer": "sgd", "loss": {
            "a": "binary_crossentropy", "b": losses.SparseCategoricalCrossentropy(ignore_class=-1)},
            "loss_weights": {"a": 0.5, "b": 2.0},
            "metrics": {"a": [metrics.AUC(multi_label=True, name="auc")], "b": ["accuracy"]}}
        labels = {"a": (x[:, :2] > 0.4).astype("float32"), "b": y * 3 - 1}
        there = same_as_keras(self, model, compiled, x, labels, epochs=2)
        self.assertIn("b_accuracy", there)

    def test_early_stopping(self):
        """It runs here, since the job does not know the mean of the labels."""
        x, _ = client.examples(128)
        labels = (x[:, :2] > 0.5).astype("float32")
        labels[64:] = 1 - labels[64:]  # Of the validation: it becomes worse.
        stop = keras.callbacks.EarlyStopping("val_auc", mode="max", patience=1,
                                             restore_best_weights=True)
        model = dense(2, "sigmoid")
        there = same_as_keras(self, model, {
            "optimizer": keras.optimizers.Adam(0.1), "loss": "binary_crossentropy",
            "metrics": [metrics.AUC(multi_label=True, name="auc")]}, x, labels, epochs=9,
            validation_split=0.5, callbacks=[stop])
        self.assertLess(len(there["auc"]), 9)
        np.testing.assert_allclose(cluster.predict(model, x[:9]), model.predict(x[:9], verbose=0),
                                   atol=1e-4)

    def test_what_is_refused(self):
        labels = np.zeros((32, 3), "float32")

        def refused(text, **kwargs):
            self.refused(text, dense(3, "sigmoid"), labels, "mse", metrics.AUC(name="auc", **kwargs))

        refused("multi_label needs an output of shape .None, 4.", multi_label=True, num_labels=4)
        refused("label_weights with multi_label=True only", label_weights=[1.0, 2.0, 3.0])
        refused("thresholds of equal distances only", multi_label=True, thresholds=[0.1, 0.2])
        self.refused("callback monitors auc, whose result is computed here", dense(3, "sigmoid"), labels,
                     "mse", metrics.AUC(multi_label=True, name="auc"), callbacks=[
                         keras.callbacks.ReduceLROnPlateau("auc", mode="max")])


if __name__ == "__main__":
    results.main()
