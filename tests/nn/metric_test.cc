#include "nn/metric.h"

#include <gmock/gmock.h>

#include <vector>

#include "gtest/gtest.h"
#include "proto/job.pb.h"

namespace cairn::nn {
namespace {

using ::testing::HasSubstr;

std::unique_ptr<Loss> LossNamed(const std::string& name) {
  proto::Loss config;
  config.set_name(name);
  return *CreateLoss(config);
}

proto::Metric Config(const std::string& name) {
  proto::Metric config;
  config.set_name(name);
  return config;
}

double Measure(const std::string& metric, const std::string& loss, const Shape& shape,
               const std::vector<float>& output, const void* labels) {
  const int64_t examples = static_cast<int64_t>(output.size()) / ElementCount(shape);
  const auto created = *CreateMetric(Config(metric), *LossNamed(loss), shape);
  std::vector<double> state(created->state_size());
  created->Accumulate(
      {.examples = examples, .shape = &shape, .output = output.data(), .labels = labels},
      absl::MakeSpan(state));
  return created->Result(state);
}

std::string ErrorOf(const proto::Metric& config, const std::string& loss, const Shape& shape) {
  return std::string(CreateMetric(config, *LossNamed(loss), shape).status().message());
}

TEST(MetricTest, AccuracyOfClassNumbersCountsTheLargestOutputs) {
  const int32_t labels[] = {1, 2, 0};
  EXPECT_DOUBLE_EQ(Measure("accuracy", "sparse_categorical_crossentropy", {3},
                           {0, 1, 0, 0, 0, 1, 0, 1, 0}, labels),
                   2.0 / 3);
}

TEST(MetricTest, AccuracyOfOneHotLabelsComparesLargestWithLargest) {
  const float labels[] = {0, 1, 0, 1, 0, 0};
  EXPECT_EQ(Measure("acc", "categorical_crossentropy", {3}, {0, 1, 0, 0, 0, 1}, labels), 0.5);
}

TEST(MetricTest, AccuracyOfOneOutputIsBinary) {
  const float labels[] = {1, 0, 1, 0};
  EXPECT_EQ(Measure("accuracy", "binary_crossentropy", {1}, {0.9f, 0.1f, 0.5f, 0.7f}, labels), 0.5);
}

TEST(MetricTest, ErrorsAreMeansOverAllElements) {
  const float labels[] = {1, 0, 1, 0};
  const std::vector<float> output = {3, 0, 1, -1};
  EXPECT_EQ(Measure("mse", "mae", {2}, output, labels), 5.0 / 4);
  EXPECT_EQ(Measure("mean_absolute_error", "mse", {2}, output, labels), 3.0 / 4);
}

TEST(MetricTest, AMetricThatDoesNotFitIsRefused) {
  const std::string sparse = "sparse_categorical_crossentropy";
  EXPECT_EQ(ErrorOf(Config("mse"), sparse, {10}),
            "metric mean_squared_error does not fit loss sparse_categorical_crossentropy, whose "
            "labels are class numbers; with \"one_hot\": true they are vectors, for loss "
            "categorical_crossentropy");
  EXPECT_EQ(ErrorOf(Config("categorical_accuracy"), sparse, {10}),
            "metric categorical_accuracy does not fit loss sparse_categorical_crossentropy, whose "
            "labels are class numbers; use sparse_categorical_accuracy");
  EXPECT_THAT(
      ErrorOf(Config("sparse_top_k_categorical_accuracy"), "categorical_crossentropy", {10}),
      HasSubstr("not class numbers; use top_k_categorical_accuracy"));
  EXPECT_THAT(ErrorOf(Config("precision"), sparse, {10}), HasSubstr("class numbers"));
  EXPECT_THAT(ErrorOf(Config("categorical_accuracy"), "mse", {1}), HasSubstr("at least 2 classes"));
  EXPECT_THAT(ErrorOf(Config("mean_iou"), "mse", {2000}), HasSubstr("at most 1000"));
  EXPECT_THAT(ErrorOf(Config("categorical_crossentropy"), "mse", {1}),
              HasSubstr("at least 2 classes"));
}

TEST(MetricTest, AMetricThatCannotBeWeightedIsRefused) {
  const auto refusal = [](const proto::Metric& config) {
    return std::string(
        CreateMetric(config, *LossNamed("mse"), {3}, /*weighted=*/true).status().message());
  };
  EXPECT_EQ(refusal(Config("mae")), "");
  EXPECT_EQ(refusal(Config("loss")), "metric loss: the loss has its weights already; leave it out");
  EXPECT_EQ(refusal(Config("dice")),
            "metric dice: it is about all examples of a batch, so it has no weights");
  proto::Metric r2 = Config("r2_score");
  EXPECT_EQ(refusal(r2), "");
  r2.set_num_regressors(2);
  EXPECT_EQ(refusal(r2),
            "metric r2_score: 'num_regressors' counts examples, which have weights here; leave it "
            "out");
}

TEST(MetricTest, AnUnknownMetricIsRefusedWithTheKnownOnes) {
  const std::string message = ErrorOf(Config("precison"), "mse", {1});
  EXPECT_THAT(message, HasSubstr("unknown metric 'precison'; did you mean 'precision'? known: "));
  EXPECT_THAT(message, HasSubstr("binary_accuracy"));
  EXPECT_THAT(message, HasSubstr("log_cosh"));
}

TEST(MetricTest, WrongArgumentsAreRefusedByName) {
  proto::Metric config = Config("auc");
  config.set_k(3);
  EXPECT_THAT(ErrorOf(config, "mse", {1}),
              HasSubstr("metric auc: unknown argument 'k'; known: num_thresholds, curve, "));
  config = Config("auc");
  config.set_curve("RoC");
  EXPECT_EQ(ErrorOf(config, "mse", {1}), "metric auc: 'curve' is 'RoC'; known: ROC, PR");
  config.set_curve("ROC");
  config.set_num_thresholds(1);
  EXPECT_EQ(ErrorOf(config, "mse", {1}),
            "metric auc: 'num_thresholds' is 1; it must be from 2 to 1000");
  config = Config("auc");
  config.set_summation_method("sum");
  EXPECT_THAT(ErrorOf(config, "mse", {1}), HasSubstr("known: interpolation, minoring, majoring"));
  config = Config("precision");
  config.set_class_id(3);
  EXPECT_EQ(ErrorOf(config, "mse", {3}),
            "metric precision: 'class_id' is 3; it must be from 0 to 2");
  config = Config("recall");
  config.set_top_k(4);
  EXPECT_THAT(ErrorOf(config, "mse", {3}), HasSubstr("'top_k' is 4; it must be from 1 to the 3"));
  config = Config("recall");
  config.add_thresholds(0.1);
  config.add_thresholds(0.2);
  EXPECT_THAT(ErrorOf(config, "mse", {3}), HasSubstr("'thresholds' has 2 numbers"));
  config = Config("top_k_categorical_accuracy");
  config.set_k(0);
  EXPECT_THAT(ErrorOf(config, "mse", {3}), HasSubstr("'k' is 0; it must be at least 1"));
  config = Config("mean_iou");
  config.set_num_classes(3);
  EXPECT_THAT(ErrorOf(config, "mse", {4}), HasSubstr("'num_classes' is 3; the output has 4"));
  config = Config("iou");
  EXPECT_THAT(ErrorOf(config, "mse", {4}), HasSubstr("'target_class_ids' is missing"));
  config.add_target_class_ids(4);
  EXPECT_THAT(ErrorOf(config, "mse", {4}),
              HasSubstr("'target_class_ids' has 4; it must be from 0"));
  EXPECT_THAT(ErrorOf(Config("f1_score"), "mse", {4}),
              HasSubstr("a metric is one number, so it must be micro, macro or weighted"));
  config = Config("f1_score");
  config.set_class_id(4);
  EXPECT_THAT(ErrorOf(config, "mse", {4}), HasSubstr("'class_id' is 4; it must be from 0 to 3"));
  config.set_average("macro");
  EXPECT_THAT(ErrorOf(config, "mse", {4}), HasSubstr("'class_id' is the score of one class"));
  config = Config("r2_score");
  config.set_class_id(-1);
  EXPECT_THAT(ErrorOf(config, "mse", {4}), HasSubstr("'class_id' is -1; it must be from 0 to 3"));
  config.set_class_aggregation("uniform_average");
  EXPECT_THAT(ErrorOf(config, "mse", {4}), HasSubstr("it has no 'class_aggregation'"));
  EXPECT_THAT(ErrorOf(Config("r2_score"), "mse", {4, 2}), HasSubstr("must have one axis"));
  EXPECT_THAT(ErrorOf(Config("pearson_correlation"), "mse", {1}), HasSubstr("needs at least 2"));
  EXPECT_THAT(ErrorOf(Config("precision_at_recall"), "mse", {1}), HasSubstr("from 0 to 1"));
  config = Config("accuracy");
  config.set_threshold(0.3);
  EXPECT_THAT(ErrorOf(config, "mse", {1}), HasSubstr("unknown argument 'threshold'"));
}

}  // namespace
}  // namespace cairn::nn
