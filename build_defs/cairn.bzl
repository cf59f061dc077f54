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

def _start_with(header, copts):
    """The flags that make a source start with a precompiled header of //build_defs."""
    if "-fopenmp" in copts:  # It defines a macro, so GCC would not take what is precompiled.
        return []
    return select({
        "//build_defs:without_prelude": [],
        "//conditions:default": [
            "-include",
            "$(GENDIR)/build_defs/%s.h" % header,
            # In what is precompiled GCC 12 reports false warnings about std::string (GCC bug
            # 105651), which it leaves out in headers of the system.
            "-Wno-array-bounds",
            "-Wno-stringop-overflow",
            "-Wno-stringop-overread",
        ],
    })

def cairn_library(name, srcs = None, hdrs = None, deps = [], copts = [], **kwargs):
    """name.h and name.cc; srcs = [] or hdrs = [] if there is only one of them."""
    native.cc_library(
        name = name,
        srcs = [name + ".cc"] if srcs == None else srcs,
        hdrs = [name + ".h"] if hdrs == None else hdrs,
        copts = COPTS + copts + _start_with("prelude", copts),
        deps = deps + ["//build_defs:prelude"],
        **kwargs
    )

# Where deploy/bundle.sh puts a program's shared libraries. A DT_RPATH, which holds also for what
# libraries without a path of their own need.
BUNDLED_LIBRARIES = "-Wl,--disable-new-dtags,-rpath,$$ORIGIN/lib"

def cairn_binary(name, srcs = ["main.cc"], deps = [], copts = [], linkopts = [], **kwargs):
    native.cc_binary(
        name = name,
        srcs = srcs,
        copts = COPTS + copts + _start_with("prelude", copts),
        linkopts = linkopts if "linkshared" in kwargs else linkopts + [BUNDLED_LIBRARIES],
        deps = deps + ["//build_defs:prelude", "//build_defs:tsan_suppressions"],
        **kwargs
    )

def cairn_test(name, srcs = None, deps = [], copts = [], size = "small", **kwargs):
    """name.cc, with GoogleTest's main."""
    native.cc_test(
        name = name,
        srcs = [name + ".cc"] if srcs == None else srcs,
        copts = COPTS + copts + _start_with("test_prelude", copts),
        size = size,
        deps = deps + [
            "//build_defs:test_prelude",
            "//build_defs:tsan_suppressions",
            "//third_party:gtest_main",
        ],
        **kwargs
    )
