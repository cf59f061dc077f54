#ifndef CAIRN_PS_SERVER_BLOCKS_CONSISTENCY_H_
#define CAIRN_PS_SERVER_BLOCKS_CONSISTENCY_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "ps_server/blocks/push_ledger.h"

namespace cairn::proto {
class JobPlan;
}

namespace cairn::ps {

// The consistency model of a job, as pure functions of batch numbers: which batches form an update,
// and on which values a batch may be computed. Two numbers of the plan (see JobPlan) determine it:
//   window -1                asynchronous
//   window >= 0              stale synchronous (bounded staleness)
//   batches_per_update G     synchronous
//
// Synchronous updates do not cross epochs. With B batches per epoch, an epoch has U = ceil(B / G)
// updates; its last update, and that of the job, may have fewer than G batches.
//
// Copyable. Thread-safe.
class Consistency {
 public:
  struct BatchRange {
    int64_t first = 0;
    int64_t count = 0;
  };

  // The answer of a block to a pull.
  enum class Answer {
    kCurrent,   // The current values are valid for the batch.
    kPrevious,  // The values before the last update are valid for it.
    kApplied,   // The batch's update has been applied and its version is gone (synchronous only).
    kLater,     // No valid values exist yet.
  };

  // InvalidArgument: a number of the plan is out of range; the message names it.
  static absl::StatusOr<Consistency> Create(const proto::JobPlan& plan);

  bool synchronous() const { return synchronous_; }
  int64_t total_batches() const { return total_batches_; }

  // The update of `batch`, 0 <= batch < total_batches, and the batches of an update. Synchronous
  // only.
  int64_t UpdateOf(int64_t batch) const;
  BatchRange BatchesOf(int64_t update) const;

  // Whether a block with this ledger has values on which `batch` may be computed. `has_previous`:
  // the block still has the values before its last update.
  Answer MayPull(int64_t batch, const PushLedger& ledger, bool has_previous) const;

 private:
  Answer MayPullSynchronous(int64_t batch, const PushLedger& ledger, bool has_previous) const;

  bool synchronous_ = false;
  int64_t window_ = -1;
  int64_t batches_per_update_ = 1;
  int64_t batches_per_epoch_ = 1;
  int64_t updates_per_epoch_ = 1;
  int64_t total_batches_ = 0;
};

}  // namespace cairn::ps

#endif  // CAIRN_PS_SERVER_BLOCKS_CONSISTENCY_H_
