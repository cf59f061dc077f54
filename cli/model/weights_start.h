#ifndef CAIRN_CLI_MODEL_WEIGHTS_START_H_
#define CAIRN_CLI_MODEL_WEIGHTS_START_H_

#include "absl/status/statusor.h"
#include "cli/model/warm_start.h"
#include "cli/model_reader.h"
#include "proto/job.pb.h"

namespace cairn::cli {

// Reads initial values from the model file that job.resume_from() names, such as a trained
// base model that is a layer of this model. Layers are matched by name. A nested layer, which is
// MODEL/LAYER if its own name was taken, is LAYER in the file.
//
// NotFound: no such file. InvalidArgument, which starts with "resume_from" and names the layers:
// the file has only a part of a layer or another shape, two layers match the same layer of the
// file, a frozen layer would have random values, or no layer matches.
//
// With resume_from.with_optimizer all variables must be there, and the state of the optimizer as
// `cairn export --with-optimizer` names it (trained_model.h).
absl::StatusOr<WarmStart> ReadWeightsStart(const proto::Job& job, const SubmittedModel& submitted);

// The same for any model file and seed. Errors start with the file's name.
absl::StatusOr<WarmStart> StartFromFile(const std::string& file, const SubmittedModel& submitted,
                                        uint64_t seed);

}  // namespace cairn::cli

#endif  // CAIRN_CLI_MODEL_WEIGHTS_START_H_
