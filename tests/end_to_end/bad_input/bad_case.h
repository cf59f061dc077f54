#ifndef CAIRN_TESTS_END_TO_END_BAD_INPUT_BAD_CASE_H_
#define CAIRN_TESTS_END_TO_END_BAD_INPUT_BAD_CASE_H_

#include <array>
#include <cstddef>
#include <string_view>

namespace cairn::testing {

// The ways in which an input can be bad: the rows of doc/errors.md, in its order.
inline constexpr std::string_view kMissing = "missing";
inline constexpr std::string_view kUnreadable = "unreadable";
inline constexpr std::string_view kFolder = "a folder";
inline constexpr std::string_view kEmpty = "empty";
inline constexpr std::string_view kTruncated = "truncated";
inline constexpr std::string_view kForeign = "something else";
inline constexpr std::string_view kShape = "wrong shape";
inline constexpr std::string_view kLabels = "wrong labels";
inline constexpr std::string_view kAbsurd = "absurd size";
inline constexpr std::string_view kUnknown = "unknown name";
inline constexpr std::string_view kType = "wrong type";
inline constexpr std::string_view kRange = "out of range";
inline constexpr std::string_view kConflict = "contradiction";
inline constexpr std::array kBadness = {kMissing, kUnreadable, kFolder,  kEmpty,  kTruncated,
                                        kForeign, kShape,      kLabels,  kAbsurd, kUnknown,
                                        kType,    kRange,      kConflict};

// One change to a file of the valid project. The functions below make them.
struct Step {
  enum class Kind {
    kNothing,
    kWrite,
    kNpy,
    kGzip,
    kPatch,
    kSet,
    kInsert,
    kDrop,
    kRemove,
    kForbid,
    kFolder,
    kCopy,
    kCut,
    kFlip
  };
  Kind kind = Kind::kNothing;
  std::string_view file = {};
  std::string_view text = {};
  std::string_view more = {};
  double value = 0;
  int count = 0;
};

// The signature of a PNG image.
inline constexpr std::string_view kPng = "\x89PNG\r\n\x1a\n";

// `file` contains `text`, followed by `more` `count` times.
constexpr Step Write(std::string_view file, std::string_view text, std::string_view more = {},
                     int count = 0) {
  return {Step::Kind::kWrite, file, text, more, 0, count};
}
// `file` is a .npy file with this header and `count` float32 elements of `value`.
constexpr Step Npy(std::string_view file, std::string_view header, int count, double value = 1) {
  return {Step::Kind::kNpy, file, header, {}, value, count};
}
// `file` contains the contents of `from`, compressed with gzip.
constexpr Step Gzip(std::string_view from, std::string_view file) {
  return {Step::Kind::kGzip, file, from};
}
// Applies a merge patch (RFC 7386) to the JSON file: null removes a field.
constexpr Step Patch(std::string_view file, std::string_view patch) {
  return {Step::Kind::kPatch, file, patch};
}
// Sets the value at a place (RFC 6901) of the JSON file, or adds it.
constexpr Step Set(std::string_view file, std::string_view place, std::string_view json) {
  return {Step::Kind::kSet, file, place, json};
}
// Inserts an element into a list of the JSON file, before the place.
constexpr Step Insert(std::string_view file, std::string_view place, std::string_view json) {
  return {Step::Kind::kInsert, file, place, json};
}
// Removes the value at the place of the JSON file.
constexpr Step Drop(std::string_view file, std::string_view place) {
  return {Step::Kind::kDrop, file, place};
}
constexpr Step Remove(std::string_view file) { return {Step::Kind::kRemove, file}; }
// Makes the file unreadable.
constexpr Step Forbid(std::string_view file) { return {Step::Kind::kForbid, file}; }
// Replaces the file by an empty folder.
constexpr Step Folder(std::string_view file) { return {Step::Kind::kFolder, file}; }
constexpr Step Copy(std::string_view from, std::string_view file) {
  return {Step::Kind::kCopy, file, from};
}
// Truncates the file to this percentage of its size.
constexpr Step Cut(std::string_view file, int percent) {
  return {Step::Kind::kCut, file, {}, {}, 0, percent};
}
// Changes the byte at this percentage of the file's size.
constexpr Step Flip(std::string_view file, int percent) {
  return {Step::Kind::kFlip, file, {}, {}, 0, percent};
}

// One bad input. Its message and exit code are in doc/errors.md alone.
struct BadCase {
  std::string_view badness;  // One of kBadness.
  std::string_view what;     // The text in the document.
  std::array<Step, 3> steps = {};
  std::string_view command = {};  // Empty: the command of the kind.
};

// The reason why no input of a kind is bad in this way.
struct Impossible {
  std::string_view badness;
  std::string_view why;
};

// A list of static storage that knows its size.
template <typename T>
class List {
 public:
  constexpr List() = default;
  template <size_t n>
  constexpr List(const T (&elements)[n]) : begin_(elements), end_(elements + n) {}
  constexpr const T* begin() const { return begin_; }
  constexpr const T* end() const { return end_; }

 private:
  const T* begin_ = nullptr;
  const T* end_ = nullptr;
};

// One kind of input: a section of doc/errors.md. Every badness has a case or a reason not to have
// one.
struct InputKind {
  std::string_view title;
  std::string_view about;
  // The command on the bad input: a program and its arguments, separated by spaces; "" is an empty
  // argument.
  std::string_view command;
  bool asks_cluster = false;  // `cairn` connects to the running cluster, unless a case has --state.
  List<BadCase> cases;
  List<Impossible> impossible;
};

}  // namespace cairn::testing

#endif  // CAIRN_TESTS_END_TO_END_BAD_INPUT_BAD_CASE_H_
