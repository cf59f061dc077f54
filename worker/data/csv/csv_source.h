#ifndef CAIRN_WORKER_DATA_CSV_CSV_SOURCE_H_
#define CAIRN_WORKER_DATA_CSV_CSV_SOURCE_H_

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "worker/data/data_reader.h"

namespace cairn::worker {

// The DataReader of CSV.

// InvalidArgument: all problems of the columns and of the files, in one message.
absl::StatusOr<SourceArrays> ReadCsv(const ReadRequest& request);
absl::StatusOr<SourceArrays> SurveyCsv(const ReadRequest& request);

// Adds to the plan the names of the feature columns, vocabularies, and means for missing values.
// Errors as ReadCsvColumns and SurveyCsvColumns.
absl::Status InspectCsv(const proto::DataSource& train, const SourceFiles& files,
                        const ChooseTrainingRows& choose, proto::DataPlan* plan);

}  // namespace cairn::worker

#endif  // CAIRN_WORKER_DATA_CSV_CSV_SOURCE_H_
