#!/usr/bin/env python3
"""Checks that the benchmarks run and print rows, and that rows become a table and a picture. Uses
tiny sizes and does not judge the measurements. Run by benchmarks_test.sh."""

import contextlib
import io
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
import xml.dom.minidom

import originals
import peer
import picture
import race
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


def maps(*files):
    """As /proc/PID/maps has them: each file in two pieces, between memory that is no file's."""
    lines = ["563a3c9f0000-563a3ca1f000 r--p 00000000 fe:01 1 /usr/bin/python3.11",
             "563a3d1e5000-563a3d2a0000 rw-p 00000000 00:00 0 [heap]",
             "7f10a0000000-7f10a0021000 rw-p 00000000 00:00 0 "]
    for file in files:
        lines += [f"7f10b0000000-7f10b0010000 r--p 00000000 fe:01 123                  {file}",
                  f"7f10b0010000-7f10b0080000 r-xp 00010000 fe:01 123                  {file}"]
    return "\n".join(lines + ["7ffd1c000000-7ffd1c021000 rw-p 00000000 00:00 0 [stack]"]) + "\n"


LIB = "/usr/lib/x86_64-linux-gnu/"
REFERENCE = [LIB + "blas/libblas.so.3.11.0", LIB + "lapack/liblapack.so.3.11.0"]
OPENBLAS = [LIB + "openblas-pthread/libblas.so.3", LIB + "openblas-pthread/liblapack.so.3",
            LIB + "openblas-pthread/libopenblasp-r0.3.21.so"]
TORCH = LIB + "libtorch_cpu.so.1.13"
FAST, SLOW = peer.Speed(peer=80, cairn=110), peer.Speed(peer=1.9, cairn=110)


class PeerTest(unittest.TestCase):
    def test_the_reference_blas_is_refused_with_the_package_that_mends_it(self):
        self.assertEqual(peer.refusal(maps(TORCH, *REFERENCE), SLOW, False),
                         "PyTorch multiplies matrices with the reference BLAS, " + REFERENCE[0] +
                         ", at 1.9 GFLOP/s, Cairn at 110.0: install Debian's libopenblas0-pthread")

    def test_where_another_is_installed_it_is_to_be_chosen(self):
        why = peer.refusal(maps(TORCH, *REFERENCE), SLOW, True)
        self.assertIn("update-alternatives --config libblas.so.3-", why)
        self.assertNotIn("install", why)

    def test_openblas_is_a_peer(self):
        self.assertEqual(peer.refusal(maps(TORCH, *OPENBLAS), FAST, True), "")

    def test_a_blas_that_is_linked_in_is_judged_by_its_speed(self):
        self.assertEqual(peer.refusal(maps(TORCH), FAST, False), "")
        self.assertIn("a slow BLAS at 1.9 GFLOP/s", peer.refusal(maps(TORCH), SLOW, False))

    def test_an_optimized_one_that_is_slow_is_refused_too(self):
        atlas = LIB + "atlas/libblas.so.3.10.3"
        self.assertIn("a slow BLAS", peer.refusal(maps(TORCH, atlas), SLOW, False))
        self.assertEqual(peer.refusal(maps(TORCH, atlas), peer.Speed(28, 110), False), "")

    def test_an_openblas_that_does_not_know_the_processor_is_to_be_told(self):
        why = peer.refusal(maps(TORCH, *OPENBLAS), peer.Speed(peer=7.6, cairn=140), True)
        self.assertIn("OPENBLAS_CORETYPE", why)
        self.assertNotIn("install", why)

    def test_where_openblas_has_fallen_back_the_processors_kernels_are_taken(self):
        avx512 = "avx512f avx512dq avx512cd avx512bw avx512vl"
        for flags, kernels in ((f"fpu sse avx avx2 fma {avx512} amx_tile", "SkylakeX"),
                               ("fpu sse avx avx2 fma avx512f", "Haswell"), ("fpu avx2", ""),
                               ("fpu sse sse2", "")):
            cpuinfo = f"processor\t: 0\nmodel name\t: a CPU\nflags\t\t: {flags}\nbugs\t\t: avx2\n"
            self.assertEqual(peer.better_kernels("Prescott", cpuinfo), kernels, flags)
            for chosen in ("Zen", "SkylakeX", ""):
                self.assertEqual(peer.better_kernels(chosen, cpuinfo), "", flags)
        self.assertEqual(peer.better_kernels("Prescott", ""), "")

    def test_what_was_found_is_said_and_handed_on(self):
        self.assertEqual(peer.Finding("").remark(), "")
        self.assertEqual(peer.Finding("no torch").remark(), "measured without PyTorch: no torch")
        self.assertIn("OPENBLAS_CORETYPE=Haswell", peer.Finding("", "Haswell").remark())
        for why, there in (("", "True"), ("no torch", "False")):
            said = subprocess.run([sys.executable, "-c", "import peer; print(peer.is_there())"],
                                  env=peer.environment_of(peer.Finding(why)), cwd=HERE,
                                  stdout=subprocess.PIPE, text=True, check=True)
            self.assertEqual(said.stdout.strip(), there)

    def test_numpys_own_openblas_does_not_hide_the_reference_that_pytorch_asks_for(self):
        numpys = "/venv/lib/python3.11/site-packages/numpy.libs/libopenblas64_p-r0-5007b62f.3.23.so"
        self.assertEqual(peer.reference_blas(maps(numpys, TORCH, *REFERENCE)), REFERENCE[0])

    def test_names_that_only_look_like_it_are_not_it(self):
        for file in ("libgslcblas.so.0.0.0", "libcublas.so.12", "libblaster.so.3", "notlibblas.so.3"):
            self.assertIsNone(peer.reference_blas(maps(LIB + file)), file)

    def test_a_library_that_was_replaced_meanwhile_and_a_path_with_spaces_are_found(self):
        self.assertEqual(peer.reference_blas(maps(REFERENCE[0] + " (deleted)")), REFERENCE[0])
        self.assertEqual(peer.reference_blas(maps("/my own/libblas.so.3")), "/my own/libblas.so.3")

    def test_this_process_has_mapped_its_own_program(self):
        with open("/proc/self/maps", encoding="utf-8") as own:
            self.assertIn(os.path.realpath(sys.executable), peer.mapped_files(own.read()))


class RemarksTest(unittest.TestCase):
    PARTS = {"alone": {"title": "t", "rows": ROWS, "remark": "why not"},
             "data": {"title": "t", "rows": ROWS},
             "one": {"title": "t", "rows": ROWS, "remark": "why not"}}
    LINE = "alone, one: why not"

    def test_they_are_at_the_top_of_the_table_and_of_the_page(self):
        self.assertEqual(list(results.table_lines(self.PARTS))[0], self.LINE)
        parts = {name: part | {"date": "2026-01-01", "version": "abc", "quick": True}
                 for name, part in self.PARTS.items()}
        page = list(results.page_lines({"machine": KEPT["machine"], "parts": parts}, "p.svg"))
        self.assertLess(page.index(f"**{self.LINE}**"),
                        page.index("![times as fast as the peer](p.svg)"))

    def test_a_record_has_one_only_where_there_is_something_to_say(self):
        self.assertEqual(results.part_record("t", ROWS, True, HERE, "why not")["remark"], "why not")
        self.assertNotIn("remark", results.part_record("t", ROWS, True, HERE, ""))


class RaceTest(unittest.TestCase):
    GOOD = {"gflops": 90.0, "onednn": True, "version": "2.1"}

    def test_an_original_without_onednn_or_with_a_slow_product_is_refused_with_the_remedy(self):
        self.assertEqual(originals.refusal(self.GOOD, 120), "")
        why = originals.refusal(self.GOOD | {"onednn": False}, 120)
        self.assertIn("without oneDNN: unset TF_ENABLE_ONEDNN_OPTS", why)
        why = originals.refusal(self.GOOD | {"gflops": 59.9}, 120)
        self.assertIn("at 59.9 GFLOP/s, Cairn at 120.0: install", why)

    def test_one_that_is_not_installed_says_what_installs_it(self):
        with tempfile.TemporaryDirectory() as cache:
            os.environ["CAIRN_INTEROP"] = cache
            try:
                found = originals.find_all(may_install=False)
            finally:
                del os.environ["CAIRN_INTEROP"]
        self.assertEqual([each.python for each in found], ["", ""])
        said = originals.remark(found)
        self.assertIn("measured without TensorFlow: it is not installed: run tests/interop/setup.sh",
                      said)
        self.assertIn("tests/benchmarks/torch_requirements.txt", said)

    def test_what_was_found_is_handed_on(self):
        found = [originals.Original("TensorFlow", "/a/python", "fast"),
                 originals.Original("PyTorch 2", "", "slow")]
        said = subprocess.run(
            [sys.executable, "-c", "import originals\nfor each in originals.handed_on().values(): "
             "print(each.name, each.python, each.about, sep=',')"],
            env=originals.environment_of(found), cwd=HERE, stdout=subprocess.PIPE, text=True,
            check=True)
        self.assertEqual(said.stdout, "TensorFlow,/a/python,fast\nPyTorch 2,,slow\n")
        self.assertEqual(originals.remark(found), "fast; measured without PyTorch 2: slow")

    def test_two_sides_that_do_not_do_the_same_are_no_race(self):
        race.checked("Cairn", [{"loss": 2.0}, {"loss": 0.5}], 2.3, 10, 10)
        with self.assertRaisesRegex(race.Wrong, "trains 10 parameters, the other 11"):
            race.checked("Cairn", [{"loss": 0.5}], 2.3, 10, 11)
        for loss in (2.3, 2.4, float("nan")):
            with self.assertRaisesRegex(race.Wrong, "loss does not fall"):
                race.checked("Keras fit", [{"loss": loss}], 2.3, 10, 10)

    def test_a_row_has_the_median_of_the_rounds_ratios_and_one_has_the_memory(self):
        ours = [{"examples_per_second": 10 * k, "peak_mebibytes": 100} for k in (1, 2, 6)]
        theirs = [{"examples_per_second": 5, "peak_mebibytes": 400} for _ in ours]
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            race.emit_rows("a", ours, theirs, ("Keras", 1.2), "a note")
            race.emit_rows("b", ours, None, None, "Keras skipped")
        rows = results.parse(printed.getvalue())
        self.assertEqual([(row["name"], row["value"], row.get("ratio")) for row in rows],
                         [("a", 20, 4.0), ("a, memory", 100, 0.25), ("b", 20, None),
                          ("b, memory", 100, None)])
        self.assertEqual([results.verdict(row) for row in rows], ["ok", "", "", ""])

    def test_a_way_that_fails_is_a_skipped_row(self):
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            race.or_skipped("a", sys.exit, "it ended")
        self.assertEqual(results.parse(printed.getvalue()), [{"name": "a", "skipped": "it ended"}])

    def test_profiles_say_what_the_time_went_into(self):
        layers = [{"layer": name, "forward": ms, "backward": ms} for name, ms in
                  (("a", 0.5), ("b", 2), ("c", 1), ("d", 0.1), ("e", 0.05))]
        self.assertEqual(race.step_profile({"milliseconds": 10, "layers": layers}),
                         "of 10.0 ms a step: b 40 %, c 20 %, a 10 %, d 2 %")
        ps = {"task": "ps 0", "seconds": 1, "phases": [], "layers": []}
        worker = {"task": "worker 0", "seconds": 2,
                  "phases": [{"name": "wait", "seconds": 1}, {"name": "compute", "seconds": 1}],
                  "layers": [{"name": "dense", "forward_seconds": 0.4, "backward_seconds": 0.4}]}
        self.assertEqual(race.cluster_profile([ps, worker, worker | {"task": "worker 1"}]),
                         "of the workers' time wait 50 %, compute 50 %, layer dense 40 %")
        self.assertEqual(race.cluster_profile([ps]), "no profile")

    def test_models_and_ways_are_chosen_by_name(self):
        chosen = race.parse(["--quick"])
        self.assertEqual((chosen.models, chosen.rounds), (["mlp"], 1))
        chosen = race.parse(["--models", "embedding", "--ways", "ddp,null"])
        self.assertEqual((chosen.models, chosen.ways), (["embedding"], ["ddp", "null"]))
        with self.assertRaises(SystemExit), contextlib.redirect_stderr(io.StringIO()):
            race.parse(["--ways", "horovod"])
        self.assertEqual(race.title_of("mlp", "ddp"), "mlp, Adam: 2 workers (ddp)")
        self.assertEqual(race.title_of("embedding", "fit"), "embedding, SGD: 1 process (fit)")


class ProgramsTest(unittest.TestCase):
    def rows_of(self, *command):
        result = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, text=True,
                                check=True)
        return results.parse(result.stdout)

    def test_a_coordinator_leases_to_workers_that_compute_nothing(self):
        rows = self.rows_of(sys.executable, HERE / "dispatch.py", "--smoke")
        self.assertEqual([row["name"] for row in rows], ["3 workers"])
        self.assertGreater(rows[0]["value"], 0)

    def test_a_coordinator_is_killed_and_all_come_back(self):
        rows = {row["name"].split(": ")[1]: row["value"]
                for row in self.rows_of(sys.executable, HERE / "scale.py", "--smoke")}
        self.assertGreater(rows["batches"], 0)
        self.assertGreater(rows["kill -9 until a batch is done"], 0)

    def test_cairns_own_product_says_how_fast_it_is(self):
        program = pathlib.Path(os.environ["CAIRN_BIN"], "tests/benchmarks/matrix_product")
        self.assertGreater(float(subprocess.run([program], stdout=subprocess.PIPE, text=True,
                                                check=True).stdout), 0)

    def test_a_snapshot_is_written_beside_a_plain_file(self):
        program = pathlib.Path(os.environ["CAIRN_BIN"], "tests/benchmarks/snapshot_write")
        with tempfile.TemporaryDirectory() as folder:
            rows = self.rows_of(program, folder, "2", "1")
            self.assertEqual(os.listdir(folder), [])
        self.assertEqual(len(rows), 3)
        self.assertTrue(all(row["ratio"] > 0 for row in rows), json.dumps(rows))


if __name__ == "__main__":
    unittest.main()
