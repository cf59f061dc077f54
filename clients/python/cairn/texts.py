"""Texts: Keras looks them up, and the job trains the rest of the model.

A job's arrays are numbers. A layer behind an input that turns texts into numbers (TextVectorization,
StringLookup ...) computes here what the job's model takes in place of the input. It may be the first one
of a model in the model. If the layer was not adapted, it adapts to the training data first.
"""

import itertools

import keras
import numpy as np

from cairn import structure
from cairn.data import is_files, join, pad, shape_of
from cairn.errors import NotSupported

# Layers that Keras computes here, if they are the only ones behind an input.
_LOOKUPS = ("TextVectorization", "StringLookup", "IntegerLookup", "Hashing")
_PROBED = 8  # Examples of which Keras shows its masks.
_BATCH = 4096


def _class(layer):
    return type(layer).__name__


def _is_adapted(layer):
    if _class(layer) == "Hashing":
        return True
    inner = getattr(layer, "_lookup_layer", layer)
    return inner.vocabulary_size() > inner._token_start_index()


def _users(model, position):
    """(layer, position among what it takes) of each layer that takes an input of the model."""
    if isinstance(model, keras.Sequential):
        return [(layer, 0) for layer in model.layers[:1]]
    tensor = (getattr(model, "inputs", None) or [None])[position]
    nodes = getattr(model, "_nodes_by_depth", {}).values()
    return [(node.operation, i) for node in itertools.chain(*nodes)
            for i, each in enumerate(node.input_tensors) if each is tensor]


def _lookup_of(model, position):
    """The layer that looks up an input of the model, after the models in the model that have it; empty
    if there is none."""
    users = _users(model, position)
    if len(users) != 1:
        return []
    [(layer, place)] = users
    if _class(layer) in _LOOKUPS:
        return [layer]
    inner = _lookup_of(layer, place) if isinstance(layer, keras.Model) else []
    return [layer, *inner] if inner else []


class Lookups:
    """The layers of a model that look texts up, and the model without them.

    model: shares its layers with the original.
    """

    def __init__(self, model):
        self._lookups = {}  # By the position of the input.
        self.rebuilt = None  # structure.Rebuilt, if a job cannot read the model as it is.
        self._objectives = None
        self._output_structure = 0  # Of the model: a structure for keras.tree.
        self._open = {}  # By the position of an input of open length: its shape in the job.
        self.model = self._script_model = model
        self._around = []  # The models in the model that have lookups.
        count = 1 if isinstance(model, keras.Sequential) else len(getattr(model, "inputs", None) or [])
        for i in range(count):
            *around, lookup = _lookup_of(model, i) or [None]
            if lookup is not None:
                self._lookups[i] = lookup
                self._around += around

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

    def cut(self, given, inputs, x, objectives, validation=()):
        """Makes the job's model, without the layers. `inputs`: what look_up has returned for `x`, of
        which `given` are the arrays.

        objectives: Objectives, whose functions the model computes.

        Where the model leaves a length open, the examples get the longest one, of `validation` too.
        """
        model = self.model
        shapes = [shape_of(array)[1:] for array in inputs]
        for i, array in enumerate(validation):
            shape = shape_of(array)[1:]
            if len(shape) == len(shapes[i]):
                shapes[i] = tuple(map(max, shapes[i], shape))
        if not model.built and not self._lookups:
            structure.build(model, [self._input(i, "input", shapes[i], array)
                                    for i, array in enumerate(inputs)], x)
        self._objectives = objectives
        if not self._lookups and not structure.needs_rebuild(model) and not objectives.are_own:
            self._output_structure = structure.outputs_of(model)
            return
        names = structure.input_names(model, x)
        tensors = [self._input(i, names[i], shapes[i], array) for i, array in enumerate(inputs)]
        for i, tensor in enumerate(tensors):
            if i in self._lookups or not getattr(model, "inputs", None) or \
                    None in model.inputs[i].shape[1:]:
                self._open[i] = tensor.shape[1:]
        whole = [tensor.name for tensor, array in zip(tensors, inputs)
                 if not is_files(array) and array.dtype.kind in "iu"]
        taken = structure.inputs_of(model, x)
        if not any(map(is_files, [*given, *inputs])):
            objectives.rows = [each[:_PROBED] for each in inputs]
            objectives.masks_at_run = lambda: structure.masks_at_run(
                model, taken, [each[:_PROBED] for each in given])
        self.rebuilt = structure.rebuild(model, tensors, taken, objectives, self._lookups.values(),
                                         [*self._around, *structure.models_with_masks(model)], whole)
        objectives.rows, objectives.masks_at_run = None, None
        self.model = self.rebuilt.model
        self._output_structure = self.rebuilt.output_structure

    @property
    def output_names(self):
        """Those of the script's model."""
        return self.rebuilt.output_names if self.rebuilt else structure.output_names(self.model)

    @property
    def job_outputs(self):
        """The number of outputs of the job's model, of which the first are those of the script's."""
        model = getattr(self.model, "_functional", None) or self.model
        return len(model.outputs)

    @property
    def output_shapes(self):
        """Those of an example, of the same outputs."""
        model = getattr(self.model, "_functional", None) or self.model
        return [tuple(each.shape[1:]) for each in model.outputs]

    def as_outputs(self, arrays):
        """The arrays as the script's model returns its outputs."""
        arrays = [each[:, 0] if is_number else each
                  for each, is_number in zip(arrays, keras.tree.flatten(self._output_structure))]
        if len(arrays) == 1 and not isinstance(self._output_structure, dict):
            return arrays[0]
        return keras.tree.pack_sequence_as(self._output_structure, arrays)

    def complete(self, inputs, labels=None, sample_weight=None):
        """All inputs of the job's model. labels: of these examples, if there are any.

        sample_weight: that of which are_for_elements.
        """
        examples = shape_of(inputs[0])[0]
        for i, shape in self._open.items():
            if not is_files(inputs[i]) and inputs[i].shape[1:] != shape and \
                    inputs[i].ndim == len(shape) + 1:
                if any(map(int.__gt__, inputs[i].shape[1:], shape)):
                    raise NotSupported(f"input {i} has examples of shape {inputs[i].shape[1:]}, and "
                                       f"those of fit had at most {shape}")
                inputs[i] = pad(inputs[i], shape)
        if not self.rebuilt:
            return inputs
        inputs = [each.reshape(-1, 1) if not is_files(each) and each.ndim == 1 else each for each in inputs]
        constants = [np.broadcast_to(each, (examples, *each.shape))
                     for each in self.rebuilt.constants]
        zeros = [np.zeros((examples, 1), np.int32)] if self.rebuilt.has_weights_input else []
        return [*inputs, *constants,
                *self._objectives.label_inputs(labels, examples, sample_weight), *zeros]

    def _input(self, position, name, given, array):
        """A symbolic input. The data say what the model does not: `given` is their shape."""
        inputs = getattr(self.model, "inputs", None)
        if position in self._lookups or not inputs:
            return keras.Input(given, dtype="float32" if is_files(array) else str(array.dtype),
                               name=name)
        shape = tuple(inputs[position].shape[1:])
        if None in shape:
            if len(shape) != len(given):
                raise NotSupported(f"input {name} takes examples of shape {shape}, and those of the "
                                   f"data have {given}")
            shape = tuple(size or there for size, there in zip(shape, given))
        return keras.Input(shape, dtype=inputs[position].dtype, name=name)

    def _as_text(self, position, array):
        """The array as Keras gives it to the lookup: with an axis of length 1 if the input has one."""
        if array.ndim == 1 and not self._is_number(position) and \
                _class(self._lookups[position]) != "TextVectorization":
            array = array.reshape(-1, 1)
        elif self._is_number(position):
            array = array.reshape(-1)
        return array.astype(object) if array.dtype.kind == "U" else array

    def _is_number(self, position):
        """True for an input of one number or text for each example, without an axis for it."""
        inputs = getattr(self._script_model, "inputs", None)
        return bool(inputs) and len(inputs[position].shape) == 1

    def _numbers(self, what, position, array):
        layer = self._lookups[position]
        if is_files(array):
            raise NotSupported(f"{what} names files, and layer {layer.name} looks texts up, which "
                               f"Keras does here: give the array")
        texts = self._as_text(position, array)
        parts = [keras.ops.convert_to_numpy(layer(texts[i:i + _BATCH]))
                 for i in range(0, len(texts), _BATCH)]
        numbers = join(parts)
        # Counts and one-hot vectors are integers in Keras, too, until a layer takes them as numbers.
        is_ids = getattr(layer, "output_mode", "int") == "int"
        return numbers.astype(np.int32 if is_ids and numbers.dtype.kind != "f" else np.float32)
