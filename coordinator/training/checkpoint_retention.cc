#include "coordinator/training/checkpoint_retention.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/check.h"

namespace cairn::coordinator {

CheckpointRetention::CheckpointRetention(Options options, std::vector<proto::Manifest> manifests,
                                         int64_t done_batches)
    : options_(options) {
  CAIRN_CHECK(options_.keep > 0 && options_.ps_count > 0);
  for (proto::Manifest& manifest : manifests) {
    const bool good =
        manifest.damaged().empty() && (manifest.checkpoint() <= options_.base_checkpoint ||
                                       manifest.generation() == options_.generation);
    (good ? manifests_ : passed_over_).push_back(std::move(manifest));
  }
  Passed(done_batches);
}

bool CheckpointRetention::Due(int64_t done_batches) const {
  return options_.every_steps > 0 && done_batches >= due_at_;
}

void CheckpointRetention::Passed(int64_t done_batches) {
  due_at_ = done_batches + options_.every_steps;
}

void CheckpointRetention::Begin(const proto::HeldCut& cut, uint64_t generation) {
  CAIRN_CHECK(!writing());
  cut_ = cut;
  generation_ = generation;
  replies_.clear();
}

void CheckpointRetention::Reply(uint32_t ps, const proto::PersistReply& reply) {
  // Replies for an older cut or generation may still arrive.
  const bool expected = writing() && reply.cut() == cut_->cut() &&
                        reply.generation() == generation_ && ps < options_.ps_count;
  if (expected) replies_[ps] = reply;
}

std::optional<absl::StatusOr<proto::Manifest>> CheckpointRetention::TakeResult(
    int64_t unix_seconds) {
  if (!writing() || replies_.size() < options_.ps_count) return std::nullopt;
  proto::Manifest manifest;
  manifest.set_job_id(options_.job_id);
  manifest.set_unix_seconds(unix_seconds);
  manifest.set_checkpoint(cut_->cut());
  manifest.set_generation(generation_);
  *manifest.mutable_ledger() = cut_->ledger();
  manifest.set_applied_batches(cut_->applied_batches());
  manifest.set_reason(cut_->reason());
  cut_.reset();
  for (const auto& [ps, reply] : replies_) {
    if (!reply.error().empty()) {
      return absl::StatusOr<proto::Manifest>(absl::InternalError(absl::StrCat(
          "ps ", ps, " could not write checkpoint ", manifest.checkpoint(), ": ", reply.error())));
    }
    *manifest.add_parts() = reply.part();
    manifest.mutable_parts()->rbegin()->set_ps(ps);
  }
  // Every ps has written its part, so the checkpoint counts even before its manifest is journaled:
  // the caller puts the manifest into the same outbox.
  manifests_.push_back(manifest);
  return absl::StatusOr<proto::Manifest>(std::move(manifest));
}

bool CheckpointRetention::Update(const proto::Manifest& manifest) {
  for (proto::Manifest& known : manifests_) {
    if (known.checkpoint() != manifest.checkpoint()) continue;
    known = manifest;
    return true;
  }
  return false;
}

std::vector<proto::Manifest> CheckpointRetention::all_manifests() const {
  std::vector<proto::Manifest> all = passed_over_;
  all.insert(all.end(), manifests_.begin(), manifests_.end());
  std::sort(all.begin(), all.end(), [](const proto::Manifest& a, const proto::Manifest& b) {
    return a.checkpoint() < b.checkpoint();
  });
  return all;
}

std::vector<proto::Manifest> CheckpointRetention::TakeExpired(const std::set<uint64_t>& pinned) {
  std::vector<proto::Manifest> surplus, kept;
  // What was passed over is deleted only after a newer checkpoint replaces it: until then its lost
  // parts may still come back.
  const bool made_one =
      !manifests_.empty() && manifests_.back().checkpoint() > options_.base_checkpoint;
  if (made_one) surplus.swap(passed_over_);
  for (size_t i = 0; i < manifests_.size(); ++i) {
    const bool is_kept =
        i + options_.keep >= manifests_.size() || pinned.contains(manifests_[i].checkpoint());
    (is_kept ? kept : surplus).push_back(std::move(manifests_[i]));
  }
  manifests_ = std::move(kept);
  return surplus;
}

}  // namespace cairn::coordinator
