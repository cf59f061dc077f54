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

  NonfiniteRollback Decide(int64_t batch, bool data_not_finite = false, bool any_done = false) {
    return DecideNonfiniteRollback(plan_, Batch(batch, std::nan(""), data_not_finite), any_done,
                                   "checkpoint 3", &run_);
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

TEST_F(NonfiniteLossTest, AJobThatMayNotRollBackFailsWithTheWayOut) {
  plan_.set_job_id(7);
  plan_.mutable_job()->set_on_non_finite("fail");
  EXPECT_EQ(Decide(14).failure,
            "; try a smaller learning_rate or clipnorm in a new job and check the data "
            "(\"on_non_finite\" is \"fail\"; cairn resume 7 goes on from checkpoint 3)");
  plan_.mutable_job()->set_on_non_finite("rollback");
  EXPECT_EQ(
      Decide(14, /*data_not_finite=*/true).failure,
      "; a rollback does not help: fix the data, or set \"on_non_finite\": \"reject\" in a new "
      "job to leave such batches out");
  EXPECT_EQ(run_.nonfinite_in_vain(), 0);
}

TEST_F(NonfiniteLossTest, TenRollbacksInVainFailTheJobAndProgressCountsAgain) {
  plan_.mutable_job()->set_on_non_finite("rollback");
  for (int i = 0; i < 10; ++i) EXPECT_EQ(Decide(14).failure, "") << i;
  EXPECT_NE(Decide(14).failure.find("10 rollbacks"), std::string::npos);
  EXPECT_NE(Decide(13).failure.find("10 rollbacks"), std::string::npos) << "it came less far";
  EXPECT_EQ(Decide(15).failure, "") << "it came farther";
  EXPECT_EQ(run_.nonfinite_in_vain(), 1);
}

// The base is spoiled if several attempts applied nothing at all on it.
TEST_F(NonfiniteLossTest, ACheckpointIsSpoiledIfNoBatchIsFiniteWithIt) {
  plan_.mutable_job()->set_on_non_finite("rollback");
  run_.set_base_checkpoint(3);
  EXPECT_FALSE(Decide(14).base_is_spoiled);
  EXPECT_FALSE(Decide(14).base_is_spoiled);
  EXPECT_FALSE(Decide(14, /*data_not_finite=*/false, /*any_done=*/true).base_is_spoiled);
  EXPECT_TRUE(Decide(14).base_is_spoiled);
  run_.set_from_replicas(true);
  EXPECT_FALSE(Decide(14).base_is_spoiled) << "the values came from memory";
  run_.set_from_replicas(false);
  run_.set_base_checkpoint(0);
  EXPECT_FALSE(Decide(14).base_is_spoiled) << "the initial values";
}

}  // namespace
}  // namespace cairn::coordinator
