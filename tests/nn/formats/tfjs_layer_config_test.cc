#include "nn/formats/tfjs_layer_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "nn/formats/struct_json.h"

namespace cairn::nn {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

absl::StatusOr<json> Translate(const std::string& class_name, const std::string& config) {
  const json document = json::parse(config);
  proto::LayerSpec layer;
  layer.set_name("n");
  layer.set_class_name(class_name);
  *layer.mutable_config() = ValueFromJson(JsonNode(&document, "c")).value().struct_value();
  return TfjsLayerConfig(layer);
}

TEST(TfjsLayerConfigTest, AddsTheNameAndKeepsTheRest) {
  EXPECT_EQ(Translate("Dense", R"({"units": 3, "activation": "relu"})").value(),
            json::parse(R"({"name": "n", "units": 3, "activation": "relu"})"));
}

TEST(TfjsLayerConfigTest, WritesInputsAsKeras2Does) {
  EXPECT_EQ(
      Translate("InputLayer", R"({"batch_shape": [null, 3], "dtype": "uint8"})").value(),
      json::parse(
          R"({"name": "n", "batch_input_shape": [null, 3], "dtype": "int32", "sparse": false})"));
}

TEST(TfjsLayerConfigTest, WritesEveryRegularizerAsL1L2) {
  const auto penalty = [](const std::string& regularizer) {
    return Translate("Dense", "{\"kernel_regularizer\": " + regularizer + "}")
        .value()["kernel_regularizer"];
  };
  const auto l1l2 = [](double l1, double l2) {
    return json{{"class_name", "L1L2"}, {"config", {{"l1", l1}, {"l2", l2}}}};
  };
  EXPECT_EQ(penalty(R"({"class_name": "L2", "config": {"l2": 0.5}})"), l1l2(0, 0.5));
  EXPECT_EQ(penalty(R"({"class_name": "L1", "config": {"l1": 0.25}})"), l1l2(0.25, 0));
  EXPECT_EQ(penalty(R"({"class_name": "L1L2", "config": {"l1": 1, "l2": 2}})"), l1l2(1, 2));
  EXPECT_EQ(penalty(R"("l2")"), l1l2(0, 0.01));
  EXPECT_EQ(penalty("5"), json(5));
}

TEST(TfjsLayerConfigTest, UsesTheNamesThatTfjsKnows) {
  EXPECT_EQ(Translate("Dense", R"({"activation": "silu"})").value()["activation"], "swish");
  EXPECT_EQ(Translate("LeakyReLU", R"({"negative_slope": 0.2})").value(),
            json::parse(R"({"name": "n", "alpha": 0.2})"));
  EXPECT_EQ(Translate("Dense", R"({"kernel_initializer": {"class_name": "LecunNormal"}})")
                .value()["kernel_initializer"]["class_name"],
            "LeCunNormal");
}

TEST(TfjsLayerConfigTest, RefusesWhatTfjsWouldIgnore) {
  EXPECT_TRUE(Translate("ReLU", R"({"negative_slope": 0, "threshold": 0})").ok());
  EXPECT_THAT(std::string(Translate("ReLU", R"({"threshold": 1})").status().message()),
              HasSubstr("layer 'n' (ReLU): TF.js has no 'threshold'"));
  EXPECT_FALSE(Translate("ReLU", R"({"negative_slope": 0.1})").ok());
  EXPECT_TRUE(Translate("Conv2D", R"({"groups": 1})").ok());
  EXPECT_TRUE(Translate("Dense", R"({"activation": "log_softmax"})").ok());
  EXPECT_THAT(std::string(Translate("Dense", R"({"activation": "squareplus"})").status().message()),
              HasSubstr("layer 'n' (Dense): TF.js has no 'squareplus'"));
  EXPECT_THAT(std::string(Translate("Activation", R"({"activation": "erf"})").status().message()),
              HasSubstr("layer 'n' (Activation): TF.js has no 'erf'"));
  EXPECT_FALSE(Translate("LSTM", R"({"recurrent_activation": "floor"})").ok());
  EXPECT_THAT(std::string(Translate("Floor", "{}").status().message()),
              HasSubstr("layer 'n' (Floor): TF.js has no 'Floor'"));
  for (const char* unknown : {"Hashing", "IntegerLookup", "TextVectorization"}) {
    EXPECT_FALSE(Translate(unknown, "{}").ok()) << unknown;
  }
  EXPECT_FALSE(Translate("Conv2D", R"({"groups": 2})").ok());
}

TEST(TfjsLayerConfigTest, SaysWhatTfjsHasAnotherDefaultFor) {
  EXPECT_EQ(Translate("LSTM", R"({"units": 3})").value()["recurrent_activation"], "sigmoid");
  const json both =
      Translate("Bidirectional", R"({"layer": {"class_name": "LSTM", "config": {"units": 3}}})")
          .value();
  EXPECT_EQ(both["merge_mode"], "concat");
  EXPECT_EQ(both["layer"]["config"]["recurrent_activation"], "sigmoid");
  EXPECT_EQ(Translate("Dense", R"({"activation": "hard_sigmoid_keras2"})").value()["activation"],
            "hard_sigmoid");
  EXPECT_FALSE(Translate("AveragePooling2D", R"({"gradient_of_tfjs": true})")
                   .value()
                   .contains("gradient_of_tfjs"));
}

TEST(TfjsLayerConfigTest, RefusesWhatTfjsComputesOtherwise) {
  const auto error_of = [](const std::string& class_name, const std::string& config) {
    return std::string(Translate(class_name, config).status().message());
  };
  EXPECT_THAT(error_of("GRU", R"({"units": 3})"), HasSubstr("no 'reset_after'"));
  EXPECT_TRUE(Translate("GRU", R"({"units": 3, "reset_after": false})").ok());
  EXPECT_THAT(error_of("UpSampling2D", R"({"interpolation": "bilinear"})"),
              HasSubstr("half_pixel_centers"));
  EXPECT_THAT(error_of("MultiHeadAttention", "{}"), HasSubstr("no 'MultiHeadAttention'"));
  EXPECT_THAT(error_of("Dense", R"({"activation": "hard_sigmoid"})"), HasSubstr("hard_sigmoid"));
  EXPECT_THAT(error_of("Conv1D", R"({"groups": 2})"), HasSubstr("no 'groups'"));
}

}  // namespace
}  // namespace cairn::nn
