#ifndef CAIRN_WORKER_DATA_CSV_CSV_SURVEY_H_
#define CAIRN_WORKER_DATA_CSV_CSV_SURVEY_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "proto/job.pb.h"
#include "worker/data/row_condition.h"

namespace cairn::worker {

// The source with all its feature columns named. `columns` are those of the files or, once the plan
// has them, those of the plan.
proto::CsvSource WithAllColumns(proto::CsvSource source, const std::vector<std::string>& columns);

// The rows of all files, but for those that a filter leaves out before they get their numbers.
struct CsvRowCount {
  int64_t rows = 0;
  std::vector<int32_t> passed;  // As RowSelection::Create, if the condition needs all rows.
};
// Without a condition there are no filters.
absl::StatusOr<CsvRowCount> CountCsvRows(const std::vector<std::string>& files,
                                         const proto::CsvSource& source,
                                         std::shared_ptr<const RowCondition> condition = nullptr);

// Reads the rows for which all filters are true of the training files for what the columns leave
// open: names, from all rows; the sums of numbers, from the training rows (numbered through all
// files). Ignores what CsvEncoder reports: fields that are not numbers, rows of another length,
// missing columns. InvalidArgument: a vocabulary is too large. Other errors as ReadCsvRows.
absl::StatusOr<proto::DataFindings> SurveyCsvColumns(
    const std::vector<std::string>& files, const proto::CsvSource& source,
    const std::function<bool(int64_t row)>& is_training,
    std::shared_ptr<const RowCondition> condition = nullptr);

}  // namespace cairn::worker

#endif  // CAIRN_WORKER_DATA_CSV_CSV_SURVEY_H_
