#include "tests/end_to_end/bad_input/tables.h"

namespace cairn::testing {
namespace {

constexpr BadCase kCases[] = {
    {kMissing, "the directory", {}, "cairn jobs --state gone"},
    {kMissing, "a directory in which nothing has run", {Write("x", "")}, "cairn jobs --state ."},
    {kMissing, "a cluster that runs on it", {}, "cairn cluster --state state"},
    {kMissing,
     "the snapshot of a checkpoint",
     {Remove("state/ps-0")},
     "cairn export flowers --output out --state state"},
    {kUnreadable, "a directory that may not be read", {Forbid("state/coordinator")}},
    {kUnreadable,
     "a directory that may not be written, for cairn up",
     {Folder("locked"), Forbid("locked")},
     "cairn up --state locked/state"},
    {kFolder, "a file in place of the directory", {}, "cairn jobs --state x.npy"},
    {kFolder,
     "a file in place of the directory, for cairn run",
     {},
     "cairn run job.json --state x.npy"},
    {kEmpty, "a journal without a file", {Folder("state/coordinator")}},
    {kEmpty,
     "a snapshot of no bytes",
     {Cut("state/ps-0/*.sst", 0)},
     "cairn export flowers --output out --state state"},
    {kTruncated,
     "half of a snapshot",
     {Cut("state/ps-0/*.sst", 50)},
     "cairn export flowers --output out --state state"},
    {kForeign, "a damaged journal", {Write("state/coordinator/CURRENT", "hello")}},
    {kConflict,
     "another job file of the same name",
     {Patch("job.json", R"({"batch_size": 4})")},
     "cairn run job.json --state state"},
};

constexpr Impossible kImpossible[] = {
    {kShape, "nobody but Cairn writes them"},
    {kLabels, "there are none"},
    {kAbsurd, "nobody but Cairn writes them"},
    {kUnknown, "nobody but Cairn writes them"},
    {kType, "they are no JSON"},
    {kRange, "nobody but Cairn writes them"},
};

}  // namespace

InputKind State() {
  return {"State directories and checkpoints",
          "What `--state` names: the journal, and each ps's snapshots.",
          "cairn jobs --state state",
          false,
          kCases,
          kImpossible};
}

}  // namespace cairn::testing
