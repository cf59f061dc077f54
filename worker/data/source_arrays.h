#ifndef CAIRN_WORKER_DATA_SOURCE_ARRAYS_H_
#define CAIRN_WORKER_DATA_SOURCE_ARRAYS_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "nn/signature.h"
#include "proto/job.pb.h"
#include "worker/data/data_reader.h"

namespace cairn::worker {

// Reading data sources of all formats.

// One reader for each of job::DataFormats().
const std::vector<DataReader>& DataReaders();

// Errors as ExpandFileNames and DataReader::list. Without `needs_labels` examples may have none.
absl::StatusOr<SourceFiles> ListFiles(const proto::DataSource& source, const nn::Signature& model,
                                      bool needs_labels = true);

// The fingerprints of files.All(), for the plan. Errors as FileFingerprint.
absl::StatusOr<std::vector<uint64_t>> FingerprintFiles(const SourceFiles& files);

// Calls DataReader::inspect, if the reader of the training data has it.
absl::Status InspectSource(const proto::DataSource& train, const SourceFiles& files,
                           proto::DataPlan* plan);

// Calls DataReader::search, if the source leaves columns open.
absl::StatusOr<proto::DataFindings> SearchSource(const proto::DataSource& train,
                                                 const SourceFiles& files,
                                                 const ChooseTrainingRows& choose);

// All that the training data decide: adds to the plan what InspectSource and SearchSource find in
// all files.
absl::Status InspectAlone(const proto::DataSource& train, const SourceFiles& files,
                          const ChooseTrainingRows& choose, proto::DataPlan* plan);

// Reads some of the files of a divisible source (job::IsDivisible), for `index` and `damaged` of
// the result. Errors as ReadSource.
absl::StatusOr<SourceArrays> SurveySource(const ReadRequest& request);

// Reads the files in the format of the source, several in parallel, and selects the rows that its
// `rows` and `pipeline` choose.
// InvalidArgument names the file, the expected and the found value; for CSV files, all problems
// that were found.
absl::StatusOr<SourceArrays> ReadSource(const ReadRequest& request);

}  // namespace cairn::worker

#endif  // CAIRN_WORKER_DATA_SOURCE_ARRAYS_H_
