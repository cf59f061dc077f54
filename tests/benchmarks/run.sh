#!/bin/bash
# Builds Cairn with -O3, measures it and its peers on this machine, and prints one table.
#
#   tests/benchmarks/run.sh [--quick] [--no-install] [--output FILE] [--list] [PART...]
#
# Without PART it measures everything but race and reading, in about 20 minutes on 2 cores (--quick:
# 7). The race takes more than an hour (--quick, of its smallest model: 10 minutes), reading 10
# (--quick: 1). The results are written as JSON to FILE (default: bench-results.json), with a
# picture (.svg) and a page (.md) next to it. Measuring a PART again replaces its results. The
# README's numbers are those of doc/benchmarks.json:
#
#   tests/benchmarks/run.sh --output doc/benchmarks.json
#
# These two have their originals from PyPI: tests/interop/setup.sh installs TensorFlow (1.6 GiB) and,
# for the race, PyTorch 2 (see torch_requirements.txt) once, into a cache, if they are missing.
# The other peers need Debian's python3-torch with a fast BLAS (libopenblas0-pthread). Both are installed
# if they are missing, with root or sudo. A peer that cannot be installed, or must not be
# (--no-install), or whose matrix products are slow, is not measured; the top of the result says so.
# The machine should be idle: on a busy one only the ratios are meaningful, and they are imprecise.
# CAIRN_BIN=FOLDER measures the programs in that folder and builds nothing.
set -euo pipefail
export PYTHONDONTWRITEBYTECODE=1
here=$(cd "$(dirname "$0")" && pwd)
case " $* " in
  *" -h "* | *" --help "*) sed -n '2,20s/^# \{0,1\}//p' "$0"; exit 0 ;;
  *" --list "*) exec /usr/bin/python3 "$here/run.py" --list ;;
esac
if [ -z "${CAIRN_BIN:-}" ]; then
  (cd "$here/../.." && bazel build -c opt //cli:cairn //coordinator //ps_server //worker \
    //tests/benchmarks:all //tests/benchmarks/models:model_step)
fi
exec /usr/bin/python3 "$here/run.py" "$@"
