#ifndef CAIRN_NN_CPU_ALIGNED_MEMORY_H_
#define CAIRN_NN_CPU_ALIGNED_MEMORY_H_

#include <cstddef>

namespace cairn::nn {

// So many bytes at a multiple of 64 at least, contents unspecified; null if there is no memory. To
// be given back with std::free. Megabytes lie on large pages where the kernel has some: tensors are
// streamed through, and a tenth of that time went into finding small pages.
void* AllocateAligned(size_t bytes);

}  // namespace cairn::nn

#endif  // CAIRN_NN_CPU_ALIGNED_MEMORY_H_
