#!/usr/bin/env bash
# Installs DuckDB's library, with which workers read Parquet files, from npm.
#
#   deploy/install_parquet.sh [FOLDER]
#
# FOLDER: default /usr/local/lib/cairn, where every worker finds it. Without root, use the folder of
# the worker's program, or one on LD_LIBRARY_PATH. The library has 67 MiB. Run this on each machine
# with a worker.
set -euo pipefail
case "${1:-}" in
  -h | --help) sed -n '2,8s/^# \{0,1\}//p' "$0"; exit 0 ;;
esac
fail() { echo "install_parquet.sh: $1" >&2; exit 1; }

package=@duckdb/node-bindings-linux-x64@1.5.6-r.1
checksum=3f4962cdd266eab2b479a5b5a4a6d063d279b2954ae814ed00385d553b747633
folder=${1:-/usr/local/lib/cairn}
mkdir -p "$folder" 2>/dev/null && [ -w "$folder" ] ||
  fail "$folder cannot be written: run this as root, or name another folder"
library=$(cd "$folder" && pwd)/libduckdb.so

is_installed() { [ "$(sha256sum <"$1" | cut -d' ' -f1)" = $checksum ]; }
if [ -e "$library" ] && is_installed "$library"; then
  echo "$library"
  exit 0
fi
[ "$(uname -m)" = x86_64 ] || fail "this version of the library is for x86-64"
command -v npm >/dev/null || fail "npm is not installed (Debian: apt-get install npm)"
temporary=$(mktemp -d "$folder/.parquet.XXXXXX")
trap 'rm -rf "$temporary"' EXIT
(cd "$temporary" && npm pack --silent "$package" >/dev/null) || fail "npm does not get $package"
tar -xzf "$temporary"/*.tgz -C "$temporary" package/libduckdb.so
is_installed "$temporary/package/libduckdb.so" || fail "the library of $package is another one"
# Renamed, so that a worker that starts now finds all of it or nothing.
chmod 644 "$temporary/package/libduckdb.so"
mv "$temporary/package/libduckdb.so" "$library"
echo "$library"
