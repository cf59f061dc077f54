"""Rules for Cairn's targets: one pair of files is one library, with one test of the same name."""

COPTS = [
    "-std=c++20",
    "-Wall",
    "-Wextra",
    "-Werror",
    "-Wno-unused-parameter",
    "-Wno-sign-compare",
    "-Wno-missing-field-initializers",
    # GCC 12 reports false warnings about std::string at -O3 (GCC bug 105329).
    "-Wno-restrict",
]

def cairn_library(name, srcs = None, hdrs = None, copts = [], **kwargs):
    """name.h and name.cc; srcs = [] or hdrs = [] if there is only one of them."""
    native.cc_library(
        name = name,
        srcs = [name + ".cc"] if srcs == None else srcs,
        hdrs = [name + ".h"] if hdrs == None else hdrs,
        copts = COPTS + copts,
        **kwargs
    )

# Where deploy/bundle.sh puts a program's shared libraries. A DT_RPATH, which holds also for what
# libraries without a path of their own need.
BUNDLED_LIBRARIES = "-Wl,--disable-new-dtags,-rpath,$$ORIGIN/lib"

def cairn_binary(name, srcs = ["main.cc"], deps = [], copts = [], linkopts = [], **kwargs):
    native.cc_binary(
        name = name,
        srcs = srcs,
        copts = COPTS + copts,
        linkopts = linkopts if "linkshared" in kwargs else linkopts + [BUNDLED_LIBRARIES],
        deps = deps + ["//build_defs:tsan_suppressions"],
        **kwargs
    )

def cairn_test(name, srcs = None, deps = [], copts = [], size = "small", **kwargs):
    """name.cc, with GoogleTest's main."""
    native.cc_test(
        name = name,
        srcs = [name + ".cc"] if srcs == None else srcs,
        copts = COPTS + copts,
        size = size,
        deps = deps + [
            "//build_defs:tsan_suppressions",
            "//third_party:gtest_main",
        ],
        **kwargs
    )
