#include "coordinator/training/task_meters.h"

#include "gtest/gtest.h"

namespace cairn::coordinator {
namespace {

constexpr TaskId kPs = {proto::PS, 0};
constexpr TaskId kWorker = {proto::WORKER, 3};

proto::TaskMessage Heartbeat(int64_t pulls, int64_t pushes) {
  proto::TaskMessage message;
  message.mutable_heartbeat()->set_pulls(pulls);
  message.mutable_heartbeat()->set_pushes(pushes);
  message.mutable_heartbeat()->set_memory_bytes(1 << 20);
  return message;
}

proto::TaskMessage Work(int batches, int64_t examples) {
  proto::TaskMessage message;
  message.mutable_work();
  for (int i = 0; i < batches; ++i) {
    message.mutable_work()->add_batches()->set_examples(examples);
  }
  return message;
}

proto::Member Shown(TaskMeters* meters, TaskId task, absl::Duration now) {
  proto::Member member;
  meters->Fill(task, now, &member);
  return member;
}

TEST(TaskMetersTest, RequestsAreCountedFromTheFirstHeartbeatOn) {
  TaskMeters meters;
  meters.OnMessage(kPs, Heartbeat(1000000, 0), absl::Seconds(100));
  for (int second = 1; second <= 4; ++second) {
    meters.OnMessage(kPs, Heartbeat(1000000 + 30 * second, 10 * second),
                     absl::Seconds(100 + second));
  }
  const proto::Member shown = Shown(&meters, kPs, absl::Seconds(104));
  EXPECT_DOUBLE_EQ(shown.requests_per_second(), 40);
  EXPECT_EQ(shown.memory_bytes(), 1 << 20);
}

TEST(TaskMetersTest, CountersThatBeginAnewDoNotGoBackwards) {
  TaskMeters meters;
  meters.OnMessage(kPs, Heartbeat(500, 0), absl::Seconds(1));
  meters.OnMessage(kPs, Heartbeat(0, 0), absl::Seconds(2));
  EXPECT_EQ(Shown(&meters, kPs, absl::Seconds(3)).requests_per_second(), 0);
}

TEST(TaskMetersTest, BatchesAndExamplesAreTheWorkers) {
  TaskMeters meters;
  for (int second = 0; second <= 4; ++second) {
    meters.OnMessage(kWorker, Work(second == 0 ? 0 : 5, 32), absl::Seconds(second));
  }
  const proto::Member shown = Shown(&meters, kWorker, absl::Seconds(4));
  EXPECT_DOUBLE_EQ(shown.batches_per_second(), 5);
  EXPECT_DOUBLE_EQ(shown.examples_per_second(), 160);
}

TEST(TaskMetersTest, AForgottenTaskHasNothingToShow) {
  TaskMeters meters;
  meters.OnMessage(kPs, Heartbeat(1, 1), absl::Seconds(1));
  meters.Forget(kPs);
  EXPECT_EQ(Shown(&meters, kPs, absl::Seconds(2)).memory_bytes(), 0);
}

}  // namespace
}  // namespace cairn::coordinator
