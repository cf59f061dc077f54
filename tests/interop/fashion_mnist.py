"""Fashion-MNIST of Debian's package, as keras.datasets.fashion_mnist.load_data returns it."""

import gzip

import numpy as np

_FOLDER = "/usr/share/datasets/fashion-mnist"


def _read(name):
    with gzip.open(f"{_FOLDER}/{name}.gz") as file:
        data = file.read()
    axes = data[3]
    shape = [int.from_bytes(data[4 + 4 * i:8 + 4 * i], "big") for i in range(axes)]
    return np.frombuffer(data, np.uint8, offset=4 + 4 * axes).reshape(shape)


def load_data():
    return ((_read("train-images-idx3-ubyte"), _read("train-labels-idx1-ubyte")),
            (_read("t10k-images-idx3-ubyte"), _read("t10k-labels-idx1-ubyte")))
