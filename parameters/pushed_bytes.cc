#include "parameters/pushed_bytes.h"

namespace cairn::parameters {

std::shared_ptr<const void> PushedBytes::Reserve(const std::string& peer, int64_t bytes) {
  {
    MutexLock lock(&mutex_);
    int64_t& of_peer = by_peer_[peer];
    const bool fits = (total_ == 0 || total_ + bytes <= max_) &&
                      (of_peer == 0 || of_peer + bytes <= max_per_peer_);
    if (!fits) {
      if (of_peer == 0) by_peer_.erase(peer);
      return nullptr;
    }
    total_ += bytes;
    of_peer += bytes;
    if (of_peer == 0) by_peer_.erase(peer);
  }
  // Points to this object, which is never null.
  return std::shared_ptr<const void>(
      this, [self = shared_from_this(), peer, bytes](const void*) { self->Free(peer, bytes); });
}

void PushedBytes::Free(const std::string& peer, int64_t bytes) {
  if (bytes == 0) return;
  MutexLock lock(&mutex_);
  total_ -= bytes;
  const auto of_peer = by_peer_.find(peer);
  of_peer->second -= bytes;
  if (of_peer->second == 0) by_peer_.erase(of_peer);
}

}  // namespace cairn::parameters
