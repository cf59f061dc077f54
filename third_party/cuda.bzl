"""Finds the CUDA toolkit: CUDA_PATH, else /usr/local/cuda. `@cuda//:defs.bzl` says what was found."""

_ABSENT = """
HAVE_CUDA = False
CUDA_ROOT = ""
"""

_PRESENT = """
HAVE_CUDA = True
CUDA_ROOT = "{root}"
"""

def _cuda_toolkit_impl(repository_ctx):
    root = repository_ctx.os.environ.get("CUDA_PATH", "/usr/local/cuda")
    found = repository_ctx.path(root + "/bin/nvcc").exists
    repository_ctx.file("BUILD.bazel", "")
    repository_ctx.file("defs.bzl", (_PRESENT if found else _ABSENT).format(root = root))

cuda_toolkit = repository_rule(
    implementation = _cuda_toolkit_impl,
    environ = ["CUDA_PATH"],
    local = True,
)
