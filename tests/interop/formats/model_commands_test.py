#!/usr/bin/env python3
"""`cairn predict` and `cairn evaluate` of model files that no job has trained: the numbers of the
libraries that wrote them, on this machine and on a cluster."""

import json
import os
import pathlib
import subprocess
import tempfile
import unittest

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")

import keras
import numpy as np
import onnx
import onnxruntime
import tensorflow as tf
from keras import layers
from onnx import TensorProto, helper, numpy_helper

from cluster import CAIRN, cairn

EXAMPLES = 300
PLACES = ("machine", "cluster")
state = None


def setUpModule():
    global state
    folder = tempfile.TemporaryDirectory()
    unittest.addModuleCleanup(folder.cleanup)
    state = f"{folder.name}/state"
    cairn("up", "--ps", 2, "--workers", 2, "--state", state, folder=folder.name)
    unittest.addModuleCleanup(cairn, "down", "--state", state, folder=folder.name)


class ModelCommands(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.random = np.random.default_rng(5)
        self.x = self.random.normal(3, 2, (EXAMPLES, 6)).astype("f")
        self.labels = self.random.integers(0, 3, EXAMPLES)
        np.save(self.folder / "x.npy", self.x)
        np.save(self.folder / "y.npy", self.labels.astype("i4"))
        keras.utils.set_random_seed(2)
        self.model = keras.Sequential([keras.Input((6,)), layers.Dense(8, activation="tanh"),
                                       layers.BatchNormalization(),
                                       layers.Dense(3, activation="softmax")])
        self.model.set_weights([self.random.uniform(.1, 1, weight.shape).astype("f")
                                for weight in self.model.get_weights()])

    def source(self, **more):
        return {"npy": {"features": "x.npy", "labels": "y.npy"}, **more}

    def predict(self, file, *flags):
        """What both places compute, which must be the same bits."""
        results = []
        for place in PLACES:
            cairn("predict", file, "--input", "x.npy", "--output", "out.npy", "--on", place,
                  "--state", state, *flags, folder=self.folder)
            results.append(np.load(self.folder / "out.npy"))
        np.testing.assert_array_equal(*results)
        return results[0]

    def evaluate(self, file, job, *flags):
        if isinstance(job, dict):
            (self.folder / "job.json").write_text(json.dumps(job))
            job = "job.json"
        results = [json.loads(cairn("evaluate", file, "--job_file", job, "--json", "--on", place,
                                    "--state", state, *flags, folder=self.folder))
                   for place in PLACES]
        self.assertEqual(*results)
        return results[0]

    def fails(self, *arguments):
        done = subprocess.run([CAIRN, *arguments], cwd=self.folder, text=True, capture_output=True)
        self.assertEqual(done.returncode, 2, done.stderr)
        return done.stderr

    def test_files_of_keras_predict_what_keras_predicts(self):
        expected = self.model.predict(self.x, verbose=0)
        for name in ("model.keras", "model.h5"):
            self.model.save(self.folder / name)
            np.testing.assert_allclose(self.predict(name), expected, atol=1e-6)
        rows = self.predict("./model.keras", "--rows", "100:104", "--scale", "0.5")
        np.testing.assert_allclose(rows, self.model.predict(self.x[100:104] / 2, verbose=0),
                                   atol=1e-6)

    def test_files_with_a_mixed_policy_have_float32_weights(self):
        model = keras.Sequential([keras.Input((6,)), layers.Dense(8, "tanh", dtype="mixed_float16"),
                                  layers.BatchNormalization(dtype="mixed_float16"),
                                  layers.Dense(3, "softmax", dtype="mixed_bfloat16")])
        model.set_weights(self.model.get_weights())
        for name in ("mixed.keras", "mixed.h5"):
            model.save(self.folder / name)
            np.testing.assert_allclose(self.predict(name), self.model.predict(self.x, verbose=0), atol=1e-6)

    def test_several_inputs_and_outputs(self):
        a, b = keras.Input((6,), name="a"), keras.Input((6,), name="b")
        both = layers.Concatenate()([a, b])
        model = keras.Model([a, b], [layers.Dense(2, name="p")(both), layers.Dense(1, name="q")(both)])
        model.save(self.folder / "two.keras")
        np.save(self.folder / "b.npy", self.x[::-1])
        expected = model.predict([self.x, self.x[::-1]], verbose=0)
        for place in PLACES:
            cairn("predict", "two.keras", "--input", "x.npy", "--input", "b.npy", "--output", "p.npy",
                  "--output", "q.npy", "--on", place, "--state", state, folder=self.folder)
            for name, y in zip(("p", "q"), expected):
                np.testing.assert_allclose(np.load(self.folder / f"{name}.npy"), y, atol=1e-5)

    def test_evaluation_is_that_of_keras(self):
        self.model.save(self.folder / "model.keras")
        self.model.compile("sgd", "sparse_categorical_crossentropy",
                           metrics=["accuracy", "sparse_top_k_categorical_accuracy"])
        expected = self.model.evaluate(self.x / 4, self.labels, verbose=0, return_dict=True)
        described = {"loss": "sparse_categorical_crossentropy",
                     "metrics": ["accuracy", "sparse_top_k_categorical_accuracy"],
                     "validation": self.source(scale=0.25)}
        result = self.evaluate("model.keras", described)
        for name in ("loss", *described["metrics"]):
            self.assertAlmostEqual(result[name], expected[name], delta=1e-5, msg=name)
        self.assertEqual((result["examples"], result["file"]), (EXAMPLES, "model.keras"))
        # As text, and of other rows.
        rows = json.dumps(self.source(scale=0.25, rows=[0, 50]))
        result = self.evaluate("model.keras", json.dumps(described), "--data", rows)
        expected = self.model.evaluate(self.x[:50] / 4, self.labels[:50], verbose=0)
        self.assertAlmostEqual(result["loss"], expected[0], delta=1e-5)

    def test_data_are_prepared_by_the_training_data_of_the_job_file(self):
        self.model.save(self.folder / "model.keras")
        train = self.random.normal(1, 5, (40, 6)).astype("f")
        np.save(self.folder / "train.npy", train)
        np.save(self.folder / "train_y.npy", self.labels[:40].astype("i4"))
        prepared = (self.x - train.mean(0)) / train.std(0)
        job = {"name": "j", "model": "gone.json", "loss": "sparse_categorical_crossentropy",
               "optimizer": "adam", "epochs": 20, "batch_size": 7, "validation": self.source(),
               "train": {"npy": {"features": "train.npy", "labels": "train_y.npy"},
                         "standardize": True}}
        result = self.evaluate("model.keras", job)
        self.model.compile("sgd", "sparse_categorical_crossentropy")
        self.assertAlmostEqual(result["loss"],
                               self.model.evaluate(prepared, self.labels, verbose=0), delta=1e-5)
        np.testing.assert_allclose(self.predict("model.keras", "--job_file", "job.json"),
                                   self.model.predict(prepared, verbose=0), atol=1e-5)
        del job["train"]
        job["validation"]["standardize"] = True
        (self.folder / "job.json").write_text(json.dumps(job))
        self.assertIn("job.json: train: is missing",
                      self.fails("evaluate", "model.keras", "--job_file", "job.json"))

    def test_a_saved_model_has_the_architecture_of_the_job_file(self):
        self.model.export(self.folder / "saved", verbose=False)
        (self.folder / "model.json").write_text(self.model.to_json())
        job = json.dumps({"model": "model.json", "loss": "sparse_categorical_crossentropy",
                          "train": self.source()})
        np.testing.assert_allclose(self.predict("./saved", "--job_file", job),
                                   self.model.predict(self.x, verbose=0), atol=1e-6)
        self.assertIn("./saved: it has weights without an architecture",
                      self.fails("predict", "./saved", "--input", "x.npy", "--output", "y.npy"))
        tf.train.Checkpoint(other=tf.Variable([1.])).save(self.folder / "other")
        self.assertIn("./other-1.index", self.fails(
            "predict", "./other-1.index", "--job_file", job, "--input", "x.npy", "--output", "o.npy"))

    def test_an_onnx_file_predicts_what_onnx_runtime_predicts(self):
        weights = self.random.normal(0, 1, (6, 4)).astype("f")
        graph = helper.make_graph(
            [helper.make_node("MatMul", ["x", "w"], ["m"]), helper.make_node("Sigmoid", ["m"], ["y"])],
            "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", 6])],
            [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["batch", 4])],
            [numpy_helper.from_array(weights, "w")])
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
        onnx.save(model, self.folder / "model.onnx")
        session = onnxruntime.InferenceSession(str(self.folder / "model.onnx"))
        np.testing.assert_allclose(self.predict("model.onnx"), session.run(None, {"x": self.x})[0],
                                   atol=1e-6)

    def test_nothing_of_a_file_stays_on_the_cluster(self):
        self.model.save(self.folder / "model.keras")
        self.predict("model.keras")
        self.assertEqual(cairn("jobs", "--state", state, "--json", folder=self.folder), "")

    def test_errors_name_the_file_and_the_flag(self):
        self.model.save(self.folder / "model.keras")
        (self.folder / "model.json").write_text(self.model.to_json())
        (self.folder / "x.csv").write_text("1,2\n")
        predict = ("--input", "x.npy", "--output", "o.npy")
        for arguments, error in [
                (("predict", "gone.keras", *predict), "gone.keras: "),
                (("predict", "model.json", *predict), "model.json: it has no weights"),
                (("predict", "model.keras", "--input", "x.csv", "--output", "o.npy"),
                 "--input: x.csv is no .npy file"),
                (("predict", "model.keras", *predict, "--checkpoint", "3"), "--checkpoint: model.keras"),
                (("predict", "job", *predict, "--job_file", "x"), "--job_file: is for model files"),
                (("predict", "model.keras", *predict, "--model", "a"), "--model: "),
                (("predict", "model.keras", "--input", "x.npy", "--output", "model.keras"), "--output"),
                (("evaluate", "model.keras"), "model.keras: a model file has neither losses nor data"),
                (("evaluate", "model.keras", "--job_file", "{}"), "--job_file: train: is missing"),
                (("evaluate", "model.keras", "--job_file", "gone.json"), "gone.json: "),
                (("evaluate", "model.keras", "--job_file",
                  '{"loss": "mse", "validation": {"npy": {"features": "x.npy", "labels": "y.npy"}}}'),
                 "--job_file: "),  # One number is no label of three.
        ]:
            self.assertIn(error, self.fails(*arguments))


if __name__ == "__main__":
    unittest.main()
