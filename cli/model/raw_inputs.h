#ifndef CAIRN_CLI_MODEL_RAW_INPUTS_H_
#define CAIRN_CLI_MODEL_RAW_INPUTS_H_

#include "absl/status/statusor.h"
#include "proto/job.pb.h"

namespace cairn::cli {

// The job's model with layers in front that do what the job does to its inputs, so that the model
// takes the values of the files: a Rescaling for `scale`, a Normalization for `standardize`, and
// layers for the steps of the pipeline. An input with columns or features that are looked up,
// hashed or divided into tokens becomes an input for each of its columns: of numbers, or of texts
// with a StringLookup, a Hashing or a TextVectorization and, for `one_hot`, a CategoryEncoding.
// None of these layers has variables. The model may have layers of nn/layers/preparation.h, which
// only exports take. InvalidArgument, with the name of the column or the step: layers cannot say
// it, such as a replacement for missing values, or a name that is not UTF-8.
absl::StatusOr<proto::ModelSpec> ModelOfRawInputs(const proto::JobPlan& plan);

}  // namespace cairn::cli

#endif  // CAIRN_CLI_MODEL_RAW_INPUTS_H_
