#!/usr/bin/env bash
# Puts the CUDA toolkit for building nn/cuda into a folder, from PyPI, and prints the folder. Needs
# no GPU and no root. A machine with a toolkit from NVIDIA does not need it.
#
#   export CUDA_PATH=$(deploy/install_cuda.sh [FOLDER])
#
# FOLDER: default ~/.cache/cairn/cuda. It gets about 1.2 GiB once; a second call takes no time.
set -euo pipefail
case "${1:-}" in
  -h | --help) sed -n '2,7s/^# \{0,1\}//p' "$0"; exit 0 ;;
esac
fail() { echo "install_cuda.sh: $1" >&2; exit 1; }

packages=(
  nvidia-cuda-nvcc==13.5.37
  nvidia-nvvm==13.5.37
  nvidia-cuda-crt==13.5.37
  nvidia-cuda-runtime==13.5.37
  nvidia-cuda-cccl==13.3.5.0.6
  nvidia-cublas==13.10.0.20
)
folder=${1:-${XDG_CACHE_HOME:-$HOME/.cache}/cairn/cuda}
mkdir -p "$folder" || fail "cannot write to $folder"
folder=$(cd "$folder" && pwd)

# Two calls at the same time: the second waits for the first.
exec 9>"$folder/lock"
flock 9
environment=$folder/$(echo "${packages[*]}" | sha256sum | cut -c1-12)
if [ ! -e "$environment/complete" ]; then
  rm -rf "$environment"
  python3 -m venv "$environment" >&2 || fail "python3 -m venv failed; install python3-venv"
  "$environment/bin/pip" install --quiet --disable-pip-version-check "${packages[@]}" >&2 ||
    fail "the packages cannot be had from PyPI: ${packages[*]}"
  root=$(echo "$environment"/lib/python3*/site-packages/nvidia/cu13)
  [ -x "$root/bin/nvcc" ] || fail "the packages have no nvcc at $root/bin/nvcc"
  # The layout of NVIDIA's own toolkit.
  ln -sfn lib "$root/lib64"
  ln -sfn libcublas.so.13 "$root/lib/libcublas.so"
  ln -sfn "$root" "$environment/root"
  touch "$environment/complete"
fi
echo "$environment/root"
