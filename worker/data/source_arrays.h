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
#include "worker/data/label_spec.h"

namespace cairn::worker {

// The files of a data source, with patterns expanded.
struct SourceFiles {
  // One list for each input of the model. Formats with inputs and labels in the same file (CSV,
  // CIFAR) have a single list.
  std::vector<std::vector<std::string>> features;
  // One list for each output. Empty for such formats, and if there are no labels.
  std::vector<std::vector<std::string>> labels;
  std::vector<std::string> weights;  // Of the examples; empty: each has weight 1.

  // All files: inputs, then labels, then weights.
  std::vector<std::string> All() const;
};

// Errors as ExpandFileNames.
absl::StatusOr<SourceFiles> ListFiles(const proto::DataSource& source, const nn::Model& model);

// The fingerprints of files.All(), for the plan. Errors as FileFingerprint.
absl::StatusOr<std::vector<uint64_t>> FingerprintFiles(const SourceFiles& files);

// The arrays of a source, in the types of the files.
struct SourceArrays {
  std::vector<Array> inputs;  // In the order of the model's inputs.
  std::vector<Array> labels;  // In the order of the model's outputs; empty if not requested.
  std::optional<Array> weights;
};

// Reads the files in the format that `source` names, several in parallel. `plan` has the columns
// and vocabularies that the inspection found in CSV. `label_specs` says what the labels of each
// output must be; if it is empty, no labels are read. InvalidArgument names the file, the expected
// and the found value; for CSV files, all problems that were found.
absl::StatusOr<SourceArrays> ReadSource(const proto::DataSource& source, const SourceFiles& files,
                                        const proto::DataPlan& plan, const nn::Model& model,
                                        const std::vector<LabelSpec>& label_specs,
                                        DataStorage* storage);

}  // namespace cairn::worker

#endif  // CAIRN_WORKER_DATA_SOURCE_ARRAYS_H_
