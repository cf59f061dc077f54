#include "parameters/blocks/update_rule.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "nn/moving_average.h"

namespace cairn::parameters {

absl::Status UpdateRule::Apply(const BlockSpec& block, const float* gradient, float scale,
                               std::optional<float> learning_rate, BlockState* state) const {
  // Get the memory for both buffers first: an update happens as a whole or not at all.
  BlockBuffer fresh_values;
  BlockBuffer fresh_slots;
  if (absl::Status status = MakeWritable(block, state->values, &fresh_values); !status.ok()) {
    return status;
  }
  if (absl::Status status = MakeWritable(block, state->slots, &fresh_slots); !status.ok()) {
    return status;
  }
  nn::OptimizerRule::Chunk chunk;
  chunk.count = block.count;
  chunk.gradient = gradient;
  chunk.gradient_scale = scale;
  chunk.values_in = state->values.data();
  chunk.values_out = (fresh_values ? fresh_values : state->values).data();
  if (block.update == nn::VariableSpec::Update::kMovingAverage) {
    nn::ApplyMovingAverage(block.count, gradient, block.momentum, chunk.values_in,
                           chunk.values_out);
  } else {
    const nn::Optimizer& optimizer = layout_.optimizer(block);
    const BlockBuffer& slots_out = fresh_slots ? fresh_slots : state->slots;
    for (int slot = 0; slot < optimizer.slot_count(); ++slot) {
      chunk.slots_in[slot] = state->slots.data() + slot * block.count;
      chunk.slots_out[slot] = slots_out.data() + slot * block.count;
    }
    optimizer.Apply(chunk, state->version,
                    learning_rate.value_or(optimizer.learning_rate(state->version)));
    Constrain(block, chunk.values_out);
  }
  if (fresh_values) state->values = std::move(fresh_values);
  if (fresh_slots) state->slots = std::move(fresh_slots);
  ++state->version;
  return absl::OkStatus();
}

// Last, as in Keras: the average of use_ema is not constrained.
void UpdateRule::Constrain(const BlockSpec& block, float* values) const {
  const nn::VariableSpec& variable = layout_.variables()[block.variable];
  if (variable.constraint.empty()) return;
  std::vector<int64_t> shape = variable.shape;
  if (!shape.empty()) shape[0] = block.row_end - block.row_begin;
  variable.constraint.Apply(shape, values);
}

absl::Status UpdateRule::MakeWritable(const BlockSpec& block, const BlockBuffer& buffer,
                                      BlockBuffer* fresh) const {
  if (!buffer || buffer.unique()) return absl::OkStatus();
  *fresh = pool_.Allocate(buffer.count());
  if (*fresh) return absl::OkStatus();
  return absl::ResourceExhaustedError(absl::StrCat("no memory to update ", block.name, " of ",
                                                   buffer.count() * sizeof(float), " bytes"));
}

}  // namespace cairn::parameters
