#!/usr/bin/env python3
"""Writes torch_cases.json: layers that TensorFlow.js lacks, or has otherwise, with PyTorch's
outputs and gradients. Needs PyTorch (Debian's python3-torch); run:

  python3 PATH/generate_torch.py > PATH/torch_cases.json

A case has what one of generate.js has: `model`, `weights` in the order and shapes of Keras's,
`inputs`, `output`, and `gradients` of the mean of the squared output. One with several outputs has
`outputs` and `loss_weights` in place of `output`; its gradients are of the weighted sum of those
means.
"""

import json

import torch
from torch.nn import functional

torch.manual_seed(1)


def draw(*shape):
    return (torch.rand(shape) * 1.4 - 0.7).requires_grad_()


def entry(class_name, name, inbound, **config):
    return {"class_name": class_name, "name": name, "config": {"name": name, **config},
            "inbound_nodes": [inbound] if inbound else []}


def data(tensor):
    return {"shape": list(tensor.shape), "values": tensor.flatten().tolist()}


def case(name, layers, weights, inputs, output):
    """The first layers are the inputs, the last one is the output."""
    gradients = torch.autograd.grad((output ** 2).mean(), weights)
    architecture = {"name": "model", "layers": layers,
                    "input_layers": [[f"x{i}", 0, 0] for i in range(len(inputs))],
                    "output_layers": [[layers[-1]["name"], 0, 0]]}
    return {"name": name, "model": {"class_name": "Functional", "config": architecture},
            "weights": [data(w) for w in weights], "inputs": [data(x) for x in inputs],
            "output": data(output), "gradients": [g.flatten().tolist() for g in gradients]}


def input_layer(index, shape, dtype="float32"):
    return entry("InputLayer", f"x{index}", None, batch_input_shape=[None, *shape], dtype=dtype)


def attention(name, query_steps, value_steps=None, width=6, value_width=6, heads=2, key_dim=3):
    """Of one input with itself, or with a second one of other steps and width."""
    inputs = [torch.rand(2, query_steps, width) * 2 - 1]
    if value_steps:
        inputs.append(torch.rand(2, value_steps, value_width) * 2 - 1)
    query, value = inputs[0].transpose(0, 1), inputs[-1].transpose(0, 1)
    inner = heads * key_dim
    weights = [draw(width, heads, key_dim), draw(heads, key_dim),
               draw(value_width, heads, key_dim), draw(heads, key_dim),
               draw(value_width, heads, key_dim), draw(heads, key_dim),
               draw(heads, key_dim, width), draw(width)]
    projections = [w.reshape(w.shape[0], inner).t() for w in weights[0:6:2]]
    biases = torch.cat([b.reshape(inner) for b in weights[1:6:2]])
    # PyTorch's own width is that of the projections; width == inner makes them the same.
    assert width == inner
    output, _ = functional.multi_head_attention_forward(
        query, value, value, inner, heads, None, biases, None, None, False, 0.0,
        weights[6].reshape(inner, width).t(), weights[7], training=True, need_weights=False,
        use_separate_proj_weight=True, q_proj_weight=projections[0], k_proj_weight=projections[1],
        v_proj_weight=projections[2])
    layers = [input_layer(i, x.shape[1:]) for i, x in enumerate(inputs)]
    taken = f"x{len(inputs) - 1}"
    layers.append(entry("MultiHeadAttention", "layer", [["x0", 0, 0, {"value": [taken, 0, 0]}]],
                        num_heads=heads, key_dim=key_dim))
    return case(name, layers, weights, inputs, output.transpose(0, 1))


def gru(name, returns_sequences, steps=4, width=3, units=5):
    """Keras's default, reset_after. Gates are z, r, h in Keras and r, z, h in PyTorch."""
    x = torch.rand(2, steps, width) * 2 - 1
    weights = [draw(width, 3 * units), draw(units, 3 * units), draw(2, 3 * units)]

    def reorder(matrix):
        z, r, h = matrix.split(units, dim=-1)
        return torch.cat([r, z, h], dim=-1)

    kernel, recurrent, biases = (reorder(w) for w in weights)
    state, states = torch.zeros(2, units), []
    for step in range(steps):
        state = torch.gru_cell(x[:, step], state, kernel.t(), recurrent.t(), biases[0], biases[1])
        states.append(state)
    output = torch.stack(states, dim=1) if returns_sequences else state
    layers = [input_layer(0, (steps, width)),
              entry("GRU", "layer", [["x0", 0, 0, {}]], units=units,
                    return_sequences=returns_sequences)]
    return case(name, layers, weights, [x], output)


def resized(name, class_name, target, **config):
    """A Dense layer in front, so that there is a gradient that goes through it."""
    x = torch.rand(2, 5, 4, 2) * 2 - 1
    weights = [draw(2, 3), draw(3)]
    image = (x @ weights[0] + weights[1]).permute(0, 3, 1, 2)
    output = functional.interpolate(image, size=target, mode="bilinear", align_corners=False)
    layers = [input_layer(0, x.shape[1:]), entry("Dense", "dense", [["x0", 0, 0, {}]], units=3),
              entry(class_name, "layer", [["dense", 0, 0, {}]], **config)]
    return case(name, layers, weights, [x], output.permute(0, 2, 3, 1))


def masked_average():
    ids = torch.tensor([[3, 1, 0, 0, 2], [0, 4, 4, 1, 0], [2, 0, 0, 0, 0]])
    table = draw(5, 3)
    counts = (ids != 0).float().unsqueeze(2)
    output = (functional.embedding(ids, table) * counts).sum(1) / counts.sum(1)
    layers = [input_layer(0, (5,), "int32"),
              entry("Embedding", "table", [["x0", 0, 0, {}]], input_dim=5, output_dim=3,
                    mask_zero=True),
              entry("GlobalAveragePooling1D", "layer", [["table", 0, 0, {}]])]
    return case("masked_global_average_1d", layers, [table], [ids], output)


def several_outputs():
    """One output is made of another one, and a third has a way of its own."""
    x = torch.rand(3, 4) * 2 - 1
    weights = [draw(4, 5), draw(5), draw(5, 3), draw(3), draw(3, 2), draw(2), draw(4, 2), draw(2)]
    stem = torch.tanh(x @ weights[0] + weights[1])
    first = torch.sigmoid(stem @ weights[2] + weights[3])
    outputs = [first, first @ weights[4] + weights[5], x @ weights[6] + weights[7]]
    loss_weights = [0.5, 2.0, 0.25]
    loss = sum(weight * (output ** 2).mean() for weight, output in zip(loss_weights, outputs))
    layers = [input_layer(0, (4,)),
              entry("Dense", "stem", [["x0", 0, 0, {}]], units=5, activation="tanh"),
              entry("Dense", "first", [["stem", 0, 0, {}]], units=3, activation="sigmoid"),
              entry("Dense", "second", [["first", 0, 0, {}]], units=2),
              entry("Dense", "third", [["x0", 0, 0, {}]], units=2)]
    architecture = {"name": "model", "layers": layers, "input_layers": [["x0", 0, 0]],
                    "output_layers": [["first", 0, 0], ["second", 0, 0], ["third", 0, 0]]}
    gradients = torch.autograd.grad(loss, weights)
    return {"name": "several_outputs",
            "model": {"class_name": "Functional", "config": architecture},
            "weights": [data(w) for w in weights], "inputs": [data(x)],
            "outputs": [data(output) for output in outputs], "loss_weights": loss_weights,
            "gradients": [gradient.flatten().tolist() for gradient in gradients]}


def main():
    cases = [
        attention("self_attention", 4),
        attention("cross_attention", 3, value_steps=5, value_width=4),
        gru("gru_reset_after", False),
        gru("gru_reset_after_sequences", True),
        resized("resizing_larger", "Resizing", (7, 9), height=7, width=9),
        resized("resizing_smaller", "Resizing", (3, 3), height=3, width=3),
        resized("up_sampling_bilinear", "UpSampling2D", (10, 12), size=[2, 3],
                interpolation="bilinear"),
        masked_average(),
        several_outputs(),
    ]
    print("[" + ",\n".join(json.dumps(one) for one in cases) + "]")


if __name__ == "__main__":
    main()
