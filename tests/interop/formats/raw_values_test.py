#!/usr/bin/env python3
"""A model that is exported with its preprocessing looks up, hashes and tokenizes as Cairn does.

Keras, TensorFlow and ONNX Runtime load the export and get the raw values: texts, names and ids.
"""

import json
import os
import pathlib
import sys
import tempfile
import unittest

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")

import keras
import numpy as np
import onnxruntime
import pyarrow
import pyarrow.parquet
import tensorflow as tf

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))

import results
from cluster import Job, cairn
from keras_files_test import compare

L = keras.layers
WORDS = ["red", "Green", "blue", "don't", "end.", "ünï", "x-y", "[UNK]", "42", "?", "ÄRGER"]
NO_TEXTS = "an ONNX export has no operators that divide texts into tokens"
NO_HASH = "an ONNX export has no operator that hashes"


def dense(*shape, dtype="float32"):
    return keras.Sequential([keras.Input(shape, name="x", dtype=dtype), L.Flatten(), L.Dense(2)])


def embedded(length, ids, mask=False):
    return keras.Sequential([keras.Input((length,), name="x", dtype="int32"),
                             L.Embedding(ids, 3, mask_zero=mask), L.Flatten(), L.Dense(2)])


def as_array(values):
    """The values of an input in its file: texts as objects, of one value per example as columns."""
    array = np.array(values)
    array = array.reshape(len(array), -1) if array.ndim < 2 else array
    return array.astype(object) if array.dtype.kind == "U" else array


class RawValues(unittest.TestCase):
    def setUp(self):
        keras.utils.set_random_seed(6)
        self.random = np.random.default_rng(6)
        folder = tempfile.TemporaryDirectory(prefix="cairn_formats_")
        self.addCleanup(folder.cleanup)
        self.root = self.folder = pathlib.Path(folder.name)

    def enter(self, name):
        """The job of the next check is in a new folder of this name."""
        self.folder = self.root / name
        self.folder.mkdir()

    def train(self, model, source, rows):
        """Trains a job that changes nothing, and returns what it predicts for its raw data."""
        model.save(self.folder / "model.keras")
        file = next(iter(source.values()))["files"]
        job = {"name": "judged", "model": "model.keras", "loss": "mse", "epochs": 1,
               "batch_size": rows, "train": source,
               "optimizer": {"name": "sgd", "learning_rate": 1e-30}}
        if "text" in source:
            job["loss"] = "sparse_categorical_crossentropy"
        (self.folder / "job.json").write_text(json.dumps(job))
        cairn("run", "job.json", "--ps", 1, "--workers", 1, "--state", "state", folder=self.folder)
        cairn("predict", "judged", "--input", file, "--output", "y.npy", "--state", "state",
              folder=self.folder)
        return np.load(self.folder / "y.npy")

    def export(self, name, **options):
        cairn_text = cairn("export", "judged", "--output", name, "--state", "state",
                           "--with-preprocessing", folder=self.folder, **options)
        return cairn_text if options else self.folder / name

    def check(self, what, predicted, raw, refused=None):
        """`raw`: the values of each input. `refused`: what the export to ONNX says, or None."""
        raw = {name: as_array(values) for name, values in raw.items()}
        loaded = keras.models.load_model(self.export("out.keras"))
        tensors = {name: tf.constant(array) for name, array in raw.items()}
        result = loaded.predict(tensors if len(tensors) > 1 else next(iter(tensors.values())),
                                verbose=0)
        compare(f"{what} .keras", [predicted], [result])
        saved = tf.saved_model.load(str(self.export("out.savedmodel")))
        signature = saved.signatures["serving_default"]
        wanted = signature.structured_input_signature[1]
        result = signature(**{name: tf.cast(tensor, wanted[name].dtype)
                              for name, tensor in tensors.items()})
        compare(f"{what} SavedModel", [predicted], [next(iter(result.values())).numpy()])
        if refused is not None:
            text = self.export("out.onnx", fails=True)
            self.assertIn(refused, text)
            return
        session = onnxruntime.InferenceSession(str(self.export("out.onnx")),
                                               providers=["CPUExecutionProvider"])
        types = {"tensor(float)": "f", "tensor(int32)": "i", "tensor(int64)": "q",
                 "tensor(string)": object}
        feeds = {each.name: raw[each.name].astype(types[each.type])
                 for each in session.get_inputs()}
        compare(f"{what} .onnx", [predicted], session.run(None, feeds))

    def texts(self, count):
        """With punctuation, capitals and unknown words, short and long; the last one is empty."""
        texts = [" ".join(self.random.choice(WORDS, self.random.integers(1, 9)))
                 for _ in range(count - 2)]
        return texts + ["  two\u00a0 spaces ", ""]

    def check_texts(self, split, standardize):
        self.enter(f"{split} {standardize}")
        texts = self.texts(12)
        lines = [text if split == "none" else text[:9] for text in texts]
        pyarrow.parquet.write_table(pyarrow.table({"text": lines, "y": [0.0] * 12,
                                                   "z": [1.0] * 12}), self.folder / "x.parquet")
        feature = {"name": "text", "text_vectorization": {
            "split": split, "standardize": standardize, "max_tokens": 9,
            "output_sequence_length": 5}}
        # Words that training has are unknown beyond max_tokens.
        predicted = self.train(embedded(5, 9, mask=True), {"parquet": {
            "files": "x.parquet", "features": [feature], "labels": ["y", "z"]}}, 12)
        self.check(f"{split} {standardize}", predicted, {"text": lines}, NO_TEXTS)

    def test_texts_by_words(self):
        for standardize in ["lower_and_strip_punctuation", "lower", "strip_punctuation", "none"]:
            with self.subTest(standardize):
                self.check_texts("whitespace", standardize)

    def test_texts_by_characters(self):
        for standardize in ["lower_and_strip_punctuation", "lower", "strip_punctuation", "none"]:
            with self.subTest(standardize):
                self.check_texts("character", standardize)

    def test_whole_texts(self):
        for standardize in ["lower_and_strip_punctuation", "none"]:
            with self.subTest(standardize):
                self.check_texts("none", standardize)

    def test_lines_of_texts(self):
        """Keras's own vocabulary, and a length that the step pad gives."""
        texts = [text for text in self.texts(10) if text.strip()]
        (self.folder / "x.tsv").write_text("".join(f"{i % 2}\t{text}\n"
                                                   for i, text in enumerate(texts)))
        adapted = L.TextVectorization(max_tokens=8)
        adapted.adapt(texts)
        model = keras.Sequential([keras.Input((6,), name="x", dtype="int32"), L.Embedding(8, 3),
                                  L.Flatten(), L.Dense(2, activation="softmax")])
        predicted = self.train(model, {"text": {"files": "x.tsv", "text_vectorization": {
            "vocabulary": adapted.get_vocabulary()}},
            "pipeline": [{"pad": {"length": 6}}]}, len(texts))
        self.check("lines", predicted, {"text": texts}, NO_TEXTS)

    def test_columns_that_are_hashed(self):
        names = [*WORDS, "mask"]
        sizes = self.random.normal(3, 2, len(names)).astype("f")
        rows = [f"{name},{name},{name},{size},0,0" for name, size in zip(names, sizes)]
        (self.folder / "x.csv").write_text("\n".join(["a,b,c,size,y,z", *rows, ""]))
        features = [{"name": "a", "hash": {"num_bins": 5}},
                    {"name": "b", "hash": {"num_bins": 4, "salt": [7, 9]}, "one_hot": True},
                    {"name": "c", "hash": {"num_bins": 6, "mask_value": "mask"}}, "size"]
        predicted = self.train(dense(7), {"csv": {
            "files": "x.csv", "features": features, "labels": ["y", "z"]}, "scale": .5}, len(names))
        self.check("hashed columns", predicted,
                   {"a": names, "b": names, "c": names, "size": sizes}, NO_HASH)

    def test_columns_with_steps(self):
        names = self.random.choice(WORDS[:4], 8)
        sizes = self.random.normal(3, 2, 8).astype("f")
        rows = [f"{name},{size},0,0" for name, size in zip(names, sizes)]
        (self.folder / "x.csv").write_text("\n".join(["name,size,y,z", *rows, ""]))
        features = [{"name": "name", "vocabulary": WORDS[:3], "unknown": True}, "size"]
        predicted = self.train(dense(3), {
            "csv": {"files": "x.csv", "features": features, "labels": ["y", "z"]},
            "pipeline": [{"normalize": {}}, {"pad": {"length": 3, "value": 1}}]}, 8)
        self.check("steps of columns", predicted, {"name": names, "size": sizes})

    def test_features_of_a_table(self):
        """Names, hashed ids, lists and texts of Parquet make one input."""
        count = 9
        names = self.random.choice(["a", "b", "c"], count)
        ids = self.random.integers(-2**60, 2**60, count)
        pairs = self.random.choice(["u", "v", "w"], (count, 2))
        texts = self.texts(count)
        pyarrow.parquet.write_table(pyarrow.table({
            "name": names, "id": ids, "pair": pairs.tolist(), "text": texts,
            "y": np.zeros(count), "z": np.ones(count)}), self.folder / "x.parquet")
        features = [{"name": "name", "vocabulary": ["b", "a"], "unknown": True, "one_hot": True},
                    {"name": "id", "hash": {"num_bins": 3}},
                    {"name": "pair", "vocabulary": ["w", "u", "v"], "shape": [2], "one_hot": True},
                    {"name": "text", "text_vectorization": {"output_sequence_length": 4}}]
        predicted = self.train(dense(14), {"parquet": {
            "files": "x.parquet", "features": features, "labels": ["y", "z"]},
            "standardize": True}, count)
        self.check("features", predicted,
                   {"name": names, "id": ids.astype(str), "pair": pairs, "text": texts}, NO_HASH)

    def check_steps(self, what, model, x, steps, refused=None, **fields):
        job = self.job_of(what, model, x, steps, **fields)
        self.check(what, job.predict()[0], {"x": x}, refused)

    def job_of(self, what, model, x, steps, **fields):
        self.enter(what)
        model.save(self.folder / "model.keras")
        return Job(self.folder, "model.keras", [x], [(model.layers[-1].name, (2,))],
                   train={"npy": {"features": "x0.npy", "labels": "label0.npy"}, "pipeline": steps,
                          **fields})

    def test_ids(self):
        large = self.random.integers(-2**62, 2**62, (8, 4))
        self.check_steps("hashed", embedded(4, 7), large, [{"hash": {"num_bins": 7}}], NO_HASH)
        self.check_steps("salted", dense(4), large,
                         [{"cast": "int64"}, {"hash": {"num_bins": 7, "salt": 3}}], NO_HASH)
        some = self.random.integers(-3, 9, (8, 4))
        self.check_steps("masked", dense(4, 5), some,
                         [{"hash": {"num_bins": 5, "mask_value": 0}}, {"one_hot": 5}], NO_HASH)
        numbers = [2**50 + 1, -5, -1, 8, 2**50]
        known = self.random.choice(numbers, (8, 3))
        self.check_steps("known", dense(3, 5), known,
                         [{"vocabulary": {"numbers": numbers}}, {"one_hot": 5}])
        self.check_steps("unknown", embedded(3, 4), known,
                         [{"vocabulary": {"numbers": numbers[:3], "unknown": True}}])
        floats = self.random.normal(0, 3, (8, 3)).astype("f")
        self.check_steps("of_floats", dense(3), floats,
                         [{"cast": "int16"}, {"normalize": {"mean": -1, "deviation": 1}},
                          {"vocabulary": {"numbers": [0, 1, 2], "unknown": True}},
                          {"hash": {"num_bins": 3, "mask_value": 2}}], NO_HASH)

    def test_casts(self):
        floats = np.append(self.random.normal(0, 3, (8, 3)), [[-.5, 0, 2]], 0).astype("f")
        for i, steps in enumerate([[{"cast": "int8"}], [{"cast": "bool"}],
                                   [{"normalize": {"mean": 1, "deviation": .5}}, {"cast": "int32"},
                                    {"normalize": {"mean": 3, "deviation": 2}}]]):
            self.check_steps(f"cast_{i}", dense(3), floats, steps)
        self.check_steps("scaled", dense(3), floats, [{"cast": "int32"}], scale=.3)
        self.check_steps("of_ids", embedded(3, 9), np.abs(floats), [{"cast": "uint8"}])

    def test_pads(self):
        vectors = self.random.normal(0, 3, (8, 3)).astype("f")
        tables = self.random.normal(0, 3, (8, 3, 2)).astype("f")
        ids = self.random.integers(1, 5, (8, 3))
        for i, (model, x, steps) in enumerate([
                (dense(5), vectors, [{"pad": {"length": 5}}]),
                (dense(2), vectors, [{"pad": {"length": 2}}]),
                (dense(5), vectors, [{"pad": {"length": 5, "value": -1.5}}]),
                (dense(4, 2), tables, [{"pad": {"length": 4, "value": 7}}]),
                (dense(2, 2), tables, [{"pad": {"length": 2}}]),
                (embedded(4, 5, mask=True), ids, [{"pad": {"length": 4}}]),
                (dense(5, 5), ids, [{"pad": {"length": 5, "value": 3}}, {"one_hot": 5}])]):
            self.check_steps(f"pad_{i}", model, x, steps)

    def test_pads_in_windows(self):
        x = self.random.normal(0, 3, (8, 3)).astype("f")
        job = self.job_of("windows", dense(2, 5), x,
                          [{"window": {"size": 2}}, {"pad": {"length": 5, "value": 2}}])
        self.check("windows", job.predict()[0], {"x": x.reshape(4, 2, 3)})

    def test_refused_by_name(self):
        x = self.random.integers(0, 4, (8, 3))
        for what, steps, reason in [
                ("order", [{"pad": {"length": 4}}, {"hash": {"num_bins": 9}}],
                 'the step "pad" of the pipeline stands before "hash"'),
                ("salt", [{"hash": {"num_bins": 9, "salt": 2**53 + 2}}],
                 "the salt 9007199254740994 is beyond 2^53"),
                ("bins", [{"hash": {"num_bins": 2**24 + 1}}], "num_bins")]:
            job = self.job_of(what, dense(4 if what == "order" else 3), x, steps)
            self.assertIn(reason, job.export("out.keras", "--with-preprocessing", fails=True))


if __name__ == "__main__":
    results.main()
