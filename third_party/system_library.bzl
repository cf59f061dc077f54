"""A library that Debian installed: nothing to build, only flags for the linker."""

def system_library(name, libraries = [], **kwargs):
    native.cc_library(
        name = name,
        linkopts = ["-l" + library for library in libraries] + ["-lpthread", "-ldl"],
        **kwargs
    )
