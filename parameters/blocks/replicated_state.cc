#include "parameters/blocks/replicated_state.h"

#include "absl/strings/str_cat.h"

namespace cairn::parameters {

VersionRange VersionsOf(const JobLayout& layout, const BlockSpec& block,
                        const ReplicatedState& replicas) {
  // A frozen block never changes.
  if (!block.pushed()) return {0, layout.plan().total_batches()};
  const int64_t current = replicas.state.ledger.low_water();
  VersionRange versions = {current, current};
  if (replicas.previous.has_value()) versions.lowest = replicas.previous->ledger.low_water();
  if (replicas.next.has_value()) versions.newest = replicas.next->ledger.low_water();
  return versions;
}

absl::StatusOr<BlockState> StateAt(const BlockSpec& block, const ReplicatedState& replicas,
                                   int64_t version) {
  if (!block.pushed()) return replicas.state;
  const auto is_version = [version](const BlockState& state) {
    return state.ledger.low_water() == version;
  };
  if (is_version(replicas.state)) return replicas.state;
  if (replicas.previous.has_value() && is_version(*replicas.previous)) return *replicas.previous;
  if (replicas.next.has_value() && is_version(*replicas.next)) return *replicas.next;
  return absl::NotFoundError(absl::StrCat(block.name, " is not available in version ", version));
}

}  // namespace cairn::parameters
