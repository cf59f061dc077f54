#!/usr/bin/env python3
"""Writes made-up clicks on advertisements as Parquet files, in a folder for each day.

    python3 examples/clicks/make_clicks.py FOLDER

Needs pyarrow (pip install pyarrow). The ten days have 20,000 rows each: numbers, names, a list of any
length, nulls, and whether there was a click. Who knows the probabilities from which clicks are drawn
guesses 88 % of them; always guessing "no click" is right in 75 %.
"""

import math
import pathlib
import random
import sys

import pyarrow as pa
import pyarrow.parquet as pq

COUNTRIES = ["at", "br", "de", "fr", "in", "jp", "us"]
DEVICES = ["desktop", "phone", "tablet"]
TOPICS = 40


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    draw = random.Random(1)
    of_country = [draw.gauss(0, 1) for _ in COUNTRIES]
    of_device = [draw.gauss(0, 1) for _ in DEVICES]
    of_topic = [draw.gauss(0, 2) for _ in range(TOPICS)]
    best = most_common = rows = 0
    for day in range(10):
        columns = {name: [] for name in ["age", "price", "country", "device", "topics", "clicked"]}
        for _ in range(20000):
            age = draw.randrange(15, 80)
            price = math.exp(draw.gauss(3, 1))
            country = draw.randrange(len(COUNTRIES))
            device = draw.randrange(len(DEVICES))
            topics = draw.sample(range(TOPICS), draw.randrange(1, 7))
            score = (of_country[country] + of_device[device] + (35 - age) / 20 + 2 - math.log(price)
                     + sum(of_topic[topic] for topic in topics) / len(topics))
            probability = 1 / (1 + math.exp(-1.5 * score))
            clicked = draw.random() < probability
            best += clicked == (probability > 0.5)
            most_common += not clicked
            rows += 1
            columns["age"].append(age if draw.random() < 0.95 else None)
            columns["price"].append(price)
            columns["country"].append(COUNTRIES[country])
            columns["device"].append(DEVICES[device])
            columns["topics"].append([topic + 1 for topic in topics])
            columns["clicked"].append(clicked)
        table = pa.table({
            "age": pa.array(columns["age"], pa.int8()),
            "price": pa.array(columns["price"], pa.float32()),
            "country": pa.array(columns["country"]).dictionary_encode(),
            "device": pa.array(columns["device"]).dictionary_encode(),
            "topics": pa.array(columns["topics"], pa.list_(pa.int16())),
            "clicked": columns["clicked"]})
        folder = pathlib.Path(sys.argv[1], f"day={day}")
        folder.mkdir(parents=True, exist_ok=True)
        pq.write_table(table, folder / "clicks.parquet", compression="zstd")
    print(f"{rows} rows; the probabilities guess {best / rows:.3f}, \"no click\" {most_common / rows:.3f}")


main()
