#ifndef CAIRN_COORDINATOR_TRAINING_CHECKPOINT_RETENTION_H_
#define CAIRN_COORDINATOR_TRAINING_CHECKPOINT_RETENTION_H_

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "proto/checkpoint.pb.h"
#include "proto/coordinator.pb.h"
#include "proto/journal.pb.h"

namespace cairn::coordinator {

// Decides when a checkpoint is due, collects the ps's replies for the one being written, and
// selects which checkpoints are kept. A checkpoint exists once its manifest does; the manifest is
// built from the replies of all ps. Pure state machine, not thread-safe.
class CheckpointRetention {
 public:
  struct Options {
    uint64_t job_id = 0;
    int64_t every_steps = 0;  // 0: only on request.
    size_t keep = 3;
    uint32_t ps_count = 1;
    // This generation, and the checkpoint that it started from.
    uint64_t generation = 0;
    uint64_t base_checkpoint = 0;
  };

  // `manifests`: the existing ones, oldest first. Damaged ones, and those newer than the base that
  // belong to another generation, were passed over at the restore. They stay until this generation
  // has a checkpoint of its own, in case the lost parts come back.
  CheckpointRetention(Options options, std::vector<proto::Manifest> manifests,
                      int64_t done_batches);

  // Whether `every_steps` more batches are done than when the last checkpoint was due.
  bool Due(int64_t done_batches) const;
  // The due checkpoint was made, or skipped because another one is being written.
  void Passed(int64_t done_batches);

  // Every ps was asked to write this cut.
  void Begin(const proto::HeldCut& cut, uint64_t generation);
  bool writing() const { return cut_.has_value(); }
  bool Awaits(uint32_t ps) const { return writing() && !replies_.contains(ps); }
  void Reply(uint32_t ps, const proto::PersistReply& reply);

  // Returns nullopt while replies are missing. Otherwise ends the writing and returns the manifest,
  // which from now on counts as existing, or the first error, which names its ps.
  std::optional<absl::StatusOr<proto::Manifest>> TakeResult(int64_t unix_seconds);

  // Replaces the manifest with the same number. False: there is none any more.
  bool Update(const proto::Manifest& manifest);
  // Removes and returns all but the `keep` newest manifests, except `pinned` ones. Once this
  // generation has a checkpoint, it also returns those that were passed over.
  std::vector<proto::Manifest> TakeExpired(const std::set<uint64_t>& pinned);
  // Without those that were passed over, oldest first.
  const std::vector<proto::Manifest>& manifests() const { return manifests_; }
  // Including those that were passed over, oldest first.
  std::vector<proto::Manifest> all_manifests() const;

 private:
  const Options options_;
  std::vector<proto::Manifest> manifests_;
  std::vector<proto::Manifest> passed_over_;
  int64_t due_at_;
  std::optional<proto::HeldCut> cut_;
  uint64_t generation_ = 0;
  std::map<uint32_t, proto::PersistReply> replies_;
};

}  // namespace cairn::coordinator

#endif  // CAIRN_COORDINATOR_TRAINING_CHECKPOINT_RETENTION_H_
