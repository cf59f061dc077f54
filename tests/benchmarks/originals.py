"""The originals that Cairn races against, and whether they are at their best here.

TensorFlow with Keras and tf_keras is what tests/interop compares numbers with; PyTorch 2 has an
environment of its own (torch_requirements.txt), of 5 GiB or so, because PyPI's PyTorch for Linux on
x86 loads CUDA's libraries when it is imported, with and without a GPU. tests/interop/setup.sh makes
both, once, from PyPI.

One is refused, with what to do, that is not there, that computes without oneDNN, or that multiplies
matrices on the given threads with less than half of the speed of Cairn's own product in the same
seconds.
"""

import dataclasses
import json
import os
import subprocess

from peer import BIN, ROOT

SETUP = ROOT / "tests/interop/setup.sh"
HERE = ROOT / "tests/benchmarks"
# Of each: what makes its environment, and what measures its product.
ORIGINALS = {
    "TensorFlow": ([""], HERE / "tensorflow_race.py"),
    "PyTorch 2": (["", HERE / "torch_requirements.txt"], HERE / "torch_product.py"),
}
# Where run.py hands on what it has found out.
FOUND = "CAIRN_BENCHMARKS_ORIGINALS"
SLOWEST = 0.5
# At least, and at most while the original would be refused.
ROUNDS, MORE_ROUNDS = 3, 6


@dataclasses.dataclass
class Original:
    name: str
    # The Python that has it; "": it is not measured.
    python: str
    # Why it is not measured, and what mends that; or what shows that it is at its best.
    about: str


def refusal(product, cairn_gflops):
    """Why an original is no peer; "" if it is one. `product`: what its program has said."""
    if not product["onednn"]:
        return (f"version {product['version']} computes without oneDNN: unset TF_ENABLE_ONEDNN_OPTS, "
                "and install the build of tests/interop/setup.sh")
    if product["gflops"] < SLOWEST * cairn_gflops:
        return (f"version {product['version']} multiplies matrices at {product['gflops']:.1f} GFLOP/s, "
                f"Cairn at {cairn_gflops:.1f}: install the build of tests/interop/setup.sh, and let "
                "nothing else run")
    return ""


def product_of(command, threads):
    environment = dict(os.environ, OMP_NUM_THREADS=str(threads), MKL_NUM_THREADS=str(threads))
    result = subprocess.run([str(word) for word in command], env=environment, text=True, check=True,
                            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=120)
    return json.loads(result.stdout.splitlines()[-1])


def judge(name, python, program, threads):
    """Runs the original's product and Cairn's in turns: what else the machine does hits both."""
    cairn, best = 0, None
    for done in range(MORE_ROUNDS):
        if done >= ROUNDS and not refusal(best, cairn):
            break
        cairn = max(cairn, product_of([BIN / "tests/benchmarks/matrix_product"], threads))
        answer = product_of([python, program, "product", threads], threads)
        if best is None or answer["gflops"] > best["gflops"]:
            best = answer
    why_not = refusal(best, cairn)
    said = (f"{name} {best['version']}, oneDNN on, {best['gflops']:.0f} GFLOP/s on {threads} threads "
            f"(Cairn {cairn:.0f})")
    return Original(name, "" if why_not else str(python), why_not or said)


def find(name, may_install, threads):
    arguments, program = ORIGINALS[name]
    command = [SETUP, *([] if may_install else ["--no-install"]), *arguments]
    made = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE,
                          stderr=None if may_install else subprocess.PIPE, text=True)
    if made.returncode != 0:
        remedy = " ".join(["tests/interop/setup.sh"] + [f'"{word}"' for word in arguments])
        return Original(name, "", f"it is not installed: run {remedy}".replace(f"{ROOT}/", ""))
    return judge(name, made.stdout.strip(), program, threads)


def find_all(may_install, names=tuple(ORIGINALS)):
    return [find(name, may_install, os.cpu_count()) for name in names]


def remark(found):
    """What a reader of the results must know first."""
    return "; ".join(("" if original.python else f"measured without {original.name}: ") + original.about
                     for original in found)


def environment_of(found):
    """In which handed_on() has what was found out."""
    return dict(os.environ, **{FOUND: json.dumps([dataclasses.astuple(each) for each in found])})


def handed_on():
    """The originals by name. What run.py has found out holds; else it is found out, and said."""
    if FOUND in os.environ:
        found = [Original(*fields) for fields in json.loads(os.environ[FOUND])]
    else:
        found = find_all(may_install=False)
        print(remark(found), flush=True)
    return {original.name: original for original in found}
