"""The model that a job trains: a functional model of Keras's own layers, with known shapes.

It shares its layers, and so its variables, with the model of the script. Own layers and subclassed models
run once on symbolic tensors, and the layers of Keras that they call take their place.
"""

import contextlib
import inspect

import keras
import numpy as np
from keras.src.models.functional import Functional, operation_fn

from cairn.errors import NotSupported

_POSITIONS = "positions"


def is_functional(model):
    return isinstance(model, keras.Sequential) or getattr(model, "_inputs_struct", None) is not None


def _is_own(layer):
    """True for a class that is not Keras's, and for a model of Keras's with a layer of such a class."""
    if type(layer).__module__.split(".")[0] != "keras":
        return not isinstance(layer, keras.layers.InputLayer)
    return isinstance(layer, keras.Model) and any(map(_is_own, layer.layers))


def _keys(structure):
    """The names of a model's inputs or outputs that are a dictionary, in the order of the tensors."""
    return [path[-1] for path, _ in keras.tree.flatten_with_path(structure)] \
        if isinstance(structure, dict) else None


def input_names(model, x):
    """The names of the model's inputs, for `x` of fit; a subclassed model has those of `x`."""
    names = _keys(getattr(model, "_inputs_struct", None))
    if names:
        return names
    tensors = getattr(model, "inputs", None) if model.built else None
    if tensors:
        return [tensor.name for tensor in tensors]
    if is_functional(model):
        return ["x"]
    if isinstance(x, dict):
        return _keys(x)
    several = isinstance(x, (list, tuple)) and x and hasattr(x[0], "shape")
    return [f"x{i}" for i in range(len(x))] if several else ["x"]


def inputs_of(model, x):
    """How the model takes its inputs: a structure for keras.tree.pack_sequence_as."""
    structure = getattr(model, "_inputs_struct", None)
    if structure is not None:
        return structure
    names = input_names(model, x)
    if isinstance(model, keras.Sequential):
        return 0
    if isinstance(x, dict):
        return dict.fromkeys(names, 0)
    return type(x)(range(len(names))) if names != ["x"] else 0


def build(model, tensors, x):
    """Creates the variables of a model that has none yet."""
    if isinstance(model, keras.Sequential):
        model.build((None, *tensors[0].shape[1:]))
    else:
        model(keras.tree.pack_sequence_as(inputs_of(model, x), tensors))


def output_names(model):
    functional = getattr(model, "_functional", None) or model
    for tensor in functional.outputs:
        layer = tensor._keras_history.operation
        # Keras calls all outputs of a layer by the name of the layer.
        if getattr(layer, "return_state", False):
            raise NotSupported(f"an output of the model is one of several outputs of {layer.name}, "
                               f"and has no name of its own: put an Identity behind it")
    return list(functional.output_names)


def check(model, methods=("train_step", "test_step", "compute_loss", "compute_metrics")):
    """Raises for a model that has one of `methods` instead of Keras's own."""
    for method in methods:
        if getattr(type(model), method) is not getattr(keras.Model, method):
            raise NotSupported(f"{type(model).__name__} has its own {method}: its Python code cannot "
                               f"run on the cluster; a job computes the model's layers and "
                               f"compile's loss and metrics")


def needs_rebuild(model):
    """True if a job cannot read the model as it is."""
    if _is_own(model) or any(_is_own(layer) for layer in model.layers):
        return True
    if isinstance(model, keras.Sequential):
        return any(None in tensor.shape[1:] for tensor in model.inputs)
    return _keys(model._inputs_struct) is not None or _keys(model._outputs_struct) is not None or \
        any(None in tensor.shape[1:] for tensor in model.inputs)


def _refuse_loss(layer, loss):
    raise NotSupported(f"{type(layer).__name__} calls add_loss: a job has compile's loss only")


class _Training:
    """The argument `training` of an own layer while it is inlined: the job trains and evaluates."""

    def __init__(self, layer):
        self._layer = layer

    def _fails(self, *_):
        raise NotSupported(f"{type(self._layer).__name__} computes something else with training=True, "
                           f"which only Keras's layers can: call a Dropout, GaussianNoise or "
                           f"BatchNormalization in it, without a condition on training")

    __bool__ = __eq__ = __ne__ = __int__ = __float__ = __array__ = _fails
    __hash__ = object.__hash__


def _without_training(args, kwargs):
    """The arguments for a layer of Keras, which distinguishes training itself."""
    def convert(value):
        return None if isinstance(value, _Training) else value

    return tuple(map(convert, args)), {key: convert(value) for key, value in kwargs.items()}


class _Inlined(contextlib.ContextDecorator):
    """While it is entered, a call of an own layer with symbolic tensors calls the layers in it."""

    def __init__(self, skipped, tensors):
        self._skipped = {id(layer) for layer in skipped}
        self._call, self._add_loss = keras.Layer.__call__, keras.Layer.add_loss
        self.inputs = tensors
        self.constants = []

    def __enter__(self):
        inlined, call = self, self._call
        keras.Layer.__call__ = lambda layer, *args, **kwargs: inlined._of(layer, call, args, kwargs)
        keras.Layer.add_loss = _refuse_loss
        return self

    def __exit__(self, *_):
        keras.Layer.__call__, keras.Layer.add_loss = self._call, self._add_loss

    def _of(self, layer, call, args, kwargs):
        if id(layer) in self._skipped:
            return args[0]
        symbolic = any(map(keras.backend.is_keras_tensor, keras.tree.flatten((args, kwargs))))
        if isinstance(layer, keras.layers.Embedding) and not symbolic:
            return call(layer, self._constant(args[0]))
        if not _is_own(layer):
            args, kwargs = _without_training(args, kwargs)
        if not symbolic or not _is_own(layer):
            return call(layer, *args, **kwargs)
        return run(layer, args, kwargs)

    def _constant(self, ids):
        """An input with the same ids for every example, so that the embedding is a layer of the job."""
        ids = np.asarray(keras.ops.convert_to_numpy(ids)).astype(np.int32)
        if ids.ndim == 2 and ids.shape[0] == 1:
            ids = ids[0]
        name = _POSITIONS + str(len(self.constants) or "")
        self.constants.append(ids)
        self.inputs.append(keras.Input(ids.shape, dtype="int32", name=name))
        return self.inputs[-1]


def run(layer, args, kwargs=None):
    """Calls the layers of a model or of an own layer, without the model or layer around them."""
    kwargs = dict(kwargs or {})
    if getattr(layer, "activity_regularizer", None) is not None:
        raise NotSupported(f"{type(layer).__name__} has an activity_regularizer, which only Keras's "
                           f"layers can; give it to a layer of Keras in it")
    if type(layer).call is keras.Sequential.call:
        tensor = args[0]
        for each in layer.layers:
            tensor = each(tensor)
        return tensor
    if type(layer).call is Functional.call:
        training = kwargs.get("training")
        return layer._run_through_graph(args[0], lambda each: operation_fn(each, training=training))
    signature = inspect.signature(layer.call)
    arguments = signature.parameters
    if "training" in arguments:
        bound = signature.bind_partial(*args, **kwargs)
        given = bound.arguments.get("training")
        if given is None or isinstance(given, _Training):
            bound.arguments["training"] = _Training(layer)
            args, kwargs = bound.args, bound.kwargs
    if "mask" in arguments and getattr(args[0], "_keras_mask", None) is not None:
        raise NotSupported(f"{type(layer).__name__} takes a mask, which only Keras's layers can; "
                           f"use an Embedding without mask_zero before it")
    return layer.call(*args, **kwargs)


def rebuild(model, tensors, structure, skipped=()):
    """(functional model, arrays of further inputs that are the same for each example).

    tensors: symbolic inputs with the shapes of the data. structure: how the model takes them.
    skipped: layers that are left out.
    """
    tensors = list(tensors)
    packed = keras.tree.pack_sequence_as(structure, tensors)
    inlined = _Inlined(skipped, tensors)
    try:
        with inlined:
            outputs = run(model, [packed])
    except NotSupported:
        raise
    except Exception as error:
        raise NotSupported(f"{type(model).__name__} cannot be turned into a model of Keras's layers: "
                           f"{error}") from error
    names = _keys(outputs)
    flat = keras.tree.flatten(outputs)
    if not all(map(keras.backend.is_keras_tensor, flat)):
        raise NotSupported(f"{type(model).__name__} has an output that does not depend on its inputs")
    if names:
        flat = [tensor if tensor._keras_history.operation.name == name else
                keras.layers.Identity(name=name)(tensor) for name, tensor in zip(names, flat)]
    try:
        functional = keras.Model(inlined.inputs, flat, name=model.name)
    except ValueError as error:
        raise NotSupported(f"{error} Give the layers in own layers other names, or none") from error
    known = {id(weight) for weight in functional.weights}
    for weight in model.trainable_weights:
        if id(weight) not in known:
            raise NotSupported(f"weight {weight.path} belongs to no layer of Keras: a job computes "
                               f"layers of Keras, not Python code")
    return functional, inlined.constants
