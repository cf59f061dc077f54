#include "nn/formats/keras_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "nn/formats/keras_json.h"
#include "nn/formats/zip_archive.h"
#include "tests/nn/formats/testdata.h"

namespace cairn::nn {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// A model that Keras 3.15 wrote, with a Sequential in it; the archive is compressed.
ImportedModel Small() { return ReadKerasFile(Testdata("keras3_model.keras"), {}).value(); }

const NamedTensor& Weight(const ImportedModel& model, const std::string& name) {
  for (const NamedTensor& weight : model.weights) {
    if (weight.name == name) return weight;
  }
  ADD_FAILURE() << name;
  return model.weights[0];
}

TEST(KerasFileTest, ReadsWhatKerasWrote) {
  const ImportedModel model = Small();
  EXPECT_EQ(model.weights.size(), 16);
  // The third of its Dense layers is not in the nested model.
  EXPECT_THAT(Weight(model, "dense_9/bias").values, ElementsAre(0.625, 1));
  EXPECT_THAT(Weight(model, "dense/bias").values, ElementsAre(0.5, 0.625));
  EXPECT_EQ(Weight(model, "top/kernel").values[0], 0.375);
  EXPECT_EQ(Weight(model, "both/backward_backward_gru/bias").values[1], 0.75);
}

// Of the architecture only what Keras 3 ignores is lost, so that a second copy is the same.
TEST(KerasFileTest, WhatIsWrittenReadsAsTheSame) {
  const ImportedModel model = Small();
  const auto files = WriteKerasFile(model.spec, model.weights);
  ASSERT_TRUE(files.ok()) << files.status();
  const auto read = ReadKerasFile(files->at(0), {});
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->spec.layers_size(), model.spec.layers_size());
  EXPECT_EQ(WriteKerasFile(read->spec, read->weights)->at(0), files->at(0));
  ASSERT_EQ(read->weights.size(), model.weights.size());
  for (size_t i = 0; i < read->weights.size(); ++i) {
    EXPECT_EQ(read->weights[i].name, model.weights[i].name);
    EXPECT_EQ(read->weights[i].values, model.weights[i].values);
  }
}

TEST(KerasFileTest, StatisticsBecomeArguments) {
  const auto spec =
      ReadKerasJson(R"({"class_name": "Sequential", "config": {"name": "m", "layers": [
      {"class_name": "InputLayer", "config": {"name": "i", "batch_shape": [null, 2]}},
      {"class_name": "Normalization", "config": {"name": "n"}}]}})");
  ASSERT_TRUE(spec.ok()) << spec.status();
  const auto files = WriteKerasFile(*spec, {{"n/mean", {2}, {1, 2}}, {"n/variance", {2}, {3, 4}}});
  ASSERT_TRUE(files.ok()) << files.status();
  const auto read = ReadKerasFile(files->at(0), {});
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_TRUE(read->weights.empty());
  EXPECT_EQ(
      read->spec.layers(1).config().fields().at("variance").list_value().values(1).number_value(),
      4);
}

std::string Refusal(const std::vector<ZipMember>& members) {
  return std::string(ReadKerasFile(*WriteZip(members), {}).status().message());
}

TEST(KerasFileTest, RefusesByName) {
  const std::string file = Testdata("keras3_model.keras");
  const std::string config = *ReadZipMember(file, "config.json");
  EXPECT_EQ(Refusal({{"a", "b"}}), "the zip file has no config.json, as a .keras file has");
  EXPECT_THAT(Refusal({{"config.json", "{"}}), HasSubstr("config.json: not JSON"));
  EXPECT_THAT(Refusal({{"config.json", config}}),
              HasSubstr("the zip file has no model.weights.h5; sharded weights"));
  EXPECT_THAT(Refusal({{"config.json", config}, {"model.weights.h5", "\x89HDF\r\n"}}),
              HasSubstr("model.weights.h5: "));
  // The weights of another model.
  const auto spec =
      ReadKerasJson(R"({"class_name": "Sequential", "config": {"name": "m", "layers": [
      {"class_name": "InputLayer", "config": {"name": "i", "batch_shape": [null, 2]}},
      {"class_name": "Dense", "config": {"name": "d", "units": 1}}]}})");
  const std::string other =
      WriteKerasFile(*spec, {{"d/kernel", {2, 1}, {1, 2}}, {"d/bias", {1}, {3}}})->at(0);
  EXPECT_THAT(Refusal({{"config.json", config},
                       {"model.weights.h5", *ReadZipMember(other, "model.weights.h5")}}),
              HasSubstr("model.weights.h5: there is no layers/bidirectional/forward_layer/cell/"));
  EXPECT_EQ(WriteKerasFile(*spec, {}).status().message(), "there are 0 weights for 2 variables");
}

}  // namespace
}  // namespace cairn::nn
