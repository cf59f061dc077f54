#include "coordinator/session_registry.h"

#include <utility>

namespace cairn::coordinator {

uint64_t SessionRegistry::Add(std::shared_ptr<OutgoingStream> stream) {
  MutexLock lock(&mutex_);
  streams_[++last_session_] = std::move(stream);
  return last_session_;
}

void SessionRegistry::Remove(uint64_t session) {
  std::shared_ptr<OutgoingStream> last;  // Destroyed without the lock.
  MutexLock lock(&mutex_);
  auto it = streams_.find(session);
  if (it == streams_.end()) return;
  last = std::move(it->second);
  streams_.erase(it);
}

std::shared_ptr<OutgoingStream> SessionRegistry::Find(uint64_t session) {
  MutexLock lock(&mutex_);
  auto it = streams_.find(session);
  return it == streams_.end() ? nullptr : it->second;
}

void SessionRegistry::Send(uint64_t session, const proto::Command& command,
                           const SharedPlanPtr& plan) {
  if (auto stream = Find(session)) stream->Send(command, plan);
}

void SessionRegistry::Close(uint64_t session) {
  if (auto stream = Find(session)) stream->Close();
}

}  // namespace cairn::coordinator
