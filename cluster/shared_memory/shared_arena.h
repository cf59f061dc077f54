#ifndef CAIRN_CLUSTER_SHARED_MEMORY_SHARED_ARENA_H_
#define CAIRN_CLUSTER_SHARED_MEMORY_SHARED_ARENA_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>

#include "cluster/shared_memory/shared_memory.h"
#include "common/mutex.h"

namespace cairn::cluster {

// Lends parts of one shared memory, the lowest that is free and large enough first, so that a small
// job touches few pages. Thread-safe; owned by shared_ptr, and kept by what it has lent.
class SharedArena : public std::enable_shared_from_this<SharedArena> {
 public:
  // A part on loan: it goes back when the last copy of the pointer does.
  using Loan = std::shared_ptr<const SharedSpan>;

  explicit SharedArena(std::shared_ptr<SharedMemory> memory);

  const std::shared_ptr<SharedMemory>& memory() const { return memory_; }

  // `bytes` of it, 64-byte aligned. Null: there is no such part just now (or bytes is 0).
  Loan Borrow(size_t bytes);

 private:
  void GiveBack(uint64_t offset, uint64_t bytes);

  const std::shared_ptr<SharedMemory> memory_;
  Mutex mutex_;
  // What is free: bytes by offset; neighbours are always joined.
  std::map<uint64_t, uint64_t> free_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace cairn::cluster

#endif  // CAIRN_CLUSTER_SHARED_MEMORY_SHARED_ARENA_H_
