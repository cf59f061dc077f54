"""Writes a Keras model as the TF.js layers model that a job file names, and reads trained weights.

Weights have the names of Cairn's variables, LAYER/VARIABLE. A layer of a model that is itself a
layer keeps its name, or is called MODEL/LAYER if the name is taken.
"""

import json
import os

import numpy as np

from cairn.errors import NotSupported
from cairn.operations import Translation

# Keras's dtype policies that a job has as its precision. Their weights are float32.
MIXED = ("mixed_bfloat16", "mixed_float16")


# Layers of a job that take whole numbers, and those whose output has their input's type.
_TAKE_ANY_TYPE = {"CategoryEncoding", "Discretization", "Embedding", "Functional", "Model", "Normalization",
                  "Rescaling", "Resizing", "Sequential", "StringLookup"}
_KEEP_TYPE = {"Flatten", "Reshape", "TimeDistributed"}


def _is_model(layer):
    return type(layer).__name__ in ("Sequential", "Functional", "Model")


def _stacked_cells(layer):
    """The cells of an RNN that has several: in a job a layer for each."""
    cell = getattr(layer, "cell", None)
    return cell.cells if type(cell).__name__ == "StackedRNNCells" else []


def _expand(model):
    """(name, layer) of every layer with the layers of inner models in place of these models."""
    taken = {layer.name for layer in model.layers}
    expanded = []
    for layer in model.layers:
        cells = _stacked_cells(layer)
        if not cells and not _is_model(layer):
            expanded.append((layer.name, layer))
            continue
        for name, inner in [(cell.name, cell) for cell in cells] or _expand(layer):
            if type(inner).__name__ == "InputLayer":
                continue
            expanded.append((f"{layer.name}/{name}" if name in taken else name, inner))
            taken.add(name)
    return expanded


def _variable_name(layer, weight):
    """The variable's name in its layer, as Keras 2 and TF.js call it."""
    parts = weight.path.split("/")
    kind = type(layer).__name__
    if kind == "Bidirectional":
        direction = "forward" if parts[-3] == layer.forward_layer.name else "backward"
        config = layer.get_config()
        wrapped = config.get("backward_layer") if direction == "backward" else None
        wrapped = wrapped or config["layer"]
        return f"{direction}_{wrapped['config']['name']}/{parts[-1]}"
    if kind == "TimeDistributed":
        return f"{layer.layer.name}/{_variable_name(layer.layer, weight)}"
    if kind in ("DepthwiseConv1D", "DepthwiseConv2D") and parts[-1] == "kernel":
        return "depthwise_kernel"
    if kind == "MultiHeadAttention":
        return "/".join(parts[-2:])
    return parts[-1]


def _has_one_mean(layer):
    """True for Normalization(axis=None): its mean and variance are arguments of the job's layer."""
    return type(layer).__name__ == "Normalization" and not layer._keep_axis


def _state_means(topology, model):
    """Makes the one mean and variance of a Normalization(axis=None) arguments of the layer."""
    for node in topology["config"].get("layers", []):
        config = node["config"]
        if "layers" in config:
            _state_means(node, model.get_layer(config["name"]))
        elif node["class_name"] == "Normalization" and not config.get("axis"):
            layer = model.get_layer(config["name"])
            del config["axis"]
            config["mean"] = float(np.ravel(layer.mean)[0])
            config["variance"] = float(np.ravel(layer.variance)[0])


def named_weights(model, rebuilt=None):
    """{name of the variable in Cairn: (Keras's variable or an array, its shape there)}, each once.

    rebuilt: structure.Rebuilt, if the job's model is one.
    """
    named, seen = dict(rebuilt.weights) if rebuilt else {}, set()
    for name, layer in _expand(model):
        for weight in layer.weights:
            # Normalization counts what it adapted to, which no result depends on.
            counts = type(layer).__name__ == "Normalization" and weight.path.endswith("/count")
            if id(weight) not in seen and not counts and not _has_one_mean(layer):
                named[f"{name}/{_variable_name(layer, weight)}"] = weight, tuple(weight.shape)
                seen.add(id(weight))
    return named


def _set_types(node, consumers):
    """Sets the types of inputs: whole numbers for an Embedding alone, also where Keras says float32
    because an InputLayer does not state its type, and no whole numbers for a layer that takes none."""
    for layer in node["config"].get("layers", []):
        if layer["class_name"] != "InputLayer":
            continue
        name = layer.get("name") or layer["config"].get("name")
        if {kind for _, kind in consumers.get(name, ())} == {"Embedding"}:
            layer["config"]["dtype"] = "int32"
        elif "int" in str(layer["config"].get("dtype")) and _needs_floats(name, consumers):
            layer["config"]["dtype"] = "float32"


def _needs_floats(name, consumers):
    """True if a layer behind this one takes no whole numbers."""
    return any(_needs_floats(consumer, consumers) if kind in _KEEP_TYPE else
               kind not in _TAKE_ANY_TYPE and not kind.startswith("Random")
               for consumer, kind in consumers.get(name, ()))


def _consumers(node):
    """{layer: {(name, class) of a layer that takes its output}}, from the model's JSON."""
    layers = node["config"].get("layers", [])
    found = {}
    if node["class_name"] == "Sequential":
        for layer, after in zip(layers, layers[1:]):
            found[layer["config"].get("name")] = {(after["config"].get("name"), after["class_name"])}
        return found

    def see(value, consumer):
        if isinstance(value, dict):
            history = value.get("keras_history")
            if history:
                found.setdefault(history[0], set()).add(consumer)
            for each in value.values():
                see(each, consumer)
        elif isinstance(value, (list, tuple)):
            for each in value:
                see(each, consumer)

    for layer in layers:
        # An Embedding with mask_zero has a NotEqual beside it, which computes the mask.
        if layer["class_name"] != "NotEqual":
            name = layer.get("name") or layer["config"].get("name")
            see(layer.get("inbound_nodes", []), (name, layer["class_name"]))
    return found


def _is_known(initializer):
    """True for an initializer, in JSON, that a job has too."""
    value = initializer.get("config")
    value = value.get("value", 0.0) if isinstance(value, dict) else 0.0
    return initializer.get("module") == "keras.initializers" and \
        initializer.get("class_name") != "STFTInitializer" and isinstance(value, (int, float))


def _simplify(node):
    """Replaces what a job does not have, and does not need.

    Its layers are float32; the job has the precision. Its weights are given, so an initializer of the
    script, or one with an array, is not used.
    """
    if isinstance(node, list):
        for each in node:
            _simplify(each)
    elif isinstance(node, dict):
        policy = node.get("dtype")
        if isinstance(policy, dict) and policy.get("config", {}).get("name") in MIXED:
            node["dtype"] = "float32"
        for name, value in node.items():
            if name.endswith("initializer") and isinstance(value, dict) and not _is_known(value):
                node[name] = {"module": "keras.initializers", "class_name": "Zeros", "config": {}}
            else:
                _simplify(value)


def write_model(model, rebuilt, folder, optimizer=None):
    """Writes model.json and weights.bin into `folder`; returns the path of model.json.

    optimizer: the state of one, as optimizer_state.tensors_of: optimizer.json has it, with the weights.
    """
    topology = rebuilt.topology if rebuilt else json.loads(model.to_json())
    _simplify(topology)
    _state_means(topology, model)
    if not rebuilt:
        Translation(topology)
    _set_types(topology, _consumers(topology))
    weights = {}
    for name, (weight, shape) in named_weights(model, rebuilt).items():
        values = weight if isinstance(weight, np.ndarray) else np.asarray(weight.numpy())
        if values.dtype != np.float32:
            raise NotSupported(f"weight {weight.path} is of type {values.dtype}; all numbers "
                               f"of a job's model are float32")
        weights[name] = values.reshape(shape)
    manifest = [_write_weights(weights, folder, "weights.bin")]
    path = _write_document(topology, manifest, folder, "model.json")
    if optimizer is not None:
        manifest.append(_write_weights(optimizer, folder, "optimizer.bin"))
        _write_document(topology, manifest, folder, "optimizer.json")
    return path


def _write_weights(weights, folder, file_name):
    """Writes the file; returns its part of the manifest."""
    with open(os.path.join(folder, file_name), "wb") as file:
        for values in weights.values():
            file.write(np.ascontiguousarray(values).astype("<f4").tobytes())
    return {"paths": [file_name],
            "weights": [{"name": name, "shape": list(values.shape), "dtype": "float32"}
                        for name, values in weights.items()]}


def _write_document(topology, manifest, folder, file_name):
    document = {"format": "layers-model", "generatedBy": "keras", "modelTopology": topology,
                "weightsManifest": manifest}
    path = os.path.join(folder, file_name)
    with open(path, "w", encoding="utf-8") as file:
        json.dump(document, file)
    return path


def read_safetensors(path):
    """{name: float32 array} of a .safetensors file."""
    with open(path, "rb") as file:
        data = file.read()
    header_size = int.from_bytes(data[:8], "little")
    header = json.loads(data[8:8 + header_size])
    weights = {}
    for name, entry in header.items():
        if name == "__metadata__":
            continue
        begin, end = (8 + header_size + offset for offset in entry["data_offsets"])
        weights[name] = np.frombuffer(data[begin:end], "<f4").reshape(entry["shape"])
    return weights


def set_weights(model, rebuilt, weights):
    """Sets the model's weights from {name: array}, as named_weights names them."""
    for name, (variable, _) in named_weights(model, rebuilt).items():
        if name not in weights:
            raise KeyError(f"the trained model has no weight {name}")
        if not isinstance(variable, np.ndarray):
            variable.assign(weights[name].reshape(variable.shape))
