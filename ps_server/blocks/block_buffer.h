#ifndef CAIRN_PS_SERVER_BLOCKS_BLOCK_BUFFER_H_
#define CAIRN_PS_SERVER_BLOCKS_BLOCK_BUFFER_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>

namespace cairn::ps {

class BufferPool;

// One of possibly many references on an array of floats, 64-byte aligned. Whoever finds that it
// holds the only one may write; otherwise the array is for reading: that is how replies, cuts and
// the kept version of a synchronous block see unchanging values without a copy. References may be
// copied and dropped by any thread; one reference belongs to one thread at a time. Null by default.
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
  // The rest is for buffers that are not null.
  float* data() const;
  int64_t count() const;
  // No other reference is left, and what was done through them has happened before.
  bool unique() const;

 private:
  friend class BufferPool;
  struct Node;

  explicit BlockBuffer(Node* node) : node_(node) {}
  void Acquire();
  void Release();

  Node* node_ = nullptr;
};

// Recycles buffers by size, so that a running job allocates nothing. Thread-safe. Buffers may
// outlive the pool.
class BufferPool {
 public:
  BufferPool();
  ~BufferPool();
  BufferPool(const BufferPool&) = delete;
  BufferPool& operator=(const BufferPool&) = delete;

  // `count` floats, count >= 1, of unspecified value. Null if the machine has not that much memory,
  // or if it is absurd (256 GiB).
  BlockBuffer Allocate(int64_t count);

  // Gives the memory of unused buffers back to the system.
  void Trim();

  // Bytes of the buffers that wait for their next use.
  int64_t unused_bytes() const;

 private:
  friend class BlockBuffer;
  class FreeList;

  const std::shared_ptr<FreeList> free_list_;
};

}  // namespace cairn::ps

#endif  // CAIRN_PS_SERVER_BLOCKS_BLOCK_BUFFER_H_
