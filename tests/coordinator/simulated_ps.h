#ifndef CAIRN_TESTS_COORDINATOR_SIMULATED_PS_H_
#define CAIRN_TESTS_COORDINATOR_SIMULATED_PS_H_

#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "proto/coordinator.pb.h"

namespace cairn::coordinator {

// A ps as the protocol describes it, reduced to its ledgers: a block's value is the number of times
// that a batch was applied to it. Memory dies with the process, the disk does not.
class SimulatedPs {
 public:
  struct Block {
    std::set<int64_t> settled;
    int64_t value = 0;
    // Synchronous: batches that wait for the rest of their update.
    std::set<int64_t> buffered;
    // With which learning rate each batch was applied; 0: the job's own.
    std::map<int64_t, double> rates;
    bool operator==(const Block&) const = default;
  };
  using Blocks = std::vector<Block>;

  SimulatedPs(uint32_t index, int blocks) : index_(index), block_count_(blocks) {}

  // A new process: all memory is gone.
  void Restart(uint64_t instance_id);

  proto::Join MakeJoin() const;
  // The answer, if the command has one. `disk_fails`: a Persist does.
  bool Handle(const proto::Command& command, bool disk_fails, proto::TaskMessage* answer);

  // What a push does. False: another generation, or nothing restored yet.
  bool Push(uint64_t job, uint64_t generation, int block, int64_t batch);
  bool IsSettled(int block, int64_t batch) const { return blocks_[block].settled.contains(batch); }
  bool HasJob(uint64_t job, uint64_t generation) const;
  // The learning rate that it knows for a batch; 0: the job's own.
  double RateOf(int64_t batch) const;

  const Blocks& blocks() const { return blocks_; }
  const std::map<uint64_t, Blocks>& cuts() const { return cuts_; }
  std::map<uint64_t, Blocks>& disk() { return disk_; }
  uint64_t duplicates() const { return duplicates_; }

 private:
  proto::LedgerReply Ledger() const;
  void Settle(Block* block, int64_t batch);

  const uint32_t index_;
  const int block_count_;
  uint64_t instance_id_ = 0;
  proto::JobPlan plan_;
  uint64_t generation_ = 0;  // 0: nothing restored.
  uint64_t duplicates_ = 0;
  std::vector<proto::RateChange> rates_;
  Blocks blocks_;
  std::map<uint64_t, Blocks> cuts_;
  std::map<uint64_t, Blocks> disk_;
};

// The number of the update that a batch belongs to, and the batches of an update, by the rule of
// doc/architecture.md.
int64_t UpdateOf(const proto::JobPlan& plan, int64_t batch);
std::vector<int64_t> BatchesOfUpdate(const proto::JobPlan& plan, int64_t batch);

}  // namespace cairn::coordinator

#endif  // CAIRN_TESTS_COORDINATOR_SIMULATED_PS_H_
