#!/usr/bin/env python3
"""Cairn beside the originals, TensorFlow and PyTorch 2, in one run on this machine: rows of examples
per second and of memory.

Usage: race.py [--quick] [--models mlp,...] [--ways parameter_server_1,...] [--profile]

  parameter_server_1, _2  1 or 2 workers and 1 ps, asynchronous, beside ParameterServerStrategy
  multi_worker, ddp       2 workers without ps, beside MultiWorkerMirroredStrategy, and PyTorch's
                          DistributedDataParallel over gloo
  mirrored                1 worker with 2 devices, beside one process of PyTorch
  fit, torch              one worker's step without a network, beside one process of Keras 3's fit,
                          and of PyTorch
  null                    steps that compute nothing, from the coordinator to 1 to 16 workers

All train the same architecture, in float32, with batches of the same size, from the same files. That
they do is checked: they have the same number of parameters, and their losses fall. Each has the
machine's cores, divided by its workers. Rounds are interleaved (Cairn, original, Cairn ...): an
original runs all the time and is asked for each round, so its start costs nothing; the ratio is the
median of the rounds'. originals.py says when an original is refused, tensorflow_race.py and
models/torch_model.py how each has its better side. Memory is the sum of the processes' largest
resident memory, shared pages counted in each; on Cairn's side with `cairn run` itself. A bar that is
missed is followed, as its note, by what Cairn's time went into.
"""

import argparse
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile

import dispatch
import originals
import results
from local_run import BIN, ROOT, LocalRun

sys.path.append(str(ROOT / "tests/benchmarks/models"))
from model_steps import MODELS as ARCHITECTURES, Program, model_file

HERE = ROOT / "tests/benchmarks"
# name: (optimizer and its learning rate, batches in the files)
MODELS = {"mlp": ("adam:0.001", 64), "cnn_28x28": ("adam:0.001", 64),
          "mlp_sgd": ("sgd:0.01", 64), "cnn_28x28_sgd": ("sgd:0.01", 64),
          "mobilenet_v2_96": ("sgd:0.01", 16), "resnet50_64": ("sgd:0.01", 16),
          "embedding": ("sgd:0.5", 64)}
EMBEDDING = (256, HERE / "models/embedding.json")
ASYNC = {"parameter_server": {"mode": "async"}}
MULTI_WORKER = {"multi_worker_mirrored": {}}
MIRRORED = {"mirrored": {"devices": ["cpu:0", "cpu:1"]}}
# Cairn's strategy (None: one process), ps and workers, the original, its name in a row, the bar.
WAYS = {
    "parameter_server_1": (ASYNC, 1, 1, "TensorFlow", "ParameterServerStrategy", 2.0),
    "parameter_server_2": (ASYNC, 1, 2, "TensorFlow", "ParameterServerStrategy", 2.0),
    "multi_worker": (MULTI_WORKER, 0, 2, "TensorFlow", "MultiWorkerMirroredStrategy", 1.3),
    "ddp": (MULTI_WORKER, 0, 2, "PyTorch 2", "PyTorch DDP, gloo", 1.3),
    "mirrored": (MIRRORED, 0, 1, "PyTorch 2", "PyTorch", 1.2),
    "fit": (None, 0, 1, "TensorFlow", "Keras fit", 1.2),
    "torch": (None, 0, 1, "PyTorch 2", "PyTorch", 1.2),
}
# Of models that have another bar in a way.
BARS = {("ddp", "mlp"): 1.4, ("ddp", "mlp_sgd"): 1.4,
        ("ddp", "cnn_28x28"): 1.7, ("ddp", "cnn_28x28_sgd"): 1.7}
# The ways in which a model takes part that another optimizer makes.
WAYS_OF_SGD = ("multi_worker", "ddp", "mirrored")
NULL_BAR = 2.0
NEVER = 1000000
WARM_UP_BATCHES = 20


class Wrong(Exception):
    """The two sides do not do the same."""


def title_of(name, way):
    """A row's: "mlp, Adam: 2 workers (ddp)"."""
    strategy, ps, workers = WAYS[way][:3]
    rule = "Adam" if MODELS[name][0].startswith("adam") else "SGD"
    who = f"{workers} worker{'s' * (workers > 1)}" + (", async" if ps else "")
    who = "1 process" if strategy is None else who
    return f"{name.removesuffix('_sgd')}, {rule}: {who} ({way})"


def checked(side, answers, first_loss, parameters, others):
    """Raises Wrong unless the side has the other's parameters and its loss falls."""
    if parameters != others:
        raise Wrong(f"{side} trains {parameters} parameters, the other {others}")
    losses = [answer["loss"] for answer in answers]
    if not losses[-1] < first_loss:  # Also if it is not a number.
        raise Wrong(f"{side}'s loss does not fall: {first_loss}, then {losses[-1]}")


class CairnCluster:
    """Cairn's side with a cluster: one for each round, so that none takes the other's cores."""

    def __init__(self, strategy, ps, workers, file, optimizer, batch, folder):
        rule, rate = optimizer.split(":")
        self.job = {"name": "race", "model": str(file),
                    "train": {"npy": {"features": f"{folder}/x.npy", "labels": f"{folder}/y.npy"}},
                    "loss": "sparse_categorical_crossentropy",
                    "optimizer": {"name": rule, "learning_rate": float(rate)},
                    "batch_size": batch, "epochs": NEVER, "checkpoint": {"every_epochs": NEVER},
                    "strategy": strategy}
        self.ps, self.workers, self.first_loss = ps, workers, None

    def ask(self, seconds, profile=False):
        with LocalRun(self.job, ps=self.ps, workers=self.workers) as run:
            first = run.wait_for_batches(1, interval=0.01)
            self.first_loss = self.first_loss or first["loss"]
            run.wait_for_batches(WARM_UP_BATCHES * self.workers)
            rate, _ = run.measure(seconds)
            last = run.status()
            answer = {"examples_per_second": rate * self.job["batch_size"], "loss": last["loss"],
                      "parameters": last["parameters"],
                      "peak_mebibytes": sum(map(peak_mebibytes, run.pids()))}
            if profile:
                answer["profile"] = cluster_profile(run.ask("profile", run.name))
        self.parameters = answer["parameters"]
        return answer

    def close(self):
        pass


class CairnProcess:
    """Cairn's side in one process: model_step."""

    def __init__(self, file, optimizer, batch, threads, folder):
        self.program = Program([BIN / "tests/benchmarks/models/model_step", file, optimizer, batch,
                                threads, folder], threads)
        self.parameters = self.program.about["parameters"]
        self.first_loss = self.program.about["first_loss"]

    def ask(self, seconds, profile=False):
        answer = self.program.ask(f"run {seconds}")
        if profile:
            answer["profile"] = step_profile(self.program.ask("profile 10"))
        return answer

    def close(self):
        self.program.close()


def peak_mebibytes(pid):
    status = pathlib.Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    return int(re.search(r"^VmHWM:\s+(\d+) kB$", status, re.MULTILINE).group(1)) / 1024


def step_profile(answer, shown=4):
    """Of model_step's profile: which layers take the most time of a step."""
    layers = sorted(answer["layers"], key=lambda layer: -layer["forward"] - layer["backward"])
    shares = [f"{layer['layer']} {100 * (layer['forward'] + layer['backward']) / answer['milliseconds']:.0f} %"
              for layer in layers[:shown]]
    return f"of {answer['milliseconds']:.1f} ms a step: " + ", ".join(shares)


def cluster_profile(answers, shown=3):
    """Of `cairn profile --json`: the shares of the workers' time, and the layers with the most."""
    workers = [task for answer in answers for task in answer.get("tasks", [answer])
               if task.get("task", "").startswith("worker") and task["seconds"] > 0]
    if not workers:
        return "no profile"
    total, phases, layers = sum(task["seconds"] for task in workers), {}, {}
    for task in workers:
        for phase in task["phases"]:
            phases[phase["name"]] = phases.get(phase["name"], 0) + phase["seconds"]
        for layer in task["layers"]:
            layers[layer["name"]] = (layers.get(layer["name"], 0) + layer["forward_seconds"] +
                                     layer["backward_seconds"])
    most = sorted(layers, key=layers.get, reverse=True)[:shown]
    return "of the workers' time " + ", ".join(
        [f"{name} {100 * seconds / total:.0f} %" for name, seconds in phases.items()] +
        [f"layer {name} {100 * layers[name] / total:.0f} %" for name in most])


def start_original(way, python, file, optimizer, batch, threads, folder):
    if way not in ("ddp", "mirrored", "torch"):
        return Program([python, HERE / "tensorflow_race.py", way, file, optimizer, batch, threads,
                        folder], threads)
    best, programs = None, {}
    convolutions = '"Conv2D"' in pathlib.Path(file).read_text(encoding="utf-8")
    for layout in ("contiguous", "channels_last")[:2 if convolutions else 1]:
        programs[layout] = Program([python, HERE / "models/torch_model.py", file, optimizer, batch,
                                    threads, layout, folder, 2 if way == "ddp" else 1], threads)
        programs[layout].about["how"] = layout.replace("_", " ")
    rates = {layout: max(program.ask("run 1")["examples_per_second"] for _ in range(2))
             for layout, program in programs.items()}
    best = max(rates, key=rates.get)
    for layout, program in programs.items():
        if layout != best:
            program.close()
    return programs[best]


def race(name, way, python, folder, rounds, seconds, with_profile):
    """A way's rows for one model."""
    strategy, ps, workers, _, beside, bar = WAYS[way]
    bar = BARS.get((way, name), bar)
    optimizer = MODELS[name][0]
    batch, file = architecture(name, folder)
    threads = max(1, os.cpu_count() // workers)
    title = title_of(name, way)
    ours = (CairnProcess(file, optimizer, batch, threads, folder) if strategy is None else
            CairnCluster(strategy, ps, workers, file, optimizer, batch, folder))
    if not python:
        a = [ours.ask(seconds) for _ in range(rounds)]
        ours.close()
        emit_rows(title, a, None, None, beside + " skipped")
        return
    theirs = start_original(way, python, file, optimizer, batch, threads, folder)
    a, b = [], []
    for _ in range(rounds):
        a.append(ours.ask(seconds))
        b.append(theirs.ask(f"run {seconds}"))
    theirs.close()
    checked("Cairn", a, ours.first_loss, ours.parameters, theirs.about["parameters"])
    checked(beside, b, theirs.about["first_loss"], theirs.about["parameters"], ours.parameters)
    note = theirs.about["how"]
    if with_profile or ratio_of(a, b) < bar:
        note += "; " + ours.ask(seconds, profile=True)["profile"]
    ours.close()
    emit_rows(title, a, b, (beside, bar), note)


def ratio_of(a, b, field="examples_per_second"):
    return statistics.median(x[field] / y[field] for x, y in zip(a, b))


def emit_rows(title, a, b, beside, note):
    for name, field, unit in ((title, "examples_per_second", "examples/s"),
                              (f"{title}, memory", "peak_mebibytes", "MiB")):
        row = {}
        if b:
            row = {"peer": beside[0], "peer_value": statistics.median(y[field] for y in b),
                   "ratio": ratio_of(a, b, field)}
        if field == "examples_per_second":
            row |= {"note": note} | ({"at_least": beside[1]} if b else {})
        results.emit(name, statistics.median(x[field] for x in a), unit, **row)


def architecture(name, folder):
    """Its batch size, and the file of its layers."""
    if name == "embedding":
        return EMBEDDING
    name = name.removesuffix("_sgd")
    return ARCHITECTURES[name][0], model_file(name, folder)


def null_step(workers, python, rounds, seconds):
    def ours():
        said = dispatch.measure(workers, 0, seconds, stdout=subprocess.PIPE, text=True).stdout
        return results.parse(said)[-1]["value"]
    name = f"a null step, {workers} worker{'s' if workers > 1 else ''}"
    if not python:
        results.emit(name, statistics.median(ours() for _ in range(rounds)), "steps/s",
                     note="TensorFlow skipped")
        return
    theirs = Program([python, HERE / "tensorflow_race.py", "null", workers], 1)
    pairs = [(ours(), theirs.ask(f"run {seconds}")["calls_per_second"]) for _ in range(rounds)]
    theirs.close()
    a, b = (statistics.median(column) for column in zip(*pairs))
    results.emit(name, a, "steps/s", peer="ClusterCoordinator", peer_value=b,
                 ratio=statistics.median(x / y for x, y in pairs), at_least=NULL_BAR,
                 note=f"{1e3 / b:.2f} ms each beside {1e3 / a:.4f} ms; Cairn's workers lease many at once")


def or_skipped(title, measure, *arguments):
    """A row that cannot be measured does not take the others with it."""
    try:
        measure(*arguments)
    except (Wrong, SystemExit, RuntimeError, subprocess.SubprocessError) as error:
        results.emit_skipped(title, str(error))


def parse(arguments):
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--profile", action="store_true")
    parser.add_argument("--models", default="")
    parser.add_argument("--ways", default="")
    parser.add_argument("--seconds", type=float)
    chosen = parser.parse_args(arguments)
    models, ways = (list(filter(None, words.split(","))) for words in (chosen.models, chosen.ways))
    for word in models + ways:
        if word not in [*MODELS, *WAYS, "null"]:
            parser.error(f"there is no {word}; there are {', '.join([*MODELS, *WAYS, 'null'])}")
    chosen.models = models or list(MODELS)[:1 if chosen.quick else None]
    chosen.ways = ways or [*WAYS, "null"]
    chosen.rounds = 1 if chosen.quick else 3
    chosen.seconds = chosen.seconds or (2 if chosen.quick else 4)
    return chosen


def main():
    chosen = parse(sys.argv[1:])
    found = originals.handed_on()
    a_numpy = next((each.python for each in found.values() if each.python), sys.executable)
    for name in chosen.models:
        with tempfile.TemporaryDirectory() as folder:
            batch, file = architecture(name, folder)
            subprocess.run([a_numpy, HERE / "race_data.py", file, str(MODELS[name][1]), str(batch),
                            folder], check=True)
            for way in chosen.ways:
                if way in WAYS and (way in WAYS_OF_SGD or not name.endswith("_sgd")):
                    or_skipped(title_of(name, way), race, name, way, found[WAYS[way][3]].python, folder,
                               chosen.rounds, chosen.seconds, chosen.profile)
    if "null" in chosen.ways:
        for workers in (1, 16) if chosen.quick else (1, 2, 4, 8, 16):
            or_skipped(f"a null step, {workers} workers", null_step, workers,
                       found["TensorFlow"].python, chosen.rounds, chosen.seconds)


if __name__ == "__main__":
    main()
