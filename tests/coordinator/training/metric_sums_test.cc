#include "coordinator/training/metric_sums.h"

#include <gtest/gtest.h>

#include <limits>

#include "tests/coordinator/training/metric_plan.h"

namespace cairn::coordinator {
namespace {

MetricSums TwoMetrics() { return MetricSums(MetricPlan({"accuracy", "precision"})); }

MetricSums::States States(const std::vector<std::vector<double>>& values) {
  MetricSums::States states;
  for (const auto& state : values)
    states.Add()->mutable_values()->Assign(state.begin(), state.end());
  return states;
}

TEST(MetricSumsTest, ValuesAreThoseOfAllBatchesTogether) {
  MetricSums sums = TwoMetrics();
  EXPECT_EQ(sums.Values(), (std::vector<double>{0, 0}));
  sums.Add(States({{1, 2}, {1, 0}}));
  sums.Add(States({{4, 8}, {0, 3}}));
  // Precisions 1 and 0 over 1 and 3 positives: the precision of all, not the mean of both.
  EXPECT_EQ(sums.Values(), (std::vector<double>{0.5, 0.25}));
}

// A worker that sends a state of another size must not make a metric read beyond it.
TEST(MetricSumsTest, StatesOfOtherMetricsDoNotFit) {
  const MetricSums sums = TwoMetrics();
  EXPECT_TRUE(sums.Fits(States({{1, 2}, {1, 0}})));
  EXPECT_FALSE(sums.Fits(States({{1, 2}})));
  EXPECT_FALSE(sums.Fits(States({{1, 2}, {}})));
  EXPECT_FALSE(sums.Fits(States({{1}, {1, 0}})));
  EXPECT_FALSE(sums.Fits(States({{1, 2}, {1, 0, 0}})));
  const MetricSums area(MetricPlan({"auc"}));
  EXPECT_TRUE(area.Fits(States({std::vector<double>(400, 1)})));
  EXPECT_FALSE(area.Fits(States({{1, 2}})));
}

TEST(MetricSumsTest, SurviveInARecord) {
  MetricSums sums = TwoMetrics();
  sums.Add(States({{0.1, 2}, {1, 0}}));
  sums.Add(States({{0.2, 8}, {0, 3}}));
  google::protobuf::RepeatedPtrField<proto::MetricSum> record;
  sums.ToProto(&record);
  MetricSums again = TwoMetrics();
  again.FromProto(record);
  for (MetricSums* each : {&sums, &again}) each->Add(States({{1e-20, 1}, {1, 1}}));
  EXPECT_EQ(again.Values(), sums.Values());
  google::protobuf::RepeatedPtrField<proto::MetricSum> more[2];
  sums.ToProto(&more[0]);
  again.ToProto(&more[1]);
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(more[0][i].SerializeAsString(), more[1][i].SerializeAsString());
  }
}

TEST(MetricSumsTest, ARecordOfOtherMetricsLeavesThemEmpty) {
  MetricSums sums(MetricPlan({"auc"}));
  google::protobuf::RepeatedPtrField<proto::MetricSum> record;
  record.Add()->add_high(1);
  sums.FromProto(record);
  EXPECT_EQ(sums.Values(), std::vector<double>{0});
}

}  // namespace
}  // namespace cairn::coordinator
