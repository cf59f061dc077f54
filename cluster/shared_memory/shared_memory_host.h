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

// The protocol of shared memory: the client connects to the server's socket and sends an offer with
// a descriptor; the server replies with one byte. The socket is a SOCK_SEQPACKET in Linux's
// abstract namespace, which has no file and, like ports, belongs to a network namespace.
struct SharedMemoryOffer {
  static constexpr uint32_t kMagic = 0x4d726943;  // "CirM"

  uint32_t magic = kMagic;
  uint32_t version = 1;
  uint64_t token = 0;

  // The socket's name (without the leading zero byte) of the server at `port`.
  static std::string SocketName(int port);
};

// The server's side of shared memory. Accepts the memory that clients on the same machine offer,
// and keeps it until the client disconnects or dies. Rejects clients of other users. Runs one
// thread. Thread-safe.
class SharedMemoryHost {
 public:
  // Further clients are disconnected; they use TCP.
  static constexpr size_t kClientsMax = 256;

  // Starts the host for the clients of the server at `port`. Unavailable: the name is in use, or
  // the socket cannot be created.
  static absl::StatusOr<std::unique_ptr<SharedMemoryHost>> Start(int port);
  ~SharedMemoryHost();
  SharedMemoryHost(const SharedMemoryHost&) = delete;
  SharedMemoryHost& operator=(const SharedMemoryHost&) = delete;

  // Returns null if the memory is unknown or its client has disconnected. The returned memory
  // remains valid.
  std::shared_ptr<SharedMemory> Find(uint64_t token) const;
  size_t clients() const;

 private:
  struct Client {
    int socket = -1;
    uint64_t token = 0;  // 0 before the client has offered memory.
  };

  SharedMemoryHost(int listener, int stop);
  void Serve();
  // Returns false if the process has no free descriptors.
  bool Accept();
  // Reads a message of the client. Returns false if the client is to be disconnected.
  bool HandleMessage(Client* client);
  bool AddMemory(const SharedMemoryOffer& offer, int descriptor, Client* client);
  void Disconnect(const Client& client);

  const int listener_;
  const int stop_;               // An eventfd.
  std::vector<Client> clients_;  // Used only by the thread.

  mutable Mutex mutex_;
  size_t client_count_ ABSL_GUARDED_BY(mutex_) = 0;
  absl::flat_hash_map<uint64_t, std::shared_ptr<SharedMemory>> memories_ ABSL_GUARDED_BY(mutex_);

  std::thread thread_;  // Last, because the thread uses all other members.
};

}  // namespace cairn::cluster

#endif  // CAIRN_CLUSTER_SHARED_MEMORY_SHARED_MEMORY_HOST_H_
