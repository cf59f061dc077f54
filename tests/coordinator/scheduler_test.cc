#include "coordinator/scheduler.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/coordinator/simulated_job.h"
#include "tests/coordinator/simulation.h"

namespace cairn::coordinator {
namespace {

proto::Job Named(const std::string& name) {
  proto::Job job = SimulatedJob("async", 2);
  job.set_name(name);
  return job;
}

TEST(SchedulerTest, OneJobTrainsAndTheOthersWaitInTheirOrder) {
  Simulation simulation(SimulatedCluster(Named("first")));
  simulation.Submit(Named("second"));
  simulation.Submit(Named("third"));
  EXPECT_EQ(simulation.Status("third").state(), proto::QUEUED);
  EXPECT_EQ(simulation.Status("third").queue_place(), 2);
  EXPECT_EQ(simulation.Status("third").waiting_for(), "behind 2 jobs");
  ASSERT_TRUE(simulation.RunUntil([&] {
    EXPECT_LE(simulation.Status("second").batches_done() > 0,
              simulation.Status("first").state() == proto::FINISHED);
    return simulation.Status("third").state() == proto::FINISHED;
  }));
  EXPECT_EQ(simulation.Status("second").state(), proto::FINISHED);
}

TEST(SchedulerTest, AFailedOrCancelledJobMakesRoomForTheNext) {
  Simulation simulation(SimulatedCluster(Named("bad")));
  simulation.Submit(Named("cancelled"));
  simulation.Submit(Named("good"));
  for (int i = 0; i < 3; ++i) simulation.worker(i).RefuseDataOf("bad");
  ASSERT_TRUE(
      simulation.RunUntil([&] { return simulation.Status("bad").state() == proto::FAILED; }));
  simulation.Do([&](Scheduler* scheduler, Moment now, Outbox* outbox) {
    EXPECT_TRUE(scheduler->CancelJob("cancelled", now, outbox).ok());
  });
  EXPECT_EQ(simulation.Status("cancelled").state(), proto::CANCELLED);
  ASSERT_TRUE(
      simulation.RunUntil([&] { return simulation.Status("good").state() == proto::FINISHED; }));
}

TEST(SchedulerTest, AJobCanBeCancelledWhileItTrains) {
  Simulation simulation(SimulatedCluster(SimulatedJob("sync", 100)));
  ASSERT_TRUE(simulation.RunUntil([&] { return simulation.Status().batches_done() > 20; }));
  simulation.Do([&](Scheduler* scheduler, Moment now, Outbox* outbox) {
    EXPECT_EQ(scheduler->CancelJob("simulated", now, outbox)->state(), proto::CANCELLED);
  });
  EXPECT_GT(simulation.Status().batches_done(), 20) << "without any checkpoint";
  simulation.Submit(Named("next"));
  ASSERT_TRUE(
      simulation.RunUntil([&] { return simulation.Status("next").state() == proto::FINISHED; }));
}

TEST(SchedulerTest, EveryStartIsANewTermOfTheSameCluster) {
  Simulation simulation(SimulatedCluster(Named("job")));
  const proto::ClusterStatus before = simulation.scheduler().GetCluster(Moment());
  simulation.KillEverything();
  const proto::ClusterStatus after = simulation.scheduler().GetCluster(Moment());
  EXPECT_EQ(after.term(), before.term() + 1);
  EXPECT_EQ(after.cluster_id(), before.cluster_id());
}

TEST(SchedulerTest, AJobWhoseWeightsFollowWaitsForThemAndHoldsUpNobody) {
  Simulation simulation(SimulatedCluster(Named("first")));
  simulation.Submit(Named("uploading"), /*weights_follow=*/true);
  simulation.Do([&](Scheduler* scheduler, Moment now, Outbox* outbox) {
    EXPECT_FALSE(scheduler->CommitWeights("first", now, outbox).ok());
  });
  simulation.Submit(Named("third"));
  ASSERT_TRUE(
      simulation.RunUntil([&] { return simulation.Status("third").state() == proto::FINISHED; }));
  EXPECT_EQ(simulation.Status("uploading").state(), proto::UPLOADING);
  simulation.Do([&](Scheduler* scheduler, Moment now, Outbox* outbox) {
    EXPECT_TRUE(scheduler->CommitWeights("uploading", now, outbox).ok());
  });
  ASSERT_TRUE(simulation.RunUntil(
      [&] { return simulation.Status("uploading").state() == proto::FINISHED; }));
  EXPECT_TRUE(simulation.scheduler().GetPlan("uploading")->weights_uploaded());
}

TEST(SchedulerTest, AnUnknownJobIsNotFoundByAnyCall) {
  Simulation simulation(SimulatedCluster(Named("job")));
  Scheduler& scheduler = simulation.scheduler();
  Outbox outbox;
  EXPECT_EQ(scheduler.GetJob("none", Moment()).status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(scheduler.GetPlan("none").status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(scheduler.ListCheckpoints("7").status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(scheduler.CancelJob("7", Moment(), &outbox).status().code(),
            absl::StatusCode::kNotFound);
  EXPECT_EQ(scheduler.GetPlan("job").status().code(), absl::StatusCode::kFailedPrecondition);
}

TEST(SchedulerTest, AStopWithoutARunningJobIsAnsweredAtOnce) {
  Simulation simulation(SimulatedCluster(Named("job")));
  bool answered = false;
  simulation.Do([&](Scheduler* scheduler, Moment now, Outbox* outbox) {
    scheduler->PrepareStop(
        absl::Seconds(1),
        [&](absl::StatusOr<proto::PrepareStopReply> reply) { answered = reply.ok(); }, now, outbox);
  });
  EXPECT_TRUE(answered);
}

}  // namespace
}  // namespace cairn::coordinator
