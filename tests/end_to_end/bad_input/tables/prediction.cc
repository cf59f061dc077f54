#include "tests/end_to_end/bad_input/tables.h"

namespace cairn::testing {
namespace {

constexpr BadCase kCases[] = {
    {kMissing, "the file", {Remove("x.npy")}},
    {kUnreadable, "a file that may not be read", {Forbid("x.npy")}},
    {kFolder, "a folder in place of the file", {Folder("x.npy")}},
    {kEmpty, "an empty file", {Write("x.npy", "")}},
    {kEmpty,
     "no examples",
     {Npy("x.npy", "{'descr': '<f4', 'fortran_order': False, 'shape': (0, 8), }", 0)}},
    {kTruncated, "within the elements", {Cut("x.npy", 50)}},
    {kForeign, "an image", {Write("x.npy", kPng)}},
    {kShape,
     "examples of another shape",
     {Npy("x.npy", "{'descr': '<f4', 'fortran_order': False, 'shape': (16, 9), }", 144)}},
    {kAbsurd,
     "2^80 elements",
     {Npy("x.npy",
          "{'descr': '<f4', 'fortran_order': False, 'shape': (1099511627776, 1099511627776), }",
          128)}},
    {kRange,
     "a type of number that is not read",
     {Npy("x.npy", "{'descr': '<f16', 'fortran_order': False, 'shape': (16, 8), }", 512)}},
};

constexpr Impossible kImpossible[] = {
    {kLabels, "no labels are read"},
    {kUnknown, "there are no names in it"},
    {kType, "it is no JSON"},
    {kConflict, "one file has nothing to contradict"},
};

}  // namespace

InputKind Prediction() {
  return {"Inputs of cairn predict",
          "What `--input` names.",
          "cairn predict flowers --input x.npy --output o.npy --state state",
          false,
          kCases,
          kImpossible};
}

}  // namespace cairn::testing
