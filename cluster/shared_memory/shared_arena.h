#ifndef CAIRN_CLUSTER_SHARED_MEMORY_SHARED_ARENA_H_
#define CAIRN_CLUSTER_SHARED_MEMORY_SHARED_ARENA_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>

#include "cluster/shared_memory/shared_memory.h"
#include "common/mutex.h"

namespace cairn::cluster {

// Allocates parts of a shared memory. Uses the lowest free part that is large enough, so that a job
// with small tensors touches few pages. Allocated parts keep the arena alive. Thread-safe.
class SharedArena : public std::enable_shared_from_this<SharedArena> {
 public:
  // An allocated part. It is freed when the last copy of the pointer is destroyed.
  using Allocation = std::shared_ptr<const SharedSpan>;

  explicit SharedArena(std::shared_ptr<SharedMemory> memory);

  const std::shared_ptr<SharedMemory>& memory() const { return memory_; }

  // Allocates `bytes` bytes, aligned to 64 bytes. Returns null if `bytes` is 0 or no free part is
  // large enough.
  Allocation Allocate(size_t bytes);

 private:
  void Free(uint64_t offset, uint64_t bytes);

  const std::shared_ptr<SharedMemory> memory_;
  Mutex mutex_;
  // Size by offset of the free parts. Adjacent free parts are always merged.
  std::map<uint64_t, uint64_t> free_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace cairn::cluster

#endif  // CAIRN_CLUSTER_SHARED_MEMORY_SHARED_ARENA_H_
