#!/usr/bin/env python3
"""Checks that the benchmarks run and print rows, and that rows become a table and a picture. Uses
tiny sizes and does not judge the measurements. Run by benchmarks_test.sh."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
import xml.dom.minidom

import picture
import results

HERE = pathlib.Path(__file__).parent
ROWS = [{"name": "faster", "value": 42700, "unit": "examples/s", "peer": "PyTorch",
         "peer_value": 30500, "ratio": 1.4, "at_least": 1.2},
        {"name": "slower <&>", "value": 1.5, "unit": "GiB/s", "peer": "TCP", "peer_value": 5,
         "ratio": 0.3, "at_least": 0.4},
        {"name": "alone", "value": 0.5, "unit": "s", "at_most": 3, "floor": 0.4},
        {"name": "missing", "skipped": "no torch"}]
KEPT = {"machine": {"cpu": "a CPU", "cores": 2},
        "parts": {"one": {"title": "a title", "rows": ROWS}}}


class RowsTest(unittest.TestCase):
    def test_rows_are_found_among_other_lines(self):
        text = 'a log line\n{"name": "a", "value": 1, "unit": "s"}\n\n'
        self.assertEqual(results.parse(text), [{"name": "a", "value": 1, "unit": "s"}])

    def test_a_bar_is_for_the_ratio_where_there_is_a_peer(self):
        self.assertEqual([results.verdict(row) for row in ROWS], ["ok", "MISSED", "ok", "skipped"])
        self.assertEqual(results.verdict({"name": "a", "value": 4, "unit": "s", "at_most": 3}),
                         "MISSED")
        self.assertEqual(results.verdict({"name": "a", "value": 4, "unit": "s"}), "")

    def test_numbers_keep_three_digits_that_count(self):
        self.assertEqual([results.short(n) for n in (0.1234, 12.34, 123.4, 1234, 42700, 632950)],
                         ["0.12", "12.3", "123", "1,234", "42.7k", "633k"])

    def test_the_table_has_every_row_and_says_what_was_missed_and_skipped(self):
        table = list(results.table_lines(KEPT["parts"]))
        self.assertEqual(len(table), 2 + len(ROWS))
        self.assertEqual(len({line.find("ok") for line in table if "ok" in line}), 1)
        self.assertIn("MISSED", table[3])
        self.assertIn("floor 0.40", table[4])
        self.assertIn("skipped: no torch", table[5])

    def test_the_page_has_the_picture_and_a_table_row_for_every_row(self):
        kept = {"machine": KEPT["machine"],
                "parts": {"one": KEPT["parts"]["one"] | {"date": "2026-01-01", "version": "abc",
                                                         "quick": True}}}
        page = "\n".join(results.page_lines(kept, "p.svg"))
        self.assertIn("(p.svg)", page)
        self.assertIn("--quick", page)
        self.assertEqual(page.count("\n|"), 2 + len(ROWS))
        self.assertIn("| faster | 42.7k | examples/s |  | 30.5k (PyTorch) | 1.40 | >= 1.20 | ok |",
                      page)

    def test_the_picture_is_xml_with_a_bar_for_each_ratio(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "picture.svg")
            picture.draw(KEPT, path)
            document = xml.dom.minidom.parse(str(path))
        self.assertEqual(len(document.getElementsByTagName("rect")), 1 + 2)

    def test_what_was_stored_is_loaded_and_nothing_is_no_error(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "results.json")
            self.assertEqual(results.load(path), {"parts": {}})
            results.store(path, KEPT)
            self.assertEqual(results.load(path), KEPT)
            self.assertEqual(os.listdir(folder), ["results.json"])


class ProgramsTest(unittest.TestCase):
    def rows_of(self, *command):
        result = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, text=True,
                                check=True)
        return results.parse(result.stdout)

    def test_a_coordinator_leases_to_workers_that_compute_nothing(self):
        rows = self.rows_of(sys.executable, HERE / "dispatch.py", "--smoke")
        self.assertEqual([row["name"] for row in rows], ["3 workers"])
        self.assertGreater(rows[0]["value"], 0)

    def test_a_snapshot_is_written_beside_a_plain_file(self):
        program = pathlib.Path(os.environ["CAIRN_BIN"], "tests/benchmarks/snapshot_write")
        with tempfile.TemporaryDirectory() as folder:
            rows = self.rows_of(program, folder, "2", "1")
            self.assertEqual(os.listdir(folder), [])
        self.assertEqual(len(rows), 3)
        self.assertTrue(all(row["ratio"] > 0 for row in rows), json.dumps(rows))


if __name__ == "__main__":
    unittest.main()
