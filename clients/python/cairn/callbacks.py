"""Callbacks of the script. They run in this process, at the ends of the job's epochs.

The job goes on meanwhile. Before the callbacks see the end of an epoch, the model gets the weights of
that epoch, from its checkpoint. If a callback sets the learning rate, another job continues from this
checkpoint with that rate.
"""

import contextlib
import math

import keras
import numpy as np

from cairn.errors import NotSupported

_TRAIN_BATCHES = ("on_train_batch_begin", "on_train_batch_end", "on_batch_begin", "on_batch_end")
_BEFORE_EPOCHS = ("on_train_begin", "on_epoch_begin", "on_epoch_end")
_TEST_BATCHES = ("on_test_batch_begin", "on_test_batch_end")
# With slots as of Adam, the checkpoints that wait for slow callbacks take at most so many bytes.
_MOST_BYTES = 4 << 30
_MOST_CHECKPOINTS = 1000


class Stopped(Exception):
    """A callback has set stop_training."""


class RateSet(Exception):
    """A callback has set the learning rate of an epoch, and of those behind it."""

    def __init__(self, epoch):
        super().__init__()
        self.epoch = epoch


def _overrides(callback, *methods):
    """True if the callback has one of these methods, by its class or as a LambdaCallback."""
    return any(method in vars(callback) or getattr(type(callback), method) is not
               getattr(keras.callbacks.Callback, method) for method in methods)


def is_own(callback):
    """True if its class is not Keras's."""
    return type(callback).__module__.split(".")[0] != "keras"


def keep_rate(callbacks, why):
    """None of the callbacks may set the learning rate, for a reason; empty: they may."""
    for callback in callbacks:
        callback.keeps_rate = why


class Hook(keras.callbacks.Callback):
    """Runs one callback, and raises if it changes what the job has: the weights, or the learning rate
    elsewhere than at the begin or end of an epoch.

    keeps_rate: why it must not set the learning rate; empty: it may.
    has_set_rate: it has set it since this was False.
    """

    def __init__(self, callback):
        super().__init__()
        self.callback = callback
        self.keeps_rate = ""
        self.has_set_rate = False
        name = type(callback).__name__
        # TensorBoard and ModelCheckpoint have methods for batches, which do nothing if it is for epochs.
        is_for_epochs = isinstance(callback, (keras.callbacks.TensorBoard,
                                              keras.callbacks.ModelCheckpoint))
        if _overrides(callback, *_TEST_BATCHES) and not is_for_epochs:
            raise NotSupported(f"callback {name}: on_test_batch_begin and on_test_batch_end are not "
                               f"supported: the batches of a validation are not observed")
        self._sees_batches = _overrides(callback, *_TRAIN_BATCHES) and not is_for_epochs

    @property
    def may_set_rate(self):
        """It has code of the script that runs before an epoch."""
        return (is_own(self.callback) or isinstance(self.callback, keras.callbacks.LambdaCallback)) and \
            _overrides(self.callback, *_BEFORE_EPOCHS)

    def set_params(self, params):
        super().set_params(params)
        self.callback.set_params(params)

    def set_model(self, model):
        super().set_model(model)
        self.callback.set_model(model)

    def _call(self, method, *arguments):
        rate = _rate(self.model)
        getattr(self.callback, method)(*arguments)
        if _rate(self.model) == rate:
            return
        what = f"callback {type(self.callback).__name__} sets the optimizer's learning rate"
        if method not in _BEFORE_EPOCHS:
            raise NotSupported(f"{what} in {method}: the job is ahead of it; set it in on_epoch_begin or "
                               f"on_epoch_end, or use a schedule of keras.optimizers.schedules")
        if self.keeps_rate:
            raise NotSupported(f"{what}, {self.keeps_rate}")
        self.has_set_rate = True

    @contextlib.contextmanager
    def _same_weights(self, *methods):
        """Raises if the callback, in one of these methods, has changed the model's weights."""
        if not _overrides(self.callback, *methods):
            yield
            return
        weights = [weight.numpy() for weight in self.model.weights]
        yield
        if "on_epoch_end" in methods and self.model.stop_training:
            return
        for weight, before in zip(self.model.weights, weights):
            if not np.array_equal(weight.numpy(), before, equal_nan=True):
                raise NotSupported(f"callback {type(self.callback).__name__} sets the model's "
                                   f"weights, which are on the cluster until the training ends")

    def on_train_begin(self, logs=None):
        with self._same_weights("on_train_begin"):
            self._call("on_train_begin", logs)

    def on_train_end(self, logs=None):
        self.callback.on_train_end(logs)

    def on_epoch_begin(self, epoch, logs=None):
        with self._same_weights("on_epoch_begin"):
            self._call("on_epoch_begin", epoch, logs)

    def on_epoch_end(self, epoch, logs=None):
        with self._same_weights("on_epoch_end"):
            self._call("on_epoch_end", epoch, logs)

    def replay(self, batches):
        """The batches of an epoch, at its end. batches: their logs."""
        if not self._sees_batches:
            return
        with self._same_weights(*_TRAIN_BATCHES):
            for batch, logs in enumerate(batches):
                self._call("on_train_batch_begin", batch, {})
                self._call("on_train_batch_end", batch, logs)

    def validated(self, logs):
        if logs:
            self.callback.on_test_begin()
            self.callback.on_test_end(logs)


class RateLog(keras.callbacks.Callback):
    """Stands for a ReduceLROnPlateau, which the job runs, in the logs of an epoch."""

    rate = None  # Of the epoch.

    def on_epoch_end(self, epoch, logs=None):
        logs["learning_rate"] = self.rate


def _rate(model):
    schedule = model.optimizer._learning_rate
    if isinstance(schedule, keras.optimizers.schedules.LearningRateSchedule):
        return schedule
    return float(model.optimizer.learning_rate)


def checkpoints_to_keep(model, epochs):
    """The number of checkpoints that the job keeps, for callbacks that are slower than its epochs."""
    size = 4 * sum(math.prod(weight.shape) for weight in model.weights)
    return max(3, min(epochs, _MOST_CHECKPOINTS, _MOST_BYTES // max(1, 3 * size)))
