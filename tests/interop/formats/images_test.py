#!/usr/bin/env python3
"""Folders of images that Pillow wrote are read as Keras's image_dataset_from_directory reads them.

The judged model of most tests is an identity, so its predictions are the numbers that Cairn read.
"""

import json
import os
import pathlib
import struct
import sys
import zlib

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

import keras  # noqa: E402
import numpy as np  # noqa: E402
import pyarrow as pa  # noqa: E402
import pyarrow.parquet as pq  # noqa: E402
import results  # noqa: E402
import tensorflow as tf  # noqa: E402
from PIL import Image  # noqa: E402

from cluster import cairn  # noqa: E402
from identity_job import DataTest, identity  # noqa: E402

CHANNELS = {"grayscale": 1, "rgb": 3, "rgba": 4}


def raw_png(width, height, depth, color, rows, interlace=0, more=None):
    """A PNG of a kind that Pillow does not write, with another chunk."""
    def chunk(name, data):
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
    header = struct.pack(">IIBBBBB", width, height, depth, color, 0, 0, interlace)
    pixels = zlib.compress(b"".join(b"\0" + row for row in rows))
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + (chunk(*more) if more else b"") +
            chunk(b"IDAT", pixels) + chunk(b"IEND", b""))


class Images(DataTest):
    def photo(self, height, width):
        coarse = self.random.integers(0, 256, (height // 7 + 2, width // 7 + 2, 3), dtype="u1")
        pixels = np.array(Image.fromarray(coarse).resize((width, height), Image.BICUBIC))
        noise = self.random.integers(-20, 20, pixels.shape)
        return Image.fromarray(np.clip(pixels.astype(int) + noise, 0, 255).astype("u1"))

    def write_pngs(self, folder):
        folder.mkdir(parents=True)
        photo = self.photo(60, 83)
        photo.save(folder / "rgb.png")
        photo.convert("L").save(folder / "gray.png")
        photo.convert("LA").save(folder / "gray_alpha.png")
        photo.convert("1").save(folder / "one_bit.png")
        Image.merge("RGBA", (*photo.split(), photo.convert("L"))).save(folder / "rgba.PNG")
        photo.quantize(16).save(folder / "palette.png")
        photo.quantize(256).save(folder / "palette_256.png")
        photo.quantize(16).save(folder / "palette_transparent.png", transparency=3)
        photo.save(folder / "transparent.png", transparency=photo.getpixel((3, 3)))
        photo.convert("L").save(folder / "gray_transparent.png", transparency=100)
        Image.fromarray(self.random.integers(0, 65536, (30, 41), dtype="u2")).save(folder / "16.png")
        random = self.random.bytes
        for name, depth, color, row in [("rgb_16", 16, 2, 13 * 6), ("rgba_16", 16, 6, 13 * 8),
                                        ("gray_alpha_16", 16, 4, 13 * 4), ("gray_4", 4, 0, 7)]:
            rows = [random(row) for _ in range(9)]
            (folder / f"{name}.png").write_bytes(raw_png(13, 9, depth, color, rows))
        rows = [random(13 * 3) for _ in range(9)]
        for name, more in [("gamma", (b"gAMA", struct.pack(">I", 45455))), ("srgb", (b"sRGB", b"\0"))]:
            (folder / f"{name}.png").write_bytes(raw_png(13, 9, 8, 2, rows, more=more))
        passes = [(1, 1), (1, 1), (2, 1), (2, 2), (4, 2), (4, 4), (8, 4)]
        rows = [random(width) for width, height in passes for _ in range(height)]
        (folder / "interlaced.png").write_bytes(raw_png(8, 8, 8, 0, rows, 1))
        for height, width in [(20, 400), (301, 33), (1, 1), (24, 20)]:
            self.photo(height, width).save(folder / f"{height}x{width}.png")

    def write_jpegs(self, folder, cmyk=True):
        folder.mkdir(parents=True)
        photo = self.photo(150, 211)
        for quality in [30, 75, 95]:
            for subsampling in [0, 1, 2]:
                photo.save(folder / f"{quality}_{subsampling}.jpg", quality=quality,
                           subsampling=subsampling)
        photo.save(folder / "progressive.jpeg", progressive=True)
        photo.convert("L").save(folder / "gray.jpg")
        turned = Image.Exif()
        turned[0x112] = 6
        photo.save(folder / "exif.JPG", exif=turned)
        photo.save(folder / "a_png.jpg", format="png")
        self.photo(1200, 1603).save(folder / "large.jpg")
        if cmyk:
            photo.convert("CMYK").save(folder / "cmyk.jpg")

    def check_pixels(self, color_mode, size, **fields):
        """Cairn reads the images of self.folder / "new" as Keras does."""
        (self.folder / "train/only").mkdir(parents=True, exist_ok=True)
        Image.new("RGB", size).save(self.folder / "train/only/black.png")
        self.train(identity((*size, CHANNELS[color_mode])),
                   {"images": {"directory": "train", "color_mode": color_mode,
                               "image_size": size, **fields}, "one_hot": True})
        expected = np.concatenate(list(keras.utils.image_dataset_from_directory(
            self.folder / "new", labels=None, color_mode=color_mode, image_size=size,
            shuffle=False, verbose=False, **fields).as_numpy_iterator()))
        got = self.predict("new").reshape(expected.shape)
        np.testing.assert_allclose(got, expected, rtol=0, atol=1e-3)

    def test_png_colors(self):
        self.write_pngs(self.folder / "new")
        for color_mode in CHANNELS:
            with self.subTest(color_mode):
                self.check_pixels(color_mode, [24, 20])

    def test_jpeg_colors(self):
        self.write_jpegs(self.folder / "new", cmyk=False)
        self.check_pixels("grayscale", [24, 20])
        self.write_jpegs(self.folder / "new/deeper/and_deeper")
        self.check_pixels("rgb", [31, 17])

    def test_aspect_ratio_and_interpolation(self):
        self.write_pngs(self.folder / "new")
        self.write_jpegs(self.folder / "new/jpegs")
        for fields in [{"crop_to_aspect_ratio": True}, {"interpolation": "nearest"},
                       {"interpolation": "nearest", "crop_to_aspect_ratio": True}]:
            with self.subTest(**fields):
                self.check_pixels("rgb", [17, 31], **fields)
        # TensorFlow fails where nothing is left of an image.
        (self.folder / "new/20x400.png").unlink()
        for interpolation in ["bilinear", "nearest"]:
            with self.subTest(interpolation):
                self.check_pixels("rgb", [33, 31], pad_to_aspect_ratio=True,
                                  interpolation=interpolation)

    def test_interpolations(self):
        """All of Keras's, to larger and smaller images, one of them with its size."""
        folder = self.folder / "new"
        folder.mkdir()
        for height, width in [(31, 17), (9, 11), (60, 83), (1603, 1201), (31, 40), (1, 1)]:
            photo = self.photo(height, width)
            Image.merge("RGBA", (*photo.split(), photo.convert("L"))).save(
                folder / f"{height}x{width}.png")
        for interpolation in ["bicubic", "area", "lanczos3", "lanczos5", "gaussian",
                              "mitchellcubic"]:
            kinds = [("grayscale", {}), ("rgba", {"pad_to_aspect_ratio": True})]
            # Keras resizes a crop only by its own operations.
            if interpolation not in ["gaussian", "mitchellcubic"]:
                kinds.append(("rgb", {"crop_to_aspect_ratio": True}))
            for color_mode, fields in kinds:
                with self.subTest(interpolation, **fields):
                    self.check_pixels(color_mode, [31, 17], interpolation=interpolation, **fields)

    def write_classes(self, folder, classes, count):
        """Images whose class is the brightest color, of several sizes and kinds."""
        for number, name in enumerate(classes):
            (folder / name).mkdir(parents=True)
            for i in range(count):
                height, width = self.random.integers(9, 30, 2)
                pixels = self.random.integers(0, 156, (height, width, 3))
                pixels[..., number] += 100
                Image.fromarray(pixels.astype("u1")).save(
                    folder / name / f"{i}.{['png', 'jpg'][i % 2]}", quality=95)

    def test_training(self):
        """The same weights, losses and predictions as Keras's fit on the same folders."""
        classes = ["rose", "daisy", "tulip"]  # Not the order of the folders.
        self.write_classes(self.folder / "train", classes, 16)
        self.write_classes(self.folder / "test", classes, 7)
        (self.folder / "train/weeds").mkdir()
        self.photo(9, 9).save(self.folder / "train/weeds/1.png")

        def dataset(name):
            images = keras.utils.image_dataset_from_directory(
                self.folder / name, class_names=classes, image_size=(12, 14), batch_size=8,
                shuffle=False, verbose=False, crop_to_aspect_ratio=True)
            return images.map(lambda x, y: (x * (1 / 255), y))

        keras.utils.set_random_seed(3)
        model = keras.Sequential([keras.Input((12, 14, 3)), keras.layers.Conv2D(4, 3),
                                  keras.layers.Flatten(),
                                  keras.layers.Dense(3, activation="softmax")])
        images = {"directory": "train", "class_names": classes, "image_size": [12, 14],
                  "crop_to_aspect_ratio": True}
        self.train(model, {"images": images, "scale": 1 / 255}, shuffle=False, epochs=3,
                   validation={"images": {"directory": "test"}, "scale": 1 / 255},
                   loss="sparse_categorical_crossentropy", metrics=["accuracy"],
                   optimizer={"name": "sgd", "learning_rate": 0.002},
                   strategy={"parameter_server": {"mode": "sync", "batches_per_update": 1}})
        model.compile(keras.optimizers.SGD(0.002), "sparse_categorical_crossentropy",
                      metrics=["accuracy"])
        fitted = model.fit(dataset("train"), validation_data=dataset("test"), epochs=3, verbose=0,
                           shuffle=False).history
        lines = cairn("history", "judged", "--json", "--state", "state", folder=self.folder)
        validated = [line for line in map(json.loads, lines.splitlines()) if "batch" not in line]
        self.assertEqual(len(validated), 3, lines)
        for epoch, line in enumerate(validated):
            self.assertAlmostEqual(line["loss"] / fitted["val_loss"][epoch], 1, delta=1e-4)
            self.assertAlmostEqual(line["accuracy"], fitted["val_accuracy"][epoch], delta=1e-6)
        np.testing.assert_allclose(
            self.predict("test"),
            model.predict(keras.utils.image_dataset_from_directory(
                self.folder / "test", labels=None, image_size=(12, 14), shuffle=False,
                verbose=False, crop_to_aspect_ratio=True).map(lambda x: x * (1 / 255)), verbose=0),
            atol=1e-5)
        self.assertAlmostEqual(
            self.evaluate("train") / model.evaluate(dataset("train"), verbose=0)[0], 1, delta=1e-4)

    def test_tables(self):
        """Paths and labels of a CSV and of a Parquet file, as flow_from_dataframe takes them."""
        labels = ["daisy", "rose", "daisy", "rose", "aster", "rose"]
        (self.folder / "pictures").mkdir()
        for i in range(len(labels)):
            self.photo(20 + i, 31).save(self.folder / f"pictures/{i}.png")
        (self.folder / "pictures/t.csv").write_text("class,filename\n" + "".join(
            f"{label},{i}.png\n" for i, label in enumerate(labels)))
        images = np.stack([tf.image.resize(keras.utils.img_to_array(keras.utils.load_img(
            self.folder / f"pictures/{i}.png")), (8, 9)) for i in range(len(labels))])
        model = keras.Sequential([keras.Input((8, 9, 3)), keras.layers.Rescaling(1 / 255),
                                  keras.layers.Flatten(),
                                  keras.layers.Dense(3, activation="softmax")])
        loss = "sparse_categorical_crossentropy"
        model.compile(loss=loss)
        expected = model.evaluate(images, np.unique(labels, return_inverse=True)[1], verbose=0)
        self.train(model, {"images": {"table": "pictures/t.csv"}}, loss=loss)
        self.assertAlmostEqual(self.evaluate("train"), expected, delta=1e-4)
        np.testing.assert_allclose(self.predict("pictures/t.csv"),
                                   model.predict(images, verbose=0), atol=1e-5)
        np.testing.assert_allclose(self.predict("pictures/3.png"),
                                   model.predict(images[3:4], verbose=0), atol=1e-5)
        # Numbers are labels of a loss that takes any.
        numbers = self.random.normal(0, 1, len(labels))
        pq.write_table(pa.table({"path": [f"pictures/{i}.png" for i in range(len(labels))],
                                 "y": numbers}), self.folder / "t.parquet")
        model = keras.Sequential([keras.Input((8, 9, 3)), keras.layers.Flatten(),
                                  keras.layers.Dense(1)])
        model.compile(loss="mse")
        try:
            self.train(model, {"images": {"table": "t.parquet", "path_column": "path",
                                          "label_column": "y"}})
        except RuntimeError as error:
            if "install_parquet.sh" not in str(error):
                raise
            self.skipTest("deploy/install_parquet.sh has not been run")
        expected = model.evaluate(images, numbers, verbose=0)
        self.assertAlmostEqual(self.evaluate("train") / expected, 1, delta=1e-4)

    def test_damaged_images_are_skipped(self):
        self.write_classes(self.folder / "train", ["a", "b", "c"], 4)
        (self.folder / "train/b/0.png").write_bytes(b"")
        jpeg = self.folder / "train/c/1.jpg"
        jpeg.write_bytes(jpeg.read_bytes()[:-9])
        self.train(identity((8, 8, 3)), {"images": {"directory": "train"}, "one_hot": True,
                                         "skip_damaged": 2})
        status = json.loads(cairn("status", "judged", "--state", "state", "--json",
                                  folder=self.folder))
        self.assertIn("b/0.png", json.dumps(status))


if __name__ == "__main__":
    results.main()
