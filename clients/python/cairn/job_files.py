"""The job file of a fit, and of the job that continues one."""

import json
import math
import os
import re

from cairn import translation


def job_name(name):
    return re.sub(r"[^A-Za-z0-9_.-]", "_", name).lstrip("-.")[:128] or "keras"


def write_job(job, job_file, rates, steps, first, rates_of_updates):
    """Writes the job file.

    rates: of each epoch, by the LearningRateSchedulers; None without any. steps: updates of an epoch.
    first: the updates that the optimizer has done; if there are any, optimizer.json beside the job file
        has its state.
    rates_of_updates: a function of the first update and their number if code of the script sets the
        rate of each; else None.
    """
    job.pop("resume_from", None)
    if first:
        job["resume_from"] = {"name": os.path.join(os.path.dirname(job_file), "optimizer.json"),
                              "with_optimizer": True}
    if rates is not None:
        job["optimizer"]["learning_rate"] = translation.schedule_of_rates(rates, steps, first)
    if rates_of_updates is not None:
        count = steps * (job["epochs"] - job.get("initial_epoch", 0))
        job["optimizer"]["learning_rate"] = translation.schedule_of_rates(
            rates_of_updates(first, count), 1, first)
    dump(job, job_file)


def dump(job, job_file):
    with open(job_file, "w", encoding="utf-8") as file:
        json.dump(job, file, indent=1)


def go_on(job, identifier, status, parts):
    """Lets `job` continue at the epoch for which a callback has set the rate; returns the number of
    updates that are done."""
    epochs = status["rate_set_at"] - job.get("initial_epoch", 0)
    if epochs == 0:
        return 0
    job["resume_from"] = {"name": identifier, "checkpoint": status["stopped_at"],
                          "with_optimizer": True}
    job["initial_epoch"] = status["rate_set_at"]
    job["seed"] += 1  # Or its first epoch had the order and the dropout of that job's.
    return epochs * math.ceil(status["batches_per_epoch"] / parts)


def log_to(job, folder, before):
    """Sets and returns the file of the job's csv_logger. The job `before` may have written to its own."""
    file = os.path.join(folder, f"epochs-{before}.csv")
    next(each for each in job["callbacks"] if each["name"] == "csv_logger")["filename"] = file
    return file
