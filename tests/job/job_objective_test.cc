#include "job/job_objective.h"

#include <google/protobuf/util/json_util.h>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/nn/test_model.h"

namespace cairn::job {
namespace {

using ::testing::HasSubstr;

proto::Job JobOf(const std::string& json) {
  proto::Job job;
  EXPECT_TRUE(google::protobuf::util::JsonStringToMessage(json, &job).ok()) << json;
  return job;
}

// Outputs: "classes", of 3, and "number".
std::unique_ptr<nn::Model> TwoOutputs() {
  return nn::testing::ModelOf({{"x", "InputLayer", R"({"batch_shape": [null, 3]})"},
                               {"classes", "Dense", R"({"units": 3})", {"x"}},
                               {"number", "Dense", R"({"units": 1})", {"x"}}},
                              {"classes", "number"});
}

constexpr char kOutputs[] =
    R"("outputs": [{"loss": {"name": "sparse_categorical_crossentropy"}},
                   {"loss": {"name": "mse"}, "lossWeight": 0.25}])";

TEST(ObjectiveTest, EveryOutputHasItsLossItsWeightAndItsMetrics) {
  const auto objective = CreateObjective(JobOf(std::string("{") + kOutputs + R"(,
      "metrics": ["a", "b"], "metricArguments": [
        {"index": 0, "output": 1, "metric": {"name": "loss"}},
        {"index": 1, "output": 0, "metric": {"name": "accuracy"}}]})"),
                                         *TwoOutputs());
  ASSERT_TRUE(objective.ok()) << objective.status();
  ASSERT_EQ(objective->losses().size(), 2u);
  EXPECT_EQ(objective->losses()[0].loss->name(), "sparse_categorical_crossentropy");
  EXPECT_EQ(objective->losses()[0].weight, 1);
  EXPECT_EQ(objective->losses()[1].weight, 0.25);
  ASSERT_EQ(objective->metrics().size(), 2u);
  EXPECT_EQ(objective->metrics()[0].output, 1);
  EXPECT_EQ(objective->metrics()[1].output, 0);
}

TEST(ObjectiveTest, WhatIsWrongIsNamedWithItsOutput) {
  const struct {
    std::string job;
    std::string message;
  } cases[] = {
      {R"({"outputs": [{"loss": {"name": "mse"}}, {"loss": {"name": "msse"}}]})",
       "loss of output 'number': unknown loss 'msse'"},
      {R"({"loss": {"name": "mse"}, "outputs": [{}, {"lossWeight": 1e300}]})",
       "loss_weights of output 'number': 1e+300 is not a finite float32"},
      {std::string("{") + kOutputs +
           R"(, "metrics": ["m"], "metricArguments": [
             {"output": 1, "metric": {"name": "sparse_categorical_accuracy"}}]})",
       "metrics: m: metric sparse_categorical_accuracy does not fit loss mean_squared_error"},
      {std::string("{") + kOutputs +
           R"(, "metrics": ["m"], "metricArguments": [{"output": 2, "metric": {"name": "mse"}}]})",
       "metrics: m: the model has no output 2, only 2"},
  };
  for (const auto& one : cases) {
    EXPECT_THAT(std::string(CreateObjective(JobOf(one.job), *TwoOutputs()).status().message()),
                HasSubstr(one.message));
  }
}

TEST(ObjectiveTest, AWeightedMetricIsNamedByItsPlaceInWeightedMetrics) {
  const auto model = nn::testing::ModelOf({{"x", "InputLayer", R"({"batch_shape": [null, 3]})"},
                                           {"y", "Dense", R"({"units": 1})", {"x"}}},
                                          {"y"});
  const proto::Job job = JobOf(
      R"({"loss": {"name": "mse"}, "metrics": ["mae", "mae", "wrong"], "metricArguments": [
          {"index": 1, "weighted": true, "metric": {"name": "mae"}},
          {"index": 2, "weighted": true, "metric": {"name": "wrong"}}]})");
  EXPECT_THAT(std::string(CreateObjective(job, *model).status().message()),
              testing::StartsWith("weighted_metrics[1]: unknown metric 'wrong'"));
}

TEST(JobMetricsTest, ArgumentsOfAJobStandWithTheirMetric) {
  proto::Job job;
  job.add_metrics("mae");
  job.add_metrics("pr_auc");
  proto::MetricArguments* more = job.add_metric_arguments();
  more->set_index(1);
  more->mutable_metric()->set_name("auc");
  more->mutable_metric()->set_curve("PR");
  more->set_output(3);
  const std::vector<JobMetric> metrics = JobMetrics(job);
  ASSERT_EQ(metrics.size(), 2u);
  EXPECT_EQ(metrics[0].config.name(), "mae");
  EXPECT_EQ(metrics[0].output, 0);
  EXPECT_EQ(metrics[1].config.curve(), "PR");
  EXPECT_EQ(metrics[1].output, 3);
}

// A metric that follows from the loss ("accuracy") is not blamed for it.
TEST(ObjectiveTest, ALossOfClassesOnOneOutputIsRefusedAsTheLoss) {
  const auto model =
      nn::testing::ModelOf({{"x", "InputLayer", R"({"batch_shape": [null, 3]})"},
                            {"yes", "Dense", R"({"units": 1, "activation": "sigmoid"})", {"x"}}},
                           {"yes"});
  for (const std::string loss : {"sparse_categorical_crossentropy", "categorical_crossentropy"}) {
    const proto::Job job =
        JobOf(R"({"loss": {"name": ")" + loss + R"("}, "metrics": ["accuracy"]})");
    EXPECT_EQ(CreateObjective(job, *model).status().message(),
              "loss: loss " + loss +
                  " needs an output with at least 2 classes in its last axis, the model's is (1,); "
                  "for one output with labels 0 and 1 say binary_crossentropy");
  }
  const proto::Job binary =
      JobOf(R"({"loss": {"name": "binary_crossentropy"}, "metrics": ["accuracy"]})");
  EXPECT_TRUE(CreateObjective(binary, *model).ok());
}

}  // namespace
}  // namespace cairn::job
