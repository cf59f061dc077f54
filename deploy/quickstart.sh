#!/usr/bin/env bash
# Trains a first network on a fresh Debian 12: installs packages, builds Cairn, and trains a
# convolutional network on Fashion-MNIST for 3 epochs with 1 coordinator, 2 ps and 2 workers.
#
#   deploy/quickstart.sh [--seed N] [--state DIR]
#
# --seed N    the seed of initial values and shuffling (default 1)
# --state DIR the directory for checkpoints, history, logs and the model (default cairn-state in the
#             repository). Another quickstart there continues, or reports that the job has finished.
set -euo pipefail
top=$(cd "$(dirname "$0")/.." && pwd)

seed=1
state=$top/cairn-state
while [ $# -gt 0 ]; do
  case "$1" in
    -h | --help) sed -n '2,9s/^# \{0,1\}//p' "$0"; exit 0 ;;
    --seed) seed=${2:?--seed needs a number}; shift 2 ;;
    --state) state=$(realpath -m "${2:?--state needs a folder}"); shift 2 ;;
    *) echo "quickstart.sh: unknown argument $1; see deploy/quickstart.sh --help" >&2; exit 2 ;;
  esac
done
case "$seed" in '' | *[!0-9]*) echo "quickstart.sh: --seed $seed is not a number" >&2; exit 2 ;; esac
seed=$((10#$seed))  # JSON allows no leading zeros.

echo "1/3 Debian packages"
"$top/deploy/install_dependencies.sh"

echo "2/3 Building the three daemons and cairn (minutes the first time, then seconds)"
cd "$top"
bazel build -c opt //cli:cairn //coordinator //ps_server //worker

echo "3/3 Training on 60,000 images for 3 epochs"
mkdir -p "$state"
job=$top/examples/fashion_mnist/quickstart.json
if [ "$seed" != 1 ]; then
  # The same job with another name and an absolute path of its model.
  job=$state/quickstart_seed_$seed.json
  model=$(printf '%s' "$top/examples/fashion_mnist/cnn.json" | sed 's/[&|\\]/\\&/g')
  sed -e "s|\"seed\": 1|\"seed\": $seed|" \
    -e "s|\"name\": \"fashion_mnist_cnn\"|\"name\": \"fashion_mnist_cnn_seed_$seed\"|" \
    -e "s|\"model\": \"cnn.json\"|\"model\": \"$model\"|" \
    examples/fashion_mnist/quickstart.json >"$job"
fi
bazel-bin/cli/cairn run "$job" --ps 2 --workers 2 --state "$state" --export "$state/model"
