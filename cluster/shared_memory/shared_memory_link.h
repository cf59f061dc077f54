#ifndef CAIRN_CLUSTER_SHARED_MEMORY_SHARED_MEMORY_LINK_H_
#define CAIRN_CLUSTER_SHARED_MEMORY_SHARED_MEMORY_LINK_H_

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "cluster/shared_memory/shared_arena.h"
#include "common/mutex.h"

namespace cairn::cluster {

// The client's side of shared memory with one server. Detects whether the server is on the same
// machine and, if so, offers it memory. Does not block and has no errors: when there is no memory,
// calls use TCP. Thread-safe.
class SharedMemoryLink {
 public:
  // Size of the memory of one link. Only pages that calls use are allocated.
  static constexpr size_t kBytes = size_t{64} << 20;

  // `address` is HOST:PORT of the server.
  explicit SharedMemoryLink(const std::string& address);
  ~SharedMemoryLink();
  SharedMemoryLink(const SharedMemoryLink&) = delete;
  SharedMemoryLink& operator=(const SharedMemoryLink&) = delete;

  // Returns memory that the server has accepted, or null. While there is none, tries to connect
  // once a second.
  std::shared_ptr<SharedArena> arena();

  // Stops using `arena`. Call it when a call that used it has failed: the server may have
  // restarted, or may still write into the memory. New memory is offered after a second.
  void Drop(const std::shared_ptr<SharedArena>& arena);

 private:
  // Connects and offers memory, or schedules the next attempt.
  void OfferLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Checks for the server's reply.
  void ReadReplyLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void CloseLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  std::string socket_name_;  // Empty if the address has no port.

  Mutex mutex_;
  int socket_ ABSL_GUARDED_BY(mutex_) = -1;
  std::shared_ptr<SharedArena> arena_ ABSL_GUARDED_BY(mutex_);
  bool accepted_ ABSL_GUARDED_BY(mutex_) = false;
  std::chrono::steady_clock::time_point next_attempt_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace cairn::cluster

#endif  // CAIRN_CLUSTER_SHARED_MEMORY_SHARED_MEMORY_LINK_H_
