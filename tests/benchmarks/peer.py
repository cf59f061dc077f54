"""Whether the PyTorch of this machine is a peer to be measured beside.

Debian's python3-torch multiplies matrices with whatever libblas.so.3 is. Two of these are some 20 to
100 times slower than the machine, and a ratio to them says nothing:

- the reference BLAS (libblas3), plain loops, with which python3-torch is content;
- OpenBLAS on a processor that is newer than it: it does not know the model, and takes the kernels of
  the Pentium 4 ("Prescott"). It is told better ones then, by what the processor can.

So a peer is refused that has mapped the reference BLAS, or that multiplies matrices with less than a
quarter of the speed of Cairn's own product in the same seconds; OpenBLAS has half of it and more.
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
# What OpenBLAS falls back to on a processor that it does not know.
OLDEST_KERNELS = "Prescott"
SLOWEST = 0.25
ROUNDS = 3


@dataclasses.dataclass
class Speed:
    """Of a product of 512 x 512 matrices on one thread, in GFLOP/s."""
    peer: float
    cairn: float

    def is_comparable(self):
        return self.peer >= SLOWEST * self.cairn


@dataclasses.dataclass
class Finding:
    # Why PyTorch is not to be measured, and what mends that; "": it is.
    why_not: str
    # With which of OpenBLAS's kernels it is measured; "": those that OpenBLAS chooses.
    kernels: str = ""

    def remark(self):
        """What a reader of the results must know; "": nothing."""
        if self.why_not:
            return f"measured without PyTorch: {self.why_not}"
        if self.kernels:
            return (f"PyTorch is run with OPENBLAS_CORETYPE={self.kernels}, because its OpenBLAS does "
                    "not know this processor")
        return ""


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


def has_openblas(maps):
    """libblas.so.3 is OpenBLAS's."""
    return any(re.search(r"openblas.*/libblas\.so\b", path) for path in mapped_files(maps))


def refusal(maps, speed, optimized_installed):
    """Why PyTorch is no peer, and what mends that; "" if it is one. `optimized_installed`: an
    optimized libblas.so.3 lies on this machine, whether or not it is the one that is chosen."""
    reference = reference_blas(maps)
    if reference is None and speed.is_comparable():
        return ""
    remedy = f"install Debian's {BLAS_PACKAGE}"
    if reference and optimized_installed:
        remedy = ("choose the other one with update-alternatives --config "
                  "libblas.so.3-$(uname -m)-linux-gnu")
    elif has_openblas(maps):
        remedy = "name this processor's kernels to OpenBLAS with OPENBLAS_CORETYPE"
    blas = f"the reference BLAS, {reference}," if reference else "a slow BLAS"
    return (f"PyTorch multiplies matrices with {blas} at {speed.peer:.1f} GFLOP/s, Cairn at "
            f"{speed.cairn:.1f}: {remedy}")


def better_kernels(chosen, cpuinfo):
    """OpenBLAS's name of the kernels to take in place of the `chosen` ones: the best that the
    processor runs, by its /proc/cpuinfo, where OpenBLAS has fallen back to the oldest; else ""."""
    if chosen != OLDEST_KERNELS:
        return ""
    flags = set()
    for line in cpuinfo.splitlines():
        if line.startswith("flags"):
            flags = set(line.split(":", 1)[1].split())
            break
    if flags >= {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"}:
        return "SkylakeX"
    return "Haswell" if flags >= {"avx2", "fma"} else ""


def optimized_blas_is_installed():
    return any(OPTIMIZED.search(path) for path in glob.glob("/usr/lib/*/*/libblas.so.3"))


def has_torch():
    try:
        return subprocess.run([PYTHON, "-c", "import torch"], capture_output=True).returncode == 0
    except OSError:  # There is no such Python.
        return False


def output_of(command):
    result = subprocess.run(command, env=ONE_THREAD, capture_output=True, text=True, check=True,
                            timeout=120)
    return result.stdout


def compare():
    """What PyTorch has mapped, which of OpenBLAS's kernels it has, and the two speeds."""
    speed = Speed(0, 0)
    for _ in range(ROUNDS):  # In turns: what else the machine does hits both.
        speed.cairn = max(speed.cairn,
                          float(output_of([BIN / "tests/benchmarks/matrix_product"])))
        theirs = json.loads(output_of([PYTHON, ROOT / "tests/benchmarks/torch_product.py"]))
        speed.peer = max(speed.peer, theirs["gflops"])
    return theirs["maps"], theirs["kernels"], speed


def use_kernels(kernels):
    """Of all programs that are run from now on."""
    os.environ["OPENBLAS_CORETYPE"] = ONE_THREAD["OPENBLAS_CORETYPE"] = kernels


def find_out():
    """Takes some seconds. Sets OPENBLAS_CORETYPE where PyTorch needs it."""
    if not has_torch():
        return Finding(f"{PYTHON} has no PyTorch: install Debian's {TORCH_PACKAGE} and {BLAS_PACKAGE}")
    maps, chosen, speed = compare()
    kernels = ""
    if reference_blas(maps) is None and "OPENBLAS_CORETYPE" not in os.environ:
        kernels = better_kernels(chosen, pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8"))
    if kernels:
        use_kernels(kernels)
        maps, _, speed = compare()
    return Finding(refusal(maps, speed, optimized_blas_is_installed()), kernels)


def install():
    """Installs Debian's PyTorch and a fast BLAS for it; says what it does, or why it cannot."""
    script = ROOT / "deploy/install_dependencies.sh"
    return subprocess.run([script, "--peers"], stdout=sys.stderr).returncode == 0


def is_there():
    """Whether to measure beside PyTorch. What run.py has found out holds; else it is found out, and
    said."""
    if FOUND in os.environ:
        return not os.environ[FOUND]
    finding = find_out()
    if finding.remark():
        print(finding.remark(), file=sys.stderr, flush=True)
    return not finding.why_not


def environment_of(finding):
    """In which is_there() holds to `finding`."""
    return dict(os.environ, **{FOUND: finding.why_not})
