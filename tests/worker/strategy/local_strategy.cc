#include "tests/worker/strategy/local_strategy.h"

#include <algorithm>
#include <utility>

#include "common/status_macros.h"
#include "nn/initializer.h"
#include "nn/moving_average.h"

namespace cairn::worker {

LocalStrategy::LocalStrategy(const nn::Model* model, nn::Executor* executor,
                             std::unique_ptr<nn::Optimizer> optimizer, OnApplied on_applied)
    : model_(model),
      executor_(executor),
      optimizer_(std::move(optimizer)),
      clipper_(optimizer_->clip(), model, executor),
      on_applied_(std::move(on_applied)) {
  for (const nn::VariableSpec& variable : model->variables()) {
    auto& slots = slots_.emplace_back();
    if (variable.update != nn::VariableSpec::Update::kOptimized) continue;
    for (int slot = 0; slot < optimizer_->slot_count(); ++slot) {
      slots.emplace_back(variable.element_count(), optimizer_->initial_slot_value(slot));
    }
  }
}

absl::StatusOr<std::unique_ptr<LocalStrategy>> LocalStrategy::Create(
    const nn::Model* model, nn::Executor* executor, std::unique_ptr<nn::Optimizer> optimizer,
    uint64_t seed, OnApplied on_applied) {
  for (size_t i = 0; i < model->variables().size(); ++i) {
    const nn::VariableSpec& variable = model->variables()[i];
    CAIRN_RETURN_IF_ERROR(nn::CheckInitializer(variable));
    nn::FillInitialValues(variable, seed, 0, variable.element_count(),
                          executor->values(static_cast<int>(i)).data());
  }
  return std::unique_ptr<LocalStrategy>(
      new LocalStrategy(model, executor, std::move(optimizer), std::move(on_applied)));
}

absl::StatusOr<Strategy::StepStatus> LocalStrategy::BeginStep(const Step&,
                                                              absl::FunctionRef<bool()>) {
  complete_.clear();
  return StepStatus::kOk;
}

// The backward pass reads the values, so they change only after it.
void LocalStrategy::OnGradient(int variable) { complete_.push_back(variable); }

absl::Status LocalStrategy::EndStep(const proto::BatchRecord& record) {
  const std::vector<float> scales = clipper_.ScalesOf(complete_);
  for (size_t i = 0; i < complete_.size(); ++i) Update(complete_[i], scales[i]);
  ++updates_;
  on_applied_(record);
  return absl::OkStatus();
}

absl::Status LocalStrategy::LoadCut(uint64_t, nn::Executor* executor, absl::FunctionRef<bool()>) {
  for (int variable = 0; variable < static_cast<int>(slots_.size()); ++variable) {
    const absl::Span<const float> values = executor_->values(variable);
    std::copy(values.begin(), values.end(), executor->values(variable).begin());
  }
  return absl::OkStatus();
}

void LocalStrategy::Update(int variable, float gradient_scale) {
  const nn::VariableSpec& spec = model_->variables()[variable];
  const absl::Span<float> values = executor_->values(variable);
  const absl::Span<const float> gradient = executor_->gradient(variable);
  if (spec.update == nn::VariableSpec::Update::kMovingAverage) {
    nn::ApplyMovingAverage(spec.element_count(), gradient.data(), spec.momentum, values.data(),
                           values.data());
    return;
  }
  nn::OptimizerRule::Chunk chunk;
  chunk.count = spec.element_count();
  chunk.gradient = gradient.data();
  chunk.values_in = values.data();
  chunk.values_out = values.data();
  for (size_t slot = 0; slot < slots_[variable].size(); ++slot) {
    chunk.slots_in[slot] = chunk.slots_out[slot] = slots_[variable][slot].data();
  }
  chunk.gradient_scale = gradient_scale;
  optimizer_->Apply(chunk, updates_, optimizer_->learning_rate(updates_));
}

}  // namespace cairn::worker
