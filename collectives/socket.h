#ifndef CAIRN_COLLECTIVES_SOCKET_H_
#define CAIRN_COLLECTIVES_SOCKET_H_

#include <cstddef>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "cluster/address.h"

namespace cairn::collectives {

// A connected, non-blocking TCP socket; closed by the destructor. Not thread-safe.
class Socket {
 public:
  Socket() = default;
  explicit Socket(int descriptor) : descriptor_(descriptor) {}
  ~Socket() { Close(); }
  Socket(Socket&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  Socket& operator=(Socket&& other) noexcept;
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;

  // One attempt. Unavailable: nobody accepts there, or not within `timeout`.
  static absl::StatusOr<Socket> Connect(const cluster::Address& address, absl::Duration timeout);

  // -1: none.
  int descriptor() const { return descriptor_; }
  bool is_open() const { return descriptor_ >= 0; }
  void Close();

  // Sets the sizes of the kernel's buffers, which grow by themselves otherwise. The system may have
  // a lower limit.
  void SetBufferSizes(int bytes);

  // Sends or receives all bytes. Unavailable: the peer is gone. DeadlineExceeded: it was not done
  // within `timeout`.
  absl::Status SendAll(const void* data, size_t bytes, absl::Duration timeout);
  absl::Status ReceiveAll(void* data, size_t bytes, absl::Duration timeout);

  // Sends or receives as much as is possible at once; 0: nothing now. Unavailable: the peer is
  // gone.
  absl::StatusOr<size_t> SendSome(const void* data, size_t bytes);
  absl::StatusOr<size_t> ReceiveSome(void* data, size_t bytes);

 private:
  int descriptor_ = -1;
};

}  // namespace cairn::collectives

#endif  // CAIRN_COLLECTIVES_SOCKET_H_
