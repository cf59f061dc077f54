#ifndef CAIRN_NN_CPU_ALIGNED_MEMORY_H_
#define CAIRN_NN_CPU_ALIGNED_MEMORY_H_

#include <cstddef>

namespace cairn::nn {

// Allocates `bytes` bytes aligned to at least 64, with unspecified contents. Returns null if memory
// is short. Free with std::free. Allocations of 2 MiB and more use huge pages if the kernel has
// them: passes over tensors spent a tenth of their time on TLB misses with small pages.
void* AllocateAligned(size_t bytes);

}  // namespace cairn::nn

#endif  // CAIRN_NN_CPU_ALIGNED_MEMORY_H_
