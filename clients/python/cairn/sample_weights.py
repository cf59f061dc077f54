"""fit's sample_weight: a number for each example, or weights that the job's model computes with."""

import keras
import numpy as np

from cairn.data import as_arrays, is_files, shape_of
from cairn.errors import NotSupported

ops = keras.ops


def are_for_elements(sample_weight):
    """True if fit's sample_weight is no number for each example: the job's model computes with it."""
    if isinstance(sample_weight, dict) or is_list_of_arrays(sample_weight):
        return True
    shape = np.shape(sample_weight) if isinstance(sample_weight, (list, tuple)) and \
        not is_files(sample_weight) else shape_of(sample_weight)
    return any(size != 1 for size in shape[1:])


def is_list_of_arrays(value):
    return isinstance(value, (list, tuple)) and any(
        hasattr(each, "shape") and len(each.shape) > 0 for each in value)


def weights_of(sample_weight):
    return as_arrays("sample_weight", sample_weight, ["sample_weight"])


def divided_weights(objectives, sample_weight):
    """(weights of examples, weights that the job's model computes with), of other data than training."""
    if sample_weight is None:
        return [], None
    if objectives.has_weights:
        return [], sample_weight
    if are_for_elements(sample_weight):
        raise NotSupported("sample_weight is not one number for each example, and the training has none "
                           "like it: give fit a sample_weight of this kind, of ones for example")
    return weights_of(sample_weight), None


def weights_as(shape, weights, examples, output):
    """Weights of `examples` examples, for an input of this shape; None: 1."""
    if weights is None:
        return np.broadcast_to(np.float32(1), (examples, *shape))
    if is_files(weights):
        return weights
    if weights.shape == (examples,):
        weights = weights.reshape(examples, *[1] * len(shape))
    if weights.shape[1:] in ((*shape, 1), shape[:-1] if shape[-1] == 1 else shape):
        weights = weights.reshape(len(weights), *shape)
    if len(weights) != examples or weights.ndim != len(shape) + 1 or \
            any(size not in (1, there) for size, there in zip(weights.shape[1:], shape)):
        raise NotSupported(f"sample_weight of output {output} has the shape {weights.shape}, and "
                           f"{(examples, *shape)} is needed: as of the training")
    return np.broadcast_to(weights.astype(np.float32), (examples, *shape))


def weighted(what, values, weight):
    """The values of a loss times the weights, of which one may stand for all elements of an example."""
    if weight is None:
        return values
    shape = tuple(values.shape[1:])
    weights = tuple(weight.shape[1:])
    if not values.shape:
        raise NotSupported(f"{what} returns one number for a batch, and sample_weight has one for each "
                           f"element: give its mean axis=-1")
    if weights == (*shape, 1):
        weight = ops.squeeze(weight, -1)
    elif weights == (1,):
        weight = ops.reshape(weight, (-1, *[1] * len(shape)))
    elif weights != shape:
        raise NotSupported(f"sample_weight has the shape (examples, {', '.join(map(str, weights))}), and "
                           f"{what} has values of (examples, {', '.join(map(str, shape))})")
    return values * weight
