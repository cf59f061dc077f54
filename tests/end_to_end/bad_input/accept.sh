#!/bin/bash
# Writes doc/errors.md with the current messages for all bad inputs. Read the difference before you
# commit it.
set -eu
cd "$(dirname "$0")/../../.."
CAIRN_ACCEPT=$PWD/doc/errors.md bazel run //tests/end_to_end/bad_input:bad_input_test
