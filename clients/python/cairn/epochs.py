"""Turns the progress of a job into the calls that Keras's callbacks get from fit."""

import csv
import itertools
import math
import os

from cairn.callbacks import Beside, Hook, RateSet, Stopped, replay

_WEIGHTED = "weighted"
# Metrics of an epoch that follow from those of its batches, by their name in the job.
_COUNTS = ("true_positives", "false_positives", "true_negatives", "false_negatives")
_NOT_MEANS = ("precision", "recall", "auc", "mean_iou", "iou", "one_hot_iou", "one_hot_mean_iou",
              "binary_iou", "f1_score", "fbeta_score", "r2_score", "precision_at_recall",
              "recall_at_precision", "sensitivity_at_specificity", "specificity_at_sensitivity",
              _WEIGHTED)


class EpochLogs:
    """Calls `run` (a CallbackList) as fit does, from the statuses of a job.

    csv_file: of the job's csv_logger, if this process can read it.
    has_begun: the callbacks know that the first epoch has begun.
    rates: of each update, if a callback sets them; else empty.
    """

    def __init__(self, tool, job, objectives, parts, examples, run, csv_file, has_begun, rates):
        self._tool = tool
        self.run = run
        self.parts = parts
        self._hooks = [each for each in run.callbacks if isinstance(each, Hook)]
        self._first_epoch = job.get("initial_epoch", 0)
        self._validation_freq = job.get("validation_freq", 1)
        self._batch_size = job["batch_size"]
        self._examples = examples
        self._batches_per_pass = math.ceil(examples / job["batch_size"])
        self._batches_per_epoch = job.get("steps_per_epoch", self._batches_per_pass)
        self._validates = "validation" in job or "validation_fraction" in job
        self._beside = [each for each in run.callbacks if isinstance(each, Beside)]
        self._rate = job["optimizer"]["learning_rate"]
        self._kinds = _metric_kinds(job, objectives.job_outputs)
        self._reported = objectives.reported
        self.has_begun = has_begun
        self._rates = rates
        self._epoch = self._first_epoch if has_begun else -1  # The epoch that is shown.
        self._evaluations = {}
        self._csv_file = csv_file
        self._logged = {}  # By epoch: a line of this file.
        self._history = {}  # By epoch: lines of `cairn history`.
        self._seen = {}  # By epoch: its metrics when it had ended, for those that are no means.
        self.last = {}

    def begin(self, identifier, set_weights):
        """Call it before the others. set_weights: called with each epoch that has ended, for Hooks."""
        self._identifier = identifier
        self._set_weights = set_weights

    def show(self, status):
        """`status`: a line of `cairn follow --json`."""
        for evaluation in status.get("evaluations", []):
            self._evaluations[evaluation["epoch"]] = evaluation
        if status.get("state") != "running" or status["epochs"] == 0:
            return
        if self._epoch < 0:
            self._begin(self._first_epoch)
        epoch, batch = status["epoch"], status["batch"]
        values = {key: value for key, value in status.items()
                  if key == "loss" or key in self._kinds}
        if batch == status["batches_per_epoch"]:
            self._seen[epoch] = values
        elif batch == 0:
            self._seen[epoch - 1] = values
        while epoch > self._epoch and self._is_known(self._epoch):
            self._end(self._epoch)
            self._begin(self._epoch + 1)
        if epoch == self._epoch and batch >= self.parts:
            values["examples"] = min(batch * self._batch_size, self._examples)
            self.run.on_train_batch_end(batch // self.parts - 1, self._reported(values, True))

    def finish(self, status):
        """`status`: the last one."""
        self._seen[status["epoch"]] = {key: value for key, value in status.items()
                                       if key == "loss" or key in self._kinds}
        if self._epoch < 0:
            self._begin(self._first_epoch)
        while True:
            self._end(self._epoch)
            if self._epoch >= status["epoch"]:
                return
            self._begin(self._epoch + 1)

    def _begin(self, epoch):
        self._epoch = epoch
        self.run.on_epoch_begin(epoch)
        if any(hook.has_set_rate for hook in self._hooks):
            for hook in self._hooks:
                hook.has_set_rate = False
            raise RateSet(epoch)

    def _end(self, epoch):
        logs, batches = self._training_logs(epoch)
        logs = self._reported(logs, True)
        validation = self._reported({
            key: _float(value) for key, value in self._evaluations.get(epoch, {}).items()
            if key in ("loss", "examples") or key in self._kinds}, False)
        logs.update({"val_" + key: value for key, value in validation.items()})
        for callback in self._beside:
            callback.rate = self._rate
        self.last = logs
        if self._hooks:
            self._set_weights(epoch)
        before = (epoch - self._first_epoch) * len(batches)
        replay(self._hooks, [self._reported(each, True) for each in batches],
               self._rates[before:before + len(batches)])
        for hook in self._hooks:
            hook.validated(validation)
        self.run.on_epoch_end(epoch, dict(logs))
        if self.run.model.stop_training:
            raise Stopped()

    def _is_known(self, epoch):
        """The results of the epoch are there."""
        return (not self._shows_validation(epoch) or epoch in self._evaluations) and \
            (not self._csv_file or bool(self._logged_at(epoch)))

    def _logged_at(self, epoch):
        """The epoch's line of csv_logger; empty if there is none yet."""
        if self._csv_file and epoch not in self._logged:
            lines = []
            if os.path.exists(self._csv_file):
                with open(self._csv_file, encoding="utf-8", newline="") as file:
                    lines = [line for line in file if line.endswith("\n")]
            self._logged.update({int(row["epoch"]): row for row in csv.DictReader(lines)})
        return self._logged.get(epoch, {})

    def _shows_validation(self, epoch):
        if not self._validates:
            return False
        if isinstance(self._validation_freq, int):
            return (epoch + 1) % self._validation_freq == 0
        return epoch + 1 in self._validation_freq

    def _history_of(self, epoch):
        """The batches of an epoch. One call of the tool gets those of all epochs that have ended."""
        if len(self._history.get(epoch, [])) < self._batches_per_epoch:
            self._history = {}
            for line in self._tool.objects("history", self._identifier):
                if "batch" in line and line["epoch"] >= epoch:
                    self._history.setdefault(line["epoch"], []).append(line)
        return self._history.pop(epoch, [])

    def _training_logs(self, epoch):
        """(loss, metrics and `examples` of the epoch, those after each update), from the history."""
        batches = []
        for line in self._history_of(epoch):
            if line["loss"] is not None:
                batch = (epoch - self._first_epoch) * self._batches_per_epoch + line["batch"]
                first = batch % self._batches_per_pass * self._batch_size
                batches.append((min(self._batch_size, self._examples - first), line))
                self._rate = line.get("learning_rate") or self._rate
        # The last update of an epoch may have fewer batches.
        ends = [*range(self.parts, len(batches), self.parts), len(batches)] if batches else []
        logs, updates = {}, [{} for _ in ends]
        for key in ["loss", *self._kinds]:
            values = _running(self._kinds.get(key, "loss"),
                              [(count, line[key]) for count, line in batches])
            logs[key] = values[-1] if values else math.nan
            if self._kinds.get(key) in _NOT_MEANS:
                logs[key] = self._logged_at(epoch).get(key) or \
                    self._seen.get(epoch, {}).get(key, logs[key])
            logs[key] = _float(logs[key])
            for update, end in zip(updates, ends):
                update[key] = values[end - 1]
        totals = list(itertools.accumulate(count for count, _ in batches))
        logs["examples"] = totals[-1] if totals else 0
        for update, end in zip(updates, ends):
            update["examples"] = totals[end - 1]
        return logs, updates


def _float(value):
    return math.nan if value is None else float(value)


def _metric_kinds(job, output_names):
    """{name in reports: the metric}, of the losses of several outputs too."""
    several = isinstance(job["loss"], list)
    kinds = {f"{name}_loss": "loss" for name in output_names} if several else {}
    for field in ("metrics", "weighted_metrics"):
        metrics = job.get(field, [])
        for prefix, each in zip([name + "_" for name in output_names] if several else [""],
                                metrics if several else [metrics]):
            for metric in each:
                name = prefix + metric["as"]
                if field == "weighted_metrics":
                    # The weights of a batch are not in its reports.
                    name = f"{prefix}weighted_{metric['as']}" if name in kinds else name
                kinds[name] = metric["name"] if field == "metrics" else _WEIGHTED
    return kinds


def _running(kind, values):
    """A metric after each batch, from (examples, value of the batch)."""
    results, total, examples = [], 0, 0
    squares = kind == "root_mean_squared_error"
    for count, value in values:
        if value is not None:
            total += value if kind in _COUNTS else count * (value * value if squares else value)
            examples += count
        if examples == 0 or kind in _NOT_MEANS:
            results.append(math.nan)
        elif kind in _COUNTS:
            results.append(total)
        else:
            results.append(math.sqrt(total / examples) if squares else total / examples)
    return results


def needs_csv(job, output_names):
    """True if the job has metrics whose values for an epoch do not follow from its batches."""
    return any(kind in _NOT_MEANS for kind in _metric_kinds(job, output_names).values())
