#ifndef CAIRN_WORKER_OFFLINE_EVALUATION_H_
#define CAIRN_WORKER_OFFLINE_EVALUATION_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "nn/device.h"
#include "proto/evaluation.pb.h"

namespace cairn::worker {

// Evaluates without a cluster: as an epoch's evaluation does, every example once, each batch's sums
// added in the order of the batches. Errors are those of reading the data (they name the file), and
// DataLoss for a values file that is not as long as the model's variables.
absl::StatusOr<proto::EvaluationRecord> EvaluateOffline(const proto::EvaluationTask& task,
                                                        int threads, nn::Device* device);

// The model's outputs for every example, in the files' order, each written to its own of
// task.predictions_files: what they are. InvalidArgument: these are not one for each. Else errors
// as EvaluateOffline's, and Unavailable: a file cannot be written.
absl::StatusOr<std::vector<proto::EvaluationResult::Output>> PredictOffline(
    const proto::EvaluationTask& task, int threads, nn::Device* device);

// Does the task that `task_file` holds and writes its EvaluationResult, with the error if there is
// one. An error is returned only if the task cannot be read or the result not be written.
absl::Status RunEvaluationTask(const std::string& task_file, int threads, nn::Device* device);

}  // namespace cairn::worker

#endif  // CAIRN_WORKER_OFFLINE_EVALUATION_H_
