#include "coordinator/crashing_work.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
namespace cairn::coordinator {
namespace {

class CrashingWorkTest : public ::testing::Test {
 protected:
  // The worker's process ends with this work, and another one takes its place.
  void End(uint32_t worker, const std::string& work, bool others_work = false) {
    crashing_.Gone(WorkerTask(worker), instance_, work);
    now_ += absl::Seconds(1);
    crashing_.Joined(WorkerTask(worker), ++instance_, others_work, now_);
  }

  CrashingWork crashing_{absl::Seconds(5)};
  uint64_t instance_ = 1;
  absl::Duration now_ = absl::Seconds(100);
};

TEST_F(CrashingWorkTest, WorkThatEndsTenProcessesIsNamedWithItsWorkers) {
  for (int i = 0; i < 9; ++i) End(i % 2, "batch 3");
  EXPECT_EQ(crashing_.failure(), "");
  End(1, "batch 3");
  EXPECT_EQ(crashing_.failure(),
            "10 processes of workers (worker 0, worker 1) ended while they had batch 3, which "
            "nobody has done; the last lines of their logs may say why");
}

TEST_F(CrashingWorkTest, EachWorkCountsForItself) {
  for (int i = 0; i < 9; ++i) End(0, "batch 3");
  for (int i = 0; i < 9; ++i) End(0, "batch 4");
  for (int i = 0; i < 20; ++i) End(0, "");
  EXPECT_EQ(crashing_.failure(), "");
  crashing_.Done("batch 3");
  for (int i = 0; i < 9; ++i) End(0, "batch 3");
  EXPECT_EQ(crashing_.failure(), "");
  End(0, "batch 3");
  EXPECT_NE(crashing_.failure(), "");
}

TEST_F(CrashingWorkTest, OneWorkerAloneIsNoProofWhileOthersWork) {
  for (int i = 0; i < 50; ++i) End(0, "batch 3", /*others_work=*/true);
  EXPECT_EQ(crashing_.failure(), "");
  End(1, "batch 3", /*others_work=*/true);
  EXPECT_NE(crashing_.failure(), "");
}

// As after months in which workers were killed with any work; the newest of it is kept.
TEST_F(CrashingWorkTest, OldWorkIsForgotten) {
  for (int i = 0; i < 9; ++i) End(0, "batch 3");
  const int others = static_cast<int>(CrashingWork::kWorksMax) - 1;
  for (int i = 0; i < others; ++i) End(0, absl::StrCat("other batch ", i));
  End(0, "batch 3");
  EXPECT_NE(crashing_.failure(), "");
  crashing_ = CrashingWork(absl::Seconds(5));
  for (int i = 0; i < 9; ++i) End(0, "batch 3");
  for (int i = 0; i < others + 1; ++i) End(0, absl::StrCat("other batch ", i));
  End(0, "batch 3");
  EXPECT_EQ(crashing_.failure(), "");
}

TEST_F(CrashingWorkTest, AStreamThatBreaksEndsNoProcess) {
  for (int i = 0; i < 50; ++i) {
    crashing_.Gone(WorkerTask(0), 7, "batch 3");
    crashing_.Joined(WorkerTask(0), 7, false, absl::Seconds(100 + i));
  }
  for (int i = 0; i < 50; ++i) crashing_.Gone(WorkerTask(0), 7, "batch 3");
  EXPECT_EQ(crashing_.failure(), "");
}

TEST(PatientCrashingWorkTest, ManyEndsInAShortTimeAreNoProof) {
  CrashingWork crashing(absl::Seconds(60));
  for (int i = 0; i < 60; ++i) {
    crashing.Gone(WorkerTask(0), i, "batch 3");
    crashing.Joined(WorkerTask(0), i + 1, false, absl::Seconds(i));
  }
  EXPECT_EQ(crashing.failure(), "");
  crashing.Gone(WorkerTask(0), 60, "batch 3");
  crashing.Joined(WorkerTask(0), 61, false, absl::Seconds(60));
  EXPECT_NE(crashing.failure(), "");
}

// What the process before had to do is not asked for again.
TEST_F(CrashingWorkTest, AProcessThatHadNothingEndsNothing) {
  for (int i = 0; i < 50; ++i) {
    crashing_.Gone(WorkerTask(0), instance_, i == 0 ? "batch 3" : "");
    crashing_.Joined(WorkerTask(0), ++instance_, false, absl::Seconds(100 + i));
  }
  EXPECT_EQ(crashing_.failure(), "");
}

}  // namespace
}  // namespace cairn::coordinator
