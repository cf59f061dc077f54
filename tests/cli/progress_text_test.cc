#include "cli/progress_text.h"

#include <cstdlib>
#include <limits>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace cairn::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

proto::JobStatus Running() {
  proto::JobStatus status;
  status.set_state(proto::RUNNING);
  status.set_epoch(1);
  status.set_epochs(3);
  status.set_batch_in_epoch(133);
  status.set_batches_per_epoch(469);
  status.set_batches_done(602);
  status.set_loss(0.25123);
  auto* metric = status.add_metrics();
  metric->set_name("accuracy");
  metric->set_value(0.90814);
  status.add_metric_names("accuracy");
  status.set_examples_per_second(8213);
  status.set_eta_seconds(12.4);
  status.set_workers_live(2);
  return status;
}

TEST(ProgressTextTest, DurationsAreShort) {
  EXPECT_EQ(DurationText(7), "0:07");
  EXPECT_EQ(DurationText(59.6), "1:00");
  EXPECT_EQ(DurationText(750), "12:30");
  EXPECT_EQ(DurationText(7500), "2:05:00");
  EXPECT_EQ(DurationText(-1), "-");
  EXPECT_EQ(DurationText(std::numeric_limits<double>::infinity()), "-");
}

TEST(ProgressTextTest, ANoteTellsWhenAndHowLongAgo) {
  // The result depends on the time zone, so the test sets it.
  ASSERT_EQ(setenv("TZ", "UTC", /*overwrite=*/1), 0);
  proto::Note note;
  note.set_unix_seconds(1785208329);
  note.set_text("worker 0 is gone");
  const int64_t at = note.unix_seconds();
  EXPECT_EQ(NoteText(note, at + 45), "2026-07-28 03:12:09 (45 s ago)  worker 0 is gone");
  EXPECT_EQ(NoteText(note, at - 5), "2026-07-28 03:12:09 (0 s ago)  worker 0 is gone");
  for (const auto& [age, text] : std::vector<std::pair<int64_t, std::string>>{
           {99, "99 s"}, {125, "2 min"}, {5999, "99 min"}, {6000, "1 h"}, {259200, "3 days"}}) {
    EXPECT_EQ(NoteText(note, at + age),
              absl::StrCat("2026-07-28 03:12:09 (", text, " ago)  worker 0 is gone"));
  }
}

TEST(ProgressTextTest, CountsAreShort) {
  EXPECT_EQ(CountText(850), "850");
  EXPECT_EQ(CountText(8213), "8.21k");
  EXPECT_EQ(CountText(1250000), "1.25M");
}

TEST(ProgressTextTest, LossesOfEverySizeAreReadable) {
  EXPECT_EQ(LossText(0.25123, {{"accuracy", 1.0}}), "loss 0.2512  accuracy 1.0000");
  EXPECT_EQ(LossText(1e30, {}), "loss 1e+30");
  EXPECT_EQ(LossText(0.00001234, {}), "loss 1.234e-05");
  EXPECT_EQ(LossText(std::numeric_limits<double>::quiet_NaN(), {}), "loss nan");
}

TEST(ProgressTextTest, LineSaysAllThatAPersonWaitsFor) {
  EXPECT_EQ(ProgressLine(Running(), 0),
            "epoch 2/3 133/469  loss 0.2512  accuracy 0.9081  8.21k examples/s  ETA 0:12  2 "
            "workers");
}

TEST(ProgressTextTest, AJobThatStandsStillHasNoTimeLeft) {
  proto::JobStatus status = Running();
  status.set_examples_per_second(0);
  status.set_eta_seconds(0);
  status.set_waiting_for("for ps 1");
  EXPECT_EQ(ProgressLine(status, 0),
            "epoch 2/3 133/469  loss 0.2512  accuracy 0.9081  2 workers  waiting for ps 1");
}

TEST(ProgressTextTest, LineFitsIntoItsTerminal) {
  EXPECT_THAT(ProgressLine(Running(), 120),
              testing::StartsWith("epoch 2/3 [=====>              ] 133/469  loss"));
  EXPECT_EQ(ProgressLine(Running(), 100), ProgressLine(Running(), 0)) << "no room for the bar";
  EXPECT_EQ(ProgressLine(Running(), 79),
            "epoch 2/3 133/469 loss 0.2512 accuracy 0.9081 8.21k ex/s ETA 0:12 2 workers");
  EXPECT_EQ(ProgressLine(Running(), 12), "epoch 2/3 13");
  EXPECT_EQ(ProgressLine(Running(), 1), "e");
  EXPECT_EQ(ProgressLine(Running(), -2), ProgressLine(Running(), 0));
}

TEST(ProgressTextTest, LineOfAJobThatWaitsSaysForWhat) {
  proto::JobStatus status;
  status.set_state(proto::QUEUED);
  status.set_waiting_for("behind 2 jobs");
  EXPECT_EQ(ProgressLine(status, 0), "queued: waiting behind 2 jobs");
  status = Running();
  status.set_waiting_for("for workers");
  EXPECT_THAT(ProgressLine(status, 0), testing::EndsWith("  waiting for workers"));
}

TEST(ProgressTextTest, NothingOfAnUnfinishedJobSaysYet) {
  proto::JobStatus status;
  status.set_job_id(4);
  status.set_name("digits");
  status.set_state(proto::QUEUED);
  EXPECT_EQ(NothingOf("There is no history", status),
            "There is no history of job 4 (digits) yet: it is queued.\n");
  status.set_state(proto::CANCELLED);
  EXPECT_EQ(NothingOf("There are no checkpoints", status),
            "There are no checkpoints of job 4 (digits): it is cancelled.\n");
}

TEST(ProgressTextTest, NoCheckpointIsNotCheckpointZero) {
  proto::JobStatus status;
  status.set_state(proto::RUNNING);
  EXPECT_EQ(CheckpointsText(status), "none yet");
  status.set_state(proto::CANCELLED);
  EXPECT_EQ(CheckpointsText(status), "none");
  status.set_last_checkpoint(7);
  EXPECT_EQ(CheckpointsText(status), "last 7");
}

TEST(ProgressTextTest, NanHasNoSign) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(LossText(nan, {{"mae", -nan}}), "loss nan  mae nan");
}

TEST(ProgressTextTest, EverythingNewIsOneEvent) {
  proto::JobStatus after = Running();
  after.set_workers_joined(2);
  after.set_last_checkpoint(4);
  auto* evaluation = after.add_evaluations();
  evaluation->set_epoch(0);
  evaluation->set_loss(0.5);
  evaluation->add_metrics(0.8);
  after.add_notes()->set_text("the disk of ps 1 is full");
  EXPECT_THAT(NewEvents(Running(), after),
              ElementsAre("epoch 1/3 validated: loss 0.5000  accuracy 0.8000",
                          "the disk of ps 1 is full", "2 workers joined", "checkpoint 4 written"));
  EXPECT_THAT(NewEvents(after, after), IsEmpty());
}

TEST(ProgressTextTest, NotesAreNewAlsoWhereTheOldestAreNoLongerKept) {
  proto::JobStatus before = Running(), after = Running();
  for (const char* const note : {"one", "two", "two", "three"}) before.add_notes()->set_text(note);
  for (const char* const note : {"two", "three", "four", "two"}) after.add_notes()->set_text(note);
  EXPECT_THAT(NewEvents(before, after), ElementsAre("four", "two"));
  EXPECT_THAT(NewEvents(Running(), after), ElementsAre("two", "three", "four", "two"));
}

TEST(ProgressTextTest, WorkersThatComeBeforeTheFirstBatchAreNoEvent) {
  proto::JobStatus preparing;
  preparing.set_state(proto::PREPARING);
  EXPECT_THAT(NewEvents(preparing, Running()), IsEmpty());
  proto::JobStatus joined = preparing;
  joined.set_workers_joined(2);
  EXPECT_THAT(NewEvents(preparing, joined), IsEmpty());
}

}  // namespace
}  // namespace cairn::cli
