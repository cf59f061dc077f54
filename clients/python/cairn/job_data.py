"""The data of a job: the arrays of the model of the script, of its labels and of its weights."""

import numpy as np

from cairn import translation
from cairn.data import as_arrays, is_files, shape_of
from cairn.errors import NotSupported


def source_of(data, folder, name, inputs, labels, weights):
    """A job's data source; arrays are written to `folder`."""
    def written(what, arrays):
        by_array = {}  # The labels of several outputs may be one array.
        for i, each in enumerate(arrays):
            if id(each) not in by_array:
                by_array[id(each)] = data.write(folder, f"{name}_{what}{i}", each)
        files = [by_array[id(each)] for each in arrays]
        return files[0] if len(files) == 1 else files

    source = {"npy": {"features": written("x", inputs)}}
    if labels:
        source["npy"]["labels"] = written("y", labels)
    if weights:
        source["sample_weight"] = written("weight", weights)
    return source


def rows_of(inputs, steps, batch_size):
    """The number of examples in the first `steps` batches, or all if there are fewer.

    batch_size: None: the batches divide the examples, as in Keras.
    """
    examples = shape_of(inputs[0])[0]
    return min(int(steps) * int(batch_size), examples) if batch_size else examples


def examples_of(lookups, objectives, inputs, what, y, weights):
    """(inputs, labels) of the job's model. y: as fit takes it; it is `what` in errors.

    weights: that the job's model computes with, or None.
    """
    if y is None and objectives.need_labels:
        raise NotSupported(f"{what} is missing: the loss and the metrics take it")
    labels = None if y is None else objectives.labels_of(what, y)
    examples = shape_of(inputs[0])[0]
    inputs = lookups.complete(inputs, labels, weights)
    return inputs, objectives.job_labels(labels and _labels(objectives.losses, labels), inputs, examples)


def _labels(losses, labels):
    """Class numbers as Keras takes them, (examples, 1), without the last axis."""
    def is_sparse(loss):
        name = loss["name"] if isinstance(loss, dict) else loss
        return translation.snake(name) in translation.SPARSE_LOSSES

    return [each.reshape(each.shape[:-1]) if not is_files(each) and is_sparse(loss) and
            each.ndim > 1 and each.shape[-1] == 1 else each for loss, each in zip(losses, labels)]


def class_weights(class_weight, model, labels):
    """A weight for each class: Keras's default is 1."""
    classes = int(model.output_shape[-1]) if isinstance(model.output_shape, tuple) else 0
    if classes == 1:
        classes = 2
    if labels and not is_files(labels[0]) and labels[0].dtype.kind in "iu":
        classes = max(classes, int(labels[0].max()) + 1)
    classes = max([classes, *(int(number) + 1 for number in class_weight)])
    return {str(i): float(class_weight.get(i, 1.0)) for i in range(classes)}


def classes_of(what, y, others):
    """The class of each example. others: the other arrays of the data."""
    labels = [] if y is None else as_arrays(what, y, [what])
    if not labels or any(map(is_files, labels + others)):
        raise NotSupported("class_weight with a loss or metric function, or with add_loss, needs "
                           "data and labels that are arrays")
    classes = labels[0].reshape(len(labels[0]), -1)
    return np.argmax(classes, axis=1) if classes.shape[1] > 1 else classes[:, 0].astype(int)


def weights_of_classes(class_weight, classes, weights):
    """Weights of the examples, with those of their classes: one array."""
    factors = np.array([class_weight.get(each, 1.0) for each in classes.tolist()], np.float32)
    return [factors * weights[0] if weights else factors]
