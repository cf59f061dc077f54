#ifndef CAIRN_WORKER_STRATEGY_PARAMETER_SERVER_STRATEGY_H_
#define CAIRN_WORKER_STRATEGY_PARAMETER_SERVER_STRATEGY_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "cluster/ps_client.h"
#include "nn/executor.h"
#include "nn/model.h"
#include "nn/optimizers/gradient_clip.h"
#include "proto/job.pb.h"
#include "worker/strategy/block_table.h"
#include "worker/strategy/gradient_clipper.h"
#include "worker/strategy/gradient_pusher.h"
#include "worker/strategy/strategy.h"
#include "worker/strategy/update_norms.h"
#include "worker/strategy/value_puller.h"

namespace cairn::worker {

// Training with parameter servers, for one generation of a job.
//
// Asynchronous: gradients are pushed while the backward pass makes others, and push replies carry
// the updated values, which go straight into the executor (that has done with a variable's values
// when its gradient is complete), so that values are pulled only at first and after idle times. A
// step begins when the one before is acknowledged: a worker never computes on values that lack its
// own work, and one worker alone computes what a synchronous one does. Stale synchronous: every
// step pulls, and the ps answer when the window allows it. Synchronous: one pull for each update;
// steps of the same update follow each other without waiting for acknowledgements, which come when
// the update is complete. If its norm is clipped the pusher does that together with the ps.
class ParameterServerStrategy final : public Strategy {
 public:
  // Everything but `on_settled` must outlive it. `gradient_memory`: bytes for copies of gradients
  // that are not acknowledged (GradientPusher). InvalidArgument: the plan's partition is not one
  // of `model`, or of as many ps as the client knows.
  static absl::StatusOr<std::unique_ptr<ParameterServerStrategy>> Create(
      const proto::JobPlan& plan, uint64_t generation, const nn::Model& model,
      nn::Executor* executor, cluster::PsClient* client, int64_t gradient_memory,
      OnSettled on_settled);

  absl::StatusOr<Ready> BeginStep(const Step& step,
                                  absl::FunctionRef<bool()> should_abandon) override;
  void OnGradient(int variable) override;
  absl::Status EndStep(const proto::BatchRecord& record) override;
  void Wake() override;

 private:
  enum class Mode { kAsynchronous, kStale, kSynchronous };

  ParameterServerStrategy(const proto::JobPlan& plan, uint64_t generation, BlockTable table,
                          const nn::GradientClip& clip, const nn::Model& model,
                          nn::Executor* executor, cluster::PsClient* client,
                          int64_t gradient_memory, OnSettled on_settled);
  absl::StatusOr<Ready> MakeFresh(const Step& step, absl::FunctionRef<bool()> should_abandon);
  absl::StatusOr<Ready> Pull(int64_t batch, absl::FunctionRef<bool()> should_abandon);
  absl::Span<float> ValuesOf(uint32_t block);
  GradientPusher::Destination DestinationOfReplies();
  // The update that a batch belongs to.
  int64_t UpdateOf(int64_t batch) const;

  const Mode mode_;
  const uint64_t job_id_;
  const uint64_t generation_;
  const int64_t batches_per_epoch_;
  const int64_t batches_per_update_;
  const BlockTable table_;
  // Where updates of several batches are clipped; there the clipper has nothing to do.
  std::optional<UpdateNorms> norms_;
  nn::Executor* const executor_;
  const GradientClipper clipper_;

  // Complete gradients that wait for the others because the clip needs all.
  std::vector<int> held_;
  // Frozen variables are pulled once.
  bool has_frozen_ = false;
  // The executor's values are those of `update_` (only synchronously does that mean something).
  bool has_values_ = false;
  int64_t update_ = 0;

  ValuePuller puller_;
  GradientPusher pusher_;
};

}  // namespace cairn::worker

#endif  // CAIRN_WORKER_STRATEGY_PARAMETER_SERVER_STRATEGY_H_
