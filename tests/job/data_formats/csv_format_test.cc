#include "job/data_formats/csv_format.h"

#include <google/protobuf/util/json_util.h>

#include <set>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tests/nn/test_model.h"

namespace cairn::job {
namespace {

proto::CsvSource SourceOf(const std::string& json) {
  proto::CsvSource source;
  EXPECT_TRUE(google::protobuf::util::JsonStringToMessage(json, &source).ok()) << json;
  return source;
}

std::string WithFeature(const std::string& column) {
  return R"({"features": [)" + column + R"(], "labels": [{"name": "y"}]})";
}

std::string WithLabels(const std::string& columns) { return R"({"labels": [)" + columns + "]}"; }

TEST(CsvFormatTest, NamesAndMeansThatAreNotGivenAreOpen) {
  // "name kind, ..." of the open columns.
  const auto open = [](const std::string& feature, const std::string& label) {
    proto::DataSource source;
    *source.mutable_csv() =
        SourceOf(R"({"features": [)" + feature + R"(], "labels": [)" + label + "]}");
    std::string text;
    for (const OpenColumn& column : CsvFormat().open_columns(source)) {
      text += column.name + (column.kind == OpenColumn::Kind::kMean ? " mean, " : " names, ");
      if (column.name_of_missing) text += "or " + *column.name_of_missing + ", ";
    }
    return text;
  };
  const std::string number = R"({"name": "n"})";
  EXPECT_EQ(open("", number), "");
  EXPECT_EQ(open(number, R"({"name": "y", "vocabulary": ["a", "b"]})"), "");
  EXPECT_EQ(open(R"({"name": "h", "hash": {"num_bins": 7}})", number), "");
  EXPECT_EQ(open(R"({"name": "m", "missing": {"value": 1}})", number), "");
  EXPECT_EQ(open(number, R"({"name": "y", "categorical": true})"), "y names, ");
  EXPECT_EQ(open(R"({"name": "c", "categorical": true, "missing": {"name": "?"}})", number),
            "c names, or ?, ");
  EXPECT_EQ(open(R"({"name": "m", "missing": {"name": "mean"}})",
                 R"({"name": "y", "categorical": true})"),
            "m mean, y names, ");
}

struct Case {
  std::string source;
  std::string message;
};

TEST(CsvFormatTest, EveryMistakeIsNamedWithItsPath) {
  const std::vector<Case> cases = {
      {R"({"labels": [{"name": "y"}], "delimiter": "::"})",
       R"(csv.delimiter: "::" is not one character, such as ";" or a tab)"},
      {WithFeature(R"({"categorical": true})"), "csv.features[0].name: is missing; name a column"},
      {WithFeature(R"({"name": "y"})"),
       R"(csv.labels[0]: column "y" appears twice; keep one of them)"},
      {WithFeature(R"({"name": "c", "vocabulary": ["a", "b", "a"]})"),
       R"(csv.features[0].vocabulary: "a" appears twice; keep one of them)"},
      {WithFeature(R"({"name": "c", "vocabulary": ["a"], "missing": {"name": "b"}})"),
       R"(csv.features[0].missing: "b" is not in the vocabulary)"},
      {WithFeature(R"({"name": "c", "vocabulary": ["a"], "missing": {"value": 1}})"),
       "csv.features[0].missing.value: a number, but the column holds names; set \"missing\": "
       "\"NAME\""},
      {WithFeature(R"({"name": "c", "vocabulary": ["a"], "categorical": false})"),
       "csv.features[0].vocabulary: is only for categorical columns; leave out \"categorical\": "
       "false"},
      {WithFeature(R"({"name": "c", "unknown": true})"),
       "csv.features[0].unknown: is only for categorical columns"},
      {WithFeature(R"({"name": "c", "one_hot": true})"),
       "csv.features[0].one_hot: is only for categorical columns"},
      {WithFeature(R"({"name": "c", "missing": {}})"),
       "csv.features[0].missing: expected \"mean\" or {\"value\": NUMBER}"},
      {WithFeature(R"({"name": "c", "missing": {"name": "mode"}})"),
       "csv.features[0].missing: \"mode\" is not \"mean\" or {\"value\": NUMBER}"},
      {WithFeature(R"({"name": "c", "missing": {"value": "Infinity"}})"),
       "csv.features[0].missing.value: inf is not a finite number"},
      {WithLabels(R"({"name": "y", "categorical": true, "one_hot": true})"),
       "csv.labels[0].one_hot: is only for features; for labels set it beside \"csv\""},
      {WithLabels(R"({"name": "y", "input": "x"})"), "csv.labels[0].input: is only for features"},
      {WithLabels(R"({"name": "y", "vocabulary": ["No", "Yes"], "unknown": true})"),
       "csv.labels[0].unknown: is only for features: a label outside of the vocabulary is not one "
       "of the model's classes; leave it out and list every label in \"vocabulary\""},
      {WithLabels(R"({"name": "y", "missing": {"name": "mean"}})"),
       "csv.labels[0].missing: the mean of other labels is no label"},
      {WithLabels(R"({"name": "y"}, {"name": "z", "categorical": true})"),
       "csv.labels[1].categorical: an output has one label column of names, here are 2 label "
       "columns"},
  };
  std::set<std::string> messages;
  for (const Case& one : cases) {
    EXPECT_EQ(CheckCsvColumns("csv", SourceOf(one.source)).message(), one.message);
    EXPECT_TRUE(messages.insert(one.message).second);
  }
  EXPECT_TRUE(CheckCsvColumns("csv", SourceOf(WithFeature(R"({"name": "c", "categorical": true,
      "missing": {"name": "none"}, "one_hot": true, "unknown": true})")))
                  .ok());
}

TEST(CsvFormatTest, EveryInputNeedsColumnsAndEveryColumnAnInput) {
  const auto model = nn::testing::ModelOf({{"id", "InputLayer", R"({"batch_shape": [null, 1]})"},
                                           {"wide", "InputLayer", R"({"batch_shape": [null, 2]})"},
                                           {"both", "Concatenate", "{}", {"id", "wide"}},
                                           {"out", "Dense", R"({"units": 1})", {"both"}}});
  const std::vector<Case> cases = {
      {R"({"name": "a"})", "csv.features[0].input: is missing; the model's inputs are id, wide"},
      {R"({"name": "a", "input": "wid"})",
       R"(csv.features[0].input: the model has no input "wid"; it has id, wide)"},
      {R"({"name": "a", "input": "id"})",
       R"(csv.features: no column has "input": "wide", which the model wants)"},
      {R"({"name": "a", "input": "id"}, {"name": "b", "input": "wide"})", ""},
  };
  for (const Case& one : cases) {
    const auto source = SourceOf(WithFeature(one.source));
    EXPECT_EQ(CheckCsvInputs("csv", source, *model).message(), one.message);
  }
}

TEST(CsvFormatTest, EveryOutputNeedsLabelsAndEveryLabelAnOutput) {
  const auto model = nn::testing::ModelOf({{"x", "InputLayer", R"({"batch_shape": [null, 1]})"},
                                           {"kind", "Dense", R"({"units": 3})", {"x"}},
                                           {"size", "Dense", R"({"units": 2})", {"x"}}},
                                          {"kind", "size"});
  const std::vector<Case> cases = {
      {R"({"name": "a"})", "csv.labels[0].output: is missing; the model's outputs are kind, size"},
      {R"({"name": "a", "output": "kid"})",
       R"(csv.labels[0].output: the model has no output "kid"; it has kind, size)"},
      {R"({"name": "a", "output": "kind"})",
       R"(csv.labels: no column has "output": "size", which the model wants)"},
      {R"({"name": "k", "categorical": true, "output": "kind"}, {"name": "w", "output": "size"},
          {"name": "h", "output": "size"})",
       ""},
  };
  for (const Case& one : cases) {
    const auto source = SourceOf(WithLabels(one.source));
    EXPECT_TRUE(CheckCsvColumns("csv", source).ok());
    EXPECT_EQ(CheckCsvOutputs("csv", source, *model).message(), one.message);
  }
  EXPECT_EQ(
      CheckCsvColumns("csv", SourceOf(WithFeature(R"({"name": "c", "output": "kind"})"))).message(),
      "csv.features[0].output: is only for labels");
}

TEST(CsvFormatTest, AColumnOfTextHasItsVocabularyInTheModel) {
  const auto model = nn::testing::ModelOf(
      {{"city", "InputLayer", R"({"batch_shape": [null, 1], "dtype": "string"})"},
       {"lookup", "StringLookup", R"({"vocabulary": ["Rom"]})"},
       {"out", "Dense", R"({"units": 1})"}});
  EXPECT_TRUE(CheckCsvInputs("csv", SourceOf(WithFeature(R"({"name": "c"})")), *model).ok());
  for (const char* field : {"categorical", "unknown", "one_hot"}) {
    const auto source =
        SourceOf(WithFeature(R"({"name": "c", ")" + std::string(field) + "\": true}"));
    EXPECT_EQ(CheckCsvInputs("csv", source, *model).message(),
              "csv.features[0]." + std::string(field) +
                  ": the model's input \"city\" takes the texts themselves, which its StringLookup "
                  "looks up; leave it out");
  }
}

}  // namespace
}  // namespace cairn::job
