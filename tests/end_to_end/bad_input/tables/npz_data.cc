#include "tests/end_to_end/bad_input/tables.h"

namespace cairn::testing {
namespace {

constexpr std::string_view kFile = "flowers.npz";

constexpr Step Job(std::string_view patch) { return Patch("npz.json", patch); }

constexpr BadCase kCases[] = {
    {kMissing, "the file", {Remove(kFile)}},
    {kMissing, "the name of the features", {Job(R"({"train": {"npz": {"features": null}}})")}},
    {kMissing, "the name of the labels", {Job(R"({"train": {"npz": {"labels": null}}})")}},
    {kUnreadable, "a file that may not be read", {Forbid(kFile)}},
    {kFolder, "a folder in place of the file", {Folder(kFile)}},
    {kEmpty, "an empty file", {Write(kFile, "")}},
    {kTruncated, "the file", {Cut(kFile, 90)}},
    {kForeign, "text", {Write(kFile, "not numpy at all")}},
    {kForeign, "a .npy file", {Copy("x.npy", kFile)}},
    {kForeign, "a byte that changed", {Flip(kFile, 40)}},
    {kShape, "an array of another shape", {Job(R"({"train": {"npz": {"features": "y_train"}}})")}},
    {kShape,
     "two arrays for one input",
     {Job(R"({"train": {"npz": {"features": ["x_train", "y_train"]}}})")}},
    {kLabels,
     "a class above the model's",
     {Set("model.json", "/config/layers/1/config/units", "2")}},
    {kUnknown, "an array", {Job(R"({"train": {"npz": {"features": "x_test"}}})")}},
    {kUnknown, "a field", {Job(R"({"train": {"npz": {"keys": "x_train"}}})")}},
    {kType, "an array's name that is a number", {Job(R"({"train": {"npz": {"labels": 1}}})")}},
    {kConflict, "damaged records to skip", {Job(R"({"train": {"skip_damaged": 3}})")}},
};

constexpr Impossible kImpossible[] = {
    {kAbsurd, "sizes are those of the arrays: see npy"},
    {kRange, "see npy"},
};

}  // namespace

InputKind NpzData() {
  return {"Data: npz",
          "NumPy's archives of arrays, each of which is a .npy file.",
          "cairn submit npz.json --follow",
          true,
          kCases,
          kImpossible};
}

}  // namespace cairn::testing
