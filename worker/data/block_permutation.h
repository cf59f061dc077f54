#ifndef CAIRN_WORKER_DATA_BLOCK_PERMUTATION_H_
#define CAIRN_WORKER_DATA_BLOCK_PERMUTATION_H_

#include <cstdint>

#include "worker/data/permutation.h"

namespace cairn::worker {

// A pseudo-random permutation of the integers in [0, size) with locality, for shuffling data on
// disk. The integers are divided into blocks of `block` consecutive ones (the last may be smaller).
// The blocks are permuted, and then the integers within each group of job::kShuffleBlocksMixed
// adjacent blocks. A sequential reader accesses only the blocks of a group at a time.
//
// A pure function of (size, block, key). It takes no memory, and each value takes constant time.
// Immutable, thread-safe.
class BlockPermutation {
 public:
  // `size` and `block` must be positive.
  BlockPermutation(int64_t size, int64_t block, uint64_t key);

  // The value at `index`, 0 <= index < size.
  int64_t At(int64_t index) const;

 private:
  int64_t NumbersBefore(int64_t place) const;
  int64_t PlaceOf(int64_t index) const;

  int64_t block_;
  uint64_t key_;
  Permutation blocks_;
  // The position of the last block in the permuted order, and the number of integers that it is
  // short of a full block.
  int64_t short_place_;
  int64_t lacking_;
};

}  // namespace cairn::worker

#endif  // CAIRN_WORKER_DATA_BLOCK_PERMUTATION_H_
