#include "coordinator/training/checkpoint_copies.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "cluster/partition_map.h"
#include "job/job_plan.h"

namespace cairn::coordinator {
namespace {

proto::SnapshotPart* FindPart(proto::Manifest* manifest, uint32_t ps) {
  for (proto::SnapshotPart& part : *manifest->mutable_parts()) {
    if (part.ps() == ps) return &part;
  }
  return nullptr;
}

}  // namespace

CheckpointCopies::CheckpointCopies(const proto::JobPlan* plan, uint64_t generation)
    : plan_(*plan), generation_(generation) {}

void CheckpointCopies::Begin(const proto::Manifest& manifest, Outbox* outbox) {
  const std::vector<uint32_t> members = cluster::MembersOf(plan_.partition());
  const bool wanted = job::CopiesWanted(plan_.job()) > 1 && members.size() > 1;
  Copying& copying = under_way_[manifest.checkpoint()];
  copying = {{manifest}, {}, std::nullopt};
  for (const proto::SnapshotPart& part : manifest.parts()) {
    if (!wanted || part.blocks() == 0 || part.copies_size() > 0) continue;
    const auto next = std::upper_bound(members.begin(), members.end(), part.ps());
    copying.missing[part.ps()] = next != members.end() ? *next : members.front();
  }
  SendOrders(copying, std::nullopt, outbox);
}

void CheckpointCopies::PsReconnected(uint32_t ps, Outbox* outbox) const {
  for (const auto& [checkpoint, copying] : under_way_) SendOrders(copying, ps, outbox);
}

void CheckpointCopies::SendOrders(const Copying& copying, std::optional<uint32_t> ps,
                                  Outbox* outbox) const {
  for (const proto::SnapshotPart& part : copying.result.manifest.parts()) {
    const auto missing = copying.missing.find(part.ps());
    if (missing == copying.missing.end() || (ps.has_value() && missing->second != *ps)) continue;
    proto::Command command;
    command.mutable_copy_snapshot()->set_job_id(plan_.job_id());
    command.mutable_copy_snapshot()->set_generation(generation_);
    command.mutable_copy_snapshot()->set_checkpoint(copying.result.manifest.checkpoint());
    *command.mutable_copy_snapshot()->mutable_part() = part;
    outbox->Send(PsTask(missing->second), std::move(command));
  }
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

void CheckpointCopies::GiveUp(absl::Duration now, absl::Duration patience,
                              absl::FunctionRef<bool(uint32_t ps)> hangs, const std::string& why) {
  for (auto& [checkpoint, copying] : under_way_) {
    if (!copying.begun_at.has_value()) copying.begun_at = now;
    if (now - *copying.begun_at <= patience) continue;
    const std::map<uint32_t, uint32_t> missing = copying.missing;
    for (const auto& [part, ps] : missing) {
      if (!hangs(ps)) continue;
      proto::CopyReply reply;
      reply.set_checkpoint(checkpoint);
      reply.set_part(part);
      reply.set_error(why);
      Reply(ps, reply);
    }
  }
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
