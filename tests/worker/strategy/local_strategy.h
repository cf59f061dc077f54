#ifndef CAIRN_TESTS_WORKER_STRATEGY_LOCAL_STRATEGY_H_
#define CAIRN_TESTS_WORKER_STRATEGY_LOCAL_STRATEGY_H_

#include <memory>
#include <vector>

#include "nn/executor.h"
#include "nn/model.h"
#include "nn/optimizer.h"
#include "worker/strategy/gradient_clipper.h"
#include "worker/strategy/strategy.h"

namespace cairn::worker {

// Keeps parameters, slots and optimizer in this process: training without a network, as the
// baseline for the cost of parameter servers. Each batch is one update.
class LocalStrategy final : public Strategy {
 public:
  // Initializes the executor's variables. `model` and `executor` must outlive the strategy.
  // InvalidArgument: an initializer does not fit its variable.
  static absl::StatusOr<std::unique_ptr<LocalStrategy>> Create(
      const nn::Model* model, nn::Executor* executor, std::unique_ptr<nn::Optimizer> optimizer,
      uint64_t seed, OnApplied on_applied);

  absl::StatusOr<StepStatus> BeginStep(const Step& step,
                                       absl::FunctionRef<bool()> should_abandon) override;
  void OnGradient(int variable) override;
  absl::Status EndStep(const proto::BatchRecord& record) override;
  // There are no cuts: loads the values of now.
  absl::Status LoadCut(uint64_t cut, nn::Executor* executor,
                       absl::FunctionRef<bool()> should_abandon) override;
  void Wake() override {}

 private:
  LocalStrategy(const nn::Model* model, nn::Executor* executor,
                std::unique_ptr<nn::Optimizer> optimizer, OnApplied on_applied);
  void Update(int variable, float gradient_scale);

  const nn::Model* const model_;
  nn::Executor* const executor_;
  const std::unique_ptr<nn::Optimizer> optimizer_;
  const GradientClipper clipper_;
  const OnApplied on_applied_;
  int64_t updates_ = 0;
  // By variable, then by slot.
  std::vector<std::vector<std::vector<float>>> slots_;
  // Variables whose gradient is complete in this step.
  std::vector<int> complete_;
};

}  // namespace cairn::worker

#endif  // CAIRN_TESTS_WORKER_STRATEGY_LOCAL_STRATEGY_H_
