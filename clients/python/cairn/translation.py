"""Translates what Keras's compile and fit take into the fields of a job file.

Whatever a job file cannot express raises NotSupported with the argument's name and the reason.
"""

import contextlib
import inspect
import math
import re

import keras
import numpy as np

from cairn.callbacks import Hook, Plateau, Stopping, is_own, keep_rate, may_set_rate
from cairn.errors import NotSupported
from cairn.model_files import MIXED

# For each class: the arguments that a job file has. Others must have their default.
_LOSSES = {
    "SparseCategoricalCrossentropy": ["from_logits", "ignore_class"],
    "CategoricalCrossentropy": ["from_logits", "label_smoothing"],
    "BinaryCrossentropy": ["from_logits", "label_smoothing"],
    "CategoricalFocalCrossentropy": ["from_logits", "label_smoothing", "alpha", "gamma"],
    "BinaryFocalCrossentropy": ["from_logits", "label_smoothing", "alpha", "gamma",
                                "apply_class_balancing"],
    "CategoricalGeneralizedCrossEntropy": ["q"],
    "Dice": ["axis"], "Tversky": ["alpha", "beta", "axis"], "Circle": ["gamma", "margin"],
    "MeanSquaredError": [], "MeanAbsoluteError": [], "MeanAbsolutePercentageError": [],
    "MeanSquaredLogarithmicError": [], "LogCosh": [], "Poisson": [], "Huber": ["delta"],
    "Hinge": [], "SquaredHinge": [], "CategoricalHinge": [], "KLDivergence": [],
    "CosineSimilarity": [],
}
# Their labels are class numbers.
SPARSE_LOSSES = {"sparse_categorical_crossentropy", "categorical_generalized_cross_entropy", "circle"}
# The loss of a batch is not the mean of the losses of its parts.
_LOSSES_OF_BATCHES = {"dice", "tversky", "circle"}
_CONFUSION = ["thresholds", "top_k", "class_id"]
_RATES = ["num_thresholds", "class_id"]
_METRICS = {
    "SparseCategoricalAccuracy": [], "CategoricalAccuracy": [], "BinaryAccuracy": ["threshold"],
    "SparseTopKCategoricalAccuracy": ["k"], "TopKCategoricalAccuracy": ["k"],
    "Precision": _CONFUSION, "Recall": _CONFUSION, "TruePositives": ["thresholds"],
    "FalsePositives": ["thresholds"], "TrueNegatives": ["thresholds"],
    "FalseNegatives": ["thresholds"],
    "AUC": ["num_thresholds", "curve", "summation_method", "from_logits"],
    "PrecisionAtRecall": ["recall", *_RATES], "RecallAtPrecision": ["precision", *_RATES],
    "SensitivityAtSpecificity": ["specificity", *_RATES],
    "SpecificityAtSensitivity": ["sensitivity", *_RATES],
    "MeanIoU": ["num_classes"], "IoU": ["num_classes", "target_class_ids"],
    "OneHotMeanIoU": ["num_classes"], "OneHotIoU": ["num_classes", "target_class_ids"],
    "BinaryIoU": ["target_class_ids", "threshold"],
    "F1Score": ["average", "threshold"], "FBetaScore": ["average", "beta", "threshold"],
    "R2Score": ["class_aggregation", "num_regressors"],
    "PearsonCorrelation": [], "ConcordanceCorrelation": [], "RootMeanSquaredError": [],
    "SparseCategoricalCrossentropy": ["from_logits"],
    "CategoricalCrossentropy": ["from_logits", "label_smoothing"],
    "BinaryCrossentropy": ["from_logits", "label_smoothing"],
    "MeanSquaredError": [], "MeanAbsoluteError": [], "MeanAbsolutePercentageError": [],
    "MeanSquaredLogarithmicError": [], "LogCoshError": [], "Poisson": [],
    "Hinge": [], "SquaredHinge": [], "CategoricalHinge": [], "KLDivergence": [],
    "CosineSimilarity": [],
}
_MOST_RATES = 20000  # Of a schedule of the script.
DIVIDED_BY_WEIGHTS = "mean_with_sample_weight"
# Names that are not the class's name in snake case.
_NAMES = {"KLDivergence": "kl_divergence", "AUC": "auc", "MeanIoU": "mean_iou", "IoU": "iou",
          "OneHotIoU": "one_hot_iou", "OneHotMeanIoU": "one_hot_mean_iou", "BinaryIoU": "binary_iou",
          "LogCoshError": "log_cosh", "ReduceLROnPlateau": "reduce_lr_on_plateau",
          "TerminateOnNaN": "terminate_on_nan", "SGD": "sgd", "RMSprop": "rmsprop", "AdamW": "adamw",
          "TopKCategoricalAccuracy": "top_k_categorical_accuracy",
          "SparseTopKCategoricalAccuracy": "sparse_top_k_categorical_accuracy"}
# What a metric requires to be said explicitly, because Keras's default means something else.
_REQUIRED = {"MeanIoU": {"sparse_y_pred": False}, "IoU": {"sparse_y_pred": False}}
# Metrics of a number for each threshold.
_OF_THRESHOLDS = ("Precision", "Recall", "TruePositives", "FalsePositives", "TrueNegatives",
                  "FalseNegatives")
# Arguments that make a metric a vector, with a number for each class, when they are None.
_VECTORS = {"F1Score": "average", "FBetaScore": "average", "R2Score": "class_aggregation"}
# sparse_y_true: the labels themselves tell.
_IGNORED = {"name", "dtype", "fn", "reduction", "sparse_y_true"}

_EVERY_OPTIMIZER = ["learning_rate", "weight_decay", "clipnorm", "clipvalue", "global_clipnorm",
                    "use_ema", "ema_momentum", "ema_overwrite_frequency"]
_OPTIMIZERS = {
    "SGD": ["momentum", "nesterov"], "Adam": ["beta_1", "beta_2", "epsilon", "amsgrad"],
    "AdamW": ["beta_1", "beta_2", "epsilon", "amsgrad"], "Nadam": ["beta_1", "beta_2", "epsilon"],
    "Adamax": ["beta_1", "beta_2", "epsilon"], "Adagrad": ["initial_accumulator_value", "epsilon"],
    "Adadelta": ["rho", "epsilon"], "RMSprop": ["rho", "momentum", "epsilon", "centered"],
    "Ftrl": ["learning_rate_power", "initial_accumulator_value", "l1_regularization_strength",
             "l2_regularization_strength", "l2_shrinkage_regularization_strength", "beta"],
    "Lamb": ["beta_1", "beta_2", "epsilon"], "Lion": ["beta_1", "beta_2"],
}
_SCHEDULES = {
    "ExponentialDecay": ["initial_learning_rate", "decay_steps", "decay_rate", "staircase"],
    "InverseTimeDecay": ["initial_learning_rate", "decay_steps", "decay_rate", "staircase"],
    "PiecewiseConstantDecay": ["boundaries", "values"],
    "PolynomialDecay": ["initial_learning_rate", "decay_steps", "end_learning_rate", "power",
                        "cycle"],
    "CosineDecay": ["initial_learning_rate", "decay_steps", "alpha", "warmup_target",
                    "warmup_steps"],
    "CosineDecayRestarts": ["initial_learning_rate", "first_decay_steps", "t_mul", "m_mul",
                            "alpha"],
}
_CALLBACKS = {
    "EarlyStopping": ["monitor", "mode", "min_delta", "patience", "baseline",
                      "restore_best_weights", "start_from_epoch"],
    "ReduceLROnPlateau": ["monitor", "mode", "min_delta", "patience", "factor", "cooldown",
                          "min_lr"],
    "TerminateOnNaN": [],
}
# Callbacks that get the logs of each epoch and run in this process.
_OBSERVERS = ["History", "ProgbarLogger", "CSVLogger", "RemoteMonitor", "LearningRateScheduler"]
# Callbacks that also need the weights of each epoch, as own classes do, with the arguments that they
# must have, because these need each batch.
_HOOKS = {
    "LambdaCallback": {}, "ModelCheckpoint": {"save_freq": "epoch"},
    "TensorBoard": {"update_freq": "epoch", "_start_batch": 0},
}
# Callbacks that ask for what the cluster does anyway.
_UNNEEDED = ["BackupAndRestore", "SwapEMAWeights"]
CALLBACKS = [*_CALLBACKS, *_OBSERVERS, *_HOOKS, *_UNNEEDED]


def snake(name):
    return _NAMES.get(name) or re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()


def _number(value):
    """A number as the user wrote it: Keras keeps float32, 0.001 as 0.0010000000474974513."""
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    if isinstance(value, (list, tuple, np.ndarray)):
        return [_number(each) for each in value]
    if hasattr(value, "numpy"):
        value = value.numpy()
    if isinstance(value, (int, np.integer)):
        return int(value)
    if isinstance(value, (float, np.floating)):
        is_float32 = float(np.float32(value)) == float(value)
        return float(str(np.float32(value))) if is_float32 else float(value)
    return value


def _defaults(kind):
    return {name: parameter.default for name, parameter in
            inspect.signature(kind.__init__).parameters.items()
            if parameter.default is not inspect.Parameter.empty}


def _arguments(what, thing, config, known):
    """The arguments of a Keras object that a job file has; raises if another is not its default."""
    kind = type(thing)
    defaults = _defaults(kind)
    required = _REQUIRED.get(kind.__name__, {})
    fields = {}
    for name, value in config.items():
        if name in known:
            if value is not None and value != []:
                fields[name] = _number(value)
        elif name in required:
            if value != required[name]:
                raise NotSupported(f"{what}: {name} must be {required[name]}")
        elif name not in _IGNORED and value is not None and value != defaults.get(name, value):
            raise NotSupported(f"{what}: a job file has no argument '{name}' "
                               f"(it is {value!r}, the default is {defaults[name]!r})")
    return fields


def _refuse_unknown(what, thing, known, reason=""):
    name = type(thing).__name__ if not inspect.isfunction(thing) else thing.__name__
    if name in known and type(thing).__module__.split(".")[0] == "keras":
        return name
    reason = reason or f"a job file has {', '.join(sorted(map(snake, known)))}"
    raise NotSupported(f"{what} {name} is not supported: {reason}")


# ------------------------------------------------------------------------------ losses and metrics


def reduction_of(loss, what):
    """The reduction of a loss, an object, which is `what` in errors.

    Without weights of examples, mean_with_sample_weight is sum_over_batch_size.
    """
    reduction = getattr(loss, "reduction", "sum_over_batch_size")
    if reduction not in ("sum_over_batch_size", "mean", "sum", DIVIDED_BY_WEIGHTS):
        raise NotSupported(f"{what}: reduction is {reduction!r}; a job has sum_over_batch_size and sum")
    return reduction


def loss_field(loss):
    """The job's loss for compile's `loss` of one output."""
    if isinstance(loss, str):
        return loss
    if inspect.isfunction(loss):
        if getattr(loss, "__module__", "").startswith("keras."):
            return loss.__name__
        raise NotSupported(f"loss {loss.__name__}: a Python function cannot run on the cluster; "
                           f"use one of Keras's losses")
    name = _refuse_unknown("loss", loss, _LOSSES)
    reduction = reduction_of(loss, f"loss {name}")
    # get_config does not have all arguments of all losses (Huber's delta).
    config = {**loss.get_config(), **getattr(loss, "_fn_kwargs", {})}
    fields = _arguments(f"loss {name}", loss, config, _LOSSES[name])
    if isinstance(fields.get("axis"), int):
        fields["axis"] = [fields["axis"]]
    if reduction == "sum":
        fields["reduction"] = reduction
    return {"name": snake(name), **fields}


def needs_whole_batches(losses):
    """True if a loss of the job is computed over all examples of a batch together."""
    for loss in losses if isinstance(losses, list) else [losses]:
        loss = {"name": loss} if isinstance(loss, str) else loss
        if snake(loss["name"]) in _LOSSES_OF_BATCHES or "ignore_class" in loss or \
                loss.get("reduction") == "sum":
            return True
    return False


def is_only_loss(metric):
    """True for a loss of Keras, an object or a function, that is no metric of a job."""
    if isinstance(metric, keras.losses.Loss):
        return type(metric).__module__.startswith("keras.") and type(metric).__name__ not in _METRICS
    return inspect.isfunction(metric) and metric.__module__ == keras.losses.huber.__module__ and \
        metric.__name__ not in map(snake, _METRICS)


def metric_fields(metric, shape):
    """The entries in the job's metrics for one of compile's metrics. Their name is Keras's.

    shape: of the output. A metric that is a vector has an entry for each element, NAME[i].
    """
    thresholds = getattr(metric, "thresholds", None)
    if type(metric).__name__ in _OF_THRESHOLDS and isinstance(thresholds, (list, tuple)) and \
            len(thresholds) > 1:
        one = metric_field(metric, {"thresholds": None})
        return [{**one, "as": f"{metric.name}[{i}]", "thresholds": _number(each)}
                for i, each in enumerate(thresholds)]
    vector = _VECTORS.get(type(metric).__name__)
    if vector and getattr(metric, vector) is None:
        one = metric_field(metric, {vector: None})
        return [{**one, "as": f"{metric.name}[{i}]", "class_id": i} for i in range(shape[-1])]
    return [metric_field(metric)]


def distinct(fields):
    """The metrics of an output; of those with one name the later ones are NAME_1, NAME_2 ..., as in Keras."""
    counts, named = {}, []
    for field in fields:
        name = field["as"]
        counts[name] = count = counts.get(name, -1) + 1
        named.append({**field, "as": f"{name}_{count}"} if count else field)
    return named


def with_vectors(values):
    """{name: value} with an array in place of the elements NAME[i] of a vector."""
    joined = {}
    for name, value in values.items():
        element = re.fullmatch(r"(.*)\[\d+\]", name)
        if element:
            joined.setdefault(element[1], []).append(value)
        else:
            joined[name] = value
    return {name: np.array(value) if isinstance(value, list) else value
            for name, value in joined.items()}


def metric_field(metric, without=()):
    """The entry in the job's metrics for one of compile's metrics, without some of its arguments."""
    if isinstance(metric, str):
        if metric.lower() in ("accuracy", "acc"):
            return {"name": "accuracy", "as": metric}
        found = keras.metrics.get(metric)
        if inspect.isfunction(found):
            return {"name": found.__name__, "as": metric}
        field = metric_field(found)
        field["as"] = metric
        return field
    if inspect.isfunction(metric):
        if getattr(metric, "__module__", "").startswith("keras."):
            return {"name": metric.__name__, "as": metric.__name__}
        raise NotSupported(f"metric {metric.__name__}: a Python function cannot run on the "
                           f"cluster; use one of Keras's metrics")
    name = _refuse_unknown("metric", metric, _METRICS)
    config = {**metric.get_config(), **getattr(metric, "_fn_kwargs", {})}
    config = {key: value for key, value in config.items() if key not in without}
    fields = _arguments(f"metric {name}", metric, config, _METRICS[name])
    return {"name": snake(name), **fields, "as": metric.name}


def for_outputs(what, value, output_names):
    """compile's value for each output: of a list, a dict, or one value for all."""
    if isinstance(value, dict):
        unknown = set(value) - set(output_names)
        if unknown:
            raise NotSupported(f"{what}: the model has no output {sorted(unknown)[0]!r}; its "
                               f"outputs are {', '.join(output_names)}")
        return [value.get(name) for name in output_names]
    if isinstance(value, (list, tuple)):
        if len(value) != len(output_names):
            raise NotSupported(f"{what} has {len(value)} entries, the model has "
                               f"{len(output_names)} outputs")
        return list(value)
    return [value] * len(output_names)


def loss_weights(compiled, output_names):
    """compile's weight of each output, or None."""
    weights = compiled.get("loss_weights")
    if isinstance(weights, dict) and isinstance(compiled.get("loss"), (list, tuple)) and \
            list(output_names) != sorted(output_names):
        raise NotSupported("loss is a list and loss_weights a dictionary, of which Keras takes the weights "
                           "in the order of the sorted names: give both as lists, or both as dictionaries")
    return for_outputs("loss_weights", weights, output_names)


def metrics_of_outputs(what, metrics, output_names):
    """A list of compile's metrics for each output."""
    if not isinstance(metrics, (list, tuple, dict)):
        metrics = [metrics]
    if len(output_names) > 1:
        if isinstance(metrics, (list, tuple)) and metrics and len(metrics) != len(output_names):
            raise NotSupported(f"{what} has {len(metrics)} entries, the model has "
                               f"{len(output_names)} outputs; give a list for each output")
        return [metrics_of_outputs(what, each or [], output_names[:1])[0]
                for each in for_outputs(what, metrics or None, output_names)]
    if isinstance(metrics, dict):
        metrics = for_outputs(what, metrics, output_names)[0] or []
    if isinstance(metrics, (list, tuple)) and len(metrics) == 1 \
            and isinstance(metrics[0], (list, tuple)):
        metrics = metrics[0]
    return [list(metrics) if isinstance(metrics, (list, tuple)) else [metrics]]


def objective_fields(compiled, output_names, shapes):
    """`loss`, `loss_weights` and the metrics of the job, from compile's arguments.

    shapes: of the outputs, which all have a loss.
    """
    losses = for_outputs("loss", compiled.get("loss"), output_names)
    is_one = len(output_names) == 1
    fields = {"loss": loss_field(losses[0]) if is_one else [loss_field(each) for each in losses]}
    for what in ("metrics", "weighted_metrics"):
        if compiled.get(what):
            metrics = [distinct(field for each in several for field in metric_fields(each, shape))
                       for several, shape in zip(
                           metrics_of_outputs(what, compiled[what], output_names), shapes)]
            fields[what] = metrics[0] if is_one else metrics
    if compiled.get("loss_weights") is not None:
        fields["loss_weights"] = [1 if each is None else _number(each)
                                  for each in loss_weights(compiled, output_names)]
    return fields


# ------------------------------------------------------------------------- optimizers and schedules


def accumulated(optimizer, batch_size, examples, strategy, others):
    """(the size of the batch of an update, batches_per_update) with gradient_accumulation_steps.

    (batch_size, None) without. others: steps_per_epoch and batches_per_update of fit.
    """
    count = getattr(optimizer, "gradient_accumulation_steps", None)
    if not count:
        return batch_size, None
    what = f"the optimizer has gradient_accumulation_steps={count}"
    if strategy != "sync" or any(each is not None for each in others):
        raise NotSupported(f"{what}: it is not supported with a strategy other than 'sync', with "
                           f"steps_per_epoch and with batches_per_update, which means the same")
    if examples % (count * batch_size):
        raise NotSupported(f"{what}, and {examples} examples are no multiple of {count} batches of "
                           f"{batch_size}: an update would go on in the next epoch")
    return count * batch_size, count


def own_schedule(optimizer):
    """The optimizer's schedule if it is of a class of the script; else None."""
    schedule = getattr(optimizer, "_learning_rate", None)
    is_own = isinstance(schedule, keras.optimizers.schedules.LearningRateSchedule) and \
        type(schedule).__module__.split(".")[0] != "keras"
    return schedule if is_own else None


def rates_of_updates(schedule, first, updates):
    """The rates of `updates` updates from `first` on by a schedule of a class of the script.

    The schedule is a function of the update, so it can be called in advance: its cost is one call for
    each update.
    """
    name = type(schedule).__name__
    if updates > _MOST_RATES:
        raise NotSupported(f"learning rate schedule {name} is a class of the script, which is called "
                           f"for each of the {updates} updates before the job: at most {_MOST_RATES}; "
                           f"use a schedule of keras.optimizers.schedules, or fit several times")
    rates = []
    for update in range(first, first + updates):
        rate = schedule(keras.ops.convert_to_tensor(update, dtype="int32"))
        rates.append(float(np.float32(keras.ops.convert_to_numpy(rate))))
        if not math.isfinite(rates[-1]):
            raise NotSupported(f"learning rate schedule {name} returns {rates[-1]} for update {update}: "
                               f"return a finite number")
    return rates


def _schedule(schedule):
    name = _refuse_unknown("learning rate schedule", schedule, _SCHEDULES,
                           f"known are {', '.join(sorted(_SCHEDULES))}")
    config = schedule.get_config()
    fields = _arguments(f"schedule {name}", schedule, config, _SCHEDULES[name])
    if fields.get("warmup_steps") == 0:
        del fields["warmup_steps"]
    return {"name": snake(name), **fields}


@contextlib.contextmanager
def serializable(optimizer):
    """While it is entered, a schedule of the script has a get_config, which Keras asks for."""
    schedule = own_schedule(optimizer)
    if schedule is None:
        yield
        return
    vars(schedule)["get_config"] = dict
    try:
        yield
    finally:
        del vars(schedule)["get_config"]


def _without_decay(optimizer, weights):
    """Of the variables that the optimizer excludes from weight decay: patterns of their names."""
    if not getattr(optimizer, "_exclude_from_weight_decay", None) and \
            not getattr(optimizer, "_exclude_from_weight_decay_pattern", None):
        return []
    return [f"^{re.escape(name)}$"
            for name, (variable, _) in weights.items()
            if getattr(variable, "trainable", False) and not optimizer._use_weight_decay(variable)]


def _check_constraints(weights):
    for variable, _ in weights.values():
        constraint = getattr(variable, "constraint", None)
        if constraint is not None and not type(constraint).__module__.startswith("keras."):
            raise NotSupported(f"weight {variable.path}: its constraint is Python code of the script, "
                               f"which cannot run on the cluster; use MaxNorm, MinMaxNorm, NonNeg or "
                               f"UnitNorm")


def precision_of(model):
    """The job's precision, from the dtype policies of the layers."""
    policies = {layer.dtype_policy.name: layer for layer in model._flatten_layers()}
    mixed = [policy for policy in policies if policy in MIXED]
    for policy, layer in policies.items():
        # Layers that look up texts and ids have whole numbers.
        if policy not in ("float32", *MIXED) and not policy.startswith(("int", "uint", "string", "bool")):
            raise NotSupported(f"layer {layer.name} has the dtype policy {policy}; use float32, "
                               f"{' or '.join(MIXED)}")
    if len(mixed) > 1:
        raise NotSupported(f"layer {policies[mixed[0]].name} has the dtype policy {mixed[0]} and layer "
                           f"{policies[mixed[1]].name} {mixed[1]}; a job has one precision: use one of them")
    return mixed[0] if mixed else "float32"


def optimizer_field(optimizer, weights):
    """The job's optimizer. It starts anew: Keras's own state of the optimizer is not used.

    weights: of model_files.named_weights.
    """
    name = _refuse_unknown("optimizer", optimizer, _OPTIMIZERS)
    _check_constraints(weights)
    with serializable(optimizer):
        config = optimizer.get_config()
    what = f"optimizer {name}"
    schedule = getattr(optimizer, "_learning_rate", None)
    rate = config.pop("learning_rate")
    config.pop("loss_scale_factor")  # Keras divides the gradient by it again; a job has float32.
    if config.pop("gradient_accumulation_steps") and (not isinstance(rate, float) or
                                                      config.get("use_ema")):
        raise NotSupported(f"{what}: gradient_accumulation_steps with use_ema, or with a schedule of the "
                           f"learning rate, which Keras asks with the number of batches, is not "
                           f"supported; use fit(strategy='sync', batches_per_update=...)")
    if own_schedule(optimizer):
        rate = {}  # rates_of_updates has it.
    elif isinstance(schedule, keras.optimizers.schedules.LearningRateSchedule):
        rate = _schedule(schedule)
    elif not isinstance(rate, float):
        raise NotSupported(f"{what}: learning_rate is a Python function, which cannot run on the "
                           f"cluster; use a schedule of keras.optimizers.schedules")
    fields = _arguments(what, optimizer, config, _EVERY_OPTIMIZER + _OPTIMIZERS[name])
    excluded = _without_decay(optimizer, weights)
    if excluded:
        fields["exclude_from_weight_decay"] = excluded
    if not fields.get("use_ema"):
        fields = {key: value for key, value in fields.items() if not key.startswith("ema_")}
    return {"name": snake(name), "learning_rate": rate if isinstance(rate, dict) else
            _number(rate), **fields}


# --------------------------------------------------------------------------------------- callbacks


def callback_fields(callbacks, is_computed_here):
    """(the job's callbacks, Keras's callbacks that run here; a Hook needs the weights of each epoch).

    is_computed_here: whether the job does not know what a callback monitors.
    """
    sets_rate = any(map(may_set_rate, callbacks or []))
    keeps_rate = ""

    def runs_here(stopping):
        """Another job, with the rate that a callback has set, would count its patience anew."""
        if is_computed_here(stopping.monitor):
            if stopping.mode == "auto":
                raise NotSupported(f"callback EarlyStopping: mode must be 'min' or 'max' for "
                                   f"{stopping.monitor}, whose result is computed here")
            return True
        return sets_rate and (stopping.mode != "auto" or stopping.monitor in ("loss", "val_loss"))

    fields, local = [], []
    for callback in callbacks or []:
        if is_own(callback):
            local.append(Hook(callback))
            continue
        name = _refuse_unknown("callback", callback, CALLBACKS,
                               f"known are {', '.join(sorted(CALLBACKS))}")
        if name in _HOOKS:
            for argument, needed in _HOOKS[name].items():
                if getattr(callback, argument) != needed:
                    raise NotSupported(f"callback {name}: {argument} must be {needed!r}: "
                                       f"its files are written at the ends of epochs")
            local.append(Hook(callback))
        elif name in _OBSERVERS:
            local.append(callback)
        elif name == "EarlyStopping" and runs_here(callback):
            local.append(Hook(callback))
        elif name not in _UNNEEDED:
            field = {"name": snake(name)}
            for argument in _CALLBACKS[name]:
                value = getattr(callback, argument, None)
                # Keras keeps the absolute value until the first epoch and its negative from then on.
                if argument == "min_delta":
                    value = abs(value)
                if value is not None:
                    field[argument] = _number(value)
            fields.append(field)
            if name == "ReduceLROnPlateau":
                local.append(Plateau(callback))
                keeps_rate = "which ReduceLROnPlateau sets: use one of them"
            elif name == "EarlyStopping":
                local.append(Stopping(callback))
                keeps_rate = (f"and EarlyStopping monitors {callback.monitor}: give it a mode of 'min' "
                              f"or 'max', since it runs here then")
        if name == "LearningRateScheduler":
            keeps_rate = "which LearningRateScheduler sets: use one of them"
    keep_rate(local, keeps_rate)
    return fields, local


def scheduled_rates(callbacks, rate, epochs):
    """The learning rate of each of `epochs` by the LearningRateSchedulers; None without any.

    A scheduler's function gets the epoch and the rate before it, so it can be asked in advance.
    """
    schedulers = [each for each in callbacks or []
                  if isinstance(each, keras.callbacks.LearningRateScheduler)]
    if not schedulers:
        return None
    if not isinstance(rate, float):
        raise NotSupported("callback LearningRateScheduler: the optimizer has a schedule already")
    rates = []
    for epoch in epochs:
        for scheduler in schedulers:
            try:
                rate = scheduler.schedule(epoch, rate)
            except TypeError:
                rate = scheduler.schedule(epoch)
            rate = float(np.float32(rate))
        rates.append(rate)
    return rates


def schedule_of_rates(rates, updates, first):
    """The job's schedule for a rate for each `updates` updates, from update `first` on."""
    changes = [i for i in range(1, len(rates)) if rates[i] != rates[i - 1]]
    if not changes:
        return _number(rates[0])
    return {"name": "piecewise_constant_decay",
            "boundaries": [first + i * updates - 1 for i in changes],
            "values": [_number(rates[i]) for i in [0, *changes]]}
