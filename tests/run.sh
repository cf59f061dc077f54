#!/usr/bin/env bash
# Installs the dependencies on a Debian 12 machine and runs every test.
#
#   tests/run.sh [--config=asan|tsan|ubsan] [TARGET...]
#   tests/run.sh --planted [NAME...]     plants faults, which their tests must find (planted.py)
#
# Ends with one line "N passed, N failed" and fails if a test failed or none ran. Reference runs,
# which are not part of the project, are read from ../shared/oracle or from $CAIRN_ORACLE.
set -u -o pipefail
cd "$(dirname "$0")/.."

options=()
targets=()
for argument in "$@"; do
  case "$argument" in
    --planted) shift; exec python3 tests/planted/planted.py "$@" ;;
    -h | --help) sed -n '2,9s/^# \{0,1\}//p' "$0"; exit 0 ;;
    --*) options+=("$argument") ;;
    *) targets+=("$argument") ;;
  esac
done
[ ${#targets[@]} -gt 0 ] || targets=(//...)

./deploy/install_dependencies.sh || exit 1

if [ -z "${CAIRN_ORACLE:-}" ] && [ -d ../shared/oracle ]; then
  CAIRN_ORACLE=$(realpath ../shared/oracle)
fi
if [ -n "${CAIRN_ORACLE:-}" ]; then
  options+=("--test_env=CAIRN_ORACLE=$CAIRN_ORACLE")
else
  echo "The reference runs are not here: their tests will say that they are skipped."
fi

events=$(mktemp)
trap 'rm -f "$events"' EXIT

# The originals that //tests/interop compares with, from PyPI.
if [[ " ${targets[*]} " == *" //... "* || " ${targets[*]} " == *"//tests/interop"* ]]; then
  if interop=$(tests/interop/setup.sh); then
    options+=("--test_env=CAIRN_INTEROP_PYTHON=$interop")
  else
    echo "TensorFlow and Keras are not here: their tests will say that they are skipped."
  fi
fi

# The compiler for GPUs, from PyPI. Sanitizers do not apply to its output.
if [ -z "${CUDA_PATH:-}" ] && [ ! -x /usr/local/cuda/bin/nvcc ] &&
    [[ " ${options[*]-} " != *" --config="* ]] &&
    [[ " ${targets[*]} " == *" //... "* || " ${targets[*]} " == *"//nn"* ||
      " ${targets[*]} " == *"//tests/nn"* ]]; then
  if CUDA_PATH=$(deploy/install_cuda.sh); then
    export CUDA_PATH
  else
    unset CUDA_PATH
    echo "The CUDA toolkit is not here: the kernels are not compiled for GPUs, and the test of" \
      "their registers will say that it is skipped."
  fi
fi

# The library that reads Parquet files, from npm.
libraries=${XDG_CACHE_HOME:-$HOME/.cache}/cairn/libraries
if deploy/install_parquet.sh "$libraries" >/dev/null; then
  options+=("--test_env=LD_LIBRARY_PATH=$libraries")
else
  echo "The library for Parquet is not here: its tests will say that they are skipped."
fi

echo "Building ${targets[*]} (the first build takes a while) ..."
bazel build --keep_going "${options[@]}" "${targets[@]}"
# Many tests wait most of the time, so there are twice as many at once as processors. `bazel test`
# reports, once more, what could not be built.
echo "Testing ${targets[*]} ..."
parallel=$((2 * $(nproc)))
bazel test --keep_going --build_event_json_file="$events" "${options[@]}" --jobs="$parallel" \
  --local_test_jobs="$parallel" --local_cpu_resources="$parallel" "${targets[@]}"
status=$?

echo "Checking the house rules ..."
python3 tests/tidy/tidy.py
tidy_status=$?

python3 tests/count_results.py "$events" "$status" "$tidy_status"
