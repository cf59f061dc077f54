#include "worker/data/dataset.h"

#include <google/protobuf/util/json_util.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "job/job_objective.h"
#include "tests/worker/data/data_files.h"
#include "worker/data/source_arrays.h"

namespace cairn::worker {
namespace {

using cairn::testing::Gzip;
using cairn::testing::IdxBytes;
using cairn::testing::NpyBytes;
using cairn::testing::Raw;
using cairn::testing::WriteDataFile;
using ::testing::HasSubstr;

void AddLayer(proto::ModelSpec* spec, const std::string& name, const std::string& class_name,
              const std::string& config, const std::vector<std::string>& inputs) {
  proto::LayerSpec& layer = *spec->add_layers();
  layer.set_name(name);
  layer.set_class_name(class_name);
  ASSERT_TRUE(google::protobuf::util::JsonStringToMessage(config, layer.mutable_config()).ok());
  for (const std::string& input : inputs) layer.add_inputs(input);
  if (inputs.empty()) spec->add_inputs(name);
}

// Inputs: images of 2 x 2 x 1. Output: three classes.
std::unique_ptr<nn::Model> ImageModel() {
  proto::ModelSpec spec;
  AddLayer(&spec, "image", "InputLayer", R"({"batch_shape": [null, 2, 2, 1]})", {});
  AddLayer(&spec, "flat", "Flatten", "{}", {"image"});
  AddLayer(&spec, "classes", "Dense", R"({"units": 3, "activation": "softmax"})", {"flat"});
  spec.add_outputs("classes");
  return *nn::Model::Create(spec);
}

// Inputs: an id and two numbers. Output: one number.
std::unique_ptr<nn::Model> MixedModel() {
  proto::ModelSpec spec;
  AddLayer(&spec, "id", "InputLayer", R"({"batch_shape": [null, 1], "dtype": "int32"})", {});
  AddLayer(&spec, "wide", "InputLayer", R"({"batch_shape": [null, 2]})", {});
  AddLayer(&spec, "table", "Embedding", R"({"input_dim": 5, "output_dim": 2})", {"id"});
  AddLayer(&spec, "deep", "Flatten", "{}", {"table"});
  AddLayer(&spec, "both", "Concatenate", "{}", {"deep", "wide"});
  AddLayer(&spec, "out", "Dense", R"({"units": 1, "activation": "sigmoid"})", {"both"});
  spec.add_outputs("out");
  return *nn::Model::Create(spec);
}

nn::Objective LossOf(const std::string& name) {
  proto::Loss config;
  config.set_name(name);
  return nn::Objective(*nn::CreateLoss(config));
}

proto::DataSource Idx(const std::string& features, const std::string& labels) {
  proto::DataSource source;
  source.mutable_idx()->add_features(WriteDataFile("x.idx", features));
  source.mutable_idx()->add_labels(WriteDataFile("y.idx", labels));
  return source;
}

proto::DataSource Npy(const std::vector<std::string>& features, const std::string& labels) {
  proto::DataSource source;
  for (size_t i = 0; i < features.size(); ++i) {
    const std::string name = std::to_string(i) + ".npy";
    source.mutable_npy()->add_features(WriteDataFile(name, features[i]));
  }
  source.mutable_npy()->add_labels(WriteDataFile("y.npy", labels));
  return source;
}

absl::StatusOr<Dataset> Load(const proto::DataSource& source, const nn::Model& model,
                             const nn::Objective& objective, const proto::DataPlan& plan = {},
                             const DataStorage::Options& options = {}) {
  DataStorage storage(options);
  auto files = ListFiles(source, model);
  if (!files.ok()) return files.status();
  const auto label_specs = LabelSpecs(source, model, objective);
  auto arrays = ReadSource({source, *files, plan, model, label_specs, &storage});
  if (!arrays.ok()) return arrays.status();
  return Dataset::Create(*std::move(arrays), source, plan, model, objective);
}

TEST(DatasetTest, ReadsScaledImagesAndAddsTheAxisOfOne) {
  auto source = Idx(Gzip(IdxBytes(8, {3, 2, 2}, "\1\2\3\4\5\6\7\10\11\12\13\14")),
                    IdxBytes(8, {3}, std::string("\2\0\1", 3)));
  source.set_scale(0.5);
  const auto data = Load(source, *ImageModel(), LossOf("sparse_categorical_crossentropy"));
  ASSERT_TRUE(data.ok()) << data.status();
  EXPECT_EQ(data->examples(), 3);
  EXPECT_EQ(data->input_elements(0), 4);
  std::vector<float> images(8);
  ASSERT_TRUE(data->ReadInput(0, {2, 0}, images.data()).ok());
  EXPECT_EQ(images, (std::vector<float>{4.5, 5, 5.5, 6, 0.5, 1, 1.5, 2}));
  std::vector<int32_t> labels(2);
  ASSERT_TRUE(data->ReadLabels(0, {2, 0}, labels.data()).ok());
  EXPECT_EQ(labels, (std::vector<int32_t>{1, 2}));
}

TEST(DatasetTest, ReadsSeveralInputsAndScalesOnlyFloats) {
  auto source = Npy({NpyBytes("<i8", "(2,)", Raw<int64_t>({4, 1})),
                     NpyBytes("<f8", "(2, 2)", Raw<double>({1, 2, 3, 4}))},
                    NpyBytes("|b1", "(2,)", std::string("\0\1", 2)));
  source.set_scale(10);
  const auto data = Load(source, *MixedModel(), LossOf("binary_crossentropy"));
  ASSERT_TRUE(data.ok()) << data.status();
  std::vector<int32_t> ids(2);
  ASSERT_TRUE(data->ReadInput(0, {0, 1}, ids.data()).ok());
  EXPECT_EQ(ids, (std::vector<int32_t>{4, 1}));
  std::vector<float> wide(2);
  ASSERT_TRUE(data->ReadInput(1, {1}, wide.data()).ok());
  EXPECT_EQ(wide, (std::vector<float>{30, 40}));
  float label = -1;
  ASSERT_TRUE(data->ReadLabels(0, {1}, &label).ok());
  EXPECT_EQ(label, 1);
}

// Input: two numbers. Outputs: three classes, and a number.
struct TwoOutputs {
  TwoOutputs() {
    proto::ModelSpec spec;
    AddLayer(&spec, "x", "InputLayer", R"({"batch_shape": [null, 2]})", {});
    AddLayer(&spec, "kind", "Dense", R"({"units": 3, "activation": "softmax"})", {"x"});
    AddLayer(&spec, "size", "Dense", R"({"units": 1})", {"x"});
    spec.add_outputs("kind");
    spec.add_outputs("size");
    model = *nn::Model::Create(spec);
    proto::Job job;
    job.add_outputs()->mutable_loss()->set_name("sparse_categorical_crossentropy");
    job.add_outputs()->mutable_loss()->set_name("mse");
    objective = *job::CreateObjective(job, *model);
  }

  absl::StatusOr<Dataset> LoadWith(const std::string& kinds, const std::string& sizes) const {
    auto source = Npy({NpyBytes("<f4", "(3, 2)", Raw<float>({1, 2, 3, 4, 5, 6}))}, kinds);
    source.mutable_npy()->add_labels(WriteDataFile("sizes.npy", sizes));
    return Load(source, *model, objective);
  }

  std::unique_ptr<nn::Model> model;
  nn::Objective objective;
};

TEST(DatasetTest, EveryOutputHasLabelsInItsLosssType) {
  const auto data = TwoOutputs().LoadWith(NpyBytes("<i8", "(3,)", Raw<int64_t>({2, 0, 1})),
                                          NpyBytes("<f4", "(3, 1)", Raw<float>({7, 8, 9})));
  ASSERT_TRUE(data.ok()) << data.status();
  ASSERT_EQ(data->outputs(), 2);
  std::vector<int32_t> kinds(2);
  ASSERT_TRUE(data->ReadLabels(0, {2, 0}, kinds.data()).ok());
  EXPECT_EQ(kinds, (std::vector<int32_t>{1, 2}));
  std::vector<float> sizes(2);
  ASSERT_TRUE(data->ReadLabels(1, {2, 0}, sizes.data()).ok());
  EXPECT_EQ(sizes, (std::vector<float>{9, 7}));
}

TEST(DatasetTest, LabelsOfEveryOutputAreChecked) {
  const std::string kinds = NpyBytes("<i8", "(3,)", Raw<int64_t>({2, 0, 1}));
  const std::string sizes = NpyBytes("<f4", "(3,)", Raw<float>({7, 8, 9}));
  const TwoOutputs two;
  EXPECT_THAT(
      std::string(
          two.LoadWith(kinds, NpyBytes("<f4", "(2,)", Raw<float>({7, 8}))).status().message()),
      HasSubstr("sizes.npy: as many labels as of the first output expected: 3 in "));
  EXPECT_THAT(
      std::string(two.LoadWith(kinds, NpyBytes("<f4", "(3, 2)", Raw<float>({1, 2, 3, 4, 5, 6})))
                      .status()
                      .message()),
      HasSubstr("sizes.npy"));
  EXPECT_THAT(
      std::string(
          two.LoadWith(NpyBytes("<i8", "(3,)", Raw<int64_t>({2, 3, 1})), sizes).status().message()),
      HasSubstr("labels from 0 to 2 expected (loss sparse_categorical_crossentropy, model output "
                "'kind' (3,)), found 3"));
}

TEST(DatasetTest, ClassNumbersOfOneOutputBecomeVectors) {
  TwoOutputs two;
  proto::Job job;
  job.add_outputs()->mutable_loss()->set_name("categorical_crossentropy");
  job.add_outputs()->mutable_loss()->set_name("mse");
  two.objective = *job::CreateObjective(job, *two.model);
  auto source = Npy({NpyBytes("<f4", "(2, 2)", Raw<float>({1, 2, 3, 4}))},
                    NpyBytes("|u1", "(2,)", std::string("\2\0", 2)));
  source.mutable_npy()->add_labels(
      WriteDataFile("sizes.npy", NpyBytes("<f4", "(2,)", Raw<float>({7, 8}))));
  source.add_one_hot_outputs("kind");
  const auto data = Load(source, *two.model, two.objective);
  ASSERT_TRUE(data.ok()) << data.status();
  std::vector<float> kinds(6);
  ASSERT_TRUE(data->ReadLabels(0, {0, 1}, kinds.data()).ok());
  EXPECT_EQ(kinds, (std::vector<float>{0, 0, 1, 1, 0, 0}));
  std::vector<float> sizes(2);
  ASSERT_TRUE(data->ReadLabels(1, {0, 1}, sizes.data()).ok());
  EXPECT_EQ(sizes, (std::vector<float>{7, 8}));
}

TEST(DatasetTest, WhatDoesNotFitIsNamedWithTheFileAndBothSides) {
  const std::string images = IdxBytes(8, {2, 2, 2}, "abcdefgh");
  const struct {
    std::string features;
    std::string labels;
    std::vector<const char*> words;
  } cases[] = {
      {images,
       IdxBytes(8, {3}, std::string(3, '\0')),
       {"x.idx", "as many examples as labels expected: 3", "y.idx", "found 2"}},
      {images,
       IdxBytes(8, {2}, std::string("\0\3", 2)),
       {"y.idx, row 1", "labels from 0 to 2 expected", "found 3"}},
      {images, IdxBytes(9, {2}, std::string("\0\xff", 2)), {"y.idx, row 1", "found -1"}},
      {IdxBytes(8, {2, 4}, "abcdefgh"),
       IdxBytes(8, {2}, std::string(2, '\0')),
       {"x.idx", "its examples have the shape (4,)", "the model's input 'image' takes (2, 2, 1)"}},
      {IdxBytes(8, {0, 2, 2}, ""), IdxBytes(8, {0}, ""), {"y.idx", "no examples"}},
      {images,
       IdxBytes(8, {2, 3}, "abcdef"),
       {"y.idx", "labels of shape (3,)", "the model's output (3,), which wants one number"}},
      {images,
       IdxBytes(13, {2}, std::string("\x3f\x00\x00\x00\0\0\0\0", 8)),
       {"y.idx", "whole numbers", "element 0 of float32 (2,) is 0.5"}},
  };
  for (const auto& one : cases) {
    const auto data = Load(Idx(one.features, one.labels), *ImageModel(),
                           LossOf("sparse_categorical_crossentropy"));
    ASSERT_FALSE(data.ok()) << one.words[1];
    for (const char* word : one.words) EXPECT_THAT(data.status().ToString(), HasSubstr(word));
  }
}

TEST(DatasetTest, ASourceWithoutFilesIsRefused) {
  const nn::Objective loss = LossOf("sparse_categorical_crossentropy");
  const auto none = Load(proto::DataSource(), *ImageModel(), loss);
  EXPECT_THAT(none.status().message(), HasSubstr("none of the formats idx, npy, csv"));
}

TEST(DatasetTest, ProbabilitiesOutsideOfOneAreRefused) {
  const auto source = Npy(
      {NpyBytes("<i4", "(1,)", Raw<int32_t>({0})), NpyBytes("<f4", "(1, 2)", Raw<float>({1, 2}))},
      NpyBytes("|u1", "(1,)", "\xff"));
  const auto data = Load(source, *MixedModel(), LossOf("binary_crossentropy"));
  EXPECT_THAT(data.status().message(), HasSubstr("labels from 0 to 1 expected"));
  EXPECT_THAT(data.status().message(), HasSubstr("found 255"));
}

// Each row is an example of two numbers.
std::unique_ptr<nn::Model> PairModel(int outputs) {
  proto::ModelSpec spec;
  AddLayer(&spec, "pair", "InputLayer", R"({"batch_shape": [null, 2]})", {});
  AddLayer(&spec, "out", "Dense", R"({"units": )" + std::to_string(outputs) + "}", {"pair"});
  spec.add_outputs("out");
  return *nn::Model::Create(spec);
}

TEST(DatasetTest, NonFiniteValuesAreRejectedUnlessAllowed) {
  auto source = Npy({NpyBytes("<f4", "(2, 2)", Raw<float>({1, 2, 3, std::nanf("")}))},
                    NpyBytes("<f4", "(2,)", Raw<float>({0, 1})));
  const auto model = PairModel(1);
  const nn::Objective loss = LossOf("mean_squared_error");
  const auto refused = Load(source, *model, loss);
  EXPECT_THAT(std::string(refused.status().message()),
              HasSubstr("0.npy, row 1: element 1 is nan, not a finite float32; set"));
  source.set_allow_nan(true);
  EXPECT_TRUE(Load(source, *model, loss).ok());
}

TEST(DatasetTest, NumbersThatScaleMakesTooLargeAreRefused) {
  auto source = Npy({NpyBytes("<f4", "(1, 2)", Raw<float>({1, 1e10}))},
                    NpyBytes("<f4", "(1,)", Raw<float>({0})));
  source.set_scale(1e30);
  EXPECT_THAT(std::string(Load(source, *PairModel(1), LossOf("mse")).status().message()),
              HasSubstr("element 1 is 1e+10, times 1e+30"));
}

TEST(DatasetTest, ClassNumbersBecomeVectors) {
  auto source = Npy({NpyBytes("<f4", "(2, 2)", Raw<float>({1, 2, 3, 4}))},
                    NpyBytes("|u1", "(2,)", std::string("\2\0", 2)));
  source.set_one_hot(true);
  const auto data = Load(source, *PairModel(3), LossOf("mean_squared_error"));
  ASSERT_TRUE(data.ok()) << data.status();
  EXPECT_EQ(data->label_elements(0), 3);
  std::vector<float> labels(6);
  ASSERT_TRUE(data->ReadLabels(0, {0, 1}, labels.data()).ok());
  EXPECT_EQ(labels, (std::vector<float>{0, 0, 1, 1, 0, 0}));
  EXPECT_THAT(std::string(Load(source, *PairModel(2), LossOf("mse")).status().message()),
              HasSubstr("y.npy, row 0: labels from 0 to 1 expected"));
  EXPECT_THAT(std::string(Load(source, *PairModel(3), LossOf("sparse_categorical_crossentropy"))
                              .status()
                              .message()),
              HasSubstr("leave out \"one_hot\""));
}

// Two examples with these bytes as their weights.
absl::StatusOr<Dataset> WithWeights(const std::string& npy) {
  auto source = Idx(IdxBytes(8, {2, 2, 2}, "abcdefgh"), IdxBytes(8, {2}, std::string("\0\1", 2)));
  source.add_sample_weight(WriteDataFile("w.npy", npy));
  return Load(source, *ImageModel(), LossOf("sparse_categorical_crossentropy"));
}

TEST(DatasetTest, ExamplesHaveTheirWeightsInEveryPart) {
  const auto data = WithWeights(NpyBytes("<f8", "(2, 1)", Raw<double>({0.25, 3})));
  ASSERT_TRUE(data.ok()) << data.status();
  ASSERT_TRUE(data->has_weights());
  std::vector<float> weights(2);
  ASSERT_TRUE(data->ReadWeights({1, 0}, weights.data()).ok());
  EXPECT_EQ(weights, (std::vector<float>{3, 0.25}));
  ASSERT_TRUE(data->Subset(1, 1, std::nullopt).ReadWeights({0}, weights.data()).ok());
  EXPECT_EQ(weights[0], 3);
}

TEST(DatasetTest, InvalidWeightsAreRejected) {
  const struct {
    std::string npy;
    const char* reason;
  } cases[] = {
      {NpyBytes("<f8", "(3,)", Raw<double>({1, 1, 1})), "each example expected: 2, found 3"},
      {NpyBytes("<f8", "(2, 2)", Raw<double>({1, 1, 1, 1})), "found float64 (2, 2)"},
      {NpyBytes("<f8", "(2,)", Raw<double>({1, -1})), "row 1: a sample weight is a finite number"},
      {NpyBytes("<f8", "(2,)", Raw<double>({NAN, 1})), "row 0: a sample weight is a finite number"},
      {NpyBytes("<f8", "(2,)", Raw<double>({1e39, 1})), "0 or more, found 1e+39"}};
  for (const auto& one : cases) {
    const absl::Status status = WithWeights(one.npy).status();
    EXPECT_THAT(status.ToString(), HasSubstr(one.reason));
    EXPECT_THAT(status.ToString(), HasSubstr("w.npy"));
  }
}

TEST(DatasetTest, PartsOfAnOrderAreDisjointAndTogetherAll) {
  std::vector<float> numbers(20);
  for (int i = 0; i < 20; ++i) numbers[i] = static_cast<float>(i / 2);
  const auto source = Npy({NpyBytes("<f4", "(10, 2)", Raw(numbers))},
                          NpyBytes("<f4", "(10,)", Raw(std::vector<float>(10))));
  const auto all = Load(source, *PairModel(1), LossOf("mse"));
  ASSERT_TRUE(all.ok());
  const auto read = [](const Dataset& data, std::vector<float>* seen) {
    for (int64_t i = 0; i < data.examples(); ++i) {
      float pair[2];
      ASSERT_TRUE(data.ReadInput(0, {i}, pair).ok());
      seen->push_back(pair[0]);
    }
  };
  std::vector<float> plain;
  read(all->Subset(7, 3, std::nullopt), &plain);
  EXPECT_EQ(plain, (std::vector<float>{7, 8, 9}));
  std::vector<float> mixed;
  read(all->Subset(0, 7, Permutation(10, 5)), &mixed);
  read(all->Subset(7, 3, Permutation(10, 5)), &mixed);
  EXPECT_NE(mixed, (std::vector<float>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}));
  std::sort(mixed.begin(), mixed.end());
  EXPECT_EQ(mixed, (std::vector<float>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}));
}

TEST(DatasetTest, MeasuresWhatTrainsAndStandardizesAll) {
  auto source = Npy({NpyBytes("<f4", "(3, 2)", Raw<float>({1, 50, 3, 70, 1000, 1000}))},
                    NpyBytes("<f4", "(3,)", Raw<float>({0, 0, 0})));
  source.set_scale(2);
  source.set_standardize(true);
  const auto model = PairModel(1);
  const auto raw = Load(source, *model, LossOf("mse"));
  ASSERT_TRUE(raw.ok());
  const auto measure = [&](Dataset::RowRange rows) {
    return *raw->Measure(
        *model, [](int64_t row) { return row < 2; }, rows);
  };
  const proto::DataPlan::Standardization measured = measure(raw->all_rows())[0].Result();
  // Over 2, 6 and over 100, 140: the third row is for validation.
  EXPECT_THAT(measured.mean(), ::testing::ElementsAre(4, 120));
  EXPECT_THAT(measured.deviation(), ::testing::ElementsAre(2, 20));
  EXPECT_THAT(measure({1, 3})[0].Result().mean(), ::testing::ElementsAre(6, 140));
  EXPECT_THAT(measure({2, 3})[0].Result().mean(), ::testing::ElementsAre(0, 0));
  proto::DataPlan plan;
  *plan.add_inputs() = measured;
  const auto data = Load(source, *model, LossOf("mse"), plan);
  std::vector<float> values(6);
  ASSERT_TRUE(data->ReadInput(0, {0, 1, 2}, values.data()).ok());
  EXPECT_EQ(values, (std::vector<float>{-1, -1, 1, 1, 998, 94}));
}

// Several threads read them.
TEST(DatasetTest, ManyRowsAreMeasuredAndTheFirstBadOneIsNamed) {
  constexpr int kRows = 1000;
  std::vector<float> numbers(2 * kRows);
  for (int i = 0; i < 2 * kRows; ++i) numbers[i] = static_cast<float>(i / 2 + i % 2 * 5000);
  numbers[2 * 300] = -1;
  numbers[2 * 999] = -2;
  const std::string labels = NpyBytes("<f4", "(1000,)", Raw(std::vector<float>(kRows)));
  auto source = Npy({NpyBytes("<f4", "(1000, 2)", Raw(numbers))}, labels);
  source.add_pipeline()->set_cast("uint16");
  const auto model = PairModel(1);
  const auto cast = Load(source, *model, LossOf("mse"));
  ASSERT_TRUE(cast.ok()) << cast.status();
  EXPECT_THAT(std::string(cast->CheckSteps(cast->all_rows()).message()), HasSubstr("row 300: "));
  EXPECT_TRUE(cast->CheckSteps({0, 300}).ok());
  EXPECT_TRUE(cast->CheckSteps({301, 999}).ok());
  EXPECT_THAT(std::string(cast->CheckSteps({301, 1000}).message()), HasSubstr("row 999: "));
  source.clear_pipeline();
  source.set_standardize(true);
  const auto raw = Load(source, *model, LossOf("mse"));
  ASSERT_TRUE(raw.ok()) << raw.status();
  // The numbers from 100 to 899 in the second column, half of them.
  const auto measured = raw->Measure(*model, [](int64_t row) { return row % 2 == 0; }, {100, 900});
  ASSERT_TRUE(measured.ok()) << measured.status();
  const proto::DataPlan::Standardization result = measured->at(0).Result();
  EXPECT_EQ(result.mean(1), 5000 + 499);
  // Of n numbers with distance 2: 2 sqrt((n^2 - 1) / 12).
  EXPECT_NEAR(result.deviation(1), 2 * std::sqrt((400.0 * 400.0 - 1) / 12), 1e-9);
}

// Labels in a file on disk may change while a job runs.
TEST(DatasetTest, AnInvalidClassIsNotWrittenOutsideItsVector) {
  for (const int64_t changed : {int64_t{3}, int64_t{300}, int64_t{-1}, int64_t{1} << 31}) {
    auto source = Npy({NpyBytes("<f4", "(2, 2, 2, 1)", Raw(std::vector<float>(8)))},
                      NpyBytes("<i8", "(2,)", Raw<int64_t>({2, 0})));
    source.set_one_hot(true);
    const auto data =
        Load(source, *ImageModel(), LossOf("categorical_crossentropy"), {}, {.memory_bytes = 0});
    ASSERT_TRUE(data.ok()) << data.status();
    ASSERT_FALSE(data->in_memory());
    WriteDataFile("y.npy", NpyBytes("<i8", "(2,)", Raw<int64_t>({2, changed})));
    // Only the vector in the middle is read; its neighbors must not change.
    std::vector<float> memory(1000, 7.0f);
    const absl::Status status = data->ReadLabels(0, {1}, &memory[500]);
    EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
    EXPECT_THAT(std::string(status.message()), HasSubstr("/y.npy, row 1: its label is none of"));
    for (int i = 0; i < 1000; ++i) {
      const bool is_vector = i >= 500 && i < 503;
      ASSERT_TRUE(is_vector || memory[i] == 7.0f) << changed << " wrote " << i - 500;
    }
  }
}

TEST(DatasetTest, ScaleMustBeANumber) {
  auto source = Idx(IdxBytes(8, {1, 2, 2}, "abcd"), IdxBytes(8, {1}, std::string(1, '\0')));
  source.set_scale(std::numeric_limits<double>::infinity());
  EXPECT_FALSE(Load(source, *ImageModel(), LossOf("sparse_categorical_crossentropy")).ok());
}

}  // namespace
}  // namespace cairn::worker
