#include "cli/profile/profile_summary.h"

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "tests/cli/profile/example_profile.h"

namespace cairn::cli {
namespace {

TEST(ProfileSummaryTest, AWorkersPassesAreComputeWithoutThePushesInThem) {
  const ProfileSummary summary = Summarize(ExampleProfile().tasks(0));
  EXPECT_EQ(summary.task, "worker 3");
  EXPECT_EQ(summary.steps, 1);
  EXPECT_DOUBLE_EQ(summary.seconds, 100e-9);
  std::vector<std::pair<std::string, double>> phases;
  double sum = 0;
  for (const auto& phase : summary.phases) {
    phases.emplace_back(phase.name, std::round(phase.seconds * 1e9));
    sum += phase.seconds;
  }
  EXPECT_EQ(
      phases,
      (std::vector<std::pair<std::string, double>>{
          {"data", 10}, {"wait", 5}, {"pull", 5}, {"compute", 60}, {"push", 10}, {"other", 10}}));
  EXPECT_DOUBLE_EQ(sum, summary.seconds);
}

TEST(ProfileSummaryTest, LoadingStandsBesideThePhases) {
  const ProfileSummary summary = Summarize(ExampleProfile().tasks(0));
  EXPECT_EQ(summary.loaded_batches, 2);
  EXPECT_DOUBLE_EQ(summary.reading_seconds, 70e-9);
  EXPECT_DOUBLE_EQ(summary.decoding_seconds, 150e-9);
}

TEST(ProfileSummaryTest, APushAfterThePassIsNotTakenFromIt) {
  proto::ProfileReport report = ExampleProfile().tasks(0);
  report.mutable_spans()->rbegin()->set_nanoseconds(100);
  const ProfileSummary summary = Summarize(report);
  ASSERT_EQ(summary.phases.size(), 6);
  EXPECT_DOUBLE_EQ(summary.phases[3].seconds, 60e-9) << summary.phases[3].name;
  EXPECT_DOUBLE_EQ(summary.phases[4].seconds, 110e-9) << summary.phases[4].name;
}

TEST(ProfileSummaryTest, LayersHaveBothPassesAndThoseThatTakeNoTimeAreLeftOut) {
  const ProfileSummary summary = Summarize(ExampleProfile().tasks(0));
  ASSERT_EQ(summary.layers.size(), 2);
  EXPECT_EQ(summary.layers[0].name, "dense");
  EXPECT_DOUBLE_EQ(summary.layers[0].forward_seconds, 20e-9);
  EXPECT_DOUBLE_EQ(summary.layers[0].backward_seconds, 25e-9);
  EXPECT_EQ(summary.layers[1].name, "loss");
  EXPECT_DOUBLE_EQ(summary.layers[1].backward_seconds, 0);
}

TEST(ProfileSummaryTest, APsHasItsOperationsOverAllThreads) {
  const ProfileSummary summary = Summarize(ExampleProfile().tasks(1));
  EXPECT_EQ(summary.task, "ps 0");
  ASSERT_EQ(summary.phases.size(), 1);
  EXPECT_EQ(summary.phases[0].name, "apply");
  EXPECT_EQ(summary.phases[0].count, 2);
  EXPECT_DOUBLE_EQ(summary.phases[0].seconds, 30e-9);
  EXPECT_TRUE(summary.layers.empty());
}

TEST(ProfileSummaryTest, AnEmptyReportHasNoTime) {
  EXPECT_EQ(Summarize(proto::ProfileReport()).seconds, 0);
}

}  // namespace
}  // namespace cairn::cli
