#ifndef CAIRN_WORKER_INFERENCE_H_
#define CAIRN_WORKER_INFERENCE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "nn/device.h"
#include "nn/executor.h"
#include "proto/coordinator.pb.h"
#include "worker/activity.h"
#include "worker/data/batch_loader.h"
#include "worker/data/files/data_storage.h"
#include "worker/job_model.h"
#include "worker/strategy/create_strategy.h"

namespace cairn::worker {

// Runs a trained model forward over all examples of data files: for their outputs, or for loss and
// metrics. Belongs to one thread.
//
//   Create, set the values of all variables, then Compute batch after batch
class Inference {
 public:
  struct Options {
    bool outputs = false;  // Otherwise loss and metrics.
    int threads = 1;
    DataStorage::Options storage = {};
    // What errors call the data of loss and metrics; see LoadJobData.
    std::string data_name = "";
    // Null: nobody watches. Must outlive the inference.
    Activity* activity = nullptr;
  };

  // The data are the `validation` of the plan's job; labels are not read for outputs. `device` must
  // outlive the inference. Errors: those of reading the data, which name the file, and of the
  // model.
  static absl::StatusOr<std::unique_ptr<Inference>> Create(const proto::JobPlan& plan,
                                                           const Options& options,
                                                           nn::Device* device);

  const nn::Model& model() const { return *model_.model; }
  const nn::Objective& objective() const { return model_.objective; }
  // Where the caller writes the values of a variable of model().
  absl::Span<float> values(int variable) { return executor_->values(variable); }

  int64_t examples() const { return loader_order_.examples; }
  // Rows [batch * batch_size, (batch + 1) * batch_size) are a batch.
  int64_t batch_size() const { return loader_order_.batch_size; }
  int64_t batches() const { return (examples() + batch_size() - 1) / batch_size(); }
  // Of the outputs of a full batch; 0 if they are not wanted.
  int64_t batch_bytes() const;

  // Computes a batch, and reads the first of `next` meanwhile. Outputs are left out of the result:
  // see output().
  absl::StatusOr<proto::InferredBatch> Compute(int64_t batch, absl::Span<const int64_t> next);
  // An output of the last batch, one example after another. Valid until the next Compute.
  absl::StatusOr<absl::Span<const float>> output(int output) { return executor_->output(output); }

 private:
  struct Order {
    int64_t examples = 0;
    int64_t batch_size = 0;
  };

  Inference() = default;

  void Enter(proto::Activity::Phase phase, int64_t batch) {
    if (activity_ != nullptr) activity_->Enter(phase, batch);
  }

  bool outputs_ = false;
  Activity* activity_ = nullptr;
  JobModel model_;  // For outputs without an objective.
  Order loader_order_;
  std::unique_ptr<BatchLoader> loader_;
  std::unique_ptr<nn::Executor> executor_;
};

// Sets the values of all variables from the request's checkpoint, which it reads from the ps of the
// cluster. InvalidArgument: the checkpoint lacks a variable of the model. Otherwise errors as
// cluster::DownloadVariables.
absl::Status LoadCheckpoint(const proto::InferenceRequest& request, const ClusterInfo& cluster,
                            Inference* inference);

}  // namespace cairn::worker

#endif  // CAIRN_WORKER_INFERENCE_H_
