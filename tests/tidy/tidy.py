#!/usr/bin/env python3
"""Checks the rules of the source tree that a program can verify. Prints every violation and fails
if there is one.

Run from anywhere: python3 tests/tidy/tidy.py. Needs clang for the thread-safety pass and the
headers that `bazel build` generates; fails with a message if either is missing.
"""

import collections
import concurrent.futures
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
FILE_LINES_WARNED = 800
FUNCTION_LINES_MAX = 70
ROWS = {"common": 0, "proto": 0, "cluster": 1, "storage": 1, "nn": 1, "job": 2,
        "collectives": 2,
        "parameters": 3, "ps_server": 4, "worker": 4, "coordinator": 4, "cli": 4}
# Sources that are tested by a suite over their family, or by the test of their only user.
SUITE_OF_FAMILY = {"nn/layers": "nn/layers/conformance_test.cc",
                   "nn/cpu": "nn/layers/conformance_test.cc", "nn/cuda": "nn/cuda_test.cc",
                   "nn/metrics": "nn/metrics/conformance_test.cc",
                   "nn/losses": "nn/losses/conformance_test.cc",
                   "nn/optimizers": "nn/optimizers/conformance_test.cc",
                   "cli/commands": "cli/commands_test.cc"}
SUITE_OF_FILE = {"parameters/parameter_frames.cc": "parameters/parameter_service_test.cc",
                 "cli/drill/drill.cc": "end_to_end/drill_test.cc",
                 "cli/drill/drill_training.cc": "end_to_end/drill_test.cc",
                 "cli/drill/fault_injector.cc": "end_to_end/drill_bits_test.cc"}


def tracked(*suffixes):
    names = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, text=True,
                           capture_output=True, check=True).stdout.splitlines()
    return [n for n in names if n.endswith(suffixes) and (ROOT / n).is_file()]


def lines_of(name):
    return (ROOT / name).read_text(errors="replace").splitlines()


def warn_of_long_files():
    """Not a breach: a file is split by subject, not by length."""
    for name in tracked(".h", ".cc", ".cu", ".py", ".sh", ".bzl"):
        count = len(lines_of(name))
        if count > FILE_LINES_WARNED:
            print(f"{name}: {count} lines: is that one subject?")


def check_function_sizes():
    """A function's body runs from a line at column 0 (or a class member's indent) that ends in '{'
    to the closing brace at the same indent. Functions whose signature takes several lines are not
    measured."""
    opening = re.compile(r"^( {0,2})(?! |namespace|class|struct|enum|union|extern|//|#|\}).*\)[^;]*\{$")
    for name in tracked(".h", ".cc", ".cu"):
        start, indent = None, ""
        for number, line in enumerate(lines_of(name), 1):
            if start is None:
                match = opening.match(line)
                if match:
                    start, indent = number, match.group(1)
            elif line.startswith(indent + "}"):
                if number - start - 1 > FUNCTION_LINES_MAX:
                    yield (f"{name}:{start}: a function of {number - start - 1} lines, at most "
                           f"{FUNCTION_LINES_MAX}")
                start = None


def check_includes():
    include = re.compile(r'^#include "([a-z_]+)/')
    for name in tracked(".h", ".cc", ".cu"):
        folder = name.split("/")[0]
        if folder not in ROWS:
            continue
        for number, line in enumerate(lines_of(name), 1):
            match = include.match(line)
            target = match.group(1) if match else folder
            if target in ROWS and target != folder and ROWS[target] >= ROWS[folder] > 0:
                yield f"{name}:{number}: {folder}/ may not include {target}/"


def check_nn_knows_no_job():
    for name in tracked(".h", ".cc", ".cu"):
        if name.startswith("nn/") and any("proto/job.pb.h" in line for line in lines_of(name)):
            yield f"{name}: nn/ may not include proto/job.pb.h: rules of a job belong in job/"


def check_retired_words():
    """Identifiers that were renamed; the table is in doc/words.md."""
    table = (ROOT / "doc/words.md").read_text().split("Retired words", 1)
    words = re.findall(r"^\| `(\w+)` \|", table[1], re.M) if len(table) == 2 else []
    if not words:
        yield "doc/words.md: no table of retired words"
        return
    retired = re.compile(r"\b(" + "|".join(words) + r")\b")
    for name in tracked(".h", ".cc", ".cu", ".proto", ".bzl", ".bazel", ".py", ".sh", ".md"):
        if name == "doc/words.md":
            continue
        for number, line in enumerate(lines_of(name), 1):
            match = retired.search(line)
            if match:
                yield f"{name}:{number}: '{match.group(1)}' is a retired word; see doc/words.md"


def check_environment():
    for name in tracked(".h", ".cc", ".cu"):
        if name.split("/")[0] not in ROWS or name.endswith("main.cc"):
            continue
        for number, line in enumerate(lines_of(name), 1):
            if re.search(r"\b(secure_)?getenv *\(", line):
                yield f"{name}:{number}: the environment is read outside main.cc"


def check_failpoints():
    """Each name of kFailpoints is at one place of the sources. (A name that is not in the list does
    not compile.)"""
    listed = re.search(r"kFailpoints\[\] = \{(.*?)\};", (ROOT / "common/failpoint.h").read_text(),
                       re.S)
    uses = collections.Counter()
    for name in tracked(".h", ".cc", ".cu"):
        if name.split("/")[0] in ROWS and not name.startswith("common/failpoint"):
            uses.update(re.findall(r'CAIRN_FAILPOINT\(\s*"([^"]+)"', (ROOT / name).read_text()))
    for failpoint in re.findall(r'"([^"]+)"', listed.group(1)):
        if uses[failpoint] != 1:
            yield f"common/failpoint.h: {failpoint} is used {uses[failpoint]} times, not once"
    # Rows of the test's table that leave a failpoint to another test.
    table = (ROOT / "tests/end_to_end/failpoints_test.cc").read_text()
    for failpoint, test in re.findall(r'\{"([^"]+)", nullptr, "([^"]+)"\}', table):
        if not (ROOT / test).is_file() or f'"{failpoint}=' not in (ROOT / test).read_text():
            yield f"tests/end_to_end/failpoints_test.cc: {test} does not arm {failpoint}"


def check_planted():
    """What a planted fault replaces is at one place of its file."""
    sys.path.insert(0, str(ROOT / "tests/planted"))
    sys.dont_write_bytecode = True
    import planted  # pylint: disable=import-outside-toplevel
    for fault in planted.FAULTS:
        count = (ROOT / fault.file).read_text().count(fault.right)
        if count != 1:
            yield (f"tests/planted/planted.py: '{fault.name}' replaces what is {count} times in "
                   f"{fault.file}, not once")


def check_words():
    for name in tracked(".h", ".cc", ".cu", ".sh", ".py", ".bzl"):
        if name == "tests/tidy/tidy.py":
            continue
        for number, line in enumerate(lines_of(name), 1):
            if re.search(r"\b(TODO|FIXME|XXX|HACK)\b", line):
                yield f"{name}:{number}: unfinished by its own word"


def check_rocksdb():
    for name in tracked(".h", ".cc"):
        if name.startswith(("storage/", "tests/")):
            continue
        if any(line.startswith("#include \"rocksdb/") or line.startswith("#include <rocksdb/")
               for line in lines_of(name)):
            yield f"{name}: RocksDB is storage/'s alone"


def check_tests():
    tests = set(tracked("_test.cc"))
    for name in tracked(".cc"):
        folder = str(pathlib.PurePath(name).parent)
        if name.split("/")[0] not in ROWS or name.endswith("main.cc"):
            continue
        suite = SUITE_OF_FILE.get(name, SUITE_OF_FAMILY.get(folder))
        own = f"tests/{name[:-3]}_test.cc"
        if own not in tests and (suite is None or f"tests/{suite}" not in tests):
            yield f"{name}: no {own}"


def check_format():
    names = tracked(".h", ".cc", ".cu")
    result = subprocess.run(["clang-format", "--dry-run", "-Werror", *names], cwd=ROOT, text=True,
                            capture_output=True)
    for line in result.stderr.splitlines():
        if "error:" in line:
            yield line.split(" code should be")[0] + " not as clang-format would have it"


def check_thread_safety():
    """clang's -Wthread-safety on every source that holds a Mutex."""
    generated = ROOT / "bazel-bin"
    if not (generated / "proto" / "job.pb.h").exists():
        yield "bazel-bin/proto has no generated headers: run bazel build //proto:all first"
        return
    holds_mutex = re.compile(r"\bMutex(Lock)?\b|ABSL_GUARDED_BY")
    names = [n for n in tracked(".cc") if n.split("/")[0] in ROWS and any(
        (ROOT / f).exists() and holds_mutex.search((ROOT / f).read_text(errors="replace"))
        for f in (n, n[:-3] + ".h"))]

    def check(name):
        command = ["clang++", "-std=c++20", "-fsyntax-only", "-Wthread-safety", "-Werror",
                   "-Wno-unknown-attributes", "-Wno-unknown-warning-option", "-DSPDLOG_COMPILED_LIB",
                   "-DSPDLOG_FMT_EXTERNAL", "-I.", f"-I{generated}", name]
        result = subprocess.run(command, cwd=ROOT, text=True, capture_output=True)
        return [] if result.returncode == 0 else result.stderr.splitlines()[:4]

    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for lines in pool.map(check, names):
            yield from lines


CHECKS = [check_function_sizes, check_includes, check_nn_knows_no_job, check_retired_words,
          check_environment, check_failpoints, check_planted, check_words, check_rocksdb,
          check_tests, check_format, check_thread_safety]


def main():
    warn_of_long_files()
    breaches = [breach for check in CHECKS for breach in check()]
    print("\n".join(breaches) if breaches else "The house is tidy.")
    sys.exit(1 if breaches else 0)


if __name__ == "__main__":
    main()
