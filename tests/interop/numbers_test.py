"""Trains random small models by Keras and by Cairn and compares every number.

For each layer, loss, metric, optimizer, schedule and callback that Cairn has a name for: the same
initial weights, the same batches in the same order. Losses, metrics, weights and predictions agree
to 1e-4; shapes and numbers of parameters are equal. The seed is new in each run and is printed.

Some draws have no definite result in float32: two inputs of a maximum are equal but for rounding, or
an L1 penalty changes its sign at 0. Where the two differ, Keras therefore also trains from weights
and inputs that differ in the sixth digit. If its own results then differ by more than the tolerance,
the case is drawn again, at most four times. So it is if TensorFlow has no kernel for its shapes.

    numbers_test.py [CASE...]      a case: Layers.test_Dense_0
    CAIRN_SEED=N                   the seed of an earlier run
    CAIRN_VARIANTS=N               random cases of each kind [1]
"""

import os
import pathlib
import re
import tempfile
import unittest
import unittest.mock
import zlib

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import cairn  # noqa: E402
import keras  # noqa: E402
import layer_cases  # noqa: E402
import numpy as np  # noqa: E402
import results  # noqa: E402
import state_cases  # noqa: E402
import tensorflow as tf  # noqa: E402
import training_cases  # noqa: E402
from draw import Draw  # noqa: E402

TOLERANCE = 1e-4
# A batch size that is no power of two.
EXAMPLES, BATCH, EPOCHS = 40, 10, 2
SEED = int(os.environ.get("CAIRN_SEED") or int.from_bytes(os.urandom(3), "big"))
VARIANTS = int(os.environ.get("CAIRN_VARIANTS") or 1)

cluster = None


def setUpModule():
    global cluster
    print(f"CAIRN_SEED={SEED}", flush=True)
    cluster = cairn.local(ps=2, workers=1)


def tearDownModule():
    if cluster is not None:
        cluster.close()


def inputs_of(draw, model, count):
    arrays = []
    for tensor in model.inputs:
        shape = (count, *tensor.shape[1:])
        if tensor.dtype == "int32":
            array = draw.random.integers(0, 3, shape).astype("int32")
            array[:, 0] = np.maximum(array[:, 0], 1)  # Keras's average of masked steps only is NaN.
            arrays.append(array)
        else:
            arrays.append(draw.random.normal(0, 1, shape).astype("float32"))
    return arrays if len(arrays) > 1 else arrays[0]


class NotDefinite(Exception):
    """Keras has no result to compare with."""


class IllConditioned(NotDefinite):
    """Keras's results change by more than the tolerance if its inputs change by rounding."""


def error_of(here, there):
    """The largest difference, relative to the largest number if that is above 1."""
    here, there = np.asarray(here, "float64"), np.asarray(there, "float64")
    if here.shape != there.shape:
        return np.inf
    if there.size == 0:
        return 0.0
    scale = max(1.0, float(np.max(np.abs(np.nan_to_num(there)))))
    return float(np.max(np.abs(np.nan_to_num(here - there)))) / scale


class Comparison(unittest.TestCase):
    def close(self, what, here, there):
        """`here` is Cairn's, `there` Keras's."""
        here, there = np.asarray(here, "float64"), np.asarray(there, "float64")
        self.assertEqual(here.shape, there.shape, what)
        self.assertTrue(np.array_equal(np.isnan(here), np.isnan(there)),
                        f"{what}: NaN: Cairn {here.ravel()[:6]}, Keras {there.ravel()[:6]}")
        self.assertLessEqual(error_of(here, there), TOLERANCE,
                             f"{what}: Cairn {here.ravel()[:6]}, Keras {there.ravel()[:6]}")

    def drawn(self, key, compare):
        """Calls compare(draw), again with other numbers if the first ones are ill-conditioned."""
        for attempt in range(5):
            try:
                return compare(draw_for(*key, *([attempt] if attempt else [])))
            except NotDefinite as reason:
                print(f"drawn again, since Keras's own results are not definite: {reason}",
                      flush=True)
        self.fail("five draws in a row without a definite result")

    def compare(self, draw, model, loss, optimizer, labels, metrics=None, callbacks=None,
                epochs=EPOCHS, trains=True, validates=True, unobserved=False, **fit):
        x, y = inputs_of(draw, model, EXAMPLES), labels(draw, EXAMPLES)
        if validates:
            fit["validation_data"] = inputs_of(draw, model, EXAMPLES // 2), \
                labels(draw, EXAMPLES // 2)
        initial = [np.array(weight) for weight in model.get_weights()]

        def compiled(which, weights=initial):
            which.compile(optimizer=type(optimizer).from_config(optimizer.get_config()), loss=loss,
                          metrics=metrics() if metrics else None, run_eagerly=True)
            which.set_weights(weights)
            return which

        make = callbacks or (lambda: [])

        def train(inputs=x, weights=initial):
            """Keras's history and weights."""
            theirs = compiled(model, weights)
            try:
                history = theirs.fit(inputs, y, batch_size=BATCH, epochs=epochs, shuffle=False,
                                     verbose=0, callbacks=make(), **fit).history
            except tf.errors.AbortedError as error:
                if "could not create a primitive" not in str(error):
                    raise
                raise NotDefinite(str(error)) from error  # oneDNN cannot.
            return history, theirs.get_weights()

        expected, expected_weights = train()
        if diverges(expected["loss"], expected_weights):
            # Rounding decides then.
            config = optimizer.get_config()
            optimizer = type(optimizer).from_config(
                {**config, "learning_rate": config["learning_rate"] / 50})
            expected, expected_weights = train()
        probe = inputs_of(draw, model, 7)
        expected_outputs = listed(model.predict(probe, verbose=0))
        compared = [key for key in expected if trains or key.startswith("val_")]

        def check_definite(difference):
            """Raises IllConditioned, or else `difference`."""
            random = np.random.default_rng(0)

            def changed(array):
                if array.dtype.kind != "f":
                    return array
                return (array * (1 + 1e-6 * random.uniform(-1, 1, array.shape))).astype("float32")

            for _ in range(8):
                inputs = [changed(each) for each in x] if isinstance(x, list) else changed(x)
                history, weights = train(inputs, [changed(each) for each in initial])
                errors = [error_of(history[key], expected[key]) for key in compared]
                errors += map(error_of, weights, expected_weights)
                errors += map(error_of, listed(model.predict(probe, verbose=0)), expected_outputs)
                if max(errors) > TOLERANCE:
                    raise IllConditioned(str(difference)) from difference
            raise difference

        ours = compiled(model)
        history = cluster.fit(ours, x, y, batch_size=BATCH, epochs=epochs, shuffle=False, verbose=0,
                              strategy="sync", callbacks=make(), **fit).history
        names = [weight.path for weight in ours.weights]
        weights = ours.get_weights()
        predicted = listed(cluster.predict(ours, probe, verbose=0))
        shown = cluster.tool.objects("status", str(ours.history.job))[-1]
        counted = sum(weight.size for name, weight in zip(names, expected_weights)
                      if not re.search(r"normalization(_\d+)?/count$", name))
        self.assertEqual(shown["parameters"], counted, "number of parameters")
        self.assertEqual(list(history), list(expected))
        try:
            for key in compared:
                here, there = np.array(history[key]), np.array(expected[key])
                if unobserved and not key.startswith("val_"):
                    # Of an epoch whose end was not observed there is no value; see clients/python.
                    self.assertFalse(np.isnan(here[-1]), key)
                    there = np.where(np.isnan(here), np.nan, there)
                self.close(key, here, there)
            for name, here, there in zip(names, weights, expected_weights):
                self.close(name, here, there)
            for here, there in zip(predicted, expected_outputs):
                self.close("predict", here, there)
        except AssertionError as difference:
            check_definite(difference)


def listed(outputs):
    return outputs if isinstance(outputs, list) else [outputs]


def diverges(losses, weights):
    """Whether a training has gone astray, though its numbers may still be finite."""
    return (not all(np.all(np.isfinite(weight)) for weight in weights) or
            abs(losses[-1]) > 100 * (1 + abs(losses[0])))


def draw_for(*key):
    """A case's random numbers do not depend on which other cases run."""
    return Draw([SEED, zlib.crc32(repr(key).encode())])


def sgd():
    return keras.optimizers.SGD(0.05)


class Layers(Comparison):
    pass


class Activations(Comparison):
    pass


class Losses(Comparison):
    pass


class Metrics(Comparison):
    pass


class Optimizers(Comparison):
    pass


class Schedules(Comparison):
    pass


class Callbacks(Comparison):
    pass


class Weights(Comparison):
    def test_class_weight(self):
        self.drawn(["class_weight"], lambda draw: self.compare(
            draw, training_cases.network(draw, "softmax", training_cases.CLASSES),
            "sparse_categorical_crossentropy", sgd(), training_cases.sparse_labels,
            class_weight={i: draw.number(0, 3) for i in range(training_cases.CLASSES)}))

    def test_sample_weight(self):
        self.drawn(["sample_weight"], lambda draw: self.compare(
            draw, training_cases.network(draw, "linear"), "mse", sgd(), training_cases.real_labels,
            sample_weight=draw.random.uniform(0, 2, EXAMPLES).astype("float32")))


class States(Comparison):
    def test_sequence_to_sequence(self):
        """A label for each step."""
        self.drawn(["sequence_to_sequence"], lambda draw: self.compare(
            draw, state_cases.sequence_to_sequence(draw), "sparse_categorical_crossentropy",
            sgd(), lambda draw, count: draw.random.integers(0, 3, (count, 5))))


class Epochs(Comparison):
    """Arguments of fit about epochs."""

    def trained(self, **fit):
        self.drawn(["epochs", *sorted(fit)], lambda draw: self.compare(
            draw, training_cases.network(draw, "linear"), "mse", sgd(), training_cases.real_labels,
            metrics=lambda: ["mae"], epochs=6, **fit))

    def test_steps_per_epoch(self):
        """The data go on in the next epoch, and begin anew at their end."""
        self.trained(steps_per_epoch=EXAMPLES // BATCH)
        for steps, epochs in ((1, 6), (2, 2)):
            draw = draw_for("steps_per_epoch", steps)
            self.compare(draw, training_cases.network(draw, "linear"), "mse", sgd(),
                         training_cases.real_labels, metrics=lambda: ["mae"], epochs=epochs,
                         steps_per_epoch=steps)

    def test_validation_steps(self):
        self.trained(validation_steps=2)
        self.trained(validation_steps=1, validation_freq=3)
        self.trained(validation_steps=3, validation_batch_size=3)
        self.trained(validation_steps=1000)

    def test_callbacks_do_not_see_epochs_that_are_not_validated(self):
        for seed, freq in enumerate((2, [1, 2, 5])):
            draw = draw_for("unvalidated", seed)
            self.compare(
                draw, training_cases.network(draw, "linear"), "mse", keras.optimizers.SGD(0.3),
                training_cases.real_labels, epochs=8, validation_freq=freq, callbacks=lambda: [
                    keras.callbacks.ReduceLROnPlateau(patience=1, factor=0.5, min_delta=0.05),
                    keras.callbacks.EarlyStopping(patience=2, restore_best_weights=True,
                                                  start_from_epoch=1)])

    def test_initial_epoch(self):
        self.trained(initial_epoch=4, steps_per_epoch=EXAMPLES // BATCH)
        self.trained(initial_epoch=3, validation_freq=[4, 6])
        self.trained(initial_epoch=2, callbacks=lambda: [
            keras.callbacks.LearningRateScheduler(lambda epoch, rate: rate / (epoch + 1)),
            keras.callbacks.EarlyStopping("mae", patience=1, start_from_epoch=4, min_delta=1)])

    def test_validation_freq(self):
        self.trained(validation_freq=2)
        self.trained(validation_freq=[1, 4])


class Judge(Comparison):
    """The comparison finds a wrong number, and does not blame rounding for it."""

    def test_wrong_prediction(self):
        draw = draw_for("wrong")
        with unittest.mock.patch.object(cluster, "predict", self.shifted(cluster.predict)):
            with self.assertRaises(AssertionError):
                self.compare(draw, training_cases.network(draw, "linear"), "mse", sgd(),
                             training_cases.real_labels)

    def test_ill_conditioned(self):
        draw = draw_for("tie")
        inputs = keras.Input((4,))
        # The gradient goes to the larger of two equal numbers.
        kernel = keras.initializers.GlorotUniform(seed=draw.seed())
        sides = [keras.layers.Dense(4, kernel_initializer=kernel, name=name)(inputs)
                 for name in ("one", "other")]
        model = keras.Model(inputs, keras.layers.Dense(3)(keras.layers.Maximum()(sides)))
        with unittest.mock.patch.object(cluster, "predict", self.shifted(cluster.predict)):
            with self.assertRaises(IllConditioned):
                self.compare(draw, model, "mse", sgd(), training_cases.real_labels)

    @staticmethod
    def shifted(predict):
        return lambda *arguments, **kwargs: predict(*arguments, **kwargs) + 3 * TOLERANCE


class Images(unittest.TestCase):
    """What layers that change images at random do to one image in training.

    The image goes through each layer into a Dense layer with the identity as its kernel. Its labels
    are zeros, so one step of gradient descent sets its bias to the negative of what it was given.
    """

    HEIGHT, WIDTH = 10, 9

    def changed(self, layers, image):
        """What each of the layers makes of the image, by name."""
        size = image.size
        inputs = keras.Input(image.shape)
        outputs = []
        for layer in layers:
            flat = keras.layers.Flatten()(layer(inputs))
            outputs.append(keras.layers.Dense(size, kernel_initializer="identity",
                                              name=f"{layer.name}_seen")(flat))
        model = keras.Model(inputs, outputs)
        model.compile(keras.optimizers.SGD(size / 2), loss=["mse"] * len(layers))
        for layer in layers:
            model.get_layer(f"{layer.name}_seen").set_weights([np.eye(size), np.zeros(size)])
        cluster.fit(model, image[None], [np.zeros((1, size), "float32")] * len(layers),
                    batch_size=1, verbose=0, seed=SEED)
        return {layer.name: -model.get_layer(f"{layer.name}_seen").get_weights()[1]
                .reshape(image.shape) for layer in layers}

    def affine_layers(self, interpolation):
        kinds = {"translation": lambda **more: keras.layers.RandomTranslation(0.15, 0.12, **more),
                 "rotation": lambda **more: keras.layers.RandomRotation(0.1, **more),
                 "zoom": lambda **more: keras.layers.RandomZoom(0.3, 0.2, **more),
                 "shear": lambda **more: keras.layers.RandomShear(0.2, 0.1, **more)}
        return [make(fill_mode=fill, fill_value=0.5, interpolation=interpolation,
                     name=f"{kind}_{fill}")
                for kind, make in kinds.items()
                for fill in ("reflect", "wrap", "constant", "nearest")]

    def check_map(self, kind, a, b):
        """Rows of the map from a pixel of the output to one of the image, for x and for y."""
        center = np.array([(self.WIDTH - 1) / 2, (self.HEIGHT - 1) / 2, 1])
        close = lambda here, there: np.testing.assert_allclose(here, there, atol=1e-4)  # noqa
        if kind == "translation":
            close([a[0], a[1], b[0], b[1]], [1, 0, 0, 1])
            self.assertLessEqual(abs(b[2]), 0.15 * self.HEIGHT + 1e-4)
            self.assertLessEqual(abs(a[2]), 0.12 * self.WIDTH + 1e-4)
        elif kind == "rotation":
            close([a[0], a[1], a[0] ** 2 + a[1] ** 2], [b[1], -b[0], 1])
            close([a @ center, b @ center], center[:2])
            self.assertLessEqual(np.arccos(min(a[0], 1)), 0.2 * np.pi + 1e-4)
        elif kind == "zoom":
            close([a[1], b[0]], [0, 0])
            close([a @ center, b @ center], center[:2])
            self.assertLessEqual(abs(b[1] - 1), 0.3 + 1e-4)
            self.assertLessEqual(abs(a[0] - 1), 0.2 + 1e-4)
        else:
            close([a[0], a[2], b[1], b[2]], [1, 0, 1, 0])
            self.assertLessEqual(abs(a[1]), 0.2 + 1e-4)
            self.assertLessEqual(abs(b[0]), 0.1 + 1e-4)

    def test_affine_maps(self):
        """Keras makes the same of the image with the map that two ramps in it reveal."""
        draw = draw_for("images")
        y, x = np.mgrid[:self.HEIGHT, :self.WIDTH].astype("float32")
        image = np.stack([x, y, draw.random.normal(0, 1, x.shape)], -1).astype("float32")
        smooth = self.changed(self.affine_layers("bilinear"), image)
        whole = self.changed(self.affine_layers("nearest"), image)
        places = np.stack([x, y, np.ones_like(x)], -1).astype("float64")
        middle = (slice(3, 7), slice(3, 6))  # These pixels come from within the image.
        for name, seen in smooth.items():
            with self.subTest(name):
                kind, fill = name.split("_")
                columns = places[middle].reshape(-1, 3)
                a, b = np.linalg.lstsq(columns, seen[middle].reshape(-1, 3)[:, :2], rcond=None)[0].T
                self.check_map(kind, a, b)
                # Rounding decides where the interpolation or the border jumps.
                from_x, from_y = places @ a, places @ b
                def far(jump):  # noqa
                    return np.all([abs((at - jump + 0.5) % 1 - 0.5) > 1e-3
                                   for at in (from_x, from_y)], 0)
                stable = far(0) if fill == "wrap" else np.full(x.shape, True)
                for interpolation, here in (("bilinear", seen), ("nearest", whole[name])):
                    if interpolation == "nearest":
                        stable = stable & far(0.5)
                    there = keras.ops.image.affine_transform(
                        image[None], np.array([[*a, *b, 0, 0]], "float32"), fill_value=0.5,
                        fill_mode=fill, interpolation=interpolation)[0].numpy()
                    np.testing.assert_allclose(here[stable], there[stable], atol=1e-3)

    def test_pixels(self):
        draw = draw_for("pixels")
        image = draw.random.uniform(0, 1, (self.HEIGHT, self.WIDTH, 3)).astype("float32")
        layers = [keras.layers.RandomInvert((1, 1), value_range=(0, 1), name="invert"),
                  keras.layers.RandomGrayscale(1, name="gray"),
                  keras.layers.Solarization(value_range=(0, 1), name="solarize"),
                  keras.layers.Solarization(0, 1, value_range=(0, 1), name="threshold"),
                  keras.layers.RandomErasing((1, 1), fill_value=0.5, value_range=(0, 1),
                                             name="erase")]
        seen = self.changed(layers, image)
        for layer in layers[:3]:  # Nothing is drawn.
            there = keras.ops.convert_to_numpy(layer(image[None], training=True))[0]
            np.testing.assert_allclose(seen[layer.name], there, atol=1e-5, err_msg=layer.name)
        inverted = abs(seen["threshold"] - image) > 1e-5
        np.testing.assert_allclose(seen["threshold"], np.where(inverted, 1 - image, image),
                                   atol=1e-5)
        apart = abs(image - 0.5) > 1e-4  # 0.5 is its own inverse.
        self.assertLessEqual(np.max(image[~inverted & apart], initial=0),
                             np.min(image[inverted & apart], initial=1))
        rows, columns, _ = np.nonzero(abs(seen["erase"] - image) > 1e-5)
        box = np.zeros(image.shape, bool)
        box[rows.min():rows.max() + 1, columns.min():columns.max() + 1] = True
        np.testing.assert_allclose(seen["erase"], np.where(box, 0.5, image), atol=1e-5)
        for length, least, most in ((self.HEIGHT, rows.min(), rows.max()),
                                    (self.WIDTH, columns.min(), columns.max())):
            self.assertLessEqual(most - least + 1, np.sqrt(0.33) * length + 1)
            self.assertGreaterEqual(most - least + 1, np.sqrt(0.02) * length - 1)


class Lists(unittest.TestCase):
    """Each name of Keras is compared here, or doc/keras.md says that Cairn lacks it."""

    # Texts are in CSV files: formats/raw_inputs_test.py compares it.
    ELSEWHERE = {"StringLookup"}

    def test_every_layer_that_cairn_knows_is_compared(self):
        with tempfile.TemporaryDirectory() as folder:
            open(f"{folder}/model.json", "w").write(
                keras.Sequential([keras.Input((1,)), keras.layers.Dense(1)]).to_json()
                .replace('"Dense"', '"Nothing"'))
            open(f"{folder}/job.json", "w").write(
                '{"name": "lists", "model": "model.json", "loss": "mse", "epochs": 1, '
                '"optimizer": "sgd", "batch_size": 1, '
                '"train": {"npy": {"features": "x.npy", "labels": "y.npy"}}}')
            with self.assertRaises(cairn.CairnError) as caught:
                cluster.tool.run("submit", f"{folder}/job.json")
        known = str(caught.exception).split("known: ")[1].split(", ")
        self.assertEqual(set(known) - set(layer_cases.LAYERS) - {"InputLayer"} - self.ELSEWHERE,
                         set())

    def test_what_cairn_lacks_is_listed(self):
        page = (pathlib.Path(__file__).resolve().parents[2] / "doc/keras.md").read_text()
        listed = set(re.findall(r"\w+", page.split("## What Cairn lacks")[1]))
        base = {"Layer", "Loss", "Metric", "Optimizer", "LearningRateSchedule", "Callback",
                "CallbackList", "History", "ProgbarLogger", "Initializer", "Regularizer",
                "Constraint", "InputLayer", "InputSpec", "DataLayer"}
        known = {
            keras.layers: set(layer_cases.LAYERS) | self.ELSEWHERE | {
                "TorchModule", "SimpleRNNCell", "LSTMCell", "GRUCell", "StackedRNNCells"},
            keras.losses: set(training_cases.LOSSES),
            keras.metrics: {name.split(",")[0] for name in training_cases.METRICS},
            keras.optimizers: set(training_cases.OPTIMIZERS),
            keras.optimizers.schedules: set(training_cases.SCHEDULES),
            keras.callbacks: set(cairn.translation.CALLBACKS),
            keras.regularizers: {"L1", "L2", "L1L2", "OrthogonalRegularizer"},
            keras.constraints: {"MaxNorm", "MinMaxNorm", "NonNeg", "UnitNorm"},
            keras.initializers: {type(each).__name__ for each in Initializers.known(draw_for(0))},
        }
        for module, names in known.items():
            classes = {each.__name__ for name in dir(module)
                       if isinstance(each := getattr(module, name), type)}
            with self.subTest(module=module.__name__):
                self.assertEqual(classes - names - base - listed, set(), "not compared, not listed")
                self.assertEqual(classes & names & listed, set(), "compared, and listed as missing")
        functions = {name for name in dir(keras.activations) if not name.startswith("_")}
        functions -= {"get", "serialize", "deserialize"}
        self.assertEqual(functions - set(layer_cases.ACTIVATIONS) - listed, set())


class Initializers(unittest.TestCase):
    """Cairn draws other numbers than Keras, from the same distributions."""

    SHAPE = (200, 300)

    @staticmethod
    def known(draw):
        known = [kind() for kind in (
            keras.initializers.GlorotUniform, keras.initializers.GlorotNormal,
            keras.initializers.HeUniform, keras.initializers.HeNormal,
            keras.initializers.LecunUniform, keras.initializers.LecunNormal,
            keras.initializers.Zeros, keras.initializers.Ones, keras.initializers.Orthogonal)]
        known += [keras.initializers.Constant(draw.number(-1, 1)),
                  keras.initializers.RandomUniform(draw.number(-1, 0), draw.number(0, 1)),
                  keras.initializers.RandomNormal(draw.number(-1, 1), draw.number(0.1, 1)),
                  keras.initializers.TruncatedNormal(draw.number(-1, 1), draw.number(0.1, 1)),
                  keras.initializers.Identity(),  # Keras does not save its gain.
                  keras.initializers.Orthogonal(draw.number(0.5, 2))]
        return known + [
            keras.initializers.VarianceScaling(draw.number(0.5, 3), mode, distribution)
            for mode in ("fan_in", "fan_out", "fan_avg")
            for distribution in ("uniform", "truncated_normal", "untruncated_normal")]

    def test_distributions(self):
        known = self.known(draw_for("initializers"))
        inputs = keras.Input((self.SHAPE[0],))
        outputs = [keras.layers.Dense(self.SHAPE[1], kernel_initializer=each, name=f"d{i}")(inputs)
                   for i, each in enumerate(known)]
        model = keras.Model(inputs, keras.layers.Add()(outputs))
        expected = [model.get_layer(f"d{i}").get_weights()[0] for i in range(len(known))]
        weights = self.initial_weights(model)
        for i, (initializer, there) in enumerate(zip(known, expected)):
            here = weights[f"d{i}/kernel"]
            with self.subTest(initializer=str(initializer.get_config()),
                              kind=type(initializer).__name__):
                # 60,000 numbers: the standard error of a moment is 0.4 % of the deviation.
                deviation = max(there.std(), 1e-6)
                self.assertAlmostEqual(here.mean(), there.mean(), delta=0.03 * deviation)
                self.assertAlmostEqual(here.std(), there.std(), delta=0.03 * deviation)
                self.assertAlmostEqual(np.abs(here).max(), np.abs(there).max(),
                                       delta=1.5 * deviation)
                if "Orthogonal" in type(initializer).__name__:
                    np.testing.assert_allclose(here @ here.T, there @ there.T, atol=1e-4)
                if "Identity" in type(initializer).__name__:
                    np.testing.assert_array_equal(here, there)

    def initial_weights(self, model):
        """Those of a job that names an architecture without weights."""
        with tempfile.TemporaryDirectory() as folder:
            open(f"{folder}/model.json", "w").write(model.to_json())
            np.save(f"{folder}/x.npy", np.zeros((1, self.SHAPE[0]), "float32"))
            np.save(f"{folder}/y.npy", np.zeros((1, self.SHAPE[1]), "float32"))
            open(f"{folder}/job.json", "w").write(
                '{"name": "initializers", "model": "model.json", "loss": "mse", "steps": 1, '
                '"optimizer": {"name": "sgd", "learning_rate": 0}, "batch_size": 1, '
                '"train": {"npy": {"features": "x.npy", "labels": "y.npy"}}}')
            cluster.tool.run("submit", f"{folder}/job.json", "--follow")
            cluster.tool.run("export", "initializers", "--output", f"{folder}/w.safetensors")
            return cairn.model_files.read_safetensors(f"{folder}/w.safetensors")


def add(group, name, variant, compare):
    """Adds a test method to the class `group`."""
    key = "".join(letter if letter.isalnum() else "_" for letter in name)

    def test(self):
        keras.utils.set_random_seed(SEED + variant)
        self.drawn([group.__name__, name, variant], lambda draw: compare(self, draw))

    setattr(group, f"test_{key}_{variant}", test)


def model_case(models, random_models):
    """Those of random_models are compared in inference only."""
    def case(name):
        def compare(self, draw):
            random = name in random_models
            optimizer = keras.optimizers.SGD(0.0) if random else sgd()
            self.compare(draw, models[name](draw), "mse", optimizer, training_cases.real_labels,
                         trains=not random)
        return compare
    return case


def activation_case(name):
    def compare(self, draw):
        # Two exponentials in a row of larger numbers diverge with some seeds.
        kernel = (keras.initializers.RandomNormal(stddev=0.1) if name == "exponential"
                  else "glorot_uniform")
        model = keras.Sequential([
            keras.Input((6,)), keras.layers.Dense(8, activation=name, kernel_initializer=kernel),
            keras.layers.Dense(5, kernel_initializer=kernel), keras.layers.Activation(name),
            keras.layers.Dense(3)])
        self.compare(draw, model, "mse", sgd(), training_cases.real_labels)
    return compare


def loss_case(name):
    def compare(self, draw):
        model, loss, labels = training_cases.LOSSES[name](draw)
        # Percentages of small labels, and large weights, have large gradients.
        small = "Percentage" in name or name in training_cases.OF_LARGE_LOGITS
        optimizer = keras.optimizers.SGD(0.0005) if small else sgd()
        if name == "sum":
            optimizer = keras.optimizers.SGD(0.002)
        self.compare(draw, model, loss, optimizer, labels)
    return compare


def metric_case(name):
    def compare(self, draw):
        (activation, loss, labels, outputs), make = training_cases.METRICS[name]
        drawn = draw.seed()
        if outputs == 1:
            labels = lambda draw, count: training_cases.binary_labels(draw, count)[:, :1]  # noqa
        model = training_cases.network(draw, activation, outputs)

        def fresh():
            """Keras's metrics have a state: each training gets its own, with the same arguments."""
            metric = make(Draw(drawn))
            if not isinstance(metric, str):
                metric.name = "measured"
            return [metric]

        kind = cairn.translation.snake(name.split(" ")[0].strip(","))
        self.compare(draw, model, loss, sgd(), labels, metrics=fresh,
                     unobserved=kind in cairn.epochs._NOT_MEANS)
    return compare


def excluding(kind, names):
    """The class `kind`, whose optimizers have no weight decay for variables of these names."""
    class Excluding(kind):
        def __init__(self, **arguments):
            super().__init__(**arguments)
            self.exclude_from_weight_decay(var_names=names)

    Excluding.__name__, Excluding.__module__ = kind.__name__, kind.__module__
    return Excluding


def optimizer_case(name):
    def compare(self, draw):
        kind = getattr(keras.optimizers, name)
        if draw.yes():
            kind = excluding(kind, draw.of(["bias"], ["kernel"], ["bias", "ker"]))
        optimizer = kind(**training_cases.every_optimizer(draw),
                         **training_cases.OPTIMIZERS[name](draw))
        # Cairn evaluates the average, Keras the values; see doc/keras.md.
        self.compare(draw, training_cases.network(draw, "linear"), "mse", optimizer,
                     training_cases.real_labels, validates=not optimizer.use_ema)
    return compare


def schedule_case(name):
    def compare(self, draw):
        optimizer = keras.optimizers.SGD(training_cases.SCHEDULES[name](draw))
        self.compare(draw, training_cases.network(draw, "linear"), "mse", optimizer,
                     training_cases.real_labels)
    return compare


def callback_case(name):
    def compare(self, draw):
        drawn = draw.seed()
        self.compare(draw, training_cases.network(draw, "linear"), "mse",
                     keras.optimizers.SGD(draw.number(0.2, 0.6)), training_cases.real_labels,
                     metrics=lambda: ["mae"], epochs=8,
                     callbacks=lambda: training_cases.CALLBACKS[name](Draw(drawn)))
    return compare


for variant_ in range(VARIANTS):
    for group_, table, case in ((Layers, layer_cases.LAYERS,
                                 model_case(layer_cases.LAYERS, layer_cases.RANDOM)),
                                (States, state_cases.STATES,
                                 model_case(state_cases.STATES, state_cases.RANDOM)),
                                (Activations, layer_cases.ACTIVATIONS, activation_case),
                                (Losses, training_cases.LOSSES, loss_case),
                                (Metrics, training_cases.METRICS, metric_case),
                                (Optimizers, training_cases.OPTIMIZERS, optimizer_case),
                                (Schedules, training_cases.SCHEDULES, schedule_case),
                                (Callbacks, training_cases.CALLBACKS, callback_case)):
        for name_ in table:
            add(group_, name_, variant_, case(name_))

if __name__ == "__main__":
    results.main()
