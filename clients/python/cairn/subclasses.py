"""Subclasses of Keras's layers, whose call is that of Keras: a job has the layer of Keras.

It is a second object with the same weights. So it is also for what the call of a subclass gets of
super().call, as of a BatchNormalization, whose Python code is not one of operations.
"""

import contextlib
import functools
import itertools

import keras

from cairn.tracing import patched

# What a subclass may have of its own, beside new names, and compute what Keras's layer computes. Its call
# is looked at apart.
_HARMLESS = {"build", "call", "compute_output_shape", "from_config", "get_config"}
# They compute nothing, or are traced like code of the script.
_NOT_REPLACED = (keras.layers.GRUCell, keras.layers.InputLayer, keras.layers.LSTMCell, keras.layers.Layer,
                 keras.layers.SimpleRNNCell, keras.layers.Wrapper)
# Attributes that depend on the class.
_OF_CLASS = {"_auto_config", "_call_context_args", "_call_has_context_arg", "_call_has_mask_arg",
             "_call_has_training_arg", "_call_signature", "_inbound_nodes", "_outbound_nodes",
             "_supports_masking", "build", "call_signature_parameters", "quantize"}


def _own_classes(layer):
    """The classes of the script among those of the layer, and Keras's class behind them."""
    classes = type(layer).__mro__
    own = list(itertools.takewhile(lambda each: each.__module__.split(".")[0] != "keras", classes))
    return own, classes[len(own)] if len(own) < len(classes) else object


def keras_class(layer):
    """The class of Keras that the layer is a subclass of, with few changes; None if there is none."""
    own, kind = _own_classes(layer)
    is_layer = own and getattr(keras.layers, kind.__name__, None) is kind
    if not is_layer or kind in _NOT_REPLACED or isinstance(layer, keras.Model):
        return None
    names = {name for each in own for name in vars(each)
             if not name.startswith("__") or name == "__call__"}
    return None if any(hasattr(kind, name) for name in names - _HARMLESS) else kind


def has_call(layer):
    """True if a class of the script says what the layer computes."""
    return any("call" in vars(each) for each in _own_classes(layer)[0])


def as_keras(layer):
    """A layer of keras_class with the same weights."""
    kind = keras_class(layer)
    twin = kind.from_config(kind.get_config(layer))
    vars(twin).update({name: value for name, value in vars(layer).items() if name not in _OF_CLASS})
    return twin


@contextlib.contextmanager
def calling(layer, twin):
    """Inside, super().call of the layer calls its twin."""
    owner = next(each for each in type(twin).__mro__ if "call" in vars(each))
    original = owner.call

    @functools.wraps(original)
    def call(self, *args, **kwargs):
        return twin(*args, **kwargs) if self is layer else original(self, *args, **kwargs)

    with patched(owner, "call", call):
        yield
