#ifndef CAIRN_TESTS_SCHEDULES_SIMULATED_COORDINATOR_H_
#define CAIRN_TESTS_SCHEDULES_SIMULATED_COORDINATOR_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "coordinator/outbox.h"
#include "coordinator/scheduler.h"
#include "proto/coordinator.pb.h"
#include "storage/journal.h"
#include "tests/schedules/simulated_process.h"
#include "tests/schedules/simulated_world.h"

namespace cairn::schedules {

// The real scheduler with its journal, the streams of the processes, and one job. It dies and
// starts again. With the power goes what the journal has not synced.
class SimulatedCoordinator {
 public:
  // Both must outlive it.
  SimulatedCoordinator(SimulatedWorld* world, storage::Journal* journal, const Planted& planted)
      : world_(world), journal_(*journal), planted_(planted) {}

  // `processes`: all ps, then all workers.
  void Start(std::vector<SimulatedProcess*> processes);
  // Submits the job, and ticks from now on.
  void Submit(const proto::Job& job);

  bool is_up() const { return scheduler_ != nullptr; }
  bool job_finished() const { return job_finished_; }
  // The tasks notice at once, and connect again when it is back.
  void Kill();
  void KillAtNextDecision() { crash_ = true; }
  // Of its machine.
  void LosePower();
  // Soon after a write that is not synced.
  void LosePowerAtNextWrite() { loses_power_ = true; }

  // ---- streams
  // Returns the session of the new stream.
  uint64_t Accept(SimulatedProcess* process);
  void OnMessage(uint64_t session, const proto::TaskMessage& message);
  void OnStreamEnd(uint64_t session);

 private:
  using Event =
      std::function<void(coordinator::Scheduler*, coordinator::EventTime, coordinator::Outbox*)>;

  void TrySubmit();
  void StartScheduler();
  void Turn(const Event& event);
  void Write(const coordinator::Outbox& outbox);
  void CarryOut(coordinator::Outbox* outbox);
  void SendTo(uint64_t session, const proto::Command& command, bool close);
  void Tick();

  SimulatedWorld* const world_;
  storage::Journal& journal_;
  JournalDisk disk_;
  const Planted planted_;
  std::vector<SimulatedProcess*> processes_;
  std::unique_ptr<coordinator::Scheduler> scheduler_;
  bool crash_ = false;  // At the next decision.
  bool loses_power_ = false;
  bool job_finished_ = false;
  coordinator::ValidatedJob submitted_;
  uint64_t last_session_ = 0;
  std::map<uint64_t, SimulatedProcess*> streams_;
};

}  // namespace cairn::schedules

#endif  // CAIRN_TESTS_SCHEDULES_SIMULATED_COORDINATOR_H_
