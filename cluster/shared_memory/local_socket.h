#ifndef CAIRN_CLUSTER_SHARED_MEMORY_LOCAL_SOCKET_H_
#define CAIRN_CLUSTER_SHARED_MEMORY_LOCAL_SOCKET_H_

#include <cstddef>
#include <string>

namespace cairn::cluster {

// System calls for non-blocking Unix domain sockets (SOCK_SEQPACKET) with names in the abstract
// namespace. All functions return -1 or false on failure and set errno.

// Create a socket that listens on, or is connected to, `name` (at most 100 bytes).
int ListenLocally(const std::string& name);
int ConnectLocally(const std::string& name);

// Whether the peer's effective user is that of this process.
bool PeerIsSameUser(int socket);

// Sends a message of at least one byte together with a file descriptor.
bool SendWithDescriptor(int socket, const void* data, size_t bytes, int descriptor);

struct LocalMessage {
  size_t bytes = 0;     // 0 if the peer has closed the connection.
  int descriptor = -1;  // Owned by the receiver; -1 if none.
  bool would_block = false;
};
// Receives the next message, truncated to `room` bytes, and at most one descriptor.
bool Receive(int socket, void* data, size_t room, LocalMessage* message);

}  // namespace cairn::cluster

#endif  // CAIRN_CLUSTER_SHARED_MEMORY_LOCAL_SOCKET_H_
