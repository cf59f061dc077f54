"""Combinations of losses, outputs, batch sizes and callbacks, by `cairn` and by Keras."""

import itertools
import unittest

import cairn
import keras
import numpy as np
from keras import layers, ops

import client
from client import same_as_keras

cluster = None


def setUpModule():
    global cluster
    cluster = client.start()


RANDOM = np.random.default_rng(3)
X = RANDOM.normal(0, 1, (67, 5)).astype("float32")
CLASSES = RANDOM.integers(0, 3, (67, 1))
ONE_HOT = np.eye(3, dtype="float32")[CLASSES[:, 0]]


def model_of(*last, second=None):
    """`last`: layers. second: a layer that takes the output, too."""
    inputs = keras.Input((5,))
    output = layers.Dense(4, activation="tanh")(inputs)
    for layer in last:
        output = layer(output)
    return keras.Model(inputs, output if second is None else [output, second(output)])


def sgd(rate=0.1):
    return keras.optimizers.SGD(rate)


class Losses(unittest.TestCase):

    def test_sums_with_batches_of_any_size(self):
        @keras.saving.register_keras_serializable("cairn")
        class Penalized(layers.Layer):
            def call(self, x):
                self.add_loss(0.01 * ops.sum(ops.square(x)))
                return x

        for size in (5, 13, 16, 24):
            with self.subTest(size=size):
                same_as_keras(self, model_of(layers.Dense(3)), {
                    "optimizer": sgd(0.001), "loss": keras.losses.MeanSquaredError(reduction="sum")},
                    X, ONE_HOT, batch_size=size, epochs=2, batches_per_update=1)
                same_as_keras(self, model_of(layers.Dense(3), Penalized()), {
                    "optimizer": sgd(0.001), "loss": "mse"},
                    X, ONE_HOT, batch_size=size, epochs=2, batches_per_update=1)

    def test_outputs_that_are_no_probabilities(self):
        for activation in (None, "tanh", "relu", "sigmoid"):
            with self.subTest(activation=activation):
                same_as_keras(self, model_of(layers.Dense(3, activation=activation)), {
                    "optimizer": sgd(0.001), "loss": "sparse_categorical_crossentropy"},
                    X, CLASSES, epochs=2)

    def test_any_activation_with_any_crossentropy(self):
        losses = [("binary_crossentropy", ONE_HOT), ("categorical_crossentropy", ONE_HOT),
                  ("sparse_categorical_crossentropy", CLASSES)]
        for activation, (loss, labels) in itertools.product(("softmax", "sigmoid"), losses):
            with self.subTest(activation=activation, loss=loss):
                same_as_keras(self, model_of(layers.Dense(3, activation=activation)), {
                    "optimizer": sgd(), "loss": loss}, X, labels, epochs=2)
                last = layers.Dense(3, activation=activation)
                same_as_keras(self, model_of(last, second=layers.Dense(2)), {
                    "optimizer": sgd(), "loss": [loss, "mse"]}, X[:64], [labels[:64], ONE_HOT[:64, :2]], epochs=2)

    def test_a_loss_that_is_scaled_for_its_gradient(self):
        same_as_keras(self, model_of(layers.Dense(3)), {
            "optimizer": keras.optimizers.SGD(0.1, clipnorm=0.2, loss_scale_factor=1024.0), "loss": "mse"},
            X, ONE_HOT, epochs=2)

    def test_a_metric_of_the_script_changes_no_loss(self):
        @keras.saving.register_keras_serializable("cairn")
        def distance(y_true, y_pred):
            return ops.mean(ops.abs(y_true - y_pred), axis=-1)

        same_as_keras(self, model_of(layers.Dense(3, activation="softmax")), {
            "optimizer": sgd(), "loss": "binary_crossentropy",
            "metrics": [distance, keras.metrics.AUC(multi_label=True)]}, X, ONE_HOT, epochs=2)

    def test_a_list_of_losses_with_a_dictionary_of_weights_is_refused(self):
        inputs = keras.Input((5,))
        model = keras.Model(inputs, [layers.Dense(3, name="zz")(inputs), layers.Dense(3, name="aa")(inputs)])
        model.compile("sgd", ["mse", "mae"], loss_weights={"zz": 5.0, "aa": 1.0})
        with self.assertRaisesRegex(cairn.NotSupported, "give both as lists, or both as dictionaries"):
            cluster.fit(model, X, [ONE_HOT, ONE_HOT], verbose=0)


class Models(unittest.TestCase):

    def test_masks_of_models_in_the_model_reach_the_loss(self):
        ids = RANDOM.integers(0, 9, (64, 5)).astype("int32")
        labels = RANDOM.integers(0, 3, (64, 5))

        def encoder():
            return keras.Sequential([layers.Embedding(9, 4, mask_zero=True),
                                     layers.LSTM(3, return_sequences=True)])

        inputs = keras.Input((5,), dtype="int32")
        functional = keras.Model(inputs, layers.Dense(3, activation="softmax")(encoder()(inputs)))
        sequential = keras.Sequential([keras.Input((5,), dtype="int32"),
                                       keras.Sequential([encoder(), layers.Dense(4)]),
                                       layers.Dense(3, activation="softmax")])
        for model in functional, sequential:
            with self.subTest(model=type(model).__name__):
                same_as_keras(self, model, {
                    "optimizer": sgd(), "loss": "sparse_categorical_crossentropy",
                    "metrics": ["accuracy"]}, ids, labels, epochs=2)

    def test_metrics_of_one_name(self):
        metrics = ["mse", keras.metrics.MeanSquaredError(name="mse"), "mae",
                   keras.metrics.MeanAbsoluteError(name="mse")]
        there = same_as_keras(self, model_of(layers.Dense(3)), {
            "optimizer": sgd(), "loss": "mse", "metrics": metrics}, X, ONE_HOT, epochs=2)
        self.assertEqual(list(there), ["loss", "mae", "mse", "mse_1", "mse_2"])


class Stopping(unittest.TestCase):

    def test_early_stopping_has_the_results_of_keras(self):
        cases = [dict(patience=1), dict(patience=2, restore_best_weights=True),
                 dict(patience=0, baseline=0.01), dict(patience=30),
                 dict(patience=1, start_from_epoch=3, min_delta=0.05),
                 dict(monitor="val_accuracy", patience=1), dict(monitor="loss", mode="max", patience=1)]
        for case, initial_epoch in itertools.product(cases, (0, 2)):
            with self.subTest(case=case, initial_epoch=initial_epoch):
                results = []

                def make():
                    results.append(keras.callbacks.EarlyStopping(**case))
                    return results[-1]

                fit = {"epochs": 9, "initial_epoch": initial_epoch, "batch_size": 16, "verbose": 0,
                       "shuffle": False, "validation_data": (X[:30], CLASSES[30:60])}
                compiled = {"optimizer": sgd(0.5), "loss": "sparse_categorical_crossentropy",
                            "metrics": ["accuracy"]}
                model = model_of(layers.Dense(3, activation="softmax"))
                weights = model.get_weights()
                for train in (lambda: model.fit(X, CLASSES, callbacks=[make()], **fit),
                              lambda: cluster.fit(model, X, CLASSES, callbacks=[make()], **fit)):
                    model.compile(**compiled)
                    model.set_weights(weights)
                    train()
                there, here = results
                self.assertEqual(here.stopped_epoch, there.stopped_epoch)
                self.assertEqual(here.best_epoch, there.best_epoch)
                self.assertEqual(here.wait, there.wait)
                self.assertAlmostEqual(here.best, there.best, places=4)
                self.assertEqual(here.restore_best_weights, there.restore_best_weights)


if __name__ == "__main__":
    unittest.main()
