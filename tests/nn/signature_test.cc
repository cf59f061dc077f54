#include "nn/signature.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/nn/test_model.h"

namespace cairn::nn {
namespace {

using testing::ModelOf;

TEST(SignatureTest, APartHasItsInputsAndOutputsInItsOrder) {
  const auto model =
      ModelOf({{"number", "InputLayer", R"({"batch_shape": [null, 3]})"},
               {"text", "InputLayer", R"({"batch_shape": [null, 1], "dtype": "string"})"},
               {"lookup", "StringLookup", R"({"vocabulary": ["[UNK]", "a"]})", {"text"}},
               {"left", "Dense", R"({"units": 2})", {"number"}},
               {"sum", "Add", "{}", {"lookup", "left"}}});
  const Signature all = *model;
  ASSERT_EQ(all.inputs().size(), 2u);
  EXPECT_EQ(all.outputs().size(), 1u);
  EXPECT_TRUE(all.takes_text());
  EXPECT_EQ(all.lookup(0), nullptr);
  ASSERT_NE(all.lookup(1), nullptr);

  const Signature swapped = all.Part({1, 0}, {});
  EXPECT_EQ(swapped.inputs()[0].name, "text");
  EXPECT_EQ(swapped.inputs()[1].spec.shape, (Shape{3}));
  EXPECT_EQ(swapped.lookup(0), all.lookup(1));
  EXPECT_EQ(swapped.lookup(1), nullptr);
  EXPECT_TRUE(swapped.outputs().empty());

  const Signature labels = all.Part({}, {0});
  EXPECT_TRUE(labels.inputs().empty());
  EXPECT_FALSE(labels.takes_text());
  EXPECT_EQ(labels.outputs()[0].name, "sum");
  EXPECT_FALSE(all.Part({0}, {0}).takes_text());
}

TEST(SignatureTest, AnOutputOfAPartKnowsItsPlaceInTheModel) {
  proto::ModelSpec spec = testing::SpecOf({{"in", "InputLayer", R"({"batch_shape": [null, 3]})"},
                                           {"a", "Dense", R"({"units": 2})", {"in"}},
                                           {"b", "Dense", R"({"units": 1})", {"in"}}});
  spec.clear_outputs();
  spec.add_outputs("a");
  spec.add_outputs("b");
  const auto model = Model::Create(spec);
  ASSERT_TRUE(model.ok()) << model.status();
  const Signature second = Signature(**model).Part({}, {1});
  EXPECT_EQ(second.outputs()[0].name, "b");
  EXPECT_EQ(second.PlaceInModel(0), 1u);
  EXPECT_EQ(second.Part({}, {0}).PlaceInModel(0), 1u);
}

}  // namespace
}  // namespace cairn::nn
