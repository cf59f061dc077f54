#include "cluster/shared_memory/local_socket.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>

namespace cairn::cluster {
namespace {

constexpr int kBacklog = 64;

// A name that begins with a zero byte is in the abstract namespace.
socklen_t AbstractAddress(const std::string& name, sockaddr_un* address) {
  *address = {};
  address->sun_family = AF_UNIX;
  if (name.size() + 1 > sizeof(address->sun_path)) return 0;
  std::memcpy(address->sun_path + 1, name.data(), name.size());
  return static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
}

int MakeSocket() { return socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0); }

int CloseAfterFailure(int socket) {
  const int why = errno;
  close(socket);
  errno = why;
  return -1;
}

// Space for one descriptor, aligned for cmsghdr.
union Control {
  cmsghdr header;
  char bytes[CMSG_SPACE(sizeof(int))];
};

msghdr MessageOf(iovec* data, Control* control) {
  msghdr message = {};
  message.msg_iov = data;
  message.msg_iovlen = 1;
  message.msg_control = control->bytes;
  message.msg_controllen = sizeof(control->bytes);
  return message;
}

}  // namespace

int ListenLocally(const std::string& name) {
  sockaddr_un address;
  const socklen_t length = AbstractAddress(name, &address);
  const int handle = MakeSocket();
  if (handle < 0) return -1;
  if (length > 0 && bind(handle, reinterpret_cast<sockaddr*>(&address), length) == 0 &&
      listen(handle, kBacklog) == 0) {
    return handle;
  }
  return CloseAfterFailure(handle);
}

int ConnectLocally(const std::string& name) {
  sockaddr_un address;
  const socklen_t length = AbstractAddress(name, &address);
  const int handle = MakeSocket();
  if (handle < 0) return -1;
  if (length > 0 && connect(handle, reinterpret_cast<sockaddr*>(&address), length) == 0) {
    return handle;
  }
  return CloseAfterFailure(handle);
}

bool PeerIsSameUser(int socket) {
  ucred peer = {};
  socklen_t length = sizeof(peer);
  return getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &length) == 0 && peer.uid == geteuid();
}

bool SendWithDescriptor(int socket, const void* data, size_t bytes, int descriptor) {
  iovec part = {const_cast<void*>(data), bytes};
  Control control = {};
  msghdr message = MessageOf(&part, &control);
  cmsghdr* header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof(int));
  std::memcpy(CMSG_DATA(header), &descriptor, sizeof(int));
  return sendmsg(socket, &message, MSG_NOSIGNAL) == static_cast<ssize_t>(bytes);
}

bool Receive(int socket, void* data, size_t room, LocalMessage* received) {
  iovec part = {data, room};
  Control control = {};
  msghdr message = MessageOf(&part, &control);
  const ssize_t bytes = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
  *received = {};
  if (bytes < 0) {
    received->would_block = errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
    return received->would_block;
  }
  received->bytes = static_cast<size_t>(bytes);
  // The kernel has already closed descriptors that did not fit.
  const cmsghdr* header = CMSG_FIRSTHDR(&message);
  if (header != nullptr && header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS &&
      header->cmsg_len == CMSG_LEN(sizeof(int))) {
    std::memcpy(&received->descriptor, CMSG_DATA(header), sizeof(int));
  }
  return true;
}

}  // namespace cairn::cluster
