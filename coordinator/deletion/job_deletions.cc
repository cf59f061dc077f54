#include "coordinator/deletion/job_deletions.h"

#include <algorithm>
#include <string>
#include <string_view>

#include "common/logging.h"
#include "coordinator/task.h"
#include "storage/job_records.h"

namespace cairn::coordinator {
namespace {

// A few milliseconds' work.
constexpr size_t kErasedAtOnce = 5000;

// The answer to the second command says that the first was carried out.
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

JobDeletions::JobDeletions(const storage::Journal* journal, const Membership* members,
                           const std::vector<proto::DeletedJob>& begun)
    : journal_(*journal), members_(*members) {
  for (const proto::DeletedJob& record : begun) deletions_[record.job_id()].record = record;
}

void JobDeletions::Begin(uint64_t job_id, Outbox* outbox) {
  proto::DeletedJob& record = deletions_[job_id].record;
  record.set_job_id(job_id);
  const auto ps_count = static_cast<uint32_t>(members_.options().ps_addresses.size());
  for (uint32_t ps = 0; ps < ps_count; ++ps) {
    record.add_pending_ps(ps);
    if (members_.IsLive(PsTask(ps))) TellPs(ps, job_id, outbox);
  }
  outbox->Erase(storage::JobKey(job_id));
  outbox->PutSynced(storage::DeletedJobKey(job_id), record);
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
  auto* pending = deletion->second.record.mutable_pending_ps();
  pending->erase(std::remove(pending->begin(), pending->end(), ps), pending->end());
  outbox->Put(storage::DeletedJobKey(list.job_id()), deletion->second.record);
}

void JobDeletions::Advance(Outbox* outbox) {
  for (auto it = deletions_.begin(); it != deletions_.end();) {
    Deletion& deletion = it->second;
    if (!deletion.is_erased) return Erase(&deletion, outbox);
    if (!deletion.record.pending_ps().empty()) {
      ++it;
      continue;
    }
    CAIRN_LOG_INFO("nothing is left of a deleted job", "job", it->first);
    outbox->Erase(storage::DeletedJobKey(it->first));
    it = deletions_.erase(it);
  }
}

void JobDeletions::Erase(Deletion* deletion, Outbox* outbox) {
  size_t erased = 0;
  const absl::Status read = journal_.ReadPrefix(storage::JobPrefix(deletion->record.job_id()),
                                                [&](std::string_view key, std::string_view) {
                                                  outbox->Erase(std::string(key));
                                                  return ++erased < kErasedAtOnce;
                                                });
  if (!read.ok()) {
    CAIRN_LOG_WARNING("the history of a deleted job cannot be read, and stays", "job",
                      deletion->record.job_id(), "error", read);
  }
  deletion->is_erased = erased < kErasedAtOnce;
}

}  // namespace cairn::coordinator
