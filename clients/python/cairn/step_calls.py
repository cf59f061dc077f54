"""The calls of layers and models that the code of an own train_step or compute_loss makes.

As in Keras, such a call is for training only if it has training=True. What the job computes for the
model's outputs is not computed a second time.
"""

import inspect
import typing

import keras
from keras.src.models.functional import Functional


class _Known(typing.NamedTuple):
    """A call before the step, for training."""

    outputs: object
    arguments: object  # Kept because their ids are in the key.
    penalties: list  # That it has recorded.


def _key(layer, args, kwargs):
    return (id(layer), *(id(each) if keras.backend.is_keras_tensor(each) else str(each)
                         for each in keras.tree.flatten([args, kwargs])))


def _asks_for_training(model):
    """True if the model computes something else in training."""
    return any("training" in inspect.signature(layer.call).parameters
               for layer in model._flatten_layers()
               if type(layer).call not in (Functional.call, keras.Sequential.call))


class StepCalls:
    def __init__(self):
        self._known = {}  # By _key.
        self._used = set()  # The ids of the tensors that the step has got, or got others for.
        self._inferred = {}  # By the id of such a tensor: the one of inference.

    def note(self, model, args, kwargs, outputs, penalties):
        """The model was called before the step, for training."""
        self._known[_key(model, args, kwargs)] = _Known(outputs, (args, kwargs), penalties)

    def outputs_of(self, layer, args, kwargs, trains, compute, forget):
        """The outputs of a call by the step.

        compute() computes them as the call asks for; forget(penalties) is for those of outputs that
        are not used then.
        """
        known = self._known.pop(_key(layer, args, kwargs), None)
        if known is None:
            return compute()
        flat = keras.tree.flatten(known.outputs)
        self._used |= set(map(id, flat))
        if trains or not _asks_for_training(layer):
            return known.outputs
        forget(known.penalties)
        inferred = compute()
        self._inferred.update(zip(map(id, flat), keras.tree.flatten(inferred)))
        return inferred

    def uses(self, tensors):
        """True if the step has got all of these outputs of the model, or those of inference."""
        return set(map(id, tensors)) <= self._used

    def inferred(self, *tensors):
        """The tensor that the step got in place of one of these; None if it got them."""
        return next((self._inferred[id(each)] for each in tensors if id(each) in self._inferred), None)
