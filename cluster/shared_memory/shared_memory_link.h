#ifndef CAIRN_CLUSTER_SHARED_MEMORY_SHARED_MEMORY_LINK_H_
#define CAIRN_CLUSTER_SHARED_MEMORY_SHARED_MEMORY_LINK_H_

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "cluster/shared_memory/shared_arena.h"
#include "common/mutex.h"

namespace cairn::cluster {

// A client's side of shared memory with one server: finds out whether that runs on the same
// machine, and offers it memory if so. Nothing blocks, nothing fails: there is memory, or there is
// none just now and calls go over TCP. Thread-safe.
class SharedMemoryLink {
 public:
  // Of one link; how much of it costs anything depends on what calls need at once.
  static constexpr size_t kBytes = size_t{64} << 20;

  // `address` is the server's HOST:PORT.
  explicit SharedMemoryLink(const std::string& address);
  ~SharedMemoryLink();
  SharedMemoryLink(const SharedMemoryLink&) = delete;
  SharedMemoryLink& operator=(const SharedMemoryLink&) = delete;

  // Memory that the server knows by now; null if there is none. Looks for the server once a second
  // until it is found.
  std::shared_ptr<SharedArena> arena();

  // A call that used this arena has failed: the server may be another one, or may write into it
  // later. Never lent again; after a second there is another one.
  void Drop(const std::shared_ptr<SharedArena>& arena);

 private:
  // Connects and offers memory, or waits for the next time.
  void OfferLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Looks whether the offer was accepted.
  void HearLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void CloseLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  std::string socket_name_;  // Empty: the address has no port, so there is nobody.

  Mutex mutex_;
  int socket_ ABSL_GUARDED_BY(mutex_) = -1;
  std::shared_ptr<SharedArena> arena_ ABSL_GUARDED_BY(mutex_);
  bool accepted_ ABSL_GUARDED_BY(mutex_) = false;
  std::chrono::steady_clock::time_point next_try_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace cairn::cluster

#endif  // CAIRN_CLUSTER_SHARED_MEMORY_SHARED_MEMORY_LINK_H_
