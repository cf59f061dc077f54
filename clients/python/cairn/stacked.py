"""Operations on what is stacked in front of the axis of the examples, as by ops.stack(tensors, axis=0).

In the job the two axes have changed places.
"""

import dataclasses

from cairn.tensors import EXAMPLES, STACKED, Tensor, tensors_of

_ALL = {"class_name": "__slice__", "config": {}}
_REDUCTIONS = ("Mean", "Sum", "Max", "Min", "Average", "Amax", "Amin", "Var", "Std", "Logsumexp")
# Of each number: results are stacked as the arguments are.
_ELEMENTWISE = ("Add", "Subtract", "Multiply", "TrueDivide", "Divide", "Maximum", "Minimum", "Square",
                "Power", "Abs", "Absolute", "Negative", "Relu", "Sigmoid", "Tanh", "Exp", "Log", "Sqrt")


def _is_slice(value):
    return isinstance(value, dict) and value.get("class_name") == "__slice__"


def _plain(value):
    is_stacked = isinstance(value, Tensor) and value.kind == STACKED
    return dataclasses.replace(value, kind=EXAMPLES) if is_stacked else value


def _stacked(tensor):
    return dataclasses.replace(tensor, kind=STACKED)


def has_stacked(op):
    return any(each.kind == STACKED for each in tensors_of(op.arguments))


def translated(op, family):
    """family(op), for an operation with such arguments."""
    axis = op.config.get("axis")
    axis = axis[0] if isinstance(axis, (list, tuple)) and len(axis) == 1 else axis
    if op.kind == "GetItem":
        tensor, index = op.arguments
        index = list(index) if isinstance(index, list) else [index]
        first, examples, rest = index[0], (index + [_ALL])[1], index[2:]
        if not _is_slice(examples) or any(value is not None for value in examples["config"].values()) or \
                not isinstance(first, int) and not _is_slice(first):
            op.fails("of single examples, or without the axis of the stack")
        op.arguments = [_plain(tensor), [_ALL, first, *rest]]
        return family(op) if isinstance(first, int) else _stacked(family(op))
    if axis == 0 and op.kind in (*_REDUCTIONS, "Softmax"):
        op.arguments = list(map(_plain, op.arguments))
        op.config = {**op.config, "axis": 1}
        keeps = op.kind == "Softmax" or op.config.get("keepdims")
        return _stacked(family(op)) if keeps else family(op)
    if op.kind in _ELEMENTWISE:
        rank = max(each.rank for each in tensors_of(op.arguments))
        op.arguments = [
            op.reshape(each, [1, *each.shape[:each.rank]]) if isinstance(each, Tensor) and
            each.kind == EXAMPLES and each.rank == rank - 1 else _plain(each) for each in op.arguments]
        return _stacked(family(op))
    return op.fails("of what is stacked in front of the axis of the examples: stack it behind that, as "
                    "with axis=1")
