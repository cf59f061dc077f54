"""The losses and metrics of a job: compile's, and what the script computes by functions of its own.

Such a function runs once on symbolic tensors (tracing.py), and the job's model computes it: the labels
are inputs, and its value is an output, whose loss is the mean of the output.
"""

import contextlib
import inspect
import itertools
import math
import typing

import keras
import numpy as np
from keras.src.trainers import compile_utils

from cairn import translation
from cairn.data import as_arrays, shape_of
from cairn.errors import NotSupported
from cairn.tensors import MEAN, SUM

ops = keras.ops
_MEAN_OF_OUTPUT = "wasserstein"  # Of labels that are 1.
_MOST_NUMBERS = 100  # Of a state of a metric.


class _Value(typing.NamedTuple):
    """A number that the job's model computes for each example."""

    output: str  # Of the job's model.
    field: str  # Of compile: "loss", "metrics" or "weighted_metrics".
    weight: float  # In the loss.
    report: str  # What fit calls it; empty: nothing.

    def job_metric(self):
        """The metric that reports it, if it is none of the losses: a loss has the examples' weights."""
        return {"name": _MEAN_OF_OUTPUT, "as": "value"}

    def job_report(self):
        return f"{self.output}_loss" if self.field == "loss" else f"{self.output}_value"


class _StatefulMetric(typing.NamedTuple):
    """A metric of a class of the script.

    Its update_state only adds to its variables. The job's model computes what it adds, and result()
    runs here, of the sums.
    """

    report: str  # What fit calls it.
    metric: keras.metrics.Metric
    # (variable, [for each of its numbers: an output of the job's model, or a number for each batch]).
    states: list

    def results(self, values, kinds, examples, batches):
        """{name: result}. values: of the outputs of the job's model, means over the examples."""
        def total(each):
            if not isinstance(each, str):
                return each * batches
            return values[f"{each}_value"] * (examples if kinds[each] == SUM else batches)

        for variable, added in self.states:
            sums = np.zeros(math.prod(variable.shape))
            for numbers in added:
                sums += list(map(total, numbers))
            variable.assign(np.reshape(sums, variable.shape))
        result = self.metric.result()
        if isinstance(result, dict):
            return {name: float(value) for name, value in result.items()}
        result = keras.ops.convert_to_numpy(result)
        return {self.report: result if result.ndim else float(result)}


def _is_own(thing):
    return type(thing).__module__.split(".")[0] != "keras"


def is_own_loss(loss):
    """True for a function of the script, and for an object of a class of it."""
    if loss is None or isinstance(loss, str):
        return False
    if type(loss).__name__ == "LossFunctionWrapper":
        loss = loss.fn
    if inspect.isfunction(loss):
        return not loss.__module__.startswith("keras.")
    return callable(loss) and _is_own(loss)


def _own_metric(metric):
    """(name, function or object) of a metric that is of the script; None of any other."""
    if isinstance(metric, keras.metrics.Metric) and _is_own(metric):
        return metric.name, metric
    if type(metric) is keras.metrics.Accuracy:
        return metric.name, metric._fn
    if type(metric).__name__ == "MeanMetricWrapper" and not _is_own(metric):
        name, function = metric.name, metric._fn
        return (name, function) if is_own_loss(function) else None
    if isinstance(metric, keras.metrics.Metric) or not is_own_loss(metric):
        return None
    return _name_of(metric), metric


def _name_of(metric):
    """Keras's name of a metric of compile."""
    return metric if isinstance(metric, str) else compile_utils.get_metric(metric, None, None).name


def _own_metrics(metrics, output):
    """[(field, Keras's name in reports, function)] of one output. metrics: {field: compile's}."""
    found, counts = [], {}
    for field, each in ((field, each) for field in metrics for each in metrics[field]):
        name, own = _name_of(each), _own_metric(each)
        if not own:
            if any(name == other for _, other, _ in found):
                raise NotSupported(f"output {output} has two metrics with the name {name}")
            counts.setdefault(name, 1)
            continue
        if field == "weighted_metrics" and name in counts:
            name = f"weighted_{name}"
        counts[name] = counts.get(name, 0) + 1
        found.append((field, name if counts[name] == 1 else f"{name}_{counts[name] - 1}", own[1]))
    return found


class Objectives:
    """The objectives of a model. y: as fit takes it."""

    def __init__(self, compiled, y):
        self._compiled = compiled
        self._y = y
        self._values = []
        self._label_shapes = []
        self.whole_inputs = []  # Labels of whole numbers.
        self._stateful = []  # _StatefulMetrics.
        self.batch_size = 32  # Of an update.
        self._stands_in = []  # The outputs whose labels are zeros, since nothing takes them.
        self._names = {}
        self.losses = []  # Of the outputs of the job's model.
        self._has_labels = []  # The outputs whose labels are inputs.
        self._kinds = {}
        self._shapes = []  # Of the outputs.
        self._divided = {}  # By the output of a penalty: it is divided by the size of the batch.
        self.output_names = []
        losses = keras.tree.flatten(compiled.get("loss"))
        metrics = keras.tree.flatten([compiled.get("metrics"), compiled.get("weighted_metrics")])
        self.are_own = any(map(is_own_loss, losses)) or any(map(_own_metric, metrics))

    # ------------------------------------------------------------------------------------- tracing

    def trace(self, outputs, names, trace, penalties):
        """(inputs, outputs) of the job's model besides those of the script's.

        outputs: the model's symbolic outputs, with `names`. penalties: [(name, value)] of add_loss.
        """
        inputs, values = [], []
        self._shapes = [tuple(each.shape[1:]) for each in outputs]
        if self._y is None and self.are_own:
            raise NotSupported("y is missing, which the loss takes")
        labels = [] if self._y is None else as_arrays("y", self._y, names)
        self._label_shapes = [shape_of(each)[1:] for each in labels]
        self.whole_inputs = [f"{name}_labels" for name, each in zip(names, labels)
                             if isinstance(each, np.ndarray) and each.dtype.kind in "iub"]
        self._y = None  # Arrays that nobody needs any more.

        def add(value, name, *about):
            value = ops.multiply(value, 1.0)
            value._keras_history.operation.name = name
            values.append(value)
            self._values.append(_Value(name, *about))

        if self.are_own:
            self._trace_functions(outputs, names, trace, inputs, add)
        for i, (name, value, is_divided) in enumerate(penalties):
            if value.shape:
                value = ops.sum(value)
            add(value, f"add_loss_of_{name}_{i}", "loss", 1.0, "")
            self._divided[self._values[-1].output] = is_divided
        return inputs, values

    def _trace_functions(self, outputs, names, trace, inputs, add):
        losses, weights = self._losses(names)
        metrics = self._metrics(names)
        for i, (name, output) in enumerate(zip(names, outputs)):
            own = _own_metrics({field: metrics[field][i] for field in metrics}, name)
            if not is_own_loss(losses[i]) and not own:
                continue
            if getattr(output, "_keras_mask", None) is not None:
                raise NotSupported(f"output {name} has a mask, which a loss or metric of the script "
                                   f"cannot have")
            shape = self._label_shapes[i]
            given = keras.Input(shape or (1,), name=f"{name}_labels")
            inputs.append(given)
            self._has_labels.append(i)
            prefix = "" if len(names) == 1 else name + "_"

            def labels_of(given=given, shape=shape):
                return given if shape else ops.squeeze(given, -1)

            if is_own_loss(losses[i]):
                value = self._loss_of(losses[i], labels_of, output, trace)
                add(value, f"{name}_objective", "loss", weights[i],
                    f"{prefix}loss" if prefix else "")
            for field, metric, function in own:
                if isinstance(function, keras.metrics.Metric):
                    self._trace_states(function, f"{name}_{field}_{metric}", prefix + metric, field,
                                       labels_of(), output, trace, add)
                    continue
                value = _traced(f"metric {metric}", trace,
                                lambda function=function: function(labels_of(), output))
                add(value, f"{name}_{field}_{metric}", field, 0.0, prefix + metric)

    def _trace_states(self, metric, name, report, field, labels, output, trace, add):
        """Traces update_state of a metric of the script."""
        what = f"metric {metric.name}"
        if field != "metrics":
            raise NotSupported(f"{what}: a metric class of the script can be among metrics, and not "
                               f"among weighted_metrics")
        variables = metric.variables
        metric.reset_state()
        if any(np.any(keras.ops.convert_to_numpy(each)) for each in variables):
            raise NotSupported(f"{what}: its state does not begin with 0")
        with _in_trace(what), trace.collecting(variables, output) as added:
            metric.update_state(labels, output)

        def as_output(number, variable):
            if not keras.backend.is_keras_tensor(number):
                return float(number)
            output_name = f"{name}_{variable.name}_{len(self._values)}"
            add(number, output_name, field, 0.0, "")
            return output_name

        states = []
        for variable in variables:
            with _in_trace(f"{what}: state {variable.name}"):
                numbers = [_numbers_of(value, tuple(variable.shape)) for value in added[id(variable)]]
            states.append((variable, [[as_output(number, variable) for number in each]
                                      for each in numbers]))
        self._stateful.append(_StatefulMetric(report, metric, states))

    def _loss_of(self, loss, labels_of, output, trace):
        loss = compile_utils.get_loss(loss, labels_of(), output)
        what = f"loss {loss.name}"
        reduction = getattr(loss, "reduction", "sum_over_batch_size")
        if reduction not in ("sum_over_batch_size", "mean", "sum"):
            raise NotSupported(f"{what}: reduction is {reduction!r}; a job has sum_over_batch_size "
                               f"and sum only")
        if type(loss).__call__ is not keras.losses.Loss.__call__:
            raise NotSupported(f"{what}: {type(loss).__name__} has its own __call__; define call")

        return _traced(what, trace, lambda: loss.call(labels_of(), output),
                       _of_one_value if reduction != "sum" else ops.sum)

    def translated(self, kind_of):
        """kind_of: of the output with a name (Translation.kind_of)."""
        self._kinds = {each.output: kind_of(each.output) for each in self._values}
        for value in self._values:
            if value.report and value.field != "loss" and self._kinds[value.output] == SUM:
                raise NotSupported(f"metric {value.report} is a sum over the examples of a batch, and "
                                   f"a job's is a mean: use ops.mean")
        for output, is_divided in self._divided.items():
            if is_divided and self._kinds[output] == MEAN:
                raise NotSupported(f"{output}: Keras divides the mean by the size of the batch once "
                                   f"more; let the activity_regularizer return a sum")
            if is_divided:
                self._kinds[output] = MEAN

    def _losses(self, names):
        losses = translation.for_outputs("loss", self._compiled.get("loss"), names)
        weights = self._compiled.get("loss_weights")
        weights = [1.0] * len(names) if weights is None else [
            1.0 if each is None else float(each)
            for each in translation.for_outputs("loss_weights", weights, names)]
        return losses, weights

    def _metrics(self, names):
        return {what: translation.metrics_of_outputs(what, self._compiled.get(what) or [], names)
                for what in ("metrics", "weighted_metrics")}

    # ---------------------------------------------------------------------------- fields of the job

    @property
    def are_computed(self):
        """True if the job's model has outputs of its own for them."""
        return bool(self._values)

    @property
    def need_labels(self):
        """False if all of the loss is of add_loss and the like."""
        return not self._divided or bool(self._has_labels) or \
            len(self._stands_in) < len(self.output_names)

    @property
    def job_outputs(self):
        return [*self.output_names, *(each.output for each in self._values)]

    def fields(self, output_names, shapes):
        """The job's `loss`, `loss_weights` and metrics. shapes: of the outputs."""
        self.output_names = output_names
        if not self._values:
            fields = translation.objective_fields(self._compiled, output_names, shapes)
            self.losses = fields["loss"] if isinstance(fields["loss"], list) else [fields["loss"]]
            self._compiled = None
            return fields
        losses, weights = self._losses(output_names)
        metrics = self._metrics(output_names)
        fields = {"loss": [], "loss_weights": [], "metrics": [], "weighted_metrics": []}
        for i in range(len(output_names)):
            known = {what: [field for each in metrics[what][i] if not _own_metric(each)
                            for field in self._metric_fields(each, i)] for what in metrics}
            for what, values in known.items():
                fields[what].append(values)
            is_known = losses[i] is not None and not is_own_loss(losses[i])
            if is_known:
                loss = translation.loss_field(losses[i])
            else:
                has_metrics = any(known.values())
                loss = ("sparse_categorical_crossentropy" if self._is_sparse(i) else
                        "mean_squared_error") if has_metrics else _MEAN_OF_OUTPUT
                self._stands_in += [] if has_metrics else [i]
            fields["loss"].append(loss)
            fields["loss_weights"].append(weights[i] if is_known else 0.0)
        for value in self._values:
            loss = {"name": _MEAN_OF_OUTPUT}
            if self._kinds[value.output] == SUM:
                loss["reduction"] = "sum"
            fields["loss"].append(loss)
            fields["loss_weights"].append(value.weight)
            for field in "metrics", "weighted_metrics":
                fields[field].append([value.job_metric()] if value.field == field else [])
        if not any(fields["weighted_metrics"]):
            del fields["weighted_metrics"]
        self._names = self._report_names(fields, losses)
        self.losses = fields["loss"]
        self._compiled = None  # A loss may keep the model of the script alive.
        return fields

    def _is_sparse(self, i):
        """True if the labels are class numbers, by the rule of Keras's accuracy."""
        shape, output = self._label_shapes[i], self._shapes[i]
        return output[-1:] != (1,) and (len(shape) < len(output) or shape[-1:] == (1,))

    def _metric_fields(self, metric, i):
        if isinstance(metric, str) and metric.lower() in ("accuracy", "acc"):
            labels = keras.KerasTensor((None, *self._label_shapes[i]))
            found = compile_utils.get_metric(metric, labels,
                                             keras.KerasTensor((None, *self._shapes[i])))
            return [{**translation.metric_field(found), "as": metric}]
        return translation.metric_fields(metric, self._shapes[i])

    def _report_names(self, fields, losses):
        """{what the job calls a loss or metric: what Keras calls it}, without what Keras has not."""
        is_one = len(self.output_names) == 1
        names = {"loss": "loss"}
        for i, output in enumerate(self.output_names):
            if not is_one and losses[i] is not None and not is_own_loss(losses[i]):
                names[f"{output}_loss"] = f"{output}_loss"
            for what in ("metrics", "weighted_metrics"):
                for metric in fields.get(what, [[]] * len(losses))[i]:
                    name = metric["as"]
                    for each in (name, f"weighted_{name}"):
                        names[f"{output}_{each}"] = each if is_one else f"{output}_{each}"
        for value in self._values:
            if value.report:
                names[value.job_report()] = value.report
        return names

    def reported(self, values):
        """The values of a report of the job, under Keras's names. Of `examples` examples."""
        examples = values.get("examples", 0)
        values = {key: value for key, value in values.items() if key != "examples"}
        if not self._values:
            return translation.with_vectors(values)
        reported = {self._names[key]: value for key, value in values.items() if key in self._names}
        for each in self._stateful:
            if examples:
                reported.update(each.results(values, self._kinds, examples,
                                             math.ceil(examples / self.batch_size)))
        return translation.with_vectors(reported)

    def monitored(self, name):
        """The job's name for what a callback monitors."""
        if not self._values or not name:
            return name
        prefix = "val_" if name.startswith("val_") else ""
        if any(name[len(prefix):] == each.report for each in self._stateful):
            raise NotSupported(f"a callback monitors {name}, which is of a metric class of the script: "
                               f"the job does not know its result")
        jobs = {value: key for key, value in reversed(self._names.items())}
        return prefix + jobs.get(name[len(prefix):], name[len(prefix):])

    # ---------------------------------------------------------------------------------------- data

    def label_inputs(self, labels, examples):
        """The labels that are inputs of the job's model; zeros where labels is None."""
        arrays = []
        for i in self._has_labels:
            shape = self._label_shapes[i] or (1,)
            if labels is None:
                arrays.append(np.broadcast_to(np.zeros(shape, np.float32), (examples, *shape)))
                continue
            array = labels[i]
            if isinstance(array, np.ndarray):
                array = array.reshape(len(array), *shape).astype(np.float32)
            arrays.append(array)
        return arrays

    def job_labels(self, labels, examples):
        """The labels of all outputs of the job's model. labels: as_arrays of y, or None."""
        if not self._values:
            return labels
        outputs = [np.broadcast_to(np.zeros(shape or (1,), np.float32),
                                   (examples, *(shape or (1,)))) if i in self._stands_in else
                   labels[i] for i, shape in enumerate(self._shapes)]
        ones = np.broadcast_to(np.float32(1), (examples, 1))
        return [*outputs, *[ones] * len(self._values)]

    def check_weights(self):
        """Raises if the loss of an example is not known, so that it cannot have a weight."""
        kinds = {self._kinds[each.output] for each in self._values if each.field != "metrics"}
        if self._divided or kinds & {MEAN, SUM}:
            raise NotSupported("sample_weight or class_weight with add_loss, or with a loss function "
                               "that returns one number for a batch: give its mean axis=-1")


def _numbers_of(value, shape):
    """What is added to each of the numbers of a state of this shape: symbolic, or a number."""
    count = math.prod(shape)
    if count > _MOST_NUMBERS:
        raise NotSupported(f"it has {count} numbers, and each one is an output of the job's model: at "
                           f"most {_MOST_NUMBERS}")
    if not keras.backend.is_keras_tensor(value):
        return np.broadcast_to(keras.ops.convert_to_numpy(value), shape).ravel().tolist()
    if not value.shape:
        return [value] * count
    operation, index, _ = value._keras_history
    kind, inputs = type(operation).__name__, operation._inbound_nodes[index].input_tensors
    if kind == "Cast" and value.dtype.startswith("float"):
        return _numbers_of(inputs[0], shape)
    if kind == "Negative":
        return [-each for each in _numbers_of(inputs[0], shape)]
    axes = getattr(operation, "axis", None)
    axes = [axes] if isinstance(axes, int) else axes or []
    if kind not in ("Sum", "Mean") or 0 not in axes or tuple(value.shape) != shape:
        raise NotSupported(f"its shape is {shape}, and what is added to it is not ops.sum(..., axis=0) "
                           f"with this shape")
    [tensor] = inputs
    axes = {axis % len(tensor.shape) for axis in axes}
    reduced = ops.sum if kind == "Sum" else ops.mean
    places = [range(1) if i in axes else range(size) for i, size in enumerate(tensor.shape)]
    return [reduced(tensor[tuple(slice(None) if i in axes else at for i, at in enumerate(place))])
            for place in itertools.product(*places)]


def _of_one_value(values):
    """The mean over the axes after that of the examples."""
    axes = list(range(1, len(values.shape)))
    return ops.mean(values, axis=axes) if axes else values


@contextlib.contextmanager
def _in_trace(what):
    """Says in errors what is traced."""
    try:
        yield
    except NotSupported as error:
        raise NotSupported(f"{what}: {error}") from error
    except Exception as error:
        raise NotSupported(f"{what} cannot be computed by a job, because it does not work with "
                           f"symbolic tensors, which stand for any labels and predictions: {error}"
                           ) from error


def _traced(what, trace, function, reduced=_of_one_value):
    """The symbolic result of a function of the script, one number for each example or batch."""
    with _in_trace(what), trace.recording():
        result = function()
    if not keras.backend.is_keras_tensor(result):
        raise NotSupported(f"{what} returns a {type(result).__name__} that does not depend on the "
                           f"labels and predictions")
    return reduced(result)
