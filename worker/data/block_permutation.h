#ifndef CAIRN_WORKER_DATA_BLOCK_PERMUTATION_H_
#define CAIRN_WORKER_DATA_BLOCK_PERMUTATION_H_

#include <cstdint>

#include "worker/data/permutation.h"

namespace cairn::worker {

// A pseudo-random order of the numbers below `size` in which neighbours come from few places: the
// numbers are cut into blocks of `block` consecutive ones (the last may be smaller), the blocks are
// put in a random order, and the numbers of each kBlocksMixed blocks that follow each other there
// in a random order of their own. Whoever reads along it needs kBlocksMixed blocks at a time. A
// pure function of (size, block, key) without memory, any value in constant time.
class BlockPermutation {
 public:
  static constexpr int64_t kBlocksMixed = 32;

  // `size` and `block` are positive.
  BlockPermutation(int64_t size, int64_t block, uint64_t key);

  // 0 <= index < size.
  int64_t At(int64_t index) const;

 private:
  int64_t NumbersBefore(int64_t place) const;
  int64_t PlaceOf(int64_t index) const;

  int64_t block_;
  uint64_t key_;
  Permutation blocks_;
  // Where the last block stands among the others, and how many numbers it lacks.
  int64_t short_place_;
  int64_t lacking_;
};

}  // namespace cairn::worker

#endif  // CAIRN_WORKER_DATA_BLOCK_PERMUTATION_H_
