#ifndef CAIRN_WORKER_DATA_CSV_CSV_FILTER_H_
#define CAIRN_WORKER_DATA_CSV_CSV_FILTER_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "proto/job.pb.h"
#include "worker/data/csv/csv_file.h"
#include "worker/data/row_condition.h"

namespace cairn::worker {

// Decides which filters of a source are true for rows of a CSV file. Missing values are nulls.
// Immutable, thread-safe.
class CsvFilter {
 public:
  // Null: there are none. Adds its columns to those that are read, unless they are there. `source`
  // must outlive it.
  CsvFilter(std::shared_ptr<const RowCondition> condition, const proto::CsvSource& source,
            std::vector<std::string>* columns);

  int filters() const { return condition_ == nullptr ? 0 : condition_->filters(); }
  bool needs_all_rows() const { return condition_ != nullptr && condition_->needs_all_rows(); }

  // As RowCondition::Passed. `row` has the columns of the constructor. All filters are true for a
  // row without their columns.
  absl::StatusOr<int> Passed(const CsvRow& row) const;

 private:
  const std::shared_ptr<const RowCondition> condition_;
  const proto::CsvSource& source_;
  std::vector<int> places_;  // By column of the condition: its index in the row.
};

}  // namespace cairn::worker

#endif  // CAIRN_WORKER_DATA_CSV_CSV_FILTER_H_
