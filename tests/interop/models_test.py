"""Jobs of several models, with custom loops of Keras (GradientTape) as the judge."""

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
BATCH, SEED = 8, 5
MASK = (1 << 64) - 1


def setUpModule():
    global cluster
    cluster = cairn.local(ps=2, workers=1)


def tearDownModule():
    if cluster is not None:
        cluster.close()


# Cairn's random numbers (common/random.h, worker/objective_steps.h), written again.


def mix(x):
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9 & MASK
    x = (x ^ x >> 27) * 0x94D049BB133111EB & MASK
    return x ^ x >> 31


def derive(parent, child):
    if isinstance(child, str):
        text, child = child, 0xCBF29CE484222325
        for byte in text.encode():
            child = (child ^ byte) * 0x100000001B3 & MASK
    mixed = mix(parent + 0x9E3779B97F4A7C15 & MASK)
    return mix(mixed ^ (child * 0xD1342543DE82EF95 + 1 & MASK))


def uniform(key, i):
    return (mix(key + (i + 1) * 0x9E3779B97F4A7C15 & MASK) >> 11) * 2.0**-53


def noise(batch, size, stream=0):
    key = derive(derive(derive(derive(SEED, "batch"), batch), "noise"), stream)
    values = [np.sqrt(-2 * np.log(1 - uniform(key, 2 * i))) *
              np.cos(2 * np.pi * uniform(key, 2 * i + 1)) for i in range(BATCH * size)]
    return np.array(values, "float32").reshape(BATCH, size)


class Models(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        keras.utils.set_random_seed(3)
        self.random = np.random.default_rng(1)

    def run_job(self, models, objectives, **fields):
        """Trains copies of the models by a job; returns them by name, and its last status."""
        files = {}
        for name, model in models.items():
            files[name] = f"{name}.keras"
            model.save(f"{self.folder}/{name}.keras")
        job = {"name": self.id().split(".")[-1], "models": files, "objectives": objectives,
               "batch_size": BATCH, "shuffle": False, "seed": SEED,
               "strategy": {"parameter_server": {"mode": "sync", "batches_per_update": 1}},
               **fields}
        path = f"{self.folder}/job.json"
        with open(path, "w", encoding="utf-8") as file:
            json.dump(job, file)
        status = cluster.tool.objects("submit", path, "--follow")[-1]
        trained = {}
        for name in models:
            output = f"{self.folder}/{name}-trained.keras"
            cluster.tool.run("export", str(status["job"]), "--model", name, "--output", output)
            trained[name] = keras.models.load_model(output, compile=False)
        return trained, status

    def assert_same_weights(self, trained, models):
        for name, model in models.items():
            before = keras.models.load_model(f"{self.folder}/{name}.keras", compile=False)
            moved = 0
            for here, there, first in zip(trained[name].weights, model.weights, before.weights):
                np.testing.assert_allclose(here.numpy(), there.numpy(), atol=1e-4,
                                           err_msg=f"{name}: {there.path}")
                moved = max(moved, np.abs(first.numpy() - there.numpy()).max())
            self.assertGreater(moved, 1e-3, f"{name} was trained")

    def test_dcgan(self):
        generator = keras.Sequential([
            keras.Input((16,)), layers.Dense(7 * 7 * 4, use_bias=False),
            layers.BatchNormalization(), layers.LeakyReLU(), layers.Reshape((7, 7, 4)),
            layers.Conv2DTranspose(4, 5, strides=2, padding="same", use_bias=False),
            layers.BatchNormalization(), layers.LeakyReLU(),
            layers.Conv2DTranspose(1, 5, padding="same", activation="sigmoid")])
        discriminator = keras.Sequential([
            keras.Input((14, 14, 1)), layers.Conv2D(4, 5, strides=2, padding="same"),
            layers.LeakyReLU(), layers.Conv2D(8, 5, strides=2, padding="same"),
            layers.BatchNormalization(), layers.LeakyReLU(), layers.Flatten(),
            layers.Dense(1, activation="sigmoid")])
        x = self.random.uniform(0, 1, (5 * BATCH, 14, 14, 1)).astype("float32")
        np.save(f"{self.folder}/x.npy", x)
        models = {"generator": generator, "discriminator": discriminator}
        fake = "discriminator(generator(noise(16)))"
        trained, status = self.run_job(models, [
            {"trains": ["discriminator"], "optimizer": {"name": "sgd", "learning_rate": 0.05},
             "losses": [{"of": "discriminator(data)", "target": 1,
                         "loss": "binary_crossentropy"},
                        {"of": fake, "target": 0, "loss": "binary_crossentropy"}]},
            {"trains": ["generator"],
             "optimizer": {"name": "adam", "learning_rate": 0.001, "beta_1": 0.5},
             "losses": [{"of": fake, "target": 1, "loss": "binary_crossentropy"}]},
        ], train={"npy": {"features": "x.npy"}}, steps=5)

        sgd = keras.optimizers.SGD(0.05)
        adam = keras.optimizers.Adam(0.001, beta_1=0.5)
        loss = keras.losses.BinaryCrossentropy()
        losses = []
        for batch in range(5):
            z = noise(batch, 16)
            with tf.GradientTape() as of_generator, tf.GradientTape() as of_discriminator:
                images = generator(z, training=True)
                real = discriminator(x[BATCH * batch:BATCH * (batch + 1)], training=True)
                made = discriminator(images, training=True)
                losses.append((loss(tf.ones_like(real), real) + loss(tf.zeros_like(made), made),
                               loss(tf.ones_like(made), made)))
            own = discriminator.trainable_variables
            sgd.apply_gradients(zip(of_discriminator.gradient(losses[-1][0], own), own))
            own = generator.trainable_variables
            adam.apply_gradients(zip(of_generator.gradient(losses[-1][1], own), own))
        self.assert_same_weights(trained, models)
        means = np.mean(losses, axis=0)
        self.assertAlmostEqual(status["discriminator_loss"], means[0], delta=1e-4)
        self.assertAlmostEqual(status["generator_loss"], means[1], delta=1e-4)
        self.assertAlmostEqual(status["loss"], means.sum(), delta=2e-4)

        z = noise(9, 16)
        np.save(f"{self.folder}/z.npy", z)
        cluster.tool.run("predict", str(status["job"]), "--model", "generator", "--input",
                         f"{self.folder}/z.npy", "--output", f"{self.folder}/made.npy")
        np.testing.assert_allclose(np.load(f"{self.folder}/made.npy"),
                                   generator(z, training=False), atol=1e-4)

    def test_two_discriminator_steps_per_generator_step(self):
        generator = keras.Sequential([keras.Input((8,)), layers.Dense(5, activation="tanh"),
                                      layers.Dense(4)])
        discriminator = keras.Sequential([keras.Input((4,)), layers.Dense(6, activation="tanh"),
                                          layers.Dense(1, activation="sigmoid")])
        x = self.random.normal(0, 1, (6 * BATCH, 4)).astype("float32")
        np.save(f"{self.folder}/x.npy", x)
        models = {"generator": generator, "discriminator": discriminator}
        fake = "discriminator(generator(noise(8)))"
        rate = {"name": "sgd", "learning_rate": 0.2}
        trained, _ = self.run_job(models, [
            {"trains": "discriminator", "optimizer": rate,
             "losses": [{"of": "discriminator(data)", "target": 1, "loss": "binary_crossentropy"},
                        {"of": fake, "target": 0, "loss": "binary_crossentropy"}]},
            {"trains": "generator", "every": 2, "optimizer": rate,
             "losses": [{"of": fake, "target": 1, "loss": "binary_crossentropy"}]},
        ], train={"npy": {"features": "x.npy"}}, steps=6)

        optimizers = [keras.optimizers.SGD(0.2) for _ in models]
        loss = keras.losses.BinaryCrossentropy()
        for batch in range(6):
            with tf.GradientTape() as of_generator, tf.GradientTape() as of_discriminator:
                real = discriminator(x[BATCH * batch:BATCH * (batch + 1)])
                made = discriminator(generator(noise(batch, 8)))
                apart = loss(tf.ones_like(real), real) + loss(tf.zeros_like(made), made)
                alike = loss(tf.ones_like(made), made)
            own = discriminator.trainable_variables, generator.trainable_variables
            gradients = of_discriminator.gradient(apart, own[0]), of_generator.gradient(alike, own[1])
            optimizers[0].apply_gradients(zip(gradients[0], own[0]))
            if batch % 2 == 1:
                optimizers[1].apply_gradients(zip(gradients[1], own[1]))
        self.assert_same_weights(trained, models)

    def test_three_models_one_in_every_second_update(self):
        encoder = keras.Sequential([keras.Input((6,)), layers.Dense(
            3, activation="tanh", kernel_regularizer=keras.regularizers.L2(0.01))])
        decoder = keras.Sequential([keras.Input((3,)), layers.Dense(6)])
        critic = keras.Sequential([keras.Input((6,)), layers.Dense(5, activation="tanh"),
                                   layers.Dense(1, activation="sigmoid")])
        x = self.random.normal(0, 1, (6 * BATCH, 6)).astype("float32")
        np.save(f"{self.folder}/x.npy", x)
        models = {"encoder": encoder, "decoder": decoder, "critic": critic}
        again = "decoder(encoder(data))"
        trained, _ = self.run_job(models, [
            {"name": "again", "trains": ["encoder", "decoder"], "optimizer": "adam",
             "losses": [{"of": again, "target": "data", "loss": "mean_squared_error",
                         "weight": 2},
                        {"of": f"critic({again})", "target": 1, "weight": 0.5,
                         "loss": {"name": "binary_crossentropy", "label_smoothing": 0.2}}]},
            {"trains": ["critic"], "every": 2,
             "optimizer": {"name": "sgd", "learning_rate": 0.1, "momentum": 0.9},
             "losses": [{"of": "critic(data)", "target": 1, "loss": "binary_crossentropy"},
                        {"of": f"critic({again})", "target": 0,
                         "loss": "binary_crossentropy"}]},
        ], train={"npy": {"features": "x.npy"}}, steps=6)

        adam, sgd = keras.optimizers.Adam(), keras.optimizers.SGD(0.1, momentum=0.9)
        loss = keras.losses.BinaryCrossentropy()
        smooth = keras.losses.BinaryCrossentropy(label_smoothing=0.2)
        for batch in range(6):
            data = x[BATCH * batch:BATCH * (batch + 1)]
            with tf.GradientTape() as first, tf.GradientTape() as second:
                copy = decoder(encoder(data))
                real, made = critic(data), critic(copy)
                of_copy = (2 * keras.losses.MeanSquaredError()(data, copy) +
                           0.5 * smooth(tf.ones_like(made), made) + sum(encoder.losses))
                of_critic = loss(tf.ones_like(real), real) + loss(tf.zeros_like(made), made)
            own = encoder.trainable_variables + decoder.trainable_variables
            gradients = second.gradient(of_critic, critic.trainable_variables)
            adam.apply_gradients(zip(first.gradient(of_copy, own), own))
            if batch % 2 == 1:
                sgd.apply_gradients(zip(gradients, critic.trainable_variables))
        self.assert_same_weights(trained, models)

    def test_labels(self):
        classifier = keras.Sequential([keras.Input((4,)), layers.Dense(3, activation="softmax")])
        x = self.random.normal(0, 1, (3 * BATCH, 4)).astype("float32")
        y = self.random.integers(0, 3, (3 * BATCH, 1)).astype("int32")
        np.save(f"{self.folder}/x.npy", x)
        np.save(f"{self.folder}/y.npy", y)
        models = {"classifier": classifier}
        trained, _ = self.run_job(models, [
            {"trains": ["classifier"], "optimizer": {"name": "sgd", "learning_rate": 0.1},
             "losses": [{"of": "classifier(data)", "target": "labels",
                         "loss": "sparse_categorical_crossentropy"}]},
        ], train={"npy": {"features": "x.npy", "labels": "y.npy"}}, epochs=1)
        classifier.compile(keras.optimizers.SGD(0.1), "sparse_categorical_crossentropy")
        classifier.fit(x, y, batch_size=BATCH, epochs=1, shuffle=False, verbose=0)
        self.assert_same_weights(trained, models)


if __name__ == "__main__":
    results.main()
