#ifndef CAIRN_CLI_MODEL_RAW_INPUTS_H_
#define CAIRN_CLI_MODEL_RAW_INPUTS_H_

#include "absl/status/statusor.h"
#include "proto/job.pb.h"

namespace cairn::cli {

// The job's model with layers in front that do what the job does to its inputs, so that the model
// takes the values of the files: a Rescaling for `scale`, a Normalization for `standardize`. They
// have no variables. InvalidArgument: the job also looks values up in vocabularies or replaces
// missing ones, which these layers cannot do.
absl::StatusOr<proto::ModelSpec> ModelOfRawInputs(const proto::JobPlan& plan);

}  // namespace cairn::cli

#endif  // CAIRN_CLI_MODEL_RAW_INPUTS_H_
