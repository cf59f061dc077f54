#include "coordinator/inference_queue.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "tests/coordinator/recording_sink.h"

namespace cairn::coordinator {
namespace {

constexpr absl::Duration kNow = absl::Seconds(100);

class InferenceQueueTest : public ::testing::Test {
 protected:
  void Join(proto::Role role, uint32_t index, uint64_t session) {
    proto::Join join;
    join.set_role(role);
    join.set_index(index);
    join.set_instance_id(session);
    ASSERT_FALSE(members_.Join(session, join, kNow).refused.has_value());
  }
  static MembershipOptions Options() {
    MembershipOptions options;
    options.named_workers = {0, 1};
    return options;
  }
  std::shared_ptr<RecordingSink> Add() {
    auto sink = std::make_shared<RecordingSink>();
    EXPECT_TRUE(queue_.Add(proto::InferenceRequest(), sink).ok());
    return sink;
  }
  // The commands of the next Advance.
  std::vector<Outbox::Sending> Advance() {
    Outbox outbox;
    queue_.Advance(kNow, &outbox);
    return std::move(outbox.commands);
  }

  Membership members_{Options()};
  InferenceQueue queue_{&members_, /*term=*/3};
};

TEST_F(InferenceQueueTest, AllWorkersAndEvaluatorsComputeTheFirst) {
  Join(proto::WORKER, 0, 1);
  const auto first = Add();
  const auto second = Add();
  auto commands = Advance();
  ASSERT_EQ(commands.size(), 1u);
  const uint64_t id = commands[0].command.start_inference().inference();
  EXPECT_EQ(id >> 32, 3u);
  EXPECT_EQ(second->chunks.back().waiting_for(), "behind 1 other inference");
  // Told once.
  Advance();
  EXPECT_EQ(second->chunks.size(), 1u);
  Join(proto::WORKER, 1, 2);
  Outbox outbox;
  queue_.WorkerJoined(WorkerTask(1), &outbox);
  ASSERT_EQ(outbox.commands.size(), 1u);
  EXPECT_EQ(outbox.commands[0].command.start_inference().inference(), id);
  // The first client goes away: the second one's turn has come.
  first->is_alive = false;
  commands = Advance();
  ASSERT_EQ(commands.size(), 4u);
  EXPECT_EQ(commands[0].command.end_inference().inference(), id);
  EXPECT_NE(commands[2].command.start_inference().inference(), id);
}

TEST_F(InferenceQueueTest, ClientsThatGoAwayWhileTheyWaitAreForgotten) {
  const auto first = Add();
  const auto second = Add();
  Advance();
  second->is_alive = false;
  const auto third = Add();
  Advance();
  EXPECT_EQ(third->chunks.back().waiting_for(), "behind 1 other inference");
}

TEST_F(InferenceQueueTest, AWorkerThatHangsWhileItLoadsEndsTheInference) {
  Join(proto::WORKER, 0, 1);
  const auto sink = Add();
  Advance();
  proto::Heartbeat heartbeat;
  heartbeat.mutable_activity()->set_batch(-1);
  heartbeat.mutable_activity()->set_milliseconds_without_progress(61000);
  heartbeat.mutable_activity()->set_phase(proto::Activity::COMPUTING);  // For its job.
  members_.OnHeartbeat(WorkerTask(0), heartbeat);
  Advance();
  EXPECT_FALSE(sink->end.has_value());
  heartbeat.mutable_activity()->set_phase(proto::Activity::LOADING);
  members_.OnHeartbeat(WorkerTask(0), heartbeat);
  Advance();
  EXPECT_EQ(sink->end, absl::FailedPreconditionError("worker 0 is stuck in loading data, 61 s"));
}

TEST_F(InferenceQueueTest, TheClientIsToldThatTheOnlyWorkerHangsInReadingABatch) {
  Join(proto::WORKER, 0, 1);
  const auto sink = Add();
  const auto commands = Advance();
  proto::InferenceReport report;
  report.set_inference(commands[0].command.start_inference().inference());
  report.mutable_ready()->set_examples(3);
  report.mutable_ready()->set_batch_size(1);
  queue_.OnReport(WorkerTask(0), report, kNow);
  proto::Heartbeat heartbeat;
  heartbeat.mutable_activity()->set_batch(2);
  heartbeat.mutable_activity()->set_phase(proto::Activity::READING);
  const auto advance = [&](absl::Duration after) {
    heartbeat.mutable_activity()->set_milliseconds_without_progress(
        absl::ToInt64Milliseconds(after));
    members_.OnHeartbeat(WorkerTask(0), heartbeat);
    Outbox outbox;
    queue_.Advance(kNow + after, &outbox);
  };
  // It has its batch at 0, and the wait begins with the next event.
  for (const int seconds : {0, 1, 5}) advance(absl::Seconds(seconds));
  EXPECT_TRUE(sink->chunks.empty());
  advance(absl::Seconds(6));
  ASSERT_EQ(sink->chunks.size(), 1u);
  EXPECT_EQ(sink->chunks.back().waiting_for(), "for worker 0 (reading)");
  advance(absl::Seconds(60));
  EXPECT_FALSE(sink->end.has_value());
  advance(absl::Seconds(61));
  EXPECT_EQ(sink->end, absl::FailedPreconditionError("worker 0 is stuck in reading batch 2, 61 s"));
}

TEST_F(InferenceQueueTest, ItsLengthIsLimited) {
  for (int i = 0; i < 16; ++i) Add();
  EXPECT_EQ(queue_.Add(proto::InferenceRequest(), std::make_shared<RecordingSink>()).code(),
            absl::StatusCode::kResourceExhausted);
}

TEST_F(InferenceQueueTest, WithoutAnyNothingHappens) {
  queue_.WorkerGone(WorkerTask(0));
  queue_.OnReport(WorkerTask(0), proto::InferenceReport(), kNow);
  Outbox outbox;
  queue_.WorkerJoined(WorkerTask(0), &outbox);
  EXPECT_TRUE(outbox.commands.empty());
  EXPECT_TRUE(Advance().empty());
}

}  // namespace
}  // namespace cairn::coordinator
