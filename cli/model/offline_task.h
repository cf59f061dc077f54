#ifndef CAIRN_CLI_MODEL_OFFLINE_TASK_H_
#define CAIRN_CLI_MODEL_OFFLINE_TASK_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "cli/model/trained_model.h"
#include "proto/evaluation.pb.h"

namespace cairn::cli {

struct OfflineOptions {
  std::string worker_program;  // See FindProgram.
  std::vector<std::string> environment;
  std::string data_name;  // EvaluationTask.data_name.
};

// Has a worker process of its own, on this machine, read `trained.plan.job().validation()` and
// compute on all cores: loss and metrics or, unless `outputs` is null, the values of each of the
// model's outputs. What they hand each other lies in unnamed files in TMPDIR. Blocks.
// InvalidArgument: the data (which are named) cannot be read or do not fit
// the model; the message is the worker's.
absl::StatusOr<proto::EvaluationResult> RunOfflineTask(const TrainedModel& trained,
                                                       const OfflineOptions& options,
                                                       std::vector<std::vector<float>>* outputs);

}  // namespace cairn::cli

#endif  // CAIRN_CLI_MODEL_OFFLINE_TASK_H_
