#include "worker/job_model.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/worker/counting_plan.h"

namespace cairn::worker {
namespace {

using ::testing::HasSubstr;

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
