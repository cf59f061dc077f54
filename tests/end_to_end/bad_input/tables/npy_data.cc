#include <limits>

#include "tests/end_to_end/bad_input/tables.h"

namespace cairn::testing {
namespace {

constexpr Step Job(std::string_view patch) { return Patch("job.json", patch); }

constexpr BadCase kCases[] = {
    {kMissing, "the features", {Remove("x.npy")}},
    {kMissing,
     "every file of a pattern",
     {Job(R"({"train": {"npy": {"features": "part-[0-9].npy"}}})")}},
    {kMissing,
     "the validation features",
     {Job(R"({"validation": {"npy": {"features": "v.npy", "labels": "y.npy"}}})")}},
    {kUnreadable, "a file that may not be read", {Forbid("x.npy")}},
    {kFolder, "a folder in place of the file", {Folder("x.npy")}},
    {kEmpty, "an empty file", {Write("x.npy", "")}},
    {kEmpty,
     "no examples",
     {Npy("x.npy", "{'descr': '<f4', 'fortran_order': False, 'shape': (0, 8), }", 0),
      Npy("y.npy", "{'descr': '<f4', 'fortran_order': False, 'shape': (0,), }", 0)}},
    {kTruncated, "within the elements", {Cut("x.npy", 50)}},
    {kTruncated, "within the header", {Cut("x.npy", 8)}},
    {kForeign, "text", {Write("x.npy", "not numpy at all")}},
    {kForeign, "a .npz file, which is a zip file", {Write("x.npy", "PK\x03\x04")}},
    {kForeign, "an idx file", {Copy("x.idx", "x.npy")}},
    {kForeign,
     "a pickle of objects",
     {Npy("x.npy", "{'descr': '|O', 'fortran_order': False, 'shape': (16, 8), }", 128)}},
    {kShape,
     "fewer features than labels",
     {Npy("x.npy", "{'descr': '<f4', 'fortran_order': False, 'shape': (7, 8), }", 56)}},
    {kShape,
     "sources of a zip with different numbers of examples",
     {Job(
         R"({"train": {"npy": null, "zip": [{"source": {"npy": {"features": "x.npy"}}, "inputs": "first_input"},
             {"source": {"npy": {"labels": "y.npy"}, "pipeline": [{"take": 7}]}, "outputs": "last"}]}})")}},
    {kShape,
     "examples of another shape",
     {Npy("x.npy", "{'descr': '<f4', 'fortran_order': False, 'shape': (16, 9), }", 144)}},
    {kShape,
     "labels with an axis too many",
     {Npy("y.npy", "{'descr': '<f4', 'fortran_order': False, 'shape': (16, 5), }", 80)}},
    {kShape,
     "a single number",
     {Npy("x.npy", "{'descr': '<f4', 'fortran_order': False, 'shape': (), }", 1)}},
    {kLabels,
     "a class above the model's",
     {Npy("y.npy", "{'descr': '<f4', 'fortran_order': False, 'shape': (16,), }", 16, 3)}},
    {kLabels,
     "a negative class",
     {Npy("y.npy", "{'descr': '<f4', 'fortran_order': False, 'shape': (16,), }", 16, -1)}},
    {kLabels,
     "half a class",
     {Npy("y.npy", "{'descr': '<f4', 'fortran_order': False, 'shape': (16,), }", 16, 0.5)}},
    {kAbsurd,
     "2^80 elements",
     {Npy("x.npy",
          "{'descr': '<f4', 'fortran_order': False, 'shape': (1099511627776, 1099511627776), }",
          128)}},
    {kAbsurd,
     "a header of 64 KiB",
     {Write("x.npy", std::string_view("\x93NUMPY\x01\0\xff\xff", 10), " ", 65535)}},
    {kUnknown,
     "a key of the header",
     {Npy("x.npy", "{'descr': '<f4', 'fortran_order': False, 'shap': (16, 8), }", 128)}},
    {kUnknown,
     "a type of number that is not read",
     {Npy("x.npy", "{'descr': '<f2', 'fortran_order': False, 'shape': (16, 8), }", 64)}},
    {kUnknown,
     "a type that is not even text",
     {Npy("x.npy", "{'descr': '<\xe9\xff', 'fortran_order': False, 'shape': (16, 8), }", 128)}},
    {kType,
     "complex numbers",
     {Npy("x.npy", "{'descr': '<c8', 'fortran_order': False, 'shape': (16, 8), }", 256)}},
    {kType,
     "Fortran's order",
     {Npy("x.npy", "{'descr': '<f4', 'fortran_order': True, 'shape': (16, 8), }", 128)}},
    {kConflict, "damaged records to skip", {Job(R"({"train": {"skip_damaged": 3}})")}},
    {kRange,
     "a version that NumPy has not",
     {Write("x.npy", std::string_view("\x93NUMPY\x09\0\x01\0\n", 11))}},
    {kRange,
     "a number that is none",
     {Npy("x.npy", "{'descr': '<f4', 'fortran_order': False, 'shape': (16, 8), }", 128,
          std::numeric_limits<double>::quiet_NaN())}},
    {kRange,
     "a fraction for validation that leaves nothing",
     {Job(R"({"validation_fraction": 0.999})")}},
    {kConflict,
     "a file twice the size that its header says",
     {Npy("x.npy", "{'descr': '<f4', 'fortran_order': False, 'shape': (16, 8), }", 256)}},
};

}  // namespace

InputKind NpyData() {
  return {
      "Data: npy",
      "NumPy's arrays, which workers read before a job begins. Rows and elements are counted from "
      "0, as NumPy does.",
      "cairn submit job.json --follow",
      true,
      kCases,
      {}};
}

}  // namespace cairn::testing
