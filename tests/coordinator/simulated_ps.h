#ifndef CAIRN_TESTS_COORDINATOR_SIMULATED_PS_H_
#define CAIRN_TESTS_COORDINATOR_SIMULATED_PS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "proto/coordinator.pb.h"

namespace cairn::coordinator {

// A model of a ps, written from the protocol and reduced to its ledgers: a block's value is the
// number of times that a batch, other than a rejected one, was applied to it. Memory is lost with
// the process; the disk is not. In a replicated job every ps has a replica of every block of the
// others; an update is applied when all of them have received it, one in each Step.
class SimulatedPs {
 public:
  // The ps of the cluster, by index. Changes when the cluster does.
  using Cluster = std::vector<SimulatedPs*>;

  struct Block {
    std::set<int64_t> applied;
    int64_t value = 0;
    // Synchronous: the batches that are buffered until their update is complete.
    std::set<int64_t> buffered;
    // Batches that were pushed without gradients.
    std::set<int64_t> rejected;
    // The learning rate with which each batch was applied; 0: the job's own.
    std::map<int64_t, double> rates;
    bool operator==(const Block&) const = default;
  };
  using Blocks = std::map<uint32_t, Block>;  // By id in the job's partition.
  // A part of a checkpoint, on any ps: (checkpoint, part).
  using Disk = std::map<std::pair<uint64_t, uint32_t>, Blocks>;

  // `cluster` must outlive it; it reads snapshots of other ps there.
  SimulatedPs(uint32_t index, const Cluster* cluster) : index_(index), cluster_(*cluster) {}

  // Starts a new process: all memory is lost.
  void Restart(uint64_t instance_id);

  proto::Join MakeJoin() const;
  // Returns the reply, if the command has one. `disk_fails`: writes to the disk fail.
  bool Handle(const proto::Command& command, bool disk_fails, proto::TaskMessage* answer);

  // While the disk hangs, writes wait, unanswered, in unwritten().
  void set_disk_hangs(bool hangs) { disk_hangs_ = hangs; }
  const std::vector<proto::Persist>& unwritten() const { return unwritten_; }

  // While reads hang, nothing is listed or loaded from the own disk. The answers follow with the
  // heartbeats after that.
  void set_reads_hang(bool hang) { reads_hang_ = hang; }

  // Nothing that it sends to another ps arrives, or everything does.
  void SetReaches(uint32_t ps, bool reaches) {
    if (reaches) {
      unreached_.erase(ps);
    } else {
      unreached_.insert(ps);
    }
  }

  // Not 0: memory is short for a block of this size whenever a job is loaded.
  void set_exhausted_bytes(uint64_t bytes) { exhausted_bytes_ = bytes; }

  // The bytes of initial values that it takes for this job.
  uint64_t expected_upload(uint64_t job) const {
    const auto found = expected_uploads_.find(job);
    return found == expected_uploads_.end() ? 0 : found->second;
  }

  // Sends an update to a replica that lacks it, if there is one, or applies it.
  void Step();
  // Whether it could offer all blocks of a replicated job.
  bool HasAllBlocks() const;

  // Applies a push. False: another generation, or nothing restored yet.
  bool Push(uint64_t job, uint64_t generation, uint32_t block, int64_t batch,
            bool rejected = false);
  bool IsApplied(uint32_t block, int64_t batch) const;
  bool HasJob(uint64_t job, uint64_t generation) const;
  // The learning rate known for a batch; 0: the job's own.
  double RateOf(int64_t batch) const;

  const Blocks& blocks() const { return blocks_; }
  const std::map<uint64_t, Blocks>& cuts() const { return checkpointer_; }
  Disk& disk() { return disk_; }
  uint64_t duplicates() const { return duplicates_; }

 private:
  // The versions of a block: at most one of the others beside the current one.
  struct Versions {
    Block current;
    std::optional<Block> previous;
    std::optional<Block> next;
  };
  using Replicas = std::map<uint32_t, Versions>;

  // All blocks in memory: of the current generation, or what was kept of an older one.
  Replicas All() const;
  static std::optional<std::pair<int64_t, int64_t>> RangeOf(const Replicas& all);
  static const Block* AtVersion(const Replicas& all, uint32_t id, int64_t version);
  static int64_t VersionOf(const Block& block);
  void Receive(uint32_t id, const Block& from, const Block& result);
  // The others that have blocks of the job.
  std::vector<SimulatedPs*> Peers() const;
  bool RestoreReplicas(const proto::Restore& restore, Blocks* blocks);
  void OfferReplicas(const proto::OfferReplicas& command, proto::ReplicaOffer* offer);
  Block Updated(const Block& block, int64_t first, int64_t end);
  bool ReadsOwnDisk(const proto::Command& command) const;
  void Restore(const proto::Restore& restore, proto::RestoreReply* reply);
  // nullptr if none of the named holders has it.
  const Blocks* FindPart(const proto::Restore& restore, uint32_t part) const;
  proto::LedgerReply Ledger() const;
  void MarkApplied(Block* block, int64_t batch);

  const uint32_t index_;
  const Cluster& cluster_;
  std::set<uint32_t> unreached_;
  uint64_t instance_id_ = 0;
  proto::JobPlan plan_;
  uint64_t generation_ = 0;  // 0: nothing restored.
  uint64_t duplicates_ = 0;
  std::vector<proto::RateChange> rates_;
  Blocks blocks_;
  bool replicated_ = false;
  Blocks previous_;    // Own blocks before their last update.
  Replicas replicas_;  // Of the blocks of others.
  Replicas kept_;      // Of an older generation.
  uint64_t kept_generation_ = 0;
  uint64_t kept_job_ = 0;
  std::map<uint64_t, Blocks> checkpointer_;
  Disk disk_;
  bool disk_hangs_ = false;
  std::vector<proto::Persist> unwritten_;
  bool reads_hang_ = false;
  std::vector<proto::Command> unread_;
  uint64_t exhausted_bytes_ = 0;
  std::map<uint64_t, uint64_t> expected_uploads_;  // By job.
};

// The manifest entry of such a snapshot.
proto::SnapshotPart DescribePart(uint32_t ps, const SimulatedPs::Blocks& blocks);

// The number of a batch's update, and the batches [first, end) of that update, by the rule in
// doc/architecture.md.
int64_t UpdateOf(const proto::JobPlan& plan, int64_t batch);
std::pair<int64_t, int64_t> RangeOfUpdate(const proto::JobPlan& plan, int64_t batch);

}  // namespace cairn::coordinator

#endif  // CAIRN_TESTS_COORDINATOR_SIMULATED_PS_H_
