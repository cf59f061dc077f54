#include "nn/optimizer.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/simd.h"
#include "common/status_macros.h"
#include "nn/optimizers/create_rule.h"
#include "proto/objective.pb.h"

namespace cairn::nn {
namespace {

// With use_ema the rule and the average alternate over chunks of this many values, which stay in
// the L1 cache. So both cost one pass over memory.
constexpr int64_t kAveragedChunk = 1024;

CAIRN_SIMD void MoveAverage(int64_t count, float momentum, float new_share, const float* average_in,
                            float* average_out, const float* values) {
#pragma GCC ivdep
  for (int64_t i = 0; i < count; ++i) {
    average_out[i] = momentum * average_in[i] + new_share * values[i];
  }
}

absl::Status InOptimizer(const proto::Optimizer& config, const absl::Status& status) {
  if (absl::StartsWith(status.message(), "unknown optimizer")) return status;
  return absl::InvalidArgumentError(
      absl::StrCat(absl::AsciiStrToLower(config.name()), ": ", std::string(status.message())));
}

}  // namespace

float Optimizer::initial_slot_value(int slot) const {
  return slot == average_slot() ? 0 : rule_->initial_slot_value(slot);
}

void Optimizer::Apply(OptimizerRule::Chunk chunk, int64_t update_count, float learning_rate) const {
  if (clip_.kind() == GradientClip::Kind::kValue) chunk.gradient_limit = clip_.limit();
  chunk.decay = weight_decay_ * learning_rate;
  if (!averages_) return rule_->Update(chunk, update_count + 1, learning_rate);
  const bool overwrites =
      overwrite_frequency_ > 0 && (update_count + 1) % overwrite_frequency_ == 0;
  // The first average equals the value.
  const double momentum = update_count == 0 ? 0 : average_momentum_;
  const int average = average_slot();
  const bool whole = needs_whole_variables();
  if (whole) rule_->Update(chunk, update_count + 1, learning_rate);
  for (int64_t left = chunk.count; left > 0; left -= chunk.count) {
    chunk.count = std::min(kAveragedChunk, left);
    if (!whole) rule_->Update(chunk, update_count + 1, learning_rate);
    MoveAverage(chunk.count, static_cast<float>(momentum), static_cast<float>(1 - momentum),
                chunk.slots_in[average], chunk.slots_out[average], chunk.values_out);
    if (overwrites) {
      std::memcpy(chunk.values_out, chunk.slots_out[average], chunk.count * sizeof(float));
    }
    chunk.gradient += chunk.count;
    chunk.values_in += chunk.count;
    chunk.values_out += chunk.count;
    for (int slot = 0; slot < slot_count(); ++slot) {
      chunk.slots_in[slot] += chunk.count;
      chunk.slots_out[slot] += chunk.count;
    }
  }
}

absl::StatusOr<std::unique_ptr<Optimizer>> CreateOptimizer(const proto::Optimizer& config) {
  absl::StatusOr<NamedRule> named = CreateRule(config);
  if (!named.ok()) return InOptimizer(config, named.status());
  absl::StatusOr<LearningRate> rate = LearningRate::Create(config, named->default_learning_rate);
  if (!rate.ok()) return InOptimizer(config, rate.status());
  absl::StatusOr<GradientClip> clip = GradientClip::Create(config);
  if (!clip.ok()) return InOptimizer(config, clip.status());
  std::unique_ptr<Optimizer> optimizer(new Optimizer(*std::move(rate)));
  optimizer->rule_ = std::move(named->rule);
  const auto names = optimizer->rule_->slot_names();
  optimizer->slot_names_.assign(names.begin(), names.end());
  optimizer->clip_ = *clip;
  optimizer->weight_decay_ = static_cast<float>(
      config.has_weight_decay() ? config.weight_decay() : named->default_weight_decay);
  optimizer->averages_ = config.use_ema();
  optimizer->average_momentum_ = config.has_ema_momentum() ? config.ema_momentum() : 0.99;
  optimizer->overwrite_frequency_ = config.ema_overwrite_frequency();
  if (optimizer->averages_) optimizer->slot_names_.push_back(Optimizer::kAverageSlotName);
  return optimizer;
}

}  // namespace cairn::nn
