"""Fields of the job file with Keras as the judge: those that have no argument of fit, random
combinations, and the names of Keras."""

import csv
import inspect
import json
import os
import pathlib
import random
import re
import tempfile
import unittest

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import cairn  # noqa: E402
import keras  # noqa: E402
import numpy as np  # noqa: E402
import results  # noqa: E402
import tensorflow as tf  # noqa: E402
from keras import layers  # noqa: E402

cluster = None
EXAMPLES, BATCH = 50, 8


def setUpModule():
    global cluster
    cluster = cairn.local(ps=2, workers=1)


def tearDownModule():
    if cluster is not None:
        cluster.close()


class JobFile(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        random = np.random.default_rng(3)
        self.x = random.normal(0, 1, (EXAMPLES, 4)).astype("float32")
        self.y = random.normal(0, 1, (EXAMPLES, 1)).astype("float32")
        np.save(f"{self.folder}/x.npy", self.x)
        np.save(f"{self.folder}/y.npy", self.y)
        self.model = keras.Sequential([keras.Input((4,)), layers.Dense(5, activation="tanh"),
                                       layers.Dense(1)])
        self.model.compile(keras.optimizers.SGD(0.1), "mse", metrics=["mae"])
        self.twin = keras.models.clone_model(self.model)
        self.twin.set_weights(self.model.get_weights())

    def source(self, **more):
        return {"npy": {"features": "x.npy", "labels": "y.npy"}, **more}

    def run_job(self, **fields):
        """Trains self.twin by a job; returns its last status."""
        model = cairn.model_files.write_model(self.twin, None, self.folder)
        job = {"name": self.id().split(".")[-1], "model": model, "loss": "mse", "metrics": ["mae"],
               "optimizer": {"name": "sgd", "learning_rate": 0.1}, "batch_size": BATCH,
               "shuffle": False, "train": self.source(),
               "strategy": {"parameter_server": {"mode": "sync", "batches_per_update": 1}},
               **fields}
        path = f"{self.folder}/job.json"
        with open(path, "w", encoding="utf-8") as file:
            json.dump(job, file)
        status = cluster.tool.objects("submit", path, "--follow")[-1]
        cluster.tool.run("export", str(status["job"]), "--output", f"{self.folder}/w.safetensors")
        cairn.model_files.set_weights(
            self.twin, None, cairn.model_files.read_safetensors(f"{self.folder}/w.safetensors"))
        return status

    def assert_same_weights(self):
        for here, there in zip(self.twin.get_weights(), self.model.get_weights()):
            np.testing.assert_allclose(here, there, atol=1e-4)

    def assert_same_validation(self, status, history):
        """Compares an evaluation on the validation data of the job with Keras's last one."""
        result = cluster.tool.objects("evaluate", str(status["job"]), "--json")[-1]
        self.assertAlmostEqual(result["loss"], history["val_loss"][-1], delta=1e-4)

    def assert_same_log(self, here, there):
        """Compares the files of Cairn's csv_logger and of Keras's CSVLogger."""
        files = []
        for name in (here, there):
            with open(f"{self.folder}/{name}", encoding="utf-8", newline="") as file:
                text = file.read()
            self.assertEqual(text.count("\n"), text.count("\r\n"))
            files.append(list(csv.reader(text.splitlines())))
        ours, theirs = files
        self.assertEqual(ours[0], theirs[0])
        self.assertEqual(len(ours), len(theirs))
        for our, their in zip(ours[1:], theirs[1:]):
            self.assertEqual(our[0], their[0])
            for column, here, there in zip(ours[0][1:], our[1:], their[1:]):
                if "NA" in (here, there):
                    self.assertEqual(here, there, column)
                else:
                    self.assertAlmostEqual(float(here), float(there), delta=1e-4, msg=column)

    def keras_log(self, name="theirs.csv", **arguments):
        return keras.callbacks.CSVLogger(f"{self.folder}/{name}", **arguments)

    def test_rates_by_epoch_and_their_log(self):
        rates = [0.1, 0.2, 0.05, 0.01]
        self.run_job(epochs=6, initial_epoch=1, validation=self.source(rows=[40, 50]),
                     validation_freq=[2, 5], callbacks=[
                         {"name": "LearningRateScheduler", "schedule": rates},
                         {"name": "CSVLogger", "filename": "ours.csv"}])
        self.model.fit(self.x, self.y, batch_size=BATCH, epochs=6, initial_epoch=1, shuffle=False,
                       verbose=0, validation_data=(self.x[40:], self.y[40:]),
                       validation_freq=[2, 5], callbacks=[
                           keras.callbacks.LearningRateScheduler(
                               lambda epoch: rates[min(epoch, len(rates) - 1)]),
                           self.keras_log()])
        self.assert_same_weights()
        self.assert_same_log("ours.csv", "theirs.csv")

    def test_a_schedule_of_the_epoch(self):
        """Also the log of a job that appends, and whose first epoch is not validated."""
        for name in ("ours.csv", "theirs.csv"):
            with open(f"{self.folder}/{name}", "w", encoding="utf-8") as file:
                file.write("")
        schedule = keras.optimizers.schedules.ExponentialDecay(0.2, 2, 0.5, staircase=True)
        self.run_job(epochs=5, validation=self.source(rows=[40, 50]), validation_freq=2, callbacks=[
            {"name": "csv_logger", "filename": "ours.csv", "separator": ";", "append": True},
            {"name": "learning_rate_scheduler", "schedule": {
                "name": "exponential_decay", "initial_learning_rate": 0.2, "decay_steps": 2,
                "decay_rate": 0.5, "staircase": True}}])
        self.model.fit(self.x, self.y, batch_size=BATCH, epochs=5, shuffle=False, verbose=0,
                       validation_data=(self.x[40:], self.y[40:]), validation_freq=2, callbacks=[
                           self.keras_log(separator=";", append=True),
                           keras.callbacks.LearningRateScheduler(
                               lambda epoch: float(schedule(epoch)))])
        self.assert_same_weights()
        for name in ("ours.csv", "theirs.csv"):
            with open(f"{self.folder}/{name}", encoding="utf-8", newline="") as file:
                text = file.read()
            with open(f"{self.folder}/comma-{name}", "w", encoding="utf-8", newline="") as file:
                file.write(text.replace(";", ","))
        self.assert_same_log("comma-ours.csv", "comma-theirs.csv")

    def test_a_warm_up_and_a_scaled_rate(self):
        """Horovod's callback as its documentation describes it, before a plateau."""
        size, warmup_epochs, steps = 2, 3, 4
        full = 0.1 * size

        class WarmUp(keras.callbacks.Callback):
            def on_epoch_begin(self, epoch, logs=None):
                self.epoch = epoch

            def on_train_batch_begin(self, batch, logs=None):
                if self.epoch < warmup_epochs:
                    epoch = self.epoch + batch / steps + 1 / steps
                    self.model.optimizer.learning_rate = \
                        full / size * (epoch * (size - 1) / warmup_epochs + 1)

        self.run_job(epochs=8, scale_learning_rate=True,
                     strategy={"parameter_server": {"mode": "sync", "batches_per_update": size}},
                     callbacks=[{"name": "learning_rate_warmup", "warmup_epochs": warmup_epochs},
                                {"name": "reduce_lr_on_plateau", "monitor": "loss", "patience": 1,
                                 "min_delta": 0.3, "factor": 0.5},
                                {"name": "csv_logger", "filename": "ours.csv"}])
        self.model.optimizer.learning_rate = full
        self.model.fit(self.x, self.y, batch_size=BATCH * size, epochs=8, shuffle=False, verbose=0,
                       callbacks=[WarmUp(), keras.callbacks.ReduceLROnPlateau(
                           "loss", patience=1, min_delta=0.3, factor=0.5), self.keras_log()])
        self.assert_same_weights()
        self.assert_same_log("ours.csv", "theirs.csv")

    def test_weighted_metrics(self):
        weights = np.random.default_rng(4).uniform(0, 3, EXAMPLES).astype("float32")
        np.save(f"{self.folder}/w.npy", weights)
        self.run_job(epochs=3, train=self.source(sample_weight="w.npy"),
                     validation=self.source(sample_weight="w.npy"),
                     weighted_metrics=["mae", {"name": "root_mean_squared_error"}, "r2_score"],
                     callbacks=[{"name": "csv_logger", "filename": "ours.csv"}])
        self.model.compile(keras.optimizers.SGD(0.1), "mse", metrics=["mae"], weighted_metrics=[
            "mae", keras.metrics.RootMeanSquaredError(), keras.metrics.R2Score()])
        self.model.fit(self.x, self.y, sample_weight=weights, batch_size=BATCH, epochs=3,
                       shuffle=False, verbose=0, validation_data=(self.x, self.y, weights),
                       callbacks=[self.keras_log()])
        self.assert_same_weights()
        self.assert_same_log("ours.csv", "theirs.csv")

    def test_class_weights_in_weighted_metrics(self):
        """Metrics of all kinds of states, in training; the validation has no class weights."""
        labels = (self.y[:, 0] > 0).astype("float32")
        np.save(f"{self.folder}/y.npy", labels)
        names = ["binary_accuracy", "precision", "auc"]
        self.twin = keras.Sequential([keras.Input((4,)), layers.Dense(1, activation="sigmoid")])
        self.model = keras.models.clone_model(self.twin)
        self.model.set_weights(self.twin.get_weights())
        self.run_job(epochs=3, loss="binary_crossentropy", metrics=names, weighted_metrics=names,
                     class_weight={"0": 0.5, "1": 3}, validation=self.source(),
                     callbacks=[{"name": "csv_logger", "filename": "ours.csv"}])

        def metrics():
            return ["binary_accuracy", keras.metrics.Precision(name="precision"),
                    keras.metrics.AUC(name="auc")]
        self.model.compile(keras.optimizers.SGD(0.1), "binary_crossentropy", metrics=metrics(),
                           weighted_metrics=metrics())
        self.model.fit(self.x, labels, batch_size=BATCH, epochs=3, shuffle=False, verbose=0,
                       class_weight={0: 0.5, 1: 3}, validation_data=(self.x, labels),
                       callbacks=[self.keras_log()])
        self.assert_same_weights()
        self.assert_same_log("ours.csv", "theirs.csv")

    def test_rows_and_drop_remainder(self):
        status = self.run_job(epochs=3, train=self.source(rows=[7, 40], drop_remainder=True),
                              validation=self.source(rows=[40, 50]))
        data = tf.data.Dataset.from_tensor_slices((self.x, self.y)).skip(7).take(33)
        history = self.model.fit(
            data.batch(BATCH, drop_remainder=True), epochs=3, verbose=0,
            validation_data=(self.x[40:], self.y[40:])).history
        self.assertEqual(status["batches_per_epoch"], 4)
        self.assert_same_weights()
        self.assertAlmostEqual(status["loss"], history["loss"][-1], delta=1e-4)

    def test_a_pipeline_chooses_the_rows_of_tf_data(self):
        with open(f"{self.folder}/xy.csv", "w", encoding="utf-8") as file:
            file.write("a,b,c,d,y\n")
            for x, y in zip(self.x, self.y):
                file.write(",".join(repr(float(value)) for value in [*x, *y]) + "\n")
        with tf.io.TFRecordWriter(f"{self.folder}/xy.tfrecord") as file:
            for x, y in zip(self.x, self.y):
                file.write(tf.train.Example(features=tf.train.Features(feature={
                    "x": tf.train.Feature(float_list=tf.train.FloatList(value=x)),
                    "b": tf.train.Feature(float_list=tf.train.FloatList(value=x[1:2])),
                    "y": tf.train.Feature(float_list=tf.train.FloatList(value=y))})).SerializeToString())
        data = tf.data.Dataset.from_tensor_slices((self.x, self.y))
        chosen = data.filter(lambda x, y: x[1] > -0.5).skip(3).shard(2, 1).take(11)
        validation = data.shard(3, 2).take(7)
        history = self.model.fit(chosen.batch(BATCH), epochs=2, verbose=0,
                                 validation_data=validation.batch(BATCH)).history
        initial = self.twin.get_weights()
        for column, source in (("feature_1", self.source()),
                               ("b", {"csv": {"files": "xy.csv", "labels": "y"}}),
                               ("b", {"tfrecord": {"files": "xy.tfrecord", "features": "x",
                                                   "labels": "y"}})):
            self.twin.set_weights(initial)
            status = self.run_job(
                epochs=2,
                train={**source, "pipeline": [{"filter": f"{column} > -0.5"}, {"skip": 3},
                                              {"shard": {"num_shards": 2, "index": 1}},
                                              {"take": 11}]},
                validation={**source, "pipeline": [{"shard": {"num_shards": 3, "index": 2}},
                                                   {"take": 7}]})
            self.assertEqual(status["batches_per_epoch"], 2)
            self.assert_same_weights()
            self.assertAlmostEqual(status["loss"], history["loss"][-1], delta=1e-4)
            self.assert_same_validation(status, history)

    def test_a_mixture_is_that_of_tf_data(self):
        """Three passes: the longer source goes on where the pass before it ended."""
        sources = [{"source": self.source(rows=[0, 10]), "weight": 0.25},
                   {"source": self.source(pipeline=[{"skip": 10}]), "weight": 0.75}]
        status = self.run_job(epochs=3, train={"mix": sources}, validation={"mix": [
            {"source": each["source"]} for each in sources]})
        data = tf.data.Dataset.from_tensor_slices((self.x, self.y))
        mixed = tf.data.Dataset.choose_from_datasets(
            [data.take(10).repeat(), data.skip(10).repeat()],
            tf.data.Dataset.from_tensor_slices(np.array([1, 1, 1, 0], "int64")).repeat())
        history = self.model.fit(mixed.batch(BATCH), epochs=3, steps_per_epoch=5, verbose=0,
                                 validation_data=(self.x, self.y)).history
        self.assertEqual(status["batches_per_epoch"], 5)
        self.assert_same_weights()
        self.assertAlmostEqual(status["loss"], history["loss"][-1], delta=1e-4)
        self.assert_same_validation(status, history)
        result = cluster.tool.objects("evaluate", str(status["job"]), "--on", "cluster",
                                      "--json")[-1]
        self.assertAlmostEqual(result["loss"], history["val_loss"][-1], delta=1e-4)

    def two_inputs(self):
        """Self.twin and self.model get the inputs a and b and the output y, and three sources that
        have 60 examples of them. Returns these, and their numbers."""
        a, b = keras.Input((4,), name="a"), keras.Input((2,), name="b")
        both = layers.Concatenate()([layers.Dense(5, activation="tanh")(a), b])
        self.twin = keras.Model([a, b], layers.Dense(1, name="y")(both))
        self.model = keras.models.clone_model(self.twin)
        self.model.set_weights(self.twin.get_weights())
        self.model.compile(keras.optimizers.SGD(0.1), "mse")
        random = np.random.default_rng(7)
        a, b, y = (random.normal(0, 1, (60, size)).astype("float32") for size in (4, 2, 1))
        np.save(f"{self.folder}/a.npy", a)
        np.savetxt(f"{self.folder}/b.csv", b, "%.9g", ",", header="u,v", comments="")
        with tf.io.TFRecordWriter(f"{self.folder}/y.tfrecord") as file:
            for each in y:
                file.write(tf.train.Example(features=tf.train.Features(feature={
                    "y": tf.train.Feature(float_list=tf.train.FloatList(value=each))})
                ).SerializeToString())
        return [{"source": {"npy": {"features": "a.npy"}}, "inputs": "a"},
                {"source": {"csv": {"files": "b.csv"}}, "inputs": ["b"]},
                {"source": {"tfrecord": {"files": "y.tfrecord", "labels": "y"}}, "outputs": "y"}
                ], (a, b, y)

    def test_a_zip_is_that_of_tf_data(self):
        """Of sources with their own steps. The workers evaluate and predict it, too."""
        sources, (a, b, y) = self.two_inputs()
        sources[0]["source"].update(
            standardize=True, pipeline=[{"normalize": {"mean": [0.5], "deviation": [2]}}])
        sources[1]["source"]["pipeline"] = [{"skip": 7}, {"take": 50}]
        for source in (sources[0]["source"], sources[2]["source"]):
            source.setdefault("pipeline", []).append({"shard": {"num_shards": 1, "index": 0}})
            source["pipeline"].append({"take": 50})
        scaled = (a[:50] - 0.5) / 2
        mean, deviation = scaled[:40].mean(0), scaled[:40].std(0)
        data = tf.data.Dataset.zip((
            (tf.data.Dataset.from_tensor_slices(a).take(50).map(
                lambda row: ((row - 0.5) / 2 - mean) / deviation),
             tf.data.Dataset.from_tensor_slices(b).skip(7).take(50)),
            tf.data.Dataset.from_tensor_slices(y).take(50)))
        history = self.model.fit(data.take(40).batch(BATCH), epochs=3, verbose=0,
                                 validation_data=data.skip(40).batch(BATCH)).history
        status = self.run_job(epochs=3, train={"zip": sources}, validation_fraction=0.2,
                              metrics=[])
        self.assertEqual(status["batches_per_epoch"], 5)
        self.assert_same_weights()
        self.assertAlmostEqual(status["loss"], history["loss"][-1], delta=1e-4)
        self.assert_same_validation(status, history)
        job = str(status["job"])
        expected = self.model.evaluate(data.batch(BATCH), verbose=0)
        for place in ([], ["--on", "cluster"]):
            result = cluster.tool.objects("evaluate", job, "--data", "train", "--json", *place)[-1]
            self.assertAlmostEqual(result["loss"], expected, delta=1e-4)
        np.savetxt(f"{self.folder}/other.csv", b[:9], "%.9g", ",", header="u,v", comments="")
        np.save(f"{self.folder}/other.npy", a[:9])
        outputs = self.model.predict([((a[:9] - 0.5) / 2 - mean) / deviation, b[:9]], verbose=0)
        for place in ([], ["--on", "cluster"]):
            cluster.tool.run("predict", job, "--input", f"{self.folder}/other.npy", "--input",
                             f"{self.folder}/other.csv", "--output", f"{self.folder}/p.npy", *place)
            np.testing.assert_allclose(np.load(f"{self.folder}/p.npy"), outputs, atol=1e-4)

    def test_an_example_damaged_in_one_source_is_left_out_of_a_zip(self):
        sources, (a, b, y) = self.two_inputs()
        with open(f"{self.folder}/b.csv", encoding="utf-8") as file:
            lines = file.read().split("\n")
        lines[1 + 17] = "1,none"
        with open(f"{self.folder}/b.csv", "w", encoding="utf-8") as file:
            file.write("\n".join(lines))
        with open(f"{self.folder}/y.tfrecord", "r+b") as file:
            size = os.path.getsize(file.name) // 60  # All records have the same length.
            for record in (0, 59):
                file.seek(record * size + 14)
                file.write(b"?")
        for each in sources[1:]:
            each["source"]["skip_damaged"] = 2
        sound = np.delete(np.arange(60), [0, 17, 59])
        status = self.run_job(epochs=2, train={"zip": sources}, validation={"zip": sources},
                              metrics=[])
        data = tf.data.Dataset.zip(tuple(
            tf.data.Dataset.from_tensor_slices(each[sound]) for each in (a, b, y))).map(
                lambda a, b, y: ((a, b), y))
        history = self.model.fit(data.batch(BATCH), epochs=2, verbose=0,
                                 validation_data=data.batch(BATCH)).history
        self.assert_same_weights()
        self.assertAlmostEqual(status["loss"], history["loss"][-1], delta=1e-4)
        self.assert_same_validation(status, history)

    def test_changed_values_are_those_of_map(self):
        """The workers evaluate and predict with the steps, too."""
        mean, deviation = [0.5, -1, 0.25, 2], [2, 0.5, 4, 1]
        steps = [{"normalize": {"mean": mean, "deviation": deviation}}, {"pad": {"length": 4}}]
        data = tf.data.Dataset.from_tensor_slices((self.x, self.y)).map(
            lambda x, y: ((x - mean) / deviation, y))
        history = self.model.fit(data.batch(BATCH), epochs=2, verbose=0).history
        status = self.run_job(epochs=2, train=self.source(pipeline=steps))
        self.assert_same_weights()
        self.assertAlmostEqual(status["loss"], history["loss"][-1], delta=1e-4)
        job = str(status["job"])
        result = cluster.tool.objects("evaluate", job, "--data", "train", "--on", "cluster",
                                      "--json")[-1]
        expected = self.model.evaluate(data.batch(BATCH), verbose=0, return_dict=True)
        self.assertAlmostEqual(result["loss"], expected["loss"], delta=1e-4)
        cluster.tool.run("predict", job, "--input", f"{self.folder}/x.npy", "--on", "cluster",
                         "--output", f"{self.folder}/p.npy")
        np.testing.assert_allclose(np.load(f"{self.folder}/p.npy"),
                                   self.model.predict(data.batch(BATCH), verbose=0), atol=1e-4)

    def test_windows_are_those_of_tf_data_and_of_timeseries(self):
        size, shift, stride = 4, 3, 2
        self.twin = keras.Sequential([keras.Input((size, 4)), layers.SimpleRNN(3),
                                      layers.Dense(1)])
        self.model = keras.models.clone_model(self.twin)
        self.model.compile(keras.optimizers.SGD(0.1), "mse")
        initial = self.twin.get_weights()
        for offset in (None, 0, 9):
            self.twin.set_weights(initial)
            self.model.set_weights(initial)
            window = {"size": size, "shift": shift, "stride": stride}
            windows = tf.data.Dataset.from_tensor_slices(self.x).window(
                size, shift, stride, drop_remainder=True).flat_map(lambda rows: rows.batch(size))
            first = (size - 1) * stride if offset is None else offset
            data = tf.data.Dataset.zip(
                windows, tf.data.Dataset.from_tensor_slices(self.y[first::shift]))
            if offset is not None:
                window["label_offset"] = offset
            if offset == 0:
                data = keras.utils.timeseries_dataset_from_array(
                    self.x, self.y, size, sequence_stride=shift, sampling_rate=stride,
                    batch_size=None)
            status = self.run_job(epochs=2, train=self.source(pipeline=[{"window": window}]))
            history = self.model.fit(data.batch(BATCH), epochs=2, verbose=0).history
            self.assert_same_weights()
            self.assertAlmostEqual(status["loss"], history["loss"][-1], delta=1e-4)
        job = str(status["job"])
        cluster.tool.run("predict", job, "--input", f"{self.folder}/x.npy",
                         "--output", f"{self.folder}/p.npy")
        np.testing.assert_allclose(np.load(f"{self.folder}/p.npy"),
                                   self.model.predict(windows.batch(BATCH), verbose=0), atol=1e-4)
        result = cluster.tool.objects("evaluate", job, "--data", "train", "--json")[-1]
        self.assertAlmostEqual(result["loss"], self.model.evaluate(data.batch(BATCH), verbose=0),
                               delta=1e-4)

    def test_shards_are_where_tensorflow_puts_them(self):
        partitioners = tf.distribute.experimental.partitioners
        x = np.zeros((4, 300), "float32")
        np.save(f"{self.folder}/x.npy", x)
        np.save(f"{self.folder}/y.npy", np.zeros((4, 3), "float32"))
        self.twin = keras.Sequential([keras.Input((300,)), layers.Dense(1100), layers.Dense(7),
                                      layers.Dense(3, use_bias=False)])
        for fields, partitioner in [
                ({"fixed_shards": 2}, partitioners.FixedShardsPartitioner(2)),
                ({"fixed_shards": 5}, partitioners.FixedShardsPartitioner(5)),
                ({"min_size": {"min_shard_bytes": 1000, "max_shards": 4}},
                 partitioners.MinSizePartitioner(1000, 4)),
                ({"min_size": {"min_shard_bytes": 300 << 10, "max_shards": 9}},
                 partitioners.MinSizePartitioner(300 << 10, 9)),
                ({"max_size": {"max_shard_bytes": 5000}}, partitioners.MaxSizePartitioner(5000)),
                ({"max_size": {"max_shard_bytes": 5000, "max_shards": 3}},
                 partitioners.MaxSizePartitioner(5000, 3))]:
            status = self.run_job(epochs=1, name="shards",
                                  partitioner={**fields, "placement": "round_robin"})
            variables = cluster.tool.objects("status", str(status["job"]), "--variables")
            self.assertEqual(len(variables), len(self.twin.weights))
            count = 0  # ParameterServerStrategy goes round over the shards of all variables.
            for variable, weight in zip(variables, self.twin.weights):
                shape = tf.TensorShape(weight.shape)
                shards = min(partitioner(shape, tf.float32)[0], shape[0])
                base, more = divmod(shape[0], shards)
                expected, row = [], 0
                for shard in range(shards):
                    rows = base + (shard < more)
                    expected.append(([row, row + rows], count % 2))
                    row, count = row + rows, count + 1
                self.assertEqual(expected, [(each["rows"], each["ps"])
                                            for each in variable["shards"]],
                                 f"{variable['variable']}, {fields}")

    def answer_to(self, **fields):
        """The refusal of a job with these fields."""
        with self.assertRaises(cairn.CairnError) as refused:
            self.run_job(**{"epochs": 1, **fields})
        return str(refused.exception)

    def test_every_name_of_keras_is_accepted_or_answered(self):
        """The value is null, which no field takes. A name without an answer gets a list."""
        for function in (keras.Model.compile, keras.Model.fit, keras.Model.evaluate,
                         keras.Model.predict):
            for name in set(inspect.signature(function).parameters) - {"self", "kwargs"}:
                self.assertNotIn("unknown field; known", self.answer_to(**{name: None}), name)
        for name, kind in inspect.getmembers(keras.callbacks, inspect.isclass):
            answer = self.answer_to(callbacks=[{"name": name, "nothing": None}])
            self.assertNotIn(f"'{name}'; known", answer)
            if "unknown callback" not in answer:
                for argument in set(inspect.signature(kind).parameters) - {"name", "kwargs"}:
                    answer = self.answer_to(callbacks=[{"name": name, argument: None}])
                    self.assertNotIn("unknown field; known", answer, argument)
        for partitioner in ("FixedShardsPartitioner", "MinSizePartitioner", "MaxSizePartitioner",
                            "fixed_size_partitioner", "min_max_variable_partitioner",
                            "variable_axis_size_partitioner"):
            self.assertIn("; here it is", self.answer_to(partitioner={partitioner: None}))

    def test_every_method_of_tf_data_is_in_the_documentation_and_answered(self):
        page = (pathlib.Path(__file__).resolve().parents[2] / "doc/keras.md").read_text()
        listed = set(re.findall(r"\w+", page.split("| tf.data |")[1].split("\n## ")[0]))
        methods = {name for name in dir(tf.data.Dataset) if not name.startswith("_")}
        self.assertEqual(methods - listed, set())
        of_python = {"cardinality", "element_spec", "as_numpy_iterator", "get_single_element",
                     "fingerprint", "save", "load", "range", "random", "counter"}
        for name in methods - of_python:
            answer = self.answer_to(train=self.source(pipeline=[{name: None}]))
            self.assertNotIn("unknown field; known", answer, name)

    def test_random_combinations_of_fields(self):
        """Fields and callbacks of a job beside the arguments and callbacks of fit."""
        seed = int(os.environ.get("CAIRN_SEED") or int.from_bytes(os.urandom(3), "big"))
        for seed in range(seed, seed + 10):
            with self.subTest(CAIRN_SEED=seed):
                keras.utils.set_random_seed(seed)
                self.model = keras.models.clone_model(self.model)
                self.twin.set_weights(self.model.get_weights())
                self.compare_combination(random.Random(seed))

    def compare_combination(self, draw):
        """Trains with drawn fields, and compares the log of each epoch and the weights."""
        batch, updates = draw.randint(4, 12), draw.choice([1, 1, 2])
        first, end = draw.randint(0, 8), draw.randint(34, EXAMPLES)
        x, y, weights = self.x[first:end], self.y[first:end], None
        fit = {"initial_epoch": draw.randint(0, 3)}
        fit["epochs"] = fit["initial_epoch"] + draw.randint(1, 5)
        train, job, validation = {"rows": [first, end]}, {}, None
        if draw.random() < 0.4:
            every = np.random.default_rng(draw.randint(0, 99)).uniform(0, 3, EXAMPLES)
            np.save(f"{self.folder}/w.npy", every.astype("float32"))
            weights, train["sample_weight"] = every.astype("float32")[first:end], "w.npy"
        kind = draw.choice(["none", "rows", "fraction"])
        if kind == "rows":
            job["validation"] = self.source(rows=[20, 37])
            validation = self.x[20:37], self.y[20:37]
        elif kind == "fraction":
            job["validation_fraction"] = draw.choice([0.2, 0.3])
            cut = int(len(x) * (1 - job["validation_fraction"]))  # As Keras.
            validation = x[cut:], y[cut:]
            if weights is not None:
                validation, weights = (*validation, weights[cut:]), weights[:cut]
            x, y = x[:cut], y[:cut]
        if validation is not None:
            data = tf.data.Dataset.from_tensor_slices(validation).batch(batch)
            if draw.random() < 0.4:
                job["validation_steps"] = 1
                data = data.take(1)
            fit["validation_data"] = data
            fit["validation_freq"] = draw.choice([1, 2, 3, [2], [1, 3, 4, 20]])
        drops = draw.random() < 0.4 and len(x) >= batch * updates  # Something must be left.
        data = tf.data.Dataset.from_tensor_slices(
            (x, y) if weights is None else (x, y, weights)).batch(batch * updates, drops)
        if drops:
            train["drop_remainder"] = True
        if updates == 1 and draw.random() < 0.4:
            fit["steps_per_epoch"] = draw.randint(1, 20)
            data = data.repeat()
        # With larger rates, here and of the callbacks, momentum diverges with some weights, and
        # rounding decides then.
        rate, momentum = draw.choice([(0.02, 0.0), (0.02, 0.8), (0.1, 0.0)])
        arguments = {"learning_rate": rate, "momentum": momentum}
        optimizer = keras.optimizers.SGD(**arguments)
        if updates > 1 and draw.random() < 0.5:
            job["scale_learning_rate"] = True
            optimizer.learning_rate = arguments["learning_rate"] * updates
        callbacks = self.drawn_callbacks(draw, validation is not None, "scale_learning_rate" in job)
        job.update({key: value for key, value in fit.items() if key != "validation_data"})
        self.run_job(
            train=self.source(**train), batch_size=batch, optimizer={"name": "sgd", **arguments},
            strategy={"parameter_server": draw.choice(
                [{"mode": "sync", "batches_per_update": updates}, {"mode": "async"},
                 {"mode": "stale", "window": 0}][:1 if updates > 1 else 3])},
            callbacks=[each for each, _ in callbacks] + [
                {"name": "CSVLogger", "filename": "ours.csv"}], **job)
        self.model.compile(optimizer, "mse", metrics=["mae"])
        self.model.fit(data, verbose=0, callbacks=[each for _, each in callbacks if each] + [
            self.keras_log()], **fit)
        self.assert_same_weights()
        self.assert_same_log("ours.csv", "theirs.csv")

    def drawn_callbacks(self, draw, validates, scales):
        """Pairs of a callback of the job and Keras's, if it changes anything."""
        chosen = []

        def monitored(kind, **arguments):
            monitors = ["loss", "mae"] + ["val_loss", "val_mae"] * validates
            arguments["monitor"] = draw.choice(monitors)
            chosen.append(({"name": kind.__name__, **arguments}, kind(**arguments)))

        if draw.random() < 0.5:
            monitored(keras.callbacks.EarlyStopping, patience=draw.randint(0, 2),
                      min_delta=draw.choice([0, 0.05]), start_from_epoch=draw.randint(0, 3),
                      baseline=draw.choice([0.9, 10.0]),
                      restore_best_weights=draw.random() < 0.5)
        rate = draw.choice(["none", "plateau"] + ["table", "schedule"] * (not scales))
        if rate == "plateau":
            monitored(keras.callbacks.ReduceLROnPlateau, patience=1, factor=0.4,
                      min_delta=draw.choice([0.0, 0.1]), cooldown=draw.randint(0, 1),
                      min_lr=draw.choice([0.0, 0.02]))
        elif rate == "table":
            table = [draw.choice([0.04, 0.02, 0.01]) for _ in range(draw.randint(1, 10))]
            chosen.append(({"name": "LearningRateScheduler", "schedule": table},
                           keras.callbacks.LearningRateScheduler(
                               lambda epoch: table[min(epoch, len(table) - 1)])))
        elif rate == "schedule":
            arguments = {"initial_learning_rate": 0.04, "decay_steps": draw.randint(1, 3),
                         "decay_rate": 0.5, "staircase": draw.random() < 0.5}
            decay = keras.optimizers.schedules.ExponentialDecay(**arguments)
            chosen.append(({"name": "LearningRateScheduler",
                            "schedule": {"name": "ExponentialDecay", **arguments}},
                           keras.callbacks.LearningRateScheduler(
                               lambda epoch: float(decay(epoch)))))
        for none in ({"name": "ModelCheckpoint", "save_freq": draw.randint(1, 9)},
                     {"name": "BackupAndRestore", "backup_dir": "unused"}):
            if draw.random() < 0.3:
                chosen.append((none, None))
        draw.shuffle(chosen)
        return chosen

    def test_steps_per_epoch_repeats_the_data(self):
        self.run_job(epochs=3, steps_per_epoch=10)
        data = tf.data.Dataset.from_tensor_slices((self.x, self.y)).batch(BATCH).repeat()
        self.model.fit(data, epochs=3, steps_per_epoch=10, verbose=0)
        self.assert_same_weights()


if __name__ == "__main__":
    results.main()
