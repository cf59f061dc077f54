"""Compiles CUDA sources with nvcc."""

# Ampere, Hopper and Blackwell; newer GPUs compile the last one's PTX when the library is loaded.
ARCHITECTURES = ["80", "90", "100"]

NVCC_FLAGS = [
    "-std=c++20",
    "-O3",
    "--extended-lambda",
    "--expt-relaxed-constexpr",
    "-Werror=all-warnings",
    "-Xptxas=-v",
    "-Xcompiler=-fPIC,-fvisibility=hidden",
] + [
    "-gencode=arch=compute_{0},code=sm_{0}".format(architecture)
    for architecture in ARCHITECTURES
] + ["-gencode=arch=compute_{0},code=compute_{0}".format(ARCHITECTURES[-1])]

def _nvcc_objects_impl(ctx):
    context = cc_common.merge_cc_infos(cc_infos = [dep[CcInfo] for dep in ctx.attr.deps])
    context = context.compilation_context
    includes = ["."] + context.includes.to_list() + context.quote_includes.to_list()
    includes += context.system_includes.to_list()
    objects = []
    reports = []
    for source in ctx.files.srcs:
        object = ctx.actions.declare_file(source.basename[:-len(".cu")] + ".pic.o")
        report = ctx.actions.declare_file(source.basename[:-len(".cu")] + ".ptxas.txt")
        ctx.actions.run_shell(
            command = 'report=$1; shift; "$@" >$report 2>&1 || { cat $report; exit 1; }',
            arguments = [report.path, ctx.attr.root + "/bin/nvcc", "-c", source.path, "-o", object.path] +
                        NVCC_FLAGS + ["-I" + include for include in includes],
            inputs = depset([source] + ctx.files.headers, transitive = [context.headers]),
            outputs = [object, report],
            mnemonic = "Nvcc",
            progress_message = "Compiling %s with nvcc" % source.path,
            use_default_shell_env = True,
        )
        objects.append(object)
        reports.append(report)
    return [
        DefaultInfo(files = depset(objects)),
        OutputGroupInfo(reports = depset(reports)),
    ]

# Object files, and in the output group "reports" what ptxas says of each kernel: registers, spills
# and shared memory.
nvcc_objects = rule(
    implementation = _nvcc_objects_impl,
    attrs = {
        "srcs": attr.label_list(allow_files = [".cu"]),
        "headers": attr.label_list(allow_files = [".h"]),
        "deps": attr.label_list(providers = [CcInfo]),
        # The folder of the CUDA toolkit.
        "root": attr.string(mandatory = True),
    },
)
