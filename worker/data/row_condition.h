#ifndef CAIRN_WORKER_DATA_ROW_CONDITION_H_
#define CAIRN_WORKER_DATA_ROW_CONDITION_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "job/data_formats/row_filter.h"
#include "proto/job.pb.h"

namespace cairn::worker {

// Decides which filters of a source are true for a row. Numbers are compared as numbers of the
// column's type: a float32 with the float32 that is nearest to the number in the filter. Texts are
// compared byte by byte. A comparison with a null is neither true nor false, as in SQL. Immutable,
// thread-safe.
class RowCondition {
 public:
  // The value of a column in a row.
  struct Value {
    enum class Kind {
      kNull,
      kInt,
      kHalf,   // A float16.
      kFloat,  // A float32.
      kDouble,
      kText,
      kField,  // A text that is a number where it is compared with one, as in CSV.
    };
    Kind kind = Kind::kNull;
    int64_t whole = 0;
    double number = 0;  // Of kHalf, kFloat and kDouble.
    std::string_view text;
  };

  // `needs_all_rows`: rows for which a filter is not true are left out later.
  explicit RowCondition(const std::vector<job::RowFilter>& filters, bool needs_all_rows = false);
  // The filters of a source's pipeline; null if it has none.
  static absl::StatusOr<std::shared_ptr<const RowCondition>> Of(const proto::DataSource& source);

  // The columns of the filters, each once.
  const std::vector<std::string>& columns() const { return columns_; }
  // As job::FiltersNeedAllRows.
  bool needs_all_rows() const { return needs_all_rows_; }
  int filters() const { return static_cast<int>(filters_.size()); }

  // The number of filters that are true before the first one that is not; filters() if all are.
  // `values` are in the order of columns(). InvalidArgument, with the name of the column: a value
  // cannot be compared.
  absl::StatusOr<int> Passed(absl::Span<const Value> values) const;

 private:
  enum class Truth { kFalse, kUnknown, kTrue };  // In this order, `and` is the least of all.
  enum class Comparison { kEqual, kNotEqual, kLess, kLessOrEqual, kGreater, kGreaterOrEqual };
  struct Literal {
    bool is_text = false;
    std::string text;
    long double exact = 0;  // Has all numbers of 64 bits.
    double number = 0;
    double float_number = 0;  // Rounded to a float32.
    double half_number = 0;   // Rounded to a float16.
  };
  struct Term {
    job::RowFilter::Kind kind = job::RowFilter::Kind::kAnd;
    std::vector<Term> terms;
    size_t column = 0;
    Comparison comparison = Comparison::kEqual;
    std::vector<Literal> literals;
  };

  Term TermOf(const job::RowFilter& filter);
  static Literal LiteralOf(const job::RowFilter::Value& value);
  absl::StatusOr<Truth> Decide(const Term& term, absl::Span<const Value> values) const;
  absl::StatusOr<bool> Compare(const Term& term, const Literal& literal, const Value& value) const;

  const bool needs_all_rows_;
  std::vector<std::string> columns_;
  std::vector<Term> filters_;
};

// InvalidArgument: the condition, which may be null, compares the classes of examples without
// labels.
absl::Status CheckHasClasses(const RowCondition* condition, bool has_labels);

}  // namespace cairn::worker

#endif  // CAIRN_WORKER_DATA_ROW_CONDITION_H_
