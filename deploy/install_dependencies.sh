#!/usr/bin/env bash
# Installs the packages for building and testing Cairn on Debian 12, all from Debian's main archive.
# Asks no questions. Does nothing if all packages are installed. Needs root, or sudo.
#
#   deploy/install_dependencies.sh [--peers]
#
# --peers: also the peers of tests/benchmarks, which are large: PyTorch, with OpenBLAS. Without
# OpenBLAS PyTorch uses the reference BLAS, whose products are about 50 times slower.
set -euo pipefail

packages=(
  # Bazel 4.2.3, and rules that it would otherwise download
  bazel-bootstrap bazel-skylib bazel-platforms bazel-rules-java bazel-rules-proto
  # compilers, tools for tests/tidy, libFuzzer
  g++ clang libclang-rt-14-dev clang-format-14 clang-format python3 git procps
  # the network
  libgrpc++-dev protobuf-compiler-grpc protobuf-compiler libprotobuf-dev libabsl-dev
  # data files at http and s3 addresses
  libcurl4-openssl-dev
  # disk, log, command line, JSON, checksums, compression, regular expressions
  librocksdb-dev libspdlog-dev libcli11-dev nlohmann-json3-dev libxxhash-dev zlib1g-dev libzip-dev libre2-dev
  # hashes of features, as TensorFlow's
  libfarmhash-dev libhighwayhash-dev
  # sums without rounding
  libboost-dev
  # images
  libjpeg62-turbo-dev libpng-dev
  # computing on CPUs
  libdnnl-dev
  # programs that use the installed library of collectives
  pkg-config
  # tests and benchmarks
  libgtest-dev libgmock-dev libbenchmark-dev
  # fibers: the threads of the CUDA stand-in in tests/nn/cuda_on_host
  libboost-context-dev
  # TensorFlow's environment for tests/interop
  python3-venv
  # Fashion-MNIST: 70,000 images
  dataset-fashion-mnist
)

case "${1:-}" in
  "") ;;
  --peers) packages+=(python3-torch libopenblas0-pthread) ;;
  *) echo "install_dependencies.sh: unknown argument $1; there is --peers" >&2; exit 2 ;;
esac

missing=()
for package in "${packages[@]}"; do
  state=$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null || true)
  [ "$state" = installed ] || missing+=("$package")
done
if [ ${#missing[@]} -eq 0 ]; then
  echo "All ${#packages[@]} Debian packages that Cairn needs are installed."
  exit 0
fi

if [ "$(id -u)" -eq 0 ]; then
  root=()
elif command -v sudo >/dev/null; then
  root=(sudo)
else
  echo "install_dependencies.sh: root or sudo is needed to install: ${missing[*]}" >&2
  exit 1
fi

echo "Installing Debian packages: ${missing[*]}"
export DEBIAN_FRONTEND=noninteractive
log=$(mktemp)
trap 'rm -f "$log"' EXIT
apt() {
  if ! "${root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -q -y \
    -o DPkg::Lock::Timeout=300 -o Acquire::Retries=3 "$@" >>"$log" 2>&1; then
    tail -n 20 "$log" >&2
    echo "install_dependencies.sh: apt-get $1 failed, see above: check the network, and that this" \
      "is Debian 12 with its main archive" >&2
    exit 1
  fi
}
apt update
apt install --no-install-recommends "${missing[@]}"
echo "Installed."
