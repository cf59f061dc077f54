#!/bin/bash
# Writes doc/errors.md with what the programs say to every bad input now. Read the difference before
# you commit it.
set -eu
cd "$(dirname "$0")/../../.."
CAIRN_ACCEPT=$PWD/doc/errors.md bazel run //tests/end_to_end/bad_input:bad_input_test
