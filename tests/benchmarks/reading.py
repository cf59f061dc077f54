#!/usr/bin/env python3
"""Data read by one worker's reader beside tf.data, in one run on this machine: examples per second.

Usage: reading.py [--quick]

The originals write 200 files of TFRecord and of Parquet, folders of JPEG, and the same numbers in one
.npy; each is read in batches of 128, shuffled, and nothing is computed. Rounds are interleaved; ratios
are medians of the rounds'.

  first epoch    files are decoded; beside an epoch of tf.data, which decodes in each of them: its
                 usual pipeline, with AUTOTUNE. tf.data reads Parquet through pyarrow
  later epochs   what was decoded is in memory, or on the spool's disk where it is larger than
                 --data_memory; beside the same numbers in one .npy, which is in memory or read in place
  inspection     once for a job, by all workers together; here by one

Both sides have all cores, and files that the system has cached. That both read the same is shown by the
sum of all values.
"""

import json
import pathlib
import statistics
import subprocess
import sys
import tempfile

import originals
import results
from local_run import BIN, ROOT

TENSORFLOW = ROOT / "tests/benchmarks/tensorflow_reading.py"
FLAT = {"class_name": "Flatten", "config": {"name": "flat"}}
NUMBERS, COLUMNS, SIDE, BATCH = 64, 16, 64, 128
FILES = 200
IMAGES = 20  # Of the numbers of examples; tensorflow_reading.py writes so many.
# Sizes of --data_memory: all of the data, and nearly nothing.
MEMORY, NO_MEMORY = 1 << 30, 1 << 20
EPOCHS = 3
# Of later epochs, each of which takes half a second and differs by a third from the next.
LATER_EPOCHS = 11


def sources(folder, block):
    """By name: the shape of an example, its format in a job file, and how it is shuffled."""
    return {
        "tfrecord": ([NUMBERS], {"tfrecord": {
            "files": f"{folder}/tfrecord/*.tfrecord",
            "features": [{"name": "x", "shape": [NUMBERS]}], "labels": "y"}}, block),
        "parquet": ([COLUMNS], {"parquet": {
            "files": f"{folder}/parquet/*.parquet",
            "features": [f"x{i}" for i in range(COLUMNS)], "labels": "y"}}, block),
        "jpeg": ([SIDE, SIDE, 3], {"images": {"directory": f"{folder}/jpeg"}}, None),
        "npy": ([NUMBERS], {"npy": {"features": f"{folder}/x.npy", "labels": f"{folder}/y.npy"}},
                block),
    }


def write_job(folder, name, shape, source, block):
    layers = [{"class_name": "InputLayer", "config": {"name": "in", "batch_shape": [None, *shape]}},
              FLAT, {"class_name": "Dense", "config": {"name": "out", "units": 10}}]
    model = folder / f"{name}_model.json"
    model.write_text(json.dumps({"class_name": "Sequential",
                                 "config": {"name": name, "layers": layers}}))
    job = {"name": name, "model": str(model), "train": source,
           "loss": {"name": "sparse_categorical_crossentropy", "from_logits": True},
           "optimizer": "sgd", "batch_size": BATCH, "epochs": 1}
    file = folder / f"{name}.json"
    file.write_text(json.dumps(job | ({"shuffle_block": block} if block else {})))
    return file


def numbers(*command):
    result = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True, timeout=300)
    if result.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))} failed:\n{result.stderr[-2000:]}")
    return [float(line) for line in result.stdout.split()]


class Folder:
    """Of the written data."""

    def __init__(self, path, python, examples):
        self.examples = {name: examples // IMAGES if name == "jpeg" else examples
                         for name in ("tfrecord", "parquet", "jpeg", "npy")}
        self._path, self._python = path, python
        subprocess.run([python, TENSORFLOW, "write", path, str(examples)], check=True,
                       stderr=subprocess.DEVNULL)
        self._jobs = {name: write_job(path, name, *each)
                      for name, each in sources(path, 2 * examples // FILES).items()}

    def ours(self, name, memory, epochs):
        """Seconds of the inspection, the first epoch, and the median of the others; and the sum."""
        inspection, first, *later, total = numbers(BIN / "tests/benchmarks/reading",
                                                   self._jobs[name], memory, epochs)
        return inspection, first, statistics.median(later), total

    def theirs(self, name):
        """The median of the epochs' seconds, and the sum."""
        *epochs, total = numbers(self._python, TENSORFLOW, name, self._path, EPOCHS)
        return statistics.median(epochs), total


def check_sums(name, ours, theirs):
    if abs(ours - theirs) > 1e-4 * abs(theirs):
        sys.exit(f"{name}: Cairn has read values with the sum {ours}, tf.data with {theirs}")


def emit(name, examples, pairs, peer, bar):
    """pairs: (our seconds, the peer's) of the rounds."""
    ours, theirs = (statistics.median(column) for column in zip(*pairs))
    results.emit(name, examples / ours, "examples/s", peer=peer, peer_value=examples / theirs,
                 ratio=statistics.median(b / a for a, b in pairs), at_least=bar)


def measure_first(folder, name, rounds):
    pairs, inspections = [], []
    for _ in range(rounds):
        inspection, first, _, ours = folder.ours(name, MEMORY, EPOCHS)
        seconds, theirs = folder.theirs(name)
        check_sums(name, ours, theirs)
        pairs.append((first, seconds))
        inspections.append(inspection)
    emit(f"{name}, first epoch", folder.examples[name], pairs, "tf.data", 1.0)
    results.emit(f"{name}, inspection", folder.examples[name] / statistics.median(inspections),
                 "examples/s")


def measure_later(folder, memory, where, rounds):
    pairs = []
    for _ in range(rounds):
        *_, ours, sum_of_records = folder.ours("tfrecord", memory, LATER_EPOCHS)
        *_, theirs, sum_of_array = folder.ours("npy", memory, LATER_EPOCHS)
        check_sums("tfrecord", sum_of_records, sum_of_array)
        pairs.append((ours, theirs))
    emit(f"tfrecord, later epochs, {where}", folder.examples["tfrecord"], pairs, "one .npy", 0.9)


def main():
    quick = "--quick" in sys.argv[1:]
    rounds, examples = (1, 40000) if quick else (5, 200000)
    tensorflow = originals.handed_on()["TensorFlow"]
    if not tensorflow.python:
        results.emit_skipped("reading", tensorflow.about)
        return
    with tempfile.TemporaryDirectory() as path:
        folder = Folder(pathlib.Path(path), tensorflow.python, examples)
        for name in ("tfrecord", "parquet", "jpeg"):
            measure_first(folder, name, rounds)
        measure_later(folder, MEMORY, "in memory", rounds)
        measure_later(folder, NO_MEMORY, "on disk", rounds)


if __name__ == "__main__":
    main()
