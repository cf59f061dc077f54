#!/usr/bin/env python3
"""Writes the Parquet files beside it, and that of images, with pyarrow.

Needs the Python of tests/interop/setup.sh.
"""

import pathlib

import pyarrow as pa
import pyarrow.parquet as pq

FOLDER = pathlib.Path(__file__).resolve().parent

# Four rows; the values of row i can be told from those of the others.
TYPES = {
    "bool": pa.array([True, False, True, False]),
    "int8": pa.array([-128, -1, 0, 127], pa.int8()),
    "uint16": pa.array([0, 1, 2, 65535], pa.uint16()),
    "int64": pa.array([0, 1, -(2**31), 2**31 - 1], pa.int64()),
    "uint64": pa.array([0, 1, 2, 2**63], pa.uint64()),
    "half": pa.array([0.5, 1, 2, 3], pa.float16()),
    "float": pa.array([0.25, 1, 2, 3], pa.float32()),
    "double": pa.array([0.125, 1e300, 2, 3], pa.float64()),
    "decimal": pa.array(["0.50", "1.25", "2.00", "3.75"]).cast(pa.decimal128(9, 2)),
    "name": pa.array(["rose", "été", "rose", "it's"]),
    "dictionary": pa.array(["a", "b", "b", "a"]).dictionary_encode(),
    "bytes": pa.array([b"\x00\x01", b"\x02\xff", b"\x04\x05", b"\x06\x07"]),
    "null": pa.array([None, 1, None, 3], pa.int32()),
    "null name": pa.array(["a", None, "b", None]),
    "pair": pa.array([[0, 1], [2, 3], [4, 5], [6, 7]], pa.list_(pa.float32(), 2)),
    "ragged": pa.array([[1], [], [2, 3, 4], None], pa.list_(pa.int32())),
    "names": pa.array([["a", "b"], ["b", "b"], ["a", "a"], ["c", "a"]]),
    "square": pa.array([[[0, 1], [2, 3]]] * 4, pa.list_(pa.list_(pa.int16()))),
    "uneven": pa.array([[[0], [1, 2, 3]]] * 4, pa.list_(pa.list_(pa.int16()))),
    "hole": pa.array([[0, None]] * 4, pa.list_(pa.int16())),
    "day": pa.array([1, 2, 3, 4], pa.date32()),
    "struct": pa.array([{"x": 1}] * 4),
    'a "b" c': pa.array([5, 6, 7, 8], pa.int32()),
}
table = pa.table(TYPES)
pq.write_table(table, FOLDER / "types.parquet", compression="zstd")
pq.write_table(table.slice(0, 0).select(["int8", "name"]), FOLDER / "empty.parquet")
numbers = pa.table({"i": pa.array(range(70000), pa.int32()),
                    "y": pa.array([i % 2 for i in range(70000)], pa.int8())})
pq.write_table(numbers, FOLDER / "groups.parquet", row_group_size=20000, use_dictionary=["y"],
               compression="brotli", column_encoding={"i": "DELTA_BINARY_PACKED"})
images = pa.table({"filename": ["1.png", "2.png", "3.png"],
                   "class": pa.array([0, 1, float("nan")], pa.float64())})
pq.write_table(images, FOLDER.parents[1] / "images/testdata/labels.parquet")
