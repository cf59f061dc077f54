#include "tests/end_to_end/bad_input/tables.h"

namespace cairn::testing {
namespace {

constexpr BadCase kCases[] = {
    {kMissing, "any cluster to belong to", {Remove("TF_CONFIG.worker")}, "worker"},
    {kUnreadable,
     "a state directory that may not be written",
     {Folder("locked"), Forbid("locked")},
     "ps_server --state locked/state"},
    {kUnreadable,
     "a state directory that may not be written, for the coordinator",
     {Folder("locked"), Forbid("locked")},
     "coordinator --state locked/state"},
    {kUnreadable,
     "a log that may not be written",
     {Folder("locked"), Forbid("locked")},
     "worker --log_file locked/log"},
    {kFolder, "a file in place of the state directory", {}, "ps_server --state x.npy"},
    {kFolder,
     "a file in place of the state directory, for the coordinator",
     {},
     "coordinator --state x.npy"},
    {kFolder, "a folder in place of the log", {}, "worker --log_file ."},
    {kFolder, "a task of cairn evaluate that is a folder", {}, "worker --evaluate ."},
    {kEmpty, "a state directory without a name", {}, R"(ps_server --state "")"},
    {kEmpty,
     "a coordinator without a name",
     {Remove("TF_CONFIG.worker")},
     R"(worker --coordinator "")"},
    {kTruncated, "a flag without its value", {}, "coordinator --state"},
    {kShape, "a word that is no flag", {}, "worker state"},
    {kUnknown, "a flag", {}, "worker --sate x"},
    {kUnknown, "a flag that another daemon has", {}, "ps_server --lease_seconds 3"},
    {kUnknown, "a log level", {}, "worker --log_level verbose"},
    {kUnknown, "a device", {}, "worker --device gpu"},
    {kConflict, "a device twice", {}, "worker --device cpu,cpu:0"},
    {kRange, "no thread", {}, "ps_server --threads 0"},
    {kRange, "a negative amount of memory", {}, "worker --data_memory -1"},
    {kRange, "no evaluation at all", {}, "worker --max_evaluations 0"},
    {kConflict, "evaluations of a worker", {}, "worker --max_evaluations 3 --coordinator h:1"},
    {kRange, "a lease of a tenth of a second", {}, "coordinator --lease_seconds 0.1"},
    {kRange, "a coordinator without port", {}, "worker --coordinator localhost"},
    {kShape, "a coordinator's flag without a value", {}, "worker --coordinator_flag lease_seconds"},
    {kConflict,
     "the address of a daemon that runs",
     {Patch("TF_CONFIG.ps_server", R"({"cluster": {"ps": ["${COORDINATOR}"]}})")},
     "ps_server"},
};

constexpr Impossible kImpossible[] = {
    {kForeign, "as out of range: the value is said, and what it may be"},
    {kLabels, "there are none"},
    {kAbsurd, "as out of range"},
    {kType, "no flag takes JSON"},
};

}  // namespace

InputKind DaemonFlags() {
  return {"The daemons' command lines",
          "2 is bad usage, 1 says that starting again would not help, 129 that it may.",
          "ps_server",
          true,
          kCases,
          kImpossible};
}

}  // namespace cairn::testing
