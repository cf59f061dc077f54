#include "tests/schedules/simulated_process.h"

#include <algorithm>
#include <utility>

#include "tests/schedules/simulated_coordinator.h"

namespace cairn::schedules {

void SimulatedProcess::Start() {
  instance_ = world_->NewInstance();
  stopped_until_ = hangs_until_ = absl::ZeroDuration();
  OnStart();
  On(absl::Milliseconds(1 + world_->Below(30)), [this] { Connect(); });
  On(absl::Seconds(1), [this] { SendHeartbeats(); });
}

void SimulatedProcess::Kill() {
  if (instance_ == 0) return;
  BreakStream();
  instance_ = 0;
  OnDeath();
  world_->After(absl::Milliseconds(world_->Below(world_->Chance(0.2) ? 5000 : 300)), [this] {
    if (instance_ == 0) Start();
  });
}

void SimulatedProcess::HangUntil(absl::Duration until) {
  hangs_since_ = world_->now();
  hangs_until_ = until;
}

void SimulatedProcess::On(absl::Duration delay, std::function<void()> run) {
  world_->After(delay, [this, instance = instance_, run = std::move(run)]() mutable {
    if (instance_ != instance) return;
    if (world_->now() >= stopped_until_) return run();
    On(stopped_for(), std::move(run));
  });
}

void SimulatedProcess::Connect() {
  if (session_ != 0) return;
  if (!coordinator_->is_up()) {
    return On(absl::Milliseconds(50 + world_->Below(200)), [this] { Connect(); });
  }
  session_ = coordinator_->Accept(this);
  up_ = down_ = world_->now();
  proto::TaskMessage message;
  proto::Join& join = *message.mutable_join();
  join.set_role(role_);
  join.set_index(index_);
  join.set_instance_id(instance_);
  FillJoin(&join);
  Send(std::move(message));
}

void SimulatedProcess::BreakStream() {
  const uint64_t session = std::exchange(session_, 0);
  if (session != 0) {
    world_->After(world_->Delay(), [this, session] { coordinator_->OnStreamEnd(session); });
  }
  if (instance_ == 0) return;
  OnDisconnected();
  On(absl::Milliseconds(world_->Below(500)), [this] { Connect(); });
}

void SimulatedProcess::Send(proto::TaskMessage message) {
  if (session_ == 0) return;
  up_ = std::max(up_, world_->now() + world_->Delay());
  world_->At(up_, [this, session = session_, message = std::move(message)] {
    coordinator_->OnMessage(session, message);
  });
}

void SimulatedProcess::Receive(uint64_t session, const proto::Command& command, bool close) {
  if (session_ != session) return;
  down_ = std::max(down_, world_->now() + world_->Delay());
  On(down_ - world_->now(), [this, session, command, close] {
    if (session_ != session) return;
    if (close) return BreakStream();
    Handle(command);
  });
}

void SimulatedProcess::SendHeartbeats() {
  On(absl::Seconds(1), [this] { SendHeartbeats(); });
  proto::TaskMessage message;
  FillHeartbeat(message.mutable_heartbeat());
  Send(std::move(message));
}

}  // namespace cairn::schedules
