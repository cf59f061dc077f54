#include "worker/data/permutation.h"

#include <cmath>
#include <map>
#include <set>
#include <vector>

#include "common/random.h"
#include "gtest/gtest.h"

namespace cairn::worker {
namespace {

std::vector<int64_t> AllOf(const Permutation& permutation) {
  std::vector<int64_t> values;
  for (int64_t i = 0; i < permutation.size(); ++i) values.push_back(permutation.At(i));
  return values;
}

TEST(PermutationTest, EveryValueStandsExactlyOnce) {
  for (int64_t size : {1, 2, 3, 15, 16, 17, 64, 65, 1000, 60000}) {
    const auto values = AllOf(Permutation(size, 7));
    const std::set<int64_t> distinct(values.begin(), values.end());
    EXPECT_EQ(static_cast<int64_t>(distinct.size()), size);
    EXPECT_EQ(*distinct.begin(), 0);
    EXPECT_EQ(*distinct.rbegin(), size - 1);
  }
}

TEST(PermutationTest, EveryValueIsFoundWhereItStands) {
  for (int64_t size : {1, 2, 16, 17, 1000, 60000}) {
    const Permutation permutation(size, 99);
    for (int64_t i = 0; i < size; ++i) ASSERT_EQ(permutation.IndexOf(permutation.At(i)), i);
  }
}

TEST(PermutationTest, IsAFunctionOfSizeAndKeyOnly) {
  EXPECT_EQ(AllOf(Permutation(100, 1)), AllOf(Permutation(100, 1)));
  EXPECT_NE(AllOf(Permutation(100, 1)), AllOf(Permutation(100, 2)));
}

TEST(PermutationTest, ReachesEveryOrderOfFourAboutEquallyOften) {
  std::map<std::vector<int64_t>, int> counts;
  const int draws = 24000;
  for (int key = 0; key < draws; ++key) ++counts[AllOf(Permutation(4, MixBits(key + 1)))];
  ASSERT_EQ(counts.size(), 24u);
  double chi_square = 0;
  for (const auto& [order, count] : counts) chi_square += std::pow(count - 1000.0, 2) / 1000.0;
  EXPECT_LT(chi_square, 49.7);  // 23 degrees of freedom, p = 0.001.
}

TEST(PermutationTest, PlacesAndNeighboursLookIndependent) {
  const int64_t size = 1000;
  const int bins = 10;
  std::vector<double> by_place(bins * bins), by_neighbour(bins * bins);
  for (int key = 0; key < 100; ++key) {
    const auto values = AllOf(Permutation(size, key));
    for (int64_t i = 0; i + 1 < size; ++i) {
      ++by_place[i * bins / size * bins + values[i] * bins / size];
      ++by_neighbour[values[i] * bins / size * bins + values[i + 1] * bins / size];
    }
  }
  const double expected = 100.0 * (size - 1) / (bins * bins);
  for (const auto& table : {by_place, by_neighbour}) {
    double chi_square = 0;
    for (double count : table) chi_square += std::pow(count - expected, 2) / expected;
    EXPECT_LT(chi_square, 149);  // 99 degrees of freedom, p = 0.001.
  }
}

}  // namespace
}  // namespace cairn::worker
