#include "coordinator/control_loop.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <future>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "storage/job_records.h"
#include "tests/coordinator/recording_stream.h"

namespace cairn::coordinator {
namespace {

class ControlLoopTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const std::string directory =
        absl::StrCat(::testing::TempDir(), "/loop_",
                     ::testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::remove_all(directory);
    journal_ = *storage::Journal::Open(directory);
    Start();
  }

  void Start(size_t queue_capacity = 100) {
    loop_.reset();
    ControlLoop::Options options;
    options.scheduler.membership.version = "1";
    options.scheduler.membership.ps_addresses = {"a:1"};
    options.scheduler.new_cluster_id = 5;
    options.journal = journal_.get();
    options.clock = &clock_;
    options.sessions = &sessions_;
    options.on_failure = [](const absl::Status& status) { ADD_FAILURE() << status; };
    options.queue_capacity = queue_capacity;
    loop_ = *ControlLoop::Start(std::move(options));
  }

  // Runs `event` on the loop and waits for its replies.
  void Run(ControlLoop::Event event) {
    auto done = std::make_shared<std::promise<void>>();
    ASSERT_TRUE(loop_->Post([&event, done](Scheduler* scheduler, EventTime now, Outbox* outbox) {
      event(scheduler, now, outbox);
      outbox->replies.push_back([done] { done->set_value(); });
    }));
    done->get_future().wait();
  }

  proto::TaskMessage JoinMessage() {
    proto::TaskMessage message;
    message.mutable_join()->set_version("1");
    message.mutable_join()->set_role(proto::WORKER);
    message.mutable_join()->set_index(-1);
    message.mutable_join()->set_instance_id(3);
    return message;
  }

  SimulatedClock clock_{absl::Seconds(1000)};
  SessionRegistry sessions_;
  std::unique_ptr<storage::Journal> journal_;
  std::unique_ptr<ControlLoop> loop_;
};

TEST_F(ControlLoopTest, DecisionsAreJournaledBeforeTheReply) {
  auto journalled = std::make_shared<std::promise<bool>>();
  ASSERT_TRUE(loop_->Post([this, journalled](Scheduler*, EventTime, Outbox* outbox) {
    proto::JobRecord record;
    record.set_job_id(9);
    outbox->PutSynced(storage::JobKey(9), record);
    outbox->replies.push_back([&] { journalled->set_value(storage::ReadJob(*journal_, 9).ok()); });
  }));
  EXPECT_TRUE(journalled->get_future().get());
}

TEST_F(ControlLoopTest, TasksAreAnsweredOnTheirStreamAndGetHeartbeats) {
  auto stream = std::make_shared<RecordingStream>();
  const uint64_t session = sessions_.Add(stream);
  loop_->PostMessage(session, JoinMessage());
  Run([](Scheduler*, EventTime, Outbox*) {});
  EXPECT_EQ(stream->Count(proto::Command::kWelcome), 1u);
  const size_t before = stream->Count(proto::Command::kHeartbeat);
  clock_.Advance(absl::Seconds(2));
  Run([](Scheduler*, EventTime, Outbox*) {});  // The tick comes after the event.
  Run([](Scheduler*, EventTime, Outbox*) {});
  EXPECT_GT(stream->Count(proto::Command::kHeartbeat), before);
}

TEST_F(ControlLoopTest, ARefusedTasksStreamIsClosed) {
  auto stream = std::make_shared<RecordingStream>();
  proto::TaskMessage message = JoinMessage();
  message.mutable_join()->set_version("2");
  loop_->PostMessage(sessions_.Add(stream), message);
  Run([](Scheduler*, EventTime, Outbox*) {});
  EXPECT_EQ(stream->Count(proto::Command::kRefused), 1u);
  EXPECT_EQ(stream->closed(), 1);
}

TEST_F(ControlLoopTest, AnOverloadedLoopTakesNoMoreButForgetsNoEnd) {
  Start(/*queue_capacity=*/1);
  auto stream = std::make_shared<RecordingStream>();
  const uint64_t session = sessions_.Add(stream);
  Run([&](Scheduler* scheduler, EventTime now, Outbox* outbox) {
    scheduler->OnMessage(session, JoinMessage(), now, outbox);
  });
  auto began = std::make_shared<std::promise<void>>();
  auto release = std::make_shared<std::promise<void>>();
  ASSERT_TRUE(loop_->Post([began, release](Scheduler*, EventTime, Outbox*) {
    began->set_value();
    release->get_future().wait();
  }));
  began->get_future().wait();
  EXPECT_TRUE(loop_->Post([](Scheduler*, EventTime, Outbox*) {}));
  EXPECT_FALSE(loop_->Post([](Scheduler*, EventTime, Outbox*) {}));
  loop_->PostSessionEnd(session);
  release->set_value();
  clock_.Advance(absl::Seconds(1));
  uint64_t left = session;
  const absl::Time deadline = absl::Now() + absl::Seconds(20);
  while (left != 0 && absl::Now() < deadline) {
    auto answer = std::make_shared<std::promise<uint64_t>>();
    const bool posted = loop_->Post([answer](Scheduler* scheduler, EventTime, Outbox*) {
      answer->set_value(scheduler->SessionOf(WorkerTask(0)));
    });
    if (posted) left = answer->get_future().get();
    if (!posted) absl::SleepFor(absl::Milliseconds(1));
    clock_.Advance(absl::Milliseconds(50));
  }
  EXPECT_EQ(left, 0u);
}

TEST_F(ControlLoopTest, EveryStartIsANewTerm) {
  Start();
  uint64_t term = 0;
  Run([&](Scheduler* scheduler, EventTime now, Outbox*) {
    term = scheduler->GetCluster(now).term();
  });
  EXPECT_EQ(term, 2u);
}

TEST_F(ControlLoopTest, QueuedEventsAreHandledBeforeTheEnd) {
  int done = 0;
  for (int i = 0; i < 50; ++i) {
    ASSERT_TRUE(loop_->Post([&](Scheduler*, EventTime, Outbox*) { ++done; }));
  }
  loop_.reset();
  EXPECT_EQ(done, 50);
}

// Decisions take long, as with a slow disk, so that a heartbeat waits for more than a lease.
TEST_F(ControlLoopTest, ATaskWhoseMessagesWaitIsNotLost) {
  for (const bool is_silent : {false, true}) {
    Start();
    const uint64_t session = sessions_.Add(std::make_shared<RecordingStream>());
    loop_->PostMessage(session, JoinMessage());
    Run([](Scheduler*, EventTime, Outbox*) {});
    std::promise<void> queued;
    ASSERT_TRUE(loop_->Post([&](Scheduler*, EventTime, Outbox*) { queued.get_future().wait(); }));
    for (int i = 0; i < 4; ++i) {
      ASSERT_TRUE(loop_->Post(
          [this](Scheduler*, EventTime, Outbox*) { clock_.Advance(absl::Seconds(4)); }));
    }
    proto::TaskMessage heartbeat;
    heartbeat.mutable_heartbeat();
    if (!is_silent) loop_->PostMessage(session, heartbeat);
    queued.set_value();
    uint64_t left = 0;
    Run([&](Scheduler* scheduler, EventTime, Outbox*) {
      left = scheduler->SessionOf(WorkerTask(0));
    });
    EXPECT_EQ(left, is_silent ? 0 : session);
  }
}

// A write to the journal that never returns stops every decision. The process must end.
TEST_F(ControlLoopTest, ALoopThatStandsStillIsAFailure) {
  std::promise<absl::Status> failure;
  loop_.reset();
  ControlLoop::Options options;
  options.scheduler.membership.version = "1";
  options.scheduler.membership.ps_addresses = {"a:1"};
  options.journal = journal_.get();
  options.clock = &clock_;
  options.sessions = &sessions_;
  options.on_failure = [&](const absl::Status& status) { failure.set_value(status); };
  options.stall_timeout = absl::Seconds(60);
  loop_ = *ControlLoop::Start(std::move(options));
  std::promise<void> begun, release;
  ASSERT_TRUE(loop_->Post([&](Scheduler*, EventTime, Outbox*) {
    begun.set_value();
    release.get_future().wait();
  }));
  begun.get_future().wait();
  clock_.Advance(absl::Seconds(61));
  EXPECT_EQ(failure.get_future().get().message(),
            "no decision was made for 1m1s: the disk of the journal hangs");
  release.set_value();
  loop_.reset();
}

}  // namespace
}  // namespace cairn::coordinator
