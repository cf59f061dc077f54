#include "tests/end_to_end/bad_input/tables.h"

namespace cairn::testing {
namespace {

constexpr std::string_view kModel = "tfjs.json";

constexpr BadCase kCases[] = {
    {kMissing, "the file", {Remove("weights.bin")}},
    {kMissing, "one of the weights", {Drop(kModel, "/weightsManifest/0/weights/3")}},
    {kUnreadable, "a file that may not be read", {Forbid("weights.bin")}},
    {kFolder, "a folder in place of the file", {Folder("weights.bin")}},
    {kEmpty, "an empty file", {Write("weights.bin", "")}},
    {kTruncated, "fewer bytes than the weights have", {Cut("weights.bin", 50)}},
    {kForeign, "a longer file", {Copy("x.npy", "weights.bin")}},
    {kForeign, "no TF.js format", {Patch(kModel, R"({"format": "graph-model"})")}},
    {kShape,
     "a weight of another shape",
     {Set(kModel, "/weightsManifest/0/weights/0/shape", "[4, 8]")}},
    {kShape, "a negative size", {Set(kModel, "/weightsManifest/0/weights/0/shape", "[-8, 4]")}},
    {kAbsurd,
     "a weight of 2^62 elements",
     {Set(kModel, "/weightsManifest/0/weights/0/shape", "[2147483648, 2147483648]")}},
    {kUnknown,
     "a weight that the model has not",
     {Set(kModel, "/weightsManifest/0/weights/0/name", R"("third/kernel")")}},
    {kUnknown,
     "a type of number",
     {Set(kModel, "/weightsManifest/0/weights/0/dtype", R"("float64")")}},
    {kType, "a name that is a number", {Set(kModel, "/weightsManifest/0/weights/0/name", "3")}},
    {kType, "paths that are a number", {Set(kModel, "/weightsManifest/0/paths", "3")}},
    {kType,
     "sizes in words",
     {Set(kModel, "/weightsManifest/0/weights/0/shape", R"(["eight", 4])")}},
    {kRange,
     "a file outside of the model's folder",
     {Set(kModel, "/weightsManifest/0/paths", R"(["../weights.bin"])")}},
    {kRange, "an absolute path", {Set(kModel, "/weightsManifest/0/paths", R"(["/etc/hostname"])")}},
    {kRange,
     "a weight that is no number",
     {Write("weights.bin", "", std::string_view("\0\0\xc0\x7f", 4), 51)}},
    {kConflict,
     "one weight twice",
     {Set(kModel, "/weightsManifest/0/weights/1/name", R"("first/kernel")")}},
};

constexpr Impossible kImpossible[] = {
    {kLabels, "there are none"},
};

}  // namespace

InputKind Weights() {
  return {"Initial weights",
          "The weights of a TF.js layers model.",
          "cairn submit pretrained.json --follow",
          true,
          kCases,
          kImpossible};
}

}  // namespace cairn::testing
