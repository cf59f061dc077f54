#!/bin/bash
# Builds what is measured, measures it beside its peers on this machine, prints tables with ratios.
#
# Usage: tests/benchmarks/run.sh [ROUNDS=3] [SECONDS=4]
#
# Needs Debian's python3-torch for the peers. The machine should have nothing else to do: on a busy
# one only the ratios mean something.
set -euo pipefail
cd "$(dirname "$0")/../.."
rounds=${1:-3} seconds=${2:-4}
bazel build -c opt //cli:cairn //coordinator //ps_server //worker \
  //tests/benchmarks:local_step //tests/benchmarks:data_plane
for optimizer in sgd adam; do
  bazel-bin/tests/benchmarks/data_plane "$rounds" "$optimizer"
  echo
done
python3 tests/benchmarks/compare.py "$rounds" "$seconds"
