#include "parameters/blocks/consistency.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>
#include <vector>

#include "proto/job.pb.h"

namespace cairn::parameters {
namespace {

using Answer = Consistency::Answer;

proto::JobPlan Plan(int64_t per_epoch, int64_t total, bool synchronous, int64_t per_update,
                    int64_t window) {
  proto::JobPlan plan;
  plan.set_batches_per_epoch(per_epoch);
  plan.set_total_batches(total);
  plan.set_synchronous(synchronous);
  plan.set_batches_per_update(per_update);
  plan.set_window(window);
  return plan;
}

Consistency Rules(int64_t per_epoch, int64_t total, bool synchronous, int64_t per_update,
                  int64_t window) {
  return *Consistency::Create(Plan(per_epoch, total, synchronous, per_update, window));
}

// A simple reference implementation: batches in order, with a new update whenever one is full or an
// epoch begins.
std::vector<std::vector<int64_t>> UpdatesOneByOne(int64_t per_epoch, int64_t total,
                                                  int64_t per_update) {
  std::vector<std::vector<int64_t>> updates;
  for (int64_t batch = 0; batch < total; ++batch) {
    const bool full = updates.empty() || updates.back().size() == static_cast<size_t>(per_update);
    if (full || batch % per_epoch == 0) updates.emplace_back();
    updates.back().push_back(batch);
  }
  return updates;
}

TEST(Consistency, UpdatesDoNotCrossEpochs) {
  for (const int64_t per_epoch : {1, 2, 5, 7, 12}) {
    for (const int64_t per_update : {1, 2, 3, 5, 20}) {
      for (const int64_t total : {1, 3, 7, 24, 25}) {
        const Consistency rules = Rules(per_epoch, total, true, per_update, 0);
        const auto updates = UpdatesOneByOne(per_epoch, total, per_update);
        for (size_t update = 0; update < updates.size(); ++update) {
          const auto range = rules.BatchesOf(static_cast<int64_t>(update));
          EXPECT_EQ(range.first, updates[update].front());
          EXPECT_EQ(range.count, static_cast<int64_t>(updates[update].size()));
          for (const int64_t batch : updates[update]) {
            EXPECT_EQ(rules.UpdateOf(batch), static_cast<int64_t>(update));
          }
        }
      }
    }
  }
}

TEST(Consistency, AsynchronousBatchesNeverWait) {
  const Consistency rules = Rules(10, 100, false, 1, -1);
  EXPECT_EQ(rules.MayPull(99, PushLedger(), false), Answer::kCurrent);
}

TEST(Consistency, AStaleBatchWaitsForTheBatchesBelowItsWindow) {
  for (uint32_t seed = 0; seed < 40; ++seed) {
    std::mt19937 random(seed);
    const int64_t window = static_cast<int64_t>(random() % 6);
    const Consistency rules = Rules(10, 200, false, 1, window);
    PushLedger ledger;
    std::set<int64_t> applied;
    for (int i = 0; i < 60; ++i) {
      const int64_t pushed = ledger.low_water() + static_cast<int64_t>(random() % 8);
      (void)*ledger.TestAndSet(pushed);
      applied.insert(pushed);
      const int64_t batch = static_cast<int64_t>(random() % 80);
      bool all = true;
      for (int64_t below = 0; below < batch - window; ++below) all &= applied.contains(below);
      EXPECT_EQ(rules.MayPull(batch, ledger, false), all ? Answer::kCurrent : Answer::kLater);
    }
  }
}

TEST(Consistency, ASynchronousBatchUsesTheVersionOfItsUpdate) {
  const int64_t per_epoch = 7, total = 17, per_update = 3;
  const Consistency rules = Rules(per_epoch, total, true, per_update, 0);
  const auto updates = UpdatesOneByOne(per_epoch, total, per_update);
  PushLedger ledger;
  for (size_t done = 0; done <= updates.size(); ++done) {
    for (size_t update = 0; update < updates.size(); ++update) {
      for (const int64_t batch : updates[update]) {
        const Answer now = rules.MayPull(batch, ledger, true);
        const Answer without = rules.MayPull(batch, ledger, false);
        if (update > done) {
          EXPECT_EQ(now, Answer::kLater);
          EXPECT_EQ(without, Answer::kLater);
        } else if (update == done) {
          EXPECT_EQ(now, Answer::kCurrent);
          EXPECT_EQ(without, Answer::kCurrent);
        } else {
          EXPECT_EQ(now, update + 1 == done ? Answer::kPrevious : Answer::kApplied);
          EXPECT_EQ(without, Answer::kApplied);
        }
      }
    }
    if (done == updates.size()) break;
    for (const int64_t batch : updates[done]) ASSERT_TRUE(*ledger.TestAndSet(batch));
  }
}

TEST(Consistency, InvalidNumbersAreRefusedByName) {
  const auto message = [](const proto::JobPlan& plan) {
    return std::string(Consistency::Create(plan).status().message());
  };
  EXPECT_NE(message(Plan(0, 1, false, 1, -1)).find("batches_per_epoch"), std::string::npos);
  EXPECT_NE(message(Plan(1, 0, false, 1, -1)).find("total_batches"), std::string::npos);
  EXPECT_NE(message(Plan(1, 1, false, 2, -1)).find("batches_per_update"), std::string::npos);
  EXPECT_NE(message(Plan(1, 1, true, 0, 0)).find("batches_per_update"), std::string::npos);
  EXPECT_NE(message(Plan(1, 1, true, 4097, 0)).find("batches_per_update"), std::string::npos);
  EXPECT_NE(message(Plan(1, 1, false, 1, -2)).find("window"), std::string::npos);
}

}  // namespace
}  // namespace cairn::parameters
