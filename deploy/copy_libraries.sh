#!/usr/bin/env bash
# Copies the shared libraries that programs need into a folder: all but the C library's, which belong
# to a machine's kernel and loader, and CUDA's, which belong to its driver and toolkit.
#
#   deploy/copy_libraries.sh FOLDER PROGRAM...
set -euo pipefail
[ $# -ge 2 ] || { sed -n '2,5s/^# \{0,1\}//p' "$0" >&2; exit 2; }
folder=$1
shift
mkdir -p "$folder"

of_the_machine='^(ld-linux-x86-64|libanl|libc|libdl|libm|libmvec|libnsl|libpthread|libresolv|librt|libutil)\.so'
of_cuda='^lib(cuda|cudart|cublas|cublasLt|nccl|nvidia-.*)\.so'
needed=$(ldd "$@") || { echo "copy_libraries.sh: ldd failed with $?: $needed" >&2; exit 1; }
while read -r name arrow path; do
  [ "$arrow" = "=>" ] || continue
  path=${path% (0x*}
  if [[ $name =~ $of_the_machine || $name =~ $of_cuda ]]; then continue; fi
  if [ "$path" = "not found" ]; then
    echo "copy_libraries.sh: $name is not on this machine" >&2
    exit 1
  fi
  [ -e "$folder/$name" ] || install -m 755 "$path" "$folder/$name"
done <<<"$needed"
