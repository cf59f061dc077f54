"""The states of metrics of the script: what update_state adds to each number of a variable."""

import itertools
import math
import typing

import keras
import numpy as np

from cairn.errors import NotSupported
from cairn.tensors import SUM

ops = keras.ops
_MOST_NUMBERS = 100  # Of a state of a metric.


class StatefulMetric(typing.NamedTuple):
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


def numbers_of(value, shape):
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
        return numbers_of(inputs[0], shape)
    if kind == "Negative":
        return [-each for each in numbers_of(inputs[0], shape)]
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
