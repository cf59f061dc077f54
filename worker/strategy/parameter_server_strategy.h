#ifndef CAIRN_WORKER_STRATEGY_PARAMETER_SERVER_STRATEGY_H_
#define CAIRN_WORKER_STRATEGY_PARAMETER_SERVER_STRATEGY_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "cluster/ps_client.h"
#include "job/batch_numbers.h"
#include "nn/executor.h"
#include "nn/model.h"
#include "nn/optimizers/gradient_clip.h"
#include "proto/job.pb.h"
#include "worker/strategy/block_table.h"
#include "worker/strategy/gradient_clipper.h"
#include "worker/strategy/gradient_pusher.h"
#include "worker/strategy/strategy.h"
#include "worker/strategy/value_puller.h"

namespace cairn::worker {

// Training with parameter servers, for one generation of a job. The consistency mode of the job
// determines when values are pulled and what a step waits for:
//
//   asynchronous        A step waits until the previous one is acknowledged, so a worker never
//                       computes on values without its own updates, and a single worker computes
//                       the same as in synchronous mode. Push replies carry the updated values
//                       directly into the executor, which no longer needs a variable's values when
//                       its gradient is complete. Values are pulled only at first and after a
//                       pause.
//   stale synchronous   A step waits as above. Every step pulls, and the ps answer when the
//                       staleness window allows it.
//   synchronous         One pull for each update. Steps of one update follow each other without
//                       waiting for acknowledgements, which come when the update is complete.
//
// In a replicated job the ps of this process has all values, and has them before the update counts
// as applied. A worker with a step in the last update pulls these early values. Its next gradients
// are held back until it knows from the acknowledgement that the update is applied: the ps rely on
// it that nobody pushes for an update before the last one is applied on all blocks.
//
// If the norm of synchronous updates is clipped, the pusher does that together with the ps.
// Threads and errors as Strategy's.
class ParameterServerStrategy final : public Strategy {
 public:
  // `model` and `executor` must outlive the strategy. `executor` may be null if no step begins: the
  // task only evaluates. `gradient_memory`: bytes for copies of gradients that are not acknowledged
  // (GradientPusher). InvalidArgument: the plan's partition does not fit `model`, or has more ps
  // than the client.
  static absl::StatusOr<std::unique_ptr<ParameterServerStrategy>> Create(
      const proto::JobPlan& plan, uint64_t generation, const nn::Model& model,
      nn::Executor* executor, std::shared_ptr<cluster::PsClient> client, int64_t gradient_memory,
      OnApplied on_applied);

  absl::StatusOr<StepStatus> BeginStep(const Step& step,
                                       absl::FunctionRef<bool()> should_abandon) override;
  void OnGradient(int variable) override;
  absl::Status EndStep(const proto::BatchRecord& record) override;
  absl::Status LoadCut(uint64_t cut, nn::Executor* executor,
                       absl::FunctionRef<bool()> should_abandon) override;
  void Wake() override;
  std::optional<cluster::PsClient::Silence> LongestSilence() const override {
    return client_->LongestSilence();
  }

 private:
  enum class Mode { kAsynchronous, kStale, kSynchronous };

  ParameterServerStrategy(const proto::JobPlan& plan, uint64_t generation, BlockTable table,
                          const nn::GradientClip& clip, const nn::Model& model,
                          nn::Executor* executor, std::shared_ptr<cluster::PsClient> client,
                          int64_t gradient_memory, OnApplied on_applied);
  absl::StatusOr<StepStatus> RefreshValues(const Step& step,
                                           absl::FunctionRef<bool()> should_abandon);
  void BeginPush();
  absl::StatusOr<StepStatus> Pull(int64_t batch, absl::FunctionRef<bool()> should_abandon);
  bool MayPullEarly(int64_t update) const;
  proto::PullHeader NewPullHeader() const;
  // The memory for a block's values in an executor.
  absl::Span<float> ValuesIn(nn::Executor* executor, uint32_t block) const;
  GradientPusher::Destination DestinationOfReplies();

  const Mode mode_;
  const uint64_t job_id_;
  const uint64_t generation_;
  const job::BatchNumbers numbers_;
  const BlockTable table_;
  nn::Executor* const executor_;
  const GradientClipper clipper_;  // Does nothing if the norms of updates are clipped.
  // To the ps of this process; empty: it has no early values.
  const std::vector<BlockTable::Request> early_requests_;

  Step step_;
  bool pushes_ = false;  // The pusher has begun this step.
  // Variables with a complete gradient that is not pushed yet, because the clip needs all of them.
  std::vector<int> unpushed_;
  // Frozen variables are pulled once.
  bool has_frozen_ = false;
  // Whether the executor has values; in synchronous mode those that `update_` starts from.
  bool has_values_ = false;
  int64_t update_ = 0;
  bool early_ = false;        // Of these values.
  int64_t last_pushed_ = -1;  // The update of the last step that was pushed.

  const std::shared_ptr<cluster::PsClient> client_;
  // Destroyed before the client: they wait for their requests.
  ValuePuller puller_;
  GradientPusher pusher_;
};

}  // namespace cairn::worker

#endif  // CAIRN_WORKER_STRATEGY_PARAMETER_SERVER_STRATEGY_H_
