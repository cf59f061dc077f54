#ifndef CAIRN_COORDINATOR_TRAINING_CHECKPOINT_COPIES_H_
#define CAIRN_COORDINATOR_TRAINING_CHECKPOINT_COPIES_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "proto/checkpoint.pb.h"
#include "proto/coordinator.pb.h"

namespace cairn::coordinator {

// Drives the second copies of snapshots. The snapshot of ps i is copied by its neighbor, ps (i + 1)
// % n, once the checkpoint exists. Pure state machine: the caller sends the orders. Not
// thread-safe.
class CheckpointCopies {
 public:
  // `copies`: on how many ps a snapshot is stored. With 1, or with one ps, nothing is copied.
  CheckpointCopies(uint32_t ps_count, int64_t copies)
      : ps_count_(ps_count), wanted_(copies > 1 && ps_count > 1) {}

  // An order for one ps to copy one part.
  struct Order {
    uint32_t ps = 0;
    uint64_t checkpoint = 0;
    proto::SnapshotPart part;
  };

  // The checkpoint exists. Returns the orders for its parts that have blocks and no copy yet.
  std::vector<Order> Begin(const proto::Manifest& manifest);
  // The orders that this ps has not answered. Its stream broke, so they may be lost.
  std::vector<Order> OrdersOf(uint32_t ps) const;
  // Ignores a reply to no order, or to one that is already answered.
  void Reply(uint32_t ps, const proto::CopyReply& reply);

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
  };

  const uint32_t ps_count_;
  const bool wanted_;
  std::map<uint64_t, Copying> under_way_;  // By checkpoint.
};

}  // namespace cairn::coordinator

#endif  // CAIRN_COORDINATOR_TRAINING_CHECKPOINT_COPIES_H_
