#include "coordinator/training/checkpoint_copies.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace cairn::coordinator {
namespace {

proto::SnapshotPart* FindPart(proto::Manifest* manifest, uint32_t ps) {
  for (proto::SnapshotPart& part : *manifest->mutable_parts()) {
    if (part.ps() == ps) return &part;
  }
  return nullptr;
}

}  // namespace

std::vector<CheckpointCopies::Order> CheckpointCopies::Begin(const proto::Manifest& manifest) {
  Copying& copying = under_way_[manifest.checkpoint()];
  copying = {{manifest}, {}};
  std::vector<Order> orders;
  for (const proto::SnapshotPart& part : manifest.parts()) {
    if (!wanted_ || part.blocks() == 0 || part.copies_size() > 0) continue;
    const uint32_t neighbour = (part.ps() + 1) % ps_count_;
    copying.missing[part.ps()] = neighbour;
    orders.push_back({neighbour, manifest.checkpoint(), part});
  }
  return orders;
}

std::vector<CheckpointCopies::Order> CheckpointCopies::OrdersOf(uint32_t ps) const {
  std::vector<Order> orders;
  for (const auto& [checkpoint, copying] : under_way_) {
    for (const proto::SnapshotPart& part : copying.result.manifest.parts()) {
      const auto missing = copying.missing.find(part.ps());
      if (missing == copying.missing.end() || missing->second != ps) continue;
      orders.push_back({ps, checkpoint, part});
    }
  }
  return orders;
}

void CheckpointCopies::Reply(uint32_t ps, const proto::CopyReply& reply) {
  const auto found = under_way_.find(reply.checkpoint());
  if (found == under_way_.end()) return;
  Copying& copying = found->second;
  const auto missing = copying.missing.find(reply.part());
  if (missing == copying.missing.end() || missing->second != ps) return;
  copying.missing.erase(missing);
  if (reply.error().empty()) {
    FindPart(&copying.result.manifest, reply.part())->add_copies(ps);
    return;
  }
  ++copying.result.failed;
  copying.result.error =
      absl::StrCat("ps ", ps, " could not copy ps ", reply.part(), "'s snapshot of checkpoint ",
                   reply.checkpoint(), ": ", reply.error());
}

std::optional<CheckpointCopies::Result> CheckpointCopies::TakeResult() {
  const auto done = std::find_if(under_way_.begin(), under_way_.end(),
                                 [](const auto& entry) { return entry.second.missing.empty(); });
  if (done == under_way_.end()) return std::nullopt;
  Result result = std::move(done->second.result);
  under_way_.erase(done);
  return result;
}

}  // namespace cairn::coordinator
