"""Compiles a header once for all sources that start with it."""

load("@bazel_tools//tools/build_defs/cc:action_names.bzl", "CPP_COMPILE_ACTION_NAME")
load("@bazel_tools//tools/cpp:toolchain_utils.bzl", "find_cpp_toolchain")
load(":cairn.bzl", "COPTS")

def _precompiled_header_impl(ctx):
    toolchain = find_cpp_toolchain(ctx)
    features = cc_common.configure_features(
        ctx = ctx,
        cc_toolchain = toolchain,
        requested_features = ctx.features,
        unsupported_features = ctx.disabled_features,
    )
    context = cc_common.merge_cc_infos(cc_infos = [dep[CcInfo] for dep in ctx.attr.deps])
    context = context.compilation_context

    compiler = cc_common.get_tool_for_action(
        feature_configuration = features,
        action_name = CPP_COMPILE_ACTION_NAME,
    )
    header = ctx.actions.declare_file(ctx.label.name + ".h")
    ctx.actions.symlink(output = header, target_file = ctx.file.header)
    headers = depset([ctx.file.header, header], transitive = [context.headers])
    if "clang" in compiler:
        # It takes a difference in flags for an error, where GCC reads the header itself.
        return [CcInfo(compilation_context = cc_common.create_compilation_context(headers = headers))]

    # In place of NAME.h GCC reads NAME.h.gch if it lies beside it.
    compiled = ctx.actions.declare_file(ctx.label.name + ".h.gch")
    variables = cc_common.create_compile_variables(
        feature_configuration = features,
        cc_toolchain = toolchain,
        source_file = header.path,
        output_file = compiled.path,
        quote_include_directories = depset(["."], transitive = [context.quote_includes]),
        user_compile_flags = ["-x", "c++-header"] + ctx.fragments.cpp.copts +
                             ctx.fragments.cpp.cxxopts + COPTS + ctx.attr.copts,
        use_pic = True,
    )
    ctx.actions.run(
        executable = compiler,
        arguments = cc_common.get_memory_inefficient_command_line(
            feature_configuration = features,
            action_name = CPP_COMPILE_ACTION_NAME,
            variables = variables,
        ),
        env = cc_common.get_environment_variables(
            feature_configuration = features,
            action_name = CPP_COMPILE_ACTION_NAME,
            variables = variables,
        ),
        inputs = depset(transitive = [toolchain.all_files, headers]),
        outputs = [compiled],
        mnemonic = "CppPrecompile",
        progress_message = "Compiling " + ctx.file.header.short_path,
    )
    return [CcInfo(compilation_context = cc_common.create_compilation_context(
        headers = depset([compiled], transitive = [headers]),
    ))]

precompiled_header = rule(
    implementation = _precompiled_header_impl,
    attrs = {
        "header": attr.label(allow_single_file = [".h"], mandatory = True),
        "copts": attr.string_list(),
        "deps": attr.label_list(providers = [CcInfo]),
        "_cc_toolchain": attr.label(default = "@bazel_tools//tools/cpp:current_cc_toolchain"),
    },
    fragments = ["cpp"],
    toolchains = ["@bazel_tools//tools/cpp:toolchain_type"],
)
