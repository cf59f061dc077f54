#include "tests/end_to_end/bad_input/tables.h"

namespace cairn::testing {
namespace {

constexpr Step Job(std::string_view patch) { return Patch("cifar10.json", patch); }

constexpr BadCase kCases[] = {
    {kMissing, "the file", {Remove("batch.bin")}},
    {kMissing, "a list of files", {Job(R"({"train": {"cifar10": {"files": null}}})")}},
    {kUnreadable, "a file that may not be read", {Forbid("batch.bin")}},
    {kFolder, "a folder in place of the file", {Folder("batch.bin")}},
    {kEmpty, "an empty file", {Write("batch.bin", "")}},
    {kTruncated, "within an example", {Cut("batch.bin", 49)}},
    {kForeign, "other bytes of the right length", {Write("batch.bin", "", "\xff", 3073)}},
    {kForeign, "the Python version, a pickle", {Write("batch.bin", "\x80\x02}q\x01")}},
    {kShape,
     "a model of other images",
     {Set("images.json", "/config/layers/0/config/batch_input_shape", "[null, 28, 28, 1]")}},
    {kLabels,
     "classes that the model has not",
     {Set("images.json", "/config/layers/1/config/units", "5")}},
    {kUnknown,
     "a kind of labels",
     {Job(
         R"({"train": {"cifar10": null, "cifar100": {"files": "batch.bin", "labels": "medium"}}})")}},
    {kType, "files that are a number", {Job(R"({"train": {"cifar10": {"files": 3}}})")}},
    {kConflict,
     "CIFAR-100's labels for CIFAR-10",
     {Job(R"({"train": {"cifar10": {"labels": "fine"}}})")}},
};

constexpr Impossible kImpossible[] = {
    {kAbsurd, "the format has no sizes"},
    {kRange, "every byte is a brightness"},
};

}  // namespace

InputKind CifarData() {
  return {"Data: cifar10 and cifar100",
          "CIFAR's binary version.",
          "cairn submit cifar10.json --follow",
          true,
          kCases,
          kImpossible};
}

}  // namespace cairn::testing
