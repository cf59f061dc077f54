#ifndef CAIRN_CLUSTER_SHARED_MEMORY_SHARED_MEMORY_H_
#define CAIRN_CLUSTER_SHARED_MEMORY_SHARED_MEMORY_H_

#include <cstddef>
#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"

namespace cairn::cluster {

// Memory that two processes of one host see. It has no name and no file: the kernel frees it when
// both have ended, however they end. It is sealed: neither can make it smaller under the other, who
// would crash. Pages cost nothing until they are touched. Immutable but for its contents, which
// either side may change at any time; copy first, then check.
class SharedMemory {
 public:
  // More is refused.
  static constexpr size_t kBytesMax = size_t{256} << 20;

  // New memory, all zero; `bytes` >= 1. Unavailable: the system has none to give.
  static absl::StatusOr<std::shared_ptr<SharedMemory>> Create(uint64_t token, size_t bytes);
  // A peer's, by a file descriptor that came from it (and stays the caller's). InvalidArgument: not
  // such memory, not sealed, empty or too large.
  static absl::StatusOr<std::shared_ptr<SharedMemory>> Adopt(uint64_t token, int descriptor);
  ~SharedMemory();
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;

  // What both sides call it.
  uint64_t token() const { return token_; }
  uint8_t* data() const { return data_; }
  size_t bytes() const { return bytes_; }
  // Of its creator, to be sent to the peer; -1 in adopted memory.
  int descriptor() const { return descriptor_; }

 private:
  SharedMemory(uint64_t token, uint8_t* data, size_t bytes, int descriptor)
      : token_(token), data_(data), bytes_(bytes), descriptor_(descriptor) {}

  const uint64_t token_;
  uint8_t* const data_;
  const size_t bytes_;
  const int descriptor_;
};

// A part of shared memory. Default: none.
struct SharedSpan {
  std::shared_ptr<SharedMemory> memory;
  uint64_t offset = 0;
  uint64_t bytes = 0;

  uint8_t* data() const { return memory->data() + offset; }
  // Lies inside of its memory, also if a peer made it up.
  bool IsInside() const {
    return memory != nullptr && bytes <= memory->bytes() && offset <= memory->bytes() - bytes;
  }
};

}  // namespace cairn::cluster

#endif  // CAIRN_CLUSTER_SHARED_MEMORY_SHARED_MEMORY_H_
