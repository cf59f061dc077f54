#include "coordinator/training/profile_session.h"

#include <gtest/gtest.h>

#include <optional>
#include <set>

namespace cairn::coordinator {
namespace {

// Profiles two workers and a ps, with a deadline of one second.
class ProfileSessionTest : public ::testing::Test {
 protected:
  ProfileSessionTest()
      : round_({.id = 9, .job_id = 1, .steps = 20, .deadline = absl::Seconds(1)},
               [this](absl::StatusOr<proto::ProfileReply> reply) { answer_ = std::move(reply); }) {
    Outbox outbox;
    round_.Begin({WorkerTask(0), WorkerTask(1), {proto::EVALUATOR, 0}}, 1, &outbox);
    begun_ = Told(outbox, 20);
  }

  // The tasks that were told to measure `steps` steps.
  static std::set<TaskId> Told(const Outbox& outbox, int64_t steps) {
    std::set<TaskId> told;
    for (const auto& sending : outbox.commands) {
      if (sending.command.profile().steps() == steps) told.insert(sending.task);
    }
    return told;
  }
  std::set<TaskId> Advance(absl::Duration now) {
    Outbox outbox;
    round_.Advance(now, &outbox);
    for (auto& reply : outbox.replies) reply();
    return Told(outbox, 0);
  }
  void Reply(TaskId task, uint64_t profile = 9) {
    proto::ProfileReport report;
    report.set_profile(profile);
    report.set_steps(20);
    round_.Reply(task, report);
  }

  std::optional<absl::StatusOr<proto::ProfileReply>> answer_;
  ProfileSession round_;
  std::set<TaskId> begun_;
};

using Tasks = std::set<TaskId>;

TEST_F(ProfileSessionTest, AsksTrainingWorkersAndAllPs) {
  EXPECT_EQ(begun_, (Tasks{WorkerTask(0), WorkerTask(1), PsTask(0)}));
}

TEST_F(ProfileSessionTest, WhenAllWorkersAreDoneThePsIsAskedAndThenAnswered) {
  Reply(WorkerTask(0));
  EXPECT_EQ(Advance(absl::ZeroDuration()), Tasks());
  Reply(WorkerTask(1));
  EXPECT_EQ(Advance(absl::ZeroDuration()), Tasks{PsTask(0)});
  EXPECT_FALSE(round_.over());
  Reply(PsTask(0));
  Advance(absl::ZeroDuration());
  EXPECT_TRUE(round_.over());
  ASSERT_TRUE(answer_.has_value() && answer_->ok());
  ASSERT_EQ((*answer_)->tasks_size(), 3);
  EXPECT_EQ((*answer_)->tasks(0).role(), proto::PS);
  EXPECT_EQ((*answer_)->tasks(2).index(), 1);
}

TEST_F(ProfileSessionTest, AfterTheDeadlineAllTasksAreAskedForTheirReports) {
  Reply(WorkerTask(0));
  EXPECT_EQ(Advance(absl::Seconds(1)), (Tasks{WorkerTask(1), PsTask(0)}));
  // A task that still does not answer is left out.
  Advance(absl::Seconds(7));
  ASSERT_TRUE(answer_.has_value() && answer_->ok());
  EXPECT_EQ((*answer_)->tasks_size(), 1);
}

TEST_F(ProfileSessionTest, ALostWorkerIsNotAwaited) {
  Reply(WorkerTask(0));
  round_.Gone(WorkerTask(1));
  EXPECT_EQ(Advance(absl::ZeroDuration()), Tasks{PsTask(0)});
}

TEST_F(ProfileSessionTest, AReportOfAnotherProfileIsNotHeard) {
  Reply(WorkerTask(0), 8);
  Reply(WorkerTask(1));
  EXPECT_EQ(Advance(absl::ZeroDuration()), Tasks());
}

TEST_F(ProfileSessionTest, WhenTrainingIsGivenUpSoIsTheProfile) {
  Outbox outbox;
  round_.Abandon(absl::UnavailableError("rolled back"), &outbox);
  for (auto& reply : outbox.replies) reply();
  EXPECT_EQ(answer_->status().message(), "rolled back");
  EXPECT_TRUE(round_.over());
}

}  // namespace
}  // namespace cairn::coordinator
