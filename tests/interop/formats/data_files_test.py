#!/usr/bin/env python3
"""Data files that TensorFlow, NumPy and pyarrow wrote are read as they read them.

The judged model is an identity, so its predictions are the numbers that Cairn read.
"""

import decimal
import json
import os
import pathlib
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

import keras  # noqa: E402
import numpy as np  # noqa: E402
import pyarrow as pa  # noqa: E402
import pyarrow.compute as pc  # noqa: E402
import pyarrow.parquet as pq  # noqa: E402
import results  # noqa: E402
import tensorflow as tf  # noqa: E402

from cluster import cairn  # noqa: E402
from identity_job import DataTest, identity  # noqa: E402

NAMES = ["bird", "cat", "été"]


def feature(kind, values):
    if kind == "bytes":
        return tf.train.Feature(bytes_list=tf.train.BytesList(value=values))
    if kind == "floats":
        return tf.train.Feature(float_list=tf.train.FloatList(value=values))
    return tf.train.Feature(int64_list=tf.train.Int64List(value=values))


class DataFiles(DataTest):
    def example(self):
        random = self.random
        features = {
            "floats": feature("floats", random.normal(0, 1e3, 3).astype("f")),
            "int": feature("ints", [int(random.integers(-2**31, 2**31))]),
            "raw": feature("bytes", [random.integers(0, 256, 4, dtype="u1").tobytes()]),
            "list": feature("ints", random.integers(-9, 9, random.integers(0, 6)).tolist()),
            "name": feature("bytes", [NAMES[random.integers(3)].encode()]),
            "double": feature("bytes", [random.normal(0, 1, 2).tobytes()]),
            "label": feature("floats", random.normal(0, 1, 15).astype("f")),
            "unused": feature("bytes", [b"\xff" * int(random.integers(0, 5000))]),
        }
        if random.integers(2):
            features["optional"] = feature("floats", [2.5])
        return tf.train.Example(features=tf.train.Features(feature=features))

    def write(self, name, count, compression):
        path = str(self.folder / name)
        with tf.io.TFRecordWriter(path, compression) as writer:
            for _ in range(count):
                writer.write(self.example().SerializeToString())
        return name

    def read(self, name, compression):
        """The rows and labels as TensorFlow reads them."""
        schema = {
            "floats": tf.io.FixedLenFeature([3], tf.float32),
            "int": tf.io.FixedLenFeature([], tf.int64),
            "raw": tf.io.FixedLenFeature([], tf.string),
            "list": tf.io.VarLenFeature(tf.int64),
            "name": tf.io.FixedLenFeature([], tf.string),
            "double": tf.io.FixedLenFeature([], tf.string),
            "optional": tf.io.FixedLenFeature([], tf.float32, default_value=-1.5),
            "label": tf.io.FixedLenFeature([15], tf.float32),
        }
        rows, labels = [], []
        for record in tf.data.TFRecordDataset(str(self.folder / name), compression):
            values = tf.io.parse_single_example(record, schema)
            padded = ([*tf.sparse.to_dense(values["list"]).numpy(), *[7] * 3])[:3]
            rows.append(np.concatenate([np.atleast_1d(one).astype("f") for one in [
                values["floats"].numpy(), values["int"].numpy(),
                tf.io.decode_raw(values["raw"], tf.uint8).numpy(), padded,
                NAMES.index(values["name"].numpy().decode()),
                tf.io.decode_raw(values["double"], tf.float64).numpy(),
                values["optional"].numpy()]]))
            labels.append(values["label"].numpy())
        return np.array(rows), np.array(labels)

    def test_tfrecord(self):
        files = {self.write(f"{kind.lower() or 'plain'}-{i}.tfrecord", 11 + i, kind): kind
                 for i, kind in enumerate(["", "GZIP", "ZLIB", ""])}
        self.write("plain-none.tfrecord", 0, "")
        source = {"files": "*-*.tfrecord", "labels": {"name": "label", "shape": [15]}, "features": [
            {"name": "floats", "shape": [3]}, "int",
            {"name": "raw", "decode": "raw", "dtype": "uint8", "shape": [2, 2]},
            {"name": "list", "max_length": 3, "padding": 7},
            {"name": "name", "vocabulary": NAMES},
            {"name": "double", "decode": "raw", "dtype": "float64", "shape": [2]},
            {"name": "optional", "default": -1.5}]}
        self.train(identity((15,)), {"tfrecord": source})
        everything = []
        for name in sorted(files):
            rows, labels = self.read(name, files[name])
            # The step changed weights that are 0 by about 1e-20.
            np.testing.assert_allclose(self.predict(name), rows, rtol=0, atol=1e-9)
            self.assertAlmostEqual(self.evaluate(name) / np.mean((rows.astype("d") - labels) ** 2),
                                   1, delta=1e-5)
            everything.append(rows)
        np.testing.assert_allclose(self.predict("*-*.tfrecord"), np.concatenate(everything),
                                   rtol=0, atol=1e-9)

    def test_serialized_tensors(self):
        """Of every type and some shapes, as tf.io.parse_tensor reads them."""
        types = ["bool", "uint8", "int8", "uint16", "int16", "uint32", "int32", "uint64", "int64",
                 "float32", "float64"]
        shapes = [(), (1,), (3,), (2, 3), (2, 1, 2)]
        rows, features = [], []
        for i, kind in enumerate(types):
            features.append({"name": kind, "decode": "tensor", "dtype": kind,
                             "shape": list(shapes[i % 5] or (1,))})
        with tf.io.TFRecordWriter(str(self.folder / "tensors.tfrecord")) as writer:
            for _ in range(5):
                tensors = {kind: tf.constant(self.random.integers(0, 2 if kind == "bool" else 100,
                                                                  shapes[i % 5]).astype(kind))
                           for i, kind in enumerate(types)}
                record = {kind: feature("bytes", [tf.io.serialize_tensor(tensor).numpy()])
                          for kind, tensor in tensors.items()}
                rows.append(np.concatenate([
                    tf.io.parse_tensor(record[kind].bytes_list.value[0], kind).numpy().ravel()
                    .astype("f") for kind in types]))
                record["label"] = feature("floats", np.zeros(len(rows[0])))
                writer.write(tf.train.Example(
                    features=tf.train.Features(feature=record)).SerializeToString())
        size = len(rows[0])
        source = {"files": "tensors.tfrecord", "features": features,
                  "labels": {"name": "label", "shape": [size]}}
        self.train(identity((size,)), {"tfrecord": source})
        np.testing.assert_allclose(self.predict("tensors.tfrecord"), rows, rtol=0, atol=1e-9)
        features[3]["shape"] = [3, 2]
        with self.assertRaisesRegex(RuntimeError, r"\"uint16\" has a tensor of shape \(2, 3\), "):
            self.train(identity((size,)), {"tfrecord": source})

    def test_tfrecord_images(self):
        """Files of several sizes and kinds, as decode_image and resize read them."""
        rows = []
        with tf.io.TFRecordWriter(str(self.folder / "images.tfrecord")) as writer:
            for i, (height, width) in enumerate([(9, 7), (30, 41), (200, 33), (9, 7)]):
                pixels = self.random.integers(0, 256, (height, width, 3), dtype="u1")
                encode = tf.io.encode_jpeg if i % 2 else tf.io.encode_png
                bytes_ = encode(pixels).numpy()
                decoded = tf.io.decode_image(bytes_, channels=3, expand_animations=False)
                rows.append(tf.image.resize(decoded, [9, 7]).numpy().ravel())
                writer.write(tf.train.Example(features=tf.train.Features(feature={
                    "image": feature("bytes", [bytes_]),
                    "label": feature("floats", np.zeros(9 * 7 * 3))})).SerializeToString())
        self.train(identity((9, 7, 3)), {"tfrecord": {
            "files": "images.tfrecord", "features": {"name": "image", "decode": "image"},
            "labels": {"name": "label", "shape": [9 * 7 * 3]}}})
        np.testing.assert_allclose(self.predict("images.tfrecord"), rows, rtol=0, atol=1e-3)

    def test_vocabularies_of_records(self):
        """Names and tokens of the training data, in several files, for one and two workers."""
        random = self.random
        names = np.array(["", "aster", "Rose", "rosé", "tulip", "weed"])[random.integers(0, 6, 60)]
        kinds = np.array(["z", "x", "y"])[random.integers(0, 3, (60, 2))]
        words = np.array(["a", "B!", "b", "c,", "dd", "été"])
        texts = np.array([" ".join(words[random.integers(0, i // 15 + 3, random.integers(0, 5))])
                          for i in range(60)])
        keeps = random.integers(0, 4, 60) > 0
        for part in range(3):
            with tf.io.TFRecordWriter(str(self.folder / f"{part}.tfrecord")) as writer:
                for i in range(20 * part, 20 * part + 20):
                    # A name of a record that the filter leaves out is in no vocabulary.
                    name = names[i] if keeps[i] else "none"
                    writer.write(tf.train.Example(features=tf.train.Features(feature={
                        "name": feature("bytes", [name.encode()]),
                        "kinds": feature("bytes", [kind.encode() for kind in kinds[i]]),
                        "text": feature("bytes", [texts[i].encode()]),
                        "keep": feature("ints", [int(keeps[i])]),
                        "y": feature("floats", [0.0] * 10)})).SerializeToString())
        terms = sorted({name.encode() for name in names[keeps]})
        ids = np.array([terms.index(name.encode()) if keep else len(terms)
                        for name, keep in zip(names, keeps)])
        one_hot = np.eye(3)[np.searchsorted(["x", "y", "z"], kinds)].reshape(60, 6)
        features = [{"name": "name", "categorical": True, "unknown": True},
                    {"name": "kinds", "categorical": True, "one_hot": True, "shape": [2]},
                    {"name": "text", "text_vectorization": {"output_sequence_length": 3}}]
        source = {"tfrecord": {"files": "*.tfrecord", "features": features,
                               "labels": {"name": "y", "shape": [10]}}}
        for steps, rows in [([], None), ([{"skip": 5}, {"take": 20}], slice(5, 25))]:
            pipeline = [{"filter": "keep = 1"}, *steps]
            layer = keras.layers.TextVectorization(output_sequence_length=3)
            layer.adapt(texts[keeps][rows or slice(None)])
            tokens = layer(tf.constant(texts)).numpy()
            for workers in 1, 2:
                with self.subTest(steps=steps, workers=workers):
                    self.train(identity((10,)), {**source, "pipeline": pipeline}, workers=workers)
                    np.testing.assert_allclose(
                        self.predict("*.tfrecord"),
                        np.concatenate([ids[:, None], one_hot, tokens], 1), atol=1e-9)
        # A record that cannot be read is left out.
        path = self.folder / "1.tfrecord"
        path.write_bytes(path.read_bytes()[:-1])
        self.train(identity((10,)), {**source, "skip_damaged": 1})

    def test_npz(self):
        arrays = {"x_train": self.random.integers(0, 256, (20, 3, 4), dtype="u1"),
                  "x_test": self.random.normal(0, 1, (9, 3, 4)),
                  "y_train": self.random.normal(0, 1, (20, 12)).astype("f"),
                  "y_test": self.random.normal(0, 1, (9, 12)).astype(">f8"),
                  "zeros": np.zeros((1 << 20,), "u1")}
        np.savez(self.folder / "plain.npz", **arrays)
        np.savez_compressed(self.folder / "deflated.npz", **arrays)
        keys = {"features": "x_train", "labels": "y_train"}
        test_keys = {"features": "x_test", "labels": "y_test"}
        self.train(identity((3, 4)), {"npz": {"files": "plain.npz", **keys}},
                   validation={"npz": {"files": "deflated.npz", **test_keys}})
        for name in ["plain.npz", "deflated.npz"]:
            x = np.load(self.folder / name)["x_test"]
            np.testing.assert_array_equal(self.predict(name), x.reshape(9, 12).astype("f"))
            for part in ["train", "test"]:
                x, y = arrays[f"x_{part}"].reshape(-1, 12), arrays[f"y_{part}"]
                data = {"npz": {"files": name, "features": f"x_{part}", "labels": f"y_{part}"}}
                self.assertAlmostEqual(self.evaluate(json.dumps(data)) /
                                       np.mean((x.astype("d") - y) ** 2), 1, delta=1e-5)

    def test_halves_and_fortran_order(self):
        """As NumPy reads them, also where it has a filter and weights."""
        shape = (30, 3, 4)
        x = self.random.normal(0, 1, shape).astype("f2")
        x[:4, 0, 0] = [0.1, -0.0, 6e-8, 65504]
        y = self.random.normal(0, 1, (30, 12)).astype(">f2")
        weights = self.random.uniform(0, 1, 30).astype("f2")
        kinds = {"half": x, "half_fortran": np.asfortranarray(x.astype(">f2")),
                 "double_fortran": np.asfortranarray(x.astype("f8")),
                 "bytes_fortran": np.asfortranarray(self.random.integers(0, 256, shape, dtype="u1"))}
        np.savez_compressed(self.folder / "x.npz", y=np.asfortranarray(y), **kinds)
        np.save(self.folder / "y.npy", np.asfortranarray(y))
        np.save(self.folder / "weights.npy", weights)
        for name, array in kinds.items():
            np.save(self.folder / f"{name}.npy", array)
            self.train(identity(shape[1:]),
                       {"npy": {"features": f"{name}.npy", "labels": "y.npy"}})
            np.testing.assert_allclose(self.predict(f"{name}.npy"),
                                       array.reshape(30, 12).astype("f"), rtol=1e-7, atol=1e-20)
            errors = np.mean((array.reshape(30, 12).astype("d") - y) ** 2, -1)
            for data, losses in [
                    ({"npz": {"files": "x.npz", "features": name, "labels": "y"}}, errors),
                    ({"npy": {"features": f"{name}.npy", "labels": "y.npy"},
                      "sample_weight": "weights.npy"}, errors * weights)]:
                self.assertAlmostEqual(self.evaluate(json.dumps(data)) / np.mean(losses), 1,
                                       delta=1e-4)
        # A number is compared in the type of the array.
        data = {"npy": {"features": "half.npy", "labels": "y.npy"},
                "pipeline": [{"filter": "feature_0 = 0.1"}]}
        kept = x[:, 0, 0] == np.float16(0.1)
        self.assertEqual(kept.sum(), 1)
        self.assertAlmostEqual(
            self.evaluate(json.dumps(data)) /
            np.mean((x.reshape(30, 12).astype("d") - y)[kept] ** 2), 1, delta=1e-4)

    def parquet_table(self, rows):
        random = self.random
        names = random.integers(0, 3, rows)
        return pa.table({
            "i": pa.array(random.integers(-2**31, 2**31, rows), pa.int64()),
            "u": pa.array(random.integers(0, 256, rows), pa.uint8()),
            "f": random.normal(0, 1e3, rows).astype("f"),
            "d": random.normal(0, 1, rows),
            "decimal": pa.array([f"{v}.25" for v in random.integers(-99, 99, rows)]).cast(
                pa.decimal128(8, 2)),
            "b": random.integers(0, 2, rows).astype(bool),
            "n": pa.array([None if v < 30 else v for v in random.integers(0, 99, rows).tolist()],
                          pa.int16()),
            "name": pa.array([NAMES[i] for i in names]).dictionary_encode(),
            "fixed": pa.array(random.normal(0, 1, (rows, 2)).astype("f").tolist(),
                              pa.list_(pa.float32(), 2)),
            "square": pa.array(random.integers(0, 9, (rows, 2, 2)).tolist(),
                               pa.list_(pa.list_(pa.int32()))),
            "list": pa.array([random.integers(0, 9, n).tolist()
                              for n in random.integers(0, 6, rows)], pa.list_(pa.int8())),
            "day": pa.array(random.integers(0, 20000, rows).astype("i4"), pa.date32()),
            "text": pa.array(["Ünused, \0 " * int(n) for n in random.integers(0, 50, rows)]),
            "label": pa.array(random.normal(0, 1, (rows, 17)).tolist(), pa.list_(pa.float64())),
        })

    @staticmethod
    def parquet_rows(table, part):
        """The numbers that a table is trained on."""
        rows = []
        for row in table.to_pylist():
            padded = [*row["list"], 7, 7][:2]
            rows.append([row["i"], row["u"], row["f"], row["d"], float(row["decimal"]), row["b"],
                         -1.5 if row["n"] is None else row["n"], NAMES.index(row["name"]),
                         *row["fixed"], *np.ravel(row["square"]), *padded, part])
        return np.array(rows, "d").astype("f"), np.array(table["label"].to_pylist(), "f")

    def test_parquet(self):
        """Files of every compression and kind of page, in folders, with a filter."""
        tables, path = {}, self.folder / "data"
        for i, codec in enumerate(["none", "snappy", "gzip", "zstd", "lz4", "brotli"]):
            name = f"part={i % 2}/{i}-{codec}.parquet"
            tables[name] = self.parquet_table(40 + i)
            (path / name).parent.mkdir(parents=True, exist_ok=True)
            pq.write_table(tables[name], path / name, compression=codec, row_group_size=16,
                           data_page_version="2.0" if i % 2 else "1.0", use_dictionary=i % 3 > 0,
                           version="1.0" if i == 0 else "2.6", write_statistics=i % 2 > 0)
        pq.write_table(self.parquet_table(0), path / "part=0/empty.parquet")
        columns = ["i", "u", "f", "d", "decimal", "b", {"name": "n", "default": -1.5},
                   {"name": "name", "categorical": True}, {"name": "fixed", "shape": [2]},
                   {"name": "square", "shape": [2, 2]},
                   {"name": "list", "max_length": 2, "padding": 7}, "part"]
        source = {"files": "data", "features": columns, "labels": {"name": "label", "shape": [17]}}
        try:
            self.train(identity((17,)), {"parquet": source})
        except RuntimeError as error:
            if "install_parquet.sh" not in str(error):
                raise
            self.skipTest("deploy/install_parquet.sh has not been run")
        everything = []
        for name in sorted(tables):
            rows, labels = self.parquet_rows(pq.read_table(path / name, partitioning=None),
                                             int(name[5]))
            everything.append((rows, labels))
            np.testing.assert_allclose(self.predict(f"data/{name}"), rows, rtol=0, atol=1e-9)
        rows = np.concatenate([one for one, _ in everything])
        np.testing.assert_allclose(self.predict("data"), rows, rtol=0, atol=1e-9)
        filters = {
            "part = 1 and (u >= 100 or name in ('cat', 'été')) and n is not null":
                lambda t, part: pc.and_(pc.and_(part == 1, pc.is_valid(t["n"])), pc.or_(
                    pc.greater_equal(t["u"], 100),
                    pc.is_in(t["name"].cast("string"), pa.array(["cat", "été"])))),
            "not (d < 0.5) and b = true and day > '1990-06-30'":
                lambda t, part: pc.and_(pc.and_(pc.greater_equal(t["d"], 0.5), t["b"]),
                                        pc.greater(t["day"], pa.scalar(7485, pa.date32()))),
        }
        for text, mask in filters.items():
            kept = [self.parquet_rows(tables[name].filter(mask(tables[name], int(name[5]))),
                                      int(name[5])) for name in sorted(tables)]
            x = np.concatenate([one for one, _ in kept if len(one)]).astype("d")
            y = np.concatenate([two for one, two in kept if len(one)])
            loss = self.evaluate(json.dumps({"parquet": {**source, "filter": text}}))
            self.assertAlmostEqual(loss / np.mean((x - y) ** 2), 1, delta=1e-5)

    def test_nulls_within_lists_of_parquet(self):
        """They get the default, as pyarrow's fill_null of the items."""
        random = self.random

        def lists(make, type_, ragged):
            lengths = random.integers(0, 5, 40) if ragged else np.full(40, 3)
            return pa.array([None if ragged and random.integers(5) == 0 else
                             [None if random.integers(3) == 0 else make() for _ in range(length)]
                             for length in lengths], pa.list_(type_))

        table = pa.table({
            "i": lists(lambda: int(random.integers(-9, 9)), pa.int64(), False),
            "f": lists(random.random, pa.float32(), False),
            "ragged": lists(random.random, pa.float64(), True),
            "name": lists(lambda: NAMES[random.integers(3)], pa.string(), True),
            "y": pa.array([[0.0] * 12] * 40)})
        pq.write_table(table, self.folder / "x.parquet")

        def filled(name, default, length=3, padding=0, encode=float):
            rows = []
            for one in table[name].combine_chunks():
                items = pc.fill_null(one.values, default).to_pylist() if one.is_valid else []
                rows.append(([encode(item) for item in items] + [padding] * length)[:length])
            return rows

        terms = sorted(["?", *NAMES], key=lambda name: name.encode())
        features = [{"name": "i", "shape": [3], "default": -2.0},
                    {"name": "f", "shape": [3], "default": 0.25},
                    {"name": "ragged", "max_length": 4, "padding": -1, "default": 0.5},
                    {"name": "name", "categorical": True, "max_length": 2, "default_name": "?"}]
        expected = np.concatenate([
            filled("i", -2), filled("f", 0.25), filled("ragged", 0.5, 4, -1),
            filled("name", "?", 2, 0, terms.index)], 1)
        source = {"files": "x.parquet", "features": features,
                  "labels": {"name": "y", "shape": [12]}}
        self.train(identity((12,)), {"parquet": source})
        np.testing.assert_allclose(self.predict("x.parquet"), expected, rtol=1e-6, atol=1e-9)
        del features[1]["default"]
        with self.assertRaisesRegex(RuntimeError, 'column "f" has a null in a list; set "default"'):
            self.train(identity((12,)), {"parquet": source})

    def test_damaged_parquet(self):
        """A row group whose pages are damaged, a file that is none, and a null."""
        (self.folder / "data").mkdir()
        count = 70000
        x = np.arange(count) % 97
        names = pa.array(["a" if value < 50 else "b" for value in x])
        table = pa.table({"x": x, "name": names, "y": np.zeros(count)})
        file = self.folder / "data/0.parquet"
        pq.write_table(table, file, compression="zstd", row_group_size=35000, use_dictionary=False)
        first = pq.ParquetFile(file).metadata.row_group(0).column(0)
        damaged = bytearray(file.read_bytes())
        begin, size = first.data_page_offset, first.total_compressed_size
        damaged[begin + 40:begin + size] = b"\xff" * (size - 40)
        file.write_bytes(damaged)
        (self.folder / "data/1.parquet").write_bytes(b"PAR1 is not all of it")
        pq.write_table(pa.table({"x": pa.array([7, None, 9]), "name": ["a", "a", "b"],
                                 "y": [0.0, 0, 0]}), self.folder / "data/2.parquet")
        source = {"files": "data", "features": ["x", {"name": "name", "categorical": True}],
                  "labels": {"name": "y", "shape": [1]}}
        model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)])
        try:
            self.train(model, {"parquet": source, "skip_damaged": 35002})
        except RuntimeError as error:
            if "install_parquet.sh" not in str(error):
                raise
            self.skipTest("deploy/install_parquet.sh has not been run")
        status = json.dumps(json.loads(cairn("status", "judged", "--state", "state", "--json",
                                             folder=self.folder)))
        self.assertIn("35002", status)
        self.assertIn("data/0.parquet", status)
        rows = np.stack([x, x >= 50], 1).astype("f")
        sound = np.concatenate([rows[35000:], [[7, 0], [9, 1]]])
        expected = np.mean(model.predict(sound, verbose=0, batch_size=4096) ** 2)
        self.assertAlmostEqual(self.evaluate("train") / expected, 1, delta=1e-4)
        with self.assertRaisesRegex(RuntimeError, "skip_damaged. allows 35001; the first: "):
            self.train(model, {"parquet": source, "skip_damaged": 35001})

    def train_parquet(self, model, source, **fields):
        try:
            return self.train(model, {"parquet": source}, **fields)
        except RuntimeError as error:
            if "install_parquet.sh" not in str(error):
                raise
            self.skipTest("deploy/install_parquet.sh has not been run")

    def test_nan_in_a_filter_of_parquet(self):
        """The same rows as NumPy's, in row groups of any size."""
        nan = float("nan")
        f = np.array([0, 1, 9, nan, 2, 3, nan, 1, 0, 7, nan, 5])
        masks = {"f > 2.5": f > 2.5, "f >= 2": f >= 2, "f < 2.5": f < 2.5, "f <= 2": f <= 2,
                 "f = 1": f == 1, "f <> 1": f != 1, "f in (1, 7)": np.isin(f, [1, 7])}
        masks |= {f"not ({text})": ~mask for text, mask in masks.items()}
        model = keras.Sequential([keras.Input((1,)), keras.layers.Dense(1)])
        model.set_weights([np.eye(1, dtype="f"), np.zeros(1, "f")])
        for rows, kind in ((3, "d"), (12, "f")):
            name = f"{rows}.parquet"
            pq.write_table(pa.table({"f": f.astype(kind), "i": np.arange(12.), "y": np.zeros(12)}),
                           self.folder / name, row_group_size=rows)
            source = {"files": name, "features": ["i"], "labels": "y"}
            self.train_parquet(model, source)
            for text, mask in masks.items():
                loss = self.evaluate(json.dumps({"parquet": {**source, "filter": text}}))
                self.assertAlmostEqual(loss, np.mean(np.arange(12.)[mask] ** 2), delta=1e-4,
                                       msg=f"{text}, row groups of {rows}")

    def test_what_parquet_folders_hide(self):
        """Files that pyarrow leaves out: temporary ones, and those of table formats."""
        for name, values in {"day=1/a.parquet": [1.0, 2.0], "day=1/_b.parquet": [3.0],
                             "_temporary/0/c.parquet": [9.0], ".hidden.parquet": [7.0],
                             "_delta_log/d.parquet": [8.0]}.items():
            path = self.folder / "data" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            pq.write_table(pa.table({"x": values, "y": np.zeros(len(values))}), path)
        self.train_parquet(identity((1,)), {"files": "data", "features": ["x"],
                                            "labels": {"name": "y", "shape": [1]}})
        expected = pq.read_table(self.folder / "data")["x"].to_numpy()
        np.testing.assert_array_equal(self.predict("data")[:, 0], expected)
        # A file that is named is read.
        np.testing.assert_array_equal(self.predict("data/.hidden.parquet"), [[7.0]])

    def test_columns_of_parquet_that_are_refused(self):
        """DuckDB reads them as something else than what pyarrow wrote."""
        decimals = [decimal.Decimal("1.25"), decimal.Decimal("-7.5")]
        table = pa.table([pa.array(decimals, pa.decimal256(40, 2)),
                          pa.array(decimals, pa.decimal256(38, 2)),
                          pa.array([[[1.0, 2, 3, 4]], [[5.0, 6, 7, 8]]]),
                          pa.array([[[1.0, 2], [3, 4]], [[5.0, 6], [7, 8]]]),
                          *[pa.array([float(i), float(i)]) for i in range(6)],
                          pa.array([0.0, 0.0])],
                         names=["large", "small", "flat", "square", "A", "a", "a_1", "x", "x", "b_2",
                                "y"])
        pq.write_table(table, self.folder / "data.parquet")
        label = {"name": "y", "shape": [1]}

        def source(name, **fields):
            return {"files": "data.parquet", "features": [{"name": name, **fields}], "labels": label}

        model = identity((1,))
        self.train_parquet(model, source("small"))
        for name, expected in {"small": [1.25, -7.5], "A": [0, 0], "b_2": [5, 5]}.items():
            self.train(model, {"parquet": source(name)})
            np.testing.assert_array_equal(self.predict("data.parquet")[:, 0], expected)
        for name, reason in {"large": 'column "large" has decimals of 40 digits, and at most 38 ',
                             "a": "cannot be told from others: it has A and a",
                             "a_1": "cannot be told from others: it has A and a",
                             "x": "cannot be told from others: it has x and x"}.items():
            for each in (source(name), {**source("A"), "filter": f"{name} > 0"}):
                with self.assertRaisesRegex(RuntimeError, reason):
                    self.train(model, {"parquet": each})
        squares = keras.Sequential([keras.Input((2, 2)), keras.layers.Flatten(),
                                    keras.layers.Dense(1)])
        self.train(squares, {"parquet": source("square")})
        with self.assertRaisesRegex(RuntimeError, "a list of 4 in a list, expected: shape"):
            self.train(squares, {"parquet": source("flat")})
        pq.write_table(pa.table({"x": [1.0], "y": [0.0], "File_Row_Number": [1]}),
                       self.folder / "data.parquet")
        with self.assertRaisesRegex(RuntimeError, 'a column "file_row_number", a name that DuckDB'):
            self.train(model, {"parquet": source("x")})

    def test_text(self):
        """Lines and folders become the ids that Keras's TextVectorization gives."""
        words = ["The", "cat!", "dog's", "(été)", "Été", "x_y", "\u00a0", "b-c", "1,5", "sat."]
        texts = [" ".join(self.random.choice(words, self.random.integers(0, 9))) for _ in range(60)]
        labels = [["neg", "pos", "so so"][i % 3] for i in range(60)]
        (self.folder / "lines.tsv").write_text(
            "".join(f"{label}\t{text}\n" for label, text in zip(labels, texts)))
        for i, (label, text) in enumerate(zip(labels, texts)):
            # The order of the folders is that of texts, also of numbers.
            folder = {"neg": "1", "pos": "2", "so so": "10"}[label]
            path = self.folder / "train" / folder / f"{i}.txt"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        (self.folder / "plain.txt").write_text("the cat\nbird Été dog's\n")
        options = {"max_tokens": 9, "output_sequence_length": 6}
        judge = keras.layers.TextVectorization(**options)
        judge.adapt(texts)
        loss = {"name": "sparse_categorical_crossentropy", "from_logits": True}
        self.train(identity((6,)), {"text": {"files": "lines.tsv", "text_vectorization": options}},
                   loss=loss)
        np.testing.assert_allclose(self.predict("lines.tsv"), judge(texts), rtol=0, atol=1e-9)
        np.testing.assert_allclose(self.predict("plain.txt"), judge(["the cat", "bird Été dog's"]),
                                   rtol=0, atol=1e-9)
        ids, numbers = judge(texts).numpy().astype("f"), np.arange(60) % 3
        expected = keras.losses.SparseCategoricalCrossentropy(from_logits=True)(numbers, ids)
        self.assertAlmostEqual(self.evaluate("lines.tsv"), float(expected), delta=1e-5)
        # Folders, with characters as tokens.
        options = {"split": "character", "standardize": "lower"}
        judge = keras.layers.TextVectorization(**options, output_sequence_length=6)
        judge.adapt(texts)
        self.train(identity((6,)), {"text": {"directory": "train", "text_vectorization": options}},
                   name="folders", loss=loss)
        listed = keras.utils.text_dataset_from_directory(self.folder / "train", batch_size=None,
                                                         shuffle=False)
        read, classes = zip(*[(text.numpy(), int(label)) for text, label in listed])
        cairn("predict", "folders", "--input", "train", "--output", "out.npy", "--state", "state",
              folder=self.folder)
        np.testing.assert_allclose(np.load(self.folder / "out.npy"), judge(list(read)), rtol=0,
                                   atol=1e-9)
        loss = json.loads(cairn("evaluate", "folders", "--data", "train", "--state", "state",
                                "--json", folder=self.folder))["loss"]
        expected = keras.losses.SparseCategoricalCrossentropy(from_logits=True)(
            np.array(classes), judge(list(read)).numpy().astype("f"))
        self.assertAlmostEqual(loss, float(expected), delta=1e-5)


if __name__ == "__main__":
    results.main()
