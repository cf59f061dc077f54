#ifndef CAIRN_WORKER_DATA_SOURCE_ARRAYS_H_
#define CAIRN_WORKER_DATA_SOURCE_ARRAYS_H_

#include <optional>
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
  // For each output; none for such formats, or where there are no labels.
  std::vector<std::vector<std::string>> labels;
  std::vector<std::string> weights;  // Of the examples; empty: there are none.

  // All of them in their order: inputs, then labels, then weights.
  std::vector<std::string> All() const;
};

// Errors as ExpandFileNames.
absl::StatusOr<SourceFiles> ListFiles(const proto::DataSource& source, const nn::Model& model);

// The fingerprints of all of them, for the plan. Errors as FileFingerprint.
absl::StatusOr<std::vector<uint64_t>> FingerprintFiles(const SourceFiles& files);

// What a source holds, as the files have it.
struct SourceArrays {
  std::vector<Array> inputs;  // In the order of the model's.
  std::vector<Array> labels;  // In the order of the model's outputs; none if none were wanted.
  std::optional<Array> weights;
};

// Reads the files, in whatever format `source` names, several at a time. `plan` has what the
// inspection found in CSV; `label_types` are what the labels of each output are wanted in, none:
// without labels. InvalidArgument names the file, what was expected and what was found.
absl::StatusOr<SourceArrays> ReadSource(const proto::DataSource& source, const SourceFiles& files,
                                        const proto::DataPlan& plan, const nn::Model& model,
                                        const std::vector<proto::DataType>& label_types,
                                        DataStorage* storage);

}  // namespace cairn::worker

#endif  // CAIRN_WORKER_DATA_SOURCE_ARRAYS_H_
