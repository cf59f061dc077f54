"""The state of a Keras optimizer: the number of its updates, and its slots (moments) of each weight.

In files of weights a slot is optimizer/SLOT/WEIGHT, and the number of updates is optimizer/updates.
"""

import keras
import numpy as np

UPDATES = "optimizer/updates"
_MOMENTS = {"momentum": "_momentums", "velocity": "_velocities"}
# By class: {slot: the attribute with the variables of the slot, one for each weight}.
_SLOTS = {
    "SGD": {"momentum": "momentums"},
    "Adam": {**_MOMENTS, "velocity_hat": "_velocity_hats"},
    "AdamW": {**_MOMENTS, "velocity_hat": "_velocity_hats"},
    "Nadam": _MOMENTS,
    "Lamb": _MOMENTS,
    "Adamax": {"momentum": "_m", "norm": "_u"},
    "RMSprop": {**_MOMENTS, "average_gradient": "_average_gradients"},
    "Adagrad": {"accumulator": "_accumulators"},
    "Adadelta": {"accumulated_grad": "_accumulated_grads",
                 "accumulated_delta_var": "_accumulated_delta_vars"},
    "Ftrl": {"accumulator": "_accumulators", "linear": "_linears"},
    "Lion": {"momentum": "_momentums"},
}


def optimizer_of(model):
    """The model's optimizer. If compile has given it to a LossScaleOptimizer, as Keras does with a policy
    of mixed_float16, it is the inner one: workers scale the loss themselves."""
    optimizer = model.optimizer
    while isinstance(optimizer, keras.optimizers.LossScaleOptimizer):
        optimizer = optimizer.inner_optimizer
    return optimizer


def has_state(optimizer):
    """True if it has one that a job can continue: not before its first update, and not with an average,
    whose model has the average in place of the values."""
    return optimizer.built and int(optimizer.iterations) > 0 and not optimizer.use_ema


def tensors_of(optimizer, named):
    """{name: array} of the state. named: as model_files.named_weights."""
    tensors = {UPDATES: np.array(int(optimizer.iterations), np.float32)}
    for slot, weight, variable, shape in _slots(optimizer, named):
        tensors[f"optimizer/{slot}/{weight}"] = np.asarray(variable.numpy()).reshape(shape)
    return tensors


def set_state(model, named, tensors):
    """Sets the slots of the model's optimizer from {name: array}."""
    optimizer = optimizer_of(model)
    if not optimizer.built:
        model.optimizer.build(model.trainable_variables)
    for slot, weight, variable, _ in _slots(optimizer, named):
        values = tensors.get(f"optimizer/{slot}/{weight}")
        if values is not None:
            variable.assign(values.reshape(variable.shape))
    if type(optimizer) is keras.optimizers.Nadam:
        steps = np.arange(1, int(tensors[UPDATES]) + 1)
        optimizer._u_product.assign(np.prod(optimizer.beta_1 * (1.0 - 0.5 * 0.96 ** steps)))


def _slots(optimizer, named):
    """(slot, name of the weight, the slot's variable, the weight's shape in the job) of each slot."""
    places = {id(variable): i for i, variable in enumerate(optimizer._trainable_variables)}
    for slot, attribute in _SLOTS[type(optimizer).__name__].items():
        variables = getattr(optimizer, attribute, None) or []
        for weight, (variable, shape) in named.items():
            place = places.get(id(variable))
            if place is not None and place < len(variables) and variable.trainable:
                yield slot, weight, variables[place], shape
