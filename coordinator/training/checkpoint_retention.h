#ifndef CAIRN_COORDINATOR_TRAINING_CHECKPOINT_RETENTION_H_
#define CAIRN_COORDINATOR_TRAINING_CHECKPOINT_RETENTION_H_

#include <cstdint>
#include <optional>
#include <set>
#include <vector>

#include "absl/time/time.h"
#include "coordinator/outbox.h"
#include "proto/checkpoint.pb.h"
#include "proto/job.pb.h"
#include "proto/journal.pb.h"

namespace cairn::coordinator {

// Tells every ps to delete its part of a checkpoint, and erases the sums that were kept with it.
void DeleteCheckpoint(const proto::JobPlan& plan, uint64_t checkpoint, Outbox* outbox);

// Knows when a checkpoint is due, and which checkpoints exist and are kept. A checkpoint exists if
// and only if its manifest is in the journal. Pure state machine, not thread-safe.
class CheckpointRetention {
 public:
  // `plan` must outlive it. `run`: its generation, and the checkpoint that it started from.
  // `manifests`: the existing ones, oldest first. Damaged ones, and those newer than the base that
  // belong to another generation, were passed over at the restore. They stay until this generation
  // has a checkpoint of its own, in case the lost parts come back.
  CheckpointRetention(const proto::JobPlan* plan, const proto::RunRecord& run,
                      std::vector<proto::Manifest> manifests, int64_t done_batches);

  // Whether `every_steps` more batches are done than when the last checkpoint was due, or any batch
  // and `every_seconds` have passed.
  bool Due(int64_t done_batches, absl::Duration now);
  // The due checkpoint was made, or skipped because another one is being written.
  void Passed(int64_t done_batches, absl::Duration now);
  // Whether the end of this epoch, which is not the last one, has a checkpoint.
  bool DueAtEndOf(int64_t epoch) const { return (epoch + 1) % every_epochs_ == 0; }

  // Journals the manifest of a new checkpoint.
  void Add(const proto::Manifest& manifest, Outbox* outbox);
  // Journals it in place of the manifest with the same number, if there still is one.
  void Update(const proto::Manifest& manifest, Outbox* outbox);
  // Deletes all but the `keep` newest checkpoints, except `pinned` ones. Once this generation has a
  // checkpoint, it also deletes those that were passed over.
  void DeleteExpired(const std::set<uint64_t>& pinned, Outbox* outbox);

  // Without those that were passed over, oldest first.
  const std::vector<proto::Manifest>& manifests() const { return manifests_; }
  // Including those that were passed over, oldest first.
  std::vector<proto::Manifest> all_manifests() const;

 private:
  const proto::JobPlan& plan_;
  const int64_t every_steps_;           // 0: not by steps.
  const absl::Duration every_seconds_;  // Infinite: not by time.
  const int64_t every_epochs_;
  const int64_t keep_;
  const uint64_t base_checkpoint_;
  std::vector<proto::Manifest> manifests_;
  std::vector<proto::Manifest> passed_over_;
  int64_t passed_at_;                          // Batches done.
  std::optional<absl::Duration> passed_time_;  // nullopt: before the first call of Due.
};

}  // namespace cairn::coordinator

#endif  // CAIRN_COORDINATOR_TRAINING_CHECKPOINT_RETENTION_H_
