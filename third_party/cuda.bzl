"""Finds the CUDA toolkit: CUDA_PATH, else /usr/local/cuda. deploy/install_cuda.sh makes one without
root. `@cuda//:defs.bzl` has the result; `@cuda//:cuda` is the CUDA runtime and cuBLAS, and exists
only if the toolkit was found."""

_ABSENT = """
HAVE_CUDA = False
CUDA_ROOT = ""
"""

_PRESENT = """
HAVE_CUDA = True
CUDA_ROOT = "{root}"
"""

# The CUDA runtime is linked statically, so that programs start on machines without a GPU.
_LIBRARY = """
cc_library(
    name = "cuda",
    hdrs = glob([
        "include/*.h",
        "include/*.hpp",
        "include/crt/*",
        "include/nv/**",
    ]),
    includes = ["include"],
    linkopts = [
        "-L{root}/lib64",
        # A toolkit of deploy/install_cuda.sh is not on the loader's path.
        "-Wl,-rpath,{root}/lib64",
        "-Wl,-rpath,/usr/local/cuda/lib64",
        "-lcudart_static",
        "-lcublas",
        "-lpthread",
        "-ldl",
        "-lrt",
    ],
    visibility = ["//visibility:public"],
)
"""

# The first that knows all ARCHITECTURES of build_defs/nvcc.bzl.
_OLDEST = [12, 8]

# [13, 0] of "Cuda compilation tools, release 13.0, V13.0.48"; [0, 0] if nvcc does not run.
def _release(repository_ctx, nvcc):
    words = repository_ctx.execute([nvcc, "--version"]).stdout.split("release ")
    if len(words) < 2:
        return [0, 0]
    return [int(number) for number in words[1].split(",")[0].split(".")]

def _cuda_toolkit_impl(repository_ctx):
    root = repository_ctx.os.environ.get("CUDA_PATH", "") or "/usr/local/cuda"
    nvcc = root + "/bin/nvcc"
    found = repository_ctx.path(nvcc).exists
    if found and _release(repository_ctx, nvcc) < _OLDEST:
        # buildifier: disable=print
        print("%s is older than CUDA %d.%d: nn/cuda is not built" % (nvcc, _OLDEST[0], _OLDEST[1]))
        found = False
    if found:
        repository_ctx.symlink(root + "/include", "include")
    repository_ctx.file("BUILD.bazel", _LIBRARY.format(root = root) if found else "")
    repository_ctx.file("defs.bzl", (_PRESENT if found else _ABSENT).format(root = root))

cuda_toolkit = repository_rule(
    implementation = _cuda_toolkit_impl,
    environ = ["CUDA_PATH"],
    local = True,
)
