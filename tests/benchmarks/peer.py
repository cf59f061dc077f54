"""Whether the PyTorch of this machine is a peer to be measured beside.

Debian's python3-torch multiplies matrices with whatever libblas.so.3 is, and is content with the
reference BLAS (libblas3), whose plain loops are some 50 times slower than the machine. A ratio to
that says nothing. So a peer is refused that has mapped the reference BLAS, or that multiplies
matrices with less than a quarter of the speed of Cairn's own product in the same seconds; OpenBLAS
has half of it and more.
"""

import dataclasses
import glob
import json
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
BIN = pathlib.Path(os.environ.get("CAIRN_BIN", ROOT / "bazel-bin"))

TORCH_PACKAGE = "python3-torch"
BLAS_PACKAGE = "libopenblas0-pthread"
# Libraries that are libblas.so.3 by an alternative, and no plain loops.
OPTIMIZED = re.compile(r"openblas|blis|atlas|mkl", re.IGNORECASE)
DEBIAN_PYTHON = "/usr/bin/python3"
PYTHON = os.environ.get("PYTHON", DEBIAN_PYTHON)
ONE_THREAD = dict(os.environ, OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")
# Where run.py hands on what it has found out, which may be "".
FOUND = "CAIRN_BENCHMARKS_NO_PYTORCH"
SLOWEST = 0.25
ROUNDS = 3


@dataclasses.dataclass
class Speed:
    """Of a product of 512 x 512 matrices on one thread, in GFLOP/s."""
    peer: float
    cairn: float


def mapped_files(maps):
    """The files that a process has mapped, by its /proc/PID/maps: real paths, whatever link, name or
    alternative led there."""
    files = (line.split(maxsplit=5)[5:] for line in maps.splitlines())
    return sorted({path.removesuffix(" (deleted)") for file in files for path in file
                   if path.startswith("/")})


def reference_blas(maps):
    """The reference BLAS that a process has mapped, or None. An optimized one that the process has
    mapped besides (NumPy may bring its own) does not help: who asks for libblas.so.3 gets this."""
    for path in mapped_files(maps):
        if re.match(r"libblas\.so\b", os.path.basename(path)) and not OPTIMIZED.search(path):
            return path
    return None


def refusal(maps, speed, optimized_installed):
    """Why PyTorch is no peer, and what mends that; "" if it is one. `optimized_installed`: an
    optimized libblas.so.3 lies on this machine, whether or not it is the one that is chosen."""
    reference = reference_blas(maps)
    if reference is None and speed.peer >= SLOWEST * speed.cairn:
        return ""
    blas = f"the reference BLAS, {reference}" if reference else "a slow BLAS"
    if reference and optimized_installed:
        remedy = "choose the other one with update-alternatives --config libblas.so.3-$(uname -m)-linux-gnu"
    else:
        remedy = f"install Debian's {BLAS_PACKAGE}"
    return (f"PyTorch multiplies matrices with {blas}, at {speed.peer:.1f} GFLOP/s, Cairn at "
            f"{speed.cairn:.1f}: {remedy}")


def optimized_blas_is_installed():
    return any(OPTIMIZED.search(path) for path in glob.glob("/usr/lib/*/*/libblas.so.3"))


def has_torch():
    return subprocess.run([PYTHON, "-c", "import torch"], capture_output=True).returncode == 0


def output_of(command):
    result = subprocess.run(command, env=ONE_THREAD, capture_output=True, text=True, check=True,
                            timeout=120)
    return result.stdout


def find_out():
    """Why PyTorch is not to be measured on this machine, and what mends that; "" if it is. Takes some
    seconds."""
    if not has_torch():
        return f"{PYTHON} has no PyTorch: install Debian's {TORCH_PACKAGE} and {BLAS_PACKAGE}"
    speed = Speed(0, 0)
    for _ in range(ROUNDS):  # In turns: what else the machine does hits both.
        speed.cairn = max(speed.cairn,
                          float(output_of([BIN / "tests/benchmarks/matrix_product"])))
        theirs = json.loads(output_of([PYTHON, ROOT / "tests/benchmarks/torch_product.py"]))
        speed.peer = max(speed.peer, theirs["gflops"])
    return refusal(theirs["maps"], speed, optimized_blas_is_installed())


def install():
    """Installs Debian's PyTorch and a fast BLAS for it; says what it does, or why it cannot."""
    script = ROOT / "deploy/install_dependencies.sh"
    return subprocess.run([script, "--peers"], stdout=sys.stderr).returncode == 0


def why_not():
    """What run.py has found out, or else find_out()."""
    return os.environ[FOUND] if FOUND in os.environ else find_out()


def is_there():
    """Whether to measure beside PyTorch; says why not."""
    why = why_not()
    if why and FOUND not in os.environ:
        print(f"measured without its peer: {why}", file=sys.stderr, flush=True)
    return not why


def found(why):
    """An environment whose why_not() is `why`."""
    return dict(os.environ, **{FOUND: why})
