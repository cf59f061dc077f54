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

// The most bytes of all vocabularies in a plan. Larger ones should be ids in the files.
inline constexpr int64_t kVocabularyBytesMax = int64_t{1} << 20;

// The source with all its feature columns named. `columns` are those of the files or, once the plan
// has them, those of the plan.
proto::CsvSource WithAllColumns(proto::CsvSource source, const std::vector<std::string>& columns);

// The number of rows in all files for which `condition` is true. Null: of all rows.
absl::StatusOr<int64_t> CountCsvRows(const std::vector<std::string>& files,
                                     const proto::CsvSource& source,
                                     std::shared_ptr<const RowCondition> condition = nullptr);

// Reads these rows of the training files and adds to `plan` what the columns do not specify:
// vocabularies, from all rows; means for missing numbers, from the training rows (numbered through
// all files). Reads nothing if nothing is needed. Ignores what CsvEncoder reports: fields that are
// not numbers, rows of another length, missing columns. InvalidArgument: a vocabulary is too large,
// or a column has only missing values. Other errors as ReadCsvRows.
absl::Status SurveyCsvColumns(const std::vector<std::string>& files, const proto::CsvSource& source,
                              const std::function<bool(int64_t row)>& is_training,
                              proto::DataPlan* plan,
                              std::shared_ptr<const RowCondition> condition = nullptr);

}  // namespace cairn::worker

#endif  // CAIRN_WORKER_DATA_CSV_CSV_SURVEY_H_
