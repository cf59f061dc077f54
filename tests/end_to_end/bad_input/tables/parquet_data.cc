#include "tests/end_to_end/bad_input/tables.h"

namespace cairn::testing {
namespace {

constexpr std::string_view kFile = "flowers.parquet";

constexpr Step Job(std::string_view patch) { return Patch("parquet.json", patch); }

constexpr BadCase kCases[] = {
    {kMissing, "the file", {Remove(kFile)}},
    {kMissing,
     "every file of a pattern",
     {Job(R"({"train": {"parquet": {"files": "day=*/*.parquet"}}})")}},
    {kMissing, "the features", {Job(R"({"train": {"parquet": {"features": null}}})")}},
    {kMissing, "the labels", {Job(R"({"train": {"parquet": {"labels": null}}})")}},
    {kUnreadable, "a file that may not be read", {Forbid(kFile)}},
    {kFolder, "a folder without files in place of the file", {Folder(kFile)}},
    {kEmpty, "an empty file", {Write(kFile, "")}},
    {kShape,
     "fewer values than the model takes",
     {Job(R"({"train": {"parquet": {"features": {"name": "x", "shape": [4]}}}})")}},
    {kAbsurd,
     "a shape of 2^40 values",
     {Job(R"({"train": {"parquet": {"features": {"name": "x", "shape": [1048576, 1048576]}}}})")}},
    {kUnknown,
     "an input",
     {Job(R"({"train": {"parquet": {"features": {"name": "x", "input": "nowhere"}}}})")}},
    {kUnknown,
     "a field of a column",
     {Job(R"({"train": {"parquet": {"features": {"name": "x", "categoric": true}}}})")}},
    {kType, "a filter that is a list", {Job(R"({"train": {"parquet": {"filter": ["a", 1]}}})")}},
    {kRange,
     "a filter without a value",
     {Job(R"({"train": {"parquet": {"filter": "year >= "}}})")}},
    {kRange,
     "a filter that compares two columns",
     {Job(R"({"train": {"parquet": {"filter": "a = b"}}})")}},
    {kRange,
     "a filter whose quote has no end",
     {Job(R"({"train": {"parquet": {"filter": "country = 'de"}}})")}},
    {kRange,
     "a vocabulary of two ids",
     {Job(
         R"({"train": {"parquet": {"features": {"name": "x", "text_vectorization": {"max_tokens": 2}}}}})")}},
    {kConflict,
     "a number for a column of names",
     {Job(
         R"({"train": {"parquet": {"features": {"name": "x", "categorical": true, "default": 0}}}})")}},
    {kConflict,
     "a vocabulary for numbers",
     {Job(
         R"({"train": {"parquet": {"features": {"name": "x", "categorical": false, "vocabulary": ["a"]}}}})")}},
    {kConflict,
     "vectors of numbers",
     {Job(R"({"train": {"parquet": {"features": {"name": "x", "one_hot": true}}}})")}},
    {kConflict,
     "vectors of lists of any length",
     {Job(
         R"({"train": {"parquet": {"features": {"name": "x", "vocabulary": ["a"], "one_hot": true, "max_length": 8}}}})")}},
    {kConflict,
     "a replacement of nulls that is not in the vocabulary",
     {Job(
         R"({"train": {"parquet": {"features": {"name": "x", "vocabulary": ["a"], "default_name": "b"}}}})")}},
    {kConflict,
     "names of numbers",
     {Job(R"({"train": {"parquet": {"features": {"name": "x", "default_name": "b"}}}})")}},
    {kConflict,
     "vectors of labels in the column",
     {Job(
         R"({"train": {"parquet": {"labels": {"name": "y", "categorical": true, "one_hot": true}}}})")}},
    {kConflict,
     "a text that is a list",
     {Job(
         R"({"train": {"parquet": {"features": {"name": "x", "text_vectorization": {}, "max_length": 8}}}})")}},
    {kMissing,
     "the type of raw elements",
     {Job(R"({"train": {"parquet": {"features": {"name": "x", "decode": "raw"}}}})")}},
    {kMissing,
     "the bins of a hash",
     {Job(R"({"train": {"parquet": {"features": {"name": "x", "hash": {}}}}})")}},
    {kUnknown,
     "a way of decoding",
     {Job(R"({"train": {"parquet": {"features": {"name": "x", "decode": "gif"}}}})")}},
    {kUnknown,
     "a type of numbers",
     {Job(R"({"train": {"parquet": {"features": {"name": "x", "dtype": "string"}}}})")}},
    {kUnknown,
     "an output",
     {Job(R"({"train": {"parquet": {"labels": {"name": "y", "output": "nowhere"}}}})")}},
    {kRange, "rows that may be skipped", {Job(R"({"train": {"skip_damaged": -3}})")}},
};

constexpr std::string_view kWhy =
    "found by the worker with DuckDB's library, which may be absent where this page is made";

constexpr Impossible kImpossible[] = {
    {kTruncated, kWhy},
    {kForeign, kWhy},
    {kLabels, kWhy},
};

}  // namespace

InputKind ParquetData() {
  return {"Data: parquet", "Parquet files.", "cairn submit parquet.json --follow", true,
          kCases,          kImpossible};
}

}  // namespace cairn::testing
