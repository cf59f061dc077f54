#include "parameters/initial_values.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "nn/initializer.h"
#include "parameters/snapshots/snapshot.h"

namespace cairn::parameters {

namespace {

absl::Status Allocate(const BlockSpec& block, int64_t count, BufferPool* pool, BlockBuffer* out) {
  *out = pool->Allocate(count);
  if (*out) return absl::OkStatus();
  return NoMemoryFor(block.name, count);
}

// Returns a state with uninitialized values and the optimizer's initial slots.
absl::StatusOr<BlockState> AllocateState(const JobLayout& layout, const BlockSpec& block,
                                         BufferPool* pool) {
  BlockState state;
  CAIRN_RETURN_IF_ERROR(Allocate(block, block.count, pool, &state.values));
  const int slots = layout.slot_count(block);
  if (slots == 0) return state;
  CAIRN_RETURN_IF_ERROR(Allocate(block, block.count * slots, pool, &state.slots));
  for (int slot = 0; slot < slots; ++slot) {
    std::fill_n(state.slots.data() + slot * block.count, block.count,
                layout.optimizer(block).initial_slot_value(slot));
  }
  return state;
}

// Fills blocks with the values of their initializers. Each part of an orthogonal variable requires
// computing all of it, so it is computed once for its blocks, which are adjacent.
class InitializerValues {
 public:
  explicit InitializerValues(const JobLayout& layout) : layout_(layout) {}

  void Copy(const BlockSpec& block, float* out) {
    const nn::VariableSpec& variable = layout_.variables()[block.variable];
    const uint64_t seed = layout_.plan().seed();
    if (variable.initializer.kind != nn::InitializerSpec::Kind::kOrthogonal) {
      nn::FillInitialValues(variable, seed, block.begin, block.begin + block.count, out);
      return;
    }
    if (whole_.empty() || whole_variable_ != block.variable) {
      whole_.resize(variable.element_count());
      whole_variable_ = block.variable;
      nn::FillInitialValues(variable, seed, 0, variable.element_count(), whole_.data());
    }
    std::copy_n(whole_.data() + block.begin, block.count, out);
  }

 private:
  const JobLayout& layout_;
  uint32_t whole_variable_ = 0;
  std::vector<float> whole_;
};

}  // namespace

absl::StatusOr<std::vector<BlockState>> MakeInitialStates(const JobLayout& layout,
                                                          UploadStore* uploads, BufferPool* pool) {
  InitializerValues initializers(layout);
  std::vector<BlockState> states;
  states.reserve(layout.blocks().size());
  for (const BlockSpec& block : layout.blocks()) {
    CAIRN_ASSIGN_OR_RETURN(BlockState state, AllocateState(layout, block, pool));
    if (layout.plan().weights_uploaded() && uploads == nullptr) {
      // The caller sets the values.
    } else if (layout.plan().weights_uploaded()) {
      CAIRN_ASSIGN_OR_RETURN(const StoredBlock stored, uploads->Read(layout.job_id(), block.id));
      CAIRN_RETURN_IF_ERROR(CopyUploaded(layout, block, stored, &state));
    } else {
      initializers.Copy(block, state.values.data());
    }
    states.push_back(std::move(state));
  }
  return states;
}

}  // namespace cairn::parameters
