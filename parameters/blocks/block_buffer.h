#ifndef CAIRN_PARAMETERS_BLOCKS_BLOCK_BUFFER_H_
#define CAIRN_PARAMETERS_BLOCKS_BLOCK_BUFFER_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"

namespace cairn::parameters {

class BufferPool;

// A reference-counted array of floats, aligned to 64 bytes. The array may be written only through
// the single remaining reference (see unique()); otherwise it is read-only. Pull replies, cuts and
// the previous version of a synchronous block therefore share values without copying them
// (copy-on-write).
//
// References may be copied and destroyed on any thread, but a single reference object is not
// thread-safe. Null by default.
class BlockBuffer {
 public:
  BlockBuffer() = default;
  BlockBuffer(const BlockBuffer& other) : node_(other.node_) { Acquire(); }
  BlockBuffer(BlockBuffer&& other) noexcept : node_(std::exchange(other.node_, nullptr)) {}
  BlockBuffer& operator=(BlockBuffer other) noexcept {
    std::swap(node_, other.node_);
    return *this;
  }
  ~BlockBuffer() { Release(); }

  explicit operator bool() const { return node_ != nullptr; }
  // The methods below require a buffer that is not null.
  float* data() const;
  int64_t count() const;
  // Whether this is the only reference. If true, all accesses through former references happened
  // before.
  bool unique() const;

 private:
  friend class BufferPool;
  struct Node;

  explicit BlockBuffer(Node* node) : node_(node) {}
  void Acquire();
  void Release();

  Node* node_ = nullptr;
};

// Allocates buffers and recycles them by size, so that a running job does not allocate memory.
// Thread-safe. Buffers may outlive the pool.
class BufferPool {
 public:
  BufferPool();
  ~BufferPool();
  BufferPool(const BufferPool&) = delete;
  BufferPool& operator=(const BufferPool&) = delete;

  // Returns a buffer of `count` >= 1 floats of unspecified value, or null if there is not enough
  // memory (or more than 256 GiB are requested).
  BlockBuffer Allocate(int64_t count);

  // Returns the memory of unused buffers to the system.
  void Trim();

  // The size of the unused buffers.
  int64_t unused_bytes() const;

 private:
  friend class BlockBuffer;
  class FreeList;

  const std::shared_ptr<FreeList> free_list_;
};

// ResourceExhausted: there is no memory for the `count` floats of `what`.
absl::Status NoMemoryFor(const std::string& what, int64_t count);
// The bytes of such an error; 0 for others.
uint64_t ExhaustedBytes(const absl::Status& status);

}  // namespace cairn::parameters

#endif  // CAIRN_PARAMETERS_BLOCKS_BLOCK_BUFFER_H_
