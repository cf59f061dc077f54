#include "cli/view/loss_warning.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace cairn::cli {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr char kAdvice[] = ": try a smaller learning_rate or clipnorm and check the data";
constexpr char kTerminate[] = "; the callback terminate_on_nan stops such a job at once";

proto::JobStatus JobWith(double training, std::initializer_list<double> validation = {}) {
  proto::JobStatus job;
  job.set_loss(training);
  for (const double loss : validation) job.add_evaluations()->set_loss(loss);
  return job;
}

TEST(LossWarningTest, FiniteLossesAreNoReason) {
  EXPECT_EQ(LossWarning(proto::JobStatus()), "");
  EXPECT_EQ(LossWarning(JobWith(1e300, {0, -5})), "");
  EXPECT_EQ(NonfiniteLoss(JobWith(1, {2})), "");
}

TEST(LossWarningTest, AJobThatRecoveredHasNone) {
  proto::JobStatus job = JobWith(0.5, {std::nan(""), 0.25});
  job.mutable_nonfinite_loss()->set_loss(std::nan(""));
  job.mutable_nonfinite_validation()->set_loss(std::nan(""));
  EXPECT_EQ(LossWarning(job), "");
  EXPECT_EQ(NonfiniteLoss(job), "");
}

TEST(LossWarningTest, TheTrainingLossHasItsFirstBatch) {
  proto::JobStatus job = JobWith(-std::nan(""));
  job.mutable_nonfinite_loss()->set_epoch(2);
  job.mutable_nonfinite_loss()->set_batch(4);
  EXPECT_EQ(LossWarning(job), std::string("its training loss is nan, first at batch 5 (epoch 3)") +
                                  kAdvice + kTerminate);
  EXPECT_EQ(NonfiniteLoss(job), "nan");
}

TEST(LossWarningTest, BothAreNamed) {
  EXPECT_EQ(LossWarning(JobWith(kInfinity, {1, std::nan("")})),
            std::string("its training loss is inf and its validation loss is nan") + kAdvice +
                kTerminate);
  EXPECT_EQ(NonfiniteLoss(JobWith(kInfinity, {std::nan("")})), "inf");
}

TEST(LossWarningTest, ValidationAloneHasItsFirstEpochAndNoCallbackThatLooksAtBatches) {
  proto::JobStatus job = JobWith(0.5, {0.5, -kInfinity});
  job.mutable_nonfinite_validation()->set_epoch(1);
  job.mutable_nonfinite_loss()->set_epoch(0);  // The training loss has recovered.
  EXPECT_EQ(LossWarning(job),
            std::string("its validation loss is -inf, first after epoch 2") + kAdvice);
  EXPECT_EQ(NonfiniteLoss(job), "-inf");
}

TEST(LossWarningTest, DataThatAreNotFiniteAreToBeMended) {
  proto::JobStatus job = JobWith(std::nan(""));
  job.mutable_nonfinite_loss()->set_data_not_finite(true);
  const std::string mend = ": fix them; without allow_nan in the job file such data are rejected";
  EXPECT_EQ(LossWarning(job),
            "its training loss is nan, first at batch 1 (epoch 1), whose data are not finite" +
                mend + kTerminate);
  job = JobWith(1, {std::nan("")});
  job.mutable_nonfinite_validation()->set_data_not_finite(true);
  EXPECT_EQ(LossWarning(job),
            "its validation loss is nan, first after epoch 1, on validation data that are not "
            "finite" +
                mend);
}

}  // namespace
}  // namespace cairn::cli
