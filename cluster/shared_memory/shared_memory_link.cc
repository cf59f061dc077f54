#include "cluster/shared_memory/shared_memory_link.h"

#include <unistd.h>

#include <random>
#include <utility>

#include "cluster/address.h"
#include "cluster/shared_memory/local_socket.h"
#include "cluster/shared_memory/shared_memory_host.h"
#include "common/failpoint.h"

namespace cairn::cluster {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kRetryInterval(1);

// A random token; never 0.
uint64_t RandomToken() {
  std::random_device device;
  return ((uint64_t{device()} << 32) | device()) | 1;
}

}  // namespace

SharedMemoryLink::SharedMemoryLink(const std::string& address) {
  const auto parsed = ParseAddress(address);
  if (parsed.ok()) socket_name_ = SharedMemoryOffer::SocketName(parsed->port);
}

SharedMemoryLink::~SharedMemoryLink() {
  MutexLock lock(&mutex_);
  CloseLocked();
}

std::shared_ptr<SharedArena> SharedMemoryLink::arena() {
  MutexLock lock(&mutex_);
  if (accepted_) return arena_;
  if (socket_name_.empty()) return nullptr;
  if (socket_ >= 0) {
    ReadReplyLocked();
  } else if (Clock::now() >= next_attempt_) {
    OfferLocked();
  }
  return accepted_ ? arena_ : nullptr;
}

void SharedMemoryLink::OfferLocked() {
  next_attempt_ = Clock::now() + kRetryInterval;
  socket_ = ConnectLocally(socket_name_);
  if (socket_ < 0) return;
  if (!CAIRN_FAILPOINT("shared_memory.offer").ok()) return CloseLocked();
  SharedMemoryOffer offer;
  offer.token = RandomToken();
  auto memory = SharedMemory::Create(offer.token, kBytes);
  if (!memory.ok() || !PeerIsSameUser(socket_) ||
      !SendWithDescriptor(socket_, &offer, sizeof(offer), (*memory)->descriptor())) {
    return CloseLocked();
  }
  arena_ = std::make_shared<SharedArena>(*std::move(memory));
}

void SharedMemoryLink::ReadReplyLocked() {
  char yes = 0;
  LocalMessage message;
  const bool alive = Receive(socket_, &yes, sizeof(yes), &message);
  if (message.descriptor >= 0) close(message.descriptor);
  if (alive && message.would_block) return;
  accepted_ = alive && message.bytes == sizeof(yes) && yes == 1;
  if (!accepted_) CloseLocked();
}

void SharedMemoryLink::Drop(const std::shared_ptr<SharedArena>& arena) {
  MutexLock lock(&mutex_);
  if (arena == nullptr || arena != arena_) return;
  CloseLocked();
  next_attempt_ = Clock::now() + kRetryInterval;
}

void SharedMemoryLink::CloseLocked() {
  if (socket_ >= 0) close(socket_);
  socket_ = -1;
  accepted_ = false;
  arena_.reset();
}

}  // namespace cairn::cluster
