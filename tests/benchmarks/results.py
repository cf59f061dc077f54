"""Rows of results: their format, their storage, and the table for readers.

A benchmark prints one row per line, as JSON, to standard output, and remarks to standard error. A
row has `name`, `value` and `unit`; if a peer was measured in the same run, also `peer`,
`peer_value` and `ratio` (value / peer_value; with several rounds, the median of their ratios).
`at_least` or `at_most` is the target: of the ratio if there is one, else of the value. `floor` is
the ideal value, without any overhead, in the unit of the row. `note`: a remark. `skipped`: the
reason why there is no value.
"""

import datetime
import json
import os
import platform
import subprocess


def parse(text):
    """The rows in the output of a benchmark. Lines that are not JSON objects are log lines."""
    rows = []
    for line in text.splitlines():
        if line.startswith("{"):
            rows.append(json.loads(line))
    return rows


def emit(name, value, unit, **more):
    """Prints a row, for benchmarks in Python."""
    print(json.dumps({"name": name, "value": value, "unit": unit, **more}), flush=True)


def emit_skipped(name, why):
    print(json.dumps({"name": name, "skipped": why}), flush=True)


def judged(row):
    """The number that the target refers to."""
    return row.get("ratio", row.get("value"))


def verdict(row):
    """"ok", "MISSED", "skipped", or "" if there is no target."""
    if "skipped" in row:
        return "skipped"
    number = judged(row)
    if "at_least" in row:
        return "ok" if number >= row["at_least"] else "MISSED"
    if "at_most" in row:
        return "ok" if number <= row["at_most"] else "MISSED"
    return ""


def bar_text(row):
    if "at_least" in row:
        return f">= {short(row['at_least'])}"
    if "at_most" in row:
        return f"<= {short(row['at_most'])}"
    return ""


def short(number):
    """Three significant digits: 0.853, 12.3, 1,230, 41.2k, 633k."""
    if number is None:
        return ""
    size = abs(number)
    if size >= 100000:
        return f"{number / 1000:,.0f}k"
    if size >= 10000:
        return f"{number / 1000:.1f}k"
    if size >= 1000:
        return f"{number:,.0f}"
    if size >= 100:
        return f"{number:.0f}"
    if size >= 10:
        return f"{number:.1f}"
    return f"{number:.2f}"


COLUMNS = "{:50} {:>9} {:16} {:>9} {:>6} {:>8} {}"


def remarks(parts):
    """What a reader must know first, a line for each remark: "alone, one: measured without ..."."""
    names = {}
    for part, result in parts.items():
        if result.get("remark"):
            names.setdefault(result["remark"], []).append(part)
    for remark, whose in names.items():
        yield f"{', '.join(whose)}: {remark}"


def table_lines(parts):
    """The lines of the table. `parts`: {"part": part_record(...)}, in order."""
    yield from remarks(parts)
    yield COLUMNS.format("", "measured", "", "peer", "ratio", "wanted", "").rstrip()
    for part, result in parts.items():
        yield f"{part}: {result['title']}"
        for row in result["rows"]:
            if "skipped" in row:
                yield f"  {row['name']:48} skipped: {row['skipped']}"
                continue
            ratio = short(row["ratio"]) if "ratio" in row else ""
            about = [verdict(row)]
            if "floor" in row:
                about.append(f"floor {short(row['floor'])}")
            about += [row["peer"]] if "peer" in row else []
            about += [row["note"]] if "note" in row else []
            yield COLUMNS.format("  " + row["name"], short(row["value"]), row["unit"],
                                 short(row.get("peer_value")), ratio, bar_text(row),
                                 "; ".join(text for text in about if text)).rstrip()


def page_lines(kept, picture):
    """A page of Markdown with the picture (its name) and all rows."""
    machine = kept["machine"]
    yield "# What the benchmarks measured"
    yield ""
    yield (f"Written by `tests/benchmarks/run.sh`, on {machine['cores']} cores of "
           f"{machine['cpu']}. What is beside a number was measured in the same run; ratios are "
           "medians of interleaved rounds. How each is measured, and what bounds it, stands at the "
           "top of its file in `tests/benchmarks/`.")
    for line in remarks(kept["parts"]):
        yield ""
        yield f"**{line}**"
    yield ""
    yield f"![times as fast as the peer]({picture})"
    for part, result in kept["parts"].items():
        yield ""
        yield f"## {part}: {result['title']}"
        yield ""
        shorter = ", with fewer and shorter rounds (`--quick`)" if result["quick"] else ""
        yield f"Measured on {result['date']} at version {result['version']}{shorter}."
        yield ""
        yield "| | measured | unit | floor | beside it | ratio | wanted | |"
        yield "|---|---|---|---|---|---|---|---|"
        for row in result["rows"]:
            yield page_row(row)


def page_row(row):
    if "skipped" in row:
        return f"| {row['name']} | skipped: {row['skipped']} | | | | | | |"
    beside = f"{short(row['peer_value'])} ({row['peer']})" if "peer" in row else ""
    cells = [row["name"], short(row["value"]), row["unit"], short(row.get("floor")), beside,
             short(row.get("ratio")), bar_text(row),
             "; ".join(text for text in (verdict(row), row.get("note", "")) if text)]
    return "| " + " | ".join(cells) + " |"


def machine():
    """The properties of the machine that the numbers depend on."""
    model = "unknown"
    with open("/proc/cpuinfo", encoding="utf-8") as lines:
        for line in lines:
            if line.startswith("model name"):
                model = line.split(":", 1)[1].strip()
                break
    return {"cpu": model, "cores": os.cpu_count(), "kernel": platform.release().split("-")[0]}


def version_of(root):
    """The commit, followed by a + if the tree differs from it."""
    result = subprocess.run(["git", "-C", root, "describe", "--always", "--dirty=+"],
                            capture_output=True, text=True)
    return result.stdout.strip() or "unknown"


def load(path):
    try:
        with open(path, encoding="utf-8") as file:
            return json.load(file)
    except FileNotFoundError:
        return {"parts": {}}


def store(path, results):
    """Writes atomically, so that an interrupted run destroys nothing."""
    beside = f"{path}.unfinished"
    with open(beside, "w", encoding="utf-8") as file:
        json.dump(results, file, indent=1)
        file.write("\n")
    os.replace(beside, path)


def part_record(title, rows, quick, root, remark):
    """`remark`: what a reader must know before the rows, as why they have no peer; "": nothing."""
    today = datetime.datetime.now(datetime.timezone.utc).date().isoformat()
    record = {"title": title, "date": today, "version": version_of(root), "quick": quick,
              "rows": rows}
    return record | ({"remark": remark} if remark else {})
