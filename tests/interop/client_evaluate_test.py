"""evaluate and predict of any model, the order of results, and what callbacks leave, by `cairn`."""

import contextlib
import functools
import io
import os
import tempfile
import unittest

import cairn
import keras
import numpy as np
from keras import layers, ops

import client
from cairn.callbacks import Plateau
from client import examples, network

cluster = None


def setUpModule():
    global cluster
    cluster = client.start()


@keras.saving.register_keras_serializable("cairn")
def distance(y_true, y_pred):
    return ops.mean(ops.abs(y_true - y_pred), axis=-1)


@keras.saving.register_keras_serializable("cairn")
class Scaled(layers.Layer):
    def call(self, x):
        return x * 0.5


@keras.saving.register_keras_serializable("cairn")
class Total(keras.metrics.Metric):
    """The sum of the predictions' sizes: they themselves cancel out, and rounding is seen."""

    def __init__(self, name="total", **arguments):
        super().__init__(name=name, **arguments)
        self.sum = self.add_weight(name="sum", initializer="zeros")

    def update_state(self, y_true, y_pred, sample_weight=None):
        self.sum.assign_add(ops.sum(ops.abs(y_pred)))

    def result(self):
        return 1.0 * self.sum


def of_two_outputs(make=list):
    inputs = keras.Input((8,))
    hidden = Scaled()(layers.Dense(16, activation="relu")(inputs))
    number, kind = layers.Dense(1, name="number")(hidden), layers.Dense(2, name="kind")(hidden)
    model = keras.Model(inputs, [number, kind] if make is list else {"number": number, "kind": kind})
    model.compile(
        optimizer=keras.optimizers.Adam(0.01), loss_weights={"kind": 1.0, "number": 0.5},
        loss={"kind": keras.losses.SparseCategoricalCrossentropy(from_logits=True), "number": distance},
        metrics={"kind": ["accuracy"], "number": ["mae", distance, Total()]},
        weighted_metrics={"number": ["mse"]})
    return model


def saved_and_loaded(model, ending="keras"):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, f"model.{ending}")
        model.save(path)
        return keras.models.load_model(path)


class Evaluate(unittest.TestCase):
    def compare(self, model, *data, **arguments):
        """All results of evaluate and predict, with their names and order."""
        expected = model.evaluate(*data, verbose=0, return_dict=True, **arguments)
        found = cluster.evaluate(model, *data, verbose=0, return_dict=True, **arguments)
        self.assertEqual(list(found), list(expected))
        for name, value in expected.items():
            np.testing.assert_allclose(found[name], value, atol=1e-4, rtol=1e-4, err_msg=name)
        np.testing.assert_allclose(cluster.evaluate(model, *data, verbose=0, **arguments),
                                   model.evaluate(*data, verbose=0, **arguments), atol=1e-4, rtol=1e-4)
        ours, theirs = cluster.predict(model, data[0]), model.predict(data[0], verbose=0)
        for one, other in zip(keras.tree.flatten(ours), keras.tree.flatten(theirs)):
            np.testing.assert_allclose(one, other, atol=1e-4)

    def test_a_model_that_no_cluster_has_trained(self):
        x, y = examples()
        model = network()
        self.compare(model, x, y)
        cluster.fit(model, x, y, verbose=0)
        self.compare(model, x, y)
        model.set_weights([weight + 0.1 for weight in model.get_weights()])
        self.compare(model, x, y)
        model.compile("sgd", "mse", metrics=["mae"])  # Others than those of fit.
        self.compare(model, x, np.eye(2, dtype="float32")[y])

    def test_loaded_models(self):
        x, y = examples()
        for ending in "keras", "h5":
            model = saved_and_loaded(network(metrics=[
                "accuracy", keras.metrics.SparseTopKCategoricalAccuracy(1, name="first")]), ending)
            self.compare(model, x, y)
            cluster.fit(model, x, y, verbose=0)
            self.compare(saved_and_loaded(model, ending), x, y, sample_weight=np.linspace(0, 1, len(y)))

    def test_loaded_models_with_several_outputs_and_objects_of_the_script(self):
        x, y = examples()
        sums = x.sum(1, keepdims=True)
        for make, labels in (list, [sums, y]), (dict, {"number": sums, "kind": y}):
            with self.subTest(outputs=make.__name__):
                model = saved_and_loaded(of_two_outputs(make))
                twin = saved_and_loaded(model)
                self.compare(model, x, labels)
                fit = {"batch_size": 64, "epochs": 2, "shuffle": False, "verbose": 0,
                       "validation_data": (x, labels)}
                there = twin.fit(x, labels, **fit).history
                here = cluster.fit(model, x, labels, **fit).history
                self.assertEqual(list(here), list(there))
                for name in there:
                    np.testing.assert_allclose(here[name], there[name], atol=1e-3, rtol=1e-4,
                                               err_msg=name)
                self.assertEqual(model.metrics_names, twin.metrics_names)
                self.compare(model, x, labels)

    def test_names_of_metrics_after_fit(self):
        x, y = examples()
        labels = [x.sum(1, keepdims=True), y]
        model, twin = of_two_outputs(), of_two_outputs()
        cluster.fit(model, x, labels, verbose=0)
        twin.fit(x, labels, verbose=0)
        self.assertEqual(model.metrics_names, twin.metrics_names)

    def test_longer_examples_than_in_fit(self):
        random = np.random.default_rng(2)
        short, long = (random.normal(size=(40, steps, 3)).astype("float32") for steps in (4, 9))
        model = keras.Sequential([keras.Input((None, 3)), layers.GRU(4), layers.Dense(1)])
        model.compile("sgd", "mse")
        cluster.fit(model, short, short[:, 0, :1], verbose=0)
        self.compare(model, long, long[:, 0, :1])

    def test_predictions_of_a_model_without_compile(self):
        x, _ = examples()

        class Own(keras.Model):
            def __init__(self):
                super().__init__()
                self.dense = layers.Dense(3)

            def call(self, x):
                return {"hidden": self.dense(x), "sum": ops.sum(x, axis=-1)}

        model = Own()
        found = cluster.predict(model, x)
        expected = model.predict(x, verbose=0)
        self.assertEqual(list(found), list(expected))
        for name, values in expected.items():
            np.testing.assert_allclose(found[name], values, atol=1e-5)

    def test_not_compiled(self):
        x, y = examples()
        model = keras.Sequential([keras.Input((8,)), layers.Dense(2)])
        with self.assertRaisesRegex(cairn.NotSupported, "not compiled: call model.compile first"):
            cluster.evaluate(model, x, y)


class Callbacks(unittest.TestCase):
    def compare(self, make, attributes=(), **compiled):
        """Trains by both with the callback; the rates of the optimizer and the callback's own state."""
        x, y = examples()
        start, results = network().get_weights(), []
        for on_cluster in True, False:
            model = network(optimizer=keras.optimizers.SGD(0.1), **compiled)
            model.set_weights(start)
            callback = make(model)
            train = functools.partial(cluster.fit, model) if on_cluster else model.fit
            history = train(x, y, epochs=4, shuffle=False, verbose=0, batch_size=64,
                            callbacks=[callback], validation_data=(x, y)).history
            results.append((float(model.optimizer.learning_rate), history,
                            [getattr(callback, name) for name in attributes]))
        (ours, here, state), (theirs, there, expected) = results
        self.assertEqual(ours, theirs)
        self.assertEqual(list(here), list(there))
        for name in there:
            np.testing.assert_allclose(here[name], there[name], atol=1e-4, err_msg=name)
        np.testing.assert_allclose(state, expected, atol=1e-4)
        return ours

    def test_a_reduction_at_the_end_of_the_last_epoch(self):
        state = ("best", "wait", "cooldown_counter")
        rate = self.compare(lambda _: keras.callbacks.ReduceLROnPlateau(
            "loss", patience=1, factor=0.5, min_delta=10.0), state)
        self.assertAlmostEqual(rate, 0.1 * 0.5 ** 3)
        self.compare(lambda _: keras.callbacks.ReduceLROnPlateau(
            "val_accuracy", patience=1, factor=0.5, min_delta=0.9, cooldown=2), state)
        self.compare(lambda _: keras.callbacks.ReduceLROnPlateau("val_loss", patience=9), state)

    def test_the_plateau_reduces_the_rate_that_the_job_has(self):
        """A job that rolls back from losses that are not finite halves its rate."""
        model = network()
        plateau = Plateau(keras.callbacks.ReduceLROnPlateau("loss", patience=1, min_delta=10.0, factor=0.5))
        plateau.set_model(model)
        plateau.on_train_begin()
        plateau.rate = float(model.optimizer.learning_rate) / 8
        for epoch in range(2):
            plateau.on_epoch_end(epoch, {"loss": 1.0})
        self.assertAlmostEqual(float(model.optimizer.learning_rate), plateau.rate / 2)

    def test_the_plateau_says_what_it_does(self):
        x, y = examples()
        shown = io.StringIO()
        with contextlib.redirect_stdout(shown):
            cluster.fit(network(), x, y, epochs=3, verbose=0, callbacks=[keras.callbacks.ReduceLROnPlateau(
                "loss", patience=1, min_delta=10.0, verbose=1)])
        self.assertIn("Epoch 2: ReduceLROnPlateau reducing learning rate to", shown.getvalue())

    def test_other_callbacks_that_set_the_rate_at_the_end_of_the_last_epoch(self):
        def sets_rate(model):
            return keras.callbacks.LambdaCallback(
                on_epoch_end=lambda epoch, logs: setattr(model.optimizer, "learning_rate", 0.1 / (epoch + 2)))

        self.assertAlmostEqual(self.compare(sets_rate), 0.02)
        self.compare(lambda _: keras.callbacks.LearningRateScheduler(lambda epoch, rate: rate * 0.5))

    def test_callbacks_that_only_show(self):
        class Bar(keras.callbacks.ProgbarLogger):
            pass

        x, y = examples()
        for callback in keras.callbacks.ProgbarLogger(), keras.callbacks.History(), Bar():
            for verbose in 0, 1, 2:
                shown = io.StringIO()
                with contextlib.redirect_stdout(shown):
                    cluster.fit(network(), x, y, epochs=2, verbose=verbose, callbacks=[callback])
                self.assertEqual("Epoch 2/2" in shown.getvalue(), verbose > 0)

    def test_own_code_for_batches_of_a_validation_is_refused(self):
        class Bar(keras.callbacks.ProgbarLogger):
            def on_test_batch_end(self, batch, logs=None):
                pass

        x, y = examples()
        with self.assertRaisesRegex(cairn.NotSupported, "callback Bar: .*on_test_batch_end are not"):
            cluster.fit(network(), x, y, verbose=0, callbacks=[Bar()])


if __name__ == "__main__":
    unittest.main()
