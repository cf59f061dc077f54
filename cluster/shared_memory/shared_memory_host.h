#ifndef CAIRN_CLUSTER_SHARED_MEMORY_SHARED_MEMORY_HOST_H_
#define CAIRN_CLUSTER_SHARED_MEMORY_SHARED_MEMORY_HOST_H_

#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "cluster/shared_memory/shared_memory.h"
#include "common/mutex.h"

namespace cairn::cluster {

// How clients find a host, and what they say: an Offer with one descriptor, answered by one byte.
// The socket is of Linux's abstract kind, SOCK_SEQPACKET: it has no file, and is as local as ports
// are.
struct SharedMemoryOffer {
  static constexpr uint32_t kMagic = 0x4d726943;  // "CirM"

  uint32_t magic = kMagic;
  uint32_t version = 1;
  uint64_t token = 0;

  // The name (without its leading zero byte) where the server of that port listens.
  static std::string SocketName(int port);
};

// A server's side of shared memory: takes what clients on the same machine offer, and keeps it for
// as long as their connection stands, which the kernel ends with them. Clients of other users are
// not heard. One thread of its own; thread-safe.
class SharedMemoryHost {
 public:
  // More clients than that are sent away; they speak over TCP.
  static constexpr size_t kClientsMax = 256;

  // For the clients of the server at `port`. Unavailable: the name is taken, or there is no socket.
  static absl::StatusOr<std::unique_ptr<SharedMemoryHost>> Start(int port);
  ~SharedMemoryHost();
  SharedMemoryHost(const SharedMemoryHost&) = delete;
  SharedMemoryHost& operator=(const SharedMemoryHost&) = delete;

  // Null: nobody has offered it, or its owner has gone. Whoever holds it may use it on.
  std::shared_ptr<SharedMemory> Find(uint64_t token) const;
  size_t clients() const;

 private:
  struct Client {
    int socket = -1;
    uint64_t token = 0;  // 0: it has offered nothing yet.
  };

  SharedMemoryHost(int listener, int stop);
  void Serve();
  // False: none could be accepted, for want of descriptors.
  bool Accept();
  // Reads what the client has to say; false: it is over with it.
  bool Hear(Client* client);
  bool Take(const SharedMemoryOffer& offer, int descriptor, Client* client);
  void Part(const Client& client);

  const int listener_;
  const int stop_;               // An event.
  std::vector<Client> clients_;  // The thread's.

  mutable Mutex mutex_;
  size_t client_count_ ABSL_GUARDED_BY(mutex_) = 0;
  absl::flat_hash_map<uint64_t, std::shared_ptr<SharedMemory>> memories_ ABSL_GUARDED_BY(mutex_);

  std::thread thread_;  // Last: uses all of the above.
};

}  // namespace cairn::cluster

#endif  // CAIRN_CLUSTER_SHARED_MEMORY_SHARED_MEMORY_HOST_H_
