#include "coordinator/job_deletions.h"

#include <algorithm>
#include <set>
#include <string>

#include "common/failpoint.h"
#include "common/logging.h"
#include "coordinator/task.h"
#include "storage/job_records.h"

namespace cairn::coordinator {
namespace {

// The time until a ps whose disk failed is told again.
constexpr absl::Duration kBetweenTries = absl::Seconds(5);

// The reply to the second command confirms the first: a ps executes commands in order.
void TellPs(uint32_t ps, uint64_t job_id, Outbox* outbox) {
  proto::Command stop;
  stop.mutable_stop_job()->set_job_id(job_id);
  stop.mutable_stop_job()->set_delete_data(true);
  outbox->Send(PsTask(ps), std::move(stop));
  proto::Command list;
  list.mutable_list_snapshots()->set_job_id(job_id);
  outbox->Send(PsTask(ps), std::move(list));
}

}  // namespace

JobDeletions::JobDeletions(const Membership* members, const std::vector<proto::DeletedJob>& begun)
    : members_(*members) {
  for (const proto::DeletedJob& record : begun) deletions_[record.job_id()].record = record;
}

void JobDeletions::Begin(uint64_t job_id, const std::vector<proto::Manifest>& manifests,
                         uint32_t ps_count, Outbox* outbox) {
  const auto ps_now = static_cast<uint32_t>(members_.options().ps_addresses.size());
  std::set<uint32_t> holders;
  for (uint32_t ps = 0; ps < std::max(ps_count, ps_now); ++ps) holders.insert(ps);
  for (const proto::Manifest& manifest : manifests) {
    for (const proto::SnapshotPart& part : manifest.parts()) {
      holders.insert(part.ps());
      holders.insert(part.copies().begin(), part.copies().end());
    }
  }
  proto::DeletedJob& record = deletions_[job_id].record;
  record.set_job_id(job_id);
  for (const uint32_t ps : holders) {
    record.add_pending_ps(ps);
    if (members_.IsLive(PsTask(ps))) TellPs(ps, job_id, outbox);
  }
  // One synced write: after a crash the job either still exists or is being deleted. Its history
  // may have millions of rows, so they go as one range.
  outbox->Erase(storage::JobKey(job_id));
  outbox->EraseRange(storage::JobPrefix(job_id), storage::EndOfJob(job_id));
  outbox->PutSynced(storage::DeletedJobKey(job_id), record);
  outbox->AfterWrite([] { return CAIRN_FAILPOINT("coordinator.begin_deletion"); });
}

void JobDeletions::PsJoined(uint32_t ps, Outbox* outbox) {
  for (const auto& [job_id, deletion] : deletions_) {
    const auto& pending = deletion.record.pending_ps();
    if (std::find(pending.begin(), pending.end(), ps) != pending.end()) TellPs(ps, job_id, outbox);
  }
}

void JobDeletions::OnSnapshots(uint32_t ps, const proto::SnapshotList& list, Outbox* outbox) {
  const auto deletion = deletions_.find(list.job_id());
  if (deletion == deletions_.end()) return;
  // The deletion failed on its disk, or this replies to a query from before the deletion.
  const auto& left = list.snapshots();
  const bool has_some =
      std::any_of(left.begin(), left.end(), [](const auto& held) { return held.own_disk(); });
  if (has_some || list.incomplete()) return;
  auto* pending = deletion->second.record.mutable_pending_ps();
  pending->erase(std::remove(pending->begin(), pending->end(), ps), pending->end());
  outbox->Put(storage::DeletedJobKey(list.job_id()), deletion->second.record);
  outbox->AfterWrite([] { return CAIRN_FAILPOINT("coordinator.confirm_deletion"); });
}

void JobDeletions::Advance(absl::Duration now, Outbox* outbox) {
  for (auto it = deletions_.begin(); it != deletions_.end();) {
    Deletion& deletion = it->second;
    TellPending(&deletion, now, outbox);
    if (!deletion.record.pending_ps().empty()) {
      ++it;
      continue;
    }
    CAIRN_LOG_INFO("nothing is left of a deleted job", "job", it->first);
    outbox->Erase(storage::DeletedJobKey(it->first));
    outbox->AfterWrite([] { return CAIRN_FAILPOINT("coordinator.end_deletion"); });
    it = deletions_.erase(it);
  }
}

void JobDeletions::TellPending(Deletion* deletion, absl::Duration now, Outbox* outbox) {
  // Live ps were told at the start, others are told when they join.
  if (deletion->tell_at == absl::InfiniteDuration()) deletion->tell_at = now + kBetweenTries;
  if (now < deletion->tell_at) return;
  deletion->tell_at = now + kBetweenTries;
  const proto::DeletedJob& record = deletion->record;
  for (const uint32_t ps : record.pending_ps()) {
    if (members_.IsLive(PsTask(ps))) TellPs(ps, record.job_id(), outbox);
  }
}

}  // namespace cairn::coordinator
