"""evaluate and predict. The tool computes them on this machine, of a file with the model as it is."""

import os
import tempfile

import numpy as np

from cairn import compiled, job_files, model_files, structure, translation
from cairn.data import DataFolder, as_arrays, from_batches
from cairn.errors import NotSupported
from cairn.job_data import examples_of, rows_of, source_of
from cairn.objectives import Objectives
from cairn.sample_weights import are_for_elements, weights_of
from cairn.steps import step_of
from cairn.texts import Lookups
from cairn.tool import Tool


def evaluate(model, x, y, batch_size, sample_weight, steps, folder):
    """{name: value} of the loss and the metrics of a compiled model.

    folder: for temporary files; None: that of the system.
    """
    arguments = compiled.compiled_arguments(model)
    dataset = from_batches("x", x, steps)
    if dataset is not None:
        x, y, sample_weight, batch_size = dataset[:4]
    structure.check(model, ("compute_metrics", "test_step"))
    lookups = Lookups(model)
    given = as_arrays("x", x, structure.input_names(model, x), lookups.takes_text)
    inputs = lookups.look_up("x", given)
    weights, elements = [], None
    if sample_weight is not None and are_for_elements(sample_weight):
        elements = sample_weight
    elif sample_weight is not None:
        weights = weights_of(sample_weight)
    step = step_of(model)
    objectives = Objectives(arguments, y, elements, step)
    lookups.cut(given, inputs, x, objectives)
    objectives.check_validation()
    if not model.built:
        compiled.build(model, given)
    fields = objectives.fields(lookups.output_names, lookups.output_shapes)
    if step is None:
        compiled.build_metrics(model, x, given, y)
    if weights:
        objectives.check_weights()
    objectives.batch_size = int(batch_size or 32)
    inputs, labels = examples_of(lookups, objectives, inputs, "y", y, elements)
    with tempfile.TemporaryDirectory(dir=folder) as folder:
        source = source_of(DataFolder(folder), folder, "data", inputs, labels, weights)
        if steps:
            source["rows"] = [0, rows_of(inputs, steps, batch_size)]
        job_file = os.path.join(folder, "job.json")
        job_files.dump({**fields, "batch_size": objectives.batch_size, "validation": source,
                        "precision": translation.precision_of(model)}, job_file)
        file = model_files.write_model(lookups.model, lookups.rebuilt, folder)
        [result] = Tool([]).objects("evaluate", file, "--job_file", job_file)
    for key in ("evaluation", "epoch", "file", "data"):
        result.pop(key, None)
    return objectives.reported(result, False)


def predict(model, x, batch_size, steps, folder):
    """The outputs of a model, which need not be compiled. folder: as of evaluate."""
    structure.check(model, ("predict_step",))
    if not structure.has_call(model):
        raise NotSupported(f"{type(model).__name__} has no call, and so no predictions: call its layers")
    dataset = from_batches("x", x, steps)
    if dataset is not None:
        x, batch_size = dataset.x, dataset.batch_size
    lookups = Lookups(model)
    given = as_arrays("x", x, structure.input_names(model, x), lookups.takes_text)
    inputs = lookups.look_up("x", given)
    lookups.cut(given, inputs, x, Objectives({}, None))
    if not model.built:
        compiled.build(model, given)
    inputs = lookups.complete(inputs)
    outputs = len(lookups.output_names)
    with tempfile.TemporaryDirectory(dir=folder) as folder:
        features = source_of(DataFolder(folder), folder, "x", inputs, [], [])["npy"]["features"]
        files = features if len(inputs) > 1 else [features]
        results = [os.path.join(folder, f"output{i}.npy") for i in range(lookups.job_outputs)]
        rows = ["--rows", f"0:{rows_of(inputs, steps, batch_size)}"] if steps else []
        file = model_files.write_model(lookups.model, lookups.rebuilt, folder)
        Tool([]).run("predict", file, *rows, *_flags("--input", files), *_flags("--output", results))
        arrays = [np.load(path) for path in results[:outputs]]
    return lookups.as_outputs(arrays)


def _flags(flag, values):
    return [each for value in values for each in (flag, value)]
