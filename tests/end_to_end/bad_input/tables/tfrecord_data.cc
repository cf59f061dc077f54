#include "tests/end_to_end/bad_input/tables.h"

namespace cairn::testing {
namespace {

constexpr std::string_view kFile = "flowers.tfrecord";

constexpr Step Job(std::string_view patch) { return Patch("tfrecord.json", patch); }

constexpr BadCase kCases[] = {
    {kMissing, "the file", {Remove(kFile)}},
    {kMissing,
     "every file of a pattern",
     {Job(R"({"train": {"tfrecord": {"files": "shards/*.tfrecord"}}})")}},
    {kMissing, "the features", {Job(R"({"train": {"tfrecord": {"features": null}}})")}},
    {kMissing, "the labels", {Job(R"({"train": {"tfrecord": {"labels": null}}})")}},
    {kMissing,
     "the type of raw elements",
     {Job(R"({"train": {"tfrecord": {"features": {"name": "x", "decode": "raw"}}}})")}},
    {kUnreadable, "a file that may not be read", {Forbid(kFile)}},
    {kFolder, "a folder in place of the file", {Folder(kFile)}},
    {kEmpty, "an empty file, and no other", {Write(kFile, "")}},
    {kTruncated, "the last record", {Cut(kFile, 97)}},
    {kTruncated, "within the first record", {Cut(kFile, 1)}},
    {kForeign, "text", {Write(kFile, "id,name\n1,rose\n2,tulip\n")}},
    {kForeign, "a byte that changed", {Flip(kFile, 50)}},
    {kShape,
     "fewer values than the model takes",
     {Job(R"({"train": {"tfrecord": {"features": {"name": "x", "shape": [4]}}}})")}},
    {kShape,
     "more values in a record than its shape says",
     {Job(R"({"train": {"tfrecord": {"labels": {"name": "x"}}}})")}},
    {kShape,
     "a shape with a size of 0",
     {Job(R"({"train": {"tfrecord": {"features": {"name": "x", "shape": [0, 8]}}}})")}},
    {kLabels,
     "a class above the model's",
     {Set("model.json", "/config/layers/1/config/units", "2")}},
    {kLabels,
     "names without a vocabulary",
     {Job(R"({"train": {"tfrecord": {"labels": "name"}}})")}},
    {kLabels,
     "a name that the vocabulary has not",
     {Job(R"({"train": {"tfrecord": {"labels": {"name": "name", "vocabulary": ["tulip"]}}}})")}},
    {kAbsurd,
     "a shape of 2^40 values",
     {Job(R"({"train": {"tfrecord": {"features": {"name": "x", "shape": [1048576, 1048576]}}}})")}},
    {kAbsurd,
     "lists of 2^40 values",
     {Job(R"({"train": {"tfrecord": {"features": {"name": "x", "max_length": 1099511627776}}}})")}},
    {kUnknown,
     "a feature that the records have not",
     {Job(R"({"train": {"tfrecord": {"features": "z"}}})")}},
    {kUnknown,
     "an input",
     {Job(R"({"train": {"tfrecord": {"features": {"name": "x", "input": "nowhere"}}}})")}},
    {kUnknown,
     "a way of decoding",
     {Job(R"({"train": {"tfrecord": {"features": {"name": "x", "decode": "gif"}}}})")}},
    {kUnknown,
     "a type of numbers",
     {Job(R"({"train": {"tfrecord": {"features": {"name": "x", "dtype": "string"}}}})")}},
    {kUnknown,
     "a field of a feature",
     {Job(R"({"train": {"tfrecord": {"features": {"name": "x", "lenght": 3}}}})")}},
    {kUnknown,
     "an output",
     {Job(R"({"train": {"tfrecord": {"labels": {"name": "y", "output": "nowhere"}}}})")}},
    {kMissing,
     "a second vocabulary for a feature",
     {Job(
         R"({"train": {"tfrecord": {"features": [{"name": "name", "text_vectorization": {}}, {"name": "name", "categorical": true}]}}})")}},
    {kType,
     "numbers where names are expected",
     {Job(R"({"train": {"tfrecord": {"features": {"name": "x", "categorical": true}}}})")}},
    {kType,
     "other numbers than the job file says",
     {Job(R"({"train": {"tfrecord": {"features": {"name": "x", "dtype": "int64"}}}})")}},
    {kType,
     "numbers where raw elements are expected",
     {Job(
         R"({"train": {"tfrecord": {"features": {"name": "x", "decode": "raw", "dtype": "uint8"}}}})")}},
    {kType, "a feature that is a number", {Job(R"({"train": {"tfrecord": {"features": 3}}})")}},
    {kRange,
     "lists of no values",
     {Job(R"({"train": {"tfrecord": {"features": {"name": "x", "max_length": 0}}}})")}},
    {kRange, "a scale that makes values infinite", {Job(R"({"train": {"scale": 1e39}})")}},
    {kConflict,
     "a shape and any length",
     {Job(
         R"({"train": {"tfrecord": {"features": {"name": "x", "shape": [8], "max_length": 8}}}})")}},
    {kConflict,
     "padding without a length",
     {Job(R"({"train": {"tfrecord": {"features": {"name": "x", "padding": 1}}}})")}},
    {kConflict,
     "a default for lists of any length",
     {Job(
         R"({"train": {"tfrecord": {"features": {"name": "x", "max_length": 8, "default": 1}}}})")}},
    {kConflict,
     "a vocabulary for raw elements",
     {Job(
         R"({"train": {"tfrecord": {"features": {"name": "x", "decode": "raw", "dtype": "uint8", "vocabulary": ["a"]}}}})")}},
    {kConflict,
     "a type for an image",
     {Job(
         R"({"train": {"tfrecord": {"features": {"name": "x", "decode": "image", "dtype": "uint8"}}}})")}},
    {kShape,
     "an image of two channels",
     {Job(
         R"({"train": {"tfrecord": {"features": {"name": "x", "decode": "image", "shape": [2, 2, 2]}}}})")}},
    {kShape,
     "an image for an input that takes none",
     {Job(R"({"train": {"tfrecord": {"features": {"name": "x", "decode": "image"}}}})")}},
    {kForeign,
     "bytes that are not an image",
     {Job(
         R"({"train": {"tfrecord": {"features": {"name": "name", "decode": "image", "shape": [4, 2]}}}})")}},
    {kConflict,
     "unknown names without a vocabulary",
     {Job(R"({"train": {"tfrecord": {"features": {"name": "x", "unknown": true}}}})")}},
    {kConflict,
     "a hash of what has a type",
     {Job(
         R"({"train": {"tfrecord": {"features": {"name": "x", "dtype": "int64", "hash": {"num_bins": 9}}}}})")}},
    {kConflict,
     "a hash of labels",
     {Job(R"({"train": {"tfrecord": {"labels": {"name": "y", "hash": {"num_bins": 9}}}}})")}},
    {kConflict,
     "more damaged records than may be skipped",
     {Job(R"({"train": {"skip_damaged": 3, "tfrecord": {"features": "z"}}})")}},
};

}  // namespace

InputKind TfrecordData() {
  return {
      "Data: tfrecord",
      "Files of tf.train.Example. Records are counted from 0; the byte is where a record begins.",
      "cairn submit tfrecord.json --follow",
      true,
      kCases,
      {}};
}

}  // namespace cairn::testing
