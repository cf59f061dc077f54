#!/usr/bin/env bash
# Packs the tool, the daemons and every shared library they need into one file, for machines without
# Cairn's dependencies. It runs wherever the C library is at least as new as this machine's.
#
#   deploy/bundle.sh [--built DIR] FILE.tar.xz
#
# --built DIR   packs the programs of this folder, laid out as bazel-bin; builds nothing
#
# Unpack it anywhere and start cairn-VERSION/bin/cairn. The C library and CUDA stay outside; the GPU
# library is in the file if it was built.
set -euo pipefail
top=$(cd "$(dirname "$0")/.." && pwd)

built=()
fail() { echo "bundle.sh: $1" >&2; exit 2; }
while [ $# -gt 1 ]; do
  case "$1" in
    --built) built=(--built "$2"); shift 2 ;;
    *) fail "unknown argument $1; see deploy/bundle.sh --help" ;;
  esac
done
case "${1:-}" in
  -h | --help) sed -n '2,10s/^# \{0,1\}//p' "$0"; exit 0 ;;
  *.tar.xz) file=$(realpath -m "$1") ;;
  *) fail "needs the name of a file that ends with .tar.xz; see deploy/bundle.sh --help" ;;
esac
[ -w "$(dirname "$file")" ] || fail "$(dirname "$file") is not a folder that can be written"

folder=$(mktemp -d)
trap 'rm -rf "$folder" "$file.part"' EXIT
"$top/deploy/install.sh" --prefix "$folder/cairn" "${built[@]}" >/dev/null
cairn=$folder/cairn-$("$folder/cairn/bin/cairn" version | awk '{print $2}')
mv "$folder/cairn" "$cairn"
# They name the folder of the installation, which only the target machine knows.
rm -r "$cairn/lib/systemd"
strip --strip-unneeded "$cairn"/lib/cairn/*
"$top/deploy/copy_libraries.sh" "$cairn/lib/cairn/lib" "$cairn"/lib/cairn/*
tar -C "$folder" --owner=0 --group=0 --mode=a+rX -cJf "$file.part" "$(basename "$cairn")"
mv "$file.part" "$file"
[ -e "$cairn/lib/cairn/libcairn_cuda.so" ] ||
  echo "bundle.sh: without the GPU library, which was not built (doc/cuda.md)" >&2
echo "Packed $(basename "$cairn") into $file ($(du -h "$file" | cut -f1))"
