"""Random choices of a case: numbers, and arguments that many layers take."""

import keras
import numpy as np

INITIALIZERS = ["glorot_uniform", "he_normal", "lecun_uniform", "random_normal", "orthogonal"]


class Draw:
    """Random choices of a case."""

    def __init__(self, seed):
        self.random = np.random.default_rng(seed)

    def of(self, *choices):
        return choices[int(self.random.integers(len(choices)))]

    def between(self, low, high):
        return int(self.random.integers(low, high + 1))

    def number(self, low, high):
        return round(float(self.random.uniform(low, high)), 3)

    def yes(self):
        return bool(self.random.integers(2))

    def seed(self):
        return int(self.random.integers(1 << 30))

    def initializer(self):
        name = self.of(*INITIALIZERS)
        kind = type(keras.initializers.get(name))
        return kind(seed=self.seed())

    def regularizer(self):
        return self.of(None, keras.regularizers.L1(self.number(0.001, 0.02)),
                       keras.regularizers.L2(self.number(0.001, 0.02)),
                       keras.regularizers.L1L2(self.number(0.001, 0.01),
                                               self.number(0.001, 0.01)))

    def constraint(self):
        axis = self.of(0, 0, -1, None)
        return self.of(None, None, keras.constraints.NonNeg(),
                       keras.constraints.MaxNorm(self.number(0.2, 2), axis=axis),
                       keras.constraints.UnitNorm(axis=axis),
                       keras.constraints.MinMaxNorm(
                           self.number(0.1, 0.5), self.number(0.5, 1), self.number(0.3, 1), axis))

    def kernel(self, name="kernel"):
        """Arguments of a layer with a kernel and a bias."""
        use_bias = self.yes()
        arguments = {"use_bias": use_bias, f"{name}_initializer": self.initializer(),
                     f"{name}_regularizer": self.regularizer(),
                     f"{name}_constraint": self.constraint()}
        if use_bias:
            arguments["bias_initializer"] = keras.initializers.RandomNormal(seed=self.seed())
            arguments["bias_regularizer"] = self.regularizer()
            arguments["bias_constraint"] = self.constraint()
        return arguments
