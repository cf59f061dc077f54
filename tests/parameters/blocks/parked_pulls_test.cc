#include "parameters/blocks/parked_pulls.h"

#include <gtest/gtest.h>

#include <vector>

namespace cairn::parameters {
namespace {

std::vector<int64_t> BatchesOf(const std::vector<ParkedPulls::Pull>& pulls) {
  std::vector<int64_t> batches;
  for (const ParkedPulls::Pull& pull : pulls) batches.push_back(pull.batch);
  return batches;
}

ParkedPulls::Pull PullOf(int64_t batch) {
  ParkedPulls::Pull pull;
  pull.batch = batch;
  return pull;
}

TEST(ParkedPulls, TakesReadyPullsInOrder) {
  ParkedPulls parked;
  for (const int64_t batch : {5, 2, 8, 1, 2}) parked.Park(PullOf(batch));
  EXPECT_EQ(BatchesOf(parked.Take([](const ParkedPulls::Pull& pull) { return pull.batch < 3; })),
            (std::vector<int64_t>{2, 1, 2}));
  EXPECT_EQ(parked.size(), 2u);
  EXPECT_EQ(BatchesOf(parked.TakeAll()), (std::vector<int64_t>{5, 8}));
  EXPECT_TRUE(parked.empty());
}

TEST(ParkedPulls, SweepsKeepItsSizeBelowTwiceTheWaitingPulls) {
  ParkedPulls parked;
  bool abandoned = false;
  size_t most = 0;
  for (int i = 0; i < 500; ++i) {
    if (parked.crowded()) {
      abandoned = true;
      parked.TakeAbandoned();
      abandoned = false;
    }
    ParkedPulls::Pull pull = PullOf(i);
    if (i % 10 != 0) pull.abandoned = [&] { return abandoned; };
    parked.Park(std::move(pull));
    most = std::max(most, parked.size());
  }
  // The clients of 50 of them are waiting.
  EXPECT_LE(most, 100u);
  EXPECT_EQ(parked.Take([](const ParkedPulls::Pull& pull) { return pull.batch % 10 == 0; }).size(),
            50u);
  parked.TakeAll();
}

}  // namespace
}  // namespace cairn::parameters
