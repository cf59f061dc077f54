#ifndef CAIRN_WORKER_LEASE_QUEUE_H_
#define CAIRN_WORKER_LEASE_QUEUE_H_

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "proto/coordinator.pb.h"

namespace cairn::worker {

// The batches that the coordinator has leased to this worker: those that wait, and those that are
// started (computed, but not yet acknowledged by every ps). The smallest number is always next:
// batches of later updates wait for those of earlier ones. Memory grows with splits, not with
// batches. Not thread-safe.
class LeaseQueue {
 public:
  // Empty again: what was leased belongs to others.
  void Clear();

  // Batches that are here already stay here once. Splits that hold no batches are ignored.
  void Add(const proto::Split& split);

  // The smallest batch that waits.
  std::optional<int64_t> Next() const;
  // Starts it: it is then among started().
  std::optional<int64_t> Start();
  // A batch that was started and could not go on waits again.
  void PutBack(int64_t batch);
  // A started batch is settled, or is none of ours any more. Unknown ones are ignored.
  void Finish(int64_t batch);

  // Takes everything that waits away.
  std::vector<proto::Split> TakeWaiting();
  // Everything that is leased, started or not.
  std::vector<proto::Split> Holding() const;

  int64_t waiting() const { return waiting_count_; }
  const std::set<int64_t>& started() const { return started_; }

 private:
  // By their first batch, which no two share.
  std::map<int64_t, proto::Split> waiting_;
  int64_t waiting_count_ = 0;
  std::set<int64_t> started_;
};

}  // namespace cairn::worker

#endif  // CAIRN_WORKER_LEASE_QUEUE_H_
