"""A library that is installed by Debian: only linker flags, nothing to build."""

def system_library(name, libraries = [], **kwargs):
    native.cc_library(
        name = name,
        linkopts = ["-l" + library for library in libraries] + ["-lpthread", "-ldl"],
        **kwargs
    )
