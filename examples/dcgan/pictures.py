#!/usr/bin/env python3
"""Draws what the generator makes of the same noise after each epoch: one row for each checkpoint.

    examples/dcgan/pictures.py OUTPUT.png [FLAGS OF CAIRN, such as --state DIR or --on cluster]

Needs NumPy. CAIRN_BIN is the tool [bazel-bin/cli/cairn].
"""

import json
import os
import struct
import subprocess
import sys
import tempfile
import zlib

import numpy as np

COLUMNS = 12
FRAME = 2


def cairn(*arguments):
    tool = os.environ.get("CAIRN_BIN", "bazel-bin/cli/cairn")
    return subprocess.run([tool, *arguments], check=True, stdout=subprocess.PIPE, text=True).stdout


def write_png(path, gray):
    """gray: (height, width), bytes."""
    def chunk(kind, data):
        return (struct.pack(">I", len(data)) + kind + data +
                struct.pack(">I", zlib.crc32(kind + data)))

    height, width = gray.shape
    lines = b"".join(b"\0" + line.tobytes() for line in gray)
    with open(path, "wb") as file:
        file.write(b"\x89PNG\r\n\x1a\n" +
                   chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)) +
                   chunk(b"IDAT", zlib.compress(lines, 9)) + chunk(b"IEND", b""))


def main():
    output, *flags = sys.argv[1:]
    cluster = [flag for flag in flags if flag not in ("--on", "cluster", "machine")]
    checkpoints = [json.loads(line)["checkpoint"]
                   for line in cairn("checkpoints", "dcgan", "--json", *cluster).splitlines()]
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        noise, images = os.path.join(folder, "noise.npy"), os.path.join(folder, "images.npy")
        np.save(noise, np.random.default_rng(1).normal(size=(COLUMNS, 100)).astype("float32"))
        for checkpoint in checkpoints:
            cairn("predict", "dcgan", "--model", "generator", "--input", noise, "--output", images,
                  "--checkpoint", str(checkpoint), *flags)
            row = np.clip((np.load(images)[..., 0] + 1) * 127.5, 0, 255).astype(np.uint8)
            rows.append(np.concatenate(
                [np.pad(image, FRAME, constant_values=255) for image in row], 1))
    write_png(output, np.concatenate(rows, 0))


if __name__ == "__main__":
    main()
