#include "tests/nn/cuda_on_host/grid.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <vector>

#include "common/random.h"

namespace cuda_on_host {
namespace {

constexpr unsigned kThreads = 64;

// The sum of a block's values by a tree. Without `barrier` the kernel has the error that the
// stand-in exists for.
void SumBlocks(const float* values, float* sums, bool barrier) {
  auto* const shared = static_cast<float*>(SharedMemory());
  shared[threadIdx.x] = values[blockIdx.x * blockDim.x + threadIdx.x];
  if (barrier) __syncthreads();
  for (unsigned half = blockDim.x / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) shared[threadIdx.x] += shared[threadIdx.x + half];
    __syncthreads();
  }
  if (threadIdx.x == 0) sums[blockIdx.x] = shared[0];
}

std::vector<float> Sums(const std::vector<float>& values, bool barrier, uint64_t seed) {
  std::vector<float> sums(values.size() / kThreads);
  EXPECT_TRUE(RunGrid([&] { SumBlocks(values.data(), sums.data(), barrier); },
                      static_cast<unsigned>(sums.size()), kThreads, kThreads * sizeof(float),
                      seed));
  return sums;
}

// Whole numbers, so that the sums are exact.
std::vector<float> Values() {
  std::vector<float> values(20 * kThreads);
  for (size_t i = 0; i < values.size(); ++i) values[i] = cairn::RandomBelow(1, i, 100);
  return values;
}

TEST(GridTest, ASumWithBarriersIsThatOfAPlainLoopForEverySeed) {
  const std::vector<float> values = Values();
  std::vector<float> expected(values.size() / kThreads);
  for (size_t i = 0; i < values.size(); ++i) expected[i / kThreads] += values[i];
  for (uint64_t seed = 0; seed < 20; ++seed) EXPECT_EQ(Sums(values, true, seed), expected);
}

TEST(GridTest, AMissingBarrierIsSeenInEveryBlock) {
  const std::vector<float> values = Values();
  for (uint64_t seed = 0; seed < 20; ++seed) {
    for (float sum : Sums(values, false, seed)) EXPECT_TRUE(std::isnan(sum)) << "seed " << seed;
  }
}

TEST(GridTest, EveryThreadOfEveryBlockRunsOnce) {
  const dim3 grid(3, 2, 2), block(4, 3, 2);
  std::set<std::vector<unsigned>> seen;
  int runs = 0;
  const auto body = [&] {
    EXPECT_EQ(gridDim.y, 2);
    EXPECT_EQ(blockDim.y, 3);
    seen.insert({blockIdx.x, blockIdx.y, blockIdx.z, threadIdx.x, threadIdx.y, threadIdx.z});
    ++runs;
  };
  EXPECT_TRUE(RunGrid(body, grid, block, 0, 1));
  EXPECT_EQ(runs, 12 * 24);
  EXPECT_EQ(seen.size(), 12 * 24);
}

// The position belongs to the thread, also after a barrier.
TEST(GridTest, AThreadKeepsItsPositionAcrossBarriers) {
  std::vector<int> rounds(kThreads);
  const auto body = [&] {
    const unsigned before = threadIdx.x;
    for (int round = 0; round < 5; ++round) {
      __syncthreads();
      EXPECT_EQ(threadIdx.x, before);
      ++rounds[threadIdx.x];
    }
  };
  EXPECT_TRUE(RunGrid(body, 1, kThreads, 0, 1));
  EXPECT_EQ(rounds, std::vector<int>(kThreads, 5));
}

TEST(GridTest, TheOrderOfThreadsAndBlocksDependsOnTheSeed) {
  const auto order = [](uint64_t seed) {
    std::vector<unsigned> threads;
    RunGrid([&] { threads.push_back(blockIdx.x * blockDim.x + threadIdx.x); }, 4, kThreads, 0,
            seed);
    return threads;
  };
  EXPECT_EQ(order(1), order(1));
  EXPECT_NE(order(1), order(2));
}

TEST(GridTest, ABarrierThatSomeThreadsMissFails) {
  const auto body = [] {
    if (threadIdx.x < 10) __syncthreads();
  };
  EXPECT_FALSE(RunGrid(body, 2, kThreads, 0, 1));
  // The next grid is not disturbed.
  EXPECT_TRUE(RunGrid([] { __syncthreads(); }, 2, kThreads, 0, 1));
}

}  // namespace
}  // namespace cuda_on_host
