#include "worker/data/dataset.h"

#include <google/protobuf/util/json_util.h>

#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/worker/data/data_files.h"

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

// Images of 2 x 2 x 1 in, three classes out.
std::unique_ptr<nn::Model> ImageModel() {
  proto::ModelSpec spec;
  AddLayer(&spec, "image", "InputLayer", R"({"batch_shape": [null, 2, 2, 1]})", {});
  AddLayer(&spec, "flat", "Flatten", "{}", {"image"});
  AddLayer(&spec, "classes", "Dense", R"({"units": 3, "activation": "softmax"})", {"flat"});
  spec.add_outputs("classes");
  return *nn::Model::Create(spec);
}

// An id and two numbers in, one number out.
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

std::unique_ptr<nn::Loss> LossOf(const std::string& name) {
  proto::Loss config;
  config.set_name(name);
  return *nn::CreateLoss(config);
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

TEST(DatasetTest, ReadsScaledImagesAndAddsTheAxisOfOne) {
  auto source = Idx(Gzip(IdxBytes(8, {3, 2, 2}, "\1\2\3\4\5\6\7\10\11\12\13\14")),
                    IdxBytes(8, {3}, std::string("\2\0\1", 3)));
  source.set_scale(0.5);
  const auto data =
      Dataset::Load(source, *ImageModel(), *LossOf("sparse_categorical_crossentropy"));
  ASSERT_TRUE(data.ok()) << data.status();
  EXPECT_EQ((*data)->examples(), 3);
  EXPECT_EQ((*data)->input_elements(0), 4);
  std::vector<float> images(8);
  (*data)->ReadInput(0, {2, 0}, images.data());
  EXPECT_EQ(images, (std::vector<float>{4.5, 5, 5.5, 6, 0.5, 1, 1.5, 2}));
  std::vector<int32_t> labels(2);
  (*data)->ReadLabels({2, 0}, labels.data());
  EXPECT_EQ(labels, (std::vector<int32_t>{1, 2}));
}

TEST(DatasetTest, ReadsSeveralInputsAndScalesOnlyFloats) {
  auto source = Npy({NpyBytes("<i8", "(2,)", Raw<int64_t>({4, 1})),
                     NpyBytes("<f8", "(2, 2)", Raw<double>({1, 2, 3, 4}))},
                    NpyBytes("|b1", "(2,)", std::string("\0\1", 2)));
  source.set_scale(10);
  const auto data = Dataset::Load(source, *MixedModel(), *LossOf("binary_crossentropy"));
  ASSERT_TRUE(data.ok()) << data.status();
  std::vector<int32_t> ids(2);
  (*data)->ReadInput(0, {0, 1}, ids.data());
  EXPECT_EQ(ids, (std::vector<int32_t>{4, 1}));
  std::vector<float> wide(2);
  (*data)->ReadInput(1, {1}, wide.data());
  EXPECT_EQ(wide, (std::vector<float>{30, 40}));
  float label = -1;
  (*data)->ReadLabels({1}, &label);
  EXPECT_EQ(label, 1);
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
       {"y.idx", "labels from 0 to 2 expected", "found 0 to 3"}},
      {images, IdxBytes(9, {2}, std::string("\0\xff", 2)), {"y.idx", "found -1 to 0"}},
      {IdxBytes(8, {2, 4}, "abcdefgh"),
       IdxBytes(8, {2}, std::string(2, '\0')),
       {"x.idx", "(2, 2, 1)", "input 'image'", "(4,)"}},
      {IdxBytes(8, {0, 2, 2}, ""), IdxBytes(8, {0}, ""), {"y.idx", "no examples"}},
      {images, IdxBytes(8, {2, 3}, "abcdef"), {"y.idx", "(3,)"}},
      {images,
       IdxBytes(13, {2}, std::string("\x3f\x00\x00\x00\0\0\0\0", 8)),
       {"y.idx", "whole numbers", "element 0 of float32 (2,)"}},
  };
  for (const auto& one : cases) {
    const auto data = Dataset::Load(Idx(one.features, one.labels), *ImageModel(),
                                    *LossOf("sparse_categorical_crossentropy"));
    ASSERT_FALSE(data.ok()) << one.words[1];
    for (const char* word : one.words) EXPECT_THAT(data.status().ToString(), HasSubstr(word));
  }
}

TEST(DatasetTest, ASourceWithoutFilesIsRefused) {
  const auto loss = LossOf("sparse_categorical_crossentropy");
  const auto none = Dataset::Load(proto::DataSource(), *ImageModel(), *loss);
  EXPECT_THAT(none.status().message(), HasSubstr("none of the formats idx, npy"));
  const auto few = Dataset::Load(Npy({}, "x"), *ImageModel(), *loss);
  EXPECT_THAT(few.status().message(), HasSubstr("the model has 1 inputs"));
  EXPECT_THAT(few.status().message(), HasSubstr("lists 0 feature files"));
}

TEST(DatasetTest, ProbabilitiesOutsideOfOneAreRefused) {
  const auto source = Npy(
      {NpyBytes("<i4", "(1,)", Raw<int32_t>({0})), NpyBytes("<f4", "(1, 2)", Raw<float>({1, 2}))},
      NpyBytes("|u1", "(1,)", "\xff"));
  const auto data = Dataset::Load(source, *MixedModel(), *LossOf("binary_crossentropy"));
  EXPECT_THAT(data.status().message(), HasSubstr("labels from 0 to 1 expected"));
  EXPECT_THAT(data.status().message(), HasSubstr("found 255 to 255"));
}

TEST(DatasetTest, ScaleMustBeANumber) {
  auto source = Idx(IdxBytes(8, {1, 2, 2}, "abcd"), IdxBytes(8, {1}, std::string(1, '\0')));
  source.set_scale(std::numeric_limits<double>::infinity());
  EXPECT_FALSE(
      Dataset::Load(source, *ImageModel(), *LossOf("sparse_categorical_crossentropy")).ok());
}

}  // namespace
}  // namespace cairn::worker
