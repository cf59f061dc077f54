"""Trains a model file for one step that changes nothing, and predicts and exports with the result."""

import json
import os
import pathlib
import subprocess

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[3]
CAIRN = str(pathlib.Path(os.environ.get("CAIRN_BIN", ROOT / "bazel-bin"), "cli/cairn"))


def cairn(*arguments, folder, fails=False):
    done = subprocess.run([CAIRN, *map(str, arguments)], cwd=folder, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if (done.returncode != 0) != fails:
        raise RuntimeError(f"cairn {' '.join(map(str, arguments))}: {done.stdout}")
    return done.stdout


class Job:
    """A job in a new folder, whose initial weights are those of the model file."""

    def __init__(self, folder, model_file, inputs, output_shapes, **fields):
        self.folder = pathlib.Path(folder)
        self.inputs = []
        for i, array in enumerate(inputs):
            self.inputs.append(f"x{i}.npy")
            np.save(self.folder / self.inputs[i], array)
        labels = {}
        for i, (name, shape) in enumerate(output_shapes):
            np.save(self.folder / f"label{i}.npy", np.zeros((len(inputs[0]), *shape), "f"))
            labels[name] = f"label{i}.npy"
        self.outputs = [f"y{i}.npy" for i in range(len(labels))]
        one = len(self.inputs) == 1
        job = {"name": "judged", "model": str(model_file),
               "train": {"npy": {"features": self.inputs[0] if one else self.inputs,
                                 "labels": labels if len(labels) > 1 else "label0.npy"}},
               "loss": "mse" if len(labels) == 1 else {name: "mse" for name in labels},
               "optimizer": {"name": "sgd", "learning_rate": 1e-30}, "batch_size": len(inputs[0]),
               "epochs": 1, **fields}
        (self.folder / "job.json").write_text(json.dumps(job))
        cairn("run", "job.json", "--ps", 1, "--workers", 1, "--state", "state", folder=folder)

    def predict(self):
        arguments = []
        for name in self.inputs:
            arguments += ["--input", name]
        for name in self.outputs:
            arguments += ["--output", name]
        cairn("predict", "judged", *arguments, "--state", "state", folder=self.folder)
        return [np.load(self.folder / name) for name in self.outputs]

    def export(self, name, *flags, fails=False):
        text = cairn("export", "judged", "--output", name, "--state", "state", *flags,
                     folder=self.folder, fails=fails)
        return text if fails else self.folder / name
