#!/bin/bash
# Builds Cairn with -O3, measures it beside its peers on this machine, and prints one table.
#
#   tests/benchmarks/run.sh [--quick] [--output FILE] [--list] [PART...]
#
# Without PART everything, in about 15 minutes on 2 cores (--quick: 5). Results are kept as JSON in
# FILE (bench-results.json; beside it a picture, .svg, and a page, .md); a PART that is measured again
# replaces its own results there. The README's numbers are doc/benchmarks.json's:
#
#   tests/benchmarks/run.sh --output doc/benchmarks.json
#
# The peers need Debian's python3-torch; without it their rows say that they were skipped. The
# machine should have nothing else to do: on a busy one only the ratios mean something, and not much.
# CAIRN_BIN=FOLDER measures what is built there and builds nothing.
set -euo pipefail
export PYTHONDONTWRITEBYTECODE=1
here=$(cd "$(dirname "$0")" && pwd)
case " $* " in
  *" -h "* | *" --help "*) sed -n '2,14s/^# \{0,1\}//p' "$0"; exit 0 ;;
  *" --list "*) exec /usr/bin/python3 "$here/run.py" --list ;;
esac
if [ -z "${CAIRN_BIN:-}" ]; then
  (cd "$here/../.." && bazel build -c opt //cli:cairn //coordinator //ps_server //worker \
    //tests/benchmarks:all)
fi
exec /usr/bin/python3 "$here/run.py" "$@"
