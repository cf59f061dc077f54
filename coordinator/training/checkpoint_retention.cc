#include "coordinator/training/checkpoint_retention.h"

#include <algorithm>
#include <utility>

#include "common/check.h"
#include "common/failpoint.h"
#include "job/callback_kinds.h"
#include "storage/job_records.h"

namespace cairn::coordinator {
namespace {

constexpr int64_t kKeepDefault = 3;

// A callback can keep the best epoch only if each has a checkpoint.
int64_t EveryEpochs(const proto::Job& job) {
  for (const proto::Callback& callback : job.callbacks()) {
    const bool saves = job::IsCallback(callback.name(), "model_checkpoint");
    if (saves || callback.restore_best_weights()) return 1;
  }
  return job.checkpoint().has_every_epochs() ? job.checkpoint().every_epochs() : 1;
}

}  // namespace

void DeleteCheckpoint(const proto::JobPlan& plan, uint64_t checkpoint, Outbox* outbox) {
  proto::Command command;
  command.mutable_delete_checkpoint()->set_job_id(plan.job_id());
  command.mutable_delete_checkpoint()->set_checkpoint(checkpoint);
  outbox->Erase(storage::CheckpointSumsKey(plan.job_id(), checkpoint));
  outbox->SendToAllPs(plan.partition().ps_count(), command);
}

CheckpointRetention::CheckpointRetention(const proto::JobPlan* plan, const proto::RunRecord& run,
                                         std::vector<proto::Manifest> manifests,
                                         int64_t done_batches)
    : plan_(*plan),
      every_steps_(job::CheckpointStepsOf(plan->job())),
      every_seconds_(plan->job().checkpoint().has_every_seconds()
                         ? absl::Seconds(plan->job().checkpoint().every_seconds())
                         : absl::InfiniteDuration()),
      every_epochs_(EveryEpochs(plan->job())),
      keep_(plan->job().checkpoint().has_keep() ? plan->job().checkpoint().keep() : kKeepDefault),
      base_checkpoint_(run.base_checkpoint()) {
  CAIRN_CHECK(keep_ > 0);
  for (proto::Manifest& manifest : manifests) {
    const bool good = manifest.damaged().empty() && (manifest.checkpoint() <= base_checkpoint_ ||
                                                     manifest.generation() == run.generation());
    (good ? manifests_ : passed_over_).push_back(std::move(manifest));
  }
  passed_at_ = done_batches;
}

bool CheckpointRetention::Due(int64_t done_batches, absl::Duration now) {
  if (!passed_time_.has_value()) passed_time_ = now;
  const bool by_steps = every_steps_ > 0 && done_batches >= passed_at_ + every_steps_;
  return by_steps || (now - *passed_time_ >= every_seconds_ && done_batches > passed_at_);
}

void CheckpointRetention::Passed(int64_t done_batches, absl::Duration now) {
  passed_at_ = done_batches;
  passed_time_ = now;
}

void CheckpointRetention::Add(const proto::Manifest& manifest, Outbox* outbox) {
  manifests_.push_back(manifest);
  outbox->PutSynced(storage::ManifestKey(plan_.job_id(), manifest.checkpoint()), manifest);
}

void CheckpointRetention::Update(const proto::Manifest& manifest, Outbox* outbox) {
  for (proto::Manifest& known : manifests_) {
    if (known.checkpoint() != manifest.checkpoint()) continue;
    known = manifest;
    outbox->PutSynced(storage::ManifestKey(plan_.job_id(), manifest.checkpoint()), manifest);
  }
}

void CheckpointRetention::DeleteExpired(const std::set<uint64_t>& pinned, Outbox* outbox) {
  std::vector<proto::Manifest> expired, kept;
  // What was passed over is deleted only after a newer checkpoint replaces it: until then its lost
  // parts may still come back.
  const bool made_one = !manifests_.empty() && manifests_.back().checkpoint() > base_checkpoint_;
  if (made_one) expired.swap(passed_over_);
  for (size_t i = 0; i < manifests_.size(); ++i) {
    const bool is_kept = i + static_cast<size_t>(keep_) >= manifests_.size() ||
                         pinned.contains(manifests_[i].checkpoint());
    (is_kept ? kept : expired).push_back(std::move(manifests_[i]));
  }
  manifests_ = std::move(kept);
  for (const proto::Manifest& old : expired) {
    outbox->Erase(storage::ManifestKey(plan_.job_id(), old.checkpoint()));
    outbox->AfterWrite([] { return CAIRN_FAILPOINT("coordinator.delete_expired"); });
    DeleteCheckpoint(plan_, old.checkpoint(), outbox);
  }
}

std::vector<proto::Manifest> CheckpointRetention::all_manifests() const {
  std::vector<proto::Manifest> all = passed_over_;
  all.insert(all.end(), manifests_.begin(), manifests_.end());
  std::sort(all.begin(), all.end(), [](const proto::Manifest& a, const proto::Manifest& b) {
    return a.checkpoint() < b.checkpoint();
  });
  return all;
}

}  // namespace cairn::coordinator
