#!/bin/bash
# Runs a test of this folder under Bazel, with the programs of this build and the Python of
# tests/interop/setup.sh (CAIRN_INTEROP_PYTHON, which tests/run.sh sets). Skipped without it.
set -eu
# Says that the shards of a test (results.py) run parts of it.
[ -z "${TEST_SHARD_STATUS_FILE:-}" ] || touch "$TEST_SHARD_STATUS_FILE"
if [ -z "${CAIRN_INTEROP_PYTHON:-}" ]; then
  echo "skipped: TensorFlow and Keras are not here; see tests/interop/setup.sh"
  echo "<testsuite><testcase classname='interop' name='$1'><skipped/></testcase></testsuite>" \
    >"${XML_OUTPUT_FILE:-/dev/null}"
  exit 0
fi
export CAIRN_BIN=${CAIRN_BIN:-$PWD} PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1
export PYTHONPATH=$PWD/clients/python TMPDIR=${TEST_TMPDIR:-${TMPDIR:-/tmp}}
exec "$CAIRN_INTEROP_PYTHON" "tests/interop/$1"
