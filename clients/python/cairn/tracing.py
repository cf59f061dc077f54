"""Runs the Python code of layers, losses and metrics on symbolic tensors.

Keras's operations on keras.KerasTensor record what they compute. Here they do so of weights, too, and
TensorFlow's functions become Keras's operations.
"""

import contextlib
import importlib
import inspect

import keras
from keras.src.backend.common import keras_tensor
from keras.src.backend.common.variables import Variable

from cairn.errors import NotSupported

ops = keras.ops
_MODULES = [importlib.import_module(f"keras.src.ops.{name}") for name in
            ("core", "einops", "image", "linalg", "math", "nn", "numpy", "operation")]
_OPERATORS = ["__getitem__", "__neg__", "__pos__", "__abs__",
              *(f"__{side}{name}__" for name in ("add", "sub", "mul", "truediv", "pow", "matmul")
                for side in ("", "r")), "__lt__", "__le__", "__gt__", "__ge__"]
_trace = None  # The Trace that records now.


class Trace:
    """While it is entered, weights of own layers are symbolic tensors, if it is recording.

    weights: {name of the InputLayer that stands for a weight: Keras's variable}.
    noise: the tensor for random numbers of a shape, with their mean and standard deviation.
    """

    def __init__(self, noise):
        self.weights = {}
        self._noise = noise
        self._tensors = {}  # By id of the variable: the symbolic tensor.
        self._is_recording = False
        self._stack = contextlib.ExitStack()

    def __enter__(self):
        global _trace
        _trace = self
        _dispatch_tensorflow()
        for module in _MODULES:
            self._set(module, "any_symbolic_tensors", self._any_symbolic)
        symbolic_call = keras.Operation.symbolic_call
        self._set(keras.Operation, "symbolic_call", lambda operation, *args, **kwargs: symbolic_call(
            operation, *self.symbolic(args), **self.symbolic(kwargs)))
        for name in _OPERATORS:
            self._set(Variable, name, self._operator(name))
        for name in "assign", "assign_add", "assign_sub":
            self._set(Variable, name, self._refusing(name, "which a job cannot: its weights "
                                                           "change in updates only"))
        for kind in (Variable, keras.Variable):
            for name in ("__array__", "numpy", "__tf_tensor__"):
                if name in vars(kind):
                    self._set(kind, name, self._converting(kind, name))
        normal = keras.random.normal
        self._set(keras.random, "normal", lambda shape, mean=0.0, stddev=1.0, *args, **kwargs:
                  self.noise(shape, mean, stddev) if self.is_of_batch(shape) else
                  normal(shape, mean, stddev, *args, **kwargs))
        value = Variable.value.fget
        self._set(Variable, "value", property(
            lambda variable: self.tensor(variable) if self._is_recording else value(variable)))
        return self

    def __exit__(self, *_):
        global _trace
        _trace = None
        self._stack.close()

    def _set(self, owner, name, value):
        before = getattr(owner, name) if inspect.ismodule(owner) else vars(owner)[name]
        self._stack.callback(setattr, owner, name, before)
        setattr(owner, name, value)

    @contextlib.contextmanager
    def recording(self, is_recording=True):
        """Inside, weights are symbolic: while Python code of the script runs, not that of Keras."""
        before, self._is_recording = self._is_recording, is_recording
        try:
            yield
        finally:
            self._is_recording = before

    def tensor(self, variable):
        """The symbolic tensor of a weight."""
        if id(variable) not in self._tensors:
            name = f"own_weight{len(self._tensors)}"
            self._tensors[id(variable)] = keras.Input(batch_shape=tuple(variable.shape), name=name,
                                                      dtype=variable.dtype)
            self.weights[name] = variable
        return self._tensors[id(variable)]

    def is_of_batch(self, shape):
        """True for the shape of a symbolic tensor of examples."""
        return self._is_recording and isinstance(shape, (list, tuple)) and len(shape) > 1 and \
            shape[0] is None

    def noise(self, shape, mean=0.0, deviation=1.0):
        with self.recording(False):
            return self._noise(tuple(shape), mean, deviation)

    @property
    def inputs(self):
        return list(self._tensors.values())

    def symbolic(self, structure):
        """The structure with symbolic tensors in place of weights."""
        if not self._is_recording:
            return structure
        return keras.tree.map_structure(
            lambda each: self.tensor(each) if isinstance(each, Variable) else each, structure)

    def is_symbolic(self, structure):
        return any(keras.backend.is_keras_tensor(each) or
                   self._is_recording and isinstance(each, Variable)
                   for each in keras.tree.flatten(structure))

    def _any_symbolic(self, args=None, kwargs=None):
        return keras_tensor.any_symbolic_tensors(args, kwargs) or \
            self._is_recording and self.is_symbolic((args or (), kwargs or {}))

    def _operator(self, name):
        original = vars(Variable)[name]

        def operator(variable, *others):
            if not self._is_recording:
                return original(variable, *others)
            if name == "__getitem__" and isinstance(others[0], slice):
                others = [(others[0],)]  # A symbolic tensor takes a tuple.
            return getattr(self.tensor(variable), name)(*self.symbolic(others))

        return operator

    def _refusing(self, name, reason):
        original = vars(Variable)[name]

        def method(variable, *args, **kwargs):
            if self._is_recording:
                raise NotSupported(f"{name} of weight {variable.path} is called, {reason}")
            return original(variable, *args, **kwargs)

        return method

    def _converting(self, kind, name):
        original = vars(kind)[name]

        def method(variable, *args, **kwargs):
            if self._is_recording and name == "__tf_tensor__":
                raise TypeError("a symbolic weight")  # TensorFlow then asks the dispatcher.
            if self._is_recording:
                raise NotSupported(f"weight {variable.path} is taken as an array, which has no "
                                   f"gradient: use keras.ops")
            return original(variable, *args, **kwargs)

        return method


# ------------------------------------------------------------------------------ TensorFlow's functions


def _of(name, count=1):
    """Keras's operation of this name, of the first `count` arguments."""
    return lambda *values: getattr(ops, name)(*values[:count])


def _matmul(a, b, transpose_a=False, transpose_b=False, *_):
    def transposed(x):
        return ops.swapaxes(x, -1, -2)

    return ops.matmul(transposed(a) if transpose_a else a, transposed(b) if transpose_b else b)


_REDUCTIONS = ("mean", "sum", "max", "min")
# By the function's name in TensorFlow: a function of its arguments in their order, without `name`.
_FUNCTIONS = {
    **{name: _of(name) for name in (
        "abs", "square", "sqrt", "rsqrt", "exp", "expm1", "log", "log1p", "sign", "sin", "cos", "tanh",
        "sigmoid", "relu", "relu6", "softplus", "softsign", "elu", "selu", "reciprocal", "negative",
        "logical_not")},
    **{name: _of(name, 2) for name in (
        "add", "subtract", "multiply", "divide", "maximum", "minimum", "less", "less_equal", "greater",
        "greater_equal", "equal", "not_equal", "logical_and", "logical_or", "reshape", "squeeze",
        "expand_dims", "stack", "transpose", "cast", "tensordot", "divide_no_nan")},
    **{f"reduce_{name}": _of(name, 3) for name in _REDUCTIONS},
    "reduce_variance": _of("var", 3), "reduce_std": _of("std", 3),
    "reduce_logsumexp": _of("logsumexp", 3),
    "truediv": _of("true_divide", 2), "pow": _of("power", 2), "where_v2": _of("where", 3),
    "concat": lambda values, axis, *_: ops.concatenate(values, axis),
    "clip_by_value": _of("clip", 3), "matmul": _matmul, "shape_v2": _of("shape"),
    "squared_difference": lambda x, y, *_: ops.square(x - y),
    "softmax_v2": lambda x, axis=None, *_: ops.softmax(x, -1 if axis is None else axis),
    "log_softmax_v2": lambda x, axis=None, *_: ops.log_softmax(x, -1 if axis is None else axis),
    "leaky_relu": _of("leaky_relu", 2), "swish": _of("silu"), "gelu": _of("gelu", 2),
    "zeros_like_v2": _of("zeros_like"), "ones_like_v2": _of("ones_like"),
    "convert_to_tensor_v2_with_dispatch": lambda value, *_: value, "identity": lambda x, *_: x,
    "sigmoid_cross_entropy_with_logits_v2": lambda labels, logits, *_: ops.binary_crossentropy(
        labels, logits, from_logits=True),
    "norm_v2": lambda x, order="euclidean", axis=None, keepdims=False, *_: ops.norm(
        x, axis=axis, keepdims=keepdims),
    "broadcast_to": _of("broadcast_to", 2), "gather_v2": lambda x, ids, _=None, axis=None, *__:
        ops.take(x, ids, axis=axis or 0),
    "embedding_lookup_v2": lambda x, ids, *_: ops.take(x, ids, axis=0),
    "einsum": lambda equation, *values: ops.einsum(equation, *values),
}
_dispatched = False


def _dispatch_tensorflow():
    """Once: TensorFlow's functions of a Trace's symbolic tensors are Keras's operations."""
    global _dispatched
    if _dispatched or keras.backend.backend() != "tensorflow":
        return
    _dispatched = True
    from tensorflow.python.util import dispatch

    class Dispatcher(dispatch.GlobalOpDispatcher):
        def handle(self, op, args, kwargs):
            name = getattr(op, "__name__", str(op))
            if _trace is not None and name == "random_normal":
                shape, *others = [*args, *(each for key, each in kwargs.items() if key == "shape")]
                if _trace.is_of_batch(shape):
                    return _trace.noise(shape, *others[:2])
            if _trace is None or not _trace.is_symbolic((args, kwargs)):
                return self.NOT_SUPPORTED
            function = _FUNCTIONS.get(name)
            if function is None:
                raise NotSupported(f"tf.{name} is no operation that a job has: use keras.ops")
            bound = inspect.signature(op).bind(*args, **kwargs)
            bound.apply_defaults()
            bound.arguments.pop("name", None)
            bound.arguments.pop("kwargs", None)
            values = list(bound.arguments.values())
            if name == "einsum":
                values[1:] = values[1]
            return function(*_trace.symbolic(tuple(
                keras.backend.standardize_dtype(each) if hasattr(each, "as_numpy_dtype") else each
                for each in values)))

    Dispatcher().register()
