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

// Adds the names of the feature columns, if the source has none. Errors as ReadCsvColumns.
absl::Status InspectCsv(const proto::DataSource& train, const SourceFiles& files,
                        proto::DataPlan* plan);

// Errors as ReadCsvColumns and SurveyCsvColumns.
absl::StatusOr<proto::DataFindings> SearchCsv(const proto::DataSource& train,
                                              const SourceFiles& files,
                                              const ChooseTrainingRows& choose);

}  // namespace cairn::worker

#endif  // CAIRN_WORKER_DATA_CSV_CSV_SOURCE_H_
