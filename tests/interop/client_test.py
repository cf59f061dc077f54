"""The package `cairn`: scripts for Keras with two changed lines, its arguments and its errors."""

import contextlib
import functools
import io
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import cairn  # noqa: E402
import client  # noqa: E402
import keras  # noqa: E402
import numpy as np  # noqa: E402
import results  # noqa: E402
import tensorflow as tf  # noqa: E402
from client import examples, network, same_as_keras  # noqa: E402
from keras import layers  # noqa: E402

FOLDER = pathlib.Path(__file__).resolve().parent
cluster = None


def setUpModule():
    global cluster
    cluster = client.start()


class Scripts(unittest.TestCase):
    """Run as they are, and with `import cairn` and `cluster.fit`."""

    def compare(self, name):
        script = (FOLDER / "scripts" / name).read_text()
        changed = "import cairn\n" + script.replace("model.fit(", "cluster.fit(model, ")
        self.assertIn("cluster.fit(model, ", changed)
        accuracies = []
        for text in (script, changed):
            names = {"cluster": cluster}
            exec(compile(text, name, "exec"), names)
            accuracies.append(names["accuracy"])
        print(f"{name}: accuracy of Keras {accuracies[0]:.4f}, of Cairn {accuracies[1]:.4f}")
        self.assertLess(abs(accuracies[0] - accuracies[1]), 0.01)
        self.assertGreater(accuracies[0], 0.8)

    def test_fashion_mnist_mlp(self):
        self.compare("fashion_mnist_mlp.py")

    def test_fashion_mnist_cnn(self):
        self.compare("fashion_mnist_cnn.py")

    def test_wide_and_deep(self):
        self.compare("wide_and_deep.py")

    def test_cifar_cnn(self):
        self.compare("cifar_cnn.py")

    def test_transfer_learning(self):
        self.compare("transfer_learning.py")

    def test_text_classification(self):
        self.compare("text_classification.py")


class Fit(unittest.TestCase):
    def test_strategies(self):
        x, y = examples()
        for arguments in ({"strategy": "async"}, {"strategy": "stale", "window": 4},
                          {"strategy": "sync", "batches_per_update": 4}):
            with self.subTest(**arguments):
                history = cluster.fit(network(), x, y, batch_size=64, epochs=2, verbose=0,
                                      **arguments)
                self.assertIsInstance(history, keras.callbacks.History)
                self.assertEqual(history.epoch, [0, 1])
                self.assertEqual(sorted(history.history), ["accuracy", "loss"])

    def test_workers_share_a_batch(self):
        """With two workers the numbers are those of Keras."""
        x, y = examples()
        model = network()
        twin = keras.models.clone_model(model)
        twin.compile(optimizer="adam", loss="sparse_categorical_crossentropy",
                     metrics=["accuracy"])
        twin.set_weights(model.get_weights())
        there = twin.fit(x, y, batch_size=64, epochs=2, shuffle=False, verbose=0).history
        here = cluster.fit(model, x, y, batch_size=64, epochs=2, shuffle=False, verbose=0).history
        np.testing.assert_allclose(here["loss"], there["loss"], atol=1e-4)
        for ours, theirs in zip(model.get_weights(), twin.get_weights()):
            np.testing.assert_allclose(ours, theirs, atol=1e-4)
        there = twin.evaluate(x, y, verbose=0, return_dict=True)
        here = cluster.evaluate(model, x, y, verbose=0, return_dict=True)
        for key in there:
            self.assertAlmostEqual(here[key], there[key], delta=1e-4)

    def test_the_optimizer_continues_in_the_next_fit(self):
        """Until the model is compiled: then it starts anew."""
        x, y = examples()
        rates = keras.callbacks.LearningRateScheduler(lambda epoch, rate: [0.01, 0.002][epoch])
        for optimizer in ("adam", {"class_name": "SGD", "config": {"momentum": 0.9}}):
            with self.subTest(optimizer=optimizer):
                model = network(optimizer=keras.optimizers.get(optimizer))
                twin = network(optimizer=keras.optimizers.get(optimizer))
                twin.set_weights(model.get_weights())
                fit = {"batch_size": 64, "shuffle": False, "verbose": 0}
                for more in ({"epochs": 1}, {"epochs": 2, "callbacks": [rates]}, {"epochs": 1}):
                    twin.fit(x, y, **fit, **more)
                    cluster.fit(model, x, y, **fit, **more)
                    for ours, theirs in zip(model.get_weights(), twin.get_weights()):
                        np.testing.assert_allclose(ours, theirs, atol=1e-4)
                for each in (model, twin):
                    each.compile(optimizer=keras.optimizers.get(optimizer),
                                 loss="sparse_categorical_crossentropy", metrics=["accuracy"])
                    (each.fit if each is twin else
                     lambda *args, each=each, **kwargs: cluster.fit(each, *args, **kwargs))(
                         x, y, epochs=1, **fit)
                for ours, theirs in zip(model.get_weights(), twin.get_weights()):
                    np.testing.assert_allclose(ours, theirs, atol=1e-4)

    def test_what_an_earlier_compile_gave_is_kept(self):
        x, y = examples(64)
        for again in ({"optimizer": "sgd", "loss": "sparse_categorical_crossentropy"},
                      {"optimizer": "sgd"}, {"optimizer": "sgd", "metrics": []}):
            model, twin = network(metrics=["accuracy"]), network(metrics=["accuracy"])
            twin.set_weights(model.get_weights())
            for each in model, twin:
                each.compile(**again)
            there = twin.fit(x, y, batch_size=32, shuffle=False, verbose=0).history
            here = cluster.fit(model, x, y, batch_size=32, shuffle=False, verbose=0).history
            self.assertEqual(sorted(here), sorted(there))
            for key in there:
                np.testing.assert_allclose(here[key], there[key], atol=1e-4)

    def test_updates_are_counted_as_by_the_job(self):
        """An epoch of 3 batches has 2 updates if an update has 2 batches."""
        x, y = examples(33)
        fit = {"batch_size": 32, "shuffle": False, "verbose": 0}
        model, twin = network(), network()
        twin.set_weights(model.get_weights())
        rates = keras.callbacks.LearningRateScheduler(lambda epoch: [0.01, 0.1, 0.02, 0.05][epoch])
        for epochs in 4, 3:
            twin.fit(x, y, epochs=epochs, callbacks=[rates], **fit)
            cluster.fit(model, x, y, epochs=epochs, callbacks=[rates], batches_per_update=2, **fit)
            self.assertEqual(float(model.optimizer.learning_rate),
                             float(twin.optimizer.learning_rate))
            self.assertEqual(int(model.optimizer.iterations), int(twin.optimizer.iterations))
            for ours, theirs in zip(model.get_weights(), twin.get_weights()):
                np.testing.assert_allclose(ours, theirs, atol=1e-4)

    def test_a_schedule_of_the_script(self):
        """It has no get_config, and its updates are counted from fit to fit."""
        class Warmup(keras.optimizers.schedules.LearningRateSchedule):
            def __init__(self, scale=1.0):
                self._scale = scale

            def __call__(self, step):
                step = keras.ops.cast(step, "float32")
                return self._scale * keras.ops.minimum(keras.ops.rsqrt(step + 1), step / 8)

        x, y = examples(100)
        model, twin = network(), network()
        twin.set_weights(model.get_weights())
        fit = {"batch_size": 32, "shuffle": False, "verbose": 0}
        for each in model, twin:
            each.compile(keras.optimizers.SGD(Warmup()), "sparse_categorical_crossentropy")
        for epochs in 2, 1:
            twin.fit(x, y, epochs=epochs, **fit)
            cluster.fit(model, x, y, epochs=epochs, **fit)
            for ours, theirs in zip(model.get_weights(), twin.get_weights()):
                np.testing.assert_allclose(ours, theirs, atol=1e-4)
        model.compile(keras.optimizers.SGD(Warmup(float("nan"))), "sparse_categorical_crossentropy")
        with self.assertRaisesRegex(cairn.NotSupported, "schedule Warmup returns nan for update 0"):
            cluster.fit(model, x, y, **fit)

    def test_the_rate_of_the_last_epoch_stays(self):
        x, y = examples()
        model = network()
        rates = keras.callbacks.LearningRateScheduler(lambda epoch: [0.01, 0.02, 0.03][epoch])
        history = cluster.fit(model, x, y, batch_size=64, epochs=3, verbose=0, callbacks=[
            rates, keras.callbacks.EarlyStopping("loss", mode="max", patience=5,
                                                 restore_best_weights=True)])
        self.assertEqual(len(history.epoch), 3)
        self.assertEqual(int(model.optimizer.iterations), 30)
        self.assertAlmostEqual(float(model.optimizer.learning_rate), 0.03)

    def test_the_optimizer_starts_anew_where_it_cannot_continue(self):
        """Keras has no moments for a momentum that is set behind its first update, and fails."""
        x, y = examples()
        model = network(optimizer=keras.optimizers.SGD())
        cluster.fit(model, x, y, batch_size=64, epochs=1, verbose=0)
        model.optimizer.momentum = 0.9
        with self.assertWarnsRegex(UserWarning, "the optimizer starts anew: .*it lacks optimizer/momentum/"):
            cluster.fit(model, x, y, batch_size=64, epochs=1, verbose=0)

    def test_texts_are_looked_up_by_keras(self):
        """A layer that was not adapted adapts to the rows that are trained."""
        random = np.random.default_rng(3)
        city = random.choice(["Bern", "Oslo", "Rome"], 100)
        city[90:] = "Lima"  # Of the validation rows, which nothing adapts to.
        size, y = random.random((100, 1)).astype("float32"), random.random((100, 1))

        def make(lookup):
            inputs = [keras.Input((1,), dtype="string", name="city"), keras.Input((1,), name="size")]
            ids = layers.Flatten()(layers.Embedding(5, 3)(lookup(inputs[0])))
            model = keras.Model(inputs, layers.Dense(1)(layers.Concatenate()([ids, inputs[1]])))
            model.compile(optimizer="sgd", loss="mse")
            return model

        adapted = layers.StringLookup()
        adapted.adapt(city[:90].astype(object))
        twin, lookup = make(adapted), layers.StringLookup()
        model = make(lookup)
        twin.set_weights(model.get_weights())
        fit = {"batch_size": 30, "epochs": 2, "shuffle": False, "verbose": 0}
        there = twin.fit([tf.constant(city[:90, None]), size[:90]], y[:90], **fit,
                         validation_data=([tf.constant(city[90:, None]), size[90:]], y[90:]))
        here = cluster.fit(model, [city, size], y, validation_split=0.1, **fit)
        self.assertEqual(lookup.get_vocabulary(), adapted.get_vocabulary())
        for key in there.history:
            np.testing.assert_allclose(here.history[key], there.history[key], atol=1e-4)
        expected = model.predict([tf.constant(city[:, None]), size], verbose=0)
        np.testing.assert_allclose(cluster.predict(model, [city, size]), expected, atol=1e-5)

    def test_gradients_that_the_optimizer_accumulates(self):
        x, y = examples()
        for optimizer in (keras.optimizers.Adam(0.01, gradient_accumulation_steps=4),
                          keras.optimizers.SGD(0.1, momentum=0.9, clipnorm=0.1, weight_decay=0.01,
                                               gradient_accumulation_steps=2)):
            for callbacks in [], [keras.callbacks.LambdaCallback(on_epoch_end=lambda *_: None)]:
                compiled = {"optimizer": type(optimizer).from_config(optimizer.get_config()),
                            "loss": "sparse_categorical_crossentropy", "metrics": ["accuracy"]}
                same_as_keras(self, network(), compiled, x, y, epochs=3, callbacks=callbacks)

    def test_workers_share_the_steps_of_an_epoch(self):
        """Of 70 examples the last batch has 6, which two workers share if they can."""
        x, y = examples(70)
        model = network()
        twin = keras.models.clone_model(model)
        twin.compile(optimizer="adam", loss="sparse_categorical_crossentropy",
                     metrics=["accuracy"])
        twin.set_weights(model.get_weights())
        for batch_size, steps in ((16, 2), (16, 1), (64, 2), (None, 4)):
            fit = {"batch_size": batch_size, "steps_per_epoch": steps, "epochs": 5,
                   "initial_epoch": 3, "shuffle": False, "verbose": 0}
            there = twin.fit(x, y, **fit)
            here = cluster.fit(model, x, y, **fit)
            self.assertEqual(here.epoch, there.epoch)
            self.assertEqual(here.epoch, [3, 4])
            np.testing.assert_allclose(here.history["loss"], there.history["loss"], atol=1e-4)

    def test_steps_of_evaluate_and_predict(self):
        x, y = examples(100)
        model = network()
        cluster.fit(model, x, y, batch_size=50, verbose=0)
        for batch_size, steps in ((30, 1), (30, 2), (30, 50), (None, 2)):
            some = {"batch_size": batch_size, "steps": steps}
            np.testing.assert_allclose(cluster.evaluate(model, x, y, **some, verbose=0),
                                       model.evaluate(x, y, **some, verbose=0), atol=1e-4)
            np.testing.assert_allclose(cluster.predict(model, x, **some),
                                       model.predict(x, **some, verbose=0), atol=1e-4)

    def test_progress_is_printed_as_keras_prints_it(self):
        x, y = examples()
        output = io.StringIO()
        with contextlib.redirect_stdout(output):
            cluster.fit(network(), x, y, batch_size=64, epochs=2, verbose=2, validation_split=0.25)
        self.assertRegex(output.getvalue(), r"Epoch 1/2\n8/8 - .* - accuracy: \d\.\d+ - loss: "
                                            r"\d\.\d+ - val_accuracy: \d\.\d+ - val_loss: \d\.\d+")

    def test_files_in_place_of_arrays(self):
        x, y = examples()
        with tempfile.TemporaryDirectory() as folder:
            np.save(f"{folder}/x0.npy", x[:320])
            np.save(f"{folder}/x1.npy", x[320:])
            np.save(f"{folder}/y.npy", y)
            history = cluster.fit(network(), f"{folder}/x*.npy", f"{folder}/y.npy", batch_size=64,
                                  validation_split=0.5, verbose=0)
        self.assertIn("val_loss", history.history)

    def test_model_checkpoint_writes_the_best_model(self):
        x, y = examples()
        with tempfile.TemporaryDirectory() as folder:
            path = f"{folder}/best.keras"
            model = network()
            history = cluster.fit(model, x, y, batch_size=64, epochs=3, verbose=0,
                                  callbacks=[keras.callbacks.ModelCheckpoint(
                                      path, monitor="loss", save_best_only=True)])
            saved = keras.saving.load_model(path)
        self.assertEqual(int(np.argmin(history.history["loss"])), 2)
        for ours, theirs in zip(model.get_weights(), saved.get_weights()):
            np.testing.assert_array_equal(ours, theirs)

    def test_several_outputs(self):
        x, y = examples()
        inputs = keras.Input((8,))
        model = keras.Model(inputs, [layers.Dense(2, activation="softmax", name="kind")(inputs),
                                     layers.Dense(1, name="size")(inputs)])
        model.compile("sgd", {"kind": "sparse_categorical_crossentropy", "size": "mse"},
                      metrics={"kind": ["accuracy"], "size": ["mae"]},
                      loss_weights={"kind": 1.0, "size": 0.5})
        twin = keras.models.clone_model(model)
        twin.set_weights(model.get_weights())
        twin.compile("sgd", {"kind": "sparse_categorical_crossentropy", "size": "mse"},
                     metrics={"kind": ["accuracy"], "size": ["mae"]},
                     loss_weights={"kind": 1.0, "size": 0.5})
        labels = {"kind": y, "size": x.sum(1)}
        here = cluster.fit(model, x, labels, batch_size=64, shuffle=False, verbose=0).history
        there = twin.fit(x, labels, batch_size=64, shuffle=False, verbose=0).history
        self.assertEqual(sorted(here), sorted(there))
        for key in there:
            np.testing.assert_allclose(here[key], there[key], atol=1e-4, err_msg=key)


class Callbacks(unittest.TestCase):
    def fit(self, *callbacks, **fit):
        x, y = examples()
        model = network()
        arguments = {"batch_size": 64, "shuffle": False, "verbose": 0, "validation_split": 0.25}
        return model, cluster.fit(model, x, y, callbacks=list(callbacks), **{**arguments, **fit})

    def test_own_callbacks_see_each_epoch(self):
        x, y = examples()
        x, y = x[480:], y[480:]

        class Own(keras.callbacks.Callback):
            def on_train_begin(self, logs=None):
                self.seen, self.losses, self.validated = [], [], []

            def on_batch_end(self, batch, logs=None):
                self.losses.append(logs["loss"])

            def on_test_end(self, logs=None):
                self.validated.append(logs["loss"])

            def on_epoch_end(self, epoch, logs=None):
                loss = self.model.evaluate(x, y, verbose=0, return_dict=True)["loss"]
                self.seen.append((epoch, loss, int(self.model.optimizer.iterations)))

            def on_train_end(self, logs=None):
                self.ended = True

        own = Own()
        _, history = self.fit(own, epochs=3)
        self.assertEqual([(each[0], each[2]) for each in own.seen], [(0, 8), (1, 16), (2, 24)])
        np.testing.assert_allclose([each[1] for each in own.seen], history.history["val_loss"],
                                   atol=1e-5)
        self.assertEqual(own.validated, history.history["val_loss"])
        self.assertEqual(own.losses[7::8], history.history["loss"])
        self.assertEqual(len(own.losses), 24)
        self.assertTrue(own.ended)

    def test_an_own_callback_stops_the_training(self):
        """The model has the weights of that epoch, although the job was ahead of it."""
        x, y = examples()
        seen = {}

        class Stop(keras.callbacks.Callback):
            def on_epoch_end(self, epoch, logs=None):
                seen[epoch] = self.model.get_weights()
                self.model.stop_training = epoch == 3

        model, history = self.fit(Stop(), epochs=100)
        self.assertEqual(history.epoch, [0, 1, 2, 3])
        for ours, theirs in zip(model.get_weights(), seen[3]):
            np.testing.assert_array_equal(ours, theirs)
        np.testing.assert_allclose(cluster.predict(model, x), model.predict(x, verbose=0), atol=1e-5)

    def test_own_callbacks_set_the_rate(self):
        """At the begin of the training, the begin of an epoch, its end, and where Keras's would."""
        class OfTraining(keras.callbacks.Callback):
            def on_train_begin(self, logs=None):
                self.model.optimizer.learning_rate = 0.03

        class OfEpochs(keras.callbacks.Callback):
            def on_epoch_begin(self, epoch, logs=None):
                self.model.optimizer.learning_rate = 0.1 / (1 + epoch)

        class OfResults(keras.callbacks.Callback):
            def on_epoch_end(self, epoch, logs=None):
                if epoch % 2:
                    rate = self.model.optimizer.learning_rate
                    self.model.optimizer.learning_rate = rate * min(0.5, logs["val_loss"])

        class Plateau(keras.callbacks.ReduceLROnPlateau):
            pass

        def stopping():
            return keras.callbacks.EarlyStopping("loss", patience=1, baseline=0.0, start_from_epoch=2,
                                                 restore_best_weights=True)

        for make in (lambda: [OfTraining()], lambda: [OfEpochs()], lambda: [OfResults()],
                     lambda: [Plateau("loss", patience=1, min_delta=0.1, factor=0.5)],
                     lambda: [OfEpochs(), OfResults()], lambda: [OfEpochs(), stopping()]):
            names = [type(each).__name__ for each in make()]
            for optimizer in keras.optimizers.SGD(0.05, momentum=0.9), keras.optimizers.Adam(0.02):
                with self.subTest(callbacks=names, optimizer=optimizer.name):
                    self.compare_with_keras(make, optimizer.get_config(), type(optimizer))

    def compare_with_keras(self, make_callbacks, config, optimizer):
        x, y = examples()
        start = network().get_weights()
        models, histories = [], []
        for on_cluster in True, False:
            model = network(optimizer=optimizer.from_config(config))
            model.set_weights(start)
            fit = functools.partial(cluster.fit, model) if on_cluster else model.fit
            histories.append(fit(x, y, batch_size=64, shuffle=False, verbose=0, epochs=5,
                                 validation_split=0.25, callbacks=make_callbacks()))
            models.append(model)
        here, there = histories
        self.assertEqual(here.epoch, there.epoch)
        self.assertEqual(list(here.history), list(there.history))
        for key, values in there.history.items():
            np.testing.assert_allclose(here.history[key], values, atol=1e-4, err_msg=key)
        ours, theirs = models
        for our, their in zip(ours.get_weights(), theirs.get_weights()):
            np.testing.assert_allclose(our, their, atol=1e-4)
        for name in "learning_rate", "iterations":
            self.assertEqual(float(getattr(ours.optimizer, name)),
                             float(getattr(theirs.optimizer, name)), name)
        np.testing.assert_allclose(cluster.predict(ours, x), ours.predict(x, verbose=0), atol=1e-5)

    def test_an_own_early_stopping_keeps_its_results(self):
        class Own(keras.callbacks.EarlyStopping):
            pass

        own = Own("loss", mode="max", patience=1)
        _, history = self.fit(own, keras.callbacks.EarlyStopping("loss", patience=50), epochs=5)
        self.assertEqual((own.best_epoch, own.stopped_epoch), (0, 1))
        self.assertEqual(history.epoch, [0, 1])

    def test_model_checkpoint_writes_a_file_of_each_epoch(self):
        x, y = examples()
        with tempfile.TemporaryDirectory() as folder:
            _, history = self.fit(keras.callbacks.ModelCheckpoint(folder + "/{epoch}.keras"),
                                  epochs=2)
            for epoch in 1, 2:
                saved = keras.saving.load_model(f"{folder}/{epoch}.keras")
                loss = saved.evaluate(x[480:], y[480:], verbose=0)[0]
                self.assertAlmostEqual(loss, history.history["val_loss"][epoch - 1], delta=1e-5)

    def test_metrics_that_are_no_means_are_there_for_each_epoch(self):
        x, y = examples()
        weights = np.where(y == 1, 3.0, 1.0)
        inputs = keras.Input((8,))
        model = keras.Model(inputs, layers.Dense(1, activation="sigmoid")(inputs))
        compiled = {"optimizer": "sgd", "loss": "binary_crossentropy", "metrics": ["auc", "accuracy"],
                    "weighted_metrics": ["accuracy", "precision"]}
        same_as_keras(self, model, compiled, x, y, sample_weight=weights, epochs=3,
                      validation_data=(x[:99], y[:99], weights[:99]))

    def test_metrics_that_are_vectors(self):
        x, y = examples(128)
        labels = np.eye(3, dtype="float32")[y + (x[:, 0] > 0.5)]
        inputs = keras.Input((8,))
        model = keras.Model(inputs, layers.Dense(3, activation="softmax")(inputs))
        compiled = {"optimizer": "sgd", "loss": "categorical_crossentropy", "metrics": [
            keras.metrics.F1Score(), keras.metrics.FBetaScore(beta=2.0, threshold=0.3),
            keras.metrics.Precision(thresholds=[0.2, 0.4], class_id=1, name="p"), "accuracy",
            keras.metrics.Recall([0.3, 0.4, 0.5]),
            keras.metrics.R2Score(class_aggregation=None)]}
        there = same_as_keras(self, model, compiled, x, labels, epochs=2,
                              validation_data=(x[:50], labels[:50]))
        self.assertEqual(np.shape(there["val_f1_score"]), (2, 3))
        ours = cluster.evaluate(model, x[:32], labels[:32], return_dict=True, verbose=0)
        for _ in range(2):  # In the first call Keras counts the labels of its trace, too.
            theirs = model.evaluate(x[:32], labels[:32], return_dict=True, verbose=0)
        self.assertEqual(sorted(ours), sorted(theirs))
        for name, value in theirs.items():
            np.testing.assert_allclose(ours[name], value, atol=1e-4, err_msg=name)

    def test_callbacks_before_and_behind_a_reduction_of_the_rate(self):
        """Keras adds the rate to the logs where ReduceLROnPlateau is in the list."""
        x, y = examples()
        found = []
        for fit in network().fit, lambda *args, **kwargs: cluster.fit(network(), *args, **kwargs):
            seen = []

            def see(_, logs):
                seen.append(list(logs))

            history = fit(x, y, epochs=2, verbose=0, validation_split=0.5, callbacks=[
                keras.callbacks.LambdaCallback(on_epoch_end=see),
                keras.callbacks.ReduceLROnPlateau(patience=5),
                keras.callbacks.LambdaCallback(on_epoch_end=see)])
            found.append((seen, list(history.history)))
        self.assertEqual(*found)
        self.assertEqual(found[0][1][-2:], ["val_loss", "learning_rate"])


class Errors(unittest.TestCase):
    def refused(self, text, model=None, **fit):
        x, y = examples()
        with self.assertRaises(cairn.NotSupported) as caught:
            cluster.fit(model or network(), fit.pop("x", x), fit.pop("y", y), verbose=0, **fit)
        self.assertIn(text, str(caught.exception))

    def test_what_a_job_file_cannot_express_is_refused_by_name(self):
        self.refused("nothing to train", initial_epoch=1)
        self.refused("has a schedule already", network(optimizer=keras.optimizers.SGD(
            keras.optimizers.schedules.ExponentialDecay(0.1, 1, 0.5))),
            callbacks=[keras.callbacks.LearningRateScheduler(lambda epoch: 0.1)])
        self.refused("save_freq", callbacks=[keras.callbacks.ModelCheckpoint("a.keras",
                                                                             save_freq=10)])
        self.refused("optimizer Adafactor ", network(optimizer=keras.optimizers.Adafactor()))
        self.refused("are no multiple of 3 batches", network(
            optimizer=keras.optimizers.SGD(gradient_accumulation_steps=3)))
        self.refused("gradient_accumulation_steps with use_ema", network(
            optimizer=keras.optimizers.SGD(gradient_accumulation_steps=2, use_ema=True)))
        self.refused("gradient_accumulation_steps with use_ema, or with a schedule", network(
            optimizer=keras.optimizers.SGD(keras.optimizers.schedules.CosineDecay(0.1, 10),
                                           gradient_accumulation_steps=2)))
        self.refused("not supported with a strategy other than 'sync'", network(
            optimizer=keras.optimizers.SGD(gradient_accumulation_steps=2)), strategy="async")
        self.refused("reduction", network(
            loss=keras.losses.SparseCategoricalCrossentropy(reduction=None)))
        self.refused("remove_diagonal", network(loss=keras.losses.Circle(remove_diagonal=False)))
        self.refused("from_sorted_ids", network(
            metrics=[keras.metrics.SparseTopKCategoricalAccuracy(1, from_sorted_ids=True)]))
        self.refused("metric lambda returns a float", network(metrics=[lambda y, p: 0.0]))
        self.refused("that is empty", x=iter([]), y=None)
        self.refused("texts need a layer that looks them up", x=np.array([["a text"]] * 8))
        self.refused("'stale' needs a window", strategy="stale")
        self.refused("there are 'sync', 'async' and 'stale'", strategy="mirrored")

    def test_a_dataset_is_read_once_as_its_arrays(self):
        x, y = examples(50)
        start = network().get_weights()

        class Batches(keras.utils.PyDataset):
            def __len__(self):
                return 4

            def __getitem__(self, i):
                return x[16 * i:16 * i + 16], y[16 * i:16 * i + 16]

        def trained(*data, **fit):
            model = network()
            model.set_weights(start)
            cluster.fit(model, *data, epochs=2, shuffle=False, verbose=0, **fit)
            return model, model.get_weights()

        _, expected = trained(x, y, batch_size=16)
        batches = tf.data.Dataset.from_tensor_slices((x, y)).batch(16)
        for dataset in Batches(), batches:
            model, weights = trained(dataset, validation_data=dataset)
            for here, there in zip(weights, expected):
                np.testing.assert_array_equal(here, there)
            self.assertEqual(cluster.evaluate(model, dataset, verbose=0),
                             cluster.evaluate(model, x, y, verbose=0))
            self.assertEqual(cluster.predict(model, dataset).shape, (50, 2))
        self.refused("it needs steps_per_epoch", x=batches.repeat(), y=None)
        self.refused("y is given", x=batches)
        self.refused("a dataset of examples", x=tf.data.Dataset.from_tensor_slices((x, y)),
                     y=None)

    def test_python_that_the_cluster_cannot_run_is_refused(self):
        class Loop(keras.Sequential):
            def compute_metrics(self, *data, **more):
                return super().compute_metrics(*data, **more)

        def with_layers(*own, kind=keras.Sequential):
            model = kind([keras.Input((8,)), *own, layers.Dense(2, activation="softmax")])
            model.compile("sgd", "sparse_categorical_crossentropy")
            return model

        class Named(layers.Layer):
            def build(self, shape):
                self.inner = layers.Dense(8, name="inner")

            def call(self, x):
                return self.inner(x)

        class Test(keras.Sequential):
            def test_step(self, data):
                return super().test_step(data)

        self.refused("its constraint is Python code of the script", with_layers(
            layers.Dense(4, kernel_constraint=lambda w: w * 0.9)))
        self.refused('"inner" is used 2 times', with_layers(Named(), Named()))
        self.refused("its own compute_metrics", with_layers(kind=Loop))
        self.refused("its own test_step", with_layers(kind=Test), validation_split=0.5)
        inputs = keras.Input((8,))
        model = keras.Model(inputs, layers.Dense(2, activation="softmax")(keras.ops.arctan(inputs)))
        model.compile("sgd", "sparse_categorical_crossentropy")
        self.refused("computes Arctan (arctan", model)
        left = set(os.listdir(cluster._data.folder))
        model = keras.Model(inputs, layers.Dense(2, activation="softmax")(
            keras.ops.max(layers.Reshape((4, 2))(inputs), axis=1, initial=0.0)))
        model.compile("sgd", "sparse_categorical_crossentropy")
        self.refused("its argument initial is 0.0", model)
        self.assertEqual(set(os.listdir(cluster._data.folder)), left)

        def own(**methods):
            return [type("Own", (keras.callbacks.Callback,), methods)()]

        def set_rate(self, epoch, logs=None):
            self.model.optimizer.learning_rate = 0.5

        def set_weights(self, epoch=0, logs=None):
            self.model.set_weights([weight + 1 for weight in self.model.get_weights()])

        rate = "callback Own sets the optimizer's learning rate, "
        for reason, others in (("which ReduceLROnPlateau sets",
                                keras.callbacks.ReduceLROnPlateau("loss")),
                               ("which LearningRateScheduler sets",
                                keras.callbacks.LearningRateScheduler(lambda epoch: 0.1)),
                               ("and EarlyStopping monitors accuracy: give it a mode",
                                keras.callbacks.EarlyStopping("accuracy"))):
            self.refused(rate + reason, callbacks=[*own(on_epoch_begin=set_rate), others])
        self.refused(rate + "and an epoch of steps_per_epoch=3 ends within a pass",
                     callbacks=own(on_epoch_begin=set_rate), steps_per_epoch=3, batch_size=16)
        self.refused(rate + "and the optimizer has use_ema=True", network(
            optimizer=keras.optimizers.SGD(use_ema=True)), callbacks=own(on_epoch_begin=set_rate))
        self.refused("callback Own sets the model's weights",
                     callbacks=own(on_epoch_end=set_weights), epochs=3)
        for method in "on_epoch_begin", "on_train_batch_end":
            self.refused("callback Own sets the model's weights",
                         callbacks=own(**{method: set_weights}))
        self.refused("callback Own sets the model's weights",
                     callbacks=own(on_train_begin=lambda self, logs=None: set_weights(self)))
        self.refused("batches of a validation", callbacks=own(on_test_batch_end=set_rate))
        self.assertEqual({job["state"] for job in cluster.tool.objects("jobs")} &
                         {"running", "queued"}, set())

    def test_callbacks_that_observe_get_the_logs_of_each_epoch(self):
        x, y = examples()
        seen = []
        with tempfile.TemporaryDirectory() as folder:
            history = cluster.fit(
                network(), x, y, epochs=3, verbose=0, validation_split=0.5, callbacks=[
                    keras.callbacks.LambdaCallback(
                        on_epoch_end=lambda epoch, logs: seen.append((epoch, logs["val_loss"]))),
                    keras.callbacks.BackupAndRestore(os.path.join(folder, "backup"))])
        self.assertEqual(seen, list(enumerate(history.history["val_loss"])))

    def test_a_callback_without_a_list(self):
        x, y = examples()
        history = cluster.fit(network(), x, y, epochs=3, verbose=0,
                              callbacks=keras.callbacks.EarlyStopping("loss", min_delta=100))
        self.assertEqual(len(history.epoch), 2)

    def test_a_model_that_cannot_be_trained_names_layer_and_job_file(self):
        model = keras.Sequential([keras.Input((8,)), layers.SpectralNormalization(layers.Dense(2))])
        model.compile("sgd", "mse")
        x, y = examples()
        with self.assertRaises(cairn.CairnError) as caught:
            cluster.fit(model, x, np.stack([y, y], 1), verbose=0)
        self.assertIn("SpectralNormalization", str(caught.exception))
        self.assertTrue(os.path.exists(caught.exception.job_file))

    def test_wrong_data(self):
        x, y = examples()
        with self.assertRaises(cairn.CairnError) as caught:
            cluster.fit(network(), x, y + 5, verbose=0)
        self.assertIn("label", str(caught.exception))

    def test_evaluate_takes_the_model_as_it_is(self):
        """Not as it was after fit."""
        x, y = examples()
        model = network()
        np.testing.assert_allclose(cluster.evaluate(model, x, y, verbose=0),
                                   model.evaluate(x, y, verbose=0), atol=1e-4)
        cluster.fit(model, x, y, verbose=0)
        model.set_weights([weight + 1 for weight in model.get_weights()])
        np.testing.assert_allclose(cluster.predict(model, x), model.predict(x, verbose=0), atol=1e-5)

    def test_an_own_predict_step_is_refused(self):
        class Own(keras.Sequential):
            def predict_step(self, data):
                return 2 * super().predict_step(data)

        x, y = examples()
        model = Own([keras.Input((8,)), layers.Dense(2, activation="softmax")])
        model.compile("sgd", "sparse_categorical_crossentropy")
        cluster.fit(model, x, y, verbose=0)
        with self.assertRaisesRegex(cairn.NotSupported, "its own predict_step"):
            cluster.predict(model, x)

    def test_without_a_data_folder_arrays_are_refused(self):
        address = cluster.tool.objects("up")[0]["coordinator"]
        x, y = examples()
        with cairn.connect(address) as connected:
            with self.assertRaisesRegex(cairn.CairnError, "data=FOLDER"):
                connected.fit(network(), x, y, verbose=0)
        with tempfile.TemporaryDirectory() as folder:
            with cairn.connect(address, data=folder) as connected:
                history = connected.fit(network(), x, y, verbose=0)
        self.assertEqual(len(history.epoch), 1)

    def test_no_cluster_and_no_tool(self):
        with self.assertRaises(cairn.CairnError):
            cairn.connect("127.0.0.1:1")
        named = os.environ["CAIRN_BIN"]
        try:
            os.environ["CAIRN_BIN"] = "/nowhere"
            with self.assertRaisesRegex(cairn.CairnError, "CAIRN_BIN is /nowhere"):
                cairn.connect("127.0.0.1:1")
        finally:
            os.environ["CAIRN_BIN"] = named


class WithoutPs(unittest.TestCase):
    def test_the_numbers_are_keras_s(self):
        x, y = examples()
        for ps_less in ({"workers": 2}, {"workers": 1, "devices": ["cpu:0", "cpu:1"]}):
            with self.subTest(**ps_less), cairn.local(ps=0, **ps_less) as workers:
                model = network()
                twin = keras.models.clone_model(model)
                twin.compile(optimizer="adam", loss="sparse_categorical_crossentropy",
                             metrics=["accuracy"])
                twin.set_weights(model.get_weights())
                twin.fit(x, y, batch_size=64, epochs=2, shuffle=False, verbose=0)
                workers.fit(model, x, y, batch_size=64, epochs=2, shuffle=False, verbose=0)
                for ours, theirs in zip(model.get_weights(), twin.get_weights()):
                    np.testing.assert_allclose(ours, theirs, atol=1e-4)

    def test_async_needs_ps(self):
        with cairn.local(ps=0, workers=1) as workers:
            with self.assertRaisesRegex(cairn.NotSupported, "'async' needs parameter servers"):
                workers.fit(network(), *examples(), strategy="async")


class Ending(unittest.TestCase):
    def test_interrupt_cancels_the_job(self):
        x, y = examples(6400)
        before = {job["job"] for job in cluster.tool.objects("jobs")}

        def interrupt():
            while True:  # Until the job trains.
                for job in cluster.tool.objects("jobs"):
                    if job["job"] not in before and job["state"] == "running":
                        return os.kill(os.getpid(), signal.SIGINT)
                time.sleep(0.1)

        signal.signal(signal.SIGINT, signal.default_int_handler)  # Ignored in a background process.
        threading.Thread(target=interrupt, daemon=True).start()
        with self.assertRaises(KeyboardInterrupt):
            cluster.fit(network(), x, y, batch_size=2, epochs=10000, verbose=0)
        newest = [job for job in cluster.tool.objects("jobs") if job["job"] not in before][-1]
        self.assertEqual(newest["state"], "cancelled")

    def test_a_local_cluster_ends_with_its_process(self):
        script = ("import cairn, os, sys\n"
                  "cluster = cairn.local(ps=1, workers=1)\n"
                  "print(cluster.tool.objects('up')[0]['pid'], flush=True)\n"
                  "sys.stdin.read()\n")
        process = subprocess.Popen([sys.executable, "-c", script], stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, text=True)
        pid = int(process.stdout.readline())
        self.assertTrue(os.path.exists(f"/proc/{pid}"))
        process.kill()
        process.communicate()
        while os.path.exists(f"/proc/{pid}"):
            time.sleep(0.1)


if __name__ == "__main__":
    results.main()
