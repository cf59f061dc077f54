#include "parameters/peer_watch.h"

#include <algorithm>
#include <utility>

#include "absl/time/time.h"

namespace cairn::parameters {

void PeerWatch::SetCluster(cluster::PsClientOptions options) {
  std::shared_ptr<cluster::PsClient>
      old;  // Destroyed, which waits for its calls, without the lock.
  MutexLock lock(&mutex_);
  if (options.addresses == options_.addresses) return;
  options.share_memory = false;
  options_ = std::move(options);
  old = std::exchange(client_, std::make_shared<cluster::PsClient>(options_));
  next_ = 0;
}

void PeerWatch::FillHeartbeat(proto::Heartbeat* heartbeat) {
  MutexLock lock(&mutex_);
  if (client_ == nullptr) return;
  for (const cluster::PsClient::Silence& silence : client_->Silences()) {
    proto::SilentPs* silent = heartbeat->add_silent_ps();
    silent->set_ps(static_cast<uint32_t>(silence.ps));
    silent->set_milliseconds(absl::ToInt64Milliseconds(silence.duration));
  }
  const int count = client_->ps_count();
  for (int i = 0; i < std::min(count, kPingsPerHeartbeat); ++i) {
    client_->Ping(next_);
    next_ = (next_ + 1) % count;
  }
}

void PeerWatch::Stop() {
  std::shared_ptr<cluster::PsClient> client;
  MutexLock lock(&mutex_);
  client = std::move(client_);
}

}  // namespace cairn::parameters
