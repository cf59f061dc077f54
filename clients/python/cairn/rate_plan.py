"""Learning rates that a callback of the script sets for each batch, as a one-cycle policy does.

The job is ahead of the callbacks, so a copy of such a callback runs before the job: once with losses
that fall, and once with losses that rise. If it sets the same rates both times they are the job's
schedule, and the callback itself is compared with them when it sees the batches.
"""

import contextlib
import copy
import dis
import inspect
import io
import itertools
import operator
import types

import keras

from cairn.callbacks import TRAIN_BATCHES, Hook, rate_of, results_set_rate
from cairn.errors import NotSupported
from cairn.optimizer_state import optimizer_of

_MOST_RATES = 100_000
_RATES = {"learning_rate", "_learning_rate", "lr"}
_SETTERS = {"assign", "assign_add", "assign_sub", "set_value", "setattr"}


class _Logs(dict):
    """Has the same value for each name."""

    def __init__(self, value):
        super().__init__(loss=value)
        self._value = value

    def __missing__(self, key):
        return self._value

    def get(self, key, default=None):
        return self[key]


def _falling(batch):
    return 1 / (1 + batch)


def _rising(batch):
    return 2 - 1 / (1 + batch)  # Less than twice the first: a callback may stop where losses explode.


def planned_rates(callbacks, hooks, model, epochs, steps):
    """The rate of each update if a callback sets those of batches; else empty.

    hooks: the callbacks that run here; the one that sets the rates learns that the job has them.
    epochs: a range. steps: of an epoch.
    """
    hooks = [hook for hook in hooks if isinstance(hook, Hook)]
    setters = [hook for hook in hooks if hook.sees_batches and
               _sets_rate(hook.callback, TRAIN_BATCHES)]
    if not setters:
        return []
    hook = setters[0]
    what = f"callback {type(hook.callback).__name__} sets the optimizer's learning rate"
    updates = len(epochs) * steps
    if updates > _MOST_RATES:
        raise NotSupported(f"{what} of each of {updates} updates: at most {_MOST_RATES}; use a schedule of "
                           f"keras.optimizers.schedules, or fit several times")
    falling, rising = (_foreseen(hook.callback, model, epochs, steps, loss)
                       for loss in (_falling, _rising))
    if falling is None and rising is None:
        return []  # It sets those of epochs.
    hook.has_planned_rates = True
    if falling is None or rising is None or any(map(operator.ne, falling, rising)):
        raise NotSupported(results_set_rate([hook]))
    others = [each.callback for each in [*setters[1:], *hooks] if each is not hook and
              _sets_rate(each.callback)]
    others += [each for each in callbacks if type(each) in (
        keras.callbacks.LearningRateScheduler, keras.callbacks.ReduceLROnPlateau)]
    if others:
        raise NotSupported(f"{what}, which {type(others[0]).__name__} sets: use one of them")
    if optimizer_of(model).gradient_accumulation_steps:
        raise NotSupported(f"{what} of a batch, and the optimizer has gradient_accumulation_steps: set it in "
                           f"on_epoch_begin or on_epoch_end")
    return max(falling, rising, key=len)


def _foreseen(callback, model, epochs, steps, loss):
    """The rates of the updates, until the callback stops the training; None if it sets none of a batch.

    loss: a function of the number of updates.
    """
    optimizer = optimizer_of(model)
    rate, iterations, weights = rate_of(model), int(optimizer._iterations), model.get_weights()
    double = _copy(callback)
    rates, is_of_batch = [], False
    model.stop_training = False
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            double.set_params({"epochs": epochs.stop, "steps": steps, "verbose": 0})
            double.set_model(model)
            double.on_train_begin({})
            for epoch, batch in itertools.product(epochs, range(steps)):
                if batch == 0:
                    double.on_epoch_begin(epoch, {})
                before = rate_of(model)
                double.on_train_batch_begin(batch, {})
                rates.append(rate_of(model))
                optimizer._iterations.assign(iterations + len(rates))
                double.on_train_batch_end(batch, _Logs(loss(len(rates))))
                is_of_batch = is_of_batch or not before == rates[-1] == rate_of(model)
                if batch == steps - 1 and not model.stop_training:
                    double.on_epoch_end(epoch, _Logs(loss(len(rates))))
                if model.stop_training:
                    break
    finally:
        model.stop_training = False
        model.set_weights(weights)
        optimizer._iterations.assign(iterations)
        if rate_of(model) != rate:
            optimizer.learning_rate = rate
    return rates if is_of_batch else None


def _copy(callback):
    """A copy with the same model, and what else belongs to Keras."""
    shared = {id(each): each for each in vars(callback).values()
              if isinstance(each, (keras.Model, keras.Layer, keras.optimizers.Optimizer))}
    try:
        return copy.deepcopy(callback, shared)
    except Exception as error:
        raise NotSupported(f"callback {type(callback).__name__} sets the optimizer's learning rate of a "
                           f"batch, and has no copy, which would tell the rates before the job: "
                           f"{error}") from error


def _sets_rate(callback, methods=None):
    """True if code of the script that these methods of the callback may call sets a learning rate.

    methods: their names; None: all.
    """
    classes = itertools.takewhile(lambda each: each.__module__.split(".")[0] != "keras",
                                  type(callback).__mro__)
    functions = {}  # By name; those of several classes.
    for owner in [*classes, callback]:
        for name, value in vars(owner).items():
            functions.setdefault(name, []).append(value)
    open_ = [each for name, values in functions.items() if methods is None or name in methods
             for each in values]
    seen = set()
    while open_:
        function = inspect.unwrap(getattr(open_[-1], "__func__", open_[-1]))
        open_.pop()
        if not isinstance(function, types.FunctionType) or function in seen or \
                function.__module__.split(".")[0] in ("keras", "tensorflow", "numpy"):
            continue
        seen.add(function)
        used, sets = _read(function)
        if sets:
            return True
        for name in used:
            open_ += functions.get(name, [])
            if name in function.__globals__:
                open_.append(function.__globals__[name])
    return False


def _read(function):
    """(the names that the function uses, whether it sets a learning rate itself)"""
    used, sets = set(), False
    for code in _codes(function.__code__):
        instructions = list(dis.get_instructions(code))
        sets = sets or any(each.opname == "STORE_ATTR" and each.argval in _RATES and not _is_self(before)
                           for before, each in zip(instructions, instructions[1:]))
        used.update(code.co_names, (each for each in code.co_consts if isinstance(each, str)))
    return used, sets or bool(used & _RATES and used & _SETTERS)


def _is_self(instruction):
    """True if it loads `self`: the attribute that is set then is the callback's own."""
    values = instruction.argval if isinstance(instruction.argval, tuple) else (instruction.argval,)
    return instruction.opname.startswith("LOAD_FAST") and values[-1] == "self"


def _codes(code):
    yield code
    for each in code.co_consts:
        if isinstance(each, types.CodeType):
            yield from _codes(each)
