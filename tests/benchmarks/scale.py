#!/usr/bin/env python3
"""Runs `scale` for each case and prints its rows; then drills a cluster of as many real processes as
2 cores can start.

Usage: scale.py [--quick|--smoke]     (--smoke: only to see that it works)

scale.cc describes the measurement and its limits.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

import results

ROOT = pathlib.Path(__file__).resolve().parents[2]
BIN = pathlib.Path(os.environ.get("CAIRN_BIN", ROOT / "bazel-bin"))
# The numbers of workers, ps and variables; the seconds of measurement; the batches per second of
# each worker; and whether the job is synchronous.
CASES = [(100, 10, 100_000, 10, 4, False), (1000, 100, 100_000, 10, 4, False),
         (1000, 100, 100_000, 10, 1, True)]
PROCESSES = {"workers": 200, "ps": 20}
# The plans of `cairn drill`, and their goals in seconds.
PLANS = {"coordinator": 5, "everything": 15}
STEP_MILLISECONDS = 2000


def measure(workers, ps, variables, seconds, speed, synchronous):
    subprocess.run([BIN / "tests/benchmarks/scale", BIN / "coordinator/coordinator", str(workers),
                    str(ps), str(variables), str(seconds), str(speed),
                    *(["sync"] if synchronous else [])], check=True, timeout=500)


def drill(plan, goal, workers, ps):
    """The job of `cairn init`, in slow steps, because all processes share the cores."""
    cairn = BIN / "cli/cairn"
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([cairn, "init"], cwd=folder, check=True, stdout=subprocess.DEVNULL)
        result = subprocess.run(
            [cairn, "drill", "job.json", "--plan", plan, "--faults", "1", "--workers", str(workers),
             "--ps", str(ps), "--threads", "1", "--step_delay", str(STEP_MILLISECONDS), "--json"],
            cwd=folder, stdout=subprocess.PIPE, text=True, timeout=500)
    report = json.loads(result.stdout.splitlines()[-1])
    who = f"{workers} worker and {ps} ps processes"
    results.emit(f"{who}: drill {plan} until full speed",
                 report["faults"][0]["to_full_speed_seconds"], "s", at_most=goal,
                 note=f"verdict: {report['verdict']}; {report['result']['applied_batches']} of "
                 f"{report['result']['total_batches']} batches are counted once")


def main():
    if "--smoke" in sys.argv:
        return measure(12, 2, 50, 0.5, 20, False)
    quick = "--quick" in sys.argv
    for case in CASES[:1] if quick else CASES:
        measure(*case)
    for plan, goal in PLANS.items():
        drill(plan, goal, **{role: count // 10 if quick else count
                             for role, count in PROCESSES.items()})


if __name__ == "__main__":
    main()
