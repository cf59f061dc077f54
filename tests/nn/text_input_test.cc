#include "nn/text_input.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/nn/test_model.h"

namespace cairn::nn {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::ModelOf;
using testing::SpecOf;
using testing::TestLayer;

const TestLayer kText = {"text", "InputLayer", R"({"batch_shape": [null, 1], "dtype": "string"})"};
const TestLayer kNumber = {"number", "InputLayer", R"({"batch_shape": [null, 1]})"};

TestLayer Lookup(const std::string& name, const std::string& input) {
  return {name, "StringLookup", R"({"vocabulary": ["[UNK]", "a", "b"]})", {input}};
}

TEST(TextInputTest, ATextIsLookedUpByTheLayerBehindIt) {
  const auto model = ModelOf(
      {kNumber, kText, Lookup("lookup", "text"), {"sum", "Add", "{}", {"lookup", "number"}}});
  EXPECT_EQ(LookupOf(*model, 0), nullptr);
  ASSERT_NE(LookupOf(*model, 1), nullptr);
  EXPECT_EQ(LookupOf(*model, 1)->name(), "lookup");
  // The token of other texts is no term.
  EXPECT_THAT(LookupOf(*model, 1)->vocabulary(), ElementsAre("a", "b"));
  EXPECT_EQ(LookupOf(*model, 1)->tokens(), 3);
  EXPECT_TRUE(TakesText(*model));
  EXPECT_FALSE(TakesText(*ModelOf({kNumber, {"out", "Dense", R"({"units": 1})"}})));
}

TEST(TextInputTest, TextEndsAtTheFirstLayer) {
  const auto refusal = [](const std::vector<TestLayer>& layers) {
    return std::string(Model::Create(SpecOf(layers)).status().message());
  };
  EXPECT_THAT(
      refusal({kText, {"table", "Embedding", R"({"input_dim": 3, "output_dim": 1})"}}),
      HasSubstr("layer 'table' (Embedding): 'text' is text, which only a StringLookup takes"));
  EXPECT_THAT(refusal({kNumber, Lookup("lookup", "number")}),
              HasSubstr("layer 'lookup' (StringLookup): 'number' is not an InputLayer of dtype"));
  EXPECT_EQ(refusal({kText, kNumber, {"out", "Dense", R"({"units": 1})", {"number"}}}),
            "layer 'text' (InputLayer): no StringLookup takes its texts");
  EXPECT_THAT(
      refusal({kText, Lookup("a", "text"), Lookup("b", "text"), {"sum", "Add", "{}", {"a", "b"}}}),
      HasSubstr("layer 'b' (StringLookup): 'text' has another StringLookup"));
}

}  // namespace
}  // namespace cairn::nn
