#ifndef CAIRN_CLI_MODEL_RAW_INPUTS_H_
#define CAIRN_CLI_MODEL_RAW_INPUTS_H_

#include "absl/status/statusor.h"
#include "proto/job.pb.h"

namespace cairn::cli {

// The job's model with layers in front that do what the job does to its inputs, so that the model
// takes the values of the files: a Rescaling for `scale`, a Normalization for `standardize`. An
// input with columns of categories becomes an input for each of its columns, of texts with a
// StringLookup and, for `one_hot`, a CategoryEncoding, or of numbers. None of these layers has
// variables. InvalidArgument, with the column's name: it has a replacement for missing values, or a
// name that is not UTF-8, which layers cannot say.
absl::StatusOr<proto::ModelSpec> ModelOfRawInputs(const proto::JobPlan& plan);

}  // namespace cairn::cli

#endif  // CAIRN_CLI_MODEL_RAW_INPUTS_H_
