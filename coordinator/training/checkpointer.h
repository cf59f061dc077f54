#ifndef CAIRN_COORDINATOR_TRAINING_CHECKPOINTER_H_
#define CAIRN_COORDINATOR_TRAINING_CHECKPOINTER_H_

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

// When a checkpoint is due, what the one that is being written still waits for, and which ones are
// kept. A checkpoint exists when its manifest does, which is made of the answers of all ps. A pure
// machine, not thread-safe.
class Checkpointer {
 public:
  struct Options {
    uint64_t job_id = 0;
    int64_t every_steps = 0;  // 0: none but those that are asked for.
    size_t keep = 3;
    uint32_t ps_count = 1;
    // This one, and the checkpoint that it began from.
    uint64_t generation = 0;
    uint64_t base_checkpoint = 0;
  };

  // `manifests`: what there is, oldest first. Those that are damaged, or newer than the base and
  // not of this generation, were passed over: they stay until the next checkpoint, in case that
  // what was lost comes back.
  Checkpointer(Options options, std::vector<proto::Manifest> manifests, int64_t done_batches);

  // Whether `every_steps` more batches are done than when the last one was due.
  bool Due(int64_t done_batches) const;
  // It was made, or skipped because another one is being written.
  void Passed(int64_t done_batches);

  // Every ps was asked to write this cut.
  void Begin(const proto::HeldCut& cut, uint64_t generation);
  bool writing() const { return cut_.has_value(); }
  bool Awaits(uint32_t ps) const { return writing() && !replies_.contains(ps); }
  void Reply(uint32_t ps, const proto::PersistReply& reply);

  // nullopt while answers are missing. Else the writing is over: a manifest, which is counted as
  // existing from now on, or the first error of a ps, which it names.
  std::optional<absl::StatusOr<proto::Manifest>> TakeResult(int64_t unix_seconds);

  // Puts it in the place of the one of the same number. False: there is none any more.
  bool Update(const proto::Manifest& manifest);
  // Takes out of manifests() those beyond the `keep` newest, but for checkpoints that are `pinned`;
  // and if this generation has made one, those that were passed over.
  std::vector<proto::Manifest> TakeSurplus(const std::set<uint64_t>& pinned);
  // Without those that were passed over.
  const std::vector<proto::Manifest>& manifests() const { return manifests_; }
  // With them, oldest first.
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

#endif  // CAIRN_COORDINATOR_TRAINING_CHECKPOINTER_H_
