#include "nn/optimizer.h"

#include <algorithm>
#include <array>
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

// With use_ema the rule and the average alternate over pieces of this many values, which stay in
// the L1 cache. So both cost one pass over memory.
constexpr int64_t kPiece = 1024;

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

void Optimizer::Apply(const Block& block, int64_t update_count, float learning_rate) const {
  const int slots = slot_count();
  const bool overwrites =
      overwrite_frequency_ > 0 && (update_count + 1) % overwrite_frequency_ == 0;
  // The first average equals the value.
  const double momentum = update_count == 0 ? 0 : average_momentum_;
  std::array<const float*, kSlotsMax> slots_in = {};
  std::array<float*, kSlotsMax> slots_out = {};
  OptimizerRule::Piece piece;
  piece.slots_in = slots_in.data();
  piece.slots_out = slots_out.data();
  piece.gradient_scale = block.gradient_scale;
  if (clip_.kind() == GradientClip::Kind::kValue) piece.gradient_limit = clip_.limit();
  piece.decay = weight_decay_ * learning_rate;
  for (int64_t begin = 0; begin < block.count; begin += piece.count) {
    piece.count = averages_ ? std::min(kPiece, block.count - begin) : block.count;
    piece.gradient = block.gradient + begin;
    piece.values_in = block.values_in + begin;
    piece.values_out = block.values_out + begin;
    for (int slot = 0; slot < slots; ++slot) {
      slots_in[slot] = block.slots_in[slot] + begin;
      slots_out[slot] = block.slots_out[slot] + begin;
    }
    rule_->Update(piece, update_count + 1, learning_rate);
    if (!averages_) continue;
    MoveAverage(piece.count, static_cast<float>(momentum), static_cast<float>(1 - momentum),
                slots_in[slots - 1], slots_out[slots - 1], piece.values_out);
    if (overwrites) {
      std::memcpy(piece.values_out, slots_out[slots - 1], piece.count * sizeof(float));
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
