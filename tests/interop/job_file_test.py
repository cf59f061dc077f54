"""Fields of the job file that have no argument of fit, with Keras as the judge."""

import json
import os
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
        model = cairn.model_files.write_model(self.twin, self.folder)
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
            self.twin, cairn.model_files.read_safetensors(f"{self.folder}/w.safetensors"))
        return status

    def assert_same_weights(self):
        for here, there in zip(self.twin.get_weights(), self.model.get_weights()):
            np.testing.assert_allclose(here, there, atol=1e-4)

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

    def test_steps_per_epoch_repeats_the_data(self):
        self.run_job(epochs=3, steps_per_epoch=10)
        data = tf.data.Dataset.from_tensor_slices((self.x, self.y)).batch(BATCH).repeat()
        self.model.fit(data, epochs=3, steps_per_epoch=10, verbose=0)
        self.assert_same_weights()


if __name__ == "__main__":
    results.main()
