#ifndef CAIRN_TESTS_COORDINATOR_SIMULATED_PS_H_
#define CAIRN_TESTS_COORDINATOR_SIMULATED_PS_H_

#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "proto/coordinator.pb.h"

namespace cairn::coordinator {

// A ps as the protocol describes it, reduced to its ledgers: a block's value is the number of times
// that a batch was applied to it. Memory dies with the process, the disk does not.
class SimulatedPs {
 public:
  // Of the cluster, by index; they change when the cluster does.
  using Cluster = std::vector<SimulatedPs*>;

  struct Block {
    std::set<int64_t> settled;
    int64_t value = 0;
    // Synchronous: batches that wait for the rest of their update.
    std::set<int64_t> buffered;
    // With which learning rate each batch was applied; 0: the job's own.
    std::map<int64_t, double> rates;
    bool operator==(const Block&) const = default;
  };
  using Blocks = std::map<uint32_t, Block>;  // By id in the job's partition.
  // A part of a checkpoint, with whichever ps: (checkpoint, part).
  using Disk = std::map<std::pair<uint64_t, uint32_t>, Blocks>;

  // `cluster` outlives it: whom it asks for snapshots.
  SimulatedPs(uint32_t index, const Cluster* cluster) : index_(index), cluster_(*cluster) {}

  // A new process: all memory is gone.
  void Restart(uint64_t instance_id);

  proto::Join MakeJoin() const;
  // The answer, if the command has one. `disk_fails`: what writes to it does.
  bool Handle(const proto::Command& command, bool disk_fails, proto::TaskMessage* answer);

  // While it hangs, what is to be written waits, unanswered, in unwritten().
  void set_disk_hangs(bool hangs) { disk_hangs_ = hangs; }
  const std::vector<proto::Persist>& unwritten() const { return unwritten_; }

  // What a push does. False: another generation, or nothing restored yet.
  bool Push(uint64_t job, uint64_t generation, uint32_t block, int64_t batch);
  bool IsSettled(uint32_t block, int64_t batch) const;
  bool HasJob(uint64_t job, uint64_t generation) const;
  // The learning rate that it knows for a batch; 0: the job's own.
  double RateOf(int64_t batch) const;

  const Blocks& blocks() const { return blocks_; }
  const std::map<uint64_t, Blocks>& cuts() const { return cuts_; }
  Disk& disk() { return disk_; }
  uint64_t duplicates() const { return duplicates_; }

 private:
  void Restore(const proto::Restore& restore, proto::RestoreReply* reply);
  // nullptr: nobody who is said to hold it does.
  const Blocks* FindPart(const proto::Restore& restore, uint32_t part) const;
  proto::LedgerReply Ledger() const;
  void Settle(Block* block, int64_t batch);

  const uint32_t index_;
  const Cluster& cluster_;
  uint64_t instance_id_ = 0;
  proto::JobPlan plan_;
  uint64_t generation_ = 0;  // 0: nothing restored.
  uint64_t duplicates_ = 0;
  std::vector<proto::RateChange> rates_;
  Blocks blocks_;
  std::map<uint64_t, Blocks> cuts_;
  Disk disk_;
  bool disk_hangs_ = false;
  std::vector<proto::Persist> unwritten_;
};

// What a manifest says of such a snapshot.
proto::SnapshotPart DescribePart(uint32_t ps, const SimulatedPs::Blocks& blocks);

// The number of the update that a batch belongs to, and the batches [first, end) of that update, by
// the rule of doc/architecture.md.
int64_t UpdateOf(const proto::JobPlan& plan, int64_t batch);
std::pair<int64_t, int64_t> RangeOfUpdate(const proto::JobPlan& plan, int64_t batch);

}  // namespace cairn::coordinator

#endif  // CAIRN_TESTS_COORDINATOR_SIMULATED_PS_H_
