#include "coordinator/training/batch_leases.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>
#include <vector>

namespace cairn::coordinator {
namespace {

using Result = BatchLeases::Result;

constexpr absl::Duration kStart = absl::Seconds(50);

std::vector<int64_t> Batches(const std::vector<proto::Split>& splits) {
  std::vector<int64_t> batches;
  for (const proto::Split& split : splits) {
    for (int64_t i = 0; i < split.count(); ++i) batches.push_back(split.first() + i);
  }
  return batches;
}

TEST(BatchLeasesTest, NothingIsLeasedBeyondTheLimit) {
  BatchLeases leases(5, 100);
  EXPECT_EQ(Batches(leases.Grant(WorkerTask(0), 1, 6, kStart)), (std::vector<int64_t>{5}));
  EXPECT_TRUE(leases.Grant(WorkerTask(1), 1, 6, kStart).empty());
  EXPECT_EQ(Batches(leases.Grant(WorkerTask(1), 1, 7, kStart)), (std::vector<int64_t>{6}));
}

TEST(BatchLeasesTest, OnlyTheFirstResultOfAWorkerThatWasAskedCounts) {
  BatchLeases leases(0, 1);
  EXPECT_EQ(leases.Done(WorkerTask(0), 0, kStart), Result::kNotLeased) << "nobody was asked";
  ASSERT_EQ(leases.Grant(WorkerTask(0), 1, 1, kStart).size(), 1u);
  EXPECT_EQ(leases.Done(WorkerTask(1), 0, kStart), Result::kNotLeased)
      << "another worker was asked";
  // A minute later another worker is asked, too.
  const absl::Duration later = kStart + absl::Seconds(61);
  ASSERT_EQ(leases.Grant(WorkerTask(1), 1, 1, later).size(), 1u);
  EXPECT_EQ(leases.Done(WorkerTask(1), 0, later), Result::kFirst);
  EXPECT_EQ(leases.Done(WorkerTask(1), 0, later), Result::kNotLeased);
  EXPECT_EQ(leases.Done(WorkerTask(0), 0, later), Result::kRepeated)
      << "another result came before";
  EXPECT_EQ(leases.missing(), 0);
  EXPECT_TRUE(leases.Grant(WorkerTask(2), 1, 1, later + absl::Minutes(2)).empty());
}

TEST(BatchLeasesTest, TheResultOfASlowWorkerCounts) {
  BatchLeases leases(0, 2);
  ASSERT_EQ(Batches(leases.Grant(WorkerTask(0), 1, 2, kStart)), (std::vector<int64_t>{0, 1}));
  const absl::Duration later = kStart + absl::Seconds(61);
  ASSERT_EQ(Batches(leases.Grant(WorkerTask(1), 2, 2, later)), (std::vector<int64_t>{0}));
  EXPECT_EQ(leases.Done(WorkerTask(0), 0, later), Result::kFirst)
      << "another worker has its lease now";
  EXPECT_EQ(leases.Done(WorkerTask(1), 0, later), Result::kRepeated);
  EXPECT_EQ(leases.Done(WorkerTask(0), 1, later), Result::kFirst) << "nobody has its lease now";
  EXPECT_TRUE(leases.Grant(WorkerTask(1), 2, 2, later).empty());
  EXPECT_EQ(leases.missing(), 0);
}

TEST(BatchLeasesTest, BatchesThatAreTakenBackGoToOthersAndCountOnce) {
  BatchLeases leases(0, 2);
  EXPECT_EQ(leases.leased(WorkerTask(0)), 0);
  ASSERT_EQ(Batches(leases.Grant(WorkerTask(0), 1, 2, kStart)), (std::vector<int64_t>{0, 1}));
  EXPECT_EQ(leases.leased(WorkerTask(0)), 2);
  leases.TakeBack(WorkerTask(0));
  leases.TakeBack(WorkerTask(1));
  EXPECT_EQ(leases.leased(WorkerTask(0)), 0);
  ASSERT_EQ(Batches(leases.Grant(WorkerTask(1), 1, 2, kStart)), (std::vector<int64_t>{0, 1}));
  EXPECT_EQ(leases.Done(WorkerTask(0), 0, kStart), Result::kFirst);
  EXPECT_EQ(leases.Done(WorkerTask(1), 0, kStart), Result::kRepeated);
  EXPECT_EQ(leases.Done(WorkerTask(1), 1, kStart), Result::kFirst);
  EXPECT_EQ(leases.Done(WorkerTask(0), 1, kStart), Result::kRepeated);
}

// Workers that come and go at random: each batch counts once.
TEST(BatchLeasesTest, EachBatchCountsOnceWhicheverWorkersAreLost) {
  for (uint32_t seed = 0; seed < 200; ++seed) {
    std::mt19937 random(seed);
    BatchLeases leases(0, 60);
    std::vector<std::vector<int64_t>> on_hand(3);
    std::set<int64_t> counted;
    absl::Duration now = kStart;
    for (int step = 0; leases.missing() > 0; ++step) {
      ASSERT_LT(step, 100000);
      now += absl::Milliseconds(50);
      const uint32_t worker = random() % 3;
      std::vector<int64_t>& batches = on_hand[worker];
      if (random() % 10 == 0) {
        leases.Drop(WorkerTask(worker));
        batches.clear();
      } else if (batches.empty() || random() % 2 == 0) {
        const int64_t limit = 60 - leases.missing() + 10;
        for (int64_t batch : Batches(leases.Grant(WorkerTask(worker), 3, limit, now))) {
          batches.push_back(batch);
        }
      } else {
        if (leases.Done(WorkerTask(worker), batches.back(), now) == Result::kFirst) {
          EXPECT_TRUE(counted.insert(batches.back()).second);
        }
        batches.pop_back();
      }
    }
    EXPECT_EQ(counted.size(), 60u) << "seed " << seed;
  }
}

}  // namespace
}  // namespace cairn::coordinator
