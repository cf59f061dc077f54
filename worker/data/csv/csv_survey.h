#ifndef CAIRN_WORKER_DATA_CSV_CSV_SURVEY_H_
#define CAIRN_WORKER_DATA_CSV_CSV_SURVEY_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "proto/job.pb.h"

namespace cairn::worker {

// All vocabularies that a job's plan holds together: more belong into a list of ids.
inline constexpr int64_t kVocabularyBytesMax = int64_t{1} << 20;

// The source with all its feature columns named: `columns` are the files', or those of them that a
// plan fixed.
proto::CsvSource WithAllColumns(proto::CsvSource source, const std::vector<std::string>& columns);

// The number of rows in all files.
absl::StatusOr<int64_t> CountCsvRows(const std::vector<std::string>& files,
                                     const proto::CsvSource& source);

// Reads the training files for what the columns leave to be found in them and adds it to `plan`:
// vocabularies, of all rows; means for missing numbers, of the rows (counted through all files) of
// which `is_training` says so. Nothing is read if nothing is to be found. What CsvEncoder says is
// wrong is passed over here: fields that are no numbers, rows of another length, missing columns.
// InvalidArgument: a vocabulary is too large, a column has nothing but missing values; else as
// ReadCsvRows.
absl::Status SurveyCsv(const std::vector<std::string>& files, const proto::CsvSource& source,
                       const std::function<bool(int64_t row)>& is_training, proto::DataPlan* plan);

}  // namespace cairn::worker

#endif  // CAIRN_WORKER_DATA_CSV_CSV_SURVEY_H_
