#!/usr/bin/env python3
"""Measures Cairn and its peers on this machine. See run.sh, which builds first.

Usage: run.py [--quick] [--no-install] [--output FILE] [--list] [PART...]

Some parts are measured beside PyTorch. Where that is not installed, or has no BLAS worth comparing
with (see peer.py), Debian's packages are installed first; with --no-install, or where that fails,
the results say at their top that it was not measured, and why. Two parts are measured beside the
originals from PyPI (see originals.py), and only if they are named: the race, which takes more than an
hour, and reading.

Parts are measured one after the other, each in processes of its own; a part's results replace those
of an earlier run in FILE (default: bench-results.json in the current folder), and the table, FILE's
picture (.svg in place of .json) and its page (.md) are made of all that FILE has then. Fails if a
part could not be measured. A missed target is reported and is not a failure.
"""

import argparse
import os
import pathlib
import subprocess
import sys
import time

import originals
import peer
import picture
import results

ROOT = pathlib.Path(__file__).resolve().parents[2]
HERE = ROOT / "tests/benchmarks"
BIN = pathlib.Path(os.environ.get("CAIRN_BIN", ROOT / "bazel-bin"))
PART_SECONDS_MAX = 600
RACE_SECONDS_MAX = 3 * 3600


RACE, READING = "race", "reading"
# Measured beside these originals, and not without being named.
BESIDE_ORIGINALS = {RACE: ("TensorFlow", "PyTorch 2"), READING: ("TensorFlow",)}


def python(script, *arguments):
    return [sys.executable, HERE / script, *arguments]


def program(name, *arguments):
    return [BIN / "tests/benchmarks" / name, *arguments]


def parts(quick):
    """The measurements, in the order of the table: part -> (title, command)."""
    rounds, seconds = ("1", "2") if quick else ("3", "4")
    say_quick = ["--quick"] if quick else []
    steps = [rounds, seconds]
    return {
        "data": ("one worker's pushes and pulls, optimizer applied, beside loopback TCP",
                 program("data_plane", rounds)),
        "alone": ("training steps without a network, beside PyTorch on 1 thread",
                  python("steps.py", *steps, "alone")),
        "cluster": ("2 workers and 1 ps, beside DistributedDataParallel over gloo, 2 processes",
                    python("steps.py", *steps, "cluster")),
        "collectives": ("all-reduce over TCP and shared memory, beside gloo",
                        python("all_reduce.py", *say_quick)),
        "one": ("1 worker and 1 ps, beside a torch.distributed.rpc parameter server",
                python("steps.py", *steps, "one")),
        "dispatch": ("batches leased by a coordinator process to workers that compute nothing",
                     python("dispatch.py", *say_quick)),
        "month": ("the coordinator of a very long job, with AUC and restarts",
                  program("month", "1e5" if quick else "1e7")),
        "scale": ("a coordinator with many tasks: a plan of 10^5 variables, kill -9",
                  python("scale.py", *say_quick)),
        "snapshot": ("a ps's snapshot beside a plain file of the same bytes, both synced",
                     python("checkpoints.py", *say_quick, "write")),
        "checkpoints": ("training while a checkpoint is always under way, beside none",
                        python("checkpoints.py", *say_quick, "train")),
        "evaluator": ("training with an evaluator on a core to spare, beside no validation",
                      python("evaluator.py", *say_quick)),
        "inference": ("predict and evaluate on a cluster, beside one process",
                      python("inference.py", *say_quick)),
        READING: ("one worker's reader beside tf.data and a .npy", python("reading.py", *say_quick)),
        "memory": ("resident bytes a parameter, beside PyTorch's training process",
                   python("memory.py", *say_quick)),
        "start": ("from `cairn run` to the first step", python("startup.py", *say_quick)),
        RACE: ("beside TensorFlow and PyTorch 2", python("race.py", *say_quick)),
    }


# Measured beside PyTorch.
BESIDE_PYTORCH = ("alone", "cluster", "collectives", "one", "memory")


def find_peer(may_install):
    """Returns what there is to say about PyTorch (a peer.Finding)."""
    finding = peer.find_out()
    if finding.why_not and may_install and peer.PYTHON == peer.DEBIAN_PYTHON:
        print(f"{finding.why_not}; installing what is missing (--no-install: nothing)",
              file=sys.stderr, flush=True)
        if peer.install():
            finding = peer.find_out()
    if finding.remark():
        print(finding.remark(), file=sys.stderr, flush=True)
    return finding


def find_originals(may_install, names):
    """Returns what there is to say about these originals."""
    found = originals.find_all(may_install, names)
    print(originals.remark(found), file=sys.stderr, flush=True)
    return found


def measure(name, title, command, quick, environment=None, remark=""):
    """Measures a part and returns its record. Its remarks are passed on to standard error.
    `environment`: hands on what was found out about its peers; `remark`: says it."""
    print(f"measuring {name}: {title} ...", file=sys.stderr, flush=True)
    begin = time.monotonic()
    result = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, text=True,
                            timeout=RACE_SECONDS_MAX if name == RACE else PART_SECONDS_MAX,
                            env=environment)
    print(f"  {time.monotonic() - begin:.0f} s", file=sys.stderr, flush=True)
    if result.returncode != 0:
        sys.exit(f"run.py: {name} could not be measured: {' '.join(map(str, command))} "
                 f"ended with {result.returncode}")
    return results.part_record(title, results.parse(result.stdout), quick, ROOT, remark)


def arguments():
    parser = argparse.ArgumentParser(prog="run.sh")
    parser.add_argument("--quick", action="store_true", help="fewer and shorter rounds")
    parser.add_argument("--no-install", action="store_true", help="install no peer that is missing")
    parser.add_argument("--output", default="bench-results.json", help="where results are kept")
    parser.add_argument("--list", action="store_true", help="say the parts and end")
    parser.add_argument("part", nargs="*", help="default: all but race and reading")
    return parser.parse_args()


def main():
    chosen = arguments()
    known = parts(chosen.quick)
    for name in chosen.part:
        if name not in known:
            sys.exit(f"run.py: there is no part {name}; there are {', '.join(known)}")
    if chosen.list:
        for name, (title, _) in known.items():
            print(f"{name:12} {title}")
        return
    wanted = [name for name in known
              if (name in chosen.part if chosen.part else name not in BESIDE_ORIGINALS)]
    peers = {}
    if any(name in BESIDE_PYTORCH for name in wanted):
        pytorch = find_peer(may_install=not chosen.no_install)
        peers = dict.fromkeys(BESIDE_PYTORCH, (peer.environment_of(pytorch), pytorch.remark()))
    for name, beside in BESIDE_ORIGINALS.items():
        if name in wanted:
            found = find_originals(not chosen.no_install, beside)
            peers[name] = originals.environment_of(found), originals.remark(found)
    for name in wanted:
        title, command = known[name]
        record = measure(name, title, command, chosen.quick, *peers.get(name, ()))
        kept = results.load(chosen.output)
        kept["machine"] = results.machine()
        kept["parts"] = {part: record if part == name else kept["parts"][part]
                         for part in known if part == name or part in kept["parts"]}
        results.store(chosen.output, kept)
    kept = results.load(chosen.output)
    drawn = pathlib.Path(chosen.output).with_suffix(".svg")
    picture.draw(kept, drawn)
    page = "\n".join(results.page_lines(kept, drawn.name)) + "\n"
    drawn.with_suffix(".md").write_text(page)
    print("\n".join(results.table_lines(kept["parts"])))


if __name__ == "__main__":
    main()
