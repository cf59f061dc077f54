#include "nn/metric.h"

#include <vector>

#include "gtest/gtest.h"
#include "proto/job.pb.h"

namespace cairn::nn {
namespace {

std::unique_ptr<Loss> LossNamed(const std::string& name) {
  proto::Loss config;
  config.set_name(name);
  return *CreateLoss(config);
}

MetricSum Measure(const std::string& metric, const std::string& loss, const Shape& shape,
                  const std::vector<float>& output, const void* labels) {
  const int64_t examples = static_cast<int64_t>(output.size()) / ElementCount(shape);
  return (*CreateMetric(metric, *LossNamed(loss), shape))
      ->Compute({.examples = examples, .shape = &shape, .output = output.data(), .labels = labels});
}

TEST(MetricTest, AccuracyOfClassNumbersCountsTheLargestOutputs) {
  const int32_t labels[] = {1, 2, 0};
  const MetricSum sum = Measure("accuracy", "sparse_categorical_crossentropy", {3},
                                {0, 1, 0, 0, 0, 1, 0, 1, 0}, labels);
  EXPECT_EQ(sum.sum, 2);
  EXPECT_EQ(sum.count, 3);
}

TEST(MetricTest, AccuracyOfOneHotLabelsComparesLargestWithLargest) {
  const float labels[] = {0, 1, 0, 1, 0, 0};
  const MetricSum sum = Measure("acc", "categorical_crossentropy", {3}, {0, 1, 0, 0, 0, 1}, labels);
  EXPECT_EQ(sum.sum, 1);
  EXPECT_EQ(sum.count, 2);
}

TEST(MetricTest, AccuracyOfOneOutputIsBinary) {
  const float labels[] = {1, 0, 1, 0};
  const MetricSum sum =
      Measure("accuracy", "binary_crossentropy", {1}, {0.9f, 0.1f, 0.5f, 0.7f}, labels);
  EXPECT_EQ(sum.sum, 2);
  EXPECT_EQ(sum.count, 4);
}

TEST(MetricTest, ErrorsAreMeansOverAllElements) {
  const float labels[] = {1, 0, 1, 0};
  const std::vector<float> output = {3, 0, 1, -1};
  const MetricSum squared = Measure("mse", "mae", {2}, output, labels);
  EXPECT_EQ(squared.sum / squared.count, 5.0 / 4);
  const MetricSum absolute = Measure("mean_absolute_error", "mse", {2}, output, labels);
  EXPECT_EQ(absolute.sum / absolute.count, 3.0 / 4);
}

TEST(MetricTest, AMetricKeepsTheNameItWasAskedForBy) {
  EXPECT_EQ((*CreateMetric("mse", *LossNamed("mae"), {2}))->name(), "mse");
}

TEST(MetricTest, AMetricThatDoesNotFitIsRefused) {
  const std::unique_ptr<Loss> sparse = LossNamed("sparse_categorical_crossentropy");
  EXPECT_FALSE(CreateMetric("mse", *sparse, {10}).ok());
  EXPECT_FALSE(CreateMetric("categorical_accuracy", *sparse, {10}).ok());
  EXPECT_FALSE(CreateMetric("categorical_accuracy", *LossNamed("mse"), {1}).ok());
}

TEST(MetricTest, AnUnknownMetricIsRefusedWithTheKnownOnes) {
  const absl::Status status = CreateMetric("auc", *LossNamed("mse"), {1}).status();
  EXPECT_NE(status.message().find("'auc'"), absl::string_view::npos) << status;
  EXPECT_NE(status.message().find("binary_accuracy"), absl::string_view::npos) << status;
}

}  // namespace
}  // namespace cairn::nn
