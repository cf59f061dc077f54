#include "job/job_outputs.h"

#include <google/protobuf/util/json_util.h>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/nn/test_model.h"

namespace cairn::job {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

template <typename Message>
Message MessageOf(const std::string& json) {
  Message message;
  EXPECT_TRUE(google::protobuf::util::JsonStringToMessage(json, &message).ok()) << json;
  return message;
}

// Outputs: "left", "right".
std::unique_ptr<nn::Model> TwoOutputs() {
  return nn::testing::ModelOf({{"x", "InputLayer", R"({"batch_shape": [null, 3]})"},
                               {"left", "Dense", R"({"units": 2})", {"x"}},
                               {"right", "Dense", R"({"units": 1})", {"x"}}},
                              {"left", "right"});
}

std::unique_ptr<nn::Model> OneOutput() {
  return nn::testing::ModelOf(
      {{"x", "InputLayer", R"({"batch_shape": [null, 3]})"}, {"only", "Dense", R"({"units": 2})"}});
}

TEST(JobOutputsTest, ListsAndNamesBecomeTheSame) {
  proto::Job by_position = MessageOf<proto::Job>(R"({"outputs": [
      {"loss": {"name": "mse"}}, {"position": 1, "loss": {"name": "mae"}},
      {"lossWeight": 0.5}, {"position": 1, "lossWeight": 2},
      {"position": 1, "metrics": ["mse", "steep"],
       "metricArguments": [{"index": 1, "metric": {"name": "huber", "delta": 2}}]}]})");
  proto::Job by_name = MessageOf<proto::Job>(R"({"outputs": [
      {"name": "right", "loss": {"name": "mae"}, "lossWeight": 2,
       "metrics": ["mse", "steep"],
       "metricArguments": [{"index": 1, "metric": {"name": "huber", "delta": 2}}]},
      {"name": "left", "loss": {"name": "mse"}, "lossWeight": 0.5}]})");
  const auto model = TwoOutputs();
  ASSERT_TRUE(ResolveOutputs(*model, &by_position).ok());
  ASSERT_TRUE(ResolveOutputs(*model, &by_name).ok());
  EXPECT_EQ(by_position.DebugString(), by_name.DebugString());
  ASSERT_EQ(by_name.outputs_size(), 2);
  EXPECT_EQ(by_name.outputs(1).loss().name(), "mae");
  EXPECT_EQ(by_name.outputs(1).loss_weight(), 2);
  EXPECT_THAT(by_name.metrics(),
              ElementsAre("left_loss", "right_loss", "right_mse", "right_steep"));
  ASSERT_EQ(by_name.metric_arguments_size(), 4);
  EXPECT_EQ(by_name.metric_arguments(0).metric().name(), "loss");
  EXPECT_EQ(by_name.metric_arguments(3).index(), 3u);
  EXPECT_EQ(by_name.metric_arguments(3).output(), 1u);
  EXPECT_EQ(by_name.metric_arguments(3).metric().delta(), 2);
}

TEST(JobOutputsTest, OneLossIsEveryOutputs) {
  proto::Job job = MessageOf<proto::Job>(R"({"loss": {"name": "huber", "delta": 3}})");
  ASSERT_TRUE(ResolveOutputs(*TwoOutputs(), &job).ok());
  EXPECT_EQ(job.outputs(0).loss().delta(), 3);
  EXPECT_EQ(job.outputs(1).loss().delta(), 3);
  EXPECT_FALSE(job.has_loss());
}

TEST(JobOutputsTest, OfOneOutputListsAndNamesMeanThePlainFields) {
  const proto::Job plain =
      MessageOf<proto::Job>(R"({"loss": {"name": "mse"}, "metrics": ["mae"]})");
  proto::Job job = MessageOf<proto::Job>(
      R"({"outputs": [{"name": "only", "loss": {"name": "mse"}, "metrics": ["mae"]}]})");
  ASSERT_TRUE(ResolveOutputs(*OneOutput(), &job).ok());
  EXPECT_EQ(job.DebugString(), plain.DebugString());
  proto::Job untouched = plain;
  ASSERT_TRUE(ResolveOutputs(*OneOutput(), &untouched).ok());
  EXPECT_EQ(untouched.DebugString(), plain.DebugString());
  proto::Job weighted =
      MessageOf<proto::Job>(R"({"loss": {"name": "mse"}, "outputs": [{"lossWeight": 3}]})");
  ASSERT_TRUE(ResolveOutputs(*OneOutput(), &weighted).ok());
  EXPECT_EQ(weighted.loss().name(), "mse");
  EXPECT_EQ(weighted.outputs(0).loss_weight(), 3);
}

TEST(JobOutputsTest, WeightedMetricsStayBesideTheOthers) {
  proto::Job job = MessageOf<proto::Job>(R"({"loss": {"name": "mse"}, "outputs": [
      {"position": 1, "metrics": ["mae", "mse"]},
      {"name": "right", "metrics": ["weighted_mae"], "metricArguments": [
          {"index": 0, "metric": {"name": "mae"}, "weighted": true}]}]})");
  ASSERT_TRUE(ResolveOutputs(*TwoOutputs(), &job).ok());
  EXPECT_EQ(job.metrics(4), "right_weighted_mae");
  for (const proto::MetricArguments& arguments : job.metric_arguments()) {
    EXPECT_EQ(arguments.weighted(), arguments.index() == 4) << arguments.ShortDebugString();
  }
  EXPECT_EQ(job.metric_arguments(4).metric().name(), "mae");
  EXPECT_EQ(job.metric_arguments(4).output(), 1u);

  proto::Job one = MessageOf<proto::Job>(R"({"loss": {"name": "mse"}, "metrics": ["mae"],
      "outputs": [{"name": "only", "metrics": ["weighted_mae"], "metricArguments": [
          {"index": 0, "metric": {"name": "mae"}, "weighted": true}]}]})");
  ASSERT_TRUE(ResolveOutputs(*OneOutput(), &one).ok());
  ASSERT_EQ(one.metrics_size(), 2);
  EXPECT_EQ(one.metric_arguments(0).index(), 1u);
}

TEST(JobOutputsTest, WhatDoesNotFitTheModelIsNamed) {
  const struct {
    std::string job;
    std::string message;
  } cases[] = {
      {R"({"outputs": [{"name": "lef", "loss": {"name": "mse"}}]})",
       "loss: the model has no output 'lef'"},
      {R"({"loss": {"name": "mse"}, "outputs": [{"position": 2, "lossWeight": 1}]})",
       "loss_weights: lists 3 outputs, the model has 2"},
      {R"({"outputs": [{"loss": {"name": "mse"}}]})",
       "loss: has no entry for the model's output 'right'; every output has a loss"},
      {R"({"loss": {"name": "mse"}, "metrics": ["mae"]})",
       "metrics: is one list, the model has 2 outputs; give a list of lists"},
  };
  for (const auto& one : cases) {
    proto::Job job = MessageOf<proto::Job>(one.job);
    EXPECT_THAT(std::string(ResolveOutputs(*TwoOutputs(), &job).message()), HasSubstr(one.message));
  }
}

TEST(JobOutputsTest, AnOutputThatIsListedTwiceIsRefused) {
  const auto model = nn::testing::ModelOf(
      {{"x", "InputLayer", R"({"batch_shape": [null, 3]})"}, {"only", "Dense", R"({"units": 2})"}},
      {"only", "only"});
  proto::Job job = MessageOf<proto::Job>(R"({"loss": {"name": "mse"}})");
  EXPECT_THAT(std::string(ResolveOutputs(*model, &job).message()),
              HasSubstr("lists an output twice"));
}

TEST(JobOutputsTest, LabelsByNameStandInTheModelsOrder) {
  const std::string source =
      R"({"npy": {"features": ["x"], "labels": ["r", "l"], "labelOutputs": [)";
  auto named = MessageOf<proto::DataSource>(source + R"("right", "left"]}})");
  ASSERT_TRUE(ResolveLabels("train", *TwoOutputs(), &named).ok());
  EXPECT_THAT(named.npy().labels(), ElementsAre("l", "r"));
  EXPECT_TRUE(named.npy().label_outputs().empty());

  auto plain = MessageOf<proto::DataSource>(source + "]}}");
  ASSERT_TRUE(ResolveLabels("train", *TwoOutputs(), &plain).ok());
  EXPECT_THAT(plain.npy().labels(), ElementsAre("r", "l"));

  auto unknown = MessageOf<proto::DataSource>(source + R"("right", "middle"]}})");
  EXPECT_THAT(std::string(ResolveLabels("train", *TwoOutputs(), &unknown).message()),
              HasSubstr("train.npy.labels: the model has no output 'middle'"));
  auto twice = MessageOf<proto::DataSource>(source + R"("right", "right"]}})");
  EXPECT_EQ(ResolveLabels("train", *TwoOutputs(), &twice).message(),
            "train.npy.labels: has no entry for the model's output 'left'");

  auto vectors = MessageOf<proto::DataSource>(R"({"csv": {}, "oneHotOutputs": ["right"]})");
  EXPECT_TRUE(ResolveLabels("train", *TwoOutputs(), &vectors).ok());
  vectors.add_one_hot_outputs("rihgt");
  EXPECT_THAT(std::string(ResolveLabels("train", *TwoOutputs(), &vectors).message()),
              HasSubstr("train.one_hot: the model has no output 'rihgt'; did you mean 'right'?"));
}

}  // namespace
}  // namespace cairn::job
