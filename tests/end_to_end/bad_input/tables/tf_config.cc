#include "tests/end_to_end/bad_input/tables.h"

namespace cairn::testing {
namespace {

// TF_CONFIG in the environment of ps_server.
constexpr std::string_view kTf = "TF_CONFIG.ps_server";

constexpr Step Tf(std::string_view patch) { return Patch(kTf, patch); }

constexpr BadCase kCases[] = {
    {kMissing, "neither the variable nor the flag", {Remove(kTf)}},
    {kMissing, "no file of that name", {}, "ps_server --tf_config tf.json"},
    {kUnreadable,
     "a file that may not be read",
     {Write("tf.json", "{}"), Forbid("tf.json")},
     "ps_server --tf_config tf.json"},
    {kFolder, "a folder in place of the file", {}, "ps_server --tf_config ."},
    {kEmpty, "an empty file", {Write("tf.json", "")}, "ps_server --tf_config tf.json"},
    {kTruncated, "JSON that ends too early", {Write(kTf, R"({"cluster": )")}},
    {kForeign, "no JSON", {Write(kTf, "chief=h:1")}},
    {kForeign, "JSON, but no object", {Write(kTf, "[1]")}},
    {kForeign, "a file with an image", {Write("tf.json", kPng)}, "ps_server --tf_config tf.json"},
    {kShape, "no cluster", {Tf(R"({"cluster": null})")}},
    {kShape,
     "no chief and no worker 0",
     {Tf(R"({"cluster": {"chief": null, "worker": {"1": "h:9"}}})")}},
    {kShape, "two chiefs", {Tf(R"({"cluster": {"chief": ["h:1", "h:9"]}})")}},
    {kShape, "neither ps nor workers", {Tf(R"({"cluster": {"ps": [], "worker": null}})")}},
    {kShape,
     "a hole between workers that hold the parameters",
     {Tf(R"({"cluster": {"ps": null, "worker": {"0": "h:8", "2": "h:9"}}})")}},
    {kShape, "a hole between the ps", {Tf(R"({"cluster": {"ps": {"0": "h:2", "2": "h:3"}}})")}},
    {kShape, "a task without type", {Tf(R"({"task": {"type": null}})")}},
    {kShape, "a task without index", {Tf(R"({"task": {"index": null}})")}},
    {kShape, "no task, for a program that has to be one", {Tf(R"({"task": null})")}},
    {kShape,
     "no task, for the coordinator",
     {Patch("TF_CONFIG.coordinator", R"({"task": null})")},
     "coordinator"},
    {kShape,
     "for cairn, a variable without chief",
     {Write("TF_CONFIG.cairn", R"({"cluster": {"ps": ["h:2"]}})")},
     "cairn jobs"},
    {kAbsurd, "brackets without end", {Write(kTf, "[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]")}},
    {kAbsurd,
     "a file of more than 4 MiB",
     {Write("tf.json", "[", " ", 4 << 20)},
     "ps_server --tf_config tf.json"},
    {kAbsurd, "an index of 99999999999", {Tf(R"({"cluster": {"ps": {"99999999999": "h:3"}}})")}},
    {kUnknown, "a key", {Tf(R"({"cluster": null, "task": null, "clusters": {}})")}},
    {kUnknown,
     "a task type in the cluster",
     {Tf(R"({"task": null, "cluster": {"chief": null, "ps": null, "worker": null, "master": ["h:1"]}})")}},
    {kUnknown, "a task type of the task", {Tf(R"({"task": {"type": "wrker"}})")}},
    {kUnknown, "a key of the task", {Tf(R"({"task": {"idx": 0}})")}},
    {kType, "a list of types", {Tf(R"({"task": null, "cluster": ["h:1"]})")}},
    {kType, "one address in place of a list", {Tf(R"({"cluster": {"ps": "h:3"}})")}},
    {kType, "an address that is no text", {Tf(R"({"cluster": {"ps": [["h:3"]]}})")}},
    {kType, "a task that is a number", {Tf(R"({"task": 7})")}},
    {kType, "a type that is a number", {Tf(R"({"task": {"type": 3}})")}},
    {kType, "an index that is a fraction", {Tf(R"({"task": {"index": 1.5}})")}},
    {kType, "an index in words", {Tf(R"({"task": {"index": "one"}})")}},
    {kRange, "an address without port", {Tf(R"({"cluster": {"ps": ["host"]}})")}},
    {kRange, "a port above 65535", {Tf(R"({"cluster": {"ps": ["host:65536"]}})")}},
    {kRange, "an address with a scheme", {Tf(R"({"cluster": {"ps": ["grpc://host:1"]}})")}},
    {kRange, "an IPv6 address without brackets", {Tf(R"({"cluster": {"ps": ["fe80::1:80"]}})")}},
    {kRange, "a negative index", {Tf(R"({"task": {"index": -1}})")}},
    {kRange, "a task that the cluster has not", {Tf(R"({"task": {"index": 2}})")}},
    {kRange,
     "a worker's task where the cluster names no worker",
     {Tf(R"({"cluster": {"worker": null}, "task": {"type": "worker", "index": 0}})")}},
    {kRange, "a ps's task where the cluster names no ps", {Tf(R"({"cluster": {"ps": null}})")}},
    {kConflict, "two tasks at one address", {Tf(R"({"cluster": {"ps": ["h:3", "h:3"]}})")}},
    {kConflict, "a key twice", {Write(kTf, R"({"cluster": {}, "cluster": {}})")}},
    {kConflict, "a worker's task for ps_server", {Tf(R"({"task": {"type": "worker"}})")}},
    {kConflict, "a ps's task for worker", {Copy(kTf, "TF_CONFIG.worker")}, "worker"},
    {kConflict, "a ps's task for coordinator", {Copy(kTf, "TF_CONFIG.coordinator")}, "coordinator"},
};

constexpr Impossible kImpossible[] = {
    {kLabels, "there are none"},
};

}  // namespace

InputKind TfConfig() {
  return {"TF_CONFIG",
          "The environment variable, or the file that `--tf_config` names. Daemons end with 1: "
          "starting them again would not help. `cairn` reads it too.",
          "ps_server",
          false,
          kCases,
          kImpossible};
}

}  // namespace cairn::testing
