#ifndef CAIRN_WORKER_DATA_CSV_CSV_PROBLEMS_H_
#define CAIRN_WORKER_DATA_CSV_CSV_PROBLEMS_H_

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"

namespace cairn::worker {

// The words for one kind of problem. For one value: 'line 3, column "age": "x" IS; ADVICE'. For
// several: 'column "age": 7 values ARE: "x" (line 3), ...; ADVICE'.
struct CsvReason {
  std::string column;  // Empty for problems of whole records.
  std::string is;
  std::string are;
  std::string advice;  // May be empty.
  // The column's names, if it has any. The message points out a value that differs from a name only
  // in case or surrounding blanks. Must outlive the problems.
  const std::vector<std::string>* names = nullptr;
};

// Collects the problems of a CSV file for one message. Values of a column with the same kind of
// problem are one problem. Memory and the length of messages are bounded. Not thread-safe.
class CsvProblems {
 public:
  // The most that a message lists. Others are counted.
  static constexpr size_t kProblemsShown = 10;
  static constexpr size_t kNamesShown = 10;
  static constexpr size_t kOthersShown = 3;

  using Describe = absl::FunctionRef<CsvReason()>;

  // Adds a wrong value. `column` and `kind` are arbitrary numbers that identify the problem.
  // `describe` is called for the first value of a problem. Must be called in the order of lines.
  void Add(int column, int kind, int64_t line, std::string_view value, Describe describe);
  // Adds a problem of the whole file, which comes first in the message.
  void AddText(std::string text) { texts_.push_back(std::move(text)); }
  // Adds the reason why reading ended, which comes last in the message.
  void AddEnd(std::string text) { end_ = std::move(text); }
  // Moves the problems of later lines out of `later`.
  void Append(CsvProblems* later);

  // The number of lines with wrong values, and of the first one the first problem.
  int64_t lines() const { return lines_; }
  std::string FirstText() const;
  // Whether all problems are of single lines.
  bool only_lines() const { return texts_.empty() && end_.empty(); }

  bool empty() const { return texts_.empty() && problems_.empty() && end_.empty(); }

  // All problems on one line, numbered if there are several.
  std::string Text() const;

 private:
  using Key = std::pair<int, int>;
  struct Value {
    std::string text;  // A prefix.
    int64_t line = 0;  // The first one.
    int64_t count = 0;
  };
  struct Problem {
    Key key;
    CsvReason reason;
    std::vector<Value> values;
    int64_t uncounted = 0;  // Those that are not in `values`.
  };

  Problem* Find(Key key);
  static void AddValue(const Value& value, Problem* problem);
  void AddUnlisted(Key key, int64_t count);
  static std::string TextOf(const Problem& problem);
  static std::string ValuesText(const Problem& problem);

  int64_t lines_ = 0;
  int64_t last_line_ = 0;
  std::vector<std::string> texts_;
  std::string end_;
  std::vector<Problem> problems_;    // In the order of their first lines.
  std::map<Key, int64_t> unlisted_;  // The number of values of problems that are not listed.
};

}  // namespace cairn::worker

#endif  // CAIRN_WORKER_DATA_CSV_CSV_PROBLEMS_H_
