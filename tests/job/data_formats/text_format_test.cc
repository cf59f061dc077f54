#include "job/data_formats/text_format.h"

#include <google/protobuf/util/json_util.h>

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/nn/test_model.h"

namespace cairn::job {
namespace {

using ::testing::ElementsAre;

proto::DataSource SourceOf(const std::string& json) {
  proto::DataSource source;
  EXPECT_TRUE(
      google::protobuf::util::JsonStringToMessage(R"({"text": )" + json + "}", &source).ok())
      << json;
  return source;
}

TEST(TextFormatTest, EveryMistakeIsNamedWithItsPath) {
  const struct {
    const char* source;
    const char* message;
  } cases[] = {
      {R"({"files": ["a.txt"], "delimiter": ",", "label": "last"})", ""},
      {R"({"directory": ["a"], "classNames": ["neg", "pos"]})", ""},
      {R"({"directory": ["a"], "files": ["b"]})",
       "t.files: conflicts with \"directory\"; keep one of them"},
      {R"({"directory": ["a"], "delimiter": ","})",
       "t.delimiter: is for \"files\"; in a \"directory\" the folder is the label"},
      {R"({"directory": ["a"], "label": "last"})",
       "t.label: is for \"files\"; in a \"directory\" the folder is the label"},
      {R"({"files": ["a"], "delimiter": ""})",
       "t.delimiter: \"\" is not one or more characters of a line, such as a tab"},
      {R"({"files": ["a"], "label": "middle"})", "t.label: \"middle\" is not one of first, last"},
      {R"({"directory": ["a"], "classNames": ["../b"]})",
       "t.class_names: \"../b\" is not the name of a folder"},
      {R"({"files": ["a"], "classNames": ["b", "b"]})",
       "t.class_names: \"b\" appears twice; keep one of them"},
      {R"({"files": ["a"], "textVectorization": {"split": "x"}})",
       "t.text_vectorization.split: \"x\" is not one of whitespace, character, none"},
  };
  for (const auto& one : cases) {
    EXPECT_EQ(TextFormat().check("t", SourceOf(one.source), {}).message(), one.message);
  }
}

TEST(TextFormatTest, FilesOrFoldersAreListed) {
  auto lines = SourceOf(R"({"files": ["a.txt"]})");
  EXPECT_STREQ(TextFormat().lists(&lines).field, "files");
  auto folders = SourceOf(R"({"directory": ["a"]})");
  EXPECT_STREQ(TextFormat().lists(&folders).field, "directory");
  EXPECT_EQ(TextFormat().lists(&folders).features->at(0), "a");
}

TEST(TextFormatTest, ClassesAndTokensThatAreNotGivenAreOpen) {
  // The kinds of the open columns.
  const auto open = [](const std::string& json) {
    std::vector<OpenColumn::Kind> kinds;
    for (const OpenColumn& column : TextFormat().open_columns(SourceOf(json))) {
      kinds.push_back(column.kind);
    }
    return kinds;
  };
  const std::string tokens = R"("textVectorization": {"vocabulary": ["a"]})";
  using enum OpenColumn::Kind;
  EXPECT_THAT(open(R"({"files": ["a"], "classNames": ["b"], )" + tokens + "}"), ElementsAre());
  EXPECT_THAT(open(R"({"files": ["a"], )" + tokens + "}"), ElementsAre(kNames));
  EXPECT_THAT(open(R"({"files": ["a"], "classNames": ["b"]})"), ElementsAre(kTokens));
  EXPECT_THAT(open(R"({"files": ["a"]})"), ElementsAre(kNames, kTokens));
}

TEST(TextFormatTest, AModelHasOneInputAndOneOutput) {
  const auto model = nn::testing::ModelOf(
      {{"in", "InputLayer", R"({"batch_shape": [null, 1], "dtype": "string"})"},
       {"lookup", "StringLookup", R"({"vocabulary": ["a"]})"},
       {"out", "Dense", R"({"units": 3})"}});
  const auto check = [&](const std::string& json) {
    return std::string(TextFormat().check_model("t", SourceOf(json), *model).message());
  };
  EXPECT_EQ(check(R"({"files": ["a"]})"), "");
  EXPECT_EQ(check(R"({"files": ["a"], "textVectorization": {}})"),
            "t.text_vectorization: the model's input \"in\" takes the texts themselves, which its "
            "StringLookup looks up; leave it out");
}

TEST(TextFormatTest, ValidationHasTheFieldsOfTraining) {
  const auto train = SourceOf(
      R"({"files": ["a"], "delimiter": ";", "label": "last", "classNames": ["b"],
          "textVectorization": {"maxTokens": 9}})");
  proto::DataSource validation = SourceOf(R"({"files": ["v"]})");
  TextFormat().inherit(train, &validation);
  EXPECT_EQ(validation.text().delimiter(), ";");
  EXPECT_EQ(validation.text().label(), "last");
  EXPECT_EQ(validation.text().class_names(0), "b");
  EXPECT_EQ(validation.text().text_vectorization().max_tokens(), 9);
  proto::DataSource folders = SourceOf(R"({"directory": ["v"]})");
  TextFormat().inherit(train, &folders);
  EXPECT_FALSE(folders.text().has_delimiter());
}

TEST(TextFormatTest, TextsAreAColumnOfTokensAndOneOfNames) {
  const auto source = SourceOf(R"({"files": ["a"], "classNames": ["b"]})").text();
  EXPECT_TRUE(TextFeatures(source, false)[0].has_text_vectorization());
  EXPECT_FALSE(TextFeatures(source, true)[0].has_text_vectorization());
  EXPECT_EQ(TextLabels(source)[0].vocabulary(0), "b");
}

}  // namespace
}  // namespace cairn::job
