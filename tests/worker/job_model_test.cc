#include "worker/job_model.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/worker/counting_plan.h"

namespace cairn::worker {
namespace {

using ::testing::HasSubstr;

proto::Inspect InspectOf(const proto::JobPlan& plan) {
  proto::Inspect inspect;
  inspect.set_job_id(plan.job_id());
  *inspect.mutable_job() = plan.job();
  *inspect.mutable_model() = plan.model();
  return inspect;
}

TEST(JobModelTest, InspectionCountsTheExamplesOfBothSources) {
  const proto::InspectReply reply =
      InspectJob(InspectOf(CountingPlan({.batches_per_epoch = 5, .validation = true})));
  EXPECT_EQ(reply.error(), "");
  EXPECT_EQ(reply.job_id(), 7u);
  EXPECT_EQ(reply.examples(), 20);
  EXPECT_EQ(reply.validation_examples(), 20);
}

TEST(JobModelTest, InspectionSaysWhichSourceIsWrong) {
  proto::Inspect inspect = InspectOf(CountingPlan({.validation = true}));
  inspect.mutable_job()->mutable_validation()->mutable_npy()->set_features(0, "/gone.npy");
  const proto::InspectReply reply = InspectJob(inspect);
  EXPECT_THAT(reply.error(), HasSubstr("validation: "));
  EXPECT_THAT(reply.error(), HasSubstr("/gone.npy"));
}

TEST(JobModelTest, WithoutValidationThereIsNone) {
  const proto::JobPlan plan = CountingPlan({});
  EXPECT_EQ(InspectJob(InspectOf(plan)).validation_examples(), 0);
  const auto model = JobModel::Create(plan.job(), plan.model());
  ASSERT_TRUE(model.ok());
  const auto data = LoadJobData(plan.job(), *model, false, true);
  ASSERT_TRUE(data.ok());
  EXPECT_EQ(data->train, nullptr);
  EXPECT_EQ(data->validation, nullptr);
}

TEST(JobModelTest, UnknownNamesAreRefused) {
  proto::JobPlan plan = CountingPlan({});
  plan.mutable_job()->add_metrics("beauty");
  EXPECT_THAT(JobModel::Create(plan.job(), plan.model()).status().ToString(), HasSubstr("beauty"));
  plan = CountingPlan({});
  plan.mutable_job()->mutable_loss()->set_name("grief");
  EXPECT_THAT(JobModel::Create(plan.job(), plan.model()).status().ToString(), HasSubstr("grief"));
}

}  // namespace
}  // namespace cairn::worker
