"""The losses and metrics of a job: compile's, and what the script computes by functions of its own.

Such a function runs once on symbolic tensors (tracing.py), and the job's model computes it: the labels
are inputs, and its value is an output, whose loss is the mean of the output. What a job does not have,
but can compute from another tensor (surrogates.py), is an output, too.
"""

import contextlib
import inspect
import math

import keras
import numpy as np
from keras.src.trainers import compile_utils

from cairn import surrogates, translation
from cairn.data import as_arrays, is_files, shape_of
from cairn.errors import NotSupported
from cairn.job_outputs import MEAN_OF_OUTPUT, Combined, ScriptOutput, SurrogateOutput, Value
from cairn.metric_states import StatefulMetric, numbers_of
from cairn.sample_weights import is_list_of_arrays, weights_as, weighted
from cairn.tensors import MEAN, SUM

ops = keras.ops
_BATCH = 4096  # Of masks that Keras computes here.


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
    """(name, function or object) of a metric that a job does not have; None of any other."""
    if isinstance(metric, keras.metrics.Metric) and (
            _is_own(metric) or surrogates.metric_needs(metric)):
        return metric.name, metric
    if surrogates.is_entropy(metric):
        return metric.name, surrogates.entropy_of(metric)
    if type(metric) is keras.metrics.Accuracy:
        return metric.name, metric._fn
    if type(metric).__name__ == "MeanMetricWrapper" and not _is_own(metric):
        name, function = metric.name, metric._fn
        return (name, function) if is_own_loss(function) else None
    if translation.is_only_loss(metric):
        return _name_of(metric), metric
    if isinstance(metric, keras.metrics.Metric) or not is_own_loss(metric):
        return None
    return _name_of(metric), metric


def _name_of(metric):
    """Keras's name of a metric of compile."""
    return metric if isinstance(metric, str) else compile_utils.get_metric(metric, None, None).name


def _is_for_outputs(y, names):
    """True if y has an entry for each output of the model, whether it has a loss or not."""
    return isinstance(y, (list, tuple)) and len(y) == len(names) and (
        is_files(y) or is_list_of_arrays(y))


class Objectives:
    """The objectives of a model.

    compiled: compile's arguments; empty: a model that predicts has none.
    y: as fit takes it. weights: fit's sample_weight if are_for_elements, else None.
    An output without a loss (None) has the weight 0 in the job, and labels of zeros if it has no metrics.
    """

    def __init__(self, compiled, y, weights=None, step=None):
        # Of an own train_step or compute_loss; None if the model has Keras's, and after the trace.
        self._step = step
        self.has_train_step = step is not None and step.has_train_step
        self.are_none = not compiled
        self._why_no_validation = ""
        if step is not None:
            if weights is not None:
                raise NotSupported("sample_weight of steps, pixels or single outputs, with a train_step or "
                                   "compute_loss of the script: multiply the loss there")
            compiled = {**compiled, "loss": None, "loss_weights": None}
        self._compiled = compiled
        self._y = y
        self._weights = weights  # As fit takes them, until the model is traced.
        self.has_weights = weights is not None  # Inputs of the job's model have them.
        self._weight_shapes = {}  # By the output of the script's model, of those with weights.
        self._values = []
        self._is_plain = False  # The job has compile's losses and metrics as they are.
        self._with_loss = []  # The names of the outputs with a loss.
        self._label_shapes = []  # Of the outputs; () for one without labels.
        self.whole_inputs = []  # Labels of whole numbers.
        self._stateful = []  # StatefulMetrics.
        self._masks = {}  # By the output of the script's model: its mask, a function of the inputs.
        self._renamed = {}  # By the output of the script's model: its name in the job.
        self._have_masks = set()  # The outputs with a mask, also with one that is gone in a run.
        # While the model is traced, unless the data are files: the first examples, as the job's model
        # takes them, and structure.masks_at_run of these.
        self.rows, self.masks_at_run = None, None
        self._surrogates = {}  # By the output of the script's model and the key: a SurrogateOutput.
        self._surrogate_names = {}  # {what the job calls a metric of theirs: what Keras calls it}
        self._with_surrogate = []  # The outputs of the script's model whose loss is one.
        self._combined = []  # Each a Combined.
        self.batch_size = 32  # Of an update.
        self._stands_in = []  # The outputs whose labels are zeros, since nothing takes them.
        self._names = {}
        self.losses = []  # Of the outputs of the job's model.
        self._has_labels = []  # The outputs whose labels are inputs.
        self._label_inputs = {}  # By the output: the symbolic input.
        # Of metrics that a call updates, in training (True) and in inference (False): by the metric's
        # name, and by the job's name of a value.
        self._modes_of, self._modes = {}, {}
        self._loss_names = ["loss"]  # Under which fit reports the loss of the job.
        self._kinds = {}
        self._shapes = None  # Of the outputs.
        self._divided = {}  # By the output of a penalty: it is divided by the size of the batch.
        self.output_names = []
        losses = keras.tree.flatten(compiled.get("loss"))
        metrics = keras.tree.flatten([compiled.get("metrics"), compiled.get("weighted_metrics")])
        self._divides_by_weights = any(
            getattr(each, "reduction", None) == translation.DIVIDED_BY_WEIGHTS for each in losses)
        self.are_own = step is not None or self.has_weights or any(map(is_own_loss, losses)) or \
            any(map(_own_metric, metrics)) or any(map(surrogates.loss_needs, losses))

    # ------------------------------------------------------------------------------------- tracing

    def job_outputs_of(self, outputs, inputs):
        """The model's symbolic outputs as the job's. Masks are left to Surrogates of losses and metrics."""
        unmasked = list(outputs)
        for i, each in enumerate(outputs):
            operation = each._keras_history.operation
            if isinstance(operation, keras.Model):  # In the job its last layer has this output.
                self._renamed[i] = f"{operation.name}_output"
                unmasked[i] = keras.layers.Identity(name=self._renamed[i])(each)
        symbolic = {i: each._keras_mask for i, each in enumerate(outputs)
                    if getattr(each, "_keras_mask", None) is not None}
        at_run = self.masks_at_run() if symbolic and self.masks_at_run and not self.are_none else None
        for i, mask in symbolic.items():
            name = outputs[i]._keras_history.operation.name
            unmasked[i] = ops.multiply(outputs[i], 1.0)
            self._renamed[i] = f"{name}_unmasked"
            unmasked[i]._keras_history.operation.name = self._renamed[i]
            self._have_masks.add(i)
            if self.are_none or at_run and at_run[i] is None:
                continue
            self._masks[i] = keras.Function(inputs, mask)
            self.are_own = True
            if at_run and not np.array_equal(
                    ops.convert_to_numpy(self._masks[i](self.rows)).astype(bool), at_run[i]):
                raise NotSupported(f"output {name} has another mask when Keras runs the model than its "
                                   f"symbolic tensor has: use an Embedding without mask_zero, and "
                                   f"weights of 0 for the steps that do not count")
        return unmasked

    def rename(self, i, name):
        """Output i of the script's model has this name in the job."""
        self._renamed[i] = name

    def trace(self, outputs, names, trace, penalties, x, y_pred, updates):
        """(inputs, outputs) of the job's model besides those of the script's.

        outputs: the model's symbolic outputs, with `names`. penalties: [(name, value)] of add_loss.
        x, y_pred: for an own step, as the script's model takes its inputs and returns its outputs.
        updates: of metrics that a call of the model updates (_Inlined.updates).
        """
        inputs, values = [], []
        self._shapes = [tuple(each.shape[1:]) for each in outputs]
        if self._y is None and self.are_own and self._step is None:
            raise NotSupported("y is missing, which the loss takes")
        if self._y is not None and not outputs:
            raise NotSupported("train_step takes labels, and the model has no call: a job pairs labels with "
                               "outputs")
        y = self._y
        self._note_labels(names)
        self._weight_shapes = {i: shape_of(each)[1:] or (1,) for i, each in
                               enumerate(self._weights_of("sample_weight", self._weights, names))
                               if each is not None}
        self._weights = None

        def add(value, about):
            value = ops.multiply(value, 1.0)
            value._keras_history.operation.name = about.output
            values.append(value)
            self._values.append(about)

        if self._step is not None:
            labels = self._labels_for_step(y, outputs, names, inputs)
            loss, reports = self._step.trace(trace, x, labels, y_pred, penalties)
            self._loss_names = [name for name, value in reports.items() if value is None]
            if not self._step.updates_compiled:
                self._compiled = {**self._compiled, "metrics": None, "weighted_metrics": None}
            for name, value in reports.items():
                if value is not None:
                    add(_of_one_value(value), Value(f"step_{name}", "metrics", 0.0, name))
            penalties = [*penalties, ("step", loss, False)]
            self._why_no_validation = self._step.why_no_validation()
            self._step = None  # It keeps the model of the script alive.
        if self.are_own:
            self._trace_functions(outputs, names, trace, inputs, add)
        for metric, value, when in [] if self.are_none else updates:
            modes = [True, False] if when is None else [when]
            known = self._modes_of.setdefault(metric.name, [])
            if set(known) & set(modes) or not known and \
                    any(each.report == metric.name for each in self._values):
                raise NotSupported(f"metric {metric.name} is updated several times in a call, or there are "
                                   f"two of this name")
            known += modes
            about = Value(f"call_{metric.name}_{len(known)}", "metrics", 0.0, metric.name)
            add(_of_one_value(value), about)
            self._modes[about.job_report()] = modes
        for i, (name, value, is_divided) in enumerate(penalties):
            if value.shape:
                value = ops.sum(value)
            add(value, Value(f"add_loss_of_{name}_{i}", "loss", 1.0, ""))
            self._divided[self._values[-1].output] = is_divided
        return inputs, values

    def _labels_for_step(self, y, outputs, names, inputs):
        """The symbolic labels for an own step, as fit takes them; adds their inputs."""
        if y is None:
            return None
        if self._have_masks:
            raise NotSupported(f"output {names[min(self._have_masks)]} has a mask, which a train_step or "
                               f"compute_loss of the script gets: use an Embedding without mask_zero")
        labels = {}
        for i, (name, shape) in enumerate(zip(names, self._label_shapes)):
            if not isinstance(y, dict) or name in y:
                tensor = self._labels_input(i, name, inputs)
                labels[name] = tensor if shape else ops.squeeze(tensor, -1)
        if isinstance(y, dict):
            return labels
        several = list(labels.values())
        return type(y)(several) if isinstance(y, (list, tuple)) else several[0]

    def _labels_input(self, i, name, inputs):
        """The input with the labels of output i; adds it to `inputs` unless it is there."""
        if i not in self._label_inputs:
            self._label_inputs[i] = keras.Input(self._label_shapes[i] or (1,), name=f"{name}_labels")
            inputs.append(self._label_inputs[i])
            self._has_labels.append(i)
        return self._label_inputs[i]

    def _note_labels(self, names):
        """Notes what is needed of y, whose arrays may then end."""
        self._note_outputs(names)
        labels = [None] * len(names) if self._y is None else self.labels_of("y", self._y)
        self._label_shapes = [() if each is None else shape_of(each)[1:] for each in labels]
        for what, metrics in self._metrics(names).items():
            for name, each, array in zip(names, metrics, labels):
                if each and array is None:
                    raise NotSupported(f"output {name} has {what}, and y has no labels for it")
        self.whole_inputs = [f"{name}_labels" for name, each in zip(names, labels)
                             if isinstance(each, np.ndarray) and each.dtype.kind in "iub"]
        self._y = None

    def _note_outputs(self, names):
        self.output_names = names
        self._with_loss = [name for name, loss in zip(names, self._losses(names)[0]) if loss is not None]

    def labels_of(self, what, y):
        """The array of each output. As in Keras, y may have none for an output without a loss: None.

        y: as fit takes it; it is `what` in errors.
        """
        names = self._with_loss
        if isinstance(y, dict):
            names = [name for name in self.output_names if name in names or name in y]
        elif not names or _is_for_outputs(y, self.output_names):
            names = self.output_names
        arrays = dict(zip(names, as_arrays(what, y, names)))
        return [arrays.get(name) for name in self.output_names]

    def _trace_functions(self, outputs, names, trace, inputs, add):
        losses, weights = self._losses(names)
        self._weight_shapes = {i: shape for i, shape in self._weight_shapes.items()
                               if losses[i] is not None}
        metrics = self._metrics(names)
        for i, (name, tensor) in enumerate(zip(names, outputs)):
            given_metrics = {field: metrics[field][i] for field in metrics}
            if losses[i] is None and not any(given_metrics.values()):
                continue
            own = self._own_metrics(given_metrics, i, name)
            surrogate = surrogates.of_loss(losses[i], tensor) if i not in self._masks else None
            if not self._is_traced(losses[i], i) and not own and not surrogate and i not in self._masks:
                continue
            shape = self._label_shapes[i]
            given = self._labels_input(i, name, inputs)
            self._check_weights_of(i, name, given_metrics["weighted_metrics"], surrogate)
            if i in self._weight_shapes:
                inputs.append(keras.Input(self._weight_shapes[i], name=f"{name}_weights"))
            output = ScriptOutput(i, name, "" if len(names) == 1 else name + "_", tensor, given,
                                   bool(shape), trace, add)
            report = f"{output.prefix}loss" if len(self._with_loss) > 1 else ""
            if i in self._masks and losses[i] is not None:
                surrogate = self._masked_loss(losses[i], output)
            elif self._is_traced(losses[i], i):
                weight = inputs[-1] if i in self._weight_shapes else None
                add(self._loss_of(losses[i], output.labels, tensor, trace, weight),
                    Value(f"{name}_objective", "loss", weights[i], report))
            if surrogate:
                [about] = self._trace_surrogate(surrogate, output)
                about.be_loss(weights[i], report)
                self._with_surrogate.append(i)
                if i not in self._masks:
                    self._trace_beside(losses[i], given_metrics, output)
            for field, metric, function in own:
                self._trace_metric(field, metric, function, output)

    def _trace_metric(self, field, name, metric, output):
        """A metric that a job does not have. name: Keras's, in reports."""
        report = output.prefix + name
        if surrogates.metric_needs(metric):
            self._report_surrogate(surrogates.of_metric(metric, output.tensor), output, field, report)
        elif self._is_masked(metric, output.position):
            def values(labels, tensor):
                return _traced(f"metric {name}", output.trace, lambda: metric._fn(
                    labels, tensor, **metric._fn_kwargs), _of_each)

            self._report_surrogate(
                surrogates.of_masked_metric(metric, f"{field} {name}", values, output.tensor,
                                            self._masks[output.position].outputs[0]),
                output, field, report)
        elif isinstance(metric, keras.metrics.Metric):
            self._trace_states(metric, f"{output.name}_{field}_{name}", report, field, output)
        else:
            value = _traced(f"metric {name}", output.trace,
                            lambda: metric(output.labels(), output.tensor))
            output.add(value, Value(f"{output.name}_{field}_{name}", field, 0.0, report))

    def _is_masked(self, metric, position):
        """True if Keras leaves masked positions of the output out of the metric, an object."""
        return position in self._masks and surrogates.takes_mask(metric)

    def _masked_loss(self, loss, output):
        """The Surrogate of compile's loss of an output with a mask."""
        loss = compile_utils.get_loss(loss, output.labels(), output.tensor)
        what = _checked_loss(loss)

        def values(labels, tensor):
            return _traced(what, output.trace, lambda: loss.call(labels, tensor), _of_each)

        return surrogates.of_masked_loss(loss, values, output.tensor,
                                         self._masks[output.position].outputs[0])

    def _own_metric(self, metric, i):
        """(name, function or object) of a metric of an output that a job does not have; else None."""
        if i not in self._masks:
            return _own_metric(metric)
        labels, output = (keras.KerasTensor((None, *shape))
                          for shape in (self._label_shapes[i], self._shapes[i]))
        found = compile_utils.get_metric(metric, labels, output)
        if not surrogates.takes_mask(found):
            return _own_metric(metric)
        if _is_own(found):
            raise NotSupported(f"metric {found.name}: {type(found).__name__} is a class of the script, "
                               f"and the output has a mask: use a function as the metric")
        if surrogates.is_entropy(found):
            raise NotSupported(f"metric {found.name}: ignore_class is not supported with an output that "
                               f"has a mask")
        return _name_of(metric), found

    def _own_metrics(self, metrics, i, output):
        """[(field, Keras's name in reports, function)] of one output. metrics: {field: compile's}."""
        found, counts = [], {}
        for field, each in ((field, each) for field in metrics for each in metrics[field]):
            name, own = _name_of(each), self._own_metric(each, i)
            if field == "weighted_metrics" and surrogates.is_entropy(each):
                raise NotSupported(f"metric {name}: a job has SparseCategoricalCrossentropy with "
                                   f"ignore_class among metrics, and not among weighted_metrics")
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

    def _trace_surrogate(self, surrogate, output):
        """Each SurrogateOutput of a Surrogate, for a ScriptOutput."""
        traced = []
        for each in surrogate.outputs:
            key = output.position, *each.key
            if key not in self._surrogates:
                with output.trace.recording():
                    value = each.compute(output.labels(), output.tensor)
                about = SurrogateOutput(f"{output.name}_surrogate{len(self._surrogates)}",
                                         output.position, each)
                self._surrogates[key] = about
                output.add(value, about)
            traced.append(self._surrogates[key])
        return traced

    def _trace_beside(self, loss, metrics, output):
        """The metrics of Keras beside a loss that is a Surrogate. metrics: {field: compile's}."""
        names = set()
        for field, metric in ((field, each) for field in metrics for each in metrics[field]):
            if _own_metric(metric):
                continue
            for job_metric in self._metric_fields(metric, output.position):
                name = job_metric["as"]
                report = f"weighted_{name}" if name in names else name
                names.add(name)
                self._report_surrogate(surrogates.beside_loss(loss, job_metric, output.tensor),
                                       output, field, output.prefix + report)

    def _report_surrogate(self, surrogate, output, field, report):
        names = [name for each, about in zip(surrogate.outputs,
                                             self._trace_surrogate(surrogate, output))
                 for name in about.add_metrics(field, each.metrics)]
        if surrogate.result is None:
            self._surrogate_names[names[0]] = report
        else:
            self._combined.append(Combined(report, names, surrogate.result))

    def _trace_states(self, metric, name, report, field, output):
        """Traces update_state of a metric of the script."""
        what = f"metric {metric.name}"
        if field != "metrics":
            raise NotSupported(f"{what}: a metric class of the script can be among metrics, and not "
                               f"among weighted_metrics")
        variables = metric.variables
        metric.reset_state()
        if any(np.any(keras.ops.convert_to_numpy(each)) for each in variables):
            raise NotSupported(f"{what}: its state does not begin with 0")
        with _in_trace(what), output.trace.collecting(variables, output.tensor) as added:
            metric.update_state(output.labels(), output.tensor)

        def as_output(number, variable):
            if not keras.backend.is_keras_tensor(number):
                return float(number)
            output_name = f"{name}_{variable.name}_{len(self._values)}"
            output.add(number, Value(output_name, field, 0.0, ""))
            return output_name

        states = []
        for variable in variables:
            with _in_trace(f"{what}: state {variable.name}"):
                numbers = [numbers_of(value, tuple(variable.shape)) for value in added[id(variable)]]
            states.append((variable, [[as_output(number, variable) for number in each]
                                      for each in numbers]))
        self._stateful.append(StatefulMetric(report, metric, states))

    def _loss_of(self, loss, labels_of, output, trace, weight):
        """weight: symbolic, or None."""
        loss = compile_utils.get_loss(loss, labels_of(), output)
        what = _checked_loss(loss)
        if weight is not None and loss.reduction == translation.DIVIDED_BY_WEIGHTS:
            raise NotSupported(f"{what}: sample_weight with the reduction mean_with_sample_weight: a job "
                               f"divides by the number of examples")
        return _traced(what, trace, lambda: weighted(what, loss.call(labels_of(), output), weight),
                       _of_one_value if loss.reduction != "sum" else ops.sum)

    def _is_traced(self, loss, i):
        """True if the job's model computes the loss of output i."""
        return is_own_loss(loss) or i in self._weight_shapes

    @staticmethod
    def _weights_of(what, weights, names):
        """The weights of each output: arrays or None."""
        if weights is None:
            return [None] * len(names)
        return [None if each is None else as_arrays(what, each, [what])[0]
                for each in translation.for_outputs(what, weights, names)]

    def _check_weights_of(self, i, name, weighted_metrics, surrogate):
        """Raises for weights of output i that the job's model cannot compute with."""
        if i not in self._weight_shapes:
            return
        what = f"sample_weight of steps, pixels or single outputs, and output {name} has"
        if i in self._masks:
            raise NotSupported(f"{what} a mask: use an Embedding without mask_zero, and weights of 0")
        if surrogate:
            raise NotSupported(f"{what} a loss with ignore_class: give weights of 0 in its place")
        if weighted_metrics:
            raise NotSupported(f"{what} weighted_metrics, which a job weighs for each example: use "
                               f"metrics")

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
        weights = translation.loss_weights(self._compiled, names)
        return losses, [1.0 if each is None else float(each) for each in weights]

    def _metrics(self, names):
        return {what: translation.metrics_of_outputs(what, self._compiled.get(what) or [], names)
                for what in ("metrics", "weighted_metrics")}

    # ---------------------------------------------------------------------------- fields of the job

    def _has_output(self, metric, i):
        """True if an output of the job's model has compile's metric of an output of the script's."""
        if i in self._masks:
            return self._own_metric(metric, i) is not None
        return i in self._with_surrogate or _own_metric(metric) is not None

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
        return [*(self._renamed.get(i, name) for i, name in enumerate(self.output_names)),
                *(each.output for each in self._values)]

    def fields(self, output_names, shapes):
        """The job's `loss`, `loss_weights` and metrics. shapes: of the outputs."""
        self._note_outputs(output_names)
        if not self._values and not self._with_loss:
            raise NotSupported("the model is compiled without a loss")
        self._is_plain = not self._values and len(self._with_loss) == len(output_names)
        if self._is_plain:
            fields = translation.objective_fields(self._compiled, output_names, shapes)
            self.losses = fields["loss"] if isinstance(fields["loss"], list) else [fields["loss"]]
            self._compiled = self._y = None
            return fields
        if self._shapes is None:  # Nothing was traced.
            self._shapes = shapes
            self._note_labels(output_names)
        losses, weights = self._losses(output_names)
        metrics = self._metrics(output_names)
        fields = {"loss": [], "loss_weights": [], "metrics": [], "weighted_metrics": []}
        for i in range(len(output_names)):
            has_surrogate = i in self._with_surrogate
            known = {what: translation.distinct(
                field for each in metrics[what][i] if not self._has_output(each, i)
                for field in self._metric_fields(each, i)) for what in metrics}
            for what, values in known.items():
                fields[what].append(values)
            is_known = losses[i] is not None and not self._is_traced(losses[i], i) and \
                not has_surrogate
            if is_known:
                loss = translation.loss_field(losses[i])
            else:
                has_metrics = any(known.values())
                loss = ("sparse_categorical_crossentropy" if self._is_sparse(i) else
                        "mean_squared_error") if has_metrics else MEAN_OF_OUTPUT
                self._stands_in += [] if has_metrics else [i]
            fields["loss"].append(loss)
            fields["loss_weights"].append(weights[i] if is_known else 0.0)
        for value in self._values:
            is_sum = self._kinds[value.output] == SUM
            fields["loss"].append({**value.loss, "reduction": "sum"} if is_sum else value.loss)
            fields["loss_weights"].append(value.weight)
            for field in "metrics", "weighted_metrics":
                fields[field].append(value.job_metrics(field))
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
        reports_losses = len(self._with_loss) > 1
        names = dict(self._surrogate_names)
        for i, (output, job_output) in enumerate(zip(self.output_names, self.job_outputs)):
            if reports_losses and losses[i] is not None and not self._is_traced(losses[i], i) and \
                    i not in self._with_surrogate:
                names[f"{job_output}_loss"] = f"{output}_loss"
            for what in ("metrics", "weighted_metrics"):
                for metric in fields.get(what, [[]] * len(losses))[i]:
                    name = metric["as"]
                    for each in (name, f"weighted_{name}"):
                        names[f"{job_output}_{each}"] = each if is_one else f"{output}_{each}"
        for value in self._values:
            if value.report:
                names[value.job_report()] = value.report
        return names

    def reported(self, values, is_training):
        """The values of a report of the job, under Keras's names, which it sorts. Of `examples` examples."""
        return dict(sorted(self._reported(values, is_training).items()))

    def _reported(self, values, is_training):
        examples = values.get("examples", 0)
        values = {key: value for key, value in values.items() if key != "examples"}
        if self._is_plain:
            return translation.with_vectors(values)
        reported = {name: values["loss"] for name in self._loss_names if "loss" in values}
        reported.update({self._names[key]: value for key, value in values.items() if key in self._names
                         and is_training in self._modes.get(key, [is_training])})
        # Keras's mean of no values.
        reported.update({name: 0.0 for name, modes in self._modes_of.items() if is_training not in modes})
        for each in self._stateful:
            if examples:
                reported.update(each.results(values, self._kinds, examples,
                                             math.ceil(examples / self.batch_size)))
        for each in self._combined:
            if all(name in values for name in each.names):
                reported[each.report] = each.result([values[name] for name in each.names])
        return translation.with_vectors(reported)

    def is_computed_here(self, name):
        """True for the name of a metric in reports of fit whose value the job does not know."""
        name = (name or "").removeprefix("val_")
        return any(name == each.report for each in [*self._stateful, *self._combined])

    def monitored(self, name):
        """The job's name for what a callback monitors."""
        if self._is_plain or not name:
            return name
        prefix = "val_" if name.startswith("val_") else ""
        if self.is_computed_here(name):
            raise NotSupported(f"a callback monitors {name}, whose result is computed here: the job "
                               f"does not know it")
        jobs = {value: key for key, value in reversed(self._names.items())}
        jobs.update(dict.fromkeys(self._loss_names, "loss"))
        return prefix + jobs.get(name[len(prefix):], name[len(prefix):])

    # ---------------------------------------------------------------------------------------- data

    def label_inputs(self, labels, examples, sample_weight=None):
        """The labels and weights that are inputs of the job's model; zeros where labels is None."""
        arrays = []
        weights = self._weights_of("sample_weight", sample_weight, self.output_names)
        for i in self._has_labels:
            shape = self._label_shapes[i] or (1,)
            if labels is None:
                arrays.append(np.broadcast_to(np.zeros(shape, np.float32), (examples, *shape)))
            else:
                array = labels[i]
                if isinstance(array, np.ndarray):
                    array = array.reshape(len(array), *shape).astype(np.float32)
                arrays.append(array)
            if i in self._weight_shapes:
                arrays.append(weights_as(self._weight_shapes[i], weights[i], examples,
                                          self.output_names[i]))
        return arrays

    def job_labels(self, labels, inputs, examples):
        """The labels of all outputs of the job's model.

        labels: of labels_of, or None. inputs: of the job's model.
        """
        if self._is_plain:
            return labels
        outputs = [np.broadcast_to(np.zeros(shape or (1,), np.float32),
                                   (examples, *(shape or (1,)))) if i in self._stands_in else
                   labels[i] for i, shape in enumerate(self._shapes)]
        ones = np.broadcast_to(np.float32(1), (examples, 1))
        masks = {i: _mask_of(mask, labels[i], inputs) for i, mask in self._masks.items()}
        return [*outputs, *(self._surrogate_labels(each, labels, masks)
                            if isinstance(each, SurrogateOutput) else ones for each in self._values)]

    def _surrogate_labels(self, surrogate, labels, masks):
        array = labels[surrogate.position]
        if surrogate.takes_mask:
            return surrogate.labels_of(array, masks[surrogate.position])
        if is_files(array):
            raise NotSupported(f"y names files, and a loss or metric of output "
                               f"{self.output_names[surrogate.position]} (ignore_class, multi_label, "
                               f"thresholds ...) takes other labels than these: give the array")
        return surrogate.labels_of(array, None)

    def check_validation(self):
        """Raises if Keras's validation computes something else than the training."""
        if self._why_no_validation:
            raise NotSupported(self._why_no_validation)

    def check_weights(self):
        """Raises if an example cannot have a weight, because the loss is none of each example."""
        if self._divides_by_weights:
            raise NotSupported("sample_weight or class_weight with a loss of the reduction "
                               "mean_with_sample_weight: a job divides by the number of examples")
        kinds = {self._kinds[each.output] for each in self._values if each.field != "metrics"}
        if self._masks:
            raise NotSupported("sample_weight or class_weight with an output that has a mask: Keras "
                               "takes none either")
        if self._divided or kinds & {MEAN, SUM}:
            raise NotSupported("sample_weight or class_weight with add_loss, or with a loss function "
                               "that returns one number for a batch: give its mean axis=-1")


def _mask_of(mask, labels, inputs):
    """The mask of an output for all examples. inputs: of the job's model, first those of the script's."""
    inputs = inputs[:len(mask.inputs)]
    if any(map(is_files, [labels, *inputs])):
        raise NotSupported("x or y names files, and an output has a mask, which is computed here: give "
                           "arrays")
    parts = [ops.convert_to_numpy(mask([each[at:at + _BATCH] for each in inputs]))
             for at in range(0, len(labels), _BATCH)]
    return np.concatenate(parts).astype(bool)


def _checked_loss(loss):
    """What a loss, an object, is in errors. Raises if its call is not all that it computes."""
    what = f"loss {loss.name}"
    translation.reduction_of(loss, what)
    if type(loss).__call__ is not keras.losses.Loss.__call__:
        raise NotSupported(f"{what}: {type(loss).__name__} has its own __call__; define call")
    return what


def _of_each(values):
    return values


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
