#!/usr/bin/env python3
"""ONNX Runtime predicts with an exported model what Cairn predicts, and so does Cairn, read back.

Arguments: cases [all], as Models.test_NAME.
"""

import os
import pathlib

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")

import onnx
import onnxruntime

import models
from cluster import Job
from keras_files_test import compare, predictions, run_all

# What the export says of models that it does not have.
REFUSED = {"adaptive_pooling": "does not have this layer", "volumes": "does not have this layer",
           "conv_lstm": "does not have this layer"}
# What the reader says of exports that it cannot read back.
UNREAD = {"states": "takes a sequence in the opposite order",
          "unrolled": "computes with constants only", "attention_mask": "which no layer computes",
          **dict.fromkeys(["embedding", "masked_ends", "masked_stack", "masked_states",
                           "masking", "merged_masks"],
                          "masks are not read")}


def check(name, folder):
    model = models.make(name)
    inputs = models.inputs(model)
    names = [tensor._keras_history.operation.name for tensor in model.outputs]
    expected = predictions(model, inputs)
    model.save(f"{folder}/model.keras")
    job = Job(folder, "model.keras", inputs, list(zip(names, [y.shape[1:] for y in expected])))
    if name in REFUSED:
        text = job.export("out.onnx", fails=True)
        assert REFUSED[name] in text, text
        return
    predicted = job.predict()
    file = str(job.export("out.onnx"))
    onnx.checker.check_model(file, full_check=True)
    session = onnxruntime.InferenceSession(file, providers=["CPUExecutionProvider"])
    feeds = {one.name: array for one, array in zip(session.get_inputs(), inputs)}
    compare(".onnx out", predicted, session.run(names, feeds))
    back = pathlib.Path(folder) / "back"
    back.mkdir()
    try:
        read = Job(back, file, inputs, list(zip(names, [y.shape[1:] for y in expected])))
    except RuntimeError as refused:
        assert name in UNREAD and UNREAD[name] in str(refused), refused
        return
    assert name not in UNREAD
    compare(".onnx read back", predicted, read.predict())


if __name__ == "__main__":
    run_all(check)
