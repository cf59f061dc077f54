#ifndef CAIRN_PS_SERVER_BLOCKS_CONSISTENCY_H_
#define CAIRN_PS_SERVER_BLOCKS_CONSISTENCY_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "ps_server/blocks/push_ledger.h"

namespace cairn::proto {
class JobPlan;
}

namespace cairn::ps {

// The job's rules in batch numbers, as pure functions: which batches make an update, and which
// values a batch may be computed on. Two numbers of the plan decide (see JobPlan): asynchronous
// (window -1), stale synchronous (window >= 0), synchronous (batches_per_update G). A value.
//
// Synchronous updates never cross an epoch: with B batches per epoch there are U = ceil(B / G) in
// each, and the last one may have fewer than G batches, as has the last one of the job.
class Consistency {
 public:
  struct BatchRange {
    int64_t first = 0;
    int64_t count = 0;
  };

  // What a block may say to a pull.
  enum class Answer {
    kCurrent,   // its values are right for the batch
    kPrevious,  // right are the values before its last update
    kSettled,   // the batch's update is in and its version gone (synchronous only)
    kLater,     // not yet
  };

  // InvalidArgument names the number that makes no sense.
  static absl::StatusOr<Consistency> Create(const proto::JobPlan& plan);

  bool synchronous() const { return synchronous_; }
  int64_t total_batches() const { return total_batches_; }

  // The synchronous update that `batch`, 0 <= batch < total_batches, belongs to, and its batches.
  int64_t UpdateOf(int64_t batch) const;
  BatchRange BatchesOf(int64_t update) const;

  // May a batch be computed on a block whose ledger is this? `has_previous`: the values before the
  // block's last update are still there.
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
