#ifndef CAIRN_TESTS_END_TO_END_BAD_INPUT_BAD_CASE_H_
#define CAIRN_TESTS_END_TO_END_BAD_INPUT_BAD_CASE_H_

#include <array>
#include <cstddef>
#include <string_view>

namespace cairn::testing {

// What can be wrong with an input: the rows of doc/errors.md, in its order.
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

// One thing that is done to a file of the good project. The functions below make them.
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

// How a PNG image begins.
inline constexpr std::string_view kPng = "\x89PNG\r\n\x1a\n";

// `file` holds `text`, and `more` behind it `count` times.
constexpr Step Write(std::string_view file, std::string_view text, std::string_view more = {},
                     int count = 0) {
  return {Step::Kind::kWrite, file, text, more, 0, count};
}
// `file` is a .npy file with this header and `count` float32 elements, all of them `value`.
constexpr Step Npy(std::string_view file, std::string_view header, int count, double value = 1) {
  return {Step::Kind::kNpy, file, header, {}, value, count};
}
// `file` holds what `from` holds, packed.
constexpr Step Gzip(std::string_view from, std::string_view file) {
  return {Step::Kind::kGzip, file, from};
}
// The JSON file is changed by a merge patch (RFC 7386): null removes.
constexpr Step Patch(std::string_view file, std::string_view patch) {
  return {Step::Kind::kPatch, file, patch};
}
// What is at the place (RFC 6901) in the JSON file is now this, and new if there was nothing.
constexpr Step Set(std::string_view file, std::string_view place, std::string_view json) {
  return {Step::Kind::kSet, file, place, json};
}
// The list of the JSON file has one more, before the place.
constexpr Step Insert(std::string_view file, std::string_view place, std::string_view json) {
  return {Step::Kind::kInsert, file, place, json};
}
// What is at the place in the JSON file is gone.
constexpr Step Drop(std::string_view file, std::string_view place) {
  return {Step::Kind::kDrop, file, place};
}
constexpr Step Remove(std::string_view file) { return {Step::Kind::kRemove, file}; }
// Nobody may read it.
constexpr Step Forbid(std::string_view file) { return {Step::Kind::kForbid, file}; }
// An empty folder in its place.
constexpr Step Folder(std::string_view file) { return {Step::Kind::kFolder, file}; }
constexpr Step Copy(std::string_view from, std::string_view file) {
  return {Step::Kind::kCopy, file, from};
}
// So many per cent of it are left.
constexpr Step Cut(std::string_view file, int percent) {
  return {Step::Kind::kCut, file, {}, {}, 0, percent};
}
// The byte at so many per cent of it is another one.
constexpr Step Flip(std::string_view file, int percent) {
  return {Step::Kind::kFlip, file, {}, {}, 0, percent};
}

// One bad input. Its message and exit code are in doc/errors.md alone.
struct BadCase {
  std::string_view badness;  // One of kBadness.
  std::string_view what;     // As the document has it.
  std::array<Step, 3> steps = {};
  std::string_view command = {};  // Empty: the kind's.
};

// Why no input of a kind is bad in this way.
struct Impossible {
  std::string_view badness;
  std::string_view why;
};

// A list with a size of its own, of static storage.
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

// Everything about one kind of input: a section of doc/errors.md. Every badness has a case or a
// reason to have none.
struct InputKind {
  std::string_view title;
  std::string_view about;
  // What is done with the bad input: a program, and words that spaces part; "" is an empty one.
  std::string_view command;
  bool asks_cluster = false;  // `cairn` speaks to the running cluster unless a case says --state.
  List<BadCase> cases;
  List<Impossible> impossible;
};

}  // namespace cairn::testing

#endif  // CAIRN_TESTS_END_TO_END_BAD_INPUT_BAD_CASE_H_
