#!/usr/bin/env python3
"""Writes small files in CIFAR-10's binary format whose classes can be learned.

  python3 make_small.py FOLDER [EXAMPLES_PER_FILE]

Makes FOLDER/data_batch_1.bin to data_batch_5.bin and FOLDER/test_batch.bin, named as in
https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz. An image shows a bright square on a dark
ground; its class is the square's colour (5) and whether it stands in the upper or the lower half
(2). Place and noise are random, the same on every run. Needs nothing but Python.
"""

import pathlib
import random
import sys

SIDE = 32
COLOURS = [(220, 40, 40), (40, 220, 40), (40, 40, 220), (220, 220, 40), (200, 200, 200)]


def image(rng, label):
    """3072 bytes: a red, a green and a blue plane, each row by row."""
    size = rng.randint(6, 12)
    half = SIDE // 2
    top = rng.randint(0, half - size) + (half if label % 2 else 0)
    left = rng.randint(0, SIDE - size)
    planes = bytearray()
    for channel in COLOURS[label // 2]:
        for row in range(SIDE):
            for column in range(SIDE):
                inside = top <= row < top + size and left <= column < left + size
                planes.append(min(255, max(0, (channel if inside else 30) + rng.randint(-25, 25))))
    return bytes(planes)


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    folder = pathlib.Path(sys.argv[1])
    count = int(sys.argv[2]) if len(sys.argv) == 3 else 200
    folder.mkdir(parents=True, exist_ok=True)
    names = [f"data_batch_{i}.bin" for i in range(1, 6)] + ["test_batch.bin"]
    for seed, name in enumerate(names):
        rng = random.Random(seed)
        examples = []
        for _ in range(count):
            label = rng.randrange(10)
            examples.append(bytes([label]) + image(rng, label))
        (folder / name).write_bytes(b"".join(examples))
    print(f"wrote {len(names)} files of {count} examples to {folder}")


if __name__ == "__main__":
    main()
