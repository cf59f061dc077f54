#ifndef CAIRN_TESTS_COORDINATOR_SIMULATION_H_
#define CAIRN_TESTS_COORDINATOR_SIMULATION_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "common/random.h"
#include "coordinator/outbox.h"
#include "coordinator/scheduler.h"
#include "proto/coordinator.pb.h"
#include "storage/journal.h"
#include "tests/coordinator/simulated_ps.h"
#include "tests/coordinator/simulated_worker.h"

namespace cairn::coordinator {

// A whole cluster in one thread and simulated time: the real scheduler with its real journal, and
// simulated ps and workers that are killed, stopped and cut off at random. One seed, one course of
// events. What must never happen is checked as it goes (gtest failures).
class Simulation {
 public:
  struct Options {
    uint64_t seed = 1;
    int ps = 2;
    int workers = 3;
    int64_t examples = 100;  // Of the training data.
    proto::Job job;
    // Expected number of each in a simulated minute, during the first `fault_time`.
    double worker_kills = 0;
    double worker_stops = 0;
    double broken_streams = 0;
    double ps_kills = 0;
    double coordinator_kills = 0;
    double disk_failures = 0;  // Probability that a snapshot or a copy cannot be written.
    double disk_losses = 0;    // A ps dies, and comes back with an empty disk.
    absl::Duration fault_time = absl::Seconds(60);
    std::string journal_directory;
  };

  explicit Simulation(const Options& options);

  // Until job 1 is over. False: it was not after an hour of simulated time.
  bool Run();
  // The same for any condition.
  bool RunUntil(const std::function<bool()>& condition);
  void Submit(const proto::Job& job, bool weights_follow = false);
  // The task's process dies and another one starts; also the coordinator's.
  void KillPs(int index);
  // It does not come back.
  void KillWorkerForGood(int index);
  // The process stays, and comes back on another stream.
  void BreakStream(int ps);
  void KillCoordinator();
  // A ps without a stream gets none for so long.
  void KeepAway(int ps, absl::Duration time) { endpoints_[ps]->connect_at = now_ + time; }
  void KillEverything();
  // The ps dies, and its next process finds an empty disk. What was on it.
  SimulatedPs::Disk LoseDisk(int ps);
  // Everything is killed, and a cluster with so many ps is started. Those that are no more keep
  // their disks, which nobody sees.
  void Resize(int ps);
  // The newest checkpoint has all the copies that it can have.
  bool HasCompleteCopies();
  // Which checkpoints there are, and of which something is on the disk of any ps.
  std::set<uint64_t> Checkpoints();
  std::set<uint64_t> CheckpointsOnDisk() const;
  SimulatedPs& ps(int index) { return *ps_[index]; }
  // Of any cluster that was, by index.
  SimulatedPs& former_ps(int index) { return *all_ps_[index]; }
  SimulatedWorker& worker(int index) { return *endpoints_[ps_.size() + index]->worker; }
  // Carries out what the test asked the scheduler for.
  void Do(const std::function<void(Scheduler*, Moment, Outbox*)>& request);
  proto::JobStatus Status(const std::string& job = "1");
  // Everything that must hold of a job that has finished.
  void CheckFinished();
  Scheduler& scheduler() { return *scheduler_; }
  storage::Journal& journal() { return *journal_; }

 private:
  // One process and its stream.
  struct Endpoint {
    SimulatedPs* ps = nullptr;
    std::unique_ptr<SimulatedWorker> worker;
    uint64_t session = 0;
    absl::Duration connect_at;
    absl::Duration stopped_until;  // SIGSTOP.
    absl::Duration heartbeat_at;
    std::deque<proto::Command> inbox;
    std::deque<proto::TaskMessage> outbox;
  };

  bool Chance(double per_minute);
  uint64_t Below(uint64_t bound) { return RandomBelow(options_.seed, ++draws_, bound); }
  Moment Now() const { return {now_, 0}; }

  void StartPs(int count);
  void StartCoordinator();
  void RestartProcess(Endpoint* endpoint);
  void Disconnect(Endpoint* endpoint);
  void Faults();
  void Kill(Endpoint* endpoint);
  void TellOfEnd(uint64_t session);
  void StepEndpoint(Endpoint* endpoint);
  void Connect(Endpoint* endpoint);
  void CarryOut(Outbox* outbox);
  void Deliver(uint64_t session, const proto::Command& command, bool close);
  void CheckGrant(const proto::Grant& grant);
  void CheckManifest(const proto::Manifest& manifest);
  bool IsOver();

  const Options options_;
  uint64_t draws_ = 0;
  absl::Duration now_ = absl::Seconds(100);
  std::unique_ptr<storage::Journal> journal_;
  std::unique_ptr<Scheduler> scheduler_;
  std::vector<std::unique_ptr<Endpoint>> endpoints_;  // First the ps, then the workers.
  std::vector<std::unique_ptr<SimulatedPs>> all_ps_;  // That ever were.
  SimulatedPs::Cluster ps_;                           // That are.
  uint64_t last_session_ = 0;
  uint64_t last_instance_ = 0;
  bool disks_lost_ = false;
  bool crash_ = false;  // The coordinator, at its next decision.
};

}  // namespace cairn::coordinator

#endif  // CAIRN_TESTS_COORDINATOR_SIMULATION_H_
