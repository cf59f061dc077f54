"""The package `cairn`: metrics that a job does not have."""

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
from keras import layers, metrics, ops  # noqa: E402

cluster = None


def setUpModule():
    global cluster
    keras.utils.set_random_seed(1)
    cluster = client.start()


def dense(units, activation):
    return keras.Sequential([keras.Input((8,)), layers.Dense(units, activation=activation)])


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


if __name__ == "__main__":
    results.main()
