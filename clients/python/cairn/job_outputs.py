"""The outputs of a job's model for losses and metrics, beside those of the script's model."""

import typing

import keras

from cairn import tracing

ops = keras.ops
MEAN_OF_OUTPUT = "wasserstein"  # A job's loss that is the mean of an output, of labels that are 1.


class Value(typing.NamedTuple):
    """A number that the job's model computes for each example."""

    output: str  # Of the job's model.
    field: str  # Of compile: "loss", "metrics" or "weighted_metrics".
    weight: float  # In the loss.
    report: str  # What fit calls it; empty: nothing.

    @property
    def loss(self):
        return {"name": MEAN_OF_OUTPUT}

    def job_metrics(self, field):
        """The metric that reports it, if it is none of the losses: a loss has the examples' weights."""
        return [{"name": MEAN_OF_OUTPUT, "as": "value"}] if field == self.field else []

    def job_report(self):
        return f"{self.output}_loss" if self.field == "loss" else f"{self.output}_value"


class SurrogateOutput:
    """An output of the job's model for what the job does not have otherwise (surrogates.py)."""

    def __init__(self, name, position, given):
        self.output = name
        self.position = position  # Of the output of the script's model.
        self.field, self.weight, self.report = "metrics", 0.0, ""
        self.loss = given.loss
        self.labels_of = given.labels
        self.takes_mask = given.takes_mask
        self._metrics = []  # (field, the job's metric).

    def be_loss(self, weight, report):
        self.field, self.weight, self.report = "loss", weight, report

    def add_metrics(self, field, metrics):
        """Returns their names in the job's reports."""
        names = []
        for metric in metrics:
            name = f"value{len(self._metrics)}"
            self._metrics.append((field, {**metric, "as": name}))
            names.append(f"{self.output}_{name}")
        if self.field != "loss" and metrics:
            self.field = field
        return names

    def job_metrics(self, field):
        return [metric for each, metric in self._metrics if each == field]

    def job_report(self):
        return f"{self.output}_loss"


class ScriptOutput(typing.NamedTuple):
    """An output of the script's model, while its loss and metrics are traced."""

    position: int
    name: str
    prefix: str  # Of its losses and metrics in reports.
    tensor: keras.KerasTensor
    label_input: keras.KerasTensor
    has_axes: bool  # The label of an example is no single number.
    trace: tracing.Trace
    add: typing.Callable  # Adds an output to the job's model.

    def labels(self):
        return self.label_input if self.has_axes else ops.squeeze(self.label_input, -1)


class Combined(typing.NamedTuple):
    """A metric whose value follows here from several of the job's."""

    report: str
    names: list  # In the job's reports.
    result: typing.Callable
