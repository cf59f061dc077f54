"""Callbacks of the script. They run in this process, at the ends of the job's epochs.

The job goes on meanwhile. Before the callbacks see the end of an epoch, the model gets the weights of
that epoch, from its checkpoint. If a callback sets the learning rate of an epoch, another job continues
from this checkpoint with that rate. Rates of batches are known before the job (rate_plan.py).
"""

import contextlib
import math

import keras
import numpy as np
from keras.src.callbacks.monitor_callback import MonitorCallback

from cairn.errors import NotSupported
from cairn.optimizer_state import optimizer_of

TRAIN_BATCHES = ("on_train_batch_begin", "on_train_batch_end", "on_batch_begin", "on_batch_end")
_BEFORE_EPOCHS = ("on_train_begin", "on_epoch_begin", "on_epoch_end")
_TEST_BATCHES = ("on_test_batch_begin", "on_test_batch_end")
# They have methods for batches, which do nothing if their files are written at the ends of epochs.
_FOR_EPOCHS = (keras.callbacks.TensorBoard, keras.callbacks.ModelCheckpoint)
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


def _is_of_script(callback, method):
    """True if the method is no code of Keras."""
    return method in vars(callback) or \
        getattr(type(callback), method).__module__.split(".")[0] != "keras"


def is_own(callback):
    """True if its class is not Keras's."""
    return type(callback).__module__.split(".")[0] != "keras"


def may_set_rate(callback):
    """True if it has code of the script that runs before an epoch."""
    return (is_own(callback) or isinstance(callback, keras.callbacks.LambdaCallback)) and \
        _overrides(callback, *_BEFORE_EPOCHS)


def keep_rate(callbacks, why):
    """None of the callbacks may set the learning rate, for a reason; empty: they may."""
    for callback in callbacks:
        callback.keeps_rate = why


def sees_batches(callback):
    """True if it has code for the batches of a training."""
    return _overrides(callback, *TRAIN_BATCHES) and not isinstance(callback, _FOR_EPOCHS)


class _Around(keras.callbacks.Callback):
    """Runs another callback, which has the same model and parameters."""

    def __init__(self, callback):
        super().__init__()
        self.callback = callback

    def set_params(self, params):
        super().set_params(params)
        self.callback.set_params(params)

    def set_model(self, model):
        super().set_model(model)
        self.callback.set_model(model)


class Hook(_Around):
    """Runs one callback, and raises if it changes what the job has: the weights, or the learning rate
    elsewhere than at the begin or end of an epoch.

    keeps_rate: why it must not set the learning rate; empty: it may.
    has_set_rate: it has set it since this was False.
    has_planned_rates: the job has the rates that it sets.
    """

    def __init__(self, callback):
        super().__init__(callback)
        self.keeps_rate = ""
        self.has_set_rate = False
        self.has_planned_rates = False
        name = type(callback).__name__
        if any(_is_of_script(callback, method) for method in _TEST_BATCHES):
            raise NotSupported(f"callback {name}: on_test_batch_begin and on_test_batch_end are not "
                               f"supported: the batches of a validation are not observed")
        self.sees_batches = sees_batches(callback)

    @property
    def needs_metrics(self):
        """It asks Keras's metrics whether more is better."""
        callback = self.callback
        return isinstance(callback, MonitorCallback) and callback.mode == "auto" and \
            callback.monitor.removeprefix("val_") != "loss"

    def call(self, method, *arguments):
        rate = rate_of(self.model)
        getattr(self.callback, method)(*arguments)
        if self.has_planned_rates or rate_of(self.model) == rate:
            return
        what = f"callback {type(self.callback).__name__} sets the optimizer's learning rate"
        if method not in _BEFORE_EPOCHS:
            raise NotSupported(f"{what} in {method}: the job is ahead of it; set it in on_epoch_begin or "
                               f"on_epoch_end, or use a schedule of keras.optimizers.schedules")
        if self.keeps_rate:
            raise NotSupported(f"{what}, {self.keeps_rate}")
        self.has_set_rate = True

    def on_train_begin(self, logs=None):
        with _same_weights([self], "on_train_begin"):
            self.call("on_train_begin", logs)

    def on_train_end(self, logs=None):
        self.callback.on_train_end(logs)

    def on_epoch_begin(self, epoch, logs=None):
        with _same_weights([self], "on_epoch_begin"):
            self.call("on_epoch_begin", epoch, logs)

    def on_epoch_end(self, epoch, logs=None):
        with _same_weights([self], "on_epoch_end"):
            self.call("on_epoch_end", epoch, logs)

    def validated(self, logs):
        if logs:
            self.callback.on_test_begin()
            self.callback.on_test_end(logs)


@contextlib.contextmanager
def _same_weights(hooks, *methods):
    """Raises if the callbacks, in these methods, have changed the model's weights."""
    hooks = [hook for hook in hooks if _overrides(hook.callback, *methods)]
    if not hooks:
        yield
        return
    model = hooks[0].model
    weights = [weight.numpy() for weight in model.weights]
    yield
    if model.stop_training and ("on_epoch_end" in methods or methods == TRAIN_BATCHES):
        return
    for weight, before in zip(model.weights, weights):
        if not np.array_equal(weight.numpy(), before, equal_nan=True):
            names = " or ".join(type(hook.callback).__name__ for hook in hooks)
            raise NotSupported(f"callback {names} sets the model's weights, which are on the cluster "
                               f"until the training ends")


def replay(hooks, batches, rates):
    """Shows the callbacks the batches of an epoch, at its end, until one of them stops the training.

    batches: their logs. rates: those of their updates if a callback sets them, else empty.
    """
    hooks = [hook for hook in hooks if hook.sees_batches]
    if not hooks:
        return
    model = hooks[0].model
    iterations = int(optimizer_of(model)._iterations)
    of_update = optimizer_of(model).gradient_accumulation_steps or 1
    with _same_weights(hooks, *TRAIN_BATCHES):
        for batch, logs in enumerate(batches):
            optimizer_of(model)._iterations.assign(iterations - (len(batches) - batch) * of_update)
            for hook in hooks:
                hook.call("on_train_batch_begin", batch, {})
            if batch < len(rates) and rate_of(model) != rates[batch]:
                raise NotSupported(f"{results_set_rate(hooks)} (here {rate_of(model):g} for batch {batch}, "
                                   f"and {rates[batch]:g} before the job)")
            optimizer_of(model)._iterations.assign(iterations - (len(batches) - batch - 1) * of_update)
            for hook in hooks:
                hook.call("on_train_batch_end", batch, logs)
            if model.stop_training:
                break
    optimizer_of(model)._iterations.assign(iterations)


def results_set_rate(hooks):
    """Why the job cannot have the rates of batches: part of an error."""
    name = next(type(hook.callback).__name__ for hook in hooks if hook.has_planned_rates)
    return (f"callback {name} sets the optimizer's learning rate of a batch, and it depends on the results "
            f"of other batches or on chance: the job is ahead of it; set it in on_epoch_begin or "
            f"on_epoch_end")


class Beside(_Around):
    """Runs a callback of Keras beside the job's own, so that it has its results."""

    rate = None  # Of the epoch in the job.

    def on_train_begin(self, logs=None):
        self.callback.on_train_begin(logs)


class Plateau(Beside):
    """A ReduceLROnPlateau: the optimizer has the rate that it sets at the end of the last epoch."""

    def on_epoch_end(self, epoch, logs=None):
        if rate_of(self.model) != self.rate:
            optimizer_of(self.model).learning_rate = self.rate
        self.callback.on_epoch_end(epoch, logs)


class Stopping(Beside):
    """An EarlyStopping: the job ends, and has the weights of its best epoch."""

    def on_epoch_end(self, epoch, logs=None):
        stops = self.model.stop_training
        restores, self.callback.restore_best_weights = self.callback.restore_best_weights, False
        self.callback.on_epoch_end(epoch, logs)
        self.callback.restore_best_weights = restores
        self.model.stop_training = stops

    def on_train_end(self, logs=None):
        self.callback.on_train_end(logs)


def rate_of(model):
    """The optimizer's learning rate: a number, or a schedule."""
    schedule = optimizer_of(model)._learning_rate
    if isinstance(schedule, keras.optimizers.schedules.LearningRateSchedule):
        return schedule
    return float(optimizer_of(model).learning_rate)


def checkpoints_to_keep(model, epochs):
    """The number of checkpoints that the job keeps, for callbacks that are slower than its epochs."""
    size = 4 * sum(math.prod(weight.shape) for weight in model.weights)
    return max(3, min(epochs, _MOST_CHECKPOINTS, _MOST_BYTES // max(1, 3 * size)))
