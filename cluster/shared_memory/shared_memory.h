#ifndef CAIRN_CLUSTER_SHARED_MEMORY_SHARED_MEMORY_H_
#define CAIRN_CLUSTER_SHARED_MEMORY_SHARED_MEMORY_H_

#include <cstddef>
#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"

namespace cairn::cluster {

// Memory that is shared by two processes of one machine: an anonymous file (memfd) that the kernel
// frees when both processes have closed it or died. It is sealed, because accessing pages that the
// peer has truncated would raise SIGBUS. Pages are allocated on first use. Either process may
// change the contents at any time: copy them first, then verify the copy.
class SharedMemory {
 public:
  // The maximum size.
  static constexpr size_t kBytesMax = size_t{256} << 20;

  // Creates zeroed memory; `bytes` >= 1. Unavailable: the system has not enough resources.
  static absl::StatusOr<std::shared_ptr<SharedMemory>> Create(uint64_t token, size_t bytes);
  // Maps a peer's memory. `descriptor` was received from the peer and remains owned by the caller.
  // InvalidArgument: not a sealed memfd, empty, or too large.
  static absl::StatusOr<std::shared_ptr<SharedMemory>> Adopt(uint64_t token, int descriptor);
  ~SharedMemory();
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;

  // The name of the memory in frames.
  uint64_t token() const { return token_; }
  uint8_t* data() const { return data_; }
  size_t bytes() const { return bytes_; }
  // The creator's descriptor, to be sent to the peer; -1 in adopted memory.
  int descriptor() const { return descriptor_; }

 private:
  SharedMemory(uint64_t token, uint8_t* data, size_t bytes, int descriptor)
      : token_(token), data_(data), bytes_(bytes), descriptor_(descriptor) {}

  const uint64_t token_;
  uint8_t* const data_;
  const size_t bytes_;
  const int descriptor_;
};

// A part of a shared memory. Empty by default.
struct SharedSpan {
  std::shared_ptr<SharedMemory> memory;
  uint64_t offset = 0;
  uint64_t bytes = 0;

  uint8_t* data() const { return memory->data() + offset; }
  // Whether the part is within its memory. Check this for offsets from a peer.
  bool IsInside() const {
    return memory != nullptr && bytes <= memory->bytes() && offset <= memory->bytes() - bytes;
  }
};

}  // namespace cairn::cluster

#endif  // CAIRN_CLUSTER_SHARED_MEMORY_SHARED_MEMORY_H_
