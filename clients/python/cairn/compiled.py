"""What compile has given to a model of Keras: its arguments, and the metrics that report results."""

import keras
import numpy as np

from cairn import structure
from cairn.data import first_row, is_files
from cairn.errors import NotSupported
from cairn.sample_weights import is_list_of_arrays


def compiled_arguments(model):
    """The arguments of compile, of a model that may have been loaded; raises if it is not compiled."""
    if getattr(model, "optimizer", None) is None or not getattr(model, "compiled", False):
        raise NotSupported("the model is not compiled: call model.compile first")
    compiled = dict(model._compile_config.config)
    # Keras keeps what an earlier compile gave, and the last one did not.
    loss, metrics = model._compile_loss, model._compile_metrics
    if compiled["loss"] is None and loss is not None:
        compiled.update(loss=loss._user_loss, loss_weights=loss._user_loss_weights)
    if compiled["metrics"] is None and compiled["weighted_metrics"] is None and metrics is not None:
        compiled.update(metrics=metrics._user_metrics,
                        weighted_metrics=metrics._user_weighted_metrics)
    return compiled


def build(model, texts):
    """Builds the model around the layers that are built already. texts: its inputs."""
    if not model.built and structure.has_call(model):
        model(structure.tensor_of(texts[0][:1]))
    model.built = True


def build_metrics(model, x, inputs, y):
    """Builds Keras's metrics and losses with one example, as its own fit does: they order the results,
    and say whether more is better.

    inputs: `x` as arrays or files. y: as fit takes it.
    """
    metrics, loss = model._compile_metrics, model._compile_loss
    if y is None or not structure.has_call(model) or \
            all(each is None or each.built for each in (metrics, loss)):
        return
    rows = [structure.tensor_of(first_row(each)) for each in inputs]
    predictions = model(keras.tree.pack_sequence_as(structure.inputs_of(model, x), rows))
    labels = _first_labels(y, len(keras.tree.flatten(predictions)))
    if metrics is not None and not metrics.built:
        metrics.build(labels, predictions)
    if loss is not None and not loss.built:  # Without the values, which a job checks.
        keras.src.backend.compute_output_spec(loss, *keras.tree.map_structure(
            lambda each: keras.KerasTensor(each.shape, keras.backend.standardize_dtype(each.dtype)),
            (labels, predictions)))


def _first_labels(y, outputs):
    """The labels of the first example, in the structure of y."""
    if isinstance(y, dict):
        return {name: _first_labels(each, 1) for name, each in y.items()}
    if is_list_of_arrays(y) or isinstance(y, (list, tuple)) and is_files(y) and outputs > 1:
        return type(y)(_first_labels(each, 1) for each in y)
    return first_row(y) if is_files(y) else np.asarray(y[:1])
