#ifndef CAIRN_JOB_DATA_FORMATS_ROW_FILTER_H_
#define CAIRN_JOB_DATA_FORMATS_ROW_FILTER_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace cairn::job {

// A condition on the columns of a row:
//
//   year >= 2026 and (country in ('de', 'fr') or not "user id" is null)
//
// A column is a word, or a name in double quotes. A value is a number, a text in single quotes,
// true or false. A quote within quotes is doubled. Operators are = == != <> < <= > >=, `in`,
// `not in`, `is null`, `is not null`, `not`, `and` and `or`, in any case; `and` binds closer than
// `or`. A comparison with a null is false, also behind `not`, as in SQL.
struct RowFilter {
  enum class Kind { kAnd, kOr, kNot, kCompare, kIn, kIsNull };
  struct Value {
    bool is_text = false;
    std::string text;  // Of a number or of true and false: as they were written.
  };

  Kind kind = Kind::kAnd;
  std::vector<RowFilter> terms;  // Of kAnd and kOr: two or more. Of kNot: one.
  std::string column;            // Of the others.
  std::string comparison;        // Of kCompare: = <> < <= > >=.
  std::vector<Value> values;     // Of kCompare: one. Of kIn: one or more.
};

// InvalidArgument: `text` is not a filter; names the place.
absl::StatusOr<RowFilter> ParseRowFilter(std::string_view text);

}  // namespace cairn::job

#endif  // CAIRN_JOB_DATA_FORMATS_ROW_FILTER_H_
