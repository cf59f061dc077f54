#ifndef CAIRN_WORKER_DATA_PARQUET_PARQUET_SOURCE_H_
#define CAIRN_WORKER_DATA_PARQUET_PARQUET_SOURCE_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "worker/data/data_reader.h"

namespace cairn::worker {

// Reads a source of Parquet files. If the plan has an index of them, a part of a file (some of its
// row groups) is read when its rows are first used, and stays in the storage of the plan. It must
// then be as it was inspected (DataLoss). Errors as ParquetFile and FeatureEncoder.
absl::StatusOr<SourceArrays> ReadParquet(const ReadRequest& request);

// As DataReader::survey. Errors as ReadParquet, but files may have no rows.
absl::StatusOr<SourceArrays> SurveyParquet(const ReadRequest& request);

// Folders stand for the .parquet files in them at any depth.
absl::StatusOr<std::vector<std::string>> ListParquet(const proto::DataSource& source,
                                                     const std::vector<std::string>& names,
                                                     bool needs_labels);

// Finds the names or tokens of the columns that have no vocabulary in the job file.
absl::StatusOr<proto::DataFindings> SearchParquet(const proto::DataSource& train,
                                                  const SourceFiles& files,
                                                  const ChooseTrainingRows& choose);

}  // namespace cairn::worker

#endif  // CAIRN_WORKER_DATA_PARQUET_PARQUET_SOURCE_H_
