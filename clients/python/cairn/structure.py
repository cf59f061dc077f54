"""The model that a job trains: a functional model of Keras's own layers, with known shapes.

It shares its layers, and so its variables, with the model of the script. Own layers and subclassed models
run once on symbolic tensors, and the layers of Keras that they call take their place.
"""

import contextlib
import inspect
import json
import typing

import keras
import numpy as np
from keras.src.models.functional import Functional, operation_fn

from cairn import masks, subclasses, tracing, wrappers
from cairn.errors import NotSupported
from cairn.operations import Translation
from cairn.step_calls import StepCalls

_POSITIONS = "positions"
# Layers of Keras whose Python code consists of operations that a job has.
_OPEN = (keras.layers.Activation, keras.layers.AdditiveAttention, keras.layers.Attention,
         keras.layers.Conv1D, keras.layers.Conv2D, keras.layers.Conv3D, keras.layers.Dense,
         keras.layers.EinsumDense, keras.layers.Embedding)
_CELLS = (keras.layers.GRUCell, keras.layers.LSTMCell, keras.layers.SimpleRNNCell)
# Their code takes masks as tensors.
_TAKES_MASKS = (keras.layers.AdditiveAttention, keras.layers.Attention,
                keras.layers.GlobalAveragePooling1D)
# They return their inputs in inference.
_NOISE = (keras.layers.AlphaDropout, keras.layers.Dropout, keras.layers.GaussianDropout,
          keras.layers.GaussianNoise, keras.layers.SpatialDropout1D, keras.layers.SpatialDropout2D,
          keras.layers.SpatialDropout3D)
_FUNCTIONS = ("activation", "kernel_regularizer", "bias_regularizer", "embeddings_regularizer",
              "activity_regularizer")


def is_functional(model):
    return isinstance(model, keras.Sequential) or getattr(model, "_inputs_struct", None) is not None


def _is_keras(thing):
    return type(thing).__module__.split(".")[0] == "keras"


def _is_function(value):
    """True for a function of the script, and for an object of a class of it that is called as one."""
    if inspect.isfunction(value):
        return not value.__module__.startswith("keras.")
    return callable(value) and not _is_keras(value)


def _is_own(layer):
    """True if Python code says what the layer computes: by its class, or by a function that it has.

    So it is with layers that Keras's models have for themselves (LayerScale of ConvNeXt), with a model
    of Keras's with such a layer, and with cells, which a cell of the script calls.
    """
    if not _is_keras(layer):
        return not isinstance(layer, keras.layers.InputLayer)
    if isinstance(layer, keras.Model):
        return _has_names(layer) or any(map(_is_own, layer.layers))
    return isinstance(layer, (keras.layers.Lambda, *_CELLS)) or \
        not hasattr(keras.layers, type(layer).__name__) or \
        _has_functions(layer) or _has_noise_shape(layer) or wrappers.is_of_several(layer)


def _inherits_call(layer):
    """True for a subclass of a layer of Keras that computes what this layer computes."""
    return subclasses.keras_class(layer) is not None and not subclasses.has_call(layer)


def _calls_keras(layer):
    """True for a subclass of a layer of Keras with a call of its own, of which super().call is no Python
    code of operations."""
    kind = subclasses.keras_class(layer)
    return kind is not None and subclasses.has_call(layer) and not issubclass(kind, (*_OPEN, *_NOISE))


def _has_noise_shape(layer):
    """True for a Dropout that drops several numbers of an example together."""
    return type(layer) is keras.layers.Dropout and layer.noise_shape is not None


def _has_functions(layer):
    """True for a Dense or the like with an activation that is a function or a layer, or a regularizer
    that is a function.

    So is glu, which halves an axis: a job has operations for it, and no layer with this activation.
    """
    return isinstance(layer, _OPEN) and (
        getattr(layer, "activation", None) is keras.activations.glu or
        isinstance(getattr(layer, "activation", None), keras.Layer) or
        any(_is_function(getattr(layer, name, None)) for name in _FUNCTIONS))


def _keys(structure):
    """The names of a model's inputs or outputs that are a dictionary, in the order of the tensors."""
    return [path[-1] for path, _ in keras.tree.flatten_with_path(structure)] \
        if isinstance(structure, dict) else None


def _has_names(model):
    """True for a model whose inputs or outputs are a dictionary."""
    return any(_keys(getattr(model, struct, None)) for struct in ("_inputs_struct", "_outputs_struct"))


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


def tensor_of(array):
    """Examples as a model takes them: it takes no texts beside arrays."""
    if array.dtype.kind in "USO":
        return keras.ops.convert_to_tensor(array.astype(object), dtype="string")
    return keras.ops.convert_to_tensor(array)


def masks_at_run(model, structure, rows):
    """The mask of each output when Keras trains the model, None for one without.

    Keras's attention removes masks when it runs, and leaves those of symbolic tensors. rows: some
    examples, as the model takes them. The model's variables are left as they were.
    """
    before = [variable.numpy() for variable in model.variables]
    packed = keras.tree.pack_sequence_as(structure, list(map(tensor_of, rows)))
    try:
        outputs = keras.tree.flatten(model(packed, training=True))
    finally:
        for variable, value in zip(model.variables, before):
            variable.assign(value)
    masks = (getattr(each, "_keras_mask", None) for each in outputs)
    return [None if each is None else keras.ops.convert_to_numpy(each).astype(bool) for each in masks]


def has_call(model):
    """False for a model whose train_step calls its layers, and which has no outputs."""
    return type(model).call is not keras.Model.call


def build(model, tensors, x):
    """Creates the variables of a model that has none yet."""
    if not has_call(model):
        return
    if isinstance(model, keras.Sequential):
        model.build((None, *tensors[0].shape[1:]))
    else:
        model(keras.tree.pack_sequence_as(inputs_of(model, x), tensors))


def outputs_of(model):
    """How a built model returns its outputs, with zeros in their places."""
    functional = getattr(model, "_functional", None) or model
    return keras.tree.map_structure(lambda _: 0, functional._outputs_struct)


def output_names(model):
    functional = getattr(model, "_functional", None) or model
    for tensor in functional.outputs:
        layer = tensor._keras_history.operation
        # Keras calls all outputs of a layer by the name of the layer.
        if getattr(layer, "return_state", False):
            raise NotSupported(f"an output of the model is one of several outputs of {layer.name}, "
                               f"and has no name of its own: put an Identity behind it")
    return list(functional.output_names)


def check(model, methods=("compute_metrics",)):
    """Raises for a model that has one of `methods` instead of Keras's own, or a stateful layer."""
    for method in methods:
        if getattr(type(model), method) is not getattr(keras.Model, method):
            raise NotSupported(f"{type(model).__name__} has its own {method}: its Python code cannot "
                               f"run on the cluster; a job computes the model's layers, and the "
                               f"loss and metrics of compile, compute_loss or train_step")
    for layer in model._flatten_layers():
        if getattr(layer, "stateful", False) is True:
            raise NotSupported(f"layer {layer.name} ({type(layer).__name__}) is stateful: a job begins "
                               f"each batch with a state of zeros, because its workers share the "
                               f"batches; use longer sequences with stateful=False")


def _takes_arrays(operation):
    """True for an operation, other than a layer, that takes an array of numbers."""
    if isinstance(operation, keras.Layer):
        return False
    arguments = [each for node in operation._inbound_nodes
                 for each in keras.tree.flatten([node.arguments.args, node.arguments.kwargs])]
    return any(getattr(each, "ndim", 0) > 0 and not keras.backend.is_keras_tensor(each)
               for each in arguments)


def models_with_masks(model):
    """The models in the model that make masks of steps, which may reach its outputs."""
    if not any(len(output.shape) > 2 for output in getattr(model, "outputs", None) or []):
        return []
    return _with_masks(model)


def _with_masks(model):
    found = []
    for layer in model.layers:
        if isinstance(layer, keras.Model):
            inner = _with_masks(layer)
            makes = any(isinstance(each, keras.layers.Masking) or getattr(each, "mask_zero", False)
                        for each in layer.layers)
            found += [layer, *inner] if inner or makes else []
    return found


def needs_rebuild(model):
    """True if a job cannot read the model as it is."""
    if models_with_masks(model):  # Their symbolic outputs have none.
        return True
    if _is_own(model) or any(_is_own(layer) for layer in model.layers):
        return True
    if any(masks.of(output) is not None for output in model.outputs):
        return True
    last = [output._keras_history.operation for output in model.outputs]
    if len(last) > 1 and any(isinstance(each, keras.Model) for each in last):
        return True
    if isinstance(model, keras.Sequential):
        return any(None in tensor.shape[1:] for tensor in model.inputs)
    if any(map(_takes_arrays, model.operations)) or any(map(masks.has_others, model.operations)):
        return True
    return any(None in tensor.shape[1:] or len(tensor.shape) == 1 for tensor in model.inputs)


class AsksForTraining(Exception):
    """The code of a layer has a condition on `training`."""

    def __init__(self, layer):
        super().__init__(layer)
        self.layer = layer


class Training:
    """The argument `training` of an own layer while it is inlined: the job trains and evaluates."""

    def __init__(self, layer):
        self._layer = layer

    def _asks(self, *_):
        raise AsksForTraining(self._layer)

    __bool__ = __eq__ = __ne__ = __int__ = __float__ = __array__ = _asks
    __hash__ = object.__hash__


def _without_training(args, kwargs):
    """The arguments for a layer of Keras, which distinguishes training itself."""
    def convert(value):
        return None if isinstance(value, Training) else value

    return tuple(map(convert, args)), {key: convert(value) for key, value in kwargs.items()}


class _Inlined(contextlib.ContextDecorator):
    """While it is entered, a call of an own layer with symbolic tensors calls the layers in it."""

    def __init__(self, skipped, tensors, opened):
        self._skipped = {id(layer) for layer in skipped}
        self._opened = {id(layer) for layer in opened}  # Layers of Keras that are own ones here.
        self._call, self._add_loss = keras.Layer.__call__, keras.Layer.add_loss
        self._call_loss = keras.losses.Loss.__call__
        self._mean = keras.metrics.Mean.update_state, keras.metrics.Mean.result
        self.inputs = tensors
        self.constants = []
        self._ones = {}  # By shape: the input.
        # Of add_loss and activity_regularizer: (layer's name, symbolic value, divided by the batch).
        self.penalties = []
        # What the code of layers and of the model gives to metrics: (metric, value, True for training
        # only, False for inference only, None for both).
        self.updates = []
        self._runs = 0  # The code of layers that runs now.
        self._twins = {}  # By id of a subclass of a layer of Keras: that layer.
        self._trains = None  # What the code of an own layer gets that asks for training.
        self._is_training = None  # The tensor that is 1 in training, else 0.
        self._in_step = False
        self._depth = 0  # Of calls in one that the step makes.
        self.step_calls = StepCalls()
        self.trace = tracing.Trace(self._noise)

    def __enter__(self):
        inlined, call = self, self._call
        keras.Layer.__call__ = lambda layer, *args, **kwargs: inlined._of(layer, call, args, kwargs)
        keras.Layer.add_loss = lambda layer, loss: inlined._penalize(layer, loss)
        keras.losses.Loss.__call__ = lambda loss, *args, **kwargs: inlined._loss(loss, *args, **kwargs)
        keras.metrics.Mean.update_state = lambda metric, *args, **kwargs: inlined._update(
            metric, *args, **kwargs)
        keras.metrics.Mean.result = lambda metric: inlined._result(metric)
        self.trace.__enter__()
        return self

    def __exit__(self, *_):
        self.trace.__exit__()
        keras.metrics.Mean.update_state, keras.metrics.Mean.result = self._mean
        keras.Layer.__call__, keras.Layer.add_loss = self._call, self._add_loss
        keras.losses.Loss.__call__ = self._call_loss

    def _penalize(self, layer, loss):
        for value in keras.tree.flatten(self.trace.symbolic(loss)):
            if not keras.backend.is_keras_tensor(value):
                raise NotSupported(f"{type(layer).__name__} calls add_loss with a value that does "
                                   f"not depend on its inputs or weights")
            self.penalties.append((layer.name, value, False))

    def _updates_metrics(self):
        return self._runs > 0 and self.trace.is_recording and not self._in_step

    def _update(self, metric, values, sample_weight=None):
        """The code of a layer updates a metric."""
        if not self._updates_metrics() or not self.trace.is_symbolic(values):
            return self._mean[0](metric, values, sample_weight)
        if sample_weight is not None:
            raise NotSupported(f"metric {metric.name} is updated with a sample_weight: multiply its values")
        self.updates.append((metric, self.trace.symbolic(values), None))

    def _result(self, metric):
        return None if self._updates_metrics() else self._mean[1](metric)

    def _loss(self, loss, y_true, y_pred, sample_weight=None):
        """A Loss that a layer or function calls: Keras's own __call__ takes no symbolic tensors."""
        y_true, y_pred = self.trace.symbolic(y_true), self.trace.symbolic(y_pred)
        if not self.trace.is_symbolic((y_true, y_pred)):
            return self._call_loss(loss, y_true, y_pred, sample_weight)
        if sample_weight is not None or getattr(y_pred, "_keras_mask", None) is not None:
            raise NotSupported(f"loss {loss.name} is called with a sample_weight or a mask: call its "
                               f"method call, and multiply")
        values = loss.call(y_true, y_pred)
        reduce = {"sum": keras.ops.sum, "none": lambda each: each, None: lambda each: each}
        return reduce.get(loss.reduction, keras.ops.mean)(values)

    @contextlib.contextmanager
    def in_step_of(self, model, inputs, outputs):
        """Inside, calls of layers are those of an own step. `outputs` of the model have been computed."""
        self.step_calls.note(model, (inputs,), {}, outputs, list(self.penalties))
        self._in_step = True
        try:
            yield
        finally:
            self._in_step = False

    def _of(self, layer, call, args, kwargs):
        if id(layer) in self._skipped:
            return args[0]
        if id(layer) not in self._opened and _inherits_call(layer):
            layer = self._twin(layer)
        args, kwargs = self.trace.symbolic(args), self.trace.symbolic(kwargs)
        trains, args, kwargs = _without_mode(layer, args, kwargs)
        passes_on = isinstance(trains, Training)  # An own layer, or compute_loss.
        if self._in_step and not self._depth:
            mode = trains is True or passes_on
            return self.step_calls.outputs_of(
                layer, args, kwargs, mode, lambda: self._in_mode(mode, layer, call, args, kwargs),
                self._forget)
        if trains is False or trains is True and self._in_step:
            return self._in_mode(trains, layer, call, args, kwargs)
        if trains is not None and (passes_on or not self._trains) and _takes_training(layer):
            return self._of_symbolic(layer, call, args, {**kwargs, "training": trains})
        count = len(self.penalties)
        outputs = self._of_symbolic(layer, call, args, kwargs)
        if not self._in_step and isinstance(layer, keras.Model):
            self.step_calls.note(layer, args, kwargs, outputs, self.penalties[count:])
        return outputs

    def infer(self, layer, args, kwargs):
        """As run, in inference mode."""
        outer, self._trains = self._trains, False
        try:
            return self.run(layer, args, kwargs)
        finally:
            self._trains = outer

    def _in_mode(self, trains, layer, call, args, kwargs):
        """As _of_symbolic, in inference mode unless it trains."""
        outer, self._trains = self._trains, (self._trains or None) if trains else False
        self._depth += 1
        try:
            return self._of_symbolic(layer, call, args, kwargs)
        finally:
            self._depth -= 1
            self._trains = outer

    def _forget(self, penalties):
        self.penalties[:] = [each for each in self.penalties
                             if all(each is not other for other in penalties)]

    def _of_symbolic(self, layer, call, args, kwargs):
        if self._trains is False and kwargs.get("training") is None and _takes_training(layer):
            kwargs = {**kwargs, "training": False}
        symbolic = self.trace.is_symbolic((args, kwargs))
        if isinstance(layer, keras.layers.Embedding) and not symbolic:
            rows = call(layer, self._constant(args[0]))
            rows._is_for_all = True
            return rows
        if symbolic and isinstance(layer, _NOISE) and kwargs.get("training") is False:
            return args[0]
        if symbolic and _has_noise_shape(layer):
            return self._dropped(layer, args[0])
        has_own_mask = symbolic and masks.has_own(layer, args, kwargs)
        if symbolic and (self._is_open(layer) or has_own_mask and isinstance(layer, _TAKES_MASKS)):
            return self._regularized(layer, self.run(layer, args, kwargs))
        args, kwargs = _without_training(args, kwargs)
        with self.trace.recording(False):
            if symbolic and isinstance(layer, keras.layers.MultiHeadAttention):
                return masks.call_attention(layer, call, args, kwargs)
            if has_own_mask and isinstance(layer, (keras.layers.RNN, keras.layers.Bidirectional)):
                return masks.call_recurrent(layer, call, args, kwargs)
            if has_own_mask and type(layer) is keras.layers.Softmax:
                return masks.call_softmax(layer, call, *args, **kwargs)
            if has_own_mask:
                masks.refuse(layer)
            return call(layer, *args, **kwargs)

    def _twin(self, layer):
        if id(layer) not in self._twins:
            self._twins[id(layer)] = subclasses.as_keras(layer)
        return self._twins[id(layer)]

    def run(self, layer, args, kwargs):
        """As the function `run`, of a subclass of a layer of Keras with this layer for super().call."""
        self._runs += 1
        try:
            with subclasses.calling(layer, self._twin(layer)) if _calls_keras(layer) else \
                    contextlib.nullcontext():
                return self._run(layer, args, kwargs)
        finally:
            self._runs -= 1

    def _run(self, layer, args, kwargs):
        """Code that asks for training is run for both: the job chooses."""
        count, updated = len(self.penalties), len(self.updates)
        given = [each for each in keras.tree.flatten([args, kwargs])
                 if keras.backend.is_keras_tensor(each)]
        before = [masks.of(each) for each in given]
        try:
            return run(layer, args, kwargs, self.trace)
        except AsksForTraining as asked:
            if asked.layer is not layer:
                raise
        outputs, penalties, updates = [], [], []
        for trains in True, False:
            del self.penalties[count:], self.updates[updated:]
            for each, mask in zip(given, before):
                if masks.of(each) is not mask:
                    each._keras_mask = mask
            outer, self._trains = self._trains, trains
            try:
                outputs.append(run(layer, args, {**kwargs, "training": trains}, self.trace))
            finally:
                self._trains = outer
            penalties.append(self.penalties[count:])
            updates += [(metric, value, trains) for metric, value, when in self.updates[updated:]
                        if when in (None, trains)]
        if len(penalties[0]) != len(penalties[1]):
            raise NotSupported(f"{type(layer).__name__} calls add_loss in training only, or in inference "
                               f"only: in a job it counts in both")
        self.penalties[count:] = penalties[0]
        self.updates[updated:] = updates
        return keras.tree.map_structure(self._chosen, *outputs)

    def _chosen(self, trained, inferred):
        """The first one in training, else the second one."""
        if trained is inferred:
            return trained
        if self._is_training is None:
            # The brightness of a black image, which becomes white in training.
            image = self._input("black", np.zeros((1, 1, 1), np.float32))
            with self.trace.recording(False):
                self._is_training = self._call(
                    keras.layers.RandomBrightness([1.0, 1.0], [0.0, 1.0]), image)
        trains = keras.ops.reshape(self._is_training, (-1, *[1] * (len(trained.shape) - 1)))
        chosen = trains * trained + (1.0 - trains) * inferred
        if masks.of(trained) is not None:
            masks.give(chosen, masks.of(trained))  # The sum has none in the job.
        return chosen

    def _is_open(self, layer):
        if isinstance(layer, keras.Model) and _is_keras(layer) and id(layer) not in self._opened:
            return _has_names(layer) or any(map(self._is_open, layer.layers))
        return _is_own(layer) or id(layer) in self._opened

    def penalize_weights(self):
        """Adds the regularizers of weights that are functions of the script."""
        for name, weight in list(self.trace.weights.items()):
            if weight.regularizer is not None and weight.trainable and \
                    not _is_keras(weight.regularizer):
                with self.trace.recording():
                    self.penalties.append((name, weight.regularizer(self.trace.tensor(weight)),
                                           False))

    def _regularized(self, layer, outputs):
        """The outputs of an own layer, with the loss of its activity_regularizer."""
        regularizer = getattr(layer, "activity_regularizer", None)
        if regularizer is None:
            return outputs
        if _is_keras(regularizer) and type(regularizer).__name__ in ("L1", "L2", "L1L2"):
            rates = {name: float(getattr(regularizer, name, 0.0)) for name in ("l1", "l2")}
            return keras.tree.map_structure(
                lambda each: keras.layers.ActivityRegularization(**rates)(each), outputs)
        for output in keras.tree.flatten(outputs):
            with self.trace.recording():
                self.penalties.append((layer.name, regularizer(output), True))
        return outputs

    def _constant(self, ids):
        """An input with the same ids for every example, so that the embedding is a layer of the job."""
        ids = np.asarray(keras.ops.convert_to_numpy(ids)).astype(np.int32)
        if ids.ndim == 2 and ids.shape[0] == 1:
            ids = ids[0]
        return self._input(_POSITIONS, ids)

    def _input(self, name, array):
        """An input of the job's model with this array for every example."""
        name += str(len(self.constants) or "")
        self.constants.append(array)
        self.inputs.append(keras.Input(array.shape, dtype=str(array.dtype), name=name))
        return self.inputs[-1]

    def _dropped(self, layer, tensor):
        """The outputs of a Dropout with a noise_shape: the tensor times those of a Dropout of ones."""
        first, *shape = layer.noise_shape
        if first is not None:
            raise NotSupported(f"layer {layer.name}: noise_shape is {layer.noise_shape}; a job draws for "
                               f"each example: let it begin with None")
        shape = tuple(size or there for size, there in zip(shape, tensor.shape[1:]))
        if shape not in self._ones:
            self._ones[shape] = self._input("ones", np.ones(shape, np.float32))
        with self.trace.recording(False):
            return tensor * self._call(keras.layers.Dropout(layer.rate), self._ones[shape])

    def _noise(self, shape, mean, deviation):
        """Normal random numbers for a batch of any size, which are a layer; 0 in inference."""
        zeros = self._input("zeros", np.zeros(shape[1:], np.float32))
        return self._call(keras.layers.GaussianNoise(float(deviation)), zeros) + float(mean)


def _takes_training(layer):
    return "training" in inspect.signature(layer.call).parameters


def _without_mode(layer, args, kwargs):
    """(the argument `training` of a call or None, the call's other arguments)"""
    names = list(inspect.signature(layer.call).parameters)
    if "training" in names and names.index("training") < len(args):
        bound = inspect.signature(layer.call).bind_partial(*args, **kwargs)
        trains = bound.arguments.pop("training")
        return trains, bound.args, bound.kwargs
    return kwargs.get("training"), args, {key: value for key, value in kwargs.items() if key != "training"}


def _infers_by_default(kind):
    """True if the call of a class of layers has training=False, as those of Dropout and LSTM.

    Keras notes the default in a functional model like an argument of the script.
    """
    training = inspect.signature(kind.call).parameters.get("training") if kind else None
    return training is not None and training.default is False


def _in_graph(operation, training):
    """An operation of a functional model that is called with this `training`."""
    def call(*args, **kwargs):
        if _infers_by_default(type(operation)) and kwargs.get("training") is False:
            del kwargs["training"]
        return operation_fn(operation, training=training)(*args, **kwargs)

    return call


def run(layer, args, kwargs, trace):
    """Calls the layers of a model or of an own layer, without the model or layer around them."""
    kwargs = dict(kwargs)
    if wrappers.is_of_several(layer):
        return wrappers.call(layer, args, kwargs)
    if type(layer).call is keras.Sequential.call:
        tensor = args[0]
        for each in layer.layers:
            tensor = _in_graph(each, kwargs.get("training"))(tensor)
        return tensor
    if type(layer).call is Functional.call:
        training = kwargs.get("training")
        return layer._run_through_graph(args[0], lambda each: _in_graph(each, training))
    signature = inspect.signature(layer.call)
    arguments = signature.parameters
    if "training" in arguments:
        bound = signature.bind_partial(*args, **kwargs)
        given = bound.arguments.get("training")
        if given is None or isinstance(given, Training):
            bound.arguments["training"] = Training(layer)
            args, kwargs = bound.args, bound.kwargs
    call = masks.Call(layer, args, kwargs)
    with trace.recording():
        outputs = layer.call(*call.args, **call.kwargs)
        call.give(outputs)
    return outputs


def _trains_in_fit(model):
    """False if its layers are in inference mode in Keras's fit, too: its call has no argument `training`."""
    return type(model).train_step is not keras.Model.train_step or model._call_has_training_arg


def _traced(model, inlined, structure):
    """The symbolic outputs of the model."""
    packed = keras.tree.pack_sequence_as(structure, inlined.inputs)
    if not has_call(model):
        return []
    try:
        with inlined:
            run_model = inlined.run if _trains_in_fit(model) else inlined.infer
            outputs = inlined._regularized(model, run_model(model, [packed], {}))
            inlined.penalize_weights()
            return outputs
    except NotSupported:
        raise
    except Exception as error:
        raise NotSupported(f"{type(model).__name__} cannot be turned into a model of Keras's layers: "
                           f"{error}") from error


def _owners(model, weights, opened):
    """The layers of Keras whose weights are among `weights`, besides those in `opened`."""
    def is_layer_of_job(layer):
        return _is_keras(layer) or _inherits_call(layer) or _calls_keras(layer)

    owners = {id(weight): layer for layer in model._flatten_layers() if is_layer_of_job(layer)
              for weight in [*layer._trainable_variables, *layer._non_trainable_variables]}
    found = []
    for weight in weights.values():
        owner = owners.get(id(weight))
        if owner is None or owner in opened or owner in found or _is_keras(owner) and _is_own(owner):
            continue
        if not isinstance(owner, _OPEN):
            raise NotSupported(f"weight {weight.path} belongs to a layer of {type(owner).__name__}, "
                               f"and is used outside of it")
        found.append(owner)
    return found


def _refuse_second_call(model):
    """Raises if the job may not compute the outputs besides what train_step computes."""
    for layer in model._flatten_layers():
        if isinstance(layer, keras.layers.BatchNormalization) and layer.trainable:
            raise NotSupported(f"train_step of {type(model).__name__} does not call the model with its "
                               f"inputs, and layer {layer.name} would update its moving averages twice")


class Rebuilt(typing.NamedTuple):
    """A model of Keras's own layers and operations, and its JSON for a job, which has layers only."""

    model: keras.Model
    topology: dict
    weights: dict  # {the job's variable: (Keras's, its shape in the job)} of the script's own weights.
    output_names: list  # Of the script's model; those of its objectives follow.
    # How the script's model returns them, with 1 for one number for each example, to which the job
    # gives an axis, and 0 for others.
    output_structure: object
    constants: list  # Arrays of the inputs that are the same for each example, before the labels.
    has_weights_input: bool  # An input behind the others, which is 0.


def rebuild(model, tensors, structure, objectives, skipped=(), around=(), whole=()):
    """The model as a job's, as Rebuilt.

    tensors: symbolic inputs with the shapes of the data. structure: how the model takes them.
    objectives: Objectives, which add inputs and outputs. skipped: layers that are left out, which
    may be in the models `around`. whole: the names of the inputs of whole numbers.
    """
    opened = list(around)
    while True:
        inlined = _Inlined(skipped, list(tensors), opened)
        outputs = _traced(model, inlined, structure)
        more = _owners(model, inlined.trace.weights, opened)
        if not more:
            break
        opened += more  # Their weights are used outside of them, too.
    names = _keys(outputs)
    computed = flat = keras.tree.flatten(outputs)
    if not all(map(keras.backend.is_keras_tensor, flat)):
        raise NotSupported(f"{type(model).__name__} has an output that does not depend on its inputs")
    numbers = [len(tensor.shape) < 2 for tensor in flat]
    if any(numbers) and not objectives.has_train_step and not objectives.are_none:
        raise NotSupported(f"{type(model).__name__} has an output of one number for each example; "
                           f"with an axis of length 1 (keepdims=True) it is supported")
    flat = [keras.ops.expand_dims(tensor, -1) if is_number else tensor
            for tensor, is_number in zip(flat, numbers)]
    if names:
        flat = [tensor if tensor._keras_history.operation.name == name else
                keras.layers.Identity(name=name)(tensor) for name, tensor in zip(names, flat)]
    names = [tensor._keras_history.operation.name for tensor in flat]
    flat = objectives.job_outputs_of(flat, tensors)
    packed = keras.tree.pack_sequence_as(structure, list(tensors))
    given = [there if is_number else tensor for there, tensor, is_number in zip(computed, flat, numbers)]
    predictions = keras.tree.pack_sequence_as(outputs, given) if flat else None
    with inlined, inlined.in_step_of(model, packed, predictions):
        labels, values = objectives.trace(flat, names, inlined.trace, inlined.penalties, packed,
                                          predictions, inlined.updates)
    calls = inlined.step_calls
    if objectives.has_train_step and not calls.uses(computed) and not calls.uses(given) and flat:
        _refuse_second_call(model)
    with inlined:
        for i, (there, is_number) in enumerate(zip(computed, numbers)):
            inferred = calls.inferred(there, given[i])
            if inferred is None:
                continue
            # The step computes the model in inference mode only.
            name = flat[i]._keras_history.operation.name
            inferred = keras.ops.expand_dims(inferred, -1) if is_number else inferred
            if inferred._keras_history.operation.name != name:
                name += "_inferred"
                inferred = keras.layers.Identity(name=name)(inferred)
                objectives.rename(i, name)
            flat[i] = inferred
    trace = inlined.trace
    try:
        functional = keras.Model([*inlined.inputs, *labels, *trace.inputs], [*flat, *values],
                                 name=model.name)
    except ValueError as error:
        raise NotSupported(f"{error} Give the layers in own layers other names, or none") from error
    known = {id(weight) for weight in [*functional.weights, *trace.weights.values()]}
    for weight in model.trainable_weights:
        if id(weight) not in known and not objectives.are_none:
            raise NotSupported(f"no output depends on weight {weight.path}, or by Python code that "
                               f"is no operation of keras.ops")
    topology = json.loads(functional.to_json())
    for node in topology["config"]["layers"]:
        if node["config"].get("batch_shape") == [None]:  # In a job an example has an axis.
            node["config"]["batch_shape"] = [None, 1]
    translation = Translation(topology, trace.weights, whole=[*whole, *objectives.whole_inputs])
    objectives.translated(translation.kind_of)
    return Rebuilt(functional, topology, translation.weights.named, names,
                   keras.tree.map_structure(lambda each: int(len(each.shape) < 2), outputs),
                   inlined.constants,
                   translation.weights.input_layer() is not None)
