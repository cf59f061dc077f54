#ifndef CAIRN_WORKER_DATA_SOURCE_ARRAYS_H_
#define CAIRN_WORKER_DATA_SOURCE_ARRAYS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "nn/model.h"
#include "proto/job.pb.h"
#include "worker/data/array.h"
#include "worker/data/files/data_storage.h"

namespace cairn::worker {

// The files of a source, patterns expanded.
struct SourceFiles {
  // For each input of the model; of formats that have everything in one file, one list.
  std::vector<std::vector<std::string>> features;
  std::vector<std::string> labels;  // Empty for such formats.
};

// Errors as ExpandFileNames.
absl::StatusOr<SourceFiles> ListFiles(const proto::DataSource& source, const nn::Model& model);

// All of them in their order: their fingerprints, for the plan. Errors as FileFingerprint.
absl::StatusOr<std::vector<uint64_t>> FingerprintFiles(const SourceFiles& files);

// What a source holds, as the files have it.
struct SourceArrays {
  std::vector<Array> inputs;  // In the order of the model's.
  Array labels;
};

// Reads the files, in whatever format `source` names, several at a time. `plan` has what the
// inspection found in CSV; `label_type` is what its labels are wanted in. InvalidArgument names the
// file, what was expected and what was found.
absl::StatusOr<SourceArrays> ReadSource(const proto::DataSource& source, const SourceFiles& files,
                                        const proto::DataPlan& plan, const nn::Model& model,
                                        proto::DataType label_type, DataStorage* storage);

}  // namespace cairn::worker

#endif  // CAIRN_WORKER_DATA_SOURCE_ARRAYS_H_
