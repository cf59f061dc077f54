#ifndef CAIRN_TESTS_SCHEDULES_SIMULATED_PS_H_
#define CAIRN_TESTS_SCHEDULES_SIMULATED_PS_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "parameters/blocks/block.h"
#include "parameters/replica_set.h"
#include "tests/schedules/simulated_process.h"

namespace cairn::schedules {

// A request of a worker to a block.
struct BlockRequest {
  uint64_t generation = 0;
  int64_t batch = 0;
  uint32_t block = 0;
  bool is_push = false;
  bool early = false;  // A pull of the worker whose replicas are there.
  bool over = false;   // The worker no longer waits for the answer.
};

// A reduced update on its way to the replicas of its block.
struct Replication {
  uint32_t owner = 0;     // The ps of the block.
  uint64_t instance = 0;  // Of the owner.
  uint64_t generation = 0;
  uint32_t block = 0;
  parameters::ReducedBlock update;
  std::set<uint32_t> missing;  // The ps that have not acknowledged it.
  bool over = false;
};

// The real blocks with ledgers, updates, consistency and replicas. Its disk stays when it dies;
// with the power goes what is not synced.
class SimulatedPs final : public SimulatedProcess {
 public:
  // `all`: the ps of the cluster.
  SimulatedPs(SimulatedWorld* world, SimulatedCoordinator* coordinator, uint32_t index,
              std::deque<SimulatedPs>* all, const Planted& planted)
      : SimulatedProcess(world, coordinator, proto::PS, index), all_(*all), planted_(planted) {}
  ~SimulatedPs() override { DropJob(); }

  // A request arrives. `buffered`: the worker knows that the gradient has been buffered. Calls
  // `answer` when an answer arrives at the worker over `link`: never, if one of the two is lost.
  void Serve(std::shared_ptr<const BlockRequest> request, bool buffered, Link* link,
             std::function<void(parameters::BlockReply)> answer);

  void LosePower() override;

  // Of all its blocks; empty if it has no job.
  std::vector<parameters::BlockState> Capture() const;
  // Of its replicas after the last update that it has received.
  std::vector<parameters::BlockState> CaptureReplicas() const;

 private:
  void OnDeath() override { DropJob(); }
  void FillJoin(proto::Join* join) override;
  void FillHeartbeat(proto::Heartbeat* heartbeat) override {
    heartbeat->set_disk_progress(disk_progress_);
  }
  void Handle(const proto::Command& command) override;

  // What it has in memory, or null. As ParameterStore::replicas().
  std::shared_ptr<const parameters::ReplicaSet> Replicas() const;
  void Replicate(parameters::ReducedBlock update);
  void SendUpdate(const std::shared_ptr<Replication>& replication, uint32_t to);
  void ReceiveUpdate(const std::shared_ptr<Replication>& replication);
  void UpdateReceived(const std::shared_ptr<Replication>& replication, uint32_t by,
                      const absl::Status& status);
  void OfferReplicas(const proto::OfferReplicas& command);
  // Null: a state is missing.
  std::optional<std::vector<parameters::BlockState>> LoadStates(
      const proto::Restore& restore, const parameters::JobLayout& layout) const;
  std::vector<std::unique_ptr<parameters::Block>> MakeBlocks(
      const parameters::JobLayout& layout, const parameters::UpdateRule* rule, bool replicas,
      std::vector<parameters::BlockState> states);
  SnapshotDisk* disk() { return &world()->disks[index()]; }
  void Restore(const proto::Restore& restore);
  void DropJob();
  proto::LedgerReply Ledger() const;
  void MakeCut(const proto::Cut& cut);
  void Persist(const proto::Persist& persist);
  void Copy(const proto::CopySnapshot& copy);
  void WriteWhenPossible(std::function<void()> write);
  absl::Duration SyncTime();
  void SyncThenSend(proto::TaskMessage message);

  std::deque<SimulatedPs>& all_;
  const Planted planted_;
  uint64_t generation_ = 0;
  uint64_t checkpoint_ = 0;
  std::shared_ptr<const parameters::JobLayout> layout_;
  std::unique_ptr<parameters::UpdateRule> rule_;
  std::vector<std::unique_ptr<parameters::Block>> blocks_;  // By position.
  // If the job is replicated.
  std::shared_ptr<const parameters::JobLayout> replica_layout_;
  std::unique_ptr<parameters::UpdateRule> replica_rule_;
  std::vector<std::unique_ptr<parameters::Block>> replicas_;
  std::shared_ptr<const parameters::ReplicaSet> kept_;  // Of a generation that has ended.
  uint64_t offered_to_ = 0;  // The newest generation that asked for replicas.
  std::map<uint64_t, std::vector<parameters::BlockState>> cuts_;
  uint64_t disk_progress_ = 0;
};

}  // namespace cairn::schedules

#endif  // CAIRN_TESTS_SCHEDULES_SIMULATED_PS_H_
