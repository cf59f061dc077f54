#ifndef CAIRN_COORDINATOR_TRAINING_CHECKPOINT_COPIES_H_
#define CAIRN_COORDINATOR_TRAINING_CHECKPOINT_COPIES_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/time/time.h"
#include "coordinator/outbox.h"
#include "proto/checkpoint.pb.h"
#include "proto/coordinator.pb.h"
#include "proto/job.pb.h"

namespace cairn::coordinator {

// Drives the second copies of snapshots. The snapshot of ps i is copied by its neighbor, the next
// ps that takes part in the job, once the checkpoint exists. With `copies: 1`, or with one ps,
// nothing is copied. Pure state machine, not thread-safe.
class CheckpointCopies {
 public:
  // `plan` must outlive it.
  CheckpointCopies(const proto::JobPlan* plan, uint64_t generation);

  // The checkpoint exists. Orders copies of its parts that have blocks and no copy yet.
  void Begin(const proto::Manifest& manifest, Outbox* outbox);
  // Repeats the orders that this ps has not answered: its stream broke, so they may be lost.
  void PsReconnected(uint32_t ps, Outbox* outbox) const;
  // Ignores a reply to no order, or to one that is already answered.
  void Reply(uint32_t ps, const proto::CopyReply& reply);

  // Replies for the ps that `hangs` and have not copied for `patience`, counted from the first
  // call.
  void GiveUp(absl::Duration now, absl::Duration patience,
              absl::FunctionRef<bool(uint32_t ps)> hangs, const std::string& why);

  bool idle() const { return under_way_.empty(); }

  struct Result {
    proto::Manifest manifest;  // Its parts list their copies.
    int64_t failed = 0;
    std::string error;  // The error of one failed copy; names the ps.
  };
  // Returns the oldest checkpoint whose copies are all finished, once.
  std::optional<Result> TakeResult();

 private:
  struct Copying {
    Result result;
    std::map<uint32_t, uint32_t> missing;  // Part -> the ps that copies it.
    std::optional<absl::Duration> begun_at;
  };

  // Orders the missing copies of a checkpoint; those of one ps if it is given.
  void SendOrders(const Copying& copying, std::optional<uint32_t> ps, Outbox* outbox) const;

  const proto::JobPlan& plan_;
  const uint64_t generation_;
  std::map<uint64_t, Copying> under_way_;  // By checkpoint.
};

}  // namespace cairn::coordinator

#endif  // CAIRN_COORDINATOR_TRAINING_CHECKPOINT_COPIES_H_
