#include "nn/model_union.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "google/protobuf/util/message_differencer.h"

namespace cairn::nn {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

proto::ModelSpec Dense(const std::string& layer) {
  proto::ModelSpec spec;
  spec.set_name("of_" + layer);
  spec.set_sequential(true);
  proto::LayerSpec* input = spec.add_layers();
  input->set_name("in");
  input->set_class_name("InputLayer");
  proto::LayerSpec* dense = spec.add_layers();
  dense->set_name(layer);
  dense->set_class_name("Dense");
  dense->add_inputs("in");
  spec.add_inputs("in");
  spec.add_outputs(layer);
  return spec;
}

TEST(ModelUnionTest, PartsAreWhatWasJoined) {
  const proto::ModelSpec all = UnionOf({{"a", Dense("x")}, {"b", Dense("x")}});
  EXPECT_THAT(PartNames(all), ElementsAre("a", "b"));
  EXPECT_THAT(all.inputs(), ElementsAre("a/in", "b/in"));
  EXPECT_THAT(all.outputs(), ElementsAre("a/x", "b/x"));
  const auto part = PartOf(all, "b");
  ASSERT_TRUE(part.ok());
  EXPECT_TRUE(google::protobuf::util::MessageDifferencer::Equals(*part, Dense("x")));
}

TEST(ModelUnionTest, FrozenLayersAreNotTrainable) {
  const proto::ModelSpec all = UnionOf({{"a", Dense("x"), true}});
  EXPECT_FALSE(all.layers(1).config().fields().at("trainable").bool_value());
}

TEST(ModelUnionTest, UnknownPartsAndForeignConnectionsAreErrors) {
  proto::ModelSpec all = UnionOf({{"a", Dense("x")}, {"b", Dense("x")}});
  EXPECT_THAT(std::string(PartOf(all, "c").status().message()), HasSubstr("but a, b"));
  all.mutable_layers(1)->set_inputs(0, "b/in");
  EXPECT_THAT(std::string(PartOf(all, "a").status().message()), HasSubstr("another model"));
}

}  // namespace
}  // namespace cairn::nn
