#include "worker/data/mixture.h"

#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace cairn::worker {
namespace {

// The sources of a pass, by their letters.
std::string Sources(const Mixture& mixture) {
  std::string text;
  for (int64_t i = 0; i < mixture.examples(); ++i) {
    text += static_cast<char>('a' + mixture.At(i).source);
  }
  return text;
}

TEST(MixtureTest, SourcesAreInterleavedByTheirWeights) {
  EXPECT_EQ(Sources(*Mixture::Create({3, 3}, {0.5, 0.5})), "bababa");
  EXPECT_EQ(Sources(*Mixture::Create({2, 100}, {1, 3})), "bbbabbba");
  EXPECT_EQ(Sources(*Mixture::Create({4, 2}, {})), "baabaa");
  EXPECT_EQ(Sources(*Mixture::Create({5}, {2})), "aaaaa");
}

// Of the first n examples of a pass each source has its share, and it has its rows in their order.
TEST(MixtureTest, EverySourceKeepsItsOrderAndItsShare) {
  const std::vector<std::vector<int64_t>> sizes = {{7}, {10, 3}, {100, 1, 17}, {33, 40, 50, 60, 7}};
  const std::vector<std::vector<double>> weights = {
      {1}, {0.7, 0.3}, {10, 0.5, 2.25}, {1, 2, 3, 4, 5}};
  for (size_t test = 0; test < 2 * sizes.size(); ++test) {
    const std::vector<int64_t>& size = sizes[test / 2];
    const std::vector<double> weight = test % 2 == 0 ? weights[test / 2] : std::vector<double>();
    const auto mixture = Mixture::Create(size, weight);
    ASSERT_TRUE(mixture.ok()) << mixture.status();
    std::vector<double> share = weight;
    if (share.empty()) share.assign(size.begin(), size.end());
    const double all = std::accumulate(share.begin(), share.end(), 0.0);
    std::vector<int64_t> seen(size.size(), 0);
    for (int64_t number = 0; number < 5 * mixture->examples(); ++number) {
      const Mixture::Place place = mixture->At(number);
      ASSERT_EQ(place.example, seen[place.source]++ % size[place.source]);
      const int64_t pass = number / mixture->examples() + 1;
      for (size_t i = 0; i < size.size(); ++i) {
        // Each division between a source and the others, and each pass, rounds once.
        const double expected = static_cast<double>(number + 1) * share[i] / all;
        ASSERT_NEAR(seen[i], expected, static_cast<double>(size.size() + pass * size.size()));
      }
    }
    // A pass repeats nothing, and is as long as possible.
    bool is_exhausted = false;
    for (size_t i = 0; i < size.size(); ++i) {
      ASSERT_LE(seen[i], 5 * size[i]);
      is_exhausted |= seen[i] == 5 * size[i];
    }
    EXPECT_TRUE(is_exhausted);
  }
}

TEST(MixtureTest, RoundWeightsAreNotRoundedDown) {
  const auto mixture = Mixture::Create({700, 100000}, {0.7, 0.3});
  EXPECT_EQ(mixture->examples(), 1000);
  EXPECT_EQ(Mixture::Create({10, 90}, {0.1, 0.9})->examples(), 100);
}

TEST(MixtureTest, LargeNumbersDoNotOverflow) {
  constexpr int64_t kLarge = int64_t{1} << 50;
  const auto mixture = Mixture::Create({kLarge, kLarge}, {1, 1});
  EXPECT_EQ(mixture->At(2 * kLarge - 2).source, 1);
  EXPECT_EQ(mixture->At(2 * kLarge - 1).example, kLarge - 1);
}

TEST(MixtureTest, ASourceWithoutAnExampleIsNamed) {
  EXPECT_EQ(
      Mixture::Create({10, 10}, {1, 0.01}).status().message(),
      "\"mix[1].weight\": 0.01 gives no example of the source, because mix[0] has only 10 for "
      "its weight of 1");
}

}  // namespace
}  // namespace cairn::worker
