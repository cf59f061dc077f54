#!/usr/bin/env python3
"""Runs the checks for a machine with a GPU, and prints one table. Started by run.sh.

Usage: check.py [--out FOLDER] [CHECK...]

CHECKS: steps, layers, device, cluster, training, speed, kernels, memcheck, racecheck, initcheck,
synccheck (default: all). FOLDER gets the whole output of each (default: a temporary folder).
"""

import argparse
import collections
import csv
import glob
import json
import math
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

BIN = pathlib.Path(os.environ.get("CAIRN_BIN", ".")).resolve()
ROOT = pathlib.Path(__file__).resolve().parents[2]
SHARDS = max(1, min(8, os.cpu_count() // 2))


def library_path():
    """Our libraries, if they were packed, then cuBLAS: of CUDA_PATH, /usr/local/cuda, or pip."""
    places = [os.environ.get("CUDA_PATH", "/nowhere") + "/lib64", "/usr/local/cuda/lib64"]
    for folder in sys.path:
        places += glob.glob(folder + "/nvidia/cu13/lib") + glob.glob(folder + "/nvidia/cublas/lib")
    cublas = [place for place in places if os.path.exists(place + "/libcublas.so.13")]
    return ":".join([str(BIN / "lib"), str(BIN / "nn/cuda")] + cublas[:1])


# For our programs alone: tools and PyTorch must not get our libraries.
OUR_ENVIRONMENT = ["env", "LD_LIBRARY_PATH=" + library_path()]


class Failure(Exception):
    pass


class Skip(Exception):
    pass


class Runner:
    def __init__(self, out):
        self.out = out

    def start(self, name, command, variables=None, ours=True):
        log = open(self.out / (name + ".log"), "w")
        command = (OUR_ENVIRONMENT if ours else []) + [str(word) for word in command]
        process = subprocess.Popen(command, cwd=BIN, stdout=log, stderr=subprocess.STDOUT,
                                   env=os.environ | (variables or {}), start_new_session=True)
        return name, process

    def wait(self, started, seconds):
        name, process = started
        try:
            process.wait(timeout=seconds)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)  # With the processes that it started.
            process.wait()
            raise Failure(f"{name} did not end in {seconds} s") from None
        text = (self.out / (name + ".log")).read_text(errors="replace")
        return process.returncode, text

    def run(self, name, command, seconds, **kwargs):
        code, text = self.wait(self.start(name, command, **kwargs), seconds)
        if code != 0:
            raise Failure(f"exit code {code}: " + " | ".join(text.strip().splitlines()[-4:]))
        return text


def count(texts):
    """Passed, skipped and failed tests of GoogleTest's output."""
    passed = sum(len(re.findall(r"^\[       OK \]", text, re.M)) for text in texts)
    skipped = sum(len(re.findall(r"^\[  SKIPPED \].*\(\d+ ms\)$", text, re.M)) for text in texts)
    failed = [name for text in texts for name in re.findall(r"^\[  FAILED  \] (\S+).*ms\)$", text, re.M)]
    return passed, skipped, failed


def run_test(runner, name, program, prefix=(), filters="*", shards=1, seconds=240):
    """A GoogleTest program in parallel shards, under a tool if there is a prefix."""
    started = [
        runner.start(f"{name}_{shard}", [*prefix, *(OUR_ENVIRONMENT if prefix else []), BIN / program,
                                         "--gtest_filter=" + filters],
                     {"GTEST_TOTAL_SHARDS": str(shards), "GTEST_SHARD_INDEX": str(shard)},
                     ours=not prefix)
        for shard in range(shards)]
    ended, late = [], None
    for process in started:
        try:
            ended.append(runner.wait(process, seconds))
        except Failure as failure:
            late = failure
    if late:
        raise late
    passed, skipped, failed = count([text for _, text in ended])
    bad = [code for code, _ in ended if code != 0]
    summary = f"{passed} passed, {skipped} skipped, {len(failed)} failed"
    # Every test of these programs needs the GPU, so none may be skipped.
    if bad or failed or skipped or passed == 0:
        tails = [" | ".join(text.strip().splitlines()[-3:]) for code, text in ended if code != 0]
        raise Failure(summary + ": " + ", ".join(failed[:20]) + " " + " ".join(tails)[:600])
    return summary


def layers(runner):
    return run_test(runner, "layers", "tests/gpu/layers_test", shards=SHARDS)


def steps(runner):
    return run_test(runner, "steps", "tests/gpu/steps_test")


def device(runner):
    return run_test(runner, "device", "tests/nn/cuda_test")


def cluster(runner):
    return run_test(runner, "cluster", "tests/gpu/cluster_test")


def training(runner):
    """A convolutional network on 8,000 images of Fashion-MNIST, by a GPU and by the CPU."""
    data = next((place for place in (BIN / "data", pathlib.Path("/usr/share/datasets/fashion-mnist"))
                 if place.exists()), None)
    if data is None:
        raise Skip("Fashion-MNIST is not here")

    def part(first, last):
        return {"idx": {"features": str(data / "t10k-images-idx3-ubyte.gz"),
                        "labels": str(data / "t10k-labels-idx1-ubyte.gz")},
                "scale": 1 / 255, "rows": [first, last]}

    accuracies, seconds = {}, {}
    for kind in ("cuda", "cpu"):
        folder = runner.out / ("training_" + kind)
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        job = {"name": "gpu_check", "model": str(ROOT / "examples/fashion_mnist/cnn.json"),
               "train": part(0, 8000), "validation": part(8000, 10000),
               "loss": "sparse_categorical_crossentropy", "metrics": ["accuracy"],
               "optimizer": {"name": "adam", "learning_rate": 0.001}, "batch_size": 128,
               "epochs": 4, "shuffle": True, "seed": 1}
        (folder / "job.json").write_text(json.dumps(job))
        start = time.monotonic()
        text = runner.run("training_" + kind, [BIN / "cli/cairn", "run", folder / "job.json", "--ps", 1,
                                               "--workers", 1, "--device", kind, "--state",
                                               folder / "state"], 40)
        seconds[kind] = time.monotonic() - start
        found = re.findall(r"^  validation +loss [\d.]+ +accuracy ([\d.]+)", text, re.M)
        if not found:
            raise Failure("no accuracy in the output: " + text[-500:])
        accuracies[kind] = float(found[-1])
        shutil.rmtree(folder, ignore_errors=True)
    summary = ", ".join(f"{kind} {accuracies[kind]:.4f} in {seconds[kind]:.1f} s"
                        for kind in accuracies)
    if abs(accuracies["cuda"] - accuracies["cpu"]) > 0.02 or accuracies["cuda"] < 0.75:
        raise Failure(summary)
    return "validation accuracy " + summary


SPEED = [(model, file, batch, number, precision)
         for model, file, batch, number, precisions in [
             ("mlp", "fashion_mnist/mlp_model.json", 128, 300, ["float32"]),
             ("mlp", "fashion_mnist/mlp_model.json", 4096, 100, ["float32", "mixed_bfloat16"]),
             ("cnn", "fashion_mnist/cnn.json", 128, 200, ["float32"]),
             ("cnn", "fashion_mnist/cnn.json", 1024, 50, ["float32", "mixed_bfloat16"]),
             ("resnet50", "models/resnet50.json", 32, 15,
              ["float32", "tensorfloat32", "mixed_bfloat16"]),
             ("mobilenet_v2", "models/mobilenet_v2.json", 32, 15, ["float32", "mixed_bfloat16"])]
         for precision in precisions]


def speed(runner):
    """Milliseconds per step beside PyTorch's: values in place, then with all copies."""
    theirs = {}
    rows = []
    try:
        text = runner.run("speed_torch", [sys.executable, ROOT / "tests/gpu/torch_step.py"] + [
            f"{name}:{batch}:{number}:{precision}" for name, _, batch, number, precision in SPEED],
                          120, ours=False)
        lines = [line.split() for line in text.splitlines() if re.match(r"[\d.]+ [\d.]+$", line)]
        theirs = {row: [float(word) for word in line] for row, line in zip(SPEED, lines, strict=True)}
    except Failure as failure:
        rows.append("without PyTorch: " + str(failure))
    for row in SPEED:
        name, model, batch, number, precision = row
        text = runner.run(f"speed_{name}_{batch}_{precision}",
                          [BIN / "tests/gpu/step", ROOT / "examples" / model, batch, number, precision], 60)
        if not math.isfinite(float(text.split()[3])):
            raise Failure(f"{name} {precision}: the loss is not finite: {text.strip()}")
        ours = [float(word) for word in text.split()[:2]]
        peers = [f" beside {b:.3f} ({b / a:.2f})" for a, b in zip(ours, theirs.get(row, []))] or ["", ""]
        rows.append(f"{name} batch {batch} {precision}: {ours[0]} ms{peers[0]}, "
                    f"with copies {ours[1]} ms{peers[1]}")
    return "\n".join(rows)


def tool(name):
    path = shutil.which(name) or shutil.which(name, path="/usr/local/cuda/bin")
    if path is None:
        raise Skip(name + " is not here")
    return path


def kernels(runner):
    """The time of each kernel of a step, by Nsight Compute."""
    ncu = tool("ncu")
    rows = []
    for name, model, batch, _, precision in SPEED:
        if batch not in (32, 128) or precision != "float32":
            continue  # Each size shows the same kernels.
        text = runner.run(f"kernels_{name}", [ncu, "--csv", "--clock-control", "none", "--metrics",
                                              "gpu__time_duration.sum", "--target-processes", "all",
                                              *OUR_ENVIRONMENT, BIN / "tests/gpu/step",
                                              ROOT / "examples" / model, batch, 0], 120, ours=False)
        lines = [line for line in text.splitlines() if line.startswith('"')]
        if not lines:
            raise Failure("ncu measured no kernel: " + text[-300:])
        times, launches = collections.Counter(), collections.Counter()
        for row in csv.DictReader(lines):
            key = short_name(row["Kernel Name"])
            unit = {"ns": 1e-3, "us": 1, "usecond": 1, "nsecond": 1e-3, "ms": 1e3}[row["Metric Unit"]]
            times[key] += float(row["Metric Value"].replace(",", "")) * unit
            launches[key] += 1
        rows.append(f"{name} batch {batch}: {sum(launches.values())} launches, "
                    f"{sum(times.values()) / 1000:.2f} ms")
        for key, microseconds in times.most_common(14):
            rows.append(f"  {microseconds:9.1f} us {launches[key]:4} x {key}")
    return "\n".join(rows)


def short_name(name):
    """A kernel's own name, and the function whose lambda it runs."""
    name = name.replace("<unnamed>::", "").replace("void ", "").replace("cairn::", "")
    of = re.search(r"(\w+(?:::\w+)?)(?:<[^<>]*>)?\([^()]*\)(?: const)?::\[lambda", name)
    return re.split(r"[<(]", name)[0][:60] + (" of " + of.group(1) if of else "")


def sanitize(runner, kind, filters="*", seconds=240):
    compute_sanitizer = tool("compute-sanitizer")
    summary = run_test(runner, kind, "tests/gpu/layers_test",
                       (compute_sanitizer, "--tool", kind, "--error-exitcode", "99",
                        "--target-processes", "all"), filters, SHARDS, seconds)
    for shard in range(SHARDS):
        text = (runner.out / f"{kind}_{shard}.log").read_text(errors="replace")
        if not re.search(r"ERROR SUMMARY: 0 errors|RACECHECK SUMMARY: 0 hazards", text):
            raise Failure(f"no clean summary in {kind}_{shard}.log: {text[-200:]}")
    return summary


def memcheck(runner):
    return sanitize(runner, "memcheck")


def racecheck(runner):
    return sanitize(runner, "racecheck")


def initcheck(runner):
    return sanitize(runner, "initcheck")


def synccheck(runner):
    return sanitize(runner, "synccheck")


CHECKS = {function.__name__: function
          for function in (steps, layers, device, cluster, training, speed, kernels, memcheck,
                           racecheck, initcheck, synccheck)}


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--out")
    parser.add_argument("checks", nargs="*")
    options = parser.parse_args()
    unknown = [name for name in options.checks if name not in CHECKS]
    if unknown:
        sys.exit(f"check.py: there is no check {unknown[0]}; there are {', '.join(CHECKS)}")
    out = pathlib.Path(os.environ.get("CALLER_FOLDER", "."),
                       options.out or tempfile.mkdtemp(prefix="cairn_gpu_")).resolve()
    out.mkdir(parents=True, exist_ok=True)
    runner = Runner(out)
    passed = failed = 0
    for name in options.checks or CHECKS:
        start = time.monotonic()
        try:
            result, text = "passed", CHECKS[name](runner)
            passed += 1
        except Skip as skip:
            result, text = "skipped", str(skip)
        except Exception as failure:  # One check must not end the others.
            result, text = "FAILED", str(failure) or repr(failure)
            failed += 1
        print(f"{name:10} {result:8} {time.monotonic() - start:6.1f} s  " + text.replace("\n", "\n" + 28 * " "),
              flush=True)
    print(f"{passed} passed, {failed} failed")
    sys.exit(failed > 0 or passed == 0)


if __name__ == "__main__":
    main()
