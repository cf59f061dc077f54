#!/usr/bin/env python3
"""Writes Fashion-MNIST as PNG images in a folder for each class.

  python3 make_folders.py FOLDER [EXAMPLES]

Makes FOLDER/train/CLASS/NUMBER.png and FOLDER/test/CLASS/NUMBER.png from the files of Debian's
package dataset-fashion-mnist; the number is the example's row in these files. EXAMPLES: only the
first ones of both files. Needs nothing but Python.
"""

import gzip
import pathlib
import struct
import sys
import zlib

SOURCE = pathlib.Path("/usr/share/datasets/fashion-mnist")
CLASSES = ["tshirt", "trouser", "pullover", "dress", "coat", "sandal", "shirt", "sneaker", "bag",
           "boot"]


def read_idx(name):
    """The shape of an array of bytes, and its elements."""
    data = gzip.decompress((SOURCE / name).read_bytes())
    axes = data[3]
    return struct.unpack(f">{axes}I", data[4:4 + 4 * axes]), data[4 + 4 * axes:]


def png(width, height, pixels):
    """A gray image of 8 bits."""
    def chunk(name, data):
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    rows = b"".join(b"\0" + pixels[i:i + width] for i in range(0, len(pixels), width))
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) +
            chunk(b"IEND", b""))


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    if not SOURCE.is_dir():
        sys.exit(f"{SOURCE} is missing: apt-get install dataset-fashion-mnist")
    folder = pathlib.Path(sys.argv[1])
    for part, prefix in [("train", "train"), ("test", "t10k")]:
        (count, height, width), pixels = read_idx(f"{prefix}-images-idx3-ubyte.gz")
        _, labels = read_idx(f"{prefix}-labels-idx1-ubyte.gz")
        if len(sys.argv) == 3:
            count = min(count, int(sys.argv[2]))
        for name in CLASSES:
            (folder / part / name).mkdir(parents=True, exist_ok=True)
        size = height * width
        for i in range(count):
            file = folder / part / CLASSES[labels[i]] / f"{i:05}.png"
            file.write_bytes(png(width, height, pixels[i * size:(i + 1) * size]))
        print(f"wrote {count} images to {folder / part}")


if __name__ == "__main__":
    main()
