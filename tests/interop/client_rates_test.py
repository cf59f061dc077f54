"""Callbacks of the script that set the learning rate of each batch, by the package `cairn`."""

import functools
import math
import threading
import unittest

import cairn
import keras
import numpy as np

import client
from client import examples, network

cluster = None


def setUpModule():
    global cluster
    cluster = client.start()


class OneCycle(keras.callbacks.Callback):
    """A rate that rises to its maximum in mid-training, and falls again."""

    def __init__(self, iterations, max_rate):
        super().__init__()
        self.iterations, self.max_rate = iterations, max_rate
        self.iteration = 0

    def on_batch_begin(self, batch, logs=None):
        half = self.iterations // 2
        distance = abs(self.iteration - half) / half
        self.iteration += 1
        self.model.optimizer.learning_rate = self.max_rate * (1 - 0.9 * distance)


class ExponentialRate(keras.callbacks.Callback):
    """A range test: the rate grows by a factor at each batch; its losses are for a plot."""

    def __init__(self, factor):
        super().__init__()
        self.factor = factor
        self.rates, self.losses = [], []

    def on_epoch_begin(self, epoch, logs=None):
        self.sum_of_losses = 0

    def on_batch_end(self, batch, logs=None):
        sum_of_losses = logs["loss"] * (batch + 1)
        rate = self.model.optimizer.learning_rate.numpy()
        self.rates.append(rate)
        self.losses.append(sum_of_losses - self.sum_of_losses)
        self.sum_of_losses = sum_of_losses
        self.model.optimizer.learning_rate = rate * self.factor


class Warmup(keras.callbacks.Callback):
    """By the optimizer's own count of updates, then a decay of epochs."""

    def on_train_batch_begin(self, batch, logs=None):
        iteration = int(self.model.optimizer.iterations)
        if iteration <= 10:
            self.set(0.01 * (iteration + 1))

    def on_epoch_end(self, epoch, logs=None):
        self.set(0.05 / (epoch + 1))

    def set(self, rate):
        self.model.optimizer.learning_rate.assign(rate)


def set_rate(model, rate):
    model.optimizer.learning_rate = rate


def cosine():
    model = network(optimizer=keras.optimizers.SGD(0.1))

    def begin(batch, logs):
        set_rate(model, 0.1 * (1 + math.cos(batch)))

    return model, keras.callbacks.LambdaCallback(on_train_batch_begin=begin)


class Rates(unittest.TestCase):
    def compare(self, make, optimizer, fits=1, **fit):
        """Trains by both; returns the callbacks and the histories of Cairn and of Keras."""
        x, y = examples()
        start = network().get_weights()
        results = []
        for on_cluster in True, False:
            model = network(optimizer=type(optimizer).from_config(optimizer.get_config()))
            callback = make()
            model.set_weights(start)
            for _ in range(fits):
                train = functools.partial(cluster.fit, model) if on_cluster else model.fit
                history = train(x, y, **{"batch_size": 64, "shuffle": False, "verbose": 0, "epochs": 3,
                                         "callbacks": [callback], **fit})
            results.append((model, callback, history))
        (ours, here, our), (theirs, there, their) = results
        for key, values in their.history.items():
            np.testing.assert_allclose(our.history[key], values, atol=1e-4, err_msg=key)
        for one, other in zip(ours.get_weights(), theirs.get_weights()):
            np.testing.assert_allclose(one, other, atol=1e-4)
        for name in "learning_rate", "iterations":
            self.assertEqual(float(getattr(ours.optimizer, name)),
                             float(getattr(theirs.optimizer, name)), name)
        return here, there

    def test_one_cycle(self):
        for optimizer in keras.optimizers.SGD(0.05, momentum=0.9), keras.optimizers.Adam(0.01):
            with self.subTest(optimizer=optimizer.name):
                self.compare(lambda: OneCycle(30, 0.2), optimizer)

    def test_a_range_test_of_the_rate(self):
        here, there = self.compare(lambda: ExponentialRate(1.1), keras.optimizers.SGD(1e-3))
        self.assertEqual(len(here.rates), 30)
        np.testing.assert_array_equal(here.rates, there.rates)
        np.testing.assert_allclose(here.losses, there.losses, atol=1e-3)

    def test_a_warmup_by_iterations_in_fits_that_continue(self):
        self.compare(Warmup, keras.optimizers.SGD(0.01), fits=2, epochs=2)

    def test_with_early_stopping_and_asynchronously(self):
        x, y = examples()
        cycle = OneCycle(100, 0.2)
        model = network(optimizer="sgd")
        history = cluster.fit(model, x, y, batch_size=64, verbose=0, epochs=10, strategy="async",
                              callbacks=[cycle, keras.callbacks.EarlyStopping("loss", patience=99)])
        self.assertEqual(len(history.epoch), 10)
        self.assertEqual(cycle.iteration, 100)

    def test_functions_of_the_script(self):
        x, y = examples()
        start = network().get_weights()
        results = []
        for on_cluster in True, False:
            model, callback = cosine()
            model.set_weights(start)
            train = functools.partial(cluster.fit, model) if on_cluster else model.fit
            train(x, y, batch_size=64, shuffle=False, verbose=0, epochs=2, callbacks=[callback])
            results.append(model.get_weights())
        for ours, theirs in zip(*results):
            np.testing.assert_allclose(ours, theirs, atol=1e-4)

    def test_a_callback_that_stops_in_an_epoch(self):
        """As Keras: it sees no further batch. The job ends this epoch, though."""
        class Finder(ExponentialRate):
            def on_batch_end(self, batch, logs=None):
                super().on_batch_end(batch, logs)
                if len(self.rates) == 14:
                    self.model.stop_training = True

        x, y = examples()
        finder = Finder(1.2)
        model = network(optimizer=keras.optimizers.SGD(1e-3))
        history = cluster.fit(model, x, y, batch_size=64, verbose=0, epochs=5, callbacks=[finder])
        self.assertEqual(len(finder.rates), 14)
        self.assertEqual(history.epoch, [0, 1])
        np.testing.assert_allclose(finder.rates, 1e-3 * 1.2 ** np.arange(14), rtol=1e-5)

    def refused(self, message, *callbacks, **compiled):
        x, y = examples()
        model = network(**compiled)
        before = float(model.optimizer.learning_rate), model.get_weights()
        with self.assertRaisesRegex(cairn.NotSupported, message):
            cluster.fit(model, x, y, batch_size=64, verbose=0, epochs=3, callbacks=list(callbacks))
        self.assertEqual(float(model.optimizer.learning_rate), before[0])
        for now, then in zip(model.get_weights(), before[1]):
            np.testing.assert_array_equal(now, then)

    def test_a_callback_that_sets_no_rates_of_batches_runs_once(self):
        """Also if it sets those of epochs."""
        class Noting(keras.callbacks.Callback):
            def on_train_begin(self, logs=None):
                calls.append("begin")

            def on_epoch_begin(self, epoch, logs=None):
                self.model.optimizer.learning_rate = 0.25

            def on_train_batch_end(self, batch, logs=None):
                self.lr = float(self.model.optimizer.learning_rate)
                calls.append(self.lr)

        x, y = examples()
        calls = []
        cluster.fit(network(optimizer=keras.optimizers.SGD(0.25)), x, y, batch_size=64, verbose=0,
                    callbacks=[Noting()])
        self.assertEqual(calls, ["begin", *[0.25] * 10])

    def test_what_cannot_be_known_before_is_refused(self):
        class Results(keras.callbacks.Callback):
            def on_train_batch_end(self, batch, logs=None):
                self.model.optimizer.learning_rate = 0.1 * min(1.0, logs["accuracy"])

        class Chance(keras.callbacks.Callback):
            def on_train_batch_end(self, batch, logs=None):
                self.model.optimizer.learning_rate = np.random.random()

        class Locked(OneCycle):
            def __init__(self):
                super().__init__(30, 0.2)
                self.lock = threading.Lock()

        for own in Results, Chance:
            self.refused(f"callback {own.__name__} sets the optimizer's learning rate of a batch, and it "
                         f"depends on the results", own())
        self.refused("callback Locked sets .* has no copy.*lock", Locked())
        plateau = keras.callbacks.ReduceLROnPlateau("loss")
        self.refused("callback OneCycle sets .*, which ReduceLROnPlateau sets", OneCycle(30, 0.2), plateau)
        self.refused("callback OneCycle sets .*, which Warmup sets", OneCycle(30, 0.2), Warmup())
        self.refused("gradient_accumulation_steps: set it in", OneCycle(30, 0.2),
                     optimizer=keras.optimizers.SGD(gradient_accumulation_steps=2))

    def test_results_that_only_training_has_are_noticed_when_it_has_them(self):
        class Late(OneCycle):
            def on_train_batch_end(self, batch, logs=None):
                if 1e-6 < abs(logs["loss"] - 0.7) < 0.5 and self.iteration % 10 == 9:
                    self.max_rate *= 0.5

        x, y = examples()
        model = network(optimizer="sgd")
        message = r"Late sets .* depends on the results .*\(here [0-9.]+ for batch [0-9]+, and [0-9.]+ before"
        with self.assertRaisesRegex(cairn.NotSupported, message):
            cluster.fit(model, x, y, batch_size=64, verbose=0, epochs=3, callbacks=[Late(30, 0.2)])

    def test_code_that_hides_it_is_refused_at_the_end_of_an_epoch(self):
        class Hidden(keras.callbacks.Callback):
            def on_train_batch_end(self, batch, logs=None):
                type(self.model.optimizer).learning_rate.fset(self.model.optimizer, 0.5)

        x, y = examples()
        model = network(optimizer="sgd")
        with self.assertRaisesRegex(cairn.NotSupported, "Hidden sets .* in on_train_batch_end: the job is"):
            cluster.fit(model, x, y, batch_size=64, verbose=0, epochs=3, callbacks=[Hidden()])


if __name__ == "__main__":
    unittest.main()
