#include "coordinator/job_followers.h"

#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <optional>
#include <vector>

#include "tests/coordinator/simulated_job.h"
#include "tests/coordinator/simulation.h"

namespace cairn::coordinator {
namespace {

struct RecordingSink : StatusSink {
  bool alive() const override { return listens; }
  bool Show(const proto::JobStatus& status) override {
    shown.push_back(status);
    return listens;
  }
  void End(const absl::Status& status) override { end = status; }
  std::vector<proto::JobStatus> shown;
  std::optional<absl::Status> end;
  bool listens = true;
};

class JobFollowersTest : public ::testing::Test {
 protected:
  EventTime At(double seconds) { return {absl::Seconds(100 + seconds), 0}; }

  Simulation simulation_{SimulatedCluster(SimulatedJob("async", 2))};
  std::shared_ptr<RecordingSink> sink_ = std::make_shared<RecordingSink>();
  JobFollowers followers_;
};

TEST_F(JobFollowersTest, TheStatusIsShownAtOnceAndThenOnlyWhenItChanged) {
  followers_.Add(1, sink_);
  followers_.Update(&simulation_.scheduler(), At(0));
  followers_.Update(&simulation_.scheduler(), At(1));
  EXPECT_EQ(sink_->shown.size(), 1u);
  EXPECT_FALSE(sink_->end.has_value());
}

TEST_F(JobFollowersTest, ALossThatStaysNanIsNoChange) {
  for (int i = 0; i < 3; ++i) {
    simulation_.worker(i).set_loss([](int64_t) { return std::nan(""); });
  }
  ASSERT_TRUE(simulation_.RunUntil([&] { return simulation_.Status().has_nonfinite_loss(); }));
  simulation_.KillCoordinator();  // Until tasks come back nothing happens.
  followers_.Add(1, sink_);
  followers_.Update(&simulation_.scheduler(), At(0));
  followers_.Update(&simulation_.scheduler(), At(1));
  ASSERT_EQ(sink_->shown.size(), 1u);
  EXPECT_TRUE(std::isnan(sink_->shown[0].nonfinite_loss().loss()));
}

TEST_F(JobFollowersTest, ANewStateIsShownAtOnceAndTheLastOneEndsIt) {
  followers_.Add(1, sink_);
  followers_.Update(&simulation_.scheduler(), At(0));
  simulation_.Do([](Scheduler* scheduler, EventTime now, Outbox* outbox) {
    EXPECT_TRUE(scheduler->CancelJob("1", now, outbox).ok());
  });
  followers_.Update(&simulation_.scheduler(), At(0.01));
  ASSERT_EQ(sink_->shown.size(), 2u);
  EXPECT_EQ(sink_->shown.back().state(), proto::CANCELLED);
  ASSERT_TRUE(sink_->end.has_value());
  EXPECT_TRUE(sink_->end->ok());
}

TEST_F(JobFollowersTest, AtMostFiveASecondAreShown) {
  followers_.Add(1, sink_);
  int updates = 0;
  ASSERT_TRUE(simulation_.RunUntil([&] {
    followers_.Update(&simulation_.scheduler(), At(++updates * 0.05));
    return sink_->end.has_value();
  }));
  EXPECT_EQ(sink_->shown.back().state(), proto::FINISHED);
  EXPECT_GT(sink_->shown.size(), 3u);
  EXPECT_LE(sink_->shown.size(), updates / 4 + 5u);  // Plus one for each state.
}

TEST_F(JobFollowersTest, ADeadSinkIsRemoved) {
  sink_->listens = false;
  followers_.Add(1, sink_);
  followers_.Update(&simulation_.scheduler(), At(0));
  followers_.Update(&simulation_.scheduler(), At(10));
  EXPECT_EQ(sink_.use_count(), 1);
}

TEST_F(JobFollowersTest, ADeadSinkIsRemovedEvenIfNothingChanges) {
  followers_.Add(1, sink_);
  followers_.Update(&simulation_.scheduler(), At(0));
  EXPECT_EQ(sink_.use_count(), 2);
  sink_->listens = false;
  followers_.Update(&simulation_.scheduler(), At(10));
  EXPECT_EQ(sink_.use_count(), 1);
  EXPECT_EQ(sink_->shown.size(), 1u);
}

TEST_F(JobFollowersTest, AJobThatDoesNotExistEndsWithNotFound) {
  followers_.Add(77, sink_);
  followers_.Update(&simulation_.scheduler(), At(0));
  ASSERT_TRUE(sink_->end.has_value());
  EXPECT_EQ(sink_->end->code(), absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace cairn::coordinator
