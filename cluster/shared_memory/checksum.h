#ifndef CAIRN_CLUSTER_SHARED_MEMORY_CHECKSUM_H_
#define CAIRN_CLUSTER_SHARED_MEMORY_CHECKSUM_H_

#define XXH_STATIC_LINKING_ONLY  // So that the state can stand inside.
#include <xxhash.h>

#include <cstddef>
#include <cstdint>

namespace cairn::cluster {

// XXH3 with 64 bits, over bytes that come in pieces. Not thread-safe.
class Checksum {
 public:
  Checksum() { XXH3_64bits_reset(&state_); }

  void Add(const void* data, size_t bytes);

  // Copies, and adds the copy: what is checked is what was got, even if somebody writes to `source`
  // meanwhile. Costs about as much as the copy alone, since each part is added while it is in the
  // processor's cache.
  void CopyAndAdd(void* destination, const void* source, size_t bytes);

  // Of all that was added.
  uint64_t Digest() const { return XXH3_64bits_digest(&state_); }

 private:
  XXH3_state_t state_;
};

}  // namespace cairn::cluster

#endif  // CAIRN_CLUSTER_SHARED_MEMORY_CHECKSUM_H_
