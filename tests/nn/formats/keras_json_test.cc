#include "nn/formats/keras_json.h"

#include <gmock/gmock.h>
#include <google/protobuf/util/message_differencer.h>
#include <gtest/gtest.h>

#include "tests/nn/formats/testdata.h"

namespace cairn::nn {
namespace {

using google::protobuf::util::MessageDifferencer;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<std::string> ClassesOf(const proto::ModelSpec& spec) {
  std::vector<std::string> classes;
  for (const proto::LayerSpec& layer : spec.layers()) classes.push_back(layer.class_name());
  return classes;
}

const proto::LayerSpec& Layer(const proto::ModelSpec& spec, const std::string& name) {
  for (const proto::LayerSpec& layer : spec.layers()) {
    if (layer.name() == name) return layer;
  }
  ADD_FAILURE() << "no layer " << name;
  return spec.layers(0);
}

TEST(KerasJsonTest, ReadsSequentialModelsOfBothKerasVersions) {
  for (const char* file : {"keras2_sequential.json", "keras3_sequential.json"}) {
    const proto::ModelSpec spec = ReadKerasJson(Testdata(file)).value();
    EXPECT_THAT(ClassesOf(spec), ElementsAre("InputLayer", "Conv2D", "BatchNormalization",
                                             "MaxPooling2D", "Flatten", "Dropout", "Dense"));
    const auto& shape = spec.layers(0).config().fields().at("batch_shape").list_value();
    EXPECT_EQ(shape.values(1).number_value(), 28);
    const auto& dense = Layer(spec, "dense").config().fields();
    EXPECT_EQ(dense.at("units").number_value(), 10);
    const auto& penalty = dense.at("kernel_regularizer").struct_value().fields();
    EXPECT_EQ(penalty.at("class_name").string_value(), "L2");
    EXPECT_EQ(penalty.count("module"), 0);
  }
}

TEST(KerasJsonTest, TheSameLayerComesOutAlikeFromBothVersions) {
  const auto two = ReadKerasJson(Testdata("keras2_sequential.json")).value();
  const auto three = ReadKerasJson(Testdata("keras3_sequential.json")).value();
  for (const char* name : {"conv2d", "max_pooling2d", "flatten", "dropout"}) {
    EXPECT_TRUE(MessageDifferencer::Equals(Layer(two, name).config(), Layer(three, name).config()))
        << Layer(two, name).DebugString() << Layer(three, name).DebugString();
  }
}

TEST(KerasJsonTest, ReadsAFunctionalModelOfKeras2) {
  const proto::ModelSpec spec = ReadKerasJson(Testdata("keras2_functional.json")).value();
  EXPECT_THAT(spec.inputs(), ElementsAre("ids", "wide"));
  EXPECT_THAT(spec.outputs(), ElementsAre("dense_1"));
  EXPECT_THAT(Layer(spec, "concatenate").inputs(), ElementsAre("dense", "wide"));
  EXPECT_EQ(Layer(spec, "ids").config().fields().at("dtype").string_value(), "int32");
}

TEST(KerasJsonTest, ReadsAFunctionalModelOfKeras3) {
  const proto::ModelSpec spec = ReadKerasJson(Testdata("keras3_functional.json")).value();
  EXPECT_THAT(spec.inputs(), ElementsAre("x"));
  EXPECT_THAT(spec.outputs(), ElementsAre("dense_1"));
  EXPECT_THAT(Layer(spec, "add").inputs(), ElementsAre("x", "activation"));
  EXPECT_EQ(Layer(spec, "activation").config().fields().at("activation").string_value(), "relu");
}

// Truncates a file at each position and damages it in many ways; each result is a model or an
// error.
TEST(KerasJsonTest, NoPrefixOfAModelIsAModel) {
  const std::string text = Testdata("keras3_functional.json");
  const size_t end = text.find_last_of('}');
  for (size_t length = 0; length <= end; ++length) {
    EXPECT_FALSE(ReadKerasJson(std::string_view(text).substr(0, length)).ok()) << length;
  }
}

TEST(KerasJsonTest, DamagedModelsAreReadOrRefusedButNeverCrash) {
  for (const char* file : {"keras2_functional.json", "keras3_functional.json"}) {
    const std::string text = Testdata(file);
    const std::string replacements = "0\"[ -";
    for (size_t i = 0; i < text.size(); ++i) {
      std::string damaged = text;
      damaged[i] = replacements[i % replacements.size()];
      const auto spec = ReadKerasJson(damaged);
      EXPECT_TRUE(spec.ok() || absl::IsInvalidArgument(spec.status())) << spec.status();
    }
  }
}

TEST(KerasJsonTest, SaysWhatIsWrongWithTextThatIsNoModel) {
  EXPECT_THAT(std::string(ReadKerasJson("{").status().message()), HasSubstr("not JSON"));
  EXPECT_THAT(std::string(ReadKerasJson("[]").status().message()),
              HasSubstr("model: is not an object"));
}

}  // namespace
}  // namespace cairn::nn
