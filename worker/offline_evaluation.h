#ifndef CAIRN_WORKER_OFFLINE_EVALUATION_H_
#define CAIRN_WORKER_OFFLINE_EVALUATION_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "nn/device.h"
#include "proto/evaluation.pb.h"

namespace cairn::worker {

// The evaluation tasks of `cairn evaluate` and `cairn predict`, which need no cluster.

// Computes loss and metrics over all examples. As in an epoch's evaluation, each example counts
// once, and the sums of the batches are added in the order of the batches. Errors: those of reading
// the data, which name the file; DataLoss, if the values file does not have the length of the
// model's variables.
absl::StatusOr<proto::EvaluationRecord> EvaluateOffline(const proto::EvaluationTask& task,
                                                        int threads, nn::Device* device);

// Computes the model's outputs for every example, in the order of the files, and writes output i to
// task.predictions_files(i) as raw float32. Returns the outputs' names and shapes. Errors:
// InvalidArgument, if there is not one file for each output; Unavailable, if a file cannot be
// written; otherwise as EvaluateOffline's.
absl::StatusOr<std::vector<proto::EvaluationResult::Output>> PredictOffline(
    const proto::EvaluationTask& task, int threads, nn::Device* device);

// Reads the data of the plan's job, and returns the plan that a coordinator would make of them.
// Errors as those of InspectJob and job::MakeJobPlan.
absl::StatusOr<proto::JobPlan> InspectOffline(const proto::EvaluationTask& task);

// Executes the EvaluationTask in `task_file` and writes its EvaluationResult, which includes the
// error if the task failed. Returns an error only if the task cannot be read or the result cannot
// be written.
absl::Status RunEvaluationTask(const std::string& task_file, int threads, nn::Device* device);

}  // namespace cairn::worker

#endif  // CAIRN_WORKER_OFFLINE_EVALUATION_H_
