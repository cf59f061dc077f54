"""What the tests of the package `cairn` share: their cluster, and a training by Keras and by Cairn."""

import functools
import unittest

import cairn
import keras
import numpy as np
from keras import layers

cluster = None


def start():
    """Starts the cluster of a test program, for setUpModule.

    Initial weights are the same in each run: with some, rounding decides on which side of its kink a
    ReLU is, and the two trainings part.
    """
    global cluster
    keras.utils.set_random_seed(1)
    cluster = cairn.local(ps=2, workers=2)
    unittest.addModuleCleanup(cluster.close)
    return cluster


def network(**compiled):
    model = keras.Sequential([keras.Input((8,)), layers.Dense(16, activation="relu"),
                              layers.Dense(2, activation="softmax")])
    model.compile(**{"optimizer": "adam", "loss": "sparse_categorical_crossentropy",
                     "metrics": ["accuracy"], **compiled})
    return model


def examples(count=640):
    x = np.random.default_rng(1).random((count, 8)).astype("float32")
    return x, (x.sum(1) > 4).astype("int64")


def same_as_keras(test, model, compiled, *data, batches_per_update=None, **fit):
    """Trains the model by both, from the same weights; returns the history of Keras.

    batches_per_update: 1 for a batch normalization, which uses the examples of one of them.
    """
    fit = {"batch_size": 32, "shuffle": False, "verbose": 0, **fit}
    if any(hasattr(each, "__next__") or hasattr(each, "as_numpy_iterator") for each in data):
        del fit["batch_size"]
    start = model.get_weights()
    counts = []
    optimizer = compiled.get("optimizer")
    state = []  # Of an optimizer that is the same one in both trainings.
    if isinstance(optimizer, keras.optimizers.Optimizer):
        if not optimizer.built:
            optimizer.build(model.trainable_variables)
        state = [(variable, variable.numpy()) for variable in optimizer.variables]

    def train(fit_model, compiled, **more):
        model.compile(**compiled)
        for variable, value in state:
            variable.assign(value)
        before = int(model.optimizer.iterations)
        history = fit_model(*[each() if callable(each) else each for each in data], **fit,
                            **more).history
        counts.append(int(model.optimizer.iterations) - before)
        return history

    # Step by step, since to trace a small model takes longer than to train it.
    there = train(model.fit, {"run_eagerly": True, **compiled})
    expected = model.get_weights()
    model.set_weights(start)
    here = train(functools.partial(cluster.fit, model), compiled,
                 batches_per_update=batches_per_update)
    if fit.get("batch_size"):  # Of a dataset of unknown size Keras counts more than its batches.
        test.assertEqual(counts[1], counts[0], "updates")
    test.assertEqual(sorted(here), sorted(there))
    for key in there:
        np.testing.assert_allclose(here[key], there[key], atol=2e-4, rtol=1e-5, err_msg=key)
    for ours, theirs in zip(model.get_weights(), expected):
        np.testing.assert_allclose(ours, theirs, atol=2e-4, rtol=1e-5)
    return there
