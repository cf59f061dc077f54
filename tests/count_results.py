#!/usr/bin/env python3
"""Adds up a bazel test run and prints "N passed, N failed[, N skipped]" as the last line.

Usage: count_results.py BUILD_EVENTS BAZEL_STATUS TIDY_STATUS

BUILD_EVENTS is the file of --build_event_json_file. It names the log of every target of the run,
including cached ones.
"""

import json
import pathlib
import sys
import urllib.parse
import xml.etree.ElementTree as ElementTree


def test_results(events):
    """Returns (label, status, test.xml) of the last attempt of every shard of every target."""
    results = {}
    for line in events.read_text().splitlines():
        event = json.loads(line)
        if "testResult" not in event:
            continue
        result = event["testResult"]
        outputs = {o["name"]: o.get("uri", "") for o in result.get("testActionOutput", [])}
        path = urllib.parse.unquote(urllib.parse.urlparse(outputs.get("test.xml", "")).path)
        test = event["id"]["testResult"]
        results[test["label"], test.get("shard", 0)] = (result.get("status", ""), path)
    return [(label, status, path) for (label, _), (status, path) in sorted(results.items())]


def count_cases(label, path):
    """Returns (passed, failed, skipped) from the log of one target."""
    passed = failed = skipped = 0
    for case in ElementTree.parse(path).getroot().iter("testcase"):
        name = f"{label} {case.get('classname')}.{case.get('name')}"
        if case.find("failure") is not None or case.find("error") is not None:
            failed += 1
            print(f"FAILED {name}")
        elif case.get("result") == "skipped" or case.find("skipped") is not None:
            skipped += 1
            print(f"skipped {name}")
        elif case.get("status") != "notrun":
            passed += 1
    return passed, failed, skipped


def count_target(label, status, path):
    try:
        passed, failed, skipped = count_cases(label, path)
    except (OSError, ElementTree.ParseError):
        passed, failed, skipped = 0, 0, 0
    if status != "PASSED" and failed == 0:  # It crashed or timed out.
        print(f"FAILED {label} ({status.lower()})")
        failed = 1
    return passed, failed, skipped


def main():
    events, bazel_status, tidy_status = pathlib.Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    totals = [count_target(*result) for result in test_results(events)] if events.exists() else []
    passed, failed, skipped = (sum(column) for column in zip(*totals)) if totals else (0, 0, 0)
    none_ran = passed == 0
    if tidy_status == 0:
        passed += 1
    else:
        failed += 1
        print("FAILED tidy")
    if bazel_status != 0 and failed == 0:
        failed += 1
        print("FAILED build (see above)")
    print(f"{passed} passed, {failed} failed" + (f", {skipped} skipped" if skipped else ""))
    sys.exit(1 if failed or none_ran else 0)


if __name__ == "__main__":
    main()
