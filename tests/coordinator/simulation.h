#ifndef CAIRN_TESTS_COORDINATOR_SIMULATION_H_
#define CAIRN_TESTS_COORDINATOR_SIMULATION_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
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
// simulated ps and workers that are killed, suspended and disconnected at random. The course of
// events depends only on the seed. Invariants are checked at every step (gtest failures).
class Simulation {
 public:
  struct Options {
    uint64_t seed = 1;
    int ps = 2;
    int workers = 3;
    int64_t examples = 100;  // Training examples.
    proto::Job job;
    // Expected number of each fault per simulated minute, during the first `fault_time`.
    double worker_kills = 0;
    double worker_stops = 0;
    double broken_streams = 0;
    double ps_kills = 0;
    double coordinator_kills = 0;
    double disk_failures = 0;  // Probability that a snapshot or a copy cannot be written.
    double disk_losses = 0;    // A ps dies and returns with an empty disk.
    double worker_hangs = 0;   // The trainer of a live process stands still for up to 40 s.
    double disk_hangs = 0;     // A ps that lives writes and copies nothing for up to 40 s.
    absl::Duration progress_timeout = absl::Seconds(60);
    absl::Duration fault_time = absl::Seconds(60);
    std::string journal_directory;
  };

  explicit Simulation(const Options& options);

  // Runs until job 1 is over. False: it was not after an hour of simulated time.
  bool Run();
  // Runs until the condition holds.
  bool RunUntil(const std::function<bool()>& condition);
  void Submit(const proto::Job& job, bool uploads_weights = false);
  // Kills the task's process and starts another; also for the coordinator.
  void KillPs(int index);
  // Kills the process for good.
  void KillWorkerForGood(int index);
  // Breaks the stream; the process reconnects on another one.
  void BreakStream(int ps);
  void KillCoordinator();
  // A disconnected ps stays disconnected for this time, whatever else happens.
  void KeepAway(int ps, absl::Duration time) { endpoints_[ps]->away_until = now_ + time; }
  // A ps does not reach another one, and says so with its heartbeats.
  void BreakLink(int from, int to);
  void MendLinks();
  void KillEverything();
  // Kills the ps; its next process finds an empty disk. Returns what was on the disk.
  SimulatedPs::Disk LoseDisk(int ps);
  // Kills everything and starts a cluster of this many ps. Removed ps keep their disks,
  // unreachable.
  void Resize(int ps);
  // Whether the newest checkpoint has all the copies that it can have.
  bool HasCompleteCopies();
  // The checkpoints that exist, and those of which any ps has something on its disk.
  std::set<uint64_t> Checkpoints();
  std::set<uint64_t> CheckpointsOnDisk() const;
  SimulatedPs& ps(int index) { return *ps_[index]; }
  // Of any cluster so far, by index.
  SimulatedPs& former_ps(int index) { return *all_ps_[index]; }
  SimulatedWorker& worker(int index) { return *endpoints_[ps_.size() + index]->worker; }
  // Carries out the effects of the test's own calls to the scheduler.
  void Do(const std::function<void(Scheduler*, EventTime, Outbox*)>& request);
  proto::JobStatus Status(const std::string& job = "1");
  absl::Duration now() const { return now_; }
  // Checks everything that must hold for a finished job.
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
    absl::Duration away_until;
    absl::Duration stopped_until;  // SIGSTOP.
    absl::Duration heartbeat_at;
    // While it lives: its trainer, or its disk, stands still.
    absl::Duration hangs_since;
    absl::Duration hangs_until;
    std::map<uint32_t, absl::Duration> unreached_since;  // By ps.
    std::deque<proto::Command> inbox;
    std::deque<proto::TaskMessage> outbox;
  };

  bool Chance(double per_minute);
  uint64_t Below(uint64_t bound) { return RandomBelow(options_.seed, ++draws_, bound); }
  EventTime Now() const { return {now_, absl::ToInt64Seconds(now_)}; }

  void StartPs(int count);
  void StartCoordinator();
  void RestartProcess(Endpoint* endpoint);
  void Disconnect(Endpoint* endpoint);
  static void SetHangs(Endpoint* endpoint, bool hangs);
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
  std::vector<std::unique_ptr<SimulatedPs>> all_ps_;  // All that ever existed.
  SimulatedPs::Cluster ps_;                           // The current cluster.
  uint64_t last_session_ = 0;
  uint64_t last_instance_ = 0;
  bool disks_lost_ = false;
  bool crash_ = false;  // The coordinator dies at its next decision.
};

}  // namespace cairn::coordinator

#endif  // CAIRN_TESTS_COORDINATOR_SIMULATION_H_
