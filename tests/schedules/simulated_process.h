#ifndef CAIRN_TESTS_SCHEDULES_SIMULATED_PROCESS_H_
#define CAIRN_TESTS_SCHEDULES_SIMULATED_PROCESS_H_

#include <algorithm>
#include <cstdint>
#include <functional>

#include "absl/time/time.h"
#include "proto/coordinator.pb.h"
#include "tests/schedules/simulated_world.h"

namespace cairn::schedules {

class SimulatedCoordinator;

// A ps or worker with its stream to the coordinator: it starts, connects, sends heartbeats, dies
// and starts again.
class SimulatedProcess {
 public:
  // Both must outlive the process.
  SimulatedProcess(SimulatedWorld* world, SimulatedCoordinator* coordinator, proto::Role role,
                   uint32_t index)
      : world_(world), coordinator_(coordinator), role_(role), index_(index) {}
  virtual ~SimulatedProcess() = default;

  void Start();
  // It starts again after a while.
  void Kill();
  // Of its machine.
  virtual void LosePower() { Kill(); }
  // As by SIGSTOP.
  void StopUntil(absl::Duration until) { stopped_until_ = until; }
  // Its trainer or its disk hangs.
  void HangUntil(absl::Duration until);

  bool is_connected() const { return session_ != 0; }
  // The coordinator learns of the end later, and reads what arrives before.
  void BreakStream();
  // A command arrives on this session after a delay, unless the session ends before. `close`: the
  // stream ends instead.
  void Receive(uint64_t session, const proto::Command& command, bool close);

  Link* incoming() { return &incoming_; }
  Link* outgoing() { return &outgoing_; }

 protected:
  // Not before the process continues, and not if it has died.
  void On(absl::Duration delay, std::function<void()> run);
  void Send(proto::TaskMessage message);

  virtual void OnStart() {}
  virtual void OnDeath() = 0;
  virtual void OnDisconnected() {}
  virtual void FillJoin(proto::Join* join) = 0;
  virtual void FillHeartbeat(proto::Heartbeat* heartbeat) = 0;
  virtual void Handle(const proto::Command& command) = 0;

  SimulatedWorld* world() const { return world_; }
  uint32_t index() const { return index_; }
  uint64_t instance() const { return instance_; }
  // Zero if it does not hang, or is not stopped.
  absl::Duration hangs_for() const { return Remaining(hangs_until_); }
  absl::Duration stopped_for() const { return Remaining(stopped_until_); }
  absl::Duration hangs_since() const { return hangs_since_; }

 private:
  void Connect();
  void SendHeartbeats();
  absl::Duration Remaining(absl::Duration until) const {
    return std::max(absl::ZeroDuration(), until - world_->now());
  }

  SimulatedWorld* const world_;
  SimulatedCoordinator* const coordinator_;
  const proto::Role role_;
  const uint32_t index_;
  uint64_t instance_ = 0;  // 0: dead.
  uint64_t session_ = 0;   // 0: no stream.
  Link incoming_;
  Link outgoing_;
  absl::Duration up_;  // When the last message in each direction arrives.
  absl::Duration down_;
  absl::Duration stopped_until_;
  absl::Duration hangs_until_;
  absl::Duration hangs_since_;
};

}  // namespace cairn::schedules

#endif  // CAIRN_TESTS_SCHEDULES_SIMULATED_PROCESS_H_
