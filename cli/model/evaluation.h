#ifndef CAIRN_CLI_MODEL_EVALUATION_H_
#define CAIRN_CLI_MODEL_EVALUATION_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "cli/model/trained_model.h"
#include "proto/job.pb.h"

namespace cairn::cli {

struct EvaluationOptions {
  std::string worker_program;  // See FindProgram.
  std::vector<std::string> environment;
  std::string temporary_folder;  // Where a folder for the model's values may be made.
};

// Loss and metrics of a trained model over every example of `trained.plan.job().validation()`, on
// this machine: a worker process of its own reads the data and computes, on all cores. Blocks.
// InvalidArgument: the data (which are named) cannot be read or do not fit the model.
absl::StatusOr<proto::EvaluationRecord> Evaluate(const TrainedModel& trained,
                                                 const EvaluationOptions& options);

}  // namespace cairn::cli

#endif  // CAIRN_CLI_MODEL_EVALUATION_H_
