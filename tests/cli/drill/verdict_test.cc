#include "cli/drill/verdict.h"

#include <cmath>
#include <limits>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace cairn::cli {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

FaultRecord Fired() {
  FaultRecord record;
  record.fault = {FaultKind::kKillWorker, 1};
  record.at = 2;
  record.to_notice = 0.1;
  record.to_full_speed = 1;
  return record;
}

TrainingResult Good() {
  TrainingResult result;
  result.finished = true;
  result.batches_done = result.total_batches = result.applied_batches = 1000;
  return result;
}

TEST(CompareBitsTest, CountsValuesThatDifferInABit) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const ValueComparison same = CompareBits({"a", "b"}, {{1, nan}, {3}}, {{1, nan}, {3}});
  EXPECT_EQ(same.values, 3);
  EXPECT_EQ(same.different, 0);
  EXPECT_EQ(same.first_difference, "");
  const ValueComparison other = CompareBits({"a", "b"}, {{1, 0.F}, {3}}, {{1, -0.F}, {3.5F}});
  EXPECT_EQ(other.different, 2) << "0 and -0 have other bits";
  EXPECT_EQ(other.first_difference, "a[1] is 0, not -0");
}

TEST(JudgeTest, PassesIfEachBatchIsCountedOnceAndTheBitsAreEqual) {
  const Judgement judgement = Judge({Fired()}, Good(), CompareBits({"a"}, {{1}}, {{1}}));
  EXPECT_EQ(judgement.verdict, Verdict::kPassed);
  EXPECT_THAT(judgement.findings, Contains(HasSubstr("each of 1000 batches is counted once")));
  EXPECT_THAT(judgement.findings, Contains(HasSubstr("all 1 final values have the bits")));
}

TEST(JudgeTest, SaysThatOnlyTheCountsWereCompared) {
  const Judgement judgement = Judge({Fired()}, Good(), std::nullopt);
  EXPECT_EQ(judgement.verdict, Verdict::kPassed);
  EXPECT_THAT(judgement.findings, Contains(HasSubstr("only the counts are compared")));
}

TEST(JudgeTest, OtherBitsAreWrong) {
  const Judgement judgement = Judge({Fired()}, Good(), CompareBits({"a"}, {{2}}, {{1}}));
  EXPECT_EQ(judgement.verdict, Verdict::kWrong);
  EXPECT_THAT(judgement.findings.front(), HasSubstr("a[0] is 2, not 1"));
}

TEST(JudgeTest, EachCountMustBeTheNumberOfBatches) {
  TrainingResult done = Good();
  done.batches_done = 999;
  TrainingResult applied = Good();
  applied.applied_batches = 1001;
  for (const TrainingResult& result : {done, applied}) {
    EXPECT_EQ(Judge({Fired()}, result, std::nullopt).verdict, Verdict::kWrong);
  }
}

TEST(JudgeTest, AReportThatWasLostWithItsWorkerIsNoError) {
  TrainingResult result = Good();
  result.lost_reports = 3;
  EXPECT_EQ(Judge({Fired()}, result, std::nullopt).verdict, Verdict::kPassed);
}

TEST(JudgeTest, AJobThatDidNotFinishIsWrong) {
  TrainingResult failed = Good();
  failed.finished = false;
  failed.error = "worker 1: out of memory";
  const Judgement judgement = Judge({Fired()}, failed, std::nullopt);
  EXPECT_EQ(judgement.verdict, Verdict::kWrong);
  EXPECT_EQ(judgement.findings.front(), "the job has no result: worker 1: out of memory");
}

TEST(JudgeTest, AFaultThatDidNotFireOrWasNotNoticedMakesItVoid) {
  FaultRecord planned;
  planned.fault = {FaultKind::kKillPs, 0};
  const Judgement short_job = Judge({Fired(), planned}, Good(), std::nullopt);
  EXPECT_EQ(short_job.verdict, Verdict::kVoid);
  EXPECT_THAT(short_job.findings.front(), HasSubstr("fault 2 (kill -9 ps 0) did not fire"));
  FaultRecord unnoticed = Fired();
  unnoticed.to_notice.reset();
  EXPECT_EQ(Judge({unnoticed}, Good(), std::nullopt).verdict, Verdict::kVoid);
  FaultRecord slow = unnoticed;
  slow.fault = {FaultKind::kSlowPs, 0};
  EXPECT_EQ(Judge({slow}, Good(), std::nullopt).verdict, Verdict::kVoid) << "nothing passed";
  slow.effects = 7;
  EXPECT_EQ(Judge({slow}, Good(), std::nullopt).verdict, Verdict::kPassed);
}

TEST(JudgeTest, AFaultThatTheJobsEndCutShortMakesItVoidAndSaysSo) {
  FaultRecord stop = Fired();
  stop.fault = {FaultKind::kHangWorker, 1};
  stop.to_notice.reset();
  stop.cut_short = true;
  const Judgement judgement = Judge({stop}, Good(), std::nullopt);
  EXPECT_EQ(judgement.verdict, Verdict::kVoid);
  EXPECT_THAT(judgement.findings.front(), HasSubstr("was cut short: the job ended while it"));
}

TEST(JudgeTest, AWrongResultOutweighsAFaultThatDidNotFire) {
  const Judgement judgement =
      Judge({Fired(), FaultRecord()}, Good(), CompareBits({"a"}, {{2}}, {{1}}));
  EXPECT_EQ(judgement.verdict, Verdict::kWrong);
  EXPECT_EQ(judgement.findings.size(), 2);
}

TEST(JudgeTest, ASlowRecoveryIsNoError) {
  FaultRecord slow = Fired();
  slow.to_full_speed.reset();
  EXPECT_EQ(Judge({slow}, Good(), std::nullopt).verdict, Verdict::kPassed);
}

}  // namespace
}  // namespace cairn::cli
