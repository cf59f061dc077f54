#ifndef CAIRN_CLI_OUTPUT_FIELDS_H_
#define CAIRN_CLI_OUTPUT_FIELDS_H_

#include <string>

#include "absl/status/status.h"
#include "nlohmann/json.hpp"
#include "proto/job.pb.h"

namespace cairn::cli {

// Parses fields about a model's outputs whose JSON differs from the message: lists with an entry
// for each output, objects with the outputs' names, and metrics that are objects. The functions
// move these fields from the JSON into the message; JsonToMessage parses the rest. InvalidArgument
// starts with the field's path.

// Takes "loss", "loss_weights" and "metrics", except a single "loss" for all outputs.
absl::Status TakeOutputs(nlohmann::json* json, proto::Job* job);

// Takes "labels" and "one_hot" of a data source if they are objects with the names of outputs, and
// all of "mix" and "zip". `path` is the path of the source.
absl::Status TakeLabels(const std::string& path, nlohmann::json* source, proto::DataSource* data);

}  // namespace cairn::cli

#endif  // CAIRN_CLI_OUTPUT_FIELDS_H_
