#ifndef CAIRN_CLUSTER_SHARED_MEMORY_CHECKSUM_H_
#define CAIRN_CLUSTER_SHARED_MEMORY_CHECKSUM_H_

#define XXH_STATIC_LINKING_ONLY  // Required to define XXH3_state_t.
#include <xxhash.h>

#include <cstddef>
#include <cstdint>

namespace cairn::cluster {

// Incremental 64-bit XXH3. Not thread-safe.
class Checksum {
 public:
  Checksum() { XXH3_64bits_reset(&state_); }

  void Add(const void* data, size_t bytes);

  // Copies `source` and adds the copy, so the checksum covers the bytes in `destination` even if
  // another process changes `source` concurrently. Costs little more than the copy, because each
  // part is added while it is in the CPU cache.
  void CopyAndAdd(void* destination, const void* source, size_t bytes);

  // The checksum of all added bytes.
  uint64_t Digest() const { return XXH3_64bits_digest(&state_); }

 private:
  XXH3_state_t state_;
};

}  // namespace cairn::cluster

#endif  // CAIRN_CLUSTER_SHARED_MEMORY_CHECKSUM_H_
