"""The data of reading.py, read by tf.data in its usual way, and nothing computed.

Usage: tensorflow_reading.py write FOLDER EXAMPLES      writes all formats
       tensorflow_reading.py FORMAT FOLDER EPOCHS       as reading.cc, without an inspection
"""

import glob
import json
import os
import pathlib
import sys
import time

import numpy as np

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")

FILES = 200
NUMBERS = 64  # Of an example.
COLUMNS = 16
CLASSES = 10
BATCH = 128
SIDE, WRITTEN_SIDE = 64, 128  # Of an image.
SHUFFLED = 2048
# Of the numbers of examples: an image costs more.
IMAGES = 20


def write(folder, count):
    import pyarrow
    import pyarrow.parquet
    import tensorflow as tf
    draw = np.random.default_rng(1)
    x = draw.random((count, NUMBERS), dtype=np.float32)
    y = draw.integers(0, CLASSES, count).astype(np.int64)
    np.save(folder / "x.npy", x)
    np.save(folder / "y.npy", y)
    for name in ("tfrecord", "parquet"):
        (folder / name).mkdir()
    for i, rows in enumerate(np.array_split(np.arange(count), FILES)):
        with tf.io.TFRecordWriter(str(folder / f"tfrecord/{i:03}.tfrecord")) as file:
            for row in rows:
                file.write(tf.train.Example(features=tf.train.Features(feature={
                    "x": tf.train.Feature(float_list=tf.train.FloatList(value=x[row])),
                    "y": tf.train.Feature(int64_list=tf.train.Int64List(value=[y[row]]))
                })).SerializeToString())
        table = {f"x{j}": x[rows, j] for j in range(COLUMNS)} | {"y": y[rows]}
        pyarrow.parquet.write_table(pyarrow.table(table), folder / f"parquet/{i:03}.parquet")
    write_images(folder / "jpeg", count // IMAGES, draw)


def write_images(folder, count, draw):
    """Smooth pictures with some noise, which compress as photographs do."""
    from PIL import Image
    for i in range(count):
        kind = folder / str(i % CLASSES)
        kind.mkdir(parents=True, exist_ok=True)
        coarse = Image.fromarray(draw.integers(0, 256, (8, 8, 3)).astype(np.uint8))
        picture = np.asarray(coarse.resize((WRITTEN_SIDE, WRITTEN_SIDE), Image.Resampling.BICUBIC))
        noisy = picture + draw.normal(0, 6, picture.shape)
        Image.fromarray(np.clip(noisy, 0, 255).astype(np.uint8)).save(kind / f"{i:06}.jpg", quality=90)


def dataset_of(name, folder):
    import tensorflow as tf
    auto = tf.data.AUTOTUNE
    if name == "tfrecord":
        features = {"x": tf.io.FixedLenFeature([NUMBERS], tf.float32),
                    "y": tf.io.FixedLenFeature([], tf.int64)}
        files = tf.data.Dataset.list_files(str(folder / "tfrecord/*"), shuffle=True)
        records = files.interleave(tf.data.TFRecordDataset, num_parallel_calls=auto,
                                   deterministic=False)
        return records.shuffle(SHUFFLED).batch(BATCH).map(
            lambda batch: tf.io.parse_example(batch, features)["x"], num_parallel_calls=auto)
    if name == "jpeg":
        paths = sorted(glob.glob(str(folder / "jpeg/*/*")))

        def picture(path):
            decoded = tf.io.decode_jpeg(tf.io.read_file(path), channels=3)
            return tf.image.resize(decoded, (SIDE, SIDE))
        images = tf.data.Dataset.from_tensor_slices(paths).shuffle(len(paths))
        return images.map(picture, num_parallel_calls=auto, deterministic=False).batch(BATCH)
    # tf.data has no reader of Parquet: pyarrow's reads it for tf.data.
    import pyarrow.parquet

    def rows():
        for path in np.random.permutation(sorted(glob.glob(str(folder / "parquet/*")))):
            table = pyarrow.parquet.read_table(path)
            yield np.stack([table[f"x{j}"].to_numpy() for j in range(COLUMNS)], axis=1)
    read = tf.data.Dataset.from_generator(
        rows, output_signature=tf.TensorSpec((None, COLUMNS), tf.float32))
    return read.unbatch().shuffle(SHUFFLED).batch(BATCH)


def main():
    name, folder, count = sys.argv[1], pathlib.Path(sys.argv[2]), int(sys.argv[3])
    if name == "write":
        write(folder, count)
        return
    import tensorflow as tf
    dataset = dataset_of(name, folder).prefetch(tf.data.AUTOTUNE)
    for _ in range(count):
        begin = time.perf_counter()
        for _ in dataset:
            pass
        print(f"{time.perf_counter() - begin:.4f}", flush=True)
    print(f"{sum(float(tf.reduce_sum(tf.cast(batch, tf.float64))) for batch in dataset):.9g}")


if __name__ == "__main__":
    main()
