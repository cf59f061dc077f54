#!/usr/bin/env python3
"""The steps of a pipeline that choose examples choose those of tf.data, in the same order.

The model adds the values of an example, so the loss of a batch of one example tells its rows.
"""

import json
import os
import pathlib
import random
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

import keras  # noqa: E402
import numpy as np  # noqa: E402
import pyarrow as pa  # noqa: E402
import pyarrow.parquet as pq  # noqa: E402
import results  # noqa: E402
import tensorflow as tf  # noqa: E402

from identity_job import DataTest, after_step  # noqa: E402

L = keras.layers
ROWS = 60
FORMATS = ["npy", "csv", "tfrecord", "parquet"]


def feature(**lists):
    return tf.train.Feature(**{name: {"value": values} for name, values in lists.items()})


class ChosenRows(DataTest):
    """Row i of three files has the value i, the label -1000 i and a random kind."""

    def setUp(self):
        super().setUp()
        self.kinds = self.random.integers(0, 5, ROWS)
        self.values = np.arange(ROWS, dtype="f")
        self.weights = (1 + self.values / 64).astype("f")
        np.save(self.folder / "w.npy", self.weights)

    def write(self, form, missing=()):
        """Writes the rows, of which the missing ones have no value, and returns the source."""
        for part, rows in enumerate(np.split(np.arange(ROWS), [11, 40])):
            cells = [(i, None if i in missing else i, self.kinds[i], -1000 * i) for i in rows]
            path = str(self.folder / f"{part}.{form}")
            if form == "npy":
                np.save(self.folder / f"x{part}.npy", np.array([c[1:3] for c in cells], "f"))
                np.save(self.folder / f"y{part}.npy", np.array([c[3:] for c in cells], "f"))
            elif form == "csv":
                lines = [",".join("" if one is None else str(one) for one in c[1:]) for c in cells]
                pathlib.Path(path).write_text("\n".join(["v,kind,y", *lines]))
            elif form == "tfrecord":
                with tf.io.TFRecordWriter(path) as writer:
                    for _, value, kind, y in cells:
                        values = {} if value is None else {"v": feature(float_list=[value])}
                        writer.write(tf.train.Example(features=tf.train.Features(feature={
                            **values, "kind": feature(int64_list=[kind]),
                            "y": feature(float_list=[y])})).SerializeToString())
            else:
                pq.write_table(pa.table({"v": pa.array([c[1] for c in cells], pa.float32()),
                                         "kind": [int(c[2]) for c in cells],
                                         "y": pa.array([c[3] for c in cells], pa.float32())}), path)
        if form == "npy":
            return {"npy": {"features": "x?.npy", "labels": "y?.npy"}}
        return {form: {"files": f"?.{form}", "features": ["v", "kind"], "labels": "y"}}

    @staticmethod
    def chain(draw):
        """Random steps, among them a filter behind another step, and their tf.data."""
        steps = []
        for name in draw.choices(["take", "skip", "shard", "filter"], k=draw.randint(1, 4)):
            shards = draw.randint(1, 3)
            steps.append({name: {"take": draw.randint(15, ROWS), "skip": draw.randint(0, 9),
                                 "shard": {"num_shards": shards, "index": draw.randrange(shards)},
                                 "filter": draw.randint(2, 4)}[name]})
        steps.insert(draw.randint(0, len(steps)), {"filter": draw.randint(2, 4)})
        if draw.random() < 0.4:
            steps.append({"window": {"size": 3, "shift": draw.randint(1, 3),
                                     "stride": draw.randint(1, 2)}})
        return steps

    def expected(self, steps, rows, weights):
        """The losses of the examples: the judge is tf.data."""
        data = tf.data.Dataset.from_tensor_slices((np.arange(ROWS), self.kinds))
        if rows:
            data = data.skip(rows[0]).take(rows[1] - rows[0])
        size = 1
        for step in steps:
            (name, value), = step.items()
            if name == "window":
                size = value["size"]
                data = data.window(size, value["shift"], value["stride"], drop_remainder=True)
                data = data.flat_map(lambda row, kind: tf.data.Dataset.zip(
                    row.batch(3), kind.batch(3)))
            else:
                data = after_step(data, name, value)
        chosen = np.array([row for row, _ in data.as_numpy_iterator()], int).reshape(-1, size)
        last = chosen[:, -1]
        return (chosen.sum(1) + 1000.0 * last) * (self.weights[last] if weights else 1)

    def losses_of(self, source, steps, **fields):
        size = next((s["window"]["size"] for s in steps if "window" in s), None)
        shape = (2,) if size is None else (size, 2)
        model = keras.Sequential([keras.Input(shape, name="x"), L.Flatten(),
                                  L.Dense(1, name="y")])
        model.set_weights([np.tile([[1], [0]], (size or 1, 1)).astype("f"), np.zeros(1, "f")])
        return super().losses(model, source, **fields)

    def steps_of(self, form, steps):
        column = "feature_1" if form == "npy" else "kind"
        return [{"filter": f"{column} < {step['filter']}"} if "filter" in step else step
                for step in steps]

    def test_random_chains_are_those_of_tf_data(self):
        draw = random.Random(int(os.environ.get("CAIRN_SEED", 5)))
        for i in range(int(os.environ.get("CAIRN_CASES", 12))):
            form = FORMATS[i % len(FORMATS)]
            steps = self.chain(draw) if i >= len(FORMATS) else [
                {"filter": 4}, {"take": 30}, {"filter": 2}]
            rows = [draw.randint(0, 5), draw.randint(40, ROWS)] if draw.random() < 0.4 else []
            weights = draw.random() < 0.4
            expected = self.expected(steps, rows, weights)
            source = {**self.write(form), "pipeline": self.steps_of(form, steps),
                      **({"rows": rows} if rows else {}),
                      **({"sample_weight": "w.npy"} if weights else {})}
            with self.subTest(source=json.dumps(source)):
                if len(expected) == 0:
                    with self.assertRaisesRegex(RuntimeError, "leaves none|no row is left"):
                        self.losses_of(source, steps)
                    continue
                np.testing.assert_allclose(self.losses_of(source, steps), expected, rtol=1e-5)
                self.assertAlmostEqual(self.evaluate("train"), expected.mean(),
                                       delta=1e-3 * expected.mean())

    def test_rows_that_a_filter_leaves_out_are_not_encoded(self):
        """Behind a step, too, where they are counted. Training and validation data differ."""
        steps, others = [{"skip": 3}, {"filter": 3}, {"take": 20}], [{"filter": 3}, {"take": 9}]
        for form in FORMATS[1:]:
            source = self.write(form, missing=np.flatnonzero(self.kinds >= 3))
            losses = self.losses_of(
                {**source, "pipeline": self.steps_of(form, steps)}, steps,
                validation={**source, "rows": [5, 50], "pipeline": self.steps_of(form, others)})
            np.testing.assert_allclose(losses, self.expected(steps, [], False), rtol=1e-5)
            expected = self.expected(others, [5, 50], False).mean()
            self.assertAlmostEqual(self.evaluate("validation"), expected, delta=1e-3 * expected)

    def test_steps_beside_a_zip_are_those_of_tf_data(self):
        """Those of its sources come before. A filter in each source, of the same rows."""
        draw = random.Random(8)
        for first, second in (("csv", "parquet"), ("npy", "tfrecord")):
            steps = [step for step in self.chain(draw) if "window" not in step]
            after = [{"skip": 1}, {"shard": {"num_shards": 2, "index": 1}}, {"take": 14}]
            features, labels = self.write(first), self.write(second)
            del features[first]["labels"], labels[second]["features"]
            source = {"zip": [
                {"source": {**features, "pipeline": self.steps_of(first, steps)}, "inputs": "x"},
                {"source": {**labels, "pipeline": self.steps_of(second, steps)}, "outputs": "y"}],
                "pipeline": [*after, {"normalize": {"mean": [4], "deviation": [1]}}]}
            expected = self.expected(steps + after, [], False)
            np.testing.assert_allclose(self.losses_of(source, steps), expected - 4, rtol=1e-5)
            self.assertAlmostEqual(self.evaluate("train"), expected.mean() - 4,
                                   delta=1e-3 * expected.mean())

    def test_values_of_a_mixture_are_changed_beside_it(self):
        source = {"mix": [{"source": {**self.write("csv"), "rows": [0, 20]}, "weight": 1},
                          {"source": {**self.write("npy"), "rows": [20, 60]}, "weight": 2}],
                  "pipeline": [{"normalize": {"mean": [4], "deviation": [1]}}]}
        losses = self.losses_of(source, [])
        data = tf.data.Dataset.range(ROWS)
        mixed = tf.data.Dataset.choose_from_datasets(
            [data.take(20), data.skip(20)],
            tf.data.Dataset.from_tensor_slices(np.array([1, 1, 0], "int64")).repeat(20))
        rows = np.array(list(mixed.as_numpy_iterator()))
        self.assertEqual(sorted(rows), list(range(ROWS)))
        np.testing.assert_allclose(losses, np.abs(1001.0 * rows - 4), rtol=1e-5)

    def test_means_are_those_of_the_chosen_training_rows(self):
        steps = [{"skip": 7}, {"filter": 3}, {"take": 20}]
        rows = (self.expected(steps, [], False) // 1001).astype(int)
        missing = rows[[2, 18]]
        source = self.write("csv", missing)
        source["csv"]["features"] = [{"name": "v", "missing": "mean"}, "kind"]
        losses = self.losses_of({**source, "pipeline": self.steps_of("csv", steps)}, steps,
                             validation_fraction=0.25)
        mean = np.setdiff1d(rows[:15], missing).mean()
        expected = [1000 * row + (mean if row in missing else row) for row in rows[:15]]
        np.testing.assert_allclose(losses, expected, rtol=1e-6)


if __name__ == "__main__":
    results.main()
