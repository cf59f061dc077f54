#include "nn/layers/preparation.h"

#include <memory>
#include <string>
#include <utility>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nn/model.h"
#include "tests/nn/test_model.h"

namespace cairn::nn::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr char kNumbers[] = R"({"batch_shape": [null, 2], "dtype": "int64"})";
constexpr char kText[] = R"({"batch_shape": [null, 1], "dtype": "string"})";

absl::StatusOr<std::unique_ptr<Model>> ModelWith(const std::string& class_name,
                                                 const std::string& config, const char* input) {
  return Model::CreateForExport(
      SpecOf({{"in", "InputLayer", input}, {"layer", class_name, "{" + config + "}", {"in"}}}));
}

TEST(PreparationTest, OnlyExportsHaveTheseLayers) {
  const auto spec =
      SpecOf({{"in", "InputLayer", kNumbers}, {"hash", "Hashing", R"({"num_bins": 3})", {"in"}}});
  EXPECT_THAT(std::string(Model::Create(spec).status().message()),
              HasSubstr("layer 'hash': unknown class 'Hashing'"));
  const auto model = Model::CreateForExport(spec);
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_EQ((*model)->output_shape(), Shape({2}));
  EXPECT_TRUE(TakesInt64(*(*model)->nodes()[1].layer));
  EXPECT_FALSE(TakesInt64(*(*model)->nodes()[0].layer));
}

TEST(PreparationTest, ArgumentsAreThoseOfKeras) {
  auto model =
      ModelWith("IntegerLookup", R"("vocabulary": [7, -3], "num_oov_indices": 0)", kNumbers);
  ASSERT_TRUE(model.ok()) << model.status();
  const auto& lookup = static_cast<const IntegerLookupLayer&>(*(*model)->nodes()[1].layer);
  EXPECT_THAT(lookup.vocabulary(), ElementsAre(7, -3));
  EXPECT_FALSE(lookup.takes_unknown());
  model = ModelWith("Hashing", R"("num_bins": 3, "salt": [1, 2], "mask_value": "a")", kText);
  ASSERT_TRUE(model.ok()) << model.status();
  const auto& hashing = static_cast<const HashingLayer&>(*(*model)->nodes()[1].layer);
  EXPECT_THAT(hashing.salt(), ElementsAre(1, 2));
  EXPECT_EQ(hashing.mask_text(), "a");
  EXPECT_FALSE(hashing.mask_number().has_value());
  // Null stands for none.
  model = ModelWith("TextVectorization",
                    R"("standardize": "lower", "split": null, "output_sequence_length": 4,
                       "vocabulary": ["a"])",
                    kText);
  ASSERT_TRUE(model.ok()) << model.status();
  const auto& text = static_cast<const TextVectorizationLayer&>(*(*model)->nodes()[1].layer);
  EXPECT_TRUE(text.lowers());
  EXPECT_FALSE(text.strips());
  EXPECT_EQ(text.split(), TextVectorizationLayer::Split::kNone);
  EXPECT_EQ(text.length(), 4);
}

TEST(PreparationTest, WrongArgumentsAndInputsAreRefused) {
  const auto refusal = [](const char* class_name, const char* config, const char* input) {
    return std::string(ModelWith(class_name, config, input).status().message());
  };
  EXPECT_THAT(refusal("IntegerLookup", "", kNumbers),
              HasSubstr("'vocabulary' is not a list of whole numbers"));
  EXPECT_THAT(refusal("IntegerLookup", R"("vocabulary": [1])", kText),
              HasSubstr("'in' is text, which only a StringLookup takes"));
  EXPECT_THAT(refusal("Hashing", R"("num_bins": 16777217)", kNumbers), HasSubstr("'num_bins'"));
  EXPECT_THAT(refusal("Hashing", R"("num_bins": 2, "salt": 5)", kNumbers),
              HasSubstr("'salt' is not a list of two numbers"));
  constexpr char kLength[] = R"("output_sequence_length": 2)";
  EXPECT_THAT(refusal("TextVectorization", kLength, kText),
              HasSubstr("'vocabulary' has no tokens"));
  const std::string complete = std::string(kLength) + R"(, "vocabulary": ["a"])";
  EXPECT_THAT(refusal("TextVectorization", complete.c_str(), kNumbers),
              HasSubstr("needs an input of one text"));
}

}  // namespace
}  // namespace cairn::nn::testing
