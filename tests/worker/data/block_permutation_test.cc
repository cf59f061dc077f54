#include "worker/data/block_permutation.h"

#include <algorithm>
#include <set>
#include <vector>

#include "gtest/gtest.h"
#include "job/batch_groups.h"

namespace cairn::worker {
namespace {

std::vector<int64_t> AllOf(int64_t size, int64_t block, uint64_t key) {
  const BlockPermutation order(size, block, key);
  std::vector<int64_t> values;
  for (int64_t i = 0; i < size; ++i) values.push_back(order.At(i));
  return values;
}

TEST(BlockPermutationTest, EveryValueStandsExactlyOnce) {
  for (const int64_t size : {1, 2, 31, 320, 321, 1000, 4096, 10007}) {
    for (const int64_t block : {1, 2, 7, 10, 64, 100000}) {
      for (uint64_t key = 0; key < 5; ++key) {
        const auto values = AllOf(size, block, key);
        const std::set<int64_t> distinct(values.begin(), values.end());
        ASSERT_EQ(static_cast<int64_t>(distinct.size()), size) << size << " " << block;
        ASSERT_EQ(*distinct.begin(), 0);
        ASSERT_EQ(*distinct.rbegin(), size - 1);
      }
    }
  }
}

TEST(BlockPermutationTest, IsAFunctionOfItsArgumentsOnly) {
  EXPECT_EQ(AllOf(1000, 10, 1), AllOf(1000, 10, 1));
  EXPECT_NE(AllOf(1000, 10, 1), AllOf(1000, 10, 2));
}

TEST(BlockPermutationTest, ASequentialReaderNeedsFewBlocksAtATime) {
  const int64_t block = 10;
  const int64_t group = block * job::kShuffleBlocksMixed;
  const auto values = AllOf(100 * group, block, 3);
  std::set<int64_t> before;
  int64_t groups_with_neighbours = 0;
  for (int64_t first = 0; first < static_cast<int64_t>(values.size()); first += group) {
    std::set<int64_t> blocks;
    for (int64_t i = first; i < first + group; ++i) blocks.insert(values[i] / block);
    EXPECT_EQ(static_cast<int64_t>(blocks.size()), job::kShuffleBlocksMixed);
    for (const int64_t one : blocks) EXPECT_TRUE(before.insert(one).second) << "read again";
    groups_with_neighbours += blocks.count(*blocks.begin() + 1);
  }
  EXPECT_LT(groups_with_neighbours, 20) << "blocks are in the files' order";
}

TEST(BlockPermutationTest, ValuesOfABlockAreNotLeftTogether) {
  const auto values = AllOf(32000, 10, 7);
  int64_t neighbours = 0;
  for (size_t i = 1; i < values.size(); ++i) neighbours += values[i] == values[i - 1] + 1;
  EXPECT_LT(neighbours, 32000 / 100);
}

}  // namespace
}  // namespace cairn::worker
