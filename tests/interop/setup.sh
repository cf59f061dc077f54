#!/usr/bin/env bash
# Makes a Python environment with TensorFlow, Keras and the other originals that the tests in
# tests/interop compare Cairn with, and prints the path of its Python. Users do not need it.
#
#   tests/interop/setup.sh [--no-install] [FOLDER [REQUIREMENTS]]
#
# FOLDER: the cache, default $CAIRN_INTEROP or ~/.cache/cairn/interop. The packages (about 1.6 GiB)
# come from PyPI once; a second call takes no time. An environment that was not completed, or whose
# Python is gone, is made again. Fails with the reason if the packages cannot be had, or are not
# there and must not be installed. REQUIREMENTS: of another environment, as the benchmarks have.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
case "${1:-}" in
  -h | --help) sed -n '2,11s/^# \{0,1\}//p' "$0"; exit 0 ;;
esac
may_install=yes
[ "${1:-}" != --no-install ] || { may_install=no; shift; }
requirements=${2:-$here/requirements.txt}
cache=${1:-${CAIRN_INTEROP:-${XDG_CACHE_HOME:-$HOME/.cache}/cairn/interop}}
fail() { echo "tests/interop/setup.sh: $1" >&2; exit 1; }

mkdir -p "$cache" || fail "cannot write to $cache"
cache=$(cd "$cache" && pwd)
# Another version of Python or of a package gets another environment.
version=$(python3 -c 'import sys; print("%d.%d" % sys.version_info[:2])') || fail "no python3 is installed"
environment=$cache/$version-$(sha256sum <"$requirements" | cut -c1-12)
python=$environment/bin/python

# Two calls at the same time: the second waits for the first.
exec 9>"$cache/lock"
flock 9
if [ -e "$environment/complete" ] && "$python" -c '' 2>/dev/null; then
  echo "$python"
  exit 0
fi

[ $may_install = yes ] || fail "not installed: tests/interop/setup.sh installs it"
python3 -c 'import ensurepip, venv' 2>/dev/null ||
  fail "python3 has no venv: install it (Debian: apt-get install python3-venv)"
rm -rf "$environment"
echo "Installing the packages of $requirements into $environment (minutes) ..." >&2
log=$cache/setup.log
install() {
  python3 -m venv "$environment" &&
    "$python" -m pip install --quiet --no-deps --disable-pip-version-check --no-cache-dir \
      --requirement "$requirements"
}
if ! install >"$log" 2>&1; then
  tail -n 5 "$log" >&2
  rm -rf "$environment"
  fail "the packages could not be installed; see $log"
fi
# Last: without this file the environment counts as not completed.
touch "$environment/complete"
echo "$python"
