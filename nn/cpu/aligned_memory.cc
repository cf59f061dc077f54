#include "nn/cpu/aligned_memory.h"

#include <sys/mman.h>

#include <cstdlib>

namespace cairn::nn {

void* AllocateAligned(size_t bytes) {
  constexpr size_t kVector = 64;
  constexpr size_t kLargePage = size_t{2} << 20;
  const size_t alignment = bytes < kLargePage ? kVector : kLargePage;
  void* memory = std::aligned_alloc(alignment, (bytes / alignment + 1) * alignment);
  // Only whole huge pages. The call is a hint, so its result is ignored.
  if (memory != nullptr && bytes >= kLargePage) {
    madvise(memory, bytes / kLargePage * kLargePage, MADV_HUGEPAGE);
  }
  return memory;
}

}  // namespace cairn::nn
