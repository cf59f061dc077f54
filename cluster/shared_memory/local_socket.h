#ifndef CAIRN_CLUSTER_SHARED_MEMORY_LOCAL_SOCKET_H_
#define CAIRN_CLUSTER_SHARED_MEMORY_LOCAL_SOCKET_H_

#include <cstddef>
#include <string>

namespace cairn::cluster {

// System calls for sockets between processes of one host: abstract names, whole messages
// (SOCK_SEQPACKET), nothing blocks. All return -1 or false for every failure; errno says why.

// A socket that listens to, or is connected with, `name` (at most 100 bytes).
int ListenLocally(const std::string& name);
int ConnectLocally(const std::string& name);

// The peer runs as this process's user.
bool PeerIsSameUser(int socket);

// One message of at least one byte, with a descriptor.
bool SendWithDescriptor(int socket, const void* data, size_t bytes, int descriptor);

struct LocalMessage {
  size_t bytes = 0;     // 0: the peer has hung up.
  int descriptor = -1;  // The receiver's to close.
  bool would_block = false;
};
// The next message's first `room` bytes; of descriptors at most one.
bool Receive(int socket, void* data, size_t room, LocalMessage* message);

}  // namespace cairn::cluster

#endif  // CAIRN_CLUSTER_SHARED_MEMORY_LOCAL_SOCKET_H_
