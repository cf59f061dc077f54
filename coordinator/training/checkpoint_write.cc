#include "coordinator/training/checkpoint_write.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "common/check.h"

namespace cairn::coordinator {

proto::Command CheckpointWrite::Command() const {
  proto::Command command;
  command.mutable_persist()->set_job_id(plan_.job_id());
  command.mutable_persist()->set_generation(generation_);
  command.mutable_persist()->set_cut(cut_.cut());
  return command;
}

void CheckpointWrite::Begin(Outbox* outbox) const {
  for (const uint32_t ps : members_) outbox->Send(PsTask(ps), Command());
}

void CheckpointWrite::PsReconnected(uint32_t ps, Outbox* outbox) const {
  const bool awaited = std::binary_search(members_.begin(), members_.end(), ps);
  if (awaited && !replies_.contains(ps)) outbox->Send(PsTask(ps), Command());
}

void CheckpointWrite::Reply(uint32_t ps, const proto::PersistReply& reply) {
  if (reply.cut() != cut_.cut() || reply.generation() != generation_) return;
  if (std::binary_search(members_.begin(), members_.end(), ps)) replies_[ps] = reply;
}

absl::Duration CheckpointWrite::begun_at(absl::Duration now) {
  if (!begun_at_.has_value()) begun_at_ = now;
  return *begun_at_;
}

void CheckpointWrite::GiveUp(absl::FunctionRef<bool(uint32_t ps)> hangs, const std::string& why) {
  proto::PersistReply reply;
  reply.set_error(why);
  for (const uint32_t ps : members_) {
    if (hangs(ps)) replies_.try_emplace(ps, reply);
  }
}

absl::StatusOr<proto::Manifest> CheckpointWrite::Result(int64_t unix_seconds) const {
  CAIRN_CHECK(complete());
  proto::Manifest manifest;
  manifest.set_job_id(plan_.job_id());
  manifest.set_unix_seconds(unix_seconds);
  manifest.set_checkpoint(cut_.cut());
  manifest.set_generation(generation_);
  *manifest.mutable_ledger() = cut_.ledger();
  manifest.set_applied_batches(cut_.applied_batches());
  manifest.set_reason(cut_.reason());
  *manifest.mutable_partition() = plan_.partition();
  for (const auto& [ps, reply] : replies_) {
    if (!reply.error().empty()) {
      return absl::InternalError(
          absl::StrCat("ps ", ps, " could not write checkpoint ", cut_.cut(), ": ", reply.error()));
    }
    proto::SnapshotPart* part = manifest.add_parts();
    *part = reply.part();
    part->set_ps(ps);
  }
  return manifest;
}

}  // namespace cairn::coordinator
