#ifndef CAIRN_TESTS_SCHEDULES_SIMULATED_PS_H_
#define CAIRN_TESTS_SCHEDULES_SIMULATED_PS_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "parameters/blocks/block.h"
#include "tests/schedules/simulated_process.h"

namespace cairn::schedules {

// A request of a worker to a block.
struct BlockRequest {
  uint64_t generation = 0;
  int64_t batch = 0;
  uint32_t block = 0;
  bool is_push = false;
  bool over = false;  // The worker no longer waits for the answer.
};

// The real blocks with ledgers, updates and consistency. Its disk stays when it dies.
class SimulatedPs final : public SimulatedProcess {
 public:
  SimulatedPs(SimulatedWorld* world, SimulatedCoordinator* coordinator, uint32_t index,
              bool ledger_off)
      : SimulatedProcess(world, coordinator, proto::PS, index), ledger_off_(ledger_off) {}
  ~SimulatedPs() override { DropJob(); }

  // A request arrives. `buffered`: the worker knows that the gradient has been buffered. Calls
  // `answer` when an answer arrives at the worker over `link`: never, if one of the two is lost.
  void Serve(std::shared_ptr<const BlockRequest> request, bool buffered, Link* link,
             std::function<void(parameters::BlockReply)> answer);

  // Of all its blocks; empty if it has no job.
  std::vector<parameters::BlockState> Capture() const;

 private:
  void OnDeath() override { DropJob(); }
  void FillJoin(proto::Join* join) override;
  void FillHeartbeat(proto::Heartbeat* heartbeat) override {
    heartbeat->set_disk_progress(disk_progress_);
  }
  void Handle(const proto::Command& command) override;

  Disk* disk() { return &world()->disks[index()]; }
  void Restore(const proto::Restore& restore);
  void DropJob();
  proto::LedgerReply Ledger() const;
  void MakeCut(const proto::Cut& cut);
  void Persist(const proto::Persist& persist);
  void Copy(const proto::CopySnapshot& copy);
  void WriteWhenPossible(std::function<void()> write);

  const bool ledger_off_;
  uint64_t generation_ = 0;
  uint64_t checkpoint_ = 0;
  std::shared_ptr<const parameters::JobLayout> layout_;
  std::unique_ptr<parameters::UpdateRule> rule_;
  std::vector<std::unique_ptr<parameters::Block>> blocks_;  // By position.
  std::map<uint64_t, std::vector<parameters::BlockState>> cuts_;
  uint64_t disk_progress_ = 0;
};

}  // namespace cairn::schedules

#endif  // CAIRN_TESTS_SCHEDULES_SIMULATED_PS_H_
