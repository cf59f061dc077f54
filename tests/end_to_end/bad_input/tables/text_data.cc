#include "tests/end_to_end/bad_input/tables.h"

namespace cairn::testing {
namespace {

constexpr std::string_view kFile = "flowers.tsv";

constexpr Step Job(std::string_view patch) { return Patch("text.json", patch); }

constexpr BadCase kCases[] = {
    {kMissing, "the file", {Remove(kFile)}},
    {kMissing, "its name", {Job(R"({"train": {"text": {"files": null}}})")}},
    {kMissing, "the label of a line", {Write(kFile, "rose\tred\nwhite\n")}},
    {kMissing,
     "folders of classes",
     {Folder("texts"), Job(R"({"train": {"text": {"files": null, "directory": "texts"}}})")}},
    {kUnreadable, "a file that may not be read", {Forbid(kFile)}},
    {kFolder, "a folder in place of the file", {Folder(kFile)}},
    {kEmpty, "a file", {Write(kFile, "")}},
    {kEmpty, "all lines", {Write(kFile, "\n\n")}},
    {kEmpty,
     "the folders",
     {Folder("texts"), Folder("texts/rose"),
      Job(R"({"train": {"text": {"files": null, "directory": "texts"}}})")}},
    {kTruncated,
     "a packed file",
     {Gzip(kFile, "flowers.tsv.gz"), Cut("flowers.tsv.gz", 60),
      Job(R"({"train": {"text": {"files": "flowers.tsv.gz"}}})")}},
    {kForeign, "a file of another format", {Job(R"({"train": {"text": {"files": "x.npy"}}})")}},
    {kShape,
     "fewer tokens than the model takes",
     {Job(R"({"train": {"text": {"text_vectorization": {"output_sequence_length": 4}}}})")}},
    {kLabels, "more labels than the model has classes", {Write(kFile, "a\tx\nb\tx\nc\tx\nd\tx\n")}},
    {kLabels,
     "a label that is none of the classes",
     {Job(R"({"train": {"text": {"class_names": ["rose", "daisy"]}}})")}},
    {kAbsurd,
     "2^40 tokens",
     {Job(
         R"({"train": {"text": {"text_vectorization": {"output_sequence_length": 1099511627776}}}})")}},
    {kUnknown,
     "a way to split",
     {Job(R"({"train": {"text": {"text_vectorization": {"split": "words"}}}})")}},
    {kUnknown,
     "a way to standardize",
     {Job(R"({"train": {"text": {"text_vectorization": {"standardize": "upper"}}}})")}},
    {kUnknown, "a place of the label", {Job(R"({"train": {"text": {"label": "middle"}}})")}},
    {kUnknown, "a field", {Job(R"({"train": {"text": {"max_tokens": 9}}})")}},
    {kUnknown,
     "a column of a filter",
     {Job(R"({"train": {"pipeline": [{"filter": "label = 1"}]}})")}},
    {kRange,
     "a filter that no text satisfies",
     {Job(R"({"train": {"pipeline": [{"filter": "class_name = 'none'"}]}})")}},
    {kType, "a delimiter that is a number", {Job(R"({"train": {"text": {"delimiter": 9}}})")}},
    {kRange,
     "a vocabulary of two ids",
     {Job(R"({"train": {"text": {"text_vectorization": {"max_tokens": 2}}}})")}},
    {kRange, "a delimiter", {Job(R"({"train": {"text": {"delimiter": "\n"}}})")}},
    {kRange,
     "a token that is empty",
     {Job(R"({"train": {"text": {"text_vectorization": {"vocabulary": ["a", ""]}}}})")}},
    {kConflict, "files and folders", {Job(R"({"train": {"text": {"directory": "photos"}}})")}},
    {kConflict,
     "a delimiter for folders",
     {Job(R"({"train": {"text": {"files": null, "directory": "photos", "delimiter": ","}}})")}},
    {kConflict,
     "a class that is named twice",
     {Job(R"({"train": {"text": {"class_names": ["rose", "rose"]}}})")}},
    {kConflict,
     "a token that is named twice",
     {Job(R"({"train": {"text": {"text_vectorization": {"vocabulary": ["a", "a"]}}}})")}},
    {kConflict,
     "more tokens than the vocabulary may have",
     {Job(
         R"({"train": {"text": {"text_vectorization": {"vocabulary": ["a", "b"], "max_tokens": 3}}}})")}},
};

}  // namespace

InputKind TextData() {
  return {"Data: text",
          "Lines with a label and a text, or a folder of .txt files for each class.",
          "cairn submit text.json --follow",
          true,
          kCases,
          {}};
}

}  // namespace cairn::testing
