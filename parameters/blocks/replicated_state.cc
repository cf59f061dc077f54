#include "parameters/blocks/replicated_state.h"

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"

namespace cairn::parameters {
namespace {

int64_t EndOf(const JobLayout& layout, const ReducedBlock& update) {
  const Consistency& consistency = layout.consistency();
  return consistency.BatchesOf(consistency.UpdateOf(update.batch)).end();
}

}  // namespace

VersionRange VersionsOf(const JobLayout& layout, const BlockSpec& block,
                        const ReplicatedState& replicas) {
  // A frozen block never changes.
  if (!block.pushed()) return {0, layout.plan().total_batches()};
  const int64_t current = replicas.state.ledger.low_water();
  VersionRange versions = {current, current};
  if (replicas.previous.has_value()) versions.lowest = replicas.previous->ledger.low_water();
  if (replicas.next.has_value()) versions.newest = EndOf(layout, *replicas.next);
  return versions;
}

absl::StatusOr<BlockState> StateAt(const JobLayout& layout, const BlockSpec& block,
                                   const ReplicatedState& replicas, int64_t version,
                                   BufferPool* pool) {
  if (!block.pushed() || replicas.state.ledger.low_water() == version) return replicas.state;
  if (replicas.previous.has_value() && replicas.previous->ledger.low_water() == version) {
    return *replicas.previous;
  }
  if (!replicas.next.has_value() || EndOf(layout, *replicas.next) != version) {
    return absl::NotFoundError(absl::StrCat(block.name, " is not available in version ", version));
  }
  // `replicas` keeps its references, so the update goes to new buffers.
  BlockState state = replicas.state;
  if (replicas.next->mean) {
    CAIRN_RETURN_IF_ERROR(UpdateRule(&layout, pool)
                              .Apply(block, replicas.next->mean.data(), replicas.next->scale,
                                     replicas.next_rate, &state));
  }
  state.ledger = PushLedger::AllBelow(version);
  return state;
}

}  // namespace cairn::parameters
