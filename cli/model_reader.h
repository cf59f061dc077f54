#ifndef CAIRN_CLI_MODEL_READER_H_
#define CAIRN_CLI_MODEL_READER_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "proto/model.pb.h"

namespace cairn::cli {

// A model as it is submitted.
struct SubmittedModel {
  proto::ModelSpec spec;
  // Initial values of the model's variables, in their order; empty: its initializers make them.
  std::vector<std::vector<float>> weights;
};

// Reads a Keras architecture JSON, or a TF.js layers model with the weight files beside it, and
// checks it wholly. Errors begin with the file. InvalidArgument: the model is wrong, or its weights
// are not those of its variables.
absl::StatusOr<SubmittedModel> ReadModelFile(const std::string& file);

}  // namespace cairn::cli

#endif  // CAIRN_CLI_MODEL_READER_H_
