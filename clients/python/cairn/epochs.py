"""Turns the progress of a job into the calls that Keras's callbacks get from fit."""

import math

# Metrics of an epoch that follow from those of its batches, by their name in the job.
_COUNTS = ("true_positives", "false_positives", "true_negatives", "false_negatives")
_NOT_MEANS = ("precision", "recall", "auc", "mean_iou", "iou", "one_hot_iou", "one_hot_mean_iou",
              "binary_iou", "f1_score", "fbeta_score", "r2_score", "precision_at_recall",
              "recall_at_precision", "sensitivity_at_specificity", "specificity_at_sensitivity")


class EpochLogs:
    """Calls `run` (a CallbackList) as fit does, from the statuses of a job."""

    def __init__(self, tool, identifier, job, output_names, parts, examples, run):
        self._tool = tool
        self._identifier = identifier
        self._run = run
        self._first_epoch = job.get("initial_epoch", 0)
        self._validation_freq = job.get("validation_freq", 1)
        self._parts = parts
        self._batch_size = job["batch_size"]
        self._examples = examples
        self._batches_per_pass = math.ceil(examples / job["batch_size"])
        self._batches_per_epoch = job.get("steps_per_epoch", self._batches_per_pass)
        self._validates = "validation" in job or "validation_fraction" in job
        self._logs_rate = any(each["name"] == "reduce_lr_on_plateau"
                              for each in job.get("callbacks", []))
        self._rate = job["optimizer"]["learning_rate"]
        self._kinds = _metric_kinds(job, output_names)
        self._epoch = -1  # The epoch that is shown.
        self._evaluations = {}
        self._seen = {}  # By epoch: its metrics when it had ended, for those that are no means.
        self.last = {}

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
        while epoch > self._epoch and (not self._shows_validation(self._epoch) or
                                       self._epoch in self._evaluations):
            self._end(self._epoch)
            self._begin(self._epoch + 1)
        if epoch == self._epoch and batch >= self._parts:
            self._run.on_train_batch_end(batch // self._parts - 1, values)

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
        self._run.on_epoch_begin(epoch)

    def _end(self, epoch):
        logs = self._training_logs(epoch)
        for key, value in self._evaluations.get(epoch, {}).items():
            if key == "loss" or key in self._kinds:
                logs["val_" + key] = _float(value)
        if self._logs_rate:
            logs["learning_rate"] = self._rate
        self.last = logs
        self._run.on_epoch_end(epoch, dict(logs))

    def _shows_validation(self, epoch):
        if not self._validates:
            return False
        if isinstance(self._validation_freq, int):
            return (epoch + 1) % self._validation_freq == 0
        return epoch + 1 in self._validation_freq

    def _training_logs(self, epoch):
        """Loss and metrics of the epoch, from the history of its batches."""
        batches = []
        for line in self._tool.objects("history", self._identifier):
            if line.get("epoch") == epoch and "batch" in line and line["loss"] is not None:
                batch = (epoch - self._first_epoch) * self._batches_per_epoch + line["batch"]
                first = batch % self._batches_per_pass * self._batch_size
                batches.append((min(self._batch_size, self._examples - first), line))
                self._rate = line.get("learning_rate") or self._rate
        logs = {}
        for key in ["loss", *self._kinds]:
            logs[key] = _combine(self._kinds.get(key, "loss"),
                                 [(count, line[key]) for count, line in batches])
            if self._kinds.get(key) in _NOT_MEANS:
                logs[key] = self._seen.get(epoch, {}).get(key, logs[key])
            logs[key] = _float(logs[key])
        return logs


def _float(value):
    return math.nan if value is None else float(value)


def _metric_kinds(job, output_names):
    """{name in reports: the metric}, of the losses of several outputs too."""
    metrics = job.get("metrics", [])
    losses = job["loss"]
    if not isinstance(losses, list):
        return {each["as"]: each["name"] for each in metrics}
    kinds = {f"{name}_loss": "loss" for name in output_names}
    for name, each in zip(output_names, metrics):
        kinds.update({f"{name}_{metric['as']}": metric["name"] for metric in each})
    return kinds


def _combine(kind, values):
    """A metric over several batches, from (examples, value of the batch)."""
    values = [(count, value) for count, value in values if value is not None]
    examples = sum(count for count, _ in values)
    if examples == 0 or kind in _NOT_MEANS:
        return math.nan
    if kind in _COUNTS:
        return sum(value for _, value in values)
    if kind == "root_mean_squared_error":
        return math.sqrt(sum(count * value * value for count, value in values) / examples)
    return sum(count * value for count, value in values) / examples
