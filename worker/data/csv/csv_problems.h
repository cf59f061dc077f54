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

// How one kind of problem is said: 'line 3, column "age": "x" IS; ADVICE', and of several values
// 'column "age": 7 values ARE: "x" (line 3), ...; ADVICE'.
struct CsvReason {
  std::string column;  // Empty: it is not about a column, but about whole records.
  std::string is;
  std::string are;
  std::string advice;  // May be empty.
  // The column's names, if there are any: of a value that is one of them but for letter case or
  // blanks around it this is said. Must outlive the problems.
  const std::vector<std::string>* names = nullptr;
};

// Collects what is wrong with a CSV file, so that one message can say all of it. Values that are
// wrong in the same way in the same column are one problem. Memory and messages are bounded,
// however many there are. Not thread-safe.
class CsvProblems {
 public:
  // Of these a message lists so many; others are counted.
  static constexpr size_t kProblemsShown = 10;
  static constexpr size_t kNamesShown = 10;
  static constexpr size_t kOthersShown = 3;

  using Describe = absl::FunctionRef<CsvReason()>;

  // A value on `line` is wrong. `column` and `kind` are any numbers that tell problems apart;
  // `describe` is called for the first value of each. To be called in the order of the lines.
  void Add(int column, int kind, int64_t line, std::string_view value, Describe describe);
  // What is wrong with the file as a whole; said before all else.
  void AddText(std::string text) { texts_.push_back(std::move(text)); }
  // Why the file cannot be read on; said after all else.
  void AddEnd(std::string text) { end_ = std::move(text); }
  // Takes over the problems of later lines; `later` has none afterwards.
  void Append(CsvProblems* later);

  bool empty() const { return texts_.empty() && problems_.empty() && end_.empty(); }

  // All of them, one line. A single one is said as it is, several are numbered.
  std::string Text() const;

 private:
  using Key = std::pair<int, int>;
  struct Value {
    std::string text;  // Its beginning.
    int64_t line = 0;  // The first one.
    int64_t count = 0;
  };
  struct Problem {
    Key key;
    CsvReason reason;
    std::vector<Value> values;
    int64_t uncounted = 0;  // How many are not among `values`.
  };

  Problem* Find(Key key);
  static void AddValue(const Value& value, Problem* problem);
  void AddUnlisted(Key key, int64_t count);
  static std::string TextOf(const Problem& problem);
  static std::string ValuesText(const Problem& problem);

  std::vector<std::string> texts_;
  std::string end_;
  std::vector<Problem> problems_;    // In the order of their first lines.
  std::map<Key, int64_t> unlisted_;  // How many values further problems have.
};

}  // namespace cairn::worker

#endif  // CAIRN_WORKER_DATA_CSV_CSV_PROBLEMS_H_
