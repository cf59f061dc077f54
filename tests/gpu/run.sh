#!/usr/bin/env bash
# Checks the GPU backend on a machine with an NVIDIA GPU: layers, whole steps, a cluster through
# kills, training, CUDA's sanitizers, and speed beside PyTorch if it is installed. Ends with one line
# "N passed, N failed".
#
#   tests/gpu/run.sh [--out FOLDER] [CHECK...]   builds with CUDA_PATH or /usr/local/cuda, and runs
#   tests/gpu/run.sh --pack FILE.tar.xz          builds only, and packs everything for a machine with
#                                                a GPU and CUDA 13, but without Cairn's dependencies:
#                                                unpack it there and start tests/gpu/run.sh in it
#
# --out FOLDER gets the output of each check. check.py has the list of checks.
set -euo pipefail
export CALLER_FOLDER=$PWD
cd "$(dirname "$0")/../.."
case "${1:-}" in
  -h | --help) sed -n '2,12s/^# \{0,1\}//p' "$0"; exit 0 ;;
esac

if [ -e packed ]; then
  CAIRN_BIN=$PWD exec python3 tests/gpu/check.py "$@"
fi

[ -x "${CUDA_PATH:-/usr/local/cuda}/bin/nvcc" ] || {
  echo "run.sh: no CUDA toolkit in ${CUDA_PATH:-/usr/local/cuda}: set CUDA_PATH (deploy/install_cuda.sh)" >&2
  exit 1
}
targets=(//cli:cairn //coordinator:coordinator //ps_server:ps_server //worker:worker
  //nn/cuda:libcairn_cuda.so //tests/gpu:layers_test //tests/gpu:steps_test //tests/gpu:cluster_test
  //tests/gpu:step //tests/nn:cuda_test)
bazel build "${targets[@]}"
if [ "${1:-}" != --pack ]; then
  CAIRN_BIN=$PWD/bazel-bin exec python3 tests/gpu/check.py "$@"
fi

file=$(cd "$CALLER_FOLDER" && realpath -m "${2:?--pack needs a file}")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
packed=$folder/cairn_gpu_checks
built=()
for target in "${targets[@]}"; do
  path=${target#//}
  path=${path/://}
  install -D -s -m 755 "bazel-bin/$path" "$packed/$path"
  built+=("bazel-bin/$path")
done
deploy/copy_libraries.sh "$packed/lib" "${built[@]}"
git ls-files tests/gpu examples/models examples/fashion_mnist | tar -cT - | tar -xC "$packed"
data=/usr/share/datasets/fashion-mnist
[ ! -e "$data" ] || install -D -m 644 -t "$packed/data" "$data"/t10k-*
touch "$packed/packed"
tar -C "$folder" -cJf "$file" cairn_gpu_checks
echo "Packed $file: $(du -h "$file" | cut -f1)"
