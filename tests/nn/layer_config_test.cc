#include "nn/layer_config.h"

#include <google/protobuf/util/json_util.h>

#include <string>

#include "gtest/gtest.h"

namespace cairn::nn {
namespace {

proto::LayerSpec SpecWith(const std::string& config) {
  proto::LayerSpec spec;
  spec.set_name("l");
  spec.set_class_name("Some");
  EXPECT_TRUE(google::protobuf::util::JsonStringToMessage(config, spec.mutable_config()).ok());
  return spec;
}

TEST(LayerConfigTest, AbsentAndNullMeanTheDefault) {
  const proto::LayerSpec spec = SpecWith(R"({"flag": null, "size": null})");
  LayerConfig config(spec, {});
  EXPECT_TRUE(config.Bool("flag", true));
  EXPECT_EQ(config.Int("size", 7, 0), 7);
  EXPECT_EQ(config.Number("rate", 0.5), 0.5);
  EXPECT_EQ(config.Choice("padding", {"valid", "same"}), "valid");
  EXPECT_FALSE(config.Ints("list", 0).has_value());
  EXPECT_TRUE(config.Finish().ok());
}

TEST(LayerConfigTest, ArgumentsAreReadByType) {
  const proto::LayerSpec spec = SpecWith(
      R"({"flag": true, "size": 3, "rate": 0.25, "padding": "same", "list": [1, 2], "side": 5})");
  LayerConfig config(spec, {});
  EXPECT_TRUE(config.Bool("flag", false));
  EXPECT_EQ(config.Int("size", 7, 0), 3);
  EXPECT_EQ(config.Number("rate", 0.5), 0.25);
  EXPECT_EQ(config.Choice("padding", {"valid", "same"}), "same");
  EXPECT_EQ(*config.Ints("list", 0), std::vector<int64_t>({1, 2}));
  EXPECT_EQ(config.Pair("side", {}), (std::array<int64_t, 2>{5, 5}));
  EXPECT_TRUE(config.Finish().ok());
}

TEST(LayerConfigTest, TheFirstMistakeIsTheOneReported) {
  const proto::LayerSpec spec = SpecWith(R"({"size": "x", "rate": "y"})");
  LayerConfig config(spec, {});
  config.Int("size", 7, 0);
  config.Number("rate", 0.5);
  const std::string message(config.Finish().message());
  EXPECT_NE(message.find("layer 'l' (Some): argument 'size'"), std::string::npos) << message;
  EXPECT_EQ(message.find("rate"), std::string::npos) << message;
}

TEST(LayerConfigTest, AnArgumentThatWasNotReadIsUnknown) {
  const proto::LayerSpec spec = SpecWith(R"({"size": 3, "sise": 3})");
  LayerConfig config(spec, {});
  config.Int("size", 7, 0);
  const std::string message(config.Finish().message());
  EXPECT_NE(message.find("unknown argument 'sise'"), std::string::npos) << message;
  EXPECT_NE(message.find("trainable"), std::string::npos) << message;
}

TEST(LayerConfigTest, AxesAreCountedWithTheBatch) {
  const proto::LayerSpec spec = SpecWith(R"({"last": -1, "first": 1, "listed": [2], "batch": 0})");
  LayerConfig config(spec, {});
  EXPECT_EQ(config.Axis("last", 1, 3), 2);
  EXPECT_EQ(config.Axis("first", -1, 3), 0);
  EXPECT_EQ(config.Axis("listed", -1, 3), 1);
  EXPECT_TRUE(config.Finish().ok() == false);  // No getter has read "batch".
  config.Axis("batch", -1, 3);
  EXPECT_NE(config.Finish().message().find("'batch'"), absl::string_view::npos);
}

TEST(LayerConfigTest, AVariableOfALayerThatIsNotTrainedIsFrozen) {
  const proto::LayerSpec spec =
      SpecWith(R"({"trainable": false, "kernel_initializer": "ones", "kernel_regularizer": "l1"})");
  LayerConfig config(spec, {});
  const LayerVariable variable = config.Variable("kernel", {2, 3}, "zeros");
  EXPECT_TRUE(config.Finish().ok()) << config.Finish();
  EXPECT_EQ(variable.spec.name, "l/kernel");
  EXPECT_EQ(variable.spec.update, VariableSpec::Update::kFrozen);
  EXPECT_EQ(variable.spec.initializer.value, 1);
  EXPECT_EQ(variable.regularizer.l1, 0.01);
}

}  // namespace
}  // namespace cairn::nn
