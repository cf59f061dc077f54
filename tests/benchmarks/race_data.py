"""Writes the examples that Cairn and the originals train on in a race.

Usage: race_data.py MODEL.json BATCHES BATCH FOLDER       (needs NumPy)

FOLDER gets x.npy and y.npy, and prints nothing. Images are noise around a picture of their class; the
numbers of an embedding's example are drawn, by Zipf's law, from those of their class. So a model learns
something, and who trains shows it by its loss.
"""

import json
import pathlib
import sys

import numpy as np


def main():
    architecture, batches, batch, folder = sys.argv[1:5]
    layers = json.loads(pathlib.Path(architecture).read_text(encoding="utf-8"))["config"]["layers"]
    first = layers[0]["config"]
    shape = first.get("batch_shape", first.get("batch_input_shape"))[1:]
    classes = [layer["config"] for layer in layers if "units" in layer["config"]][-1]["units"]
    draw = np.random.default_rng(1)
    count = int(batches) * int(batch)
    y = draw.integers(0, classes, count).astype(np.int32)
    if first.get("dtype") == "int32":
        words = [layer["config"] for layer in layers if "input_dim" in layer["config"]][0]["input_dim"]
        ranks = np.minimum(draw.zipf(1.2, (count, *shape)), words // classes) - 1
        x = (ranks * classes + y[:, None]).astype(np.int32)
    else:
        pictures = draw.random((classes, *shape), dtype=np.float32)
        x = draw.random((count, *shape), dtype=np.float32)
        x = (x + pictures[y]) / 2
    np.save(pathlib.Path(folder, "x.npy"), x)
    np.save(pathlib.Path(folder, "y.npy"), y)


if __name__ == "__main__":
    main()
