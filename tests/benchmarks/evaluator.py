#!/usr/bin/env python3
"""The cost of an evaluator for the training beside it: rows for results.py.

Usage: evaluator.py [--quick]

A light model (784-128-10) trains with one worker of one thread, one ps and their coordinator, all on
one core. With the evaluator the job also validates each epoch, and the evaluator has another core
for itself, which is idle otherwise: the machine has a core to spare. Rounds are interleaved; the
ratio of the speeds is the median of the rounds' ratios. The floor is 1. What an evaluator costs the
others are the values that the ps sends for each epoch and the results that the coordinator reads.

Run as root, the tasks have the highest priority, so that other programs disturb them less. The note
also has the ratio of the examples per second of processor time of worker, ps and coordinator.
"""

import statistics
import sys
import time

import results
from local_run import BATCH, DATA, LocalRun, cpu_seconds, dense_model, fashion_job, pin, prefer

TRAINING_CORE, SPARE_CORE = 0, 1
WIDTHS = [128, 10]
VALIDATION = {"idx": {"features": DATA.replace("train", "t10k").format("images-idx3"),
                      "labels": DATA.replace("train", "t10k").format("labels-idx1")},
              "scale": 1 / 255}


def train(with_evaluator, seconds):
    """Examples per second, and per second of processor time."""
    job = fashion_job("model.json", "adam", metrics=["accuracy"], checkpoint={"copies": 1})
    if with_evaluator:
        job["validation"] = VALIDATION
    flags = ["--evaluators", "1"] if with_evaluator else []
    with LocalRun(job, ps=1, workers=1, model=dense_model(WIDTHS), cores={TRAINING_CORE},
                  flags=flags) as run:
        run.wait_for_batches(1)
        tasks = [run.pid(task) for task in ("coordinator", "ps-0", "worker-0")]
        evaluators = [run.pid("evaluator-0")] if with_evaluator else []
        for pid in evaluators:
            pin(pid, {SPARE_CORE})
        for pid in tasks + evaluators:
            prefer(pid)
        run.wait_for_batches(1000)  # Everything has happened once.
        first, used = run.status(), sum(map(cpu_seconds, tasks))
        evaluators_used = sum(map(cpu_seconds, evaluators))
        start = time.monotonic()
        time.sleep(seconds)
        last, used = run.status(), sum(map(cpu_seconds, tasks)) - used
        elapsed = time.monotonic() - start
        used_by_evaluators = sum(map(cpu_seconds, evaluators)) - evaluators_used
        examples = (last["batches_done"] - first["batches_done"]) * BATCH
        if with_evaluator and not used_by_evaluators:
            sys.exit("the evaluator did nothing")
        return examples / elapsed, examples / used


def main():
    rounds, seconds = (2, 4) if "--quick" in sys.argv else (7, 10)
    pairs = []
    for number in range(rounds):
        # Each comes first in every other round.
        order = (False, True) if number % 2 == 0 else (True, False)
        measured = {with_evaluator: train(with_evaluator, seconds) for with_evaluator in order}
        pairs.append((measured[False], measured[True]))
    ratios = sorted(with_it[0] / without[0] for without, with_it in pairs)
    of_cpu = sorted(with_it[1] / without[1] for without, with_it in pairs)
    results.emit("with an evaluator on a core to spare",
                 statistics.median(with_it[0] for _, with_it in pairs), "examples/s",
                 peer="without validation",
                 peer_value=statistics.median(without[0] for without, _ in pairs),
                 ratio=statistics.median(ratios), at_least=0.98,
                 note=f"ratios {ratios[0]:.3f} to {ratios[-1]:.3f}; by processor time "
                      f"{statistics.median(of_cpu):.3f} ({of_cpu[0]:.3f} to {of_cpu[-1]:.3f})")


if __name__ == "__main__":
    main()
