"""Losses and metrics of Keras with arguments that a job does not have, or of outputs with a mask.

A job computes each of them from another tensor, with other labels: an additional output of its model.
"""

import typing

import keras
import numpy as np

from cairn.errors import NotSupported

ops = keras.ops
_FAR = 1e9  # Its exponential is infinite, and that of its negative is 0.
_IOUS = ("MeanIoU", "IoU")
_TOP_K = "sparse_top_k_categorical_accuracy"


class Output(typing.NamedTuple):
    """An output of the job's model."""

    key: tuple  # Outputs with the same key are one.
    compute: typing.Callable  # Of the symbolic labels and the symbolic output of the script's model.
    labels: typing.Callable  # Of an array of labels, and the mask of the output if takes_mask.
    loss: dict  # The job's.
    metrics: list  # The job's, without their names in reports.
    takes_mask: bool = False


class Surrogate(typing.NamedTuple):
    """What stands in a job for a loss or metric."""

    outputs: list
    result: typing.Callable  # Of the values of all metrics of the outputs; None if it is the only one.


def _kind(thing):
    """The name of a class of Keras; empty for others."""
    return type(thing).__name__ if type(thing).__module__.split(".")[0] == "keras" else ""


# ---------------------------------------------------------------------------------------- ignored classes


def _ignored_class(thing):
    return getattr(thing, "ignore_class", None)


def loss_needs(loss):
    """True if a job does not have the loss, but a surrogate."""
    return _kind(loss) == "SparseCategoricalCrossentropy" and _ignored_class(loss) is not None


def _classes_of(labels, output):
    """Class numbers of labels that are such numbers, perhaps with an axis of length 1, or one-hot."""
    if labels.ndim == len(output.shape):
        labels = labels[..., 0] if labels.shape[-1] == 1 else labels.argmax(-1)
    return labels.astype(np.int64)


def _with_ignored(output, label_of, ignored, compute, metrics, name, takes_mask=False):
    """An Output with one class more than the output: masked labels and `ignored` ones belong to it.

    compute: of the output, the logits of its classes. label_of: the logit of the additional class, of
    the symbolic labels.
    """
    classes = output.shape[-1]

    def computed(labels, output):
        logits = compute(output)
        if len(labels.shape) == len(output.shape):
            labels = ops.squeeze(labels, -1)
        return ops.concatenate([logits, label_of(ops.expand_dims(labels, -1), logits)], axis=-1)

    def labels_of(labels, mask):
        labels = _classes_of(labels, output)
        for is_left_out in (None if ignored is None else labels == ignored,
                            None if mask is None else ~mask):
            if is_left_out is not None:
                labels = np.where(is_left_out, classes, labels)
        return labels

    loss = {"name": "sparse_categorical_crossentropy", "from_logits": True, "ignore_class": classes}
    return Output((name, ignored), computed, labels_of, loss, metrics, takes_mask)


def _logits_of(loss):
    if getattr(loss, "from_logits", False):
        return lambda output: output
    epsilon = keras.config.epsilon()
    return lambda output: ops.log(ops.clip(output, epsilon, 1 - epsilon))


def _never(labels, logits):
    """The logit of a class that is never the largest and has the probability 0."""
    return 0.0 * logits[..., :1] - _FAR


def of_loss(loss, output):
    """The Surrogate of compile's loss; None if a job has the loss.

    output: the symbolic output of the script's model.
    """
    if not loss_needs(loss) or 0 <= loss.ignore_class < output.shape[-1]:
        return None
    if loss.reduction == "sum":
        raise NotSupported(f"loss {loss.name}: reduction is 'sum', and with ignore_class "
                           f"a job has sum_over_batch_size only")
    return Surrogate([_with_ignored(output, _never, loss.ignore_class, _logits_of(loss), [],
                                    f"logits_{loss.from_logits}")], None)


def beside_loss(loss, field, output):
    """The Surrogate of a metric of an output whose loss has one. field: the job's metric."""
    if field["name"] == "sparse_categorical_accuracy":
        more = {}
    elif field["name"] == _TOP_K:
        more = {"k": min(field.get("k", 5), output.shape[-1])}
    else:
        raise NotSupported(f"metric {field['as']} beside a loss with ignore_class={loss.ignore_class}, "
                           f"which is none of the {output.shape[-1]} classes: a job has accuracies, "
                           f"SparseCategoricalCrossentropy(ignore_class=...) and "
                           f"MeanIoU(ignore_class=...) there")
    [one] = of_loss(loss, output).outputs
    return Surrogate([one._replace(metrics=[{"name": field["name"], **more}])], None)


def _of_iou(metric, output):
    if not metric.sparse_y_true or metric.sparse_y_pred:
        raise NotSupported(f"metric {metric.name}: with ignore_class, a job needs sparse_y_true=True "
                           f"and sparse_y_pred=False")
    if metric.num_classes != output.shape[-1]:
        raise NotSupported(f"metric {metric.name}: num_classes is {metric.num_classes}, and the "
                           f"output has {output.shape[-1]}")
    targets = getattr(metric, "target_class_ids", None)
    targets = range(metric.num_classes) if targets is None else targets

    def where_ignored(labels, logits):
        # An ignored label is of the additional class, which is then predicted, too.
        is_ignored = ops.cast(ops.equal(labels, float(metric.ignore_class)), "float32")
        return 2 * _FAR * is_ignored - _FAR

    iou = {"name": "iou", "num_classes": metric.num_classes + 1,
           "target_class_ids": [int(each) for each in targets]}
    return Surrogate([_with_ignored(output, where_ignored, metric.ignore_class, lambda each: each,
                                    [iou], "iou")], None)


def entropy_of(metric):
    """SparseCategoricalCrossentropy(ignore_class=...) as a function of labels and predictions.

    Keras's metric, unlike the loss, counts an ignored label as one whose entropy is 0.
    """
    def entropy(labels, output):
        if len(labels.shape) == len(output.shape):
            labels = ops.squeeze(labels, -1)
        counts = ops.cast(ops.not_equal(labels, float(metric.ignore_class)), "float32")
        return counts * keras.losses.sparse_categorical_crossentropy(
            labels * counts, output, from_logits=metric.from_logits)

    return entropy


def is_entropy(metric):
    return _kind(metric) == "SparseCategoricalCrossentropy" and _ignored_class(metric) is not None


# -------------------------------------------------------------------------------------------------- masks

# Keras leaves masked positions out of losses, and of metrics that are means of a function's values.
_ACCURACIES = ("SparseCategoricalAccuracy", "CategoricalAccuracy", "SparseTopKCategoricalAccuracy",
               "TopKCategoricalAccuracy")


def takes_mask(metric):
    """True if Keras leaves masked positions out of the metric, an object."""
    return isinstance(metric, keras.metrics.MeanMetricWrapper)


def _of_valid(key, values, mask, loss, metrics):
    """An Output of a number for each position, whose labels are 1, and 0 at masked positions.

    values: of the symbolic labels and output.
    """
    def compute(labels, output):
        numbers = values(labels, output)
        if tuple(numbers.shape[1:]) != tuple(mask.shape[1:]):
            raise NotSupported(f"the output has a mask for each of {tuple(mask.shape[1:])} positions, "
                               f"and the loss or metric has values of shape "
                               f"{tuple(numbers.shape[1:])}: give labels of the output's shape")
        return ops.expand_dims(numbers, -1)

    return Output(key, compute, lambda _, valid: valid[..., None].astype(np.float32), loss, metrics,
                  takes_mask=True)


def _with_masked(output, metrics):
    """An Output with two classes more than the output.

    Labels that are no class of the output belong to the first one, and masked ones to the last one.
    """
    classes = output.shape[-1]

    def computed(_, output):
        return ops.concatenate([output, 0.5 * _never(None, output), _never(None, output)], axis=-1)

    def labels_of(labels, mask):
        labels = _classes_of(labels, output)
        labels = np.where((labels < 0) | (labels >= classes), classes, labels)
        return np.where(mask, labels, classes + 1)

    loss = {"name": "sparse_categorical_crossentropy", "from_logits": True,
            "ignore_class": classes + 1}
    return Output(("classes",), computed, labels_of, loss, metrics, takes_mask=True)


def of_masked_loss(loss, values, output, mask):
    """The Surrogate of the loss of an output with a mask.

    loss: an object. values: of the symbolic labels and output, the loss of each position.
    """
    if loss.reduction == "sum":
        # With labels of 0 and 1, the sum of the outputs with a label of 1.
        job_loss = {"name": "wasserstein", "reduction": "sum"}
    elif getattr(loss, "fn", None) is keras.losses.sparse_categorical_crossentropy:
        return Surrogate([_with_ignored(output, _never, _ignored_class(loss), _logits_of(loss), [],
                                        "masked", takes_mask=True)], None)
    else:
        # 1 - sum(y p) / sum(y): with p = 1 - v the mean of v where y is 1, in a whole batch.
        job_loss = {"name": "tversky", "alpha": 1.0, "beta": 0.0}
        given = values

        def values(labels, output):
            return 1.0 - given(labels, output)

    return Surrogate([_of_valid(("masked loss",), values, mask, job_loss, [])], None)


def of_masked_metric(metric, name, values, output, mask):
    """The Surrogate of a metric for which takes_mask is True, with this name among the output's.

    values: of the symbolic labels and output, the metric of each position.
    """
    mean = [{"name": "wasserstein"}]
    if _kind(metric) in _ACCURACIES:
        accuracy = {"name": "sparse_categorical_accuracy"}
        if "TopK" in _kind(metric):
            accuracy = {"name": _TOP_K, "k": min(metric._fn_kwargs["k"], output.shape[-1])}
        # The share of the labels that are not masked: none of these is the last class.
        valid = {"name": _TOP_K, "k": output.shape[-1] + 1}
        outputs = [_with_masked(output, [accuracy, valid])]
    else:
        def position_values(labels, output):
            numbers = values(labels, output)
            axes = list(range(len(mask.shape), len(numbers.shape)))
            return ops.mean(numbers, axis=axes) if axes else numbers

        def ones(labels, output):
            return ops.ones_like(position_values(labels, output))

        outputs = [_of_valid(("masked", name), position_values, mask, mean[0], mean),
                   _of_valid(("valid",), ones, mask, mean[0], mean)]
    return Surrogate(outputs, lambda values: values[0] / values[1] if values[1] else 0.0)


# ---------------------------------------------------------------------------------------------------- AUC

_COUNTS = ("true_positives", "false_positives", "true_negatives", "false_negatives")


def _has_uneven_thresholds(metric):
    return metric._init_from_thresholds and not metric._thresholds_distributed_evenly


def _of_auc(metric, output):
    labels, is_uneven = output.shape[-1], _has_uneven_thresholds(metric)
    if metric.multi_label and (len(output.shape) != 2 or metric.num_labels not in (None, labels)):
        raise NotSupported(f"metric {metric.name}: multi_label needs an output of shape "
                           f"(None, {metric.num_labels or 'num_labels'}), and it is {output.shape}")
    if metric.multi_label and is_uneven:
        raise NotSupported(f"metric {metric.name}: with multi_label, Keras computes thresholds of equal "
                           f"distances only")
    if metric.label_weights is not None and not metric.multi_label:
        raise NotSupported(f"metric {metric.name}: a job has label_weights with multi_label=True only")
    thresholds = [float(each) for each in metric.thresholds[1:-1]]
    fields = [{"name": count, "thresholds": [each]} for each in thresholds for count in _COUNTS]
    if not is_uneven:
        fields = [{"name": "auc", "num_thresholds": metric.num_thresholds,
                   "curve": metric.curve.value, "summation_method": metric.summation_method.value}]

    def column(columns):
        def compute(_, tensor):
            tensor = ops.sigmoid(tensor) if metric._from_logits else tensor
            return tensor if columns is None else tensor[:, columns]

        def labels_of(array, _):
            array = array.reshape(len(array), *output.shape[1:])
            return array if columns is None else array[:, columns]

        return Output(("auc", columns and columns.start, metric._from_logits), compute, labels_of,
                      {"name": "mean_squared_error"}, fields)

    def of_counts(values):
        """Keras's result for what the metric has counted at each threshold."""
        tp, fp, tn, fn = np.reshape(values, (len(thresholds), len(_COUNTS))).T
        positives, negatives = tp[0] + fn[0], fp[0] + tn[0]
        # With the threshold before the first one all predictions are positive, behind the last one none.
        for name, first, counts, last in zip(_COUNTS, (positives, negatives, 0, 0), (tp, fp, tn, fn),
                                             (0, 0, negatives, positives)):
            getattr(metric, name).assign([first, *counts, last])
        return float(metric.result())

    def mean(values):
        return float(np.average(values, weights=None if metric.label_weights is None else
                                keras.ops.convert_to_numpy(metric.label_weights)))

    columns = [slice(i, i + 1) for i in range(labels)] if metric.multi_label else [None]
    return Surrogate(list(map(column, columns)), of_counts if is_uneven else mean)


def metric_needs(metric):
    """True if a job does not have the metric, but a surrogate."""
    if _kind(metric) == "AUC":
        return metric.multi_label or metric.label_weights is not None or metric._init_from_thresholds
    return _kind(metric) in _IOUS and _ignored_class(metric) is not None


def of_metric(metric, output):
    """The Surrogate of a metric for which metric_needs is True."""
    return _of_auc(metric, output) if _kind(metric) == "AUC" else _of_iou(metric, output)
