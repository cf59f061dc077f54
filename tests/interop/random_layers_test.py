"""Layers that draw numbers in training only: the distribution of the loss is that of Keras.

    random_layers_test.py [CASE...]      a case: RandomLayers.test_Dropout

Keras and Cairn draw other numbers, so nothing else can be compared: the mean of the loss over many
examples, at a learning rate of 0, must agree as far as Keras's own batches differ from each other. It
must also differ from the loss of inference, or the case would prove nothing.
"""

import math
import os
import unittest

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import cairn  # noqa: E402
import keras  # noqa: E402
import numpy as np  # noqa: E402
import results  # noqa: E402
from keras import layers as L  # noqa: E402

EXAMPLES, BATCH = 4096, 128
DEVIATIONS = 5  # Of a difference of two means.
SEQUENCE, IMAGE, VOLUME = (6, 4), (4, 4, 3), (2, 3, 3, 2)
LARGE = {"kernel_initializer": keras.initializers.RandomNormal(0, 1.5, seed=1)}
RECURRENT = {"recurrent_initializer": keras.initializers.RandomNormal(0, 1.5, seed=2)}


def through(make):
    return lambda tensor: make()(tensor)


def attention(make):
    return lambda tensor: make()([tensor, tensor])


CASES = {
    "Dropout": (SEQUENCE, through(lambda: L.Dropout(0.5))),
    "SpatialDropout1D": (SEQUENCE, through(lambda: L.SpatialDropout1D(0.4))),
    "SpatialDropout2D": (IMAGE, through(lambda: L.SpatialDropout2D(0.6))),
    "SpatialDropout3D": (VOLUME, through(lambda: L.SpatialDropout3D(0.5))),
    "AlphaDropout": (SEQUENCE, through(lambda: L.AlphaDropout(0.3))),
    "GaussianDropout": (SEQUENCE, through(lambda: L.GaussianDropout(0.5))),
    "GaussianNoise": (SEQUENCE, through(lambda: L.GaussianNoise(0.8))),
    "TimeDistributed": (SEQUENCE, through(lambda: L.TimeDistributed(L.Dropout(0.5)))),
    "LSTM": (SEQUENCE, through(lambda: L.LSTM(8, dropout=0.5, **LARGE))),
    "GRU": (SEQUENCE, through(lambda: L.GRU(8, dropout=0.5, **LARGE))),
    "SimpleRNN": (SEQUENCE, through(lambda: L.SimpleRNN(8, dropout=0.5, **LARGE))),
    "RNN": (SEQUENCE, through(lambda: L.RNN([L.LSTMCell(8, dropout=0.5, **LARGE)]))),
    "Bidirectional": (SEQUENCE, through(lambda: L.Bidirectional(L.LSTM(8, dropout=0.5, **LARGE)))),
    "recurrent dropout": (SEQUENCE, through(
        lambda: L.SimpleRNN(8, recurrent_dropout=0.5, **LARGE, **RECURRENT))),
    "Attention": (SEQUENCE, attention(lambda: L.Attention(dropout=0.95))),
    "AdditiveAttention": (SEQUENCE, attention(lambda: L.AdditiveAttention(dropout=0.95))),
    "MultiHeadAttention": (SEQUENCE, lambda tensor: L.MultiHeadAttention(
        2, 4, dropout=0.6, **LARGE)(tensor, tensor)),
}

cluster = None


def setUpModule():
    global cluster
    cluster = cairn.local(ps=1, workers=1)
    unittest.addModuleCleanup(cluster.close)


class BatchLosses(keras.callbacks.Callback):
    """Keras reports the mean of the batches so far."""

    def __init__(self):
        super().__init__()
        self.values = []

    def on_train_batch_end(self, batch, logs=None):
        before = sum(self.values)
        self.values.append(logs["loss"] * (batch + 1) - before)


class RandomLayers(unittest.TestCase):
    def compare(self, shape, layer):
        keras.utils.set_random_seed(1)
        inputs = keras.Input(shape)
        model = keras.Model(inputs, L.Dense(1, **LARGE)(L.Flatten()(layer(inputs))))
        x = np.random.default_rng(1).uniform(0.5, 1.5, (EXAMPLES, *shape)).astype("float32")
        y = np.zeros((EXAMPLES, 1), "float32")
        model.compile(keras.optimizers.SGD(0.0), "mse")
        batches = BatchLosses()
        theirs = model.fit(x, y, batch_size=BATCH, verbose=0, shuffle=False,
                           callbacks=[batches]).history["loss"][0]
        ours = cluster.fit(model, x, y, batch_size=BATCH, verbose=0, shuffle=False).history["loss"][0]
        inferred = model.evaluate(x, y, batch_size=BATCH, verbose=0)
        tolerance = DEVIATIONS * math.sqrt(2) * np.std(batches.values) / math.sqrt(len(batches.values))
        self.assertGreater(abs(theirs - inferred), 2 * tolerance, "the case shows nothing")
        self.assertAlmostEqual(ours, theirs, delta=tolerance)
        self.assertAlmostEqual(cluster.evaluate(model, x, y, batch_size=BATCH, verbose=0), inferred,
                               delta=1e-4 * abs(inferred))


def case(shape, layer):
    return lambda self: self.compare(shape, layer)


for name_, case_ in CASES.items():
    setattr(RandomLayers, f"test_{name_.replace(' ', '_')}", case(*case_))

if __name__ == "__main__":
    results.main()
