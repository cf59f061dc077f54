"""The state of an optimizer, which goes on in Keras and on a cluster, by the package `cairn`."""

import functools
import tempfile
import unittest

import keras
import numpy as np
from keras import optimizers

import client
from client import examples, network

cluster = None

OPTIMIZERS = [
    optimizers.SGD(0.05), optimizers.SGD(0.05, momentum=0.9), optimizers.Adam(0.01),
    optimizers.Adam(0.01, amsgrad=True), optimizers.AdamW(0.01), optimizers.Nadam(0.01),
    optimizers.RMSprop(0.005), optimizers.RMSprop(0.005, momentum=0.5, centered=True),
    optimizers.Adagrad(0.05), optimizers.Adadelta(1.0), optimizers.Adamax(0.01), optimizers.Ftrl(0.05),
    optimizers.Lion(0.001), optimizers.Lamb(0.01)]


def setUpModule():
    global cluster
    cluster = client.start()


class States(unittest.TestCase):
    def setUp(self):
        self.x, self.y = examples(600)
        self.start = network().get_weights()

    def network_with(self, optimizer):
        model = network(optimizer=type(optimizer).from_config(optimizer.get_config()))
        model.set_weights(self.start)
        return model

    def fit(self, model, on_cluster, **more):
        train = functools.partial(cluster.fit, model) if on_cluster else model.fit
        return train(self.x, self.y, **{"epochs": 2, "shuffle": False, "verbose": 0, **more}).history["loss"]

    def same(self, ours, theirs):
        for our, their in zip(ours, theirs):
            np.testing.assert_allclose(our, their, atol=2e-4, rtol=1e-3)

    def test_each_optimizer_goes_on(self):
        """In Keras after a cluster, and the other way round."""
        for optimizer in OPTIMIZERS:
            with self.subTest(optimizer=optimizer.get_config()):
                results = {}
                for places in (True, False), (False, True), (False, False):
                    model = self.network_with(optimizer)
                    losses = [self.fit(model, on_cluster) for on_cluster in places]
                    results[places] = [*losses, *model.get_weights(),
                                       *(each.numpy() for each in model.optimizer.variables)]
                expected = results.pop((False, False))
                for result in results.values():
                    self.assertEqual(len(result), len(expected))
                    self.same(result, expected)

    def test_a_model_that_is_saved_and_loaded(self):
        for optimizer in optimizers.Adam(0.01), optimizers.SGD(0.05, momentum=0.9):
            results = []
            for on_cluster in True, False:
                model = self.network_with(optimizer)
                self.fit(model, on_cluster)
                with tempfile.TemporaryDirectory() as folder:
                    model.save(folder + "/model.keras")
                    copy = keras.saving.load_model(folder + "/model.keras")
                losses = [self.fit(each, on_cluster) for each in (copy, copy, model)]
                results.append([*losses, *copy.get_weights(), *model.get_weights()])
            with self.subTest(optimizer=optimizer.name):
                self.same(*results)

    def test_a_layer_that_is_frozen_in_between(self):
        """The optimizer stays the same one, and goes on with the moments of the others."""
        results = []
        for on_cluster in True, False:
            model = self.network_with(optimizers.Adam(0.01))
            self.fit(model, on_cluster)
            model.layers[0].trainable = False
            model.compile(model.optimizer, "sparse_categorical_crossentropy", metrics=["accuracy"])
            self.fit(model, on_cluster)
            results.append(model.get_weights())
        self.same(*results)

    def test_a_training_that_a_callback_stops(self):
        results = []
        for on_cluster in True, False:
            stop = keras.callbacks.LambdaCallback(
                on_epoch_end=lambda epoch, logs: setattr(model, "stop_training", epoch == 1))
            model = self.network_with(optimizers.Adam(0.01))
            self.fit(model, on_cluster, epochs=50, callbacks=[stop])
            self.fit(model, on_cluster)
            results.append([*model.get_weights(), *(each.numpy() for each in model.optimizer.variables)])
        self.same(*results)

    def test_a_checkpoint_that_a_callback_writes(self):
        results = []
        for on_cluster in True, False:
            model = self.network_with(optimizers.Adam(0.01))
            with tempfile.TemporaryDirectory() as folder:
                self.fit(model, on_cluster, epochs=3, callbacks=[
                    keras.callbacks.ModelCheckpoint(folder + "/{epoch}.keras")])
                copy = keras.saving.load_model(folder + "/2.keras")
            self.assertEqual(int(copy.optimizer.iterations), 2 * 19)
            copy.fit(self.x, self.y, shuffle=False, verbose=0)
            results.append([*copy.get_weights(), *(each.numpy() for each in copy.optimizer.variables)])
        self.same(*results)

    def test_accumulated_gradients(self):
        results = []
        for on_cluster in True, False:
            model = self.network_with(optimizers.Adam(0.01, gradient_accumulation_steps=3))
            for _ in range(3):
                self.fit(model, on_cluster, batch_size=50)
            results.append([*model.get_weights(), int(model.optimizer.iterations)])
        self.same(*results)

    def test_a_copy_that_is_compiled_anew_starts_anew(self):
        model = self.network_with(optimizers.Adam(0.01))
        self.fit(model, True)
        results = []
        for on_cluster in True, False:
            copy = network(optimizer=optimizers.Adam(0.01))
            copy.set_weights(model.get_weights())
            self.fit(copy, on_cluster)
            results.append(copy.get_weights())
        self.same(*results)


if __name__ == "__main__":
    unittest.main()
