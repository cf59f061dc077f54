#!/usr/bin/env python3
"""One worker's training step (forward, backward, optimizer) beside PyTorch's, model by model.

Usage: model_steps.py [--rounds 7] [--seconds 1] [--threads 1] [--optimizers sgd,adam] [--profile]
                [MODEL...]

Needs Debian's python3-torch with a fast BLAS (see ../peer.py), and `bazel build -c opt
//tests/benchmarks/models:model_step //tests/benchmarks/models:machine_speed
//tests/benchmarks:matrix_product`. Both programs run all the time and take turns, so that the drift
of a shared machine hits both alike; PyTorch uses the better of its two layouts, found in the first
round. Prints one JSON object a line, with the ratio of the rounds' medians and the floors: the time
that the step's products take at the speed of oneDNN's sgemm, and its bytes at that of memory.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.append(str(ROOT / "tests/benchmarks"))
import peer

BIN = pathlib.Path(os.environ.get("CAIRN_BIN", ROOT / "bazel-bin")) / "tests/benchmarks/models"
PYTHON = peer.PYTHON
GENERATE = ROOT / "examples/models/generate.py"
FASHION = ROOT / "examples/fashion_mnist"

# name: (batch, model file or the generator's arguments)
MODELS = {
    "mlp": (128, FASHION / "mlp_model.json"),
    "cnn_28x28": (128, FASHION / "cnn.json"),
    "cnn_32x32x3": (128, ROOT / "examples/models/cifar10_cnn.json"),
    "mobilenet_v2_96": (32, ["mobilenet_v2", "--size", "96", "--classes", "10"]),
    "mobilenet_v2_035_96": (32, ROOT / "examples/models/mobilenet_v2_035_96.json"),
    "resnet50_64": (16, ["resnet50", "--size", "64", "--classes", "10"]),
}


class Program:
    """A benchmark program that replies to each line with a JSON object."""

    def __init__(self, command, threads):
        environment = dict(os.environ, OMP_NUM_THREADS=str(threads),
                           OPENBLAS_NUM_THREADS=str(threads))
        self.process = subprocess.Popen([str(word) for word in command], env=environment, text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.about = self.read()

    def read(self):
        line = self.process.stdout.readline()
        if not line:
            sys.exit(f"{' '.join(map(str, self.process.args))} ended")
        return json.loads(line)

    def ask(self, question):
        self.process.stdin.write(question + "\n")
        self.process.stdin.flush()
        return self.read()

    def close(self):
        self.process.stdin.close()
        self.process.wait(timeout=60)


def better_torch(model_file, optimizer, batch, threads, seconds):
    """Starts PyTorch in each of its layouts; returns the faster one, still running."""
    command = [PYTHON, ROOT / "tests/benchmarks/models/torch_model.py", model_file, optimizer, batch, threads]
    rates, programs = {}, {}
    for layout in ("contiguous", "channels_last"):
        programs[layout] = Program(command + [layout], threads)
        rates[layout] = max(programs[layout].ask(f"run {seconds}")["examples_per_second"]
                            for _ in range(2))
    best = max(rates, key=rates.get)
    for layout, program in programs.items():
        if layout != best:
            program.close()
    return programs[best], best


def median(rounds, field):
    return statistics.median(r[field] for r in rounds)


def measure(name, optimizer, arguments, model_file, speed):
    batch, threads = MODELS[name][0], arguments.threads
    ours = Program([BIN / "model_step", model_file, optimizer, batch, threads], threads)
    theirs, layout = better_torch(model_file, optimizer, batch, threads, arguments.seconds)
    question, a, b = f"run {arguments.seconds}", [], []
    for _ in range(arguments.rounds):
        a.append(ours.ask(question))
        b.append(theirs.ask(question))
    result = {
        "benchmark": "step", "model": name, "optimizer": optimizer, "batch": batch,
        "threads": threads, "rounds": arguments.rounds,
        "examples_per_second": median(a, "examples_per_second"),
        "torch_examples_per_second": median(b, "examples_per_second"),
        "ratio": statistics.median(x["examples_per_second"] / y["examples_per_second"]
                                   for x, y in zip(a, b)),
        "milliseconds": median(a, "milliseconds_median"),
        "torch_milliseconds": median(b, "milliseconds_median"), "torch_layout": layout,
        "floor_milliseconds_operations": ours.about["operations"] / speed["operations_per_second"] * 1e3,
        "floor_milliseconds_bytes": ours.about["bytes"] / speed["bytes_per_second"] * 1e3,
        "peak_mebibytes": a[-1]["peak_mebibytes"], "torch_peak_mebibytes": b[-1]["peak_mebibytes"],
    }
    if arguments.profile:
        result["profile"] = ours.ask("profile 10")
    ours.close()
    theirs.close()
    return result


def model_file(name, folder):
    source = MODELS[name][1]
    if isinstance(source, pathlib.Path):
        return source
    path = pathlib.Path(folder) / (name + ".json")
    with open(path, "w", encoding="utf-8") as file:
        subprocess.run([sys.executable, GENERATE, *source], stdout=file, check=True)
    return path


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=1)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--optimizers", default="sgd,adam")
    parser.add_argument("--profile", action="store_true")
    parser.add_argument("models", nargs="*", metavar="MODEL")
    arguments = parser.parse_args()
    unknown = [name for name in arguments.models if name not in MODELS]
    if unknown:
        parser.error(f"no model {', '.join(unknown)}; there are {', '.join(MODELS)}")
    why = peer.find_out().why_not
    if why:
        sys.exit(f"model_steps.py: {why}")
    speed = json.loads(subprocess.run([BIN / "machine_speed", str(arguments.threads)], check=True,
                                      capture_output=True, text=True).stdout)
    print(json.dumps({"benchmark": "machine_speed", **speed}), flush=True)
    with tempfile.TemporaryDirectory() as folder:
        for name in arguments.models or MODELS:
            file = model_file(name, folder)
            for optimizer in arguments.optimizers.split(","):
                print(json.dumps(measure(name, optimizer, arguments, file, speed)), flush=True)


if __name__ == "__main__":
    main()
