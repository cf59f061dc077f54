#ifndef CAIRN_COORDINATOR_TRAINING_CHECKPOINT_WRITE_H_
#define CAIRN_COORDINATOR_TRAINING_CHECKPOINT_WRITE_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "cluster/partition_map.h"
#include "coordinator/outbox.h"
#include "proto/checkpoint.pb.h"
#include "proto/coordinator.pb.h"
#include "proto/job.pb.h"
#include "proto/journal.pb.h"

namespace cairn::coordinator {

// Writes one kept cut as a checkpoint: every ps writes its part, and the manifest is built from
// their replies. Pure state machine, not thread-safe.
class CheckpointWrite {
 public:
  // `plan` must outlive it. `cut` is journaled, so a restarted coordinator writes it again.
  CheckpointWrite(const proto::JobPlan* plan, uint64_t generation, proto::KeptCut cut)
      : plan_(*plan),
        members_(cluster::MembersOf(plan->partition())),
        generation_(generation),
        cut_(std::move(cut)) {}

  // Tells every ps to write its part.
  void Begin(Outbox* outbox) const;
  // Repeats the command to a ps that has not replied: its stream broke, so it may be lost.
  void PsReconnected(uint32_t ps, Outbox* outbox) const;
  // Ignores replies of another cut or generation.
  void Reply(uint32_t ps, const proto::PersistReply& reply);
  bool complete() const { return replies_.size() == members_.size(); }

  // When the wait for the ps began: the time of the first call.
  absl::Duration begun_at(absl::Duration now);
  // Replies for the ps that have not replied and that `hangs`.
  void GiveUp(absl::FunctionRef<bool(uint32_t ps)> hangs, const std::string& why);

  // The manifest, or the first error, which names its ps. Requires complete().
  absl::StatusOr<proto::Manifest> Result(int64_t unix_seconds) const;

 private:
  proto::Command Command() const;

  const proto::JobPlan& plan_;
  const std::vector<uint32_t> members_;  // The ps that take part.
  const uint64_t generation_;
  const proto::KeptCut cut_;
  std::optional<absl::Duration> begun_at_;
  std::map<uint32_t, proto::PersistReply> replies_;
};

}  // namespace cairn::coordinator

#endif  // CAIRN_COORDINATOR_TRAINING_CHECKPOINT_WRITE_H_
