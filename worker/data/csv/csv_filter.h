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

// Decides which rows of a CSV file the filters of a source keep. Missing values are nulls.
// Immutable, thread-safe.
class CsvFilter {
 public:
  // Null keeps all rows. Adds its columns to those that are read, unless they are there. `source`
  // must outlive it.
  CsvFilter(std::shared_ptr<const RowCondition> condition, const proto::CsvSource& source,
            std::vector<std::string>* columns);

  // `row` has the columns of the constructor. A row without the columns of the filter is kept.
  // Errors as RowCondition::IsTrue.
  absl::StatusOr<bool> Keeps(const CsvRow& row) const;

 private:
  const std::shared_ptr<const RowCondition> condition_;
  const proto::CsvSource& source_;
  std::vector<int> places_;  // By column of the condition: its index in the row.
};

}  // namespace cairn::worker

#endif  // CAIRN_WORKER_DATA_CSV_CSV_FILTER_H_
