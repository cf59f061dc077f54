#include "cli/output_fields.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace cairn::cli {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;

std::string Refusal(json object) {
  proto::Job job;
  return std::string(TakeOutputs(&object, &job).message());
}

TEST(OutputFieldsTest, ListsSpeakOfPositionsAndObjectsOfNames) {
  json object = json::parse(R"({
      "name": "two",
      "loss": {"a": "mse", "b": {"name": "huber", "delta": 2}},
      "loss_weights": [1, 0.2],
      "metrics": [["mae", {"name": "auc", "curve": "PR", "as": "pr"}], "mse"]})");
  proto::Job job;
  ASSERT_TRUE(TakeOutputs(&object, &job).ok());
  EXPECT_EQ(object, json::parse(R"({"name": "two"})"));
  ASSERT_EQ(job.outputs_size(), 6);
  EXPECT_EQ(job.outputs(0).name(), "a");
  EXPECT_EQ(job.outputs(0).loss().name(), "mse");
  EXPECT_EQ(job.outputs(1).name(), "b");
  EXPECT_EQ(job.outputs(1).loss().delta(), 2);
  EXPECT_EQ(job.outputs(3).name(), "");
  EXPECT_EQ(job.outputs(3).position(), 1u);
  EXPECT_EQ(job.outputs(3).loss_weight(), 0.2);
  EXPECT_THAT(job.outputs(4).metrics(), ElementsAre("mae", "pr"));
  EXPECT_EQ(job.outputs(4).metric_arguments(0).index(), 1u);
  EXPECT_EQ(job.outputs(4).metric_arguments(0).metric().curve(), "PR");
  EXPECT_EQ(job.outputs(5).position(), 1u);
  EXPECT_THAT(job.outputs(5).metrics(), ElementsAre("mse"));
}

TEST(OutputFieldsTest, FieldsOfAllOutputsStay) {
  json object = json::parse(R"({"loss": {"name": "huber", "delta": 2}, "metrics": ["mae"]})");
  proto::Job job;
  ASSERT_TRUE(TakeOutputs(&object, &job).ok());
  EXPECT_TRUE(object.contains("loss"));
  EXPECT_TRUE(job.outputs().empty());
  EXPECT_THAT(job.metrics(), ElementsAre("mae"));
}

TEST(OutputFieldsTest, WeightedMetricsFollowAndHaveNamesOfTheirOwn) {
  json object = json::parse(R"({
      "metrics": ["mae", "mse"],
      "weighted_metrics": ["mae", {"name": "auc", "curve": "PR", "as": "pr"}]})");
  proto::Job job;
  ASSERT_TRUE(TakeOutputs(&object, &job).ok());
  EXPECT_TRUE(object.empty());
  EXPECT_THAT(job.metrics(), ElementsAre("mae", "mse", "weighted_mae", "pr"));
  ASSERT_EQ(job.metric_arguments_size(), 2);
  EXPECT_EQ(job.metric_arguments(0).index(), 2u);
  EXPECT_EQ(job.metric_arguments(0).metric().name(), "mae");
  EXPECT_TRUE(job.metric_arguments(0).weighted());
  EXPECT_EQ(job.metric_arguments(1).metric().curve(), "PR");
  EXPECT_EQ(Refusal({{"weighted_metrics", {1}}}), "weighted_metrics[0]: 1 is not a string");
}

TEST(OutputFieldsTest, WeightedMetricsOfSeveralOutputs) {
  json object = json::parse(R"({
      "metrics": {"a": ["mae"]}, "weighted_metrics": {"a": ["mae"], "b": ["mae"]}})");
  proto::Job job;
  ASSERT_TRUE(TakeOutputs(&object, &job).ok());
  ASSERT_EQ(job.outputs_size(), 3);
  EXPECT_THAT(job.outputs(1).metrics(), ElementsAre("weighted_mae"));
  EXPECT_THAT(job.outputs(2).metrics(), ElementsAre("mae"));
  EXPECT_TRUE(job.outputs(2).metric_arguments(0).weighted());
}

TEST(OutputFieldsTest, MetricsByNameAreListsToo) {
  json object = json::parse(R"({"metrics": {"a": ["mae", "mse"], "b": "mae"}})");
  proto::Job job;
  ASSERT_TRUE(TakeOutputs(&object, &job).ok());
  EXPECT_THAT(job.outputs(0).metrics(), ElementsAre("mae", "mse"));
  EXPECT_EQ(job.outputs(1).name(), "b");
}

TEST(OutputFieldsTest, WhatIsWrongIsNamedWithItsPath) {
  EXPECT_EQ(Refusal({{"loss", {{"a", 3}}}}), "loss.a: 3 is not a name or an object");
  EXPECT_EQ(Refusal({{"loss", {"mse", {{"delta", 3}}}}}),
            "loss[1].name: is missing; for example \"name\": \"mse\"");
  EXPECT_EQ(Refusal({{"loss", {"mse", nullptr}}}), "loss[1]: null is not a name or an object");
  EXPECT_EQ(Refusal({{"loss", {{"", "mse"}}}}), "loss: \"\" is not the name of an output");
  EXPECT_EQ(Refusal({{"loss_weights", {{"a", "much"}}}}),
            "loss_weights.a: \"much\" is not a number");
  EXPECT_EQ(Refusal({{"metrics", {{"a", {"mae", 7}}}}}), "metrics.a[1]: 7 is not a string");
  EXPECT_EQ(Refusal({{"outputs", json::array()}}),
            "outputs: unknown field; set it under \"loss\", \"loss_weights\" and \"metrics\"");
}

TEST(OutputFieldsTest, LabelsByNameKeepTheirNames) {
  json source = json::parse(R"({"npy": {"features": "x.npy", "labels": {"b": "2", "a": "1"}}})");
  proto::DataSource data;
  ASSERT_TRUE(TakeLabels("train", &source, &data).ok());
  EXPECT_THAT(data.npy().label_outputs(), ElementsAre("a", "b"));
  EXPECT_THAT(data.npy().labels(), ElementsAre("1", "2"));
  EXPECT_EQ(source, json::parse(R"({"npy": {"features": "x.npy"}})"));

  json wrong = json::parse(R"({"idx": {"labels": {"a": ["1", "2"]}}})");
  EXPECT_EQ(TakeLabels("train", &wrong, &data).message(),
            "train.idx.labels.a: [\"1\",\"2\"] is not a string: one name, or pattern, for each "
            "output");
}

TEST(OutputFieldsTest, LabelsByNameOfAMixtureKeepTheirNames) {
  const auto take = [](const std::string& labels, proto::DataSource* data) {
    json source = json::parse(
        R"({"mix": [{"source": {"csv": {"files": "a.csv", "labels": "y"}}, "weight": 2},
            {"source": {"npy": {"features": "x.npy", "labels": )" +
        labels + R"(}, "scale": 0.5}, "weight": 1}]})");
    return TakeLabels("train", &source, data);
  };
  proto::DataSource data;
  const absl::Status status = take(R"({"b": "2", "a": "1"})", &data);
  ASSERT_TRUE(status.ok()) << status;
  ASSERT_EQ(data.mix_size(), 2);
  EXPECT_EQ(data.mix(0).weight(), 2);
  EXPECT_EQ(data.mix(0).source().csv().labels(0).name(), "y");
  EXPECT_EQ(data.mix(1).source().scale(), 0.5);
  EXPECT_THAT(data.mix(1).source().npy().label_outputs(), ElementsAre("a", "b"));
  EXPECT_THAT(data.mix(1).source().npy().labels(), ElementsAre("1", "2"));
  EXPECT_EQ(take(R"({"a": 7})", &data).message(),
            "train.mix[1].source.npy.labels.a: 7 is not a string: one name, or pattern, for each "
            "output");
  EXPECT_THAT(std::string(take(R"("y.npy"}, "oops": {)", &data).message()),
              ::testing::StartsWith("train.mix[1].source.oops: unknown field; "));
}

TEST(OutputFieldsTest, SourcesOfAZipNameInputsAndOutputs) {
  proto::DataSource data;
  json source = json::parse(
      R"({"zip": [{"source": {"npy": {"features": "x.npy"}}, "inputs": "a"},
                  {"source": {"npy": {"labels": {"p": "1", "q": "2"}}}, "outputs": ["p", "q"]}]})");
  const absl::Status status = TakeLabels("train", &source, &data);
  ASSERT_TRUE(status.ok()) << status;
  ASSERT_EQ(data.zip_size(), 2);
  EXPECT_THAT(data.zip(0).inputs(), ElementsAre("a"));
  EXPECT_THAT(data.zip(1).outputs(), ElementsAre("p", "q"));
  EXPECT_THAT(data.zip(1).source().npy().label_outputs(), ElementsAre("p", "q"));
  json empty = json::parse(R"({"zip": []})");
  EXPECT_EQ(TakeLabels("train", &empty, &data).message(),
            R"(train.zip: is empty; a zip has one source or more, for example )"
            R"({"source": {"npy": {"features": "x.npy"}}, "inputs": "x"})");
}

TEST(OutputFieldsTest, VectorsAreOfTheOutputsThatAreTrue) {
  const auto take = [](const char* text, proto::DataSource* data) {
    json source = json::parse(text);
    const absl::Status status = TakeLabels("train", &source, data);
    const auto left = source.find("one_hot");
    EXPECT_TRUE(!status.ok() || left == source.end() || left->is_boolean());
    return std::string(status.message());
  };
  proto::DataSource some, none, all, wrong;
  EXPECT_EQ(take(R"({"one_hot": {"a": true, "b": false, "c": true}})", &some), "");
  EXPECT_THAT(some.one_hot_outputs(), ElementsAre("a", "c"));
  EXPECT_EQ(take(R"({"one_hot": {"a": false}})", &none), "");
  EXPECT_TRUE(none.has_one_hot() && !none.one_hot());
  EXPECT_EQ(take(R"({"one_hot": true})", &all), "") << "is left for JsonToMessage";
  EXPECT_EQ(take(R"({"one_hot": {"a": 1}})", &wrong), "train.one_hot.a: 1 is not true or false");
  EXPECT_EQ(take(R"({"one_hot_outputs": ["a"]})", &wrong),
            "train.one_hot_outputs: unknown field; set \"one_hot\": {\"OUTPUT\": true}");
}

}  // namespace
}  // namespace cairn::cli
