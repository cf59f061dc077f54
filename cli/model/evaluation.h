#ifndef CAIRN_CLI_MODEL_EVALUATION_H_
#define CAIRN_CLI_MODEL_EVALUATION_H_

#include "absl/status/statusor.h"
#include "cli/model/inference_place.h"
#include "cli/model/trained_model.h"
#include "proto/job.pb.h"

namespace cairn::cli {

// Loss and metrics of a trained model over every example of `trained.plan.job().validation()`.
// Blocks. Errors as RunInference's.
absl::StatusOr<proto::EvaluationRecord> Evaluate(const TrainedModel& trained,
                                                 const InferencePlace& place);

}  // namespace cairn::cli

#endif  // CAIRN_CLI_MODEL_EVALUATION_H_
