#!/bin/bash
# Runs benchmarks_test.py under Bazel, with Debian's python3 and the programs of this build.
set -eu
export CAIRN_BIN=${CAIRN_BIN:-$PWD} PYTHONDONTWRITEBYTECODE=1
exec /usr/bin/python3 tests/benchmarks/benchmarks_test.py
