#include "tests/end_to_end/bad_input/tables.h"

namespace cairn::testing {
namespace {

constexpr std::string_view kFile = "flowers.csv";

constexpr Step Columns(std::string_view patch) { return Patch("csv.json", patch); }

constexpr BadCase kCases[] = {
    {kMissing, "the file", {Remove(kFile)}},
    {kMissing,
     "every file of a pattern",
     {Columns(R"({"train": {"csv": {"files": "flowers-*.csv"}}})")}},
    {kMissing, "a column for the labels", {Columns(R"({"train": {"csv": {"labels": null}}})")}},
    {kMissing,
     "a value",
     {Write(kFile, "a,b,c,d,e,f,g,h,y\n1,1,1,1,1,1,1,1,2\n1,1,,1,1,1,1,1,2\n")}},
    {kUnreadable, "a file that may not be read", {Forbid(kFile)}},
    {kFolder, "a folder in place of the file", {Folder(kFile)}},
    {kEmpty, "an empty file", {Write(kFile, "")}},
    {kEmpty, "a header and nothing else", {Write(kFile, "a,b,c,d,e,f,g,h,y\n")}},
    {kTruncated, "a row", {Write(kFile, "a,b,c,d,e,f,g,h,y\n1,1,1,1,1,1,1,1,2\n1,1,1\n")}},
    {kTruncated,
     "a quote that is never closed",
     {Write(kFile, "a,b,c,d,e,f,g,h,y\n1,\"1,1,1,1,1,1,1,2\n")}},
    {kForeign, "an image", {Write(kFile, kPng)}},
    {kForeign,
     "UTF-16",
     {Write(kFile, std::string_view("\xff\xfe"
                                    "a\0,\0b\0",
                                    8))}},
    {kForeign,
     "a zero byte",
     {Write(kFile, std::string_view("a,b,c,d,e,f,g,h,y\n1,\0,1,1,1,1,1,1,2\n", 36))}},
    {kForeign, "another delimiter", {Write(kFile, "a;b;c;d;e;f;g;h;y\n1;1;1;1;1;1;1;1;2\n")}},
    {kShape, "fewer columns than the model has inputs", {Write(kFile, "a,y\n1,2\n")}},
    {kShape,
     "a field too many",
     {Write(kFile, "a,b,c,d,e,f,g,h,y\n1,1,1,1,1,1,1,1,2\n1,1,1,1,1,1,1,1,1,2\n")}},
    {kShape,
     "text after a closing quote",
     {Write(kFile, "a,b,c,d,e,f,g,h,y\n\"1\"1,1,1,1,1,1,1,1,2\n")}},
    {kLabels,
     "a class above the model's",
     {Write(kFile, "a,b,c,d,e,f,g,h,y\n1,1,1,1,1,1,1,1,7\n")}},
    {kLabels, "a class in words", {Write(kFile, "a,b,c,d,e,f,g,h,y\n1,1,1,1,1,1,1,1,cat\n")}},
    {kLabels, "a class and a half", {Write(kFile, "a,b,c,d,e,f,g,h,y\n1,1,1,1,1,1,1,1,1.5\n")}},
    {kLabels,
     "a name that the vocabulary has not",
     {Write(kFile, "a,b,c,d,e,f,g,h,y\n1,1,1,1,1,1,1,1,cow\n"),
      Columns(R"({"train": {"csv": {"labels": {"name": "y", "vocabulary": ["cat", "dog"]}}}})")}},
    {kAbsurd,
     "a record of more than 16 MiB",
     {Write(kFile, "a,b,c,d,e,f,g,h,y\n", "1", (16 << 20) + 1)}},
    {kAbsurd,
     "a number beyond float32",
     {Write(kFile, "a,b,c,d,e,f,g,h,y\n1,1e99,1,1,1,1,1,1,2\n")}},
    {kUnknown, "a column of labels", {Columns(R"({"train": {"csv": {"labels": "z"}}})")}},
    {kUnknown,
     "a column of features",
     {Columns(R"({"train": {"csv": {"features": ["a", "q"]}}})")}},
    {kUnknown,
     "an input",
     {Columns(R"({"train": {"csv": {"features": [{"name": "a", "input": "nowhere"}]}}})")}},
    {kUnknown,
     "what to do with missing values",
     {Columns(R"({"train": {"csv": {"features": [{"name": "a", "missing": "median"}]}}})")}},
    {kUnknown,
     "a field of a column",
     {Columns(R"({"train": {"csv": {"features": [{"name": "a", "catgorical": true}]}}})")}},
    {kType, "a column that is a number", {Columns(R"({"train": {"csv": {"features": [1]}}})")}},
    {kType, "a delimiter that is a number", {Columns(R"({"train": {"csv": {"delimiter": 9}}})")}},
    {kType,
     "a word in place of a number",
     {Write(kFile, "a,b,c,d,e,f,g,h,y\n1,1,1,1,1,1,1,1,2\n1,1,x,1,1,1,1,1,2\n")}},
    {kType,
     "a word in a column whose name is not UTF-8",
     {Write(kFile,
            "y,b,c,d,e,f,g,h,Gr\xf6\xdf"
            "e\n1,1,1,1,1,1,1,1,x\n")}},
    {kRange,
     "a delimiter of two characters",
     {Columns(R"({"train": {"csv": {"delimiter": "::"}}})")}},
    {kRange, "a number that is none", {Write(kFile, "a,b,c,d,e,f,g,h,y\n1,nan,1,1,1,1,1,1,2\n")}},
    {kConflict,
     "two columns of one name",
     {Write(kFile, "a,a,c,d,e,f,g,h,y\n1,1,1,1,1,1,1,1,2\n")}},
    {kConflict, "a column twice", {Columns(R"({"train": {"csv": {"features": ["a", "a"]}}})")}},
    {kConflict,
     "a vocabulary of a numeric column",
     {Columns(
         R"({"train": {"csv": {"features": [{"name": "a", "categorical": false, "vocabulary": ["x"]}]}}})")}},
    {kConflict,
     "one_hot of a numeric column",
     {Columns(R"({"train": {"csv": {"features": [{"name": "a", "one_hot": true}]}}})")}},
    {kConflict,
     "a number in place of missing names",
     {Columns(
         R"({"train": {"csv": {"features": [{"name": "a", "categorical": true, "missing": {"value": 1}}]}}})")}},
};

}  // namespace

InputKind CsvData() {
  return {"Data: csv",
          "Lines and columns are named as the file has them, from 1.",
          "cairn submit csv.json --follow",
          true,
          kCases,
          {}};
}

}  // namespace cairn::testing
