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


class Output(typing.NamedTuple):
    """An output of the job's model."""

    key: tuple  # Outputs with the same key are one.
    compute: typing.Callable  # Of the symbolic labels and the symbolic output of the script's model.
    labels: typing.Callable  # Of an array of labels, and the mask of the output or None.
    loss: dict  # The job's.
    metrics: list  # The job's, without their names in reports.


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


def loss_takes_mask(loss):
    """True if the loss of an output with a mask has a surrogate."""
    loss = keras.losses.get(loss) if isinstance(loss, str) else loss
    if loss is keras.losses.sparse_categorical_crossentropy:
        return True
    return _kind(loss) == "SparseCategoricalCrossentropy" and loss.ignore_class is None and \
        loss.reduction in ("sum_over_batch_size", "mean")


def _with_ignored(output, label_of, ignored, compute, metrics, name):
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
        if labels.ndim == len(output.shape):
            labels = labels[..., 0]
        labels = labels.astype(np.int64)
        is_left_out = labels == ignored if mask is None else ~mask
        return np.where(is_left_out, classes, labels)

    loss = {"name": "sparse_categorical_crossentropy", "from_logits": True, "ignore_class": classes}
    return Output((name, ignored), computed, labels_of, loss, metrics)


def _logits_of(loss):
    if getattr(loss, "from_logits", False):
        return lambda output: output
    epsilon = keras.config.epsilon()
    return lambda output: ops.log(ops.clip(output, epsilon, 1 - epsilon))


def _never(labels, logits):
    """The logit of a class that is never the largest and has the probability 0."""
    return 0.0 * logits[..., :1] - _FAR


def of_loss(loss, output, has_mask):
    """The Surrogate of compile's loss; None if a job has the loss.

    output: the symbolic output of the script's model.
    """
    if has_mask:
        return Surrogate([_with_ignored(output, _never, None, _logits_of(loss), [], "masked")], None)
    if not loss_needs(loss) or 0 <= loss.ignore_class < output.shape[-1]:
        return None
    if loss.reduction not in ("sum_over_batch_size", "mean"):
        raise NotSupported(f"loss {loss.name}: reduction is {loss.reduction!r}, and with ignore_class "
                           f"a job has sum_over_batch_size only")
    return Surrogate([_with_ignored(output, _never, loss.ignore_class, _logits_of(loss), [],
                                    f"logits_{loss.from_logits}")], None)


def beside_loss(loss, field, output, has_mask):
    """The Surrogate of a metric of an output whose loss has one. field: the job's metric."""
    top_k = "sparse_top_k_categorical_accuracy"
    classes = output.shape[-1]
    if field["name"] == "sparse_categorical_accuracy":
        more = {}
    elif field["name"] == top_k:
        more = {"k": min(field.get("k", 5), classes)}
    elif has_mask:
        raise NotSupported(f"metric {field['as']} of an output with a mask: a job has accuracies there")
    else:
        raise NotSupported(f"metric {field['as']} beside a loss with ignore_class={loss.ignore_class}, "
                           f"which is none of the {classes} classes: a job has accuracies, "
                           f"SparseCategoricalCrossentropy(ignore_class=...) and "
                           f"MeanIoU(ignore_class=...) there")
    [one] = of_loss(loss, output, has_mask).outputs
    metrics = [{"name": field["name"], **more}]
    if not has_mask:
        return Surrogate([one._replace(metrics=metrics)], None)
    # The share of the labels that are not masked: none of these is the additional class.
    metrics.append({"name": top_k, "k": classes})
    return Surrogate([one._replace(metrics=metrics)],
                     lambda values: values[0] / values[1] if values[1] else 0.0)


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
