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

// Starts a worker process on this machine that reads `trained.plan.job().validation()` and computes
// loss and metrics or, unless `outputs` is null, the values of each output of the model. It uses
// all cores. The processes exchange data through unnamed files in TMPDIR. Blocks. InvalidArgument,
// with the worker's message: the data cannot be read or do not fit the model.
absl::StatusOr<proto::EvaluationResult> RunOfflineTask(const TrainedModel& trained,
                                                       const OfflineOptions& options,
                                                       std::vector<std::vector<float>>* outputs);

// Starts a worker process that reads the data of the plan's job. Returns the plan with what depends
// on them, as of a job that starts. InvalidArgument, with the worker's message: they cannot be
// read.
absl::StatusOr<proto::JobPlan> InspectOffline(const proto::JobPlan& plan,
                                              const OfflineOptions& options);

}  // namespace cairn::cli

#endif  // CAIRN_CLI_MODEL_OFFLINE_TASK_H_
