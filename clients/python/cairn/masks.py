"""Masks of the steps of sequences, while layers are called with symbolic tensors.

A job has the masks of an Embedding with mask_zero and of Masking, which its layers pass on. A mask that
Python code of the script makes, or gives to a tensor that has none in the job, is an own mask: what
uses it is called with the mask as a tensor.
"""

import inspect

import keras
import numpy as np

from cairn.errors import NotSupported

ops = keras.ops
_MASKED = -1e30  # Instead of the numbers of a masked step.
# Layers of Keras that only pass the masks of their inputs, or drop them, have no such argument.
_ARGUMENT = "mask"


def of(tensor):
    """The mask of a tensor, or None."""
    return getattr(tensor, "_keras_mask", None)


def is_own(mask):
    """True if the symbolic mask, or one that it was computed of, is an own mask."""
    return any(hasattr(each, "_is_own_mask") for each in _ancestors(mask))


def _ancestors(tensor):
    seen, open_ = {}, [tensor]
    while open_:
        each = open_.pop()
        if id(each) in seen or not keras.backend.is_keras_tensor(each):
            continue
        seen[id(each)] = each
        operation, index, _ = each._keras_history
        if operation._inbound_nodes:
            open_ += operation._inbound_nodes[index].input_tensors
    return seen.values()


def give(tensor, mask):
    """Gives the tensor an own mask."""
    if not keras.backend.is_keras_tensor(mask):
        raise NotSupported(f"a mask of shape {tuple(mask.shape)} does not depend on the model's inputs")
    # A tensor of its own: the mask may be one that the job gives other tensors.
    own = ops.logical_or(mask, mask)
    own._is_own_mask = True
    tensor._keras_mask = own


def _is_same(one, other):
    """True if both symbolic masks are computed in the same way of the same tensors."""
    if one is other:
        return True
    if not (keras.backend.is_keras_tensor(one) and keras.backend.is_keras_tensor(other)):
        return np.array_equal(one, other)
    operation, index, output = one._keras_history
    that, that_index, that_output = other._keras_history
    if not operation._inbound_nodes or type(operation) is not type(that) or output != that_output or \
            isinstance(operation, keras.layers.InputLayer):
        return False
    return _are_same(operation._inbound_nodes[index].arguments, that._inbound_nodes[that_index].arguments)


def _are_same(arguments, others):
    flat, that = (keras.tree.flatten([each.args, each.kwargs]) for each in (arguments, others))
    return len(flat) == len(that) and all(map(_is_same, flat, that))


class Call:
    """A call of an own layer: its masks are arguments of `call`, and of its outputs afterwards."""

    def __init__(self, layer, args, kwargs):
        """self.args, self.kwargs: with the masks that Keras adds."""
        self._layer = layer
        signature = inspect.signature(layer.call)
        bound = signature.bind_partial(*args, **kwargs)
        given = bound.arguments
        self._first = next(iter(given.values()), None)
        tensors = {name: value for name, value in given.items() if _is_of_tensors(value)}
        for name, value in tensors.items():
            argument = _ARGUMENT if len(tensors) == 1 else f"{name}_mask"
            if argument in signature.parameters and given.get(argument) is None:
                given[argument] = keras.tree.map_structure(of, value)
        # They may have been positional, as None.
        self.args, self.kwargs = bound.args, bound.kwargs
        self._previous = given.get(_ARGUMENT)
        if self._previous is None:
            self._previous = keras.tree.map_structure(of, self._first)

    def give(self, outputs):
        """Gives the outputs the masks that Keras gives them."""
        outputs = keras.tree.flatten(outputs)
        without = [each for each in outputs if of(each) is None]
        if not self._layer.supports_masking or not without:
            return
        masks = self._layer.compute_mask(self._first, self._previous)
        for tensor, mask in zip(outputs, keras.tree.flatten(masks)):
            if mask is not None and any(tensor is each for each in without):
                give(tensor, mask)


def _is_of_tensors(value):
    flat = keras.tree.flatten(value)
    return bool(flat) and all(map(keras.backend.is_keras_tensor, flat))


def has_others(operation):
    """True if a layer of a functional model is called with other masks than its inputs have."""
    for node in operation._inbound_nodes:
        arguments = node.arguments.kwargs
        if arguments.get("attention_mask") is not None:
            return True
        given, others = ([value for name, value in arguments.items()
                          if name.endswith(_ARGUMENT) is are_masks] for are_masks in (True, False))
        known = [of(each) for each in keras.tree.flatten([node.arguments.args, others])]
        if any(keras.backend.is_keras_tensor(mask) and all(mask is not each for each in known)
               for mask in keras.tree.flatten(given)):
            return True
    return False


def _is_of_job(mask, implicit):
    """True if the mask is that which a tensor with the mask `implicit` has in the job."""
    if mask is None or implicit is None:
        return mask is implicit
    return not is_own(implicit) and _is_same(mask, implicit)


def has_own(layer, args, kwargs):
    """True if the call gives a layer of Keras, other than attention, a mask that a job does not have."""
    given = kwargs.get(_ARGUMENT)
    if not args or _ARGUMENT not in inspect.signature(layer.call).parameters or \
            given is None and any(map(keras.backend.is_keras_tensor,
                                      keras.tree.flatten([args[1:], kwargs]))):
        return False  # Keras gives no masks to a call with several arguments that are tensors.
    implicit = [of(each) for each in keras.tree.flatten(args[0])]
    masks = implicit if given is None else keras.tree.flatten(given)
    return not all(map(_is_of_job, masks, implicit))


def call_recurrent(layer, call, args, kwargs):
    """A recurrent layer with an own mask, which a Masking gives its sequence. call: Keras's call."""
    sequence, *others = args
    kwargs = dict(kwargs)
    given = kwargs.pop(_ARGUMENT, None)
    mask = of(sequence) if given is None else given
    # What the masked steps have does not count.
    sequence = ops.where(ops.expand_dims(mask, -1), sequence, _MASKED)
    outputs = call(layer, keras.layers.Masking(_MASKED)(sequence), *others, **kwargs)
    for each in keras.tree.flatten(outputs):
        if of(each) is not None:
            give(each, mask)  # That of the Masking depends on the sequence.
    return outputs


def call_softmax(layer, call, inputs, mask=None):
    """A Softmax with an own mask: what it leaves out gets a low score, and 0. call: Keras's call."""
    counts = ops.cast(of(inputs) if mask is None else mask, "float32")
    scores = inputs * counts + (counts - 1.0) * 1e9
    return call(layer, scores) * counts


def refuse(layer):
    raise NotSupported(f"{type(layer).__name__} {layer.name} is called with a mask that is not of an "
                       f"Embedding with mask_zero or of Masking: a job has such masks in losses, "
                       f"recurrent layers, attention, Softmax and GlobalAveragePooling1D")


# -------------------------------------------------------------------------------------- attention


def call_attention(layer, call, args, kwargs):
    """A MultiHeadAttention, whose own masks become its attention_mask. call: Keras's call."""
    bound = inspect.signature(layer.call).bind(*args, **kwargs)
    given = bound.arguments
    tensors = [given[name] for name in ("query", "value", "key") if given.get(name) is not None]
    masks = _own_masks(layer, given, tensors)
    mask = given.pop("attention_mask", None)
    if mask is not None and not keras.backend.is_keras_tensor(mask):
        mask = _constant_mask(layer, given, mask)
    if mask is not None:
        if masks and len(mask.shape) > 3:
            raise NotSupported(f"layer {layer.name} ({type(layer).__name__}): an attention_mask with an "
                               f"axis for the heads is given beside masks of its inputs")
        masks.append(mask)
    if masks:
        together = ops.cast(masks[0], "bool")
        for each in masks[1:]:
            together = ops.logical_and(together, ops.cast(each, "bool"))
        given["attention_mask"] = ops.cast(together, "float32")
    own = of(tensors[0])
    own = own if own is not None and is_own(own) else None
    for each in tensors:  # As Keras does when it runs.
        if of(each) is not None and is_own(of(each)):
            each._keras_mask = None
    outputs = call(layer, *bound.args, **bound.kwargs)
    if given.get("return_attention_scores"):
        outputs = outputs[0], _Scores(layer)
    if own is not None:
        give(keras.tree.flatten(outputs)[0], own)
    return outputs


class _Scores:
    """The scores that an attention returns, which a script may keep."""

    def __init__(self, layer):
        self._layer = layer

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        return self._fails()

    def _fails(self, *_):
        raise NotSupported(f"layer {self._layer.name} ({type(self._layer).__name__}): its attention "
                           f"scores are computed with, which a job does not have as a tensor")

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = \
        __matmul__ = __rmatmul__ = __pow__ = __neg__ = __getitem__ = __array__ = __bool__ = _fails


def _own_masks(layer, given, tensors):
    """The own masks of the tensors, in the shape of the scores, without their arguments in `given`."""
    given.pop("query_mask", None)  # Keras takes the one that the query has.
    masks = []
    if of(tensors[0]) is not None and is_own(of(tensors[0])):
        masks.append(ops.expand_dims(of(tensors[0]), -1))
    for name in "value", "key":
        explicit, implicit = given.pop(f"{name}_mask", None), of(given.get(name))
        mask = implicit if explicit is None else explicit
        if _is_of_job(mask, implicit):
            continue
        if implicit is not None and not is_own(implicit):
            raise NotSupported(f"layer {layer.name} ({type(layer).__name__}): {name}_mask is another mask "
                               f"than that of the {name}")
        masks.append(ops.expand_dims(mask, -2))
    return masks


def _constant_mask(layer, given, mask):
    """The symbolic attention mask for one that is the same for all examples; None if it masks nothing."""
    numbers = ops.convert_to_numpy(mask).astype(bool)
    if numbers.ndim > 2:
        if numbers.shape[0] != 1:
            raise NotSupported(f"layer {layer.name} ({type(layer).__name__}): its attention_mask has "
                               f"shape {numbers.shape} and does not depend on the model's inputs; let "
                               f"its first axis have length 1")
        numbers = numbers[0]
    if numbers.all():
        return None
    steps = given["query"].shape[1], given["value"].shape[1]
    if np.array_equal(numbers.reshape(numbers.shape[-2:]) if numbers.size == np.prod(steps) else numbers,
                      np.tri(*steps, dtype=bool)):
        given["use_causal_mask"] = True
        return None
    # A sum with a tensor of examples: as an input of its own, the data would have it for each of them.
    zeros = ops.zeros_like(given["query"][:, :1, :1])
    zeros = ops.expand_dims(zeros, 1) if numbers.ndim == 3 else zeros
    return zeros + numbers.astype(np.float32)
