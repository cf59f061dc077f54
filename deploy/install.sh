#!/usr/bin/env bash
# Installs the tool, the daemons, the library of collectives, manual pages, documents, completion and
# systemd units. Builds them first, unless --built names a build.
#
#   deploy/install.sh [--prefix DIR] [--built DIR] [--uninstall]
#
# --prefix DIR  installs to DIR/bin/cairn, DIR/lib, DIR/include, DIR/share (default /usr/local)
# --built DIR   installs the programs of this folder, laid out as bazel-bin; builds nothing
# --uninstall   removes the files of an installation; state directories and logs stay
#
# The daemons are in DIR/lib/cairn, not on the PATH, because their names are common words.
set -euo pipefail
top=$(cd "$(dirname "$0")/.." && pwd)

prefix=/usr/local
built=
uninstall=
fail() { echo "install.sh: $1" >&2; exit 2; }
while [ $# -gt 0 ]; do
  case "$1" in
    -h | --help) sed -n '2,12s/^# \{0,1\}//p' "$0"; exit 0 ;;
    --prefix) prefix=$(realpath -m "${2:?--prefix needs a folder}"); shift 2 ;;
    --built) built=$(realpath "${2:?--built needs a folder}"); shift 2 ;;
    --uninstall) uninstall=yes; shift ;;
    *) fail "unknown argument $1; see deploy/install.sh --help" ;;
  esac
done

units=$prefix/lib/systemd/system
if [ -n "$uninstall" ]; then
  rm -rf "$prefix/lib/cairn" "$prefix/include/cairn" "$prefix/share/doc/cairn"
  rm -f "$prefix/lib/libcairn_collectives.so" "$prefix/lib/pkgconfig/cairn-collectives.pc"
  rm -f "$prefix"/bin/cairn "$prefix"/share/man/man1/cairn.1 "$prefix"/share/man/man1/cairn-*.1 \
    "$prefix"/share/bash-completion/completions/cairn "$prefix"/share/zsh/site-functions/_cairn \
    "$prefix"/share/fish/vendor_completions.d/cairn.fish "$units"/cairn-*.service
  echo "Removed Cairn from $prefix."
  exit 0
fi

barred="$prefix cannot be written: run this as root, or use another --prefix"
above=$prefix
while [ ! -e "$above" ]; do above=$(dirname "$above"); done
[ -d "$above" ] && [ -w "$above" ] || fail "$barred"

if [ -z "$built" ]; then
  "$top/deploy/install_dependencies.sh"
  echo "Building (takes minutes the first time) ..."
  (cd "$top" && bazel build -c opt //cli:cairn //cli:man //collectives:libcairn_collectives.so \
    //coordinator //ps_server //worker)
  built=$top/bazel-bin
fi
programs=(cli/cairn coordinator/coordinator ps_server/ps_server worker/worker)
for file in "${programs[@]}" cli/man.tar; do
  [ -e "$built/$file" ] || fail "$built/$file is not there: build it, or omit --built"
done

mkdir -p "$prefix" 2>/dev/null && [ -w "$prefix" ] || fail "$barred"
for program in "${programs[@]}"; do
  install -D -m 755 "$built/$program" "$prefix/lib/cairn/${program##*/}"
done
collectives=$built/collectives/libcairn_collectives.so
if [ -e "$collectives" ]; then
  install -D -m 644 -t "$prefix/lib" "$collectives"
  install -D -m 644 -t "$prefix/include/cairn/collectives" "$top"/collectives/{group,tensor}.h
  mkdir -p "$prefix/lib/pkgconfig"
  cat >"$prefix/lib/pkgconfig/cairn-collectives.pc" <<END
prefix=$prefix
Name: cairn-collectives
Description: All-reduce and its relatives for a group of processes
Version: $("$built/cli/cairn" version | grep -o '[0-9][0-9.]*' | head -n 1)
Requires: absl_span absl_status absl_statusor absl_time
Cflags: -I\${prefix}/include/cairn
Libs: -L\${prefix}/lib -lcairn_collectives
END
fi
# The loader looks there by its cache.
[ "$prefix" != /usr/local ] || ldconfig
library=$built/nn/cuda/libcairn_cuda.so
[ ! -e "$library" ] || install -D -m 644 "$library" "$prefix/lib/cairn/libcairn_cuda.so"
mkdir -p "$prefix/bin" "$prefix/share/man" "$prefix/share/bash-completion/completions" \
  "$prefix/share/zsh/site-functions" "$prefix/share/fish/vendor_completions.d" "$units"
ln -sfn ../lib/cairn/cairn "$prefix/bin/cairn"
install -D -m 644 -t "$prefix/share/doc/cairn" "$top"/doc/*.md
tar -xf "$built/cli/man.tar" --no-same-owner -C "$prefix/share/man"
cairn=$prefix/bin/cairn
"$cairn" completion bash >"$prefix/share/bash-completion/completions/cairn"
"$cairn" completion zsh >"$prefix/share/zsh/site-functions/_cairn"
"$cairn" completion fish >"$prefix/share/fish/vendor_completions.d/cairn.fish"
for unit in "$top"/deploy/systemd/*.service; do
  sed "s|@PREFIX@|$prefix|g" "$unit" >"$units/$(basename "$unit")"
done

echo "Installed $("$cairn" version) in $prefix"
echo "  on this machine    cairn doctor; cairn run JOB.json"
echo "  on several         TF_CONFIG in /etc/cairn/ps.json (coordinator.json, worker.json), then"
echo "                     systemctl enable --now cairn-ps (cairn-coordinator, cairn-worker)"
