"""Layers of Keras that call another one for each step, and are several layers of a job."""

import keras

from cairn import masks
from cairn.errors import NotSupported


def is_of_several(layer):
    """True for a model that is applied to each step, and for an RNN with a cell of the script."""
    if isinstance(layer, keras.layers.TimeDistributed):
        return isinstance(layer.layer, keras.Model)
    return type(layer) is keras.layers.RNN and \
        type(layer.cell).__module__.split(".")[0] != "keras"


def call(layer, args, kwargs):
    """The result for symbolic tensors: that of each of the layers, one after the other."""
    if isinstance(layer, keras.layers.TimeDistributed):
        tensor = args[0]
        for each in _chain(layer, layer.layer):
            tensor = keras.layers.TimeDistributed(each)(tensor)
        return tensor
    return _unrolled(layer, *args, **{key: value for key, value in kwargs.items()
                                      if key != "training"})


def _chain(layer, model):
    """The layers of a model, each of which takes the result of the one before."""
    if isinstance(model, keras.Sequential):
        return model.layers
    layers, last = [], model.inputs
    for operation in getattr(model, "operations", []):
        if isinstance(operation, keras.layers.InputLayer):
            continue
        nodes = operation._inbound_nodes
        if not isinstance(operation, keras.Layer) or len(nodes) != 1 or \
                [id(each) for each in nodes[0].input_tensors] != [id(each) for each in last]:
            layers = []
            break
        layers.append(operation)
        last = nodes[0].outputs
    if not layers or [id(each) for each in last] != [id(each) for each in model.outputs]:
        raise NotSupported(f"layer {layer.name} (TimeDistributed) applies model {model.name} to each "
                           f"step, and its layers do not follow one after the other: apply them to each "
                           f"step by a TimeDistributed each")
    return layers


def _unrolled(layer, sequence, initial_state=None, mask=None):
    cell, steps = layer.cell, sequence.shape[1]
    what = f"layer {layer.name} (RNN) with the cell {type(cell).__name__}"
    if steps is None:
        raise NotSupported(f"{what}: the number of steps of its input {tuple(sequence.shape)} is not "
                           f"known")
    if mask is not None or masks.of(sequence) is not None:
        raise NotSupported(f"{what}: its input has a mask")
    if layer.stateful:
        raise NotSupported(f"{what} is stateful")
    if initial_state is None:
        own = getattr(type(cell), "get_initial_state", None)
        if own is not None and own.__module__.split(".")[0] != "keras":
            raise NotSupported(f"{what}, which has its own get_initial_state: give the initial_state")
        zero = sequence[:, 0, :1] * 0.0
        initial_state = [keras.ops.repeat(zero, size, axis=1)
                         for size in keras.tree.flatten(cell.state_size)]
    states, outputs = keras.tree.flatten(initial_state), []
    for step in range(steps)[::-1 if layer.go_backwards else 1]:
        output, states = cell(sequence[:, step], states)
        states = keras.tree.flatten(states)
        outputs.append(output)
    output = keras.ops.stack(outputs, axis=1) if layer.return_sequences else outputs[-1]
    return [output, *states] if layer.return_state else output
