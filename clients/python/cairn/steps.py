"""An own train_step or compute_loss of the script's model.

Its Python code runs once on symbolic tensors (tracing.py). What it derives the gradients of is the loss
of the job, and what it gives to metrics that are means are metrics of the job.
"""

import contextlib

import keras
from keras.src.optimizers.base_optimizer import BaseOptimizer
from keras.src.trainers import compile_utils

from cairn.errors import NotSupported
from cairn.structure import AsksForTraining, Training
from cairn.tracing import patched

_OWN = ("train_step", "compute_loss")


def step_of(model):
    """The Step of a model, None if it has Keras's."""
    return Step(model) if any(map(lambda method: _has_own(model, method), _OWN)) else None


def _has_own(model, method):
    return getattr(type(model), method) is not getattr(keras.Model, method)


class _Gradient:
    """Of a loss by a weight."""

    def __init__(self, loss, weight):
        self.loss, self.weight = loss, weight

    def _fails(self, *_, **__):
        raise NotSupported("it computes with gradients: a job applies those of its loss as they are; use "
                           "clipnorm, clipvalue and global_clipnorm of the optimizer")

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __neg__ = \
        __array__ = __tf_tensor__ = _fails


class _Tape:
    """Stands for TensorFlow's GradientTape."""

    def __init__(self, *_, **__):
        pass

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def watch(self, _):
        pass

    def gradient(self, target, sources, *_, **__):
        return keras.tree.map_structure(lambda each: _Gradient(target, each), sources)


class _Result:
    """What a metric's result stands for."""

    def __init__(self, metric):
        self.metric = metric


class Step:
    """Records what a step computes."""

    def __init__(self, model):
        self.model = model
        self.has_train_step = _has_own(model, "train_step")
        self.takes_inputs = False  # train_step gets the inputs only, not (x, y).
        self._applied = []  # The gradients and weights of each update.
        self._values = {}  # By id of a metric: the symbolic values that update it.
        self._computed = []  # What compute_loss has returned.
        self._has_read_losses = False
        self._asks_for_training = False  # compute_loss has a condition on it.
        self._updates_compiled = not self.has_train_step

    @property
    def updates_compiled(self):
        """True if the metrics of compile are updated."""
        return self._updates_compiled

    def why_no_validation(self):
        """Why Keras's validation computes something else than the training; empty if it does not."""
        if self._asks_for_training:
            return (f"compute_loss of {type(self.model).__name__} has a condition on training, and its "
                    f"validation and evaluate compute another loss")
        if not self.has_train_step or any(each is self._loss() for each in self._computed):
            return ""
        return (f"{type(self.model).__name__} has its own train_step, and its validation and evaluate "
                f"compute another loss: let train_step call self.compute_loss")

    def trace(self, trace, x, y, y_pred, penalties):
        """(loss, {name in reports: value}): symbolic; None for the value that is the loss of the job.

        x, y, y_pred: as the script's model takes and returns them; y may be None. penalties: of add_loss,
        also of layers that the step calls.
        """
        what = "train_step" if self.has_train_step else "compute_loss"
        try:
            with self._recorded(), trace.recording():
                if self.has_train_step:
                    results = self.model.train_step(
                        x if self.takes_inputs else keras.utils.pack_x_y_sample_weight(x, y))
                else:
                    self.model._compute_loss(x=x, y=y, y_pred=y_pred, training=True)
                    results = {each.name: _Result(each) for each in self.model.metrics
                               if id(each) in self._values}
                    results["loss"] = self._loss()
        except NotSupported as error:
            raise NotSupported(f"{what} of {type(self.model).__name__}: {error}") from error
        except Exception as error:
            raise NotSupported(f"{what} of {type(self.model).__name__} does not work with symbolic "
                               f"tensors, which stand for any batch: {error}") from error
        loss = self._loss()
        if not keras.backend.is_keras_tensor(loss):
            raise NotSupported(f"{what} of {type(self.model).__name__}: its loss does not depend on the "
                               f"model's weights")
        has_losses = penalties or \
            any(each.regularizer is not None for each in self.model.trainable_weights) or \
            any(each.activity_regularizer is not None for each in self.model._flatten_layers())
        if has_losses and not self._has_read_losses:
            raise NotSupported(f"{what} of {type(self.model).__name__} leaves out the losses of layers "
                               f"(self.losses: of regularizers and add_loss), and a job has them")
        return loss, self._reports(what, results, loss)

    def _loss(self):
        if not self.has_train_step:
            return self._computed[-1]
        if len(self._applied) != 1:
            raise NotSupported(f"train_step applies gradients {len(self._applied)} times: a job does so "
                               f"once in each update")
        [gradients] = self._applied
        losses = {id(each.loss): each.loss for each, _ in gradients}
        if len(losses) != 1 or any(each.weight is not weight for each, weight in gradients):
            raise NotSupported("train_step applies other gradients than those of one loss")
        if {id(weight) for _, weight in gradients} != set(map(id, self.model.trainable_weights)):
            raise NotSupported("train_step trains some of the model's trainable weights only: set "
                               "trainable=False of the layers of others")
        return next(iter(losses.values()))

    def _reports(self, what, results, loss):
        reports = {}
        for name, value in (results or {}).items():
            if isinstance(value, dict):
                continue  # The metrics of compile.
            if isinstance(value, _Result):
                values = self._values.get(id(value.metric), [])
                if len(values) != 1:
                    raise NotSupported(f"{what} updates metric {value.metric.name} {len(values)} times")
                [value] = values
            if not keras.backend.is_keras_tensor(value):
                raise NotSupported(f"{what} returns {name}, which does not depend on the batch")
            reports[name] = None if value is loss and not loss.shape else value
        return reports

    @contextlib.contextmanager
    def _recorded(self):
        step, metrics = self, keras.metrics

        def update(metric, values, sample_weight=None):
            if sample_weight is not None:
                raise NotSupported(f"metric {metric.name} is updated with a sample_weight: multiply its "
                                   f"values")
            step._values.setdefault(id(metric), []).append(values)

        def update_compiled(*_, **__):
            step._updates_compiled = True

        def apply(optimizer, gradients, weights=None):
            if optimizer is not step.model.optimizer:
                raise NotSupported("it has several optimizers, and a job of a Keras model has that of "
                                   "compile: give the job file models and objectives")
            gradients = list(gradients)
            weights = step.model.trainable_weights if weights is None else list(weights)
            if not all(isinstance(each, _Gradient) for each in gradients):
                raise NotSupported("it applies something else than what a GradientTape has returned")
            step._applied.append(list(zip(gradients, weights)))

        def apply_pairs(optimizer, pairs):
            apply(optimizer, *zip(*pairs))

        def losses(_):
            step._has_read_losses = True
            return []  # The job has them.

        kind = type(self.model)
        compute = kind.compute_loss

        def compute_loss(model, *args, **kwargs):
            before = {key: list(values) for key, values in step._values.items()}
            asking = {"training": Training(model)} if kwargs.get("training") is True else {}
            try:
                loss = compute(model, *args, **{**kwargs, **asking})
            except AsksForTraining:
                step._values, step._asks_for_training = before, True
                loss = compute(model, *args, **kwargs)
            step._computed.append(loss)
            return loss

        with contextlib.ExitStack() as stack:
            for owner, name, value in (
                    (metrics.Mean, "update_state", update),
                    (metrics.Mean, "result", lambda metric: _Result(metric)),
                    (compile_utils.CompileMetrics, "update_state", update_compiled),
                    (compile_utils.CompileMetrics, "result", lambda _: {}),
                    (BaseOptimizer, "apply", apply), (BaseOptimizer, "apply_gradients", apply_pairs),
                    (keras.Layer, "losses", property(losses)), (kind, "compute_loss", compute_loss)):
                stack.enter_context(patched(owner, name, value))
            if keras.backend.backend() == "tensorflow":
                import tensorflow
                stack.enter_context(patched(tensorflow, "GradientTape", _Tape))
            yield
