#include "job/data_pipeline.h"

#include <google/protobuf/util/json_util.h>

#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "job/data_source.h"
#include "tests/nn/test_model.h"

namespace cairn::job {
namespace {

proto::DataSource SourceOf(const std::string& json) {
  proto::DataSource source;
  EXPECT_TRUE(google::protobuf::util::JsonStringToMessage(json, &source).ok()) << json;
  return source;
}

proto::DataSource NpyOf(const std::string& pipeline) {
  return SourceOf(R"({"npy": {"features": ["x"], "labels": ["y"]}, "pipeline": [)" + pipeline +
                  "]}");
}

std::string ErrorOf(const proto::DataSource& source) {
  return std::string(CheckPipeline("train", source, FormatOf(source)).message());
}

TEST(DataPipelineTest, EveryMistakeIsNamedWithItsPath) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {R"({"take": 0})",
       "train.pipeline[0].take: 0 leaves no example; it is a whole number of 1 or more"},
      {R"({"take": 5}, {"skip": -1})", "train.pipeline[1].skip: -1 is below 0"},
      {"{}",
       R"(train.pipeline[0]: has no step (take, skip, shard, filter, window, cast, normalize, )"
       R"(one_hot, hash, vocabulary, pad, resize, crop, flip, cache); for example )"
       R"({"take": 1000})"},
      {R"({"shard": {"index": 0}})",
       R"(train.pipeline[0].shard.num_shards: is missing; for example {"num_shards": 4, )"
       R"("index": 0})"},
      {R"({"shard": {"num_shards": 4}})",
       "train.pipeline[0].shard.index: is missing; shards are counted from 0"},
      {R"({"shard": {"num_shards": 0, "index": 0}})",
       "train.pipeline[0].shard.num_shards: 0 is not from 1 to 2147483647"},
      {R"({"shard": {"num_shards": 4, "index": 4}})",
       "train.pipeline[0].shard.index: 4 is not from 0 to 3"},
      {R"({"window": {}})",
       "train.pipeline[0].window.size: is missing; it is the number of rows of an example"},
      {R"({"window": {"size": 0}})",
       "train.pipeline[0].window.size: 0 is not from 1 to 2147483647"},
      {R"({"window": {"size": 2, "shift": 0}})",
       "train.pipeline[0].window.shift: 0 is not from 1 to 2147483647"},
      {R"({"window": {"size": 2, "stride": -3}})",
       "train.pipeline[0].window.stride: -3 is not from 1 to 2147483647"},
      {R"({"window": {"size": 2, "label_offset": -1}})",
       "train.pipeline[0].window.label_offset: -1 is not from 0 to 2147483647"},
      {R"({"window": {"size": 2}}, {"window": {"size": 2}})",
       "train.pipeline[1].window: is the second window of the pipeline; keep one of them"},
      {R"({"take": 5}, {"window": {"size": 2}}, {"filter": "label = 1"})",
       R"(train.pipeline[2].filter: stands after "window", whose examples are several rows, and a )"
       "filter is about one; put it before"},
      {R"({"cast": "int32"}, {"filter": "label = 1"})",
       R"(train.pipeline[1].filter: stands after "cast", and compares what the files have; put it )"
       "before"},
      {R"({"filter": "label = "})",
       R"(train.pipeline[0].filter: "label = ", character 9: expected a number, a text in single )"
       "quotes, true or false; write conditions like year >= 2026 and country in ('de', 'fr')"},
  };
  for (const auto& [pipeline, message] : cases) EXPECT_EQ(ErrorOf(NpyOf(pipeline)), message);
  EXPECT_EQ(ErrorOf(NpyOf(R"({"filter": "label = 1"}, {"filter": "feature_0 > 2"}, {"skip": 0},
      {"filter": "label = 2"}, {"cache": {}}, {"shard": {"numShards": 4, "index": 3}},
      {"filter": "label = 3"}, {"window": {"size": 3, "shift": 1}}, {"take": 9})")),
            "");
}

TEST(DataPipelineTest, StepsThatTheSourceDoesNotAllowAreNamed) {
  const std::string filter = R"(, "pipeline": [{"filter": "label = 1"}]})";
  EXPECT_EQ(ErrorOf(SourceOf(R"({"images": {"directory": ["x"]})" + filter)),
            R"(train.pipeline[0].filter: "label" is not one of class_name)");
  EXPECT_EQ(ErrorOf(SourceOf(R"({"text": {"files": ["x"]})" + filter)),
            R"(train.pipeline[0].filter: "label" is not one of class_name, text)");
  EXPECT_EQ(ErrorOf(SourceOf(R"({"text": {"files": ["x"]}, "pipeline": [{"take": 5},
                                 {"filter": "class_name = 'a' and not text = ''"}]})")),
            "");
  EXPECT_EQ(
      ErrorOf(SourceOf(R"({"text": {"files": ["x"]}, "pipeline": [{"window": {"size": 2}}]})")),
      "train.pipeline[0].window: is for rows of numbers, which text does not have");
  EXPECT_EQ(
      ErrorOf(
          SourceOf(R"({"csv": {"files": ["x"]}, "skipDamaged": 3, "pipeline": [{"take": 5}]})")),
      R"(train.pipeline[0].take: conflicts with "skip_damaged", which changes the numbers of the )"
      "rows; keep one of them");
}

std::string Moved(const std::string& source) {
  proto::DataSource moved = SourceOf(source);
  const absl::Status status = MoveStepsToSources("train", &moved);
  if (!status.ok()) return std::string(status.message());
  EXPECT_TRUE(moved.pipeline().empty());
  std::string names;
  for (const proto::DataSource& each : SourcesOf(moved)) {
    for (const auto& step : each.pipeline()) names += NameOf(step) + " ";
    names += "| ";
  }
  return names;
}

TEST(DataPipelineTest, StepsBesideAZipOrAMixtureAreThoseOfItsSources) {
  const auto zip = [](const std::string& steps) {
    return Moved(R"({"zip": [{"source": {"npy": {}, "pipeline": [{"skip": 1}]}, "inputs": "a"},
                             {"source": {"npy": {}}, "inputs": ["b", "c"]},
                             {"source": {"npy": {}}, "outputs": "y"}], "pipeline": [)" +
                 steps + "]}");
  };
  EXPECT_EQ(zip(R"({"take": 5}, {"cast": "int32", "input": "c"}, {"cache": {}})"),
            "skip take cache | take cast cache | take cache | ");
  EXPECT_EQ(zip(R"({"cast": "int32"})"),
            "train.pipeline[0].input: is missing; the inputs of the zip are a, b, c");
  EXPECT_EQ(zip(R"({"cast": "int32", "input": "y"})"),
            R"(train.pipeline[0].input: "y" is not one of a, b, c)");
  EXPECT_EQ(zip(R"({"take": 0})"),
            "train.pipeline[0].take: 0 leaves no example; it is a whole number of 1 or more");
  EXPECT_EQ(
      zip(R"({"window": {"size": 2}})"),
      R"(train.pipeline[0].window: stands beside "zip"; set it in the pipeline of each source)");
  EXPECT_EQ(zip(R"({"filter": "label = 1"})"),
            R"(train.pipeline[0].filter: stands beside "zip", and compares columns of one source, )"
            "of which the others know nothing; use a single source with all columns");
  const auto mix = [](const std::string& steps) {
    return Moved(R"({"mix": [{"source": {"npy": {}}}, {"source": {"npy": {}}}], "pipeline": [)" +
                 steps + "]}");
  };
  EXPECT_EQ(mix(R"({"cast": "int32"}, {"cache": {}})"), "cast cache | cast cache | ");
  EXPECT_EQ(
      mix(R"({"skip": 1})"),
      R"(train.pipeline[0].skip: stands beside "mix", whose passes go on where the one before )"
      "has ended; choose the examples of each source in its own pipeline");
  EXPECT_EQ(Moved(R"({"npy": {}})"), "| ");
}

TEST(DataPipelineTest, OnlyTheFormOfExamplesIsInheritedAndKeptForOtherFiles) {
  const std::string steps =
      R"({"filter": "label = 1"}, {"take": 9}, {"window": {"size": 3}}, {"skip": 1},
         {"shard": {"num_shards": 2, "index": 1}})";
  proto::Job job;
  *job.mutable_train() = NpyOf(steps);
  *job.mutable_validation() = NpyOf("");
  const proto::DataSource validation = ValidationSource(job);
  ASSERT_EQ(validation.pipeline_size(), 1);
  EXPECT_EQ(validation.pipeline(0).window().size(), 3);
  *job.mutable_validation() = NpyOf(R"({"take": 4})");
  EXPECT_EQ(ValidationSource(job).pipeline_size(), 1);
  EXPECT_EQ(ValidationSource(job).pipeline(0).take(), 4);
  proto::DataSource replaced = job.train();
  ReplaceFiles({"other.npy"}, &replaced);
  ASSERT_EQ(replaced.pipeline_size(), 1);
  EXPECT_TRUE(replaced.pipeline(0).has_window());
}

TEST(DataPipelineTest, StepsOfValuesAreInheritedUnlessValidationHasSome) {
  proto::Job job;
  *job.mutable_train() = NpyOf(R"({"take": 9}, {"pad": {"length": 3}}, {"cache": {}},
                                  {"normalize": {"mean": [1000], "deviation": [2]}})");
  const auto steps_of = [&job](const std::string& steps) {
    *job.mutable_validation() = NpyOf(steps);
    const proto::DataSource validation = ValidationSource(job);
    std::string names;
    for (const auto& step : validation.pipeline()) names += NameOf(step) + " ";
    return names;
  };
  EXPECT_EQ(steps_of(""), "pad cache normalize ");
  EXPECT_EQ(steps_of(R"({"skip": 1}, {"take": 8})"), "skip take pad normalize ");
  EXPECT_EQ(ValidationSource(job).pipeline(3).normalize().mean(0), 1000);
  EXPECT_EQ(steps_of(R"({"take": 8}, {"cast": "float32"})"), "take cast ");
}

TEST(DataPipelineTest, WindowsHaveTheDefaultsOfTensorFlowAndTheLabelOfTheLastRow) {
  EXPECT_FALSE(WindowOf(NpyOf(R"({"take": 4})")));
  const Window window = *WindowOf(NpyOf(R"({"window": {"size": 3, "stride": 2}})"));
  EXPECT_EQ(window.size, 3);
  EXPECT_EQ(window.shift, 3);
  EXPECT_EQ(window.stride, 2);
  EXPECT_EQ(window.label_offset, 4);
  EXPECT_EQ(WindowOf(NpyOf(R"({"window": {"size": 3, "labelOffset": 0}})"))->label_offset, 0);
}

TEST(DataPipelineTest, WindowsAreTheFirstAxisOfTheModelsInputs) {
  const auto model = nn::testing::ModelOf({{"in", "InputLayer", R"({"batch_shape": [null, 3, 2]})"},
                                           {"flat", "Flatten", "{}"},
                                           {"out", "Dense", R"({"units": 1})"}});
  const proto::DataSource fitting = NpyOf(R"({"window": {"size": 3}})");
  EXPECT_TRUE(CheckPipelineFitsModel("train", fitting, *model).ok());
  EXPECT_EQ(CheckPipelineFitsModel("train", NpyOf(R"({"window": {"size": 4}})"), *model).message(),
            "train.pipeline: has windows of 4 rows; the model's input 'in' takes (3, 2), whose "
            "first axis "
            "is not the rows of a window");
}

TEST(DataPipelineTest, FiltersNeedAllRowsThatAreCountedBeforeThem) {
  EXPECT_FALSE(FiltersNeedAllRows(NpyOf(R"({"take": 4})")));
  EXPECT_FALSE(
      FiltersNeedAllRows(NpyOf(R"({"filter": "a > 1"}, {"filter": "a > 2"}, {"take": 4})")));
  for (const char* const step :
       {R"({"take": 4})", R"({"skip": 4})", R"({"shard": {"numShards": 4, "index": 3}})"}) {
    EXPECT_TRUE(FiltersNeedAllRows(
        NpyOf(std::string(R"({"filter": "a > 1"}, )") + step + R"(, {"filter": "a > 1"})")));
  }
  const std::string filter = R"(, "pipeline": [{"filter": "label = 1"}]})";
  EXPECT_TRUE(FiltersNeedAllRows(SourceOf(R"({"csv": {"files": ["x"]}, "rows": [0, 5])" + filter)));
  EXPECT_TRUE(
      FiltersNeedAllRows(SourceOf(R"({"csv": {"files": ["x"]}, "sampleWeight": ["w"])" + filter)));
  EXPECT_FALSE(FiltersNeedAllRows(SourceOf(R"({"parquet": {"filter": "a > 1"}, "rows": [0, 5]})")));
}

TEST(DataPipelineTest, AllFiltersOfASourceAreOne) {
  EXPECT_FALSE(*FilterOf(NpyOf(R"({"take": 4})")));
  EXPECT_EQ((*FilterOf(NpyOf(R"({"filter": "a > 1"})")))->column, "a");
  const auto both = FilterOf(
      SourceOf(R"({"parquet": {"filter": "a > 1"}, "pipeline": [{"filter": "b is null"}]})"));
  ASSERT_TRUE(both.ok() && *both);
  EXPECT_EQ((*both)->kind, RowFilter::Kind::kAnd);
  ASSERT_EQ((*both)->terms.size(), 2u);
  EXPECT_EQ((*both)->terms[0].column, "a");
  EXPECT_EQ((*both)->terms[1].column, "b");
}

}  // namespace
}  // namespace cairn::job
