#ifndef CAIRN_CLI_MODEL_CLUSTER_INFERENCE_H_
#define CAIRN_CLI_MODEL_CLUSTER_INFERENCE_H_

#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "cli/coordinator_api.h"
#include "cli/model/trained_model.h"
#include "common/clock.h"
#include "job/evaluation_totals.h"
#include "nn/model.h"
#include "proto/evaluation.pb.h"

namespace cairn::cli {

// Collects the chunks of an inference. Every number in them is checked.
class InferenceResults {
 public:
  // `totals` null: the outputs of `model` are collected in `outputs`, one vector for each.
  // Otherwise the batches are added to `totals`. All must outlive it.
  InferenceResults(const nn::Model* model, job::EvaluationTotals* totals,
                   std::vector<std::vector<float>>* outputs)
      : model_(*model), totals_(totals), outputs_(outputs) {}

  // DataLoss: a batch is missing or repeated, or does not have the model's outputs or metrics.
  absl::Status Add(const proto::InferenceChunk& chunk);

  int64_t examples() const { return examples_; }
  // Of the data; 0: unknown yet.
  uint64_t data_fingerprint() const { return data_fingerprint_; }
  // The first batch that is missing.
  int64_t next_batch() const { return next_batch_; }
  bool complete() const { return examples_ > 0 && done_ == examples_; }

 private:
  absl::Status AddBatch(const proto::InferredBatch& batch);

  const nn::Model& model_;
  job::EvaluationTotals* const totals_;
  std::vector<std::vector<float>>* const outputs_;
  int64_t examples_ = 0;  // Of the data; 0: unknown yet.
  uint64_t data_fingerprint_ = 0;
  int64_t done_ = 0;  // Examples.
  int64_t next_batch_ = 0;
};

struct ClusterInferenceOptions {
  CoordinatorApi* coordinator = nullptr;
  std::string data_name;         // As OfflineOptions'.
  std::ostream* err = nullptr;   // Says what the inference waits for and who is left out.
  const Clock* clock = nullptr;  // Null: a RealClock.
};

// As RunOfflineTask, but the workers of the cluster compute. They read the values from the ps and
// the data under the same names, so the names must be absolute. Only the variables of a model file
// are used, and are uploaded first.
// Each example counts once, whichever workers are lost. If the coordinator is restarted, goes on
// from the first missing batch. Blocks. InvalidArgument, with a worker's message: the workers
// cannot compute it. Unavailable: the coordinator is away for a minute after a call has broken.
absl::StatusOr<proto::EvaluationResult> RunOnCluster(const TrainedModel& trained,
                                                     const ClusterInferenceOptions& options,
                                                     std::vector<std::vector<float>>* outputs);

}  // namespace cairn::cli

#endif  // CAIRN_CLI_MODEL_CLUSTER_INFERENCE_H_
