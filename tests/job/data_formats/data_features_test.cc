#include "job/data_formats/data_features.h"

#include <google/protobuf/util/json_util.h>

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/nn/test_model.h"

namespace cairn::job {
namespace {

using ::testing::ElementsAre;

constexpr FeatureKind kColumn = {.name = "column", .is_column = true};

DataFeatures FeaturesOf(const std::string& json) {
  proto::ParquetSource source;
  EXPECT_TRUE(
      google::protobuf::util::JsonStringToMessage(R"({"features": [)" + json + "]}", &source).ok())
      << json;
  return source.features();
}

std::string Check(const std::string& feature, const FeatureKind& kind = kColumn) {
  return std::string(
      CheckDataFeatures("p", FeaturesOf(feature), FeaturesOf(R"({"name": "y"})"), {}, kind)
          .message());
}

TEST(DataFeaturesTest, ColumnsMayHaveNamesAndTexts) {
  for (const char* const feature :
       {R"({"name": "x", "categorical": true, "unknown": true, "oneHot": true})",
        R"({"name": "x", "vocabulary": ["a", "b"], "defaultName": "b"})",
        R"({"name": "x", "categorical": true, "maxLength": 3})",
        R"({"name": "x", "textVectorization": {}})",
        R"({"name": "x", "defaultName": "", "textVectorization": {"maxTokens": 9,
            "standardize": "none", "split": "character", "outputSequenceLength": 5,
            "vocabulary": ["", "[UNK]", "a"]}})"}) {
    EXPECT_EQ(Check(feature), "");
  }
}

TEST(DataFeaturesTest, EveryMistakeIsNamedWithItsPath) {
  const struct {
    const char* feature;
    const char* message;
  } cases[] = {
      {"{}", "name: is missing; name a column"},
      {R"({"name": "x", "categorical": false, "vocabulary": ["a"]})",
       "vocabulary: is only for categorical columns; leave out \"categorical\": false"},
      {R"({"name": "x", "oneHot": true})",
       "one_hot: has no meaning without \"vocabulary\" or \"categorical\": true"},
      {R"({"name": "x", "defaultName": "a"})",
       "default_name: has no meaning without \"vocabulary\" or \"categorical\": true"},
      {R"({"name": "x", "categorical": true, "default": 1})",
       "default: is a number, and the column has names; set \"default_name\""},
      {R"({"name": "x", "categorical": true, "oneHot": true, "maxLength": 2})",
       "one_hot: conflicts with \"max_length\"; keep one of them"},
      {R"({"name": "x", "vocabulary": ["a"], "defaultName": "b"})",
       "default_name: \"b\" is not in the vocabulary"},
      {R"({"name": "x", "categorical": true, "decode": "image"})",
       "categorical: conflicts with \"decode\"; keep one of them"},
      {R"({"name": "x", "maxLength": 2, "textVectorization": {}})",
       "max_length: conflicts with \"text_vectorization\"; leave it out"},
      {R"({"name": "x", "textVectorization": {"split": "ngrams"}})",
       "text_vectorization.split: \"ngrams\" is not one of whitespace, character, none"},
      {R"({"name": "x", "textVectorization": {"standardize": "upper"}})",
       "text_vectorization.standardize: \"upper\" is not one of lower_and_strip_punctuation, "
       "lower, strip_punctuation, none"},
      {R"({"name": "x", "textVectorization": {"maxTokens": 2}})",
       "text_vectorization.max_tokens: 2 is not from 3 to 268435456; padding and unknown tokens "
       "count too"},
      {R"({"name": "x", "textVectorization": {"outputSequenceLength": 0}})",
       "text_vectorization.output_sequence_length: 0 is not from 1 to 268435456"},
      {R"({"name": "x", "textVectorization": {"vocabulary": ["a", "a"]}})",
       "text_vectorization.vocabulary: \"a\" appears twice; keep one of them"},
      {R"({"name": "x", "textVectorization": {"vocabulary": ["a", ""]}})",
       "text_vectorization.vocabulary: \"\" is not a token"},
      {R"({"name": "x", "textVectorization": {"vocabulary": ["a", "b"], "maxTokens": 3}})",
       "text_vectorization.max_tokens: 3 are fewer than the 2 tokens of \"vocabulary\" with those "
       "of padding and of unknown tokens"},
  };
  for (const auto& one : cases) {
    EXPECT_EQ(Check(one.feature), std::string("p.features[0].") + one.message);
  }
  EXPECT_EQ(Check(R"({"name": "x", "categorical": false, "vocabulary": ["a"]})", {}),
            "p.features[0].vocabulary: is only for categorical features; leave out "
            "\"categorical\": false");
  const auto label = [](const std::string& json) {
    return std::string(
        CheckDataFeatures("p", FeaturesOf(R"({"name": "x"})"), FeaturesOf(json), {}, kColumn)
            .message());
  };
  EXPECT_EQ(label(R"({"name": "y", "textVectorization": {}})"),
            "p.labels[0].text_vectorization: is only for features");
  EXPECT_EQ(label(R"({"name": "y", "categorical": true, "oneHot": true})"),
            "p.labels[0].one_hot: is only for features; for labels set it beside the format");
}

TEST(DataFeaturesTest, AColumnHasOneVocabularyOfTheTrainingData) {
  const auto check = [](const std::string& features,
                        const std::string& label = R"({"name": "y"})") {
    return std::string(
        CheckDataFeatures("p", FeaturesOf(features), FeaturesOf(label), {}, kColumn).message());
  };
  const std::string words = R"({"name": "x", "textVectorization": {}}, )";
  EXPECT_EQ(check(words + R"({"name": "x", "textVectorization": {"split": "character"}})"),
            "p.features[1].text_vectorization.vocabulary: is missing; the vocabulary that the "
            "training data have for column \"x\" is that of features[0]; list this one");
  EXPECT_EQ(check(words + R"({"name": "x", "categorical": true})"),
            "p.features[1].vocabulary: is missing; the vocabulary that the training data have for "
            "column \"x\" is that of features[0]; list this one");
  EXPECT_EQ(check(R"({"name": "y", "categorical": true, "defaultName": "a"})",
                  R"({"name": "y", "categorical": true})"),
            "p.labels[0].vocabulary: is missing; the vocabulary that the training data have for "
            "column \"y\" is that of features[0]; list this one");
  EXPECT_EQ(check(words + R"({"name": "x", "textVectorization": {"outputSequenceLength": 3}})"),
            "");
  EXPECT_EQ(check(words + R"({"name": "x", "categorical": true, "vocabulary": ["a"]})"), "");
  EXPECT_EQ(check(words + R"({"name": "x", "textVectorization": {"split": "character",
                                                              "vocabulary": ["a"]}})"),
            "");
  EXPECT_EQ(check(words + R"({"name": "z", "categorical": true})"), "");
}

TEST(DataFeaturesTest, FeaturesWithoutAVocabularyAreOpen) {
  const auto open = OpenFeatures(
      FeaturesOf(R"({"name": "n"}, {"name": "a", "categorical": true, "defaultName": "?"},
                    {"name": "b", "vocabulary": ["x"]},
                    {"name": "t", "textVectorization": {"maxTokens": 5}})"),
      FeaturesOf(R"({"name": "y", "categorical": true})"), {});
  ASSERT_EQ(open.size(), 3u);
  EXPECT_EQ(open[0].name, "a");
  EXPECT_EQ(open[0].name_of_missing, "?");
  EXPECT_STREQ(open[0].what, "feature");
  EXPECT_EQ(open[1].name, "t");
  EXPECT_EQ(open[1].kind, OpenColumn::Kind::kTokens);
  EXPECT_EQ(open[1].most, 3);
  EXPECT_EQ(open[2].name, "y");
}

TEST(DataFeaturesTest, NamesAreThoseOfTheJobOrOfThePlan) {
  proto::DataPlan plan;
  auto& vocabulary = *plan.add_vocabularies();
  vocabulary.set_column("x");
  vocabulary.add_names("planned");
  const auto names = [&](const std::string& json) {
    return VocabularyOf(FeaturesOf(json)[0], plan);
  };
  EXPECT_THAT(names(R"({"name": "x", "vocabulary": ["a"]})"), ElementsAre("a"));
  EXPECT_THAT(names(R"({"name": "x", "categorical": true})"), ElementsAre("planned"));
  EXPECT_THAT(names(R"({"name": "x", "textVectorization": {}})"), ElementsAre("planned"));
  EXPECT_THAT(names(R"({"name": "x", "textVectorization": {"vocabulary": ["a"]}})"),
              ElementsAre("a"));
  EXPECT_THAT(names(R"({"name": "z", "textVectorization": {"vocabulary": ["", "[UNK]", "a"]}})"),
              ElementsAre("a"));
  EXPECT_TRUE(HasNames(FeaturesOf(R"({"name": "x", "categorical": true})")[0]));
  EXPECT_FALSE(HasNames(FeaturesOf(R"({"name": "x"})")[0]));
}

TEST(DataFeaturesTest, AnInputOfTextTakesPlainColumns) {
  const auto model = nn::testing::ModelOf(
      {{"in", "InputLayer", R"({"batch_shape": [null, 1], "dtype": "string"})"},
       {"lookup", "StringLookup", R"({"vocabulary": ["a"]})"},
       {"out", "Dense", R"({"units": 3})"}});
  const auto check = [&](const std::string& json) {
    return std::string(
        CheckFeaturesFit("p", FeaturesOf(json), FeaturesOf(R"({"name": "y"})"), *model, kColumn)
            .message());
  };
  EXPECT_EQ(check(R"({"name": "x"})"), "");
  EXPECT_EQ(check(R"({"name": "x", "categorical": true})"),
            "p.features[0].categorical: the model's input \"in\" takes the texts themselves, which "
            "its StringLookup looks up; leave it out");
}

}  // namespace
}  // namespace cairn::job
