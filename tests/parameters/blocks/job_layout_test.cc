#include "parameters/blocks/job_layout.h"

#include <gtest/gtest.h>

#include <functional>
#include <set>
#include <string>

#include "nn/model.h"
#include "tests/parameters/test_job.h"

namespace cairn::parameters {
namespace {

using Update = nn::VariableSpec::Update;

TEST(JobLayout, TheBlocksOfAllPsCoverAllRowsOnce) {
  TestJobOptions options;
  options.ps_count = 3;
  std::set<std::pair<uint32_t, int64_t>> rows;
  int64_t elements = 0;
  for (options.ps = 0; options.ps < 3; ++options.ps) {
    const auto layout = MakeLayout(options);
    for (size_t position = 0; position < layout->blocks().size(); ++position) {
      const BlockSpec& block = layout->blocks()[position];
      EXPECT_EQ(*layout->Find(block.id), static_cast<int>(position));
      elements += block.count;
      for (int64_t row = block.row_begin; row < block.row_end; ++row) {
        EXPECT_TRUE(rows.insert({block.variable, row}).second) << block.name;
      }
    }
  }
  // hidden has 4 x 6 and 6 elements, norm four times 6, frozen 6 x 3 and 3.
  EXPECT_EQ(elements, 24 + 6 + 4 * 6 + 18 + 3);
  EXPECT_EQ(rows.size(), 4u + 6 + 4 * 6 + 6 + 3);
}

TEST(JobLayout, KnowsHowEachBlockIsUpdated) {
  TestJobOptions options;
  options.optimizer = "adam";
  const auto layout = MakeLayout(options);
  const auto block = [&](const char* name) { return layout->blocks()[PositionOf(*layout, name)]; };
  EXPECT_EQ(block("hidden/kernel").update, Update::kOptimized);
  EXPECT_EQ(layout->slot_count(block("hidden/kernel")), 2);
  EXPECT_EQ(block("norm/moving_mean").update, Update::kMovingAverage);
  EXPECT_EQ(block("norm/moving_mean").momentum, 0.5);
  EXPECT_EQ(layout->slot_count(block("norm/moving_mean")), 0);
  EXPECT_FALSE(block("frozen/kernel").pushed());
}

TEST(JobLayout, ADividedVariableThatNeedsAllRowsIsRefused) {
  TestJobOptions options;
  options.kernel_constraint = "\"max_norm\"";
  proto::JobPlan plan = MakePlan(options);
  const auto variables = (*nn::Model::Create(plan.model()))->variables();
  EXPECT_TRUE(JobLayout::Create(plan, variables, 0).ok());
  for (auto& variable : *plan.mutable_partition()->mutable_variables()) variable.set_whole(false);
  const absl::Status status = JobLayout::Create(plan, variables, 0).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_NE(status.ToString().find("hidden/kernel is divided"), std::string::npos) << status;
}

TEST(JobLayout, ABlockOfAnotherPsIsRefusedWithThatPs) {
  TestJobOptions options;
  options.ps_count = 2;
  const auto layout = MakeLayout(options);
  options.ps = 1;
  const auto other = MakeLayout(options);
  const absl::Status status = layout->Find(other->blocks()[0].id).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_NE(status.ToString().find("is on ps 1, not on ps 0"), std::string::npos) << status;
  EXPECT_FALSE(layout->Find(1000).ok());
}

TEST(JobLayout, AnInconsistentPlanIsRefusedByName) {
  const auto error = [](const std::function<void(proto::JobPlan*)>& change, uint32_t ps = 0) {
    proto::JobPlan plan = MakePlan({});
    change(&plan);
    const auto variables = (*nn::Model::Create(plan.model()))->variables();
    const absl::Status status = JobLayout::Create(plan, variables, ps).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
    return std::string(status.message());
  };
  auto& none = std::string::npos;
  EXPECT_NE(error([](auto* plan) {
              plan->mutable_partition()->mutable_variables(0)->set_name("other");
            }).find("hidden/kernel"),
            none);
  EXPECT_NE(error([](auto* plan) {
              plan->mutable_partition()->mutable_variables(1)->set_pushed(false);
            }).find("hidden/bias"),
            none);
  EXPECT_NE(error([](auto* plan) {
              plan->mutable_job()->mutable_optimizer()->set_name("lbfgs");
            }).find("lbfgs"),
            none);
  EXPECT_NE(error([](auto* plan) { plan->set_total_batches(0); }).find("total_batches"), none);
  EXPECT_NE(error([](auto*) {}, 1).find("this is ps 1"), none);
  error([](auto* plan) { plan->mutable_partition()->mutable_blocks()->RemoveLast(); });
  error([](auto* plan) { plan->mutable_partition()->mutable_blocks(0)->set_row_end(99); });
}

}  // namespace
}  // namespace cairn::parameters
