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

// Parameters, slots and optimizer in this process: training without a network, the measure of what
// the parameter servers cost. Each batch is one update.
class LocalStrategy final : public Strategy {
 public:
  // Gives the executor's variables their initial values. `model` and `executor` must outlive it.
  // InvalidArgument: an initializer that is not for its variable.
  static absl::StatusOr<std::unique_ptr<LocalStrategy>> Create(
      const nn::Model* model, nn::Executor* executor, std::unique_ptr<nn::Optimizer> optimizer,
      uint64_t seed, OnSettled on_settled);

  absl::StatusOr<Ready> BeginStep(const Step& step,
                                  absl::FunctionRef<bool()> should_abandon) override;
  void OnGradient(int variable) override;
  absl::Status EndStep(const proto::BatchRecord& record) override;
  void Wake() override {}

 private:
  LocalStrategy(const nn::Model* model, nn::Executor* executor,
                std::unique_ptr<nn::Optimizer> optimizer, OnSettled on_settled);
  void Update(int variable, float gradient_scale);

  const nn::Model* const model_;
  nn::Executor* const executor_;
  const std::unique_ptr<nn::Optimizer> optimizer_;
  const GradientClipper clipper_;
  const OnSettled on_settled_;
  int64_t updates_ = 0;
  // By variable, then by slot.
  std::vector<std::vector<std::vector<float>>> slots_;
  // Variables whose gradient has come in this step.
  std::vector<int> complete_;
};

}  // namespace cairn::worker

#endif  // CAIRN_TESTS_WORKER_STRATEGY_LOCAL_STRATEGY_H_
