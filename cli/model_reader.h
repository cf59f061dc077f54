#ifndef CAIRN_CLI_MODEL_READER_H_
#define CAIRN_CLI_MODEL_READER_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "nn/formats/imported_model.h"
#include "proto/job.pb.h"
#include "proto/model.pb.h"

namespace cairn::cli {

// A model for a new job.
struct SubmittedModel {
  proto::ModelSpec spec;
  // Initial values of the model's variables, in order; empty if initializers compute them.
  std::vector<std::vector<float>> weights;
};

// Reads a model file with its weight files, and validates it completely. Errors start with the
// file's name. InvalidArgument: the model is invalid, or its weights do not match its variables.
absl::StatusOr<SubmittedModel> ReadModelFile(const std::string& file);

// The second half of it, for a model that ReadImportedModel has read from `file`.
absl::StatusOr<SubmittedModel> CheckImportedModel(const std::string& file,
                                                  nn::ImportedModel imported);

// Reads the files of a job of several models. The result is their union (nn/model_union.h). If some
// files have weights and others have not, the others get their initial values.
absl::StatusOr<SubmittedModel> ReadModelFiles(const proto::Job& job);

}  // namespace cairn::cli

#endif  // CAIRN_CLI_MODEL_READER_H_
