"""Generates C++ from .proto files with Debian's protoc and grpc_cpp_plugin."""

def cairn_proto_library(name, services = False, deps = []):
    """proto/NAME.proto as a C++ library; with services = True its gRPC stubs too."""
    outs = [name + ".pb.h", name + ".pb.cc"]
    command = "protoc -I. --cpp_out=$(GENDIR) $(location {}.proto)".format(name)
    if services:
        outs += [name + ".grpc.pb.h", name + ".grpc.pb.cc"]
        command += (" --grpc_out=$(GENDIR) " +
                    "--plugin=protoc-gen-grpc=/usr/bin/grpc_cpp_plugin")
    native.genrule(
        name = name + "_gen",
        srcs = [name + ".proto"] + [dep[1:] + ".proto" for dep in deps],
        outs = outs,
        cmd = command,
        message = "Generating C++ from proto/{}.proto".format(name),
    )
    native.cc_library(
        name = name,
        srcs = [out for out in outs if out.endswith(".cc")],
        hdrs = [out for out in outs if out.endswith(".h")],
        copts = ["-std=c++20", "-w"],
        deps = deps + (["//third_party:grpc"] if services else ["//third_party:protobuf"]),
    )
