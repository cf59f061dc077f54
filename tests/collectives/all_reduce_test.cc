#include "collectives/all_reduce.h"

#include <gtest/gtest.h>

#include <mutex>
#include <random>
#include <vector>

#include "tests/collectives/ranks.h"

namespace cairn::collectives {
namespace {

using testing::RunRanks;

TEST(SliceTest, TheFirstSlicesHaveOneElementMore) {
  const std::vector<size_t> begins = {0, 3, 6, 8, 10};
  for (int i = 0; i <= 4; ++i) EXPECT_EQ(SliceBegin(10, 4, i), begins[i]);
  EXPECT_EQ(SliceBegin(2, 4, 3), 2u) << "slices may be empty";
}

std::vector<float> Values(int rank, size_t count) {
  std::mt19937 random(static_cast<unsigned>(rank) + 7);
  std::normal_distribution<float> normal;
  std::vector<float> values(count);
  for (float& value : values) value = normal(random);
  return values;
}

// Sizes around the number of ranks, the piece of 256 KiB and the buffers of sockets.
TEST(AllReduceTest, BothAlgorithmsGiveTheSumForAnyNumberOfRanksAndElements) {
  for (const int size : {1, 2, 3, 4, 7}) {
    for (const size_t count : {0, 1, 2, 5, 1000, 65536, 200001, 1500000}) {
      std::vector<double> exact(count);
      std::vector<float> in_order = Values(0, count);
      for (int rank = 0; rank < size; ++rank) {
        const std::vector<float> values = Values(rank, count);
        for (size_t i = 0; i < count; ++i) exact[i] += values[i];
        if (rank > 0) {
          for (size_t i = 0; i < count; ++i) in_order[i] += values[i];
        }
      }
      for (const Algorithm algorithm : {Algorithm::kDirect, Algorithm::kRing}) {
        std::mutex mutex;
        std::vector<std::vector<float>> results;
        GroupOptions options;
        options.algorithm = algorithm;
        RunRanks(
            size,
            [&](Group* group) {
              std::vector<float> values = Values(group->rank(), count);
              const absl::Status status = group->AllReduce(
                  {Tensor{values.data(), count, DataType::kFloat32, "v"}}, ReduceOp::kSum);
              EXPECT_TRUE(status.ok()) << status;
              const std::lock_guard lock(mutex);
              results.push_back(std::move(values));
            },
            options);
        ASSERT_EQ(results.size(), static_cast<size_t>(size));
        for (const auto& result : results)
          ASSERT_EQ(result, results[0]) << "all have the same bits";
        if (algorithm == Algorithm::kDirect) {
          ASSERT_EQ(results[0], in_order) << "the bits of a loop over the ranks";
        }
        for (size_t i = 0; i < count; ++i) ASSERT_NEAR(results[0][i], exact[i], 1e-5);
      }
    }
  }
}

TEST(AllReduceTest, TheBitsOfARingAreTheSameInEachRun) {
  std::vector<std::vector<float>> runs;
  for (int run = 0; run < 2; ++run) {
    GroupOptions options;
    options.algorithm = Algorithm::kRing;
    std::mutex mutex;
    RunRanks(
        5,
        [&](Group* group) {
          std::vector<float> values = Values(group->rank(), 10007);
          EXPECT_TRUE(
              group->AllReduce({Tensor{values.data(), values.size()}}, ReduceOp::kSum).ok());
          const std::lock_guard lock(mutex);
          if (group->rank() == 0) runs.push_back(values);
        },
        options);
  }
  EXPECT_EQ(runs[0], runs[1]);
}

}  // namespace
}  // namespace cairn::collectives
