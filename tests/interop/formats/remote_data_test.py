#!/usr/bin/env python3
"""Data files at http and s3 addresses train as the same files on a disk do, to equal bits."""

import gzip
import json
import os
import pathlib
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

import keras  # noqa: E402
import numpy as np  # noqa: E402
import pyarrow as pa  # noqa: E402
import pyarrow.parquet as pq  # noqa: E402
import results  # noqa: E402
import tensorflow as tf  # noqa: E402

from cluster import CAIRN  # noqa: E402
from data_server import SECRET, DataServer  # noqa: E402
from s3_server import S3Server  # noqa: E402

ROWS = 48


def cairn(*arguments, folder, environment=None, fails=False):
    done = subprocess.run([CAIRN, *map(str, arguments)], cwd=folder, text=True, timeout=300,
                          env={**os.environ, **(environment or {})},
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if (done.returncode != 0) != fails:
        raise RuntimeError(f"cairn {' '.join(map(str, arguments))}: {done.stdout}")
    return done.stdout


def vectors():
    return keras.Sequential([keras.Input((4,)), keras.layers.Dense(3), keras.layers.Dense(1)])


def pictures(size, classes):
    return keras.Sequential([keras.Input(size), keras.layers.Flatten(),
                             keras.layers.Dense(classes, activation="softmax")])


class RemoteCase(unittest.TestCase):
    """What is trained from a disk and from a server."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.data = self.folder / "data"
        self.data.mkdir()
        random = np.random.default_rng(3)
        self.x = random.normal(size=(ROWS, 4)).astype("f")
        self.y = random.normal(size=(ROWS, 1)).astype("f")
        self.bytes = random.integers(0, 256, (ROWS, 3072), dtype="u1")
        self.classes = random.integers(0, 3, ROWS).astype("u1")

    def train(self, source, loss="mse", fails=False, environment=None, **fields):
        """The variables after training, or the text if it `fails`."""
        shutil.rmtree(self.folder / "state", ignore_errors=True)
        job = {"name": "remote", "model": "model.keras", "train": source, "loss": loss,
               "optimizer": {"name": "sgd", "learning_rate": 0.1}, "batch_size": 8, "epochs": 2,
               "strategy": {"parameter_server": {"mode": "sync"}}, "seed": 5, **fields}
        (self.folder / "job.json").write_text(json.dumps(job))
        text = cairn("run", "job.json", "--ps", 1, "--workers", 1, "--state", "state",
                     folder=self.folder, fails=fails, environment=environment)
        if fails:
            return text
        cairn("export", "remote", "--output", "out.keras", "--state", "state", folder=self.folder)
        return keras.models.load_model(self.folder / "out.keras", compile=False).get_weights()

    def same(self, model, describe, bases, environment=None, **fields):
        """`describe` makes a source of a function from the name of a file to its path."""
        model.save(self.folder / "model.keras")
        local = self.train(describe(lambda name: str(self.data / name)), **fields)
        self.assertFalse(all(np.array_equal(a, b) for a, b in zip(local, model.get_weights())))
        for base in bases:
            remote = self.train(describe(lambda name: f"{base}/{name}"), environment=environment,
                                **fields)
            for a, b in zip(local, remote):
                np.testing.assert_array_equal(a, b)

    def save_arrays(self):
        np.save(self.data / "x.npy", self.x)
        np.save(self.data / "y.npy", self.y)

    def npy(self, at):
        return {"npy": {"features": at("x.npy"), "labels": at("y.npy")}}

    def write_records(self, name, rows):
        with tf.io.TFRecordWriter(str(self.data / name)) as writer:
            for x, y in zip(self.x[rows], self.y[rows]):
                features = {key: tf.train.Feature(float_list=tf.train.FloatList(value=value))
                            for key, value in (("x", x), ("y", y))}
                writer.write(tf.train.Example(
                    features=tf.train.Features(feature=features)).SerializeToString())

    def records(self, folder):
        """A source of the parts that are written to `folder`."""
        return lambda at: {"tfrecord": {
            "files": at(f"{folder}part-*.tfrecord"),
            "features": [{"name": "x", "dtype": "float32", "shape": [4]}],
            "labels": {"name": "y", "dtype": "float32", "shape": [1]}}}


class RemoteData(RemoteCase):
    """With a server that fails when it is told to."""

    def setUp(self):
        super().setUp()
        self.server = DataServer(self.data)
        self.addCleanup(self.server.stop)

    def test_csv(self):
        lines = ["a,b,c,d,y"] + [",".join(map(str, [*x, *y])) for x, y in zip(self.x, self.y)]
        (self.data / "t.csv").write_text("\n".join(lines) + "\n")
        with gzip.open(self.data / "t.csv.gz", "wt") as file:
            file.write("\n".join(lines) + "\n")
        for name in ("t.csv", "t.csv.gz"):
            self.same(vectors(), lambda at, name=name: {"csv": {"files": at(name),
                                                                "labels": "y"}},
                      [self.server.url])

    def test_npz(self):
        np.savez(self.data / "t.npz", x=self.x, y=self.y)
        self.same(vectors(), lambda at: {"npz": {"files": at("t.npz"), "features": "x",
                                                 "labels": "y"}}, [self.server.url])

    def test_tfrecord_patterns_over_s3(self):
        (self.data / "some folder").mkdir()
        for part in range(5):
            self.write_records(f"some folder/part-{part}.tfrecord", slice(part * 9, part * 9 + 9))
        self.same(vectors(), self.records("some folder/"), ["s3://bucket"],
                  environment=self.server.environment())

    def test_parquet(self):
        table = {name: self.x[:, i] for i, name in enumerate("abcd")}
        pq.write_table(pa.table({**table, "y": self.y[:, 0]}), self.data / "t.parquet")
        self.same(vectors(), lambda at: {"parquet": {"files": at("t.parquet"),
                                                   "features": list("abcd"), "labels": "y"}},
                  [self.server.url])

    def test_idx(self):
        for name, array in (("x.idx", self.bytes[:, :36].reshape(ROWS, 6, 6)),
                            ("y.idx", self.classes)):
            head = struct.pack(f">BBBB{array.ndim}I", 0, 0, 8, array.ndim, *array.shape)
            (self.data / name).write_bytes(head + array.tobytes())
        self.same(pictures((6, 6), 3), lambda at: {
            "idx": {"features": at("x.idx"), "labels": at("y.idx")}, "scale": 1 / 255},
            [self.server.url], loss="sparse_categorical_crossentropy")

    def test_cifar(self):
        records = np.concatenate([self.classes[:, None], self.bytes], axis=1)
        (self.data / "batch.bin").write_bytes(records.tobytes())
        self.same(pictures((32, 32, 3), 10), lambda at: {
            "cifar10": {"files": at("batch.bin")}, "scale": 1 / 255},
            [self.server.url], loss="sparse_categorical_crossentropy")

    def test_images(self):
        rows = ["filename,class"]
        for i in range(ROWS):
            image = self.bytes[i, :192].reshape(8, 8, 3)
            (self.data / f"{i}.png").write_bytes(tf.io.encode_png(image).numpy())
            rows.append(f"{i}.png,c{self.classes[i]}")
        (self.data / "t.csv").write_text("\n".join(rows) + "\n")
        self.same(pictures((8, 8, 3), 3), lambda at: {
            "images": {"table": at("t.csv"), "image_size": [8, 8]}, "scale": 1 / 255},
            [self.server.url], loss="sparse_categorical_crossentropy")

    def test_text(self):
        lines = [f"c{label}\tword{a % 7} word{b % 5}" for label, (a, b) in
                 zip(self.classes, self.bytes[:, :2])]
        (self.data / "t.tsv").write_text("\n".join(lines) + "\n")
        model = keras.Sequential([keras.Input((3,)), keras.layers.Embedding(20, 4),
                                  keras.layers.Flatten(),
                                  keras.layers.Dense(3, activation="softmax")])
        self.same(model, lambda at: {"text": {"files": at("t.tsv")}}, [self.server.url],
                  loss="sparse_categorical_crossentropy")

    def test_faults(self):
        self.save_arrays()
        faults = ["503", "cut", "503", "no_range"]
        self.server.faults = {"/x.npy": faults, "/y.npy": ["cut"]}
        self.same(vectors(), self.npy, [self.server.url])
        self.assertEqual(faults, [])

    def test_refusals(self):
        self.save_arrays()
        vectors().save(self.folder / "model.keras")
        for fault, reason in (("wrong_range", "Content-Range"), ("redirect", "redirect")):
            self.server.faults = {"/x.npy": [fault] * 100}
            self.assertIn(reason, self.train(self.npy(lambda name: f"{self.server.url}/{name}"),
                                             fails=True))
        self.server.faults = {}
        wrong = self.server.environment(SECRET[::-1])
        text = self.train(self.npy(lambda name: f"s3://bucket/{name}"), fails=True,
                          environment=wrong)
        self.assertIn("SignatureDoesNotMatch", text)
        self.assertIn("AWS_SECRET_ACCESS_KEY", text)
        self.assertNotIn(SECRET[::-1], text)
        text = self.train(self.npy(lambda name: f"http://me:hush@127.0.0.1/{name}"), fails=True)
        self.assertIn("password", text)
        self.assertNotIn("hush", text)

    def test_workers_that_are_killed_fetch_again_and_count_exactly(self):
        for part in range(4):
            self.write_records(f"part-{part}.tfrecord", slice(part * 12, part * 12 + 12))
        vectors().save(self.folder / "model.keras")
        job = {"name": "remote", "model": "model.keras", "loss": "mse", "optimizer": "sgd",
               "train": self.records("")(lambda name: f"s3://bucket/{name}"),
               "batch_size": 4, "epochs": 40, "seed": 5, "shuffle_block": 12,
               "strategy": {"parameter_server": {"mode": "sync"}}}
        (self.folder / "job.json").write_text(json.dumps(job))
        lines = cairn("drill", "job.json", "--plan", "workers", "--ps", 1, "--workers", 2,
                      "--faults", 3, "--json", folder=self.folder,
                      environment=self.server.environment()).splitlines()
        report = json.loads(lines[-1])
        self.assertEqual(report["verdict"], "passed", report)
        # Each process has fetched the files for itself.
        fetched = [path for path in self.server.requests if path.endswith("part-0.tfrecord")]
        self.assertGreater(len(fetched), 4)

    def test_commands(self):
        self.save_arrays()
        vectors().save(self.folder / "model.keras")
        self.train(self.npy(lambda name: str(self.data / name)))
        environment = self.server.environment()
        outputs = []
        for name in (str(self.data / "x.npy"), f"{self.server.url}/x.npy", "s3://bucket/x.npy"):
            cairn("predict", "remote", "--input", name, "--output", "out.npy", "--state", "state",
                  folder=self.folder, environment=environment)
            outputs.append(np.load(self.folder / "out.npy"))
        np.testing.assert_array_equal(outputs[0], outputs[1])
        np.testing.assert_array_equal(outputs[0], outputs[2])
        losses = [json.loads(cairn("evaluate", "remote", "--data", json.dumps(self.npy(at)),
                                   "--state", "state", "--json", folder=self.folder,
                                   environment=environment))["loss"]
                  for at in (lambda name: str(self.data / name),
                             lambda name: f"s3://bucket/{name}")]
        self.assertEqual(losses[0], losses[1])


class RealServer(RemoteCase):
    """With a server that others wrote, over TLS."""

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.server = S3Server(pathlib.Path(folder.name))
        cls.addClassCleanup(cls.server.stop)

    def put(self, prefix):
        for file in self.data.rglob("*"):
            if file.is_file():
                self.server.client.upload_file(str(file), "bucket",
                                               prefix + str(file.relative_to(self.data)))

    def test_lists_of_odd_names(self):
        # S3 escapes each of these in its own way, in the address, the signature and the list.
        odd = "a b+c/d=e&f%41#/\u00e4\u2603~(g)'h',;@$!/"
        (self.data / odd).mkdir(parents=True)
        for part in range(5):
            self.write_records(f"{odd}part-{part}.tfrecord", slice(part * 9, part * 9 + 9))
        self.put("")
        # Not of the pattern: another prefix, and a deeper folder.
        self.server.client.put_object(Bucket="bucket", Key="part-9.tfrecord", Body=b"no record")
        self.server.client.put_object(Bucket="bucket", Key=f"{odd}part-9/a.tfrecord",
                                      Body=b"no record")
        page = self.server.client.list_objects_v2(Bucket="bucket", Prefix=odd)
        self.assertEqual(len(page["Contents"]), 2, "one of three pages")
        self.same(vectors(), self.records(odd), ["s3://bucket"],
                  environment=self.server.environment(self.server.user))

    def test_a_role_and_objects_of_many_requests(self):
        # Larger than the 8 MiB that a request asks for, uploaded in parts.
        rows = 300_000
        self.x = np.random.default_rng(4).normal(size=(rows, 8)).astype("f")
        self.y = self.x[:, :1].copy()
        np.save(self.data / "x.npy", self.x)
        np.save(self.data / "y.npy", self.y)
        self.put("deep/er/")
        model = keras.Sequential([keras.Input((8,)), keras.layers.Dense(1)])
        self.same(model, lambda at: {"npy": {"features": at("x.npy"), "labels": at("y.npy")}},
                  ["s3://bucket/deep/er"], batch_size=30_000,
                  environment=self.server.environment(self.server.role))

    def test_refusals(self):
        np.save(self.data / "x.npy", self.x)
        np.save(self.data / "y.npy", self.y)
        self.put("")
        vectors().save(self.folder / "model.keras")
        right = self.server.environment(self.server.user)
        wrong = "w" * 40
        for changes, key, reasons in (
                ({"AWS_SECRET_ACCESS_KEY": wrong}, "x.npy",
                 ["SignatureDoesNotMatch", "AWS_SECRET_ACCESS_KEY"]),
                ({**self.server.role, "AWS_SESSION_TOKEN": ""}, "x.npy", ["403"]),
                ({"AWS_ACCESS_KEY_ID": "AKIAUNKNOWN"}, "x.npy", ["InvalidAccessKeyId"]),
                ({"CURL_CA_BUNDLE": ""}, "x.npy", ["certificate", "CURL_CA_BUNDLE"]),
                ({}, "missing.npy", ["missing.npy", "404"])):
            with self.subTest(changes=changes, key=key):
                text = self.train({"npy": {"features": f"s3://bucket/{key}",
                                           "labels": "s3://bucket/y.npy"}},
                                  fails=True, environment={**right, **changes})
                for reason in reasons:
                    self.assertIn(reason, text)
                self.assertNotIn(wrong, text)


if __name__ == "__main__":
    results.main()
