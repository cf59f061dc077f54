#include "ps_server/blocks/update_rule.h"

#include <array>
#include <utility>

#include "absl/strings/str_cat.h"
#include "nn/moving_average.h"

namespace cairn::ps {

absl::Status UpdateRule::Apply(const BlockSpec& block, const Gradient& gradient,
                               std::optional<float> learning_rate, BlockState* state) const {
  BlockBuffer fresh_values;
  BlockBuffer fresh_slots;
  if (absl::Status status = MakeWritable(block, state->values, &fresh_values); !status.ok()) {
    return status;
  }
  if (absl::Status status = MakeWritable(block, state->slots, &fresh_slots); !status.ok()) {
    return status;
  }
  float* const values_out = (fresh_values ? fresh_values : state->values).data();
  if (block.update == nn::VariableSpec::Update::kMovingAverage) {
    nn::ApplyMovingAverage(block.count, gradient.values, block.momentum, state->values.data(),
                           values_out);
  } else {
    const BlockBuffer& slots = fresh_slots ? fresh_slots : state->slots;
    Optimize(block, gradient,
             learning_rate.value_or(layout_.optimizer().learning_rate(state->version)), *state,
             values_out, slots ? slots.data() : nullptr);
  }
  if (fresh_values) state->values = std::move(fresh_values);
  if (fresh_slots) state->slots = std::move(fresh_slots);
  ++state->version;
  return absl::OkStatus();
}

absl::Status UpdateRule::MakeWritable(const BlockSpec& block, const BlockBuffer& buffer,
                                      BlockBuffer* fresh) const {
  if (!buffer || buffer.unique()) return absl::OkStatus();
  *fresh = pool_.Allocate(buffer.count());
  if (*fresh) return absl::OkStatus();
  return absl::ResourceExhaustedError(absl::StrCat("no memory to update ", block.name, " of ",
                                                   buffer.count() * sizeof(float), " bytes"));
}

void UpdateRule::Optimize(const BlockSpec& block, const Gradient& gradient, float learning_rate,
                          const BlockState& from, float* values_out, float* slots_out) const {
  const nn::Optimizer& optimizer = layout_.optimizer();
  std::array<const float*, nn::Optimizer::kSlotsMax> slots_from = {};
  std::array<float*, nn::Optimizer::kSlotsMax> slots_to = {};
  for (int slot = 0; slot < optimizer.slot_count(); ++slot) {
    slots_from[slot] = from.slots.data() + slot * block.count;
    slots_to[slot] = slots_out + slot * block.count;
  }
  nn::Optimizer::Block update;
  update.count = block.count;
  update.gradient = gradient.values;
  update.gradient_scale = gradient.scale;
  update.values_in = from.values.data();
  update.values_out = values_out;
  update.slots_in = slots_from.data();
  update.slots_out = slots_to.data();
  optimizer.Apply(update, from.version, learning_rate);
}

}  // namespace cairn::ps
