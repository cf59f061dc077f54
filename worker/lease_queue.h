#ifndef CAIRN_WORKER_LEASE_QUEUE_H_
#define CAIRN_WORKER_LEASE_QUEUE_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "proto/coordinator.pb.h"

namespace cairn::worker {

// The batches that the coordinator has leased to this worker. A batch is waiting until it starts,
// and started until every ps has acknowledged it.
//
// The smallest waiting batch always starts next: the ps may withhold values for a later update
// until the earlier ones are applied. Memory grows with the number of splits, not of batches.
// Not thread-safe.
class LeaseQueue {
 public:
  // Removes everything, when the leases have ended.
  void Clear();

  // Adds the batches of a split. Its leading batches that are in the queue already are skipped, as
  // are splits without batches.
  void Add(const proto::Split& split);

  // The smallest waiting batch.
  std::optional<int64_t> Next() const;
  // The waiting batches that start next, in this order; at most `count`.
  std::vector<int64_t> Upcoming(size_t count) const;
  // The waiting batch that comes `others` later, if splits were started one after the other; the
  // last one if there are fewer.
  std::optional<int64_t> Ahead(int64_t others) const;
  // Starts the smallest waiting batch and returns it.
  std::optional<int64_t> Start();
  // Returns a started batch to the waiting ones.
  void ReturnBatch(int64_t batch);
  // Removes a started batch. Ignores unknown batches.
  void Finish(int64_t batch);

  // Removes and returns all waiting batches.
  std::vector<proto::Split> TakeWaiting();
  // All leased batches, started ones included.
  std::vector<proto::Split> Holding() const;

  int64_t waiting() const { return waiting_count_; }
  const std::set<int64_t>& started() const { return started_; }

 private:
  // Keyed by first batch, which is unique.
  std::map<int64_t, proto::Split> waiting_;
  int64_t waiting_count_ = 0;
  std::set<int64_t> started_;
};

}  // namespace cairn::worker

#endif  // CAIRN_WORKER_LEASE_QUEUE_H_
