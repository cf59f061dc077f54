#include "coordinator/training/metric_sums.h"

#include <gtest/gtest.h>

namespace cairn::coordinator {
namespace {

proto::Job TwoMetrics() {
  proto::Job job;
  job.add_metrics("accuracy");
  job.add_metrics("precision");
  return job;
}

MetricSums::States States(const std::vector<std::vector<double>>& values) {
  MetricSums::States states;
  for (const auto& state : values)
    states.Add()->mutable_values()->Assign(state.begin(), state.end());
  return states;
}

TEST(MetricSumsTest, ValuesAreThoseOfAllBatchesTogether) {
  MetricSums sums(TwoMetrics());
  EXPECT_EQ(sums.Values(), (std::vector<double>{0, 0}));
  sums.Add(States({{1, 2}, {1, 0}}));
  sums.Add(States({{4, 8}, {0, 3}}));
  // Precisions 1 and 0 over 1 and 3 positives: the precision of all, not the mean of both.
  EXPECT_EQ(sums.Values(), (std::vector<double>{0.5, 0.25}));
}

TEST(MetricSumsTest, SubtractionUndoesAddition) {
  MetricSums sums(TwoMetrics());
  sums.Add(States({{1, 2}, {1, 0}}));
  sums.Add(States({{4, 8}, {0, 3}}));
  sums.Add(States({{4, 8}, {0, 3}}), -1);
  EXPECT_EQ(sums.Values(), (std::vector<double>{0.5, 1}));
}

TEST(MetricSumsTest, StatesOfOtherMetricsDoNotFit) {
  MetricSums sums(TwoMetrics());
  EXPECT_TRUE(sums.Fits(States({{1, 2}, {1, 0}})));
  EXPECT_FALSE(sums.Fits(States({{1, 2}})));
  EXPECT_FALSE(sums.Fits(States({{1, 2}, {}})));
  sums.Add(States({{1, 2}, {1, 0}}));
  EXPECT_FALSE(sums.Fits(States({{1, 2}, {1, 0, 0}})));
}

}  // namespace
}  // namespace cairn::coordinator
