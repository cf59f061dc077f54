"""Random losses, metrics, optimizers, schedules and callbacks, on small models."""

import keras
import numpy as np
from keras import layers as L

CLASSES = 4


def sparse_labels(draw, count):
    return draw.random.integers(0, CLASSES, count).astype("int32")


def one_hot_labels(draw, count):
    return np.eye(CLASSES, dtype="float32")[sparse_labels(draw, count)]


def binary_labels(draw, count):
    return draw.random.integers(0, 2, (count, 3)).astype("float32")


def real_labels(draw, count):
    return draw.random.normal(0, 1, (count, 3)).astype("float32")


def positive_labels(draw, count):
    return draw.random.uniform(0.1, 2, (count, 3)).astype("float32")


def sign_labels(draw, count):
    return 2 * binary_labels(draw, count) - 1


def distribution_labels(draw, count):
    labels = draw.random.uniform(0.1, 1, (count, CLASSES))
    return (labels / labels.sum(1, keepdims=True)).astype("float32")


def network(draw, activation, outputs=3, initializer=None):
    return keras.Sequential([
        keras.Input((6,)),
        L.Dense(8, activation="tanh", kernel_initializer=keras.initializers.GlorotUniform(
            seed=draw.seed())),
        L.Dense(outputs, activation=activation, kernel_initializer=initializer or
                keras.initializers.GlorotUniform(seed=draw.seed()))])


def _logits(draw, activation):
    """(the output's activation, from_logits)."""
    return ("linear", True) if draw.yes() else (activation, False)


def _crossentropy(kind, activation, labels, outputs):
    def build(draw):
        function, from_logits = _logits(draw, activation)
        arguments = {"from_logits": from_logits}
        if kind is not keras.losses.SparseCategoricalCrossentropy and draw.yes():
            arguments["label_smoothing"] = draw.number(0, 0.3)
        return network(draw, function, outputs), kind(**arguments), labels
    return build


def _of_large_logits(kind, activation, labels, outputs):
    """Keras takes the logits of either activation. They are so large that many outputs are 0 or 1."""
    def build(draw):
        initializer = keras.initializers.RandomUniform(-100, 100, seed=draw.seed())
        return (network(draw, activation, outputs, initializer),
                kind(from_logits=draw.yes(), label_smoothing=draw.of(0.0, draw.number(0, 0.3))),
                labels)
    return build


def _plain(kind, activation, labels, outputs=3):
    return lambda draw: (network(draw, activation, outputs), kind(), labels)


def _focal(kind, activation, labels, outputs):
    def build(draw):
        function, from_logits = _logits(draw, activation)
        arguments = {"from_logits": from_logits, "alpha": draw.number(0.1, 0.9),
                     "gamma": draw.of(2.0, draw.number(0.5, 4)),
                     "label_smoothing": draw.of(0.0, draw.number(0, 0.3))}
        if kind is keras.losses.BinaryFocalCrossentropy:
            arguments["apply_class_balancing"] = draw.yes()
        return network(draw, function, outputs), kind(**arguments), labels
    return build


def _axis(draw):
    return draw.of(None, 0, 1, -1, [0, 1])


def _ignoring(draw):
    function, from_logits = _logits(draw, "softmax")
    loss = keras.losses.SparseCategoricalCrossentropy(
        from_logits=from_logits, ignore_class=draw.between(0, CLASSES - 1))
    return network(draw, function, CLASSES), loss, sparse_labels


# loss: draw -> (model, loss, labels)
LOSSES = {
    "SparseCategoricalCrossentropy": _crossentropy(keras.losses.SparseCategoricalCrossentropy,
                                                   "softmax", sparse_labels, CLASSES),
    "CategoricalCrossentropy": _crossentropy(keras.losses.CategoricalCrossentropy, "softmax",
                                             one_hot_labels, CLASSES),
    "BinaryCrossentropy": _crossentropy(keras.losses.BinaryCrossentropy, "sigmoid", binary_labels,
                                        3),
    "MeanSquaredError": _plain(keras.losses.MeanSquaredError, "linear", real_labels),
    "MeanAbsoluteError": _plain(keras.losses.MeanAbsoluteError, "linear", real_labels),
    "MeanAbsolutePercentageError": _plain(keras.losses.MeanAbsolutePercentageError, "linear",
                                          positive_labels),
    "MeanSquaredLogarithmicError": _plain(keras.losses.MeanSquaredLogarithmicError, "softplus",
                                          positive_labels),
    "Huber": lambda draw: (network(draw, "linear"), keras.losses.Huber(draw.number(0.2, 2)),
                           real_labels),
    "LogCosh": _plain(keras.losses.LogCosh, "linear", real_labels),
    "Poisson": _plain(keras.losses.Poisson, "softplus", positive_labels),
    "Hinge": _plain(keras.losses.Hinge, "linear", sign_labels),
    "Hinge of 0 and 1": _plain(keras.losses.Hinge, "linear", binary_labels),
    "SquaredHinge": _plain(keras.losses.SquaredHinge, "linear", sign_labels),
    "CategoricalHinge": _plain(keras.losses.CategoricalHinge, "linear", one_hot_labels, CLASSES),
    "KLDivergence": _plain(keras.losses.KLDivergence, "softmax", distribution_labels, CLASSES),
    "CosineSimilarity": _plain(keras.losses.CosineSimilarity, "linear", real_labels),
    "CategoricalFocalCrossentropy": _focal(keras.losses.CategoricalFocalCrossentropy, "softmax",
                                           one_hot_labels, CLASSES),
    "BinaryFocalCrossentropy": _focal(keras.losses.BinaryFocalCrossentropy, "sigmoid",
                                      binary_labels, 3),
    "CategoricalGeneralizedCrossEntropy": lambda draw: (
        network(draw, "softmax", CLASSES),
        keras.losses.CategoricalGeneralizedCrossEntropy(draw.number(0.1, 0.9)), sparse_labels),
    "Dice": lambda draw: (network(draw, "sigmoid"), keras.losses.Dice(axis=_axis(draw)),
                          binary_labels),
    "Tversky": lambda draw: (
        network(draw, "sigmoid"), keras.losses.Tversky(
            draw.number(0.1, 0.9), draw.number(0.1, 0.9), axis=_axis(draw)), binary_labels),
    "Circle": lambda draw: (
        network(draw, "tanh"), keras.losses.Circle(draw.number(1, 4), draw.number(0.1, 0.6)),
        sparse_labels),
    "SparseCategoricalCrossentropy with ignore_class": _ignoring,
    "mean_with_sample_weight": lambda draw: (
        network(draw, "linear"), keras.losses.MeanSquaredError(reduction="mean_with_sample_weight"),
        real_labels),
    "sum": lambda draw: draw.of(
        (network(draw, "linear"), keras.losses.MeanSquaredError(reduction="sum"), real_labels),
        (network(draw, "softmax", CLASSES),
         keras.losses.SparseCategoricalCrossentropy(reduction="sum"), sparse_labels)),
}

OF_LARGE_LOGITS = {
    "CategoricalCrossentropy of a sigmoid": _of_large_logits(
        keras.losses.CategoricalCrossentropy, "sigmoid", one_hot_labels, CLASSES),
    "BinaryCrossentropy of a softmax": _of_large_logits(
        keras.losses.BinaryCrossentropy, "softmax", binary_labels, 3),
    "CategoricalCrossentropy of a certain softmax": _of_large_logits(
        keras.losses.CategoricalCrossentropy, "softmax", one_hot_labels, CLASSES),
    "BinaryCrossentropy of a certain sigmoid": _of_large_logits(
        keras.losses.BinaryCrossentropy, "sigmoid", binary_labels, 3),
    "BinaryFocalCrossentropy of a certain sigmoid": lambda draw: (
        network(draw, "sigmoid", 3, keras.initializers.RandomUniform(-100, 100, seed=draw.seed())),
        # Keras takes powers of what rounding may make negative.
        keras.losses.BinaryFocalCrossentropy(gamma=draw.of(2.0, 3.0)), binary_labels),
}
LOSSES.update(OF_LARGE_LOGITS)

M = keras.metrics
_BINARY = ("sigmoid", "binary_crossentropy", binary_labels, 3)
_ONE_HOT = ("softmax", "categorical_crossentropy", one_hot_labels, CLASSES)
_SPARSE = ("softmax", "sparse_categorical_crossentropy", sparse_labels, CLASSES)
_REAL = ("softplus", "mse", positive_labels, 3)


def _confusion(draw):
    """Arguments of precision and recall for one-hot labels."""
    arguments = {"thresholds": draw.of(None, draw.number(0.1, 0.6))}
    if draw.yes():
        arguments["top_k"] = draw.between(1, CLASSES)
    if draw.yes():
        arguments["class_id"] = draw.between(0, CLASSES - 1)
    return arguments


def _rate(draw):
    return {"num_thresholds": draw.between(3, 300), "class_id": draw.of(None, 1)}


# metric: (setting, draw -> metric)
METRICS = {
    "accuracy, sparse": (_SPARSE, lambda draw: "accuracy"),
    "accuracy, one-hot": (_ONE_HOT, lambda draw: "acc"),
    "accuracy, binary": (_BINARY[:3] + (1,), lambda draw: "accuracy"),
    "SparseCategoricalAccuracy": (_SPARSE, lambda draw: M.SparseCategoricalAccuracy(name="sca")),
    "SparseTopKCategoricalAccuracy": (_SPARSE, lambda draw: M.SparseTopKCategoricalAccuracy(
        k=draw.between(1, CLASSES))),
    "CategoricalAccuracy": (_ONE_HOT, lambda draw: M.CategoricalAccuracy()),
    "TopKCategoricalAccuracy": (_ONE_HOT, lambda draw: M.TopKCategoricalAccuracy(
        k=draw.between(1, CLASSES))),
    "BinaryAccuracy": (_BINARY, lambda draw: M.BinaryAccuracy(threshold=draw.number(0.3, 0.7))),
    "Precision": (_ONE_HOT, lambda draw: M.Precision(**_confusion(draw))),
    "Recall": (_ONE_HOT, lambda draw: M.Recall(**_confusion(draw))),
    "TruePositives": (_BINARY, lambda draw: M.TruePositives(thresholds=draw.number(0.3, 0.7))),
    "FalsePositives": (_BINARY, lambda draw: M.FalsePositives(thresholds=draw.number(0.3, 0.7))),
    "TrueNegatives": (_BINARY, lambda draw: M.TrueNegatives(thresholds=draw.number(0.3, 0.7))),
    "FalseNegatives": (_BINARY, lambda draw: M.FalseNegatives(thresholds=draw.number(0.3, 0.7))),
    "AUC": (_BINARY, lambda draw: M.AUC(
        num_thresholds=draw.of(200, draw.between(3, 300)), curve=draw.of("ROC", "PR"),
        summation_method=draw.of("interpolation", "minoring", "majoring"))),
    "AUC of logits": (("linear",) + (keras.losses.BinaryCrossentropy(from_logits=True),) +
                      _BINARY[2:], lambda draw: M.AUC(from_logits=True)),
    "MeanIoU, one-hot": (_ONE_HOT, lambda draw: M.MeanIoU(
        CLASSES, sparse_y_true=False, sparse_y_pred=False)),
    "MeanIoU, sparse": (_SPARSE, lambda draw: M.MeanIoU(CLASSES, sparse_y_pred=False)),
    "IoU, one-hot": (_ONE_HOT, lambda draw: M.IoU(
        CLASSES, [0, draw.between(1, 3)], sparse_y_true=False, sparse_y_pred=False)),
    "IoU, sparse": (_SPARSE, lambda draw: M.IoU(CLASSES, [draw.between(0, 3)],
                                                sparse_y_pred=False)),
    "OneHotIoU": (_ONE_HOT, lambda draw: M.OneHotIoU(CLASSES, [1, 2])),
    "OneHotMeanIoU": (_ONE_HOT, lambda draw: M.OneHotMeanIoU(CLASSES)),
    "BinaryIoU": (_BINARY, lambda draw: M.BinaryIoU(
        draw.of([0, 1], [0], [1]), threshold=draw.number(0.3, 0.7))),
    "F1Score": (_ONE_HOT, lambda draw: M.F1Score(
        draw.of("micro", "macro", "weighted"), threshold=draw.of(None, draw.number(0.1, 0.5)))),
    "FBetaScore": (_BINARY, lambda draw: M.FBetaScore(
        draw.of("micro", "macro", "weighted"), beta=draw.number(0.2, 3),
        threshold=draw.of(None, draw.number(0.3, 0.7)))),
    "R2Score": (_REAL, lambda draw: M.R2Score(
        draw.of("uniform_average", "variance_weighted_average"), draw.of(0, 2))),
    "PearsonCorrelation": (_REAL, lambda draw: M.PearsonCorrelation()),
    "ConcordanceCorrelation": (_REAL, lambda draw: M.ConcordanceCorrelation()),
    "PrecisionAtRecall": (_BINARY, lambda draw: M.PrecisionAtRecall(
        draw.number(0.1, 0.9), **_rate(draw))),
    "RecallAtPrecision": (_BINARY, lambda draw: M.RecallAtPrecision(
        draw.number(0.1, 0.9), **_rate(draw))),
    "SensitivityAtSpecificity": (_BINARY, lambda draw: M.SensitivityAtSpecificity(
        draw.number(0.1, 0.9), **_rate(draw))),
    "SpecificityAtSensitivity": (_BINARY, lambda draw: M.SpecificityAtSensitivity(
        draw.number(0.1, 0.9), **_rate(draw))),
    "RootMeanSquaredError": (_REAL, lambda draw: M.RootMeanSquaredError()),
    "MeanSquaredError": (_REAL, lambda draw: draw.of("mse", M.MeanSquaredError())),
    "MeanAbsoluteError": (_REAL, lambda draw: draw.of("mae", "mean_absolute_error")),
    "MeanAbsolutePercentageError": (_REAL, lambda draw: "mape"),
    "MeanSquaredLogarithmicError": (_REAL, lambda draw: "msle"),
    "LogCoshError": (_REAL, lambda draw: M.LogCoshError()),
    "Poisson": (_REAL, lambda draw: M.Poisson()),
    "Hinge": (_REAL[:2] + (sign_labels, 3), lambda draw: M.Hinge()),
    "SquaredHinge": (_REAL[:2] + (sign_labels, 3), lambda draw: M.SquaredHinge()),
    "CategoricalHinge": (_ONE_HOT, lambda draw: M.CategoricalHinge()),
    "KLDivergence": (_ONE_HOT[:2] + (distribution_labels, CLASSES), lambda draw: M.KLDivergence()),
    "CosineSimilarity": (_REAL, lambda draw: M.CosineSimilarity()),
    "BinaryCrossentropy": (_BINARY, lambda draw: M.BinaryCrossentropy(
        label_smoothing=draw.of(0, 0.1))),
    "CategoricalCrossentropy": (_ONE_HOT, lambda draw: M.CategoricalCrossentropy(
        label_smoothing=draw.of(0, 0.1))),
    "SparseCategoricalCrossentropy": (_SPARSE, lambda draw: M.SparseCategoricalCrossentropy()),
    # The loss does not take the logits, and the metric does.
    "BinaryCrossentropy of a softmax": (("softmax", "mse", binary_labels, 3),
                                        lambda draw: M.BinaryCrossentropy()),
    "CategoricalCrossentropy of a sigmoid": (("sigmoid", "mse", one_hot_labels, CLASSES),
                                             lambda draw: M.CategoricalCrossentropy()),
}

O = keras.optimizers  # noqa: E741


def every_optimizer(draw):
    """Arguments that all optimizers have."""
    arguments = {"learning_rate": draw.number(0.005, 0.05)}
    if draw.yes():
        arguments["weight_decay"] = draw.number(0.001, 0.1)
    clip = draw.of(None, "clipnorm", "clipvalue", "global_clipnorm")
    if clip:
        arguments[clip] = draw.number(0.01, 0.5)
    if draw.yes():
        arguments["use_ema"] = True
        arguments["ema_momentum"] = draw.number(0.5, 0.99)
        arguments["ema_overwrite_frequency"] = draw.of(None, 2, 3)
    return arguments


def _betas(draw):
    return {"beta_1": draw.number(0.5, 0.95), "beta_2": draw.number(0.8, 0.999)}


# optimizer: draw -> its own arguments
OPTIMIZERS = {
    "SGD": lambda draw: {"momentum": draw.of(0.0, draw.number(0.1, 0.9)), "nesterov": draw.yes()},
    "Adam": lambda draw: {**_betas(draw), "epsilon": draw.of(1e-7, 1e-3), "amsgrad": draw.yes()},
    "AdamW": lambda draw: {**_betas(draw), "amsgrad": draw.yes()},
    "Nadam": lambda draw: {**_betas(draw), "epsilon": draw.of(1e-7, 1e-3)},
    "Adamax": lambda draw: {**_betas(draw), "epsilon": draw.of(1e-7, 1e-3)},
    "Adagrad": lambda draw: {"initial_accumulator_value": draw.number(0.01, 0.5),
                             "epsilon": draw.of(1e-7, 1e-3)},
    "Adadelta": lambda draw: {"rho": draw.number(0.5, 0.99), "epsilon": draw.of(1e-7, 1e-3)},
    "RMSprop": lambda draw: {"rho": draw.number(0.5, 0.99), "momentum": draw.of(0.0, 0.5),
                             "epsilon": draw.of(1e-7, 1e-3), "centered": draw.yes()},
    "Ftrl": lambda draw: {"learning_rate_power": draw.number(-0.9, -0.1),
                          "initial_accumulator_value": draw.number(0.01, 0.5),
                          "l1_regularization_strength": draw.of(0.0, 0.01),
                          "l2_regularization_strength": draw.of(0.0, 0.01),
                          "l2_shrinkage_regularization_strength": draw.of(0.0, 0.01),
                          "beta": draw.of(0.0, 0.1)},
    "Lion": _betas,
    "Lamb": lambda draw: {**_betas(draw), "epsilon": draw.of(1e-7, 1e-3)},
}

S = keras.optimizers.schedules
SCHEDULES = {
    "ExponentialDecay": lambda draw: S.ExponentialDecay(
        draw.number(0.05, 0.2), draw.between(1, 5), draw.number(0.3, 0.9), staircase=draw.yes()),
    "InverseTimeDecay": lambda draw: S.InverseTimeDecay(
        draw.number(0.05, 0.2), draw.between(1, 5), draw.number(0.3, 0.9), staircase=draw.yes()),
    "PiecewiseConstantDecay": lambda draw: S.PiecewiseConstantDecay(
        [2, 4], [draw.number(0.05, 0.2) for _ in range(3)]),
    "PolynomialDecay": lambda draw: S.PolynomialDecay(
        draw.number(0.05, 0.2), draw.between(2, 5), draw.number(0.001, 0.05),
        power=draw.number(0.5, 2), cycle=draw.yes()),
    "CosineDecay": lambda draw: S.CosineDecay(
        draw.number(0.05, 0.2), draw.between(2, 8), alpha=draw.number(0, 0.3)),
    "CosineDecay with warmup": lambda draw: S.CosineDecay(
        draw.number(0.01, 0.05), draw.between(2, 8), alpha=draw.number(0, 0.3),
        warmup_target=draw.number(0.05, 0.2), warmup_steps=draw.between(1, 4)),
    "CosineDecayRestarts": lambda draw: S.CosineDecayRestarts(
        draw.number(0.05, 0.2), draw.between(1, 3), t_mul=draw.of(1.0, 1.5, 2.0),
        m_mul=draw.number(0.5, 1), alpha=draw.number(0, 0.3)),
}


def _monitor(draw):
    return draw.of({"monitor": "val_loss"}, {"monitor": "loss"}, {"monitor": "val_mae"},
                   {"monitor": "val_mae", "mode": "max"}, {"monitor": "mae", "mode": "min"})


def _scheduler(draw):
    factor, start = draw.number(0.3, 0.9), draw.number(0.05, 0.3)
    return [draw.of(
        keras.callbacks.LearningRateScheduler(lambda epoch, rate: rate * factor),
        keras.callbacks.LearningRateScheduler(lambda epoch: start if epoch < 3 else start / 2))]


CALLBACKS = {
    "EarlyStopping": lambda draw: [keras.callbacks.EarlyStopping(
        **_monitor(draw), patience=draw.between(0, 3), min_delta=draw.of(0, draw.number(0, 0.05)),
        restore_best_weights=draw.yes(), start_from_epoch=draw.between(0, 3),
        baseline=draw.of(None, draw.number(0.5, 1.5)))],
    "ReduceLROnPlateau": lambda draw: [keras.callbacks.ReduceLROnPlateau(
        **_monitor(draw), patience=draw.between(1, 2), factor=draw.number(0.1, 0.8),
        min_delta=draw.number(0, 0.05), cooldown=draw.between(0, 2),
        min_lr=draw.of(0, 0.01))],
    "LearningRateScheduler": lambda draw: _scheduler(draw),
    "both": lambda draw: [
        keras.callbacks.ReduceLROnPlateau(**_monitor(draw), patience=1, factor=0.5),
        keras.callbacks.EarlyStopping(**_monitor(draw), patience=draw.between(2, 4))],
}
