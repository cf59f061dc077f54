#include "tests/coordinator/live_task.h"

#include <utility>
#include <vector>

namespace cairn::coordinator {

LiveTask::LiveTask(const std::string& coordinator, Behaviour behaviour, Mutex* mutex)
    : behaviour_(std::move(behaviour)), shared_(mutex) {
  cluster::SessionOptions options;
  options.address = coordinator;
  options.make_join = [this] {
    MutexLock lock(shared_);
    return behaviour_.make_join();
  };
  session_ = std::make_unique<cluster::TaskSession>(std::move(options), this);
}

LiveTask::~LiveTask() { session_->Stop(); }

void LiveTask::Send(std::vector<proto::TaskMessage> messages) {
  for (proto::TaskMessage& message : messages) session_->Send(std::move(message));
}

bool LiveTask::connected() {
  MutexLock lock(&mutex_);
  return connected_;
}

std::string LiveTask::refused() {
  MutexLock lock(&mutex_);
  return refused_.reason();
}

bool LiveTask::refused_permanently() {
  MutexLock lock(&mutex_);
  return refused_.permanent();
}

void LiveTask::OnWelcome(const proto::Welcome& welcome) {
  proto::Command command;
  *command.mutable_welcome() = welcome;
  OnCommand(command);
  MutexLock lock(&mutex_);
  connected_ = true;
}

void LiveTask::OnCommand(const proto::Command& command) {
  std::vector<proto::TaskMessage> answers;
  {
    MutexLock lock(shared_);
    behaviour_.handle(command, &answers);
  }
  Send(std::move(answers));
}

void LiveTask::OnDisconnected(const absl::Status&) {
  MutexLock lock(&mutex_);
  connected_ = false;
}

void LiveTask::OnRefused(const proto::Refused& refused) {
  MutexLock lock(&mutex_);
  refused_ = refused;
}

}  // namespace cairn::coordinator
