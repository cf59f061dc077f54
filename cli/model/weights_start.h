#ifndef CAIRN_CLI_MODEL_WEIGHTS_START_H_
#define CAIRN_CLI_MODEL_WEIGHTS_START_H_

#include "absl/status/statusor.h"
#include "cli/model/warm_start.h"
#include "cli/model_reader.h"
#include "proto/job.pb.h"

namespace cairn::cli {

// Reads the values that job.resume_from() takes from a TF.js layers model's file in place of
// another job: a trained base, say, which is a layer of this model. Layers are matched by name; one
// of a model that is a layer, MODEL/LAYER because its own name was taken, is LAYER in the file.
//
// NotFound: no such file. InvalidArgument, beginning with "resume_from" and naming the layers: one
// that the file has only in part or in another shape, two that could both be the same in the file,
// a frozen one that would stay random, or none at all.
absl::StatusOr<WarmStart> ReadWeightsStart(const proto::Job& job, const SubmittedModel& submitted);

}  // namespace cairn::cli

#endif  // CAIRN_CLI_MODEL_WEIGHTS_START_H_
