#ifndef CAIRN_COORDINATOR_TRAINING_SNAPSHOT_COPIES_H_
#define CAIRN_COORDINATOR_TRAINING_SNAPSHOT_COPIES_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "proto/checkpoint.pb.h"
#include "proto/coordinator.pb.h"

namespace cairn::coordinator {

// The second copies of snapshots: that of ps i is made by its neighbour, ps (i + 1) % n, after the
// checkpoint exists. What is still under way, and what came of it. A pure machine, not thread-safe.
class SnapshotCopies {
 public:
  // `copies`: on how many ps a snapshot should lie; with 1, or one ps, there is nothing to do.
  SnapshotCopies(uint32_t ps_count, int64_t copies)
      : ps_count_(ps_count), wanted_(copies > 1 && ps_count > 1) {}

  // One ps is to copy one part.
  struct Order {
    uint32_t ps = 0;
    uint64_t checkpoint = 0;
    proto::SnapshotPart part;
  };

  // The checkpoint exists. What is to be ordered: of the parts that hold blocks and have no copy.
  std::vector<Order> Begin(const proto::Manifest& manifest);
  // What this ps was ordered and has not answered: its stream was broken, it may not have heard.
  std::vector<Order> OrdersOf(uint32_t ps) const;
  // An answer to what was not ordered, or was answered before, changes nothing.
  void Reply(uint32_t ps, const proto::CopyReply& reply);

  bool idle() const { return under_way_.empty(); }

  struct Result {
    proto::Manifest manifest;  // Its parts say where their copies are.
    int64_t failed = 0;
    std::string error;  // Of one that failed, naming the ps.
  };
  // The oldest checkpoint of which nothing is under way any more, once.
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

#endif  // CAIRN_COORDINATOR_TRAINING_SNAPSHOT_COPIES_H_
