#include "collectives/all_reduce.h"

#include <gtest/gtest.h>

#include <atomic>
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
        options.shared_memory = SharedMemory::kOff;
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

// The bytes of a tensor with values of all kinds, but no NaN.
std::vector<char> SomeValues(DataType type, int rank, size_t count) {
  std::vector<char> bytes(count * SizeOf(type));
  uint64_t random = static_cast<uint64_t>(rank) * 31 + count;
  for (char& byte : bytes) {
    random = random * 6364136223846793005ULL + 1442695040888963407ULL;
    byte = static_cast<char>(random >> 56);
  }
  // The exponent is that of a number near 1: sums and products are neither infinite nor zero.
  const auto set = [&](size_t high_byte, unsigned bits) {
    for (size_t i = high_byte; i < bytes.size(); i += SizeOf(type)) {
      bytes[i] = static_cast<char>((static_cast<unsigned>(bytes[i]) & 0x81) | bits);
    }
  };
  if (type == DataType::kFloat32) set(3, 0x3E);
  if (type == DataType::kFloat16) set(1, 0x3A);
  if (type == DataType::kBfloat16) set(1, 0x3E);
  return bytes;
}

// Every type, operator and number of ranks, with no, one and an odd number of elements, and with
// more steps than shared memory has buffers.
TEST(AllReduceTest, SharedMemoryGivesTheBitsOfSockets) {
  struct Case {
    DataType type;
    ReduceOp op;
    size_t count;
  };
  std::vector<Case> cases;
  for (const DataType type : {DataType::kFloat32, DataType::kFloat16, DataType::kBfloat16,
                              DataType::kInt32, DataType::kInt64}) {
    for (const ReduceOp op :
         {ReduceOp::kSum, ReduceOp::kAverage, ReduceOp::kMin, ReduceOp::kMax, ReduceOp::kProduct}) {
      for (const size_t count : {0, 1, 7, 1001}) cases.push_back({type, op, count});
    }
    cases.push_back({type, ReduceOp::kAverage, (size_t{9} << 18) / SizeOf(type) + 1});
  }
  for (const int size : {1, 2, 3, 4, 5}) {
    std::vector<std::vector<char>> results[2];  // By case; of rank 0.
    std::vector<std::vector<char>> slices[2];
    for (const bool shares : {false, true}) {
      GroupOptions options;
      options.algorithm = Algorithm::kDirect;
      options.shared_memory = shares ? SharedMemory::kAuto : SharedMemory::kOff;
      std::vector<std::vector<char>>& result = results[shares];
      result.resize(cases.size());
      slices[shares].resize(cases.size());
      std::atomic<int> differing = 0;
      RunRanks(
          size,
          [&](Group* group) {
            EXPECT_EQ(group->uses_shared_memory(), shares && size > 1);
            for (size_t i = 0; i < cases.size(); ++i) {
              const Case& each = cases[i];
              std::vector<char> bytes = SomeValues(each.type, group->rank(), each.count);
              const Tensor tensor = {bytes.data(), each.count, each.type, "v"};
              const auto slice = group->ReduceScatter(tensor, each.op);
              ASSERT_TRUE(slice.ok()) << slice.status();
              const absl::Status status = group->AllReduce({tensor}, each.op);
              ASSERT_TRUE(status.ok()) << status;
              // Others only read it after the next operation, and not while it is written.
              if (group->rank() == 0) {
                result[i] = bytes;
                slices[shares][i] = *slice;
              }
              ASSERT_TRUE(group->Barrier().ok());
              if (bytes != result[i]) ++differing;
            }
          },
          options);
      EXPECT_EQ(differing, 0) << "all ranks have the same bits";
    }
    for (size_t i = 0; i < cases.size(); ++i) {
      ASSERT_TRUE(results[0][i] == results[1][i])
          << size << " ranks, type " << static_cast<int>(cases[i].type) << ", "
          << NameOf(cases[i].op) << " of " << cases[i].count;
      ASSERT_TRUE(slices[0][i] == slices[1][i]);
    }
  }
}

// A closed form, so that the test does not only compare the two.
TEST(AllReduceTest, SharedMemoryReducesManyTensorsOfAllSizes) {
  RunRanks(4, [](Group* group) {
    for (size_t count = 1; count < 3000000; count = count * 3 + 1) {
      std::vector<int32_t> values(count);
      for (size_t i = 0; i < count; ++i) values[i] = static_cast<int32_t>(i) + group->rank();
      ASSERT_TRUE(
          group->AllReduce({Tensor{values.data(), count, DataType::kInt32, "v"}}, ReduceOp::kSum)
              .ok());
      for (size_t i = 0; i < count; ++i) ASSERT_EQ(values[i], static_cast<int32_t>(4 * i + 6));
    }
  });
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
