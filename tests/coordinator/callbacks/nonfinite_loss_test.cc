#include "coordinator/callbacks/nonfinite_loss.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "coordinator/note.h"

namespace cairn::coordinator {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr EventTime kNow = {absl::Seconds(3), 1785208329};

class NonfiniteLossTest : public ::testing::Test {
 protected:
  NonfiniteLossTest() { plan_.set_batches_per_epoch(10); }

  bool Keep(int64_t batch, double loss, bool data_not_finite = false) {
    return KeepNonfiniteLoss(plan_, Batch(batch, loss, data_not_finite), kNow, &run_);
  }
  bool KeepEvaluation(int64_t epoch, double loss, bool data_not_finite = false) {
    proto::EvaluationRecord record;
    record.set_epoch(epoch);
    record.set_loss(loss);
    record.set_data_not_finite(data_not_finite);
    return KeepNonfiniteLoss(plan_, record, kNow, &run_);
  }
  static proto::BatchRecord Batch(int64_t batch, double loss, bool data_not_finite = false) {
    proto::BatchRecord record;
    record.set_batch(batch);
    record.set_loss(loss);
    record.set_data_not_finite(data_not_finite);
    return record;
  }

  proto::JobPlan plan_;
  proto::RunRecord run_;
};

TEST_F(NonfiniteLossTest, TheFirstOneIsKeptAndNotedOnce) {
  EXPECT_FALSE(Keep(12, 1e300));
  EXPECT_TRUE(Keep(24, std::nan("")));
  EXPECT_FALSE(Keep(23, kInfinity));
  EXPECT_FALSE(Keep(24, std::nan("")));
  ASSERT_EQ(run_.notes_size(), 1);
  EXPECT_EQ(run_.notes(0).text(), "the loss became nan at batch 5 (epoch 3)");
  EXPECT_EQ(run_.nonfinite_loss().epoch(), 2);
  EXPECT_EQ(run_.nonfinite_loss().batch(), 4);
  EXPECT_TRUE(std::isnan(run_.nonfinite_loss().loss()));
}

TEST_F(NonfiniteLossTest, ItsKindIsNamedAndANanHasNoSign) {
  EXPECT_TRUE(Keep(0, -kInfinity));
  EXPECT_EQ(run_.notes(0).text(), "the loss became -inf at batch 1 (epoch 1)");
  run_.Clear();
  EXPECT_TRUE(Keep(9, kInfinity));
  EXPECT_EQ(run_.notes(0).text(), "the loss became inf at batch 10 (epoch 1)");
  run_.Clear();
  EXPECT_TRUE(Keep(10, -std::nan("")));
  EXPECT_EQ(run_.notes(0).text(), "the loss became nan at batch 1 (epoch 2)");
}

TEST_F(NonfiniteLossTest, AMetricThatIsNotFiniteIsNoLoss) {
  proto::BatchRecord record = Batch(3, 0.5);
  record.add_metrics(std::nan(""));
  EXPECT_FALSE(KeepNonfiniteLoss(plan_, record, kNow, &run_));
  proto::EvaluationRecord evaluation;
  evaluation.add_metrics(kInfinity);
  EXPECT_FALSE(KeepNonfiniteLoss(plan_, evaluation, kNow, &run_));
  EXPECT_EQ(run_.notes_size(), 0);
}

TEST_F(NonfiniteLossTest, DataThatAreNotFiniteAreNamed) {
  EXPECT_TRUE(Keep(3, std::nan(""), /*data_not_finite=*/true));
  EXPECT_EQ(run_.notes(0).text(),
            "the loss became nan at batch 4 (epoch 1): its data are not finite");
  EXPECT_TRUE(run_.nonfinite_loss().data_not_finite());
}

TEST_F(NonfiniteLossTest, AnEvaluationAloneIsNotedToo) {
  EXPECT_FALSE(KeepEvaluation(0, 1));
  EXPECT_TRUE(KeepEvaluation(1, std::nan("")));
  EXPECT_FALSE(KeepEvaluation(2, std::nan("")));
  ASSERT_EQ(run_.notes_size(), 1);
  EXPECT_EQ(run_.notes(0).text(), "the validation loss became nan after epoch 2");
  EXPECT_EQ(run_.nonfinite_validation().epoch(), 1);
  EXPECT_TRUE(Keep(30, kInfinity)) << "another loss";
  EXPECT_EQ(run_.notes_size(), 2);
}

TEST_F(NonfiniteLossTest, AnEvaluationAfterSuchABatchIsKeptWithoutANote) {
  EXPECT_TRUE(Keep(3, std::nan("")));
  EXPECT_TRUE(KeepEvaluation(0, std::nan("")));
  EXPECT_EQ(run_.notes_size(), 1);
  EXPECT_TRUE(run_.has_nonfinite_validation());
}

TEST_F(NonfiniteLossTest, ThatItWasNotedOutlivesTheNote) {
  EXPECT_TRUE(Keep(3, std::nan("")));
  for (int i = 0; i < kNotesMax; ++i) AddNote(1, "something else", kNow, &run_);
  EXPECT_FALSE(Keep(4, std::nan("")));
  EXPECT_EQ(run_.nonfinite_loss().batch(), 3);
}

TEST_F(NonfiniteLossTest, TerminateOnNanSaysWhichBatch) {
  EXPECT_EQ(WhyToTerminate(plan_, Batch(14, 3)), "");
  EXPECT_EQ(WhyToTerminate(plan_, Batch(14, -std::nan(""))),
            "terminate_on_nan: the loss of batch 5 in epoch 2 is nan");
  EXPECT_EQ(WhyToTerminate(plan_, Batch(14, kInfinity, /*data_not_finite=*/true)),
            "terminate_on_nan: the loss of batch 5 in epoch 2 is inf: its data are not finite");
}

}  // namespace
}  // namespace cairn::coordinator
