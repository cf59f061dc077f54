#ifndef CAIRN_CLI_OUTPUT_FIELDS_H_
#define CAIRN_CLI_OUTPUT_FIELDS_H_

#include <string>

#include "absl/status/status.h"
#include "nlohmann/json.hpp"
#include "proto/job.pb.h"

namespace cairn::cli {

// What a job file says of a model's outputs has forms that no message has: of each output in its
// place in a list, or under its name in an object, and metrics as names among objects. These
// functions move them from the JSON into the message; what is left is for JsonToMessage.
// InvalidArgument begins with the field's path.

// "loss", "loss_weights" and "metrics". A "loss" that is one for all outputs is left.
absl::Status TakeOutputs(nlohmann::json* json, proto::Job* job);

// What a data source says in an object under the names of the model's outputs: "labels" of files,
// and "one_hot". `path` is the source's.
absl::Status TakeLabels(const std::string& path, nlohmann::json* source, proto::DataSource* data);

}  // namespace cairn::cli

#endif  // CAIRN_CLI_OUTPUT_FIELDS_H_
