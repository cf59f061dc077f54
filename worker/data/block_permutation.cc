#include "worker/data/block_permutation.h"

#include <algorithm>

#include "common/random.h"
#include "job/batch_groups.h"

namespace cairn::worker {

BlockPermutation::BlockPermutation(int64_t size, int64_t block, uint64_t key)
    : block_(std::min(block, size)),
      key_(key),
      blocks_((size - 1) / block_ + 1, DeriveKey(key, "blocks")),
      short_place_(blocks_.IndexOf(blocks_.size() - 1)),
      lacking_((block_ - size % block_) % block_) {}

// The number of integers in the first `place` blocks of the permuted order.
int64_t BlockPermutation::NumbersBefore(int64_t place) const {
  return place * block_ - (place > short_place_ ? lacking_ : 0);
}

// The position of the block that contains index `index` of the permuted order. Only the short block
// shifts the indices behind it, so one correction suffices.
int64_t BlockPermutation::PlaceOf(int64_t index) const {
  const int64_t place = index / block_;
  return index < NumbersBefore(place + 1) ? place : place + 1;
}

int64_t BlockPermutation::At(int64_t index) const {
  const int64_t group = PlaceOf(index) / job::kShuffleBlocksMixed;
  const int64_t first = NumbersBefore(group * job::kShuffleBlocksMixed);
  const int64_t end =
      NumbersBefore(std::min((group + 1) * job::kShuffleBlocksMixed, blocks_.size()));
  // Permutes the indices within the group, then maps the result through the order of the blocks.
  const Permutation mixed(end - first, DeriveKey(key_, static_cast<uint64_t>(group)));
  const int64_t mixed_index = first + mixed.At(index - first);
  const int64_t place = PlaceOf(mixed_index);
  return blocks_.At(place) * block_ + mixed_index - NumbersBefore(place);
}

}  // namespace cairn::worker
