#include "coordinator/shared_plan.h"

#include <gtest/gtest.h>

#include <string>

namespace cairn::coordinator {
namespace {

proto::JobPlan PlanOf(size_t name_bytes) {
  proto::JobPlan plan;
  plan.set_job_id(7);
  plan.mutable_job()->set_name(std::string(name_bytes, 'n'));
  return plan;
}

TEST(SharedPlanTest, TheFingerprintNamesTheContents) {
  const SharedPlanPtr plan = SharePlan(PlanOf(5));
  EXPECT_NE(plan->fingerprint, 0u);
  EXPECT_EQ(plan->fingerprint, SharePlan(PlanOf(5))->fingerprint);
  EXPECT_NE(plan->fingerprint, SharePlan(PlanOf(6))->fingerprint);
}

// The lengths take one, two, three and four bytes.
TEST(SharedPlanTest, ACommandWithItsPlanBehindItIsTheCommandWithThePlan) {
  for (const size_t bytes : {0, 100, 10000, 3000000}) {
    const proto::JobPlan plan = PlanOf(bytes);
    const SharedPlanPtr shared = SharePlan(plan);
    proto::Command start;
    start.mutable_start_job()->set_generation(3);
    proto::Command whole;
    ASSERT_TRUE(whole.ParseFromString(start.SerializeAsString() + PlanPrefix(start, *shared) +
                                      shared->bytes));
    *start.mutable_start_job()->mutable_plan() = plan;
    EXPECT_EQ(whole.SerializeAsString(), start.SerializeAsString());

    proto::Command restore;
    restore.mutable_restore()->set_checkpoint(4);
    restore.mutable_restore()->add_parts()->add_holders(1);
    ASSERT_TRUE(whole.ParseFromString(restore.SerializeAsString() + PlanPrefix(restore, *shared) +
                                      shared->bytes));
    *restore.mutable_restore()->mutable_plan() = plan;
    EXPECT_EQ(whole.SerializeAsString(), restore.SerializeAsString());
  }
}

}  // namespace
}  // namespace cairn::coordinator
