"""Texts: Keras looks them up, and the job trains the rest of the model.

A job's arrays are numbers. A layer behind an input that turns texts into numbers (TextVectorization,
StringLookup ...) computes here what the job's model takes in place of the input. If the layer was
not adapted, it adapts to the training data first.
"""

import keras
import numpy as np

from cairn.data import is_files
from cairn.errors import NotSupported

# Layers that Keras computes here, if they are the only ones behind an input.
_LOOKUPS = ("TextVectorization", "StringLookup", "IntegerLookup", "Hashing")
_BATCH = 4096


def _class(layer):
    return type(layer).__name__


def _is_adapted(layer):
    if _class(layer) == "Hashing":
        return True
    inner = getattr(layer, "_lookup_layer", layer)
    return inner.vocabulary_size() > inner._token_start_index()


def _users(model, tensor):
    """The layers that take an input of the model."""
    return [layer for layer in model.operations for node in layer._inbound_nodes
            if any(each is tensor for each in node.input_tensors)]


class Lookups:
    """The layers of a model that look texts up, and the model without them.

    model: shares its layers with the original.
    """

    def __init__(self, model):
        self._lookups = {}  # By the position of the input.
        self.model = model
        if isinstance(model, keras.Sequential):
            first = model.layers[0] if model.layers else None
            if _class(first) in _LOOKUPS:
                self._lookups[0] = first
        elif getattr(model, "inputs", None):
            for i, tensor in enumerate(model.inputs):
                users = _users(model, tensor)
                if len(users) == 1 and _class(users[0]) in _LOOKUPS:
                    self._lookups[i] = users[0]

    def takes_text(self, position):
        return position in self._lookups

    def adapt(self, inputs):
        """Adapts the layers that were not adapted to the training data."""
        for i, layer in self._lookups.items():
            if not _is_adapted(layer) and not is_files(inputs[i]):
                layer.adapt(self._as_text(i, inputs[i]))

    def look_up(self, what, inputs):
        """The inputs of the job's model."""
        return [self._numbers(f"{what}[{i}]" if len(inputs) > 1 else what, i, array)
                if i in self._lookups else array for i, array in enumerate(inputs)]

    def cut(self, inputs):
        """Makes the model without the layers; `inputs` are what look_up has returned."""
        if not self._lookups:
            return
        if isinstance(self.model, keras.Sequential):
            self.model = keras.Sequential(
                [keras.Input(inputs[0].shape[1:], dtype=str(inputs[0].dtype), name="text"),
                 *self.model.layers[1:]], name=self.model.name)
            return
        tensors = []
        for i, tensor in enumerate(self.model.inputs):
            shape = inputs[i].shape if i in self._lookups else tensor.shape
            dtype = str(inputs[i].dtype) if i in self._lookups else tensor.dtype
            tensors.append(keras.Input(shape[1:], dtype=dtype, name=tensor.name))
        skipped = {id(layer) for layer in self._lookups.values()}

        def call(layer, *args, **kwargs):
            return args[0] if id(layer) in skipped else layer(*args, **kwargs)

        tensors = keras.tree.pack_sequence_as(self.model.input, tensors)
        self.model = keras.models.clone_model(self.model, input_tensors=tensors,
                                              clone_function=lambda layer: layer,
                                              call_function=call)

    def _as_text(self, position, array):
        if array.ndim == 1 and _class(self._lookups[position]) != "TextVectorization":
            array = array.reshape(-1, 1)
        return array.astype(object) if array.dtype.kind == "U" else array

    def _numbers(self, what, position, array):
        layer = self._lookups[position]
        if is_files(array):
            raise NotSupported(f"{what} names files, and layer {layer.name} looks texts up, which "
                               f"Keras does here: give the array")
        texts = self._as_text(position, array)
        parts = [keras.ops.convert_to_numpy(layer(texts[i:i + _BATCH]))
                 for i in range(0, len(texts), _BATCH)]
        numbers = np.concatenate(parts)
        return numbers.astype(np.float32 if numbers.dtype.kind == "f" else np.int32)
