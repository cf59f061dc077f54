#include "tests/end_to_end/bad_input/tables.h"

namespace cairn::testing {
namespace {

// Headers of the format: two zeros, the type of the elements, the number of axes and their sizes.
constexpr std::string_view kMatrix("\0\0\x08\x02\0\0\0\x10\0\0\0\x08", 12);  // uint8, 16 x 8
constexpr std::string_view kNarrow("\0\0\x08\x02\0\0\0\x10\0\0\0\x04", 12);  // uint8, 16 x 4
constexpr std::string_view kNoRows("\0\0\x08\x02\0\0\0\0\0\0\0\x08", 12);    // uint8, 0 x 8
constexpr std::string_view kFloats("\0\0\x0d\x02\0\0\0\x10\0\0\0\x08", 12);  // float32, 16 x 8
constexpr std::string_view kNoType("\0\0\x0a\x02\0\0\0\x10\0\0\0\x08", 12);
constexpr std::string_view kPairs("\0\0\x08\x02\0\0\0\x10\0\0\0\x02", 12);  // uint8, 16 x 2
constexpr std::string_view kLabels16("\0\0\x08\x01\0\0\0\x10", 8);          // uint8, 16
constexpr std::string_view kLabels17("\0\0\x08\x01\0\0\0\x11", 8);          // uint8, 17
constexpr std::string_view kNoLabels("\0\0\x08\x01\0\0\0\0", 8);            // uint8, 0
constexpr std::string_view kSignedLabels("\0\0\x09\x01\0\0\0\x10", 8);      // int8, 16
constexpr std::string_view kFloatLabels("\0\0\x0d\x01\0\0\0\x10", 8);       // float32, 16
constexpr std::string_view kHuge("\0\0\x08\x03\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff",
                                 16);

constexpr char kPacked[] = "cairn submit idx_gz.json --follow";

constexpr BadCase kCases[] = {
    {kMissing, "the features", {Remove("x.idx")}},
    {kMissing,
     "every file of a pattern",
     {Patch("idx.json", R"({"train": {"idx": {"features": "train-*.idx"}}})")}},
    {kUnreadable, "a file that may not be read", {Forbid("x.idx")}},
    {kFolder, "a folder in place of the file", {Folder("x.idx")}},
    {kEmpty, "an empty file", {Write("x.idx", "")}},
    {kEmpty, "an empty .gz file", {Write("x.idx.gz", "")}, kPacked},
    {kEmpty, "gzip with nothing in it", {Write("empty", ""), Gzip("empty", "x.idx.gz")}, kPacked},
    {kEmpty, "no examples", {Write("x.idx", kNoRows), Write("y.idx", kNoLabels)}},
    {kTruncated, "within the elements", {Cut("x.idx", 50)}},
    {kTruncated, "within the axes", {Write("x.idx", std::string_view("\0\0\x08\x02\0", 5))}},
    {kTruncated, "within the gzip stream", {Cut("x.idx.gz", 60)}, kPacked},
    {kForeign, "an image", {Write("x.idx", kPng)}},
    {kForeign, "a .npy file", {Copy("x.npy", "x.idx")}},
    {kForeign, "no gzip, in spite of the name", {Copy("x.idx", "x.idx.gz")}, kPacked},
    {kForeign, "a damaged byte of the gzip stream", {Flip("x.idx.gz", 40)}, kPacked},
    {kForeign, "a damaged checksum of the gzip stream", {Flip("x.idx.gz", 95)}, kPacked},
    {kShape, "more labels than features", {Write("y.idx", kLabels17, "\x01", 17)}},
    {kShape, "examples of another shape", {Write("x.idx", kNarrow, "\x01", 64)}},
    {kShape, "labels with an axis too many", {Write("y.idx", kPairs, "\x01", 32)}},
    {kShape,
     "a file of another shape than the one before",
     {Write("x2.idx", kNarrow, "\x01", 64), Copy("y.idx", "y2.idx"),
      Patch(
          "idx.json",
          R"({"train": {"idx": {"features": ["x.idx", "x2.idx"], "labels": ["y.idx", "y2.idx"]}}})")}},
    {kLabels, "a class above the model's", {Write("y.idx", kLabels16, "\x07", 16)}},
    {kLabels, "a negative class", {Write("y.idx", kSignedLabels, "\xff", 16)}},
    {kLabels,
     "a class and a half",
     {Write("y.idx", kFloatLabels, std::string_view("\x3f\xc0\0\0", 4), 16)}},
    {kAbsurd, "2^96 bytes", {Write("x.idx", kHuge)}},
    {kAbsurd, "2^96 bytes, packed", {Write("huge", kHuge), Gzip("huge", "x.idx.gz")}, kPacked},
    {kRange, "a type that the format has not", {Write("x.idx", kNoType, "\x01", 128)}},
    {kRange,
     "a number that is none",
     {Write("x.idx", kFloats, std::string_view("\x7f\xc0\0\0", 4), 128)}},
    {kConflict, "a byte more than the axes say", {Write("x.idx", kMatrix, "\x01", 129)}},
};

constexpr Impossible kImpossible[] = {
    {kUnknown, "there are no names in it"},
    {kType, "it is no JSON"},
};

}  // namespace

InputKind IdxData() {
  return {"Data: idx",
          "The format of MNIST, plain or packed with gzip.",
          "cairn submit idx.json --follow",
          true,
          kCases,
          kImpossible};
}

}  // namespace cairn::testing
