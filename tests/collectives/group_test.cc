#include "collectives/group.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <cstring>
#include <fstream>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "nlohmann/json.hpp"
#include "tests/collectives/ranks.h"

namespace cairn::collectives {
namespace {

using testing::FreeAddresses;
using testing::RunRanks;

template <typename T>
std::vector<T> As(const std::vector<char>& bytes) {
  std::vector<T> values(bytes.size() / sizeof(T));
  if (!bytes.empty()) std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

Tensor Of(std::vector<int32_t>* values) {
  return {values->data(), values->size(), DataType::kInt32, "t"};
}

TEST(GroupTest, OptionsComeFromTfConfig) {
  const auto options = GroupOptions::FromTfConfig(
      R"({"cluster": {"worker": ["h:1", "h:2"]}, "task": {"type": "worker", "index": 1}})");
  ASSERT_TRUE(options.ok()) << options.status();
  EXPECT_EQ(options->addresses, (std::vector<std::string>{"h:1", "h:2"}));
  EXPECT_EQ(options->rank, 1);
  EXPECT_FALSE(
      GroupOptions::FromTfConfig(
          R"({"cluster": {"worker": ["h:1"], "chief": ["h:2"]}, "task": {"type": "chief", "index": 0}})")
          .ok());
  EXPECT_FALSE(GroupOptions::FromTfConfig("").ok());
}

TEST(GroupTest, EveryOperatorOfAllReduce) {
  const std::vector<std::pair<ReduceOp, float>> cases = {{ReduceOp::kSum, 9},
                                                         {ReduceOp::kAverage, 3},
                                                         {ReduceOp::kMin, 2},
                                                         {ReduceOp::kMax, 4},
                                                         {ReduceOp::kProduct, 24}};
  RunRanks(3, [&](Group* group) {
    for (const auto& [op, expected] : cases) {
      std::vector<float> values(5, static_cast<float>(group->rank() + 2));
      ASSERT_TRUE(group->AllReduce({Tensor{values.data(), values.size()}}, op).ok());
      EXPECT_EQ(values, std::vector<float>(5, expected)) << NameOf(op);
    }
    std::vector<float> scaled(2, 1.0F);
    ASSERT_TRUE(
        group->AllReduce({Tensor{scaled.data(), 2}}, ReduceOp::kSum, {.before = 0.5, .after = 10})
            .ok());
    EXPECT_EQ(scaled, std::vector<float>(2, 15.0F));
  });
}

// Tensors of several types and sizes, in fusion buffers of 64 bytes.
TEST(GroupTest, TensorsTravelTogetherAndComeBackEach) {
  GroupOptions options;
  options.fusion_bytes = 64;
  RunRanks(
      4,
      [](Group* group) {
        std::vector<std::vector<float>> floats;
        std::vector<std::vector<int32_t>> ints;
        for (const size_t count : {3, 1, 20, 0, 7}) {
          floats.emplace_back(count, static_cast<float>(count + group->rank()));
          ints.emplace_back(count, static_cast<int32_t>(count) * group->rank());
        }
        std::vector<Tensor> tensors;
        for (size_t i = 0; i < floats.size(); ++i) {
          tensors.push_back({floats[i].data(), floats[i].size(), DataType::kFloat32, "f"});
          if (i % 2 == 0) tensors.push_back(Of(&ints[i]));
        }
        ASSERT_TRUE(group->AllReduce(tensors, ReduceOp::kSum).ok());
        for (size_t i = 0; i < floats.size(); ++i) {
          const size_t count = floats[i].size();
          EXPECT_EQ(floats[i], std::vector<float>(count, static_cast<float>(4 * count + 6)));
          if (i % 2 == 0) {
            EXPECT_EQ(ints[i], std::vector<int32_t>(count, static_cast<int32_t>(count) * 6));
          }
        }
      },
      options);
}

TEST(GroupTest, BroadcastFromEachRootToAnyNumberOfRanks) {
  for (const int size : {1, 2, 3, 5, 8}) {
    RunRanks(size, [size](Group* group) {
      for (int root = 0; root < size; ++root) {
        std::vector<int32_t> values(1000, group->rank() * 10);
        ASSERT_TRUE(group->Broadcast(Of(&values), root).ok());
        EXPECT_EQ(values, std::vector<int32_t>(1000, root * 10));
      }
      std::vector<int32_t> values = {1};
      EXPECT_EQ(group->Broadcast(Of(&values), size).code(), absl::StatusCode::kInvalidArgument);
      EXPECT_TRUE(group->Barrier().ok()) << "wrong arguments do not end the group";
    });
  }
}

TEST(GroupTest, AllGatherOfDifferentSizes) {
  RunRanks(4, [](Group* group) {
    std::vector<int32_t> values(static_cast<size_t>(group->rank()), group->rank());
    std::vector<size_t> counts;
    const auto gathered = group->AllGather(Of(&values), &counts);
    ASSERT_TRUE(gathered.ok()) << gathered.status();
    EXPECT_EQ(As<int32_t>(*gathered), (std::vector<int32_t>{1, 2, 2, 3, 3, 3}));
    EXPECT_EQ(counts, (std::vector<size_t>{0, 1, 2, 3}));
  });
}

TEST(GroupTest, ReduceScatterGivesEachRankItsSlice) {
  RunRanks(3, [](Group* group) {
    std::vector<int32_t> values = {1, 2, 3, 4, 5};
    const auto slice = group->ReduceScatter(Of(&values), ReduceOp::kSum);
    ASSERT_TRUE(slice.ok()) << slice.status();
    const std::vector<std::vector<int32_t>> expected = {{3, 6}, {9, 12}, {15}};
    EXPECT_EQ(As<int32_t>(*slice), expected[group->rank()]);
    EXPECT_EQ(values, (std::vector<int32_t>{1, 2, 3, 4, 5})) << "the input stays";
    std::vector<float> floats = {3, 3, 3};
    const auto scaled = group->ReduceScatter({floats.data(), 3}, ReduceOp::kAverage, {.before = 2});
    ASSERT_TRUE(scaled.ok());
    EXPECT_EQ(As<float>(*scaled), std::vector<float>{6});
    EXPECT_EQ(floats, (std::vector<float>{3, 3, 3}));
  });
}

TEST(GroupTest, AllToAllSendsEachRankItsPart) {
  RunRanks(3, [](Group* group) {
    // Rank r sends i + 1 times the number 10 r + i to rank i.
    std::vector<int32_t> values;
    for (int to = 0; to < 3; ++to) values.insert(values.end(), to + 1, 10 * group->rank() + to);
    std::vector<size_t> received;
    const auto result = group->AllToAll(Of(&values), {1, 2, 3}, &received);
    ASSERT_TRUE(result.ok()) << result.status();
    std::vector<int32_t> expected;
    for (int from = 0; from < 3; ++from) {
      expected.insert(expected.end(), group->rank() + 1, 10 * from + group->rank());
    }
    EXPECT_EQ(As<int32_t>(*result), expected);
    EXPECT_EQ(received, std::vector<size_t>(3, static_cast<size_t>(group->rank() + 1)));
    EXPECT_EQ(group->AllToAll(Of(&values), {1, 2}).status().code(),
              absl::StatusCode::kInvalidArgument);
    EXPECT_EQ(group->AllToAll(Of(&values), {1, 2, 4}).status().code(),
              absl::StatusCode::kInvalidArgument);
  });
}

TEST(GroupTest, ABarrierWaitsForAll) {
  std::atomic<int> arrived = 0;
  RunRanks(4, [&](Group* group) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10 * group->rank()));
    ++arrived;
    ASSERT_TRUE(group->Barrier().ok());
    EXPECT_EQ(arrived, 4);
  });
}

TEST(GroupTest, LocalRanksAreThoseOfTheSameHost) {
  RunRanks(3, [](Group* group) {
    EXPECT_EQ(group->local_rank(), group->rank());
    EXPECT_EQ(group->local_size(), 3);
  });
}

TEST(GroupTest, ADifferentOperationIsNamedOnBothSides) {
  RunRanks(2, [](Group* group) {
    std::vector<int32_t> values = {1, 2};
    const absl::Status status = group->rank() == 0 ? group->AllReduce({Of(&values)}, ReduceOp::kSum)
                                                   : group->Broadcast(Of(&values), 0);
    EXPECT_FALSE(status.ok());
    EXPECT_FALSE(group->Barrier().ok()) << "the group is over";
  });
}

TEST(GroupTest, ADifferentSizeIsAnError) {
  RunRanks(2, [](Group* group) {
    std::vector<int32_t> values(static_cast<size_t>(group->rank() + 4));
    EXPECT_FALSE(group->AllReduce({Of(&values)}, ReduceOp::kSum).ok());
  });
}

TEST(GroupTest, WrongArgumentsSendNothing) {
  RunRanks(1, [](Group* group) {
    std::vector<int32_t> values = {1};
    EXPECT_EQ(group->AllReduce({Of(&values)}, ReduceOp::kSum, {.before = 2}).code(),
              absl::StatusCode::kInvalidArgument);
    EXPECT_EQ(group->AllReduce({Tensor{nullptr, 3}}, ReduceOp::kSum).code(),
              absl::StatusCode::kInvalidArgument);
    const Tensor negative = {values.data(), static_cast<size_t>(-1), DataType::kInt32, "n"};
    const absl::Status status = group->AllReduce({negative}, ReduceOp::kSum);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_NE(status.message().find("tensor n has 18446744073709551615 elements"),
              std::string::npos);
    EXPECT_EQ(group->Broadcast(negative, 0).code(), absl::StatusCode::kInvalidArgument);
    EXPECT_EQ(group->AllToAll(Of(&values), {static_cast<size_t>(-1)}).status().code(),
              absl::StatusCode::kInvalidArgument);
    EXPECT_EQ(group->Reform().status().code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_EQ(group->Reform(0).status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_EQ(group->Reform(1, absl::ZeroDuration()).status().code(),
              absl::StatusCode::kInvalidArgument);
  });
}

TEST(GroupTest, BadOptionsAreRefused) {
  const auto why = [](GroupOptions options) {
    return std::string(Group::Join(options).status().message());
  };
  EXPECT_NE(why({.addresses = {"h:1"}, .rank = 1}).find("rank 1 is not in a group of 1 address"),
            std::string::npos);
  EXPECT_NE(why({}).find("rank 0 is not in a group of 0"), std::string::npos);
  EXPECT_NE(why({.addresses = {"h:1", "h:1"}}).find("rank 0 and rank 1 have the same address"),
            std::string::npos);
  EXPECT_NE(why({.addresses = {"h"}}).find("port"), std::string::npos);
  const std::vector<std::string> one = {"h:1"};
  const absl::Duration none;
  EXPECT_NE(why({.addresses = one, .join_timeout = none}).find("join_timeout: 0"),
            std::string::npos);
  EXPECT_NE(why({.addresses = one, .timeout = absl::Seconds(-1)}).find("timeout: -1s is not"),
            std::string::npos);
  EXPECT_NE(why({.addresses = one, .stall = none}).find("stall: 0 is not a positive time"),
            std::string::npos);
  EXPECT_NE(why({.addresses = one, .rank = -1}).find("rank -1 is not in"), std::string::npos);
  GroupOptions many;
  for (int port = 1; port <= 1025; ++port) many.addresses.push_back(absl::StrCat("h:", port));
  EXPECT_NE(why(many).find("at most 1024 ranks, not 1025"), std::string::npos);
}

// Options that are not wrong, only extreme.
TEST(GroupTest, EndlessTimeoutsAndNoFusionWork) {
  GroupOptions options;
  options.join_timeout = options.timeout = options.stall = absl::InfiniteDuration();
  options.fusion_bytes = 0;
  RunRanks(
      3,
      [](Group* group) {
        std::vector<int32_t> a = {1};
        std::vector<int32_t> b = {2, 3};
        ASSERT_TRUE(group->AllReduce({Of(&a), Of(&b)}, ReduceOp::kSum).ok());
        EXPECT_EQ(b, (std::vector<int32_t>{6, 9}));
      },
      options);
}

// Rank r enqueues the tensors from the r-th on, then those before.
TEST(GroupTest, EnqueuedTensorsAreReducedInAnyOrder) {
  for (const int size : {1, 2, 4}) {
    RunRanks(size, [size](Group* group) {
      constexpr int kTensors = 7;
      std::vector<std::vector<int32_t>> values;
      for (int i = 0; i < kTensors; ++i) values.emplace_back(10 * i, i + group->rank());
      const auto enqueue = [&](int i) {
        Tensor tensor = Of(&values[i]);
        tensor.name = absl::StrCat("t", i);
        const ReduceOp op = i % 3 == 2 ? ReduceOp::kMax : ReduceOp::kSum;
        ASSERT_TRUE(group->Enqueue(tensor, op).ok());
      };
      // One is missing on the last rank.
      const bool is_last = group->rank() == size - 1;
      for (int i = 0; i < kTensors; ++i) {
        const int index = (i + group->rank()) % kTensors;
        if (index != 4 || !is_last) enqueue(index);
      }
      const auto reduced = group->ReduceReady();
      ASSERT_TRUE(reduced.ok()) << reduced.status();
      EXPECT_EQ(*reduced, (std::vector<std::string>{"t0", "t1", "t2", "t3", "t5", "t6"}));
      EXPECT_EQ(group->enqueued(),
                is_last ? std::vector<std::string>() : std::vector<std::string>{"t4"});
      if (is_last) enqueue(4);
      EXPECT_EQ(*group->ReduceReady(), std::vector<std::string>{"t4"});
      EXPECT_EQ(*group->ReduceReady(), std::vector<std::string>());
      for (int i = 0; i < kTensors; ++i) {
        const int sum = size * i + size * (size - 1) / 2;
        EXPECT_EQ(values[i], std::vector<int32_t>(10 * i, i % 3 == 2 ? i + size - 1 : sum));
      }
    });
  }
}

TEST(GroupTest, EnqueuedTensorsThatDifferAreNamedOnAllRanks) {
  RunRanks(3, [](Group* group) {
    std::vector<int32_t> a = {1};
    std::vector<int32_t> b(group->rank() == 2 ? 2 : 1, 1);
    Tensor first = Of(&a);
    first.name = "a";
    Tensor second = Of(&b);
    second.name = "b";
    ASSERT_TRUE(group->Enqueue(first, ReduceOp::kSum).ok());
    ASSERT_TRUE(group->Enqueue(second, ReduceOp::kSum).ok());
    const absl::Status status = group->ReduceReady().status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_NE(status.message().find("tensor b has another type, size, operator or scale on rank 2"),
              std::string::npos)
        << status;
    EXPECT_EQ(a[0], 1) << "nothing was reduced";
    EXPECT_TRUE(group->enqueued().empty());
    ASSERT_TRUE(group->Enqueue(first, ReduceOp::kSum).ok()) << "the group goes on";
    EXPECT_EQ(group->Enqueue(first, ReduceOp::kSum).code(), absl::StatusCode::kInvalidArgument);
    first.name = "";
    EXPECT_EQ(group->Enqueue(first, ReduceOp::kSum).code(), absl::StatusCode::kInvalidArgument);
    EXPECT_TRUE(group->ReduceReady().ok());
    EXPECT_EQ(a[0], 3);
  });
}

// Each rank r has 2 r + 1 batches, in the second epoch the other way round.
void TrainUnevenly(Group* group) {
  const int size = group->size();
  for (const bool is_reversed : {false, true}) {
    const auto batches_of = [&](int rank) {
      return 2 * (is_reversed ? size - 1 - rank : rank) + 1;
    };
    for (int batch = 0; batch < batches_of(group->rank()); ++batch) {
      int active = 0;
      for (int rank = 0; rank < size; ++rank) active += batch < batches_of(rank) ? 1 : 0;
      const auto count = static_cast<size_t>(batch * 100 + 1);
      std::vector<float> floats(count, 1.0F);
      std::vector<int32_t> ints(count, 2);
      const Tensor tensors[] = {
          {floats.data(), count, DataType::kFloat32, "f"}, Of(&ints), Of(&ints)};
      ASSERT_TRUE(group->AllReduce(absl::MakeSpan(tensors, 2), ReduceOp::kSum).ok());
      EXPECT_EQ(floats, std::vector<float>(count, static_cast<float>(active)));
      EXPECT_EQ(ints, std::vector<int32_t>(count, 2 * active));
      ASSERT_TRUE(
          group->AllReduce({tensors[0]}, ReduceOp::kAverage, {.before = 0.5, .after = 4}).ok());
      EXPECT_FLOAT_EQ(floats[0], 2.0F * active * active / size) << "of all ranks";
      for (const ReduceOp op : {ReduceOp::kMin, ReduceOp::kMax, ReduceOp::kProduct}) {
        std::vector<float> value = {-3.0F};
        const float expected = op == ReduceOp::kProduct ? std::pow(-3.0F, active) : -3.0F;
        ASSERT_TRUE(group->AllReduce({Tensor{value.data(), 1}}, op).ok());
        EXPECT_EQ(value[0], expected) << NameOf(op);
      }
    }
    const auto last = group->Join();
    ASSERT_TRUE(last.ok()) << last.status();
    EXPECT_EQ(*last, is_reversed ? 0 : size - 1);
  }
}

TEST(JoinTest, RanksWithoutDataTakePartUntilAllHaveJoined) {
  for (const Algorithm algorithm : {Algorithm::kDirect, Algorithm::kRing}) {
    for (const SharedMemory shared_memory : {SharedMemory::kAuto, SharedMemory::kOff}) {
      GroupOptions options;
      options.algorithm = algorithm;
      options.shared_memory = shared_memory;
      options.uneven = true;
      for (const int size : {1, 2, 4}) RunRanks(size, TrainUnevenly, options);
    }
  }
}

TEST(JoinTest, OfRanksThatJoinTogetherTheHighestIsTheLast) {
  GroupOptions options;
  options.uneven = true;
  RunRanks(
      3,
      [](Group* group) {
        for (int epoch = 0; epoch < 2; ++epoch) {
          std::vector<int32_t> values = {1};
          if (group->rank() < 2) {
            ASSERT_TRUE(group->AllReduce({Of(&values)}, ReduceOp::kSum).ok());
          }
          const auto last = group->Join();
          ASSERT_TRUE(last.ok()) << last.status();
          EXPECT_EQ(*last, 1);
        }
        EXPECT_TRUE(group->Barrier().ok());
      },
      options);
}

TEST(JoinTest, NeedsItsOption) {
  RunRanks(2, [](Group* group) {
    EXPECT_EQ(group->Join().status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_TRUE(group->Barrier().ok()) << "the group goes on";
  });
}

TEST(JoinTest, OtherOperationsNeedAllRanks) {
  GroupOptions options;
  options.uneven = true;
  RunRanks(
      3,
      [](Group* group) {
        std::vector<int32_t> values = {1};
        const absl::Status status =
            group->rank() == 0 ? group->Join().status() : group->Broadcast(Of(&values), 2);
        const absl::Status failure = status.ok() ? group->Barrier() : status;
        EXPECT_EQ(failure.code(), absl::StatusCode::kFailedPrecondition) << failure;
      },
      options);
}

TEST(JoinTest, ARankThatIsLostIsNamedToThoseThatHaveJoined) {
  GroupOptions options;
  options.uneven = true;
  RunRanks(
      3,
      [](Group* group) {
        if (group->rank() == 1) return;
        const absl::Status status = group->Join().status();
        EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable) << status;
        EXPECT_NE(status.message().find("rank 1 ("), std::string::npos) << status;
      },
      options);
}

TEST(GroupTest, ARankThatDoesNotJoinIsNamed) {
  GroupOptions options;
  options.addresses = FreeAddresses(3);
  options.join_timeout = absl::Milliseconds(300);
  const auto group = Group::Join(options);
  EXPECT_EQ(group.status().code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_NE(group.status().message().find("rank 0 waited 300ms for rank 1, rank 2"),
            std::string::npos)
      << group.status();
}

TEST(GroupTest, AnotherListOfRanksIsRefused) {
  const std::vector<std::string> addresses = FreeAddresses(3);
  std::vector<std::thread> threads;
  for (const int rank : {0, 1}) {
    threads.emplace_back([&addresses, rank] {
      GroupOptions options;
      options.addresses = {addresses[0], addresses[1]};
      if (rank == 1) options.addresses.push_back(addresses[2]);
      options.rank = rank;
      options.join_timeout = absl::Seconds(20);
      const auto group = Group::Join(options);
      EXPECT_EQ(group.status().code(), absl::StatusCode::kInvalidArgument) << group.status();
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(GroupTest, TheTimelineHasEachOperation) {
  GroupOptions options;
  options.timeline_file = ::testing::TempDir() + "/group_timeline.json";
  RunRanks(
      1,
      [](Group* group) {
        std::vector<float> a(3);
        std::vector<float> b(4);
        ASSERT_TRUE(
            group->AllReduce({Tensor{a.data(), 3}, Tensor{b.data(), 4}}, ReduceOp::kSum).ok());
        ASSERT_TRUE(group->Barrier().ok());
      },
      options);
  std::ifstream in(options.timeline_file);
  const std::string text((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  for (const char* const activity :
       {"MEMCPY_IN_FUSION_BUFFER", "DIRECT_ALLREDUCE", "MEMCPY_OUT_FUSION_BUFFER", "BARRIER"}) {
    EXPECT_NE(text.find(activity), std::string::npos) << activity;
  }
}

// Horovod's QUEUE: from Enqueue to the beginning of the exchange that finds it ready.
TEST(GroupTest, TheTimelineHasTheTimeOfEachTensorInTheQueue) {
  GroupOptions options;
  options.timeline_file = ::testing::TempDir() + "/queue_timeline.json";
  int64_t between_us = 0;
  RunRanks(
      1,
      [&](Group* group) {
        std::vector<float> values(2);
        ASSERT_TRUE(
            group->Enqueue({values.data(), 1, DataType::kFloat32, "first"}, ReduceOp::kSum).ok());
        const absl::Time begin = absl::Now();
        while (absl::Now() - begin < absl::Milliseconds(20)) continue;
        between_us = absl::ToInt64Microseconds(absl::Now() - begin);
        ASSERT_TRUE(
            group->Enqueue({values.data() + 1, 1, DataType::kFloat32, "second"}, ReduceOp::kSum)
                .ok());
        ASSERT_TRUE(group->ReduceReady().ok());
      },
      options);
  std::ifstream in(options.timeline_file);
  std::map<std::string, int64_t> queued_us;
  std::vector<int64_t> ends;
  int64_t negotiated_at = 0;
  const nlohmann::json events = nlohmann::json::parse(in).at("traceEvents");
  for (const nlohmann::json& event : events) {
    const int64_t at = event.at("ts");
    if (event.at("name") == "NEGOTIATE_ALLREDUCE") negotiated_at = at;
    if (event.at("name") != "QUEUE") continue;
    queued_us[event.at("args").at("tensor")] = event.at("dur");
    ends.push_back(at + event.at("dur").get<int64_t>());
  }
  ASSERT_EQ(queued_us.size(), 2u) << events;
  EXPECT_GE(queued_us["first"] - queued_us["second"], between_us - 2) << "rounded down";
  EXPECT_GE(queued_us["second"], 0);
  for (const int64_t end : ends) EXPECT_LE(end, negotiated_at);
}

}  // namespace
}  // namespace cairn::collectives
