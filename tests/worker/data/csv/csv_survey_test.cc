#include "worker/data/csv/csv_survey.h"

#include <google/protobuf/util/json_util.h>

#include "common/status_macros.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "job/data_findings.h"
#include "tests/worker/data/data_files.h"

namespace cairn::worker {
namespace {

using cairn::testing::WriteDataFile;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

proto::CsvSource SourceOf(const std::string& json) {
  proto::CsvSource source;
  EXPECT_TRUE(google::protobuf::util::JsonStringToMessage(json, &source).ok()) << json;
  return source;
}

bool All(int64_t) { return true; }

// What the plan gets of it.
absl::StatusOr<proto::DataPlan> PlanOf(const std::vector<std::string>& files,
                                       const proto::CsvSource& source,
                                       const std::function<bool(int64_t)>& is_training = All) {
  CAIRN_ASSIGN_OR_RETURN(const proto::DataFindings found,
                         SurveyCsvColumns(files, source, is_training));
  proto::DataSource train;
  *train.mutable_csv() = source;
  job::DataFindings findings(train);
  CAIRN_RETURN_IF_ERROR(findings.Add(found));
  proto::DataPlan plan;
  CAIRN_RETURN_IF_ERROR(findings.Report(&plan));
  return plan;
}

TEST(CsvSurveyTest, VocabulariesAndMeansComeFromAllFiles) {
  const std::vector<std::string> files = {
      WriteDataFile("1.csv", "city,age,kind\nRom,10,x\nBern,,y\n"),
      WriteDataFile("2.csv", "age,kind,city\n20,x,\n?,z,Rom\n")};
  const proto::CsvSource source = SourceOf(R"({
    "features": [{"name": "city", "categorical": true, "missing": {"name": "none"}},
                 {"name": "age", "missing": {"name": "mean"}}],
    "labels": [{"name": "kind", "categorical": true}], "missing": ["?"]})");
  const proto::DataPlan plan = *PlanOf(files, source);
  ASSERT_EQ(plan.vocabularies_size(), 2);
  EXPECT_EQ(plan.vocabularies(0).column(), "city");
  EXPECT_THAT(plan.vocabularies(0).names(), ElementsAre("Bern", "Rom", "none"));
  EXPECT_THAT(plan.vocabularies(1).names(), ElementsAre("x", "y", "z"));
  ASSERT_EQ(plan.fills_size(), 1);
  EXPECT_EQ(plan.fills(0).column(), "age");
  EXPECT_EQ(plan.fills(0).value(), 15);
  EXPECT_EQ(CountCsvRows(files, source)->rows, 4);
}

TEST(CsvSurveyTest, MeansAreOfTrainingRowsAndVocabulariesOfAll) {
  const std::vector<std::string> files = {WriteDataFile("1.csv", "a,b\n1,p\n2,q\n"),
                                          WriteDataFile("2.csv", "a,b\n60,r\n")};
  const proto::DataPlan plan = *PlanOf(files, SourceOf(R"({
    "features": [{"name": "a", "missing": {"name": "mean"}}],
    "labels": [{"name": "b", "categorical": true}]})"),
                                       [](int64_t row) { return row < 2; });
  EXPECT_EQ(plan.fills(0).value(), 1.5);
  EXPECT_THAT(plan.vocabularies(0).names(), ElementsAre("p", "q", "r"));
}

TEST(CsvSurveyTest, WhatCannotBeFoundIsSaid) {
  std::string ids = "id\n";
  for (int i = 0; i < 200000; ++i) ids += std::to_string(i) + "\n";
  const absl::Status many = PlanOf({WriteDataFile("ids.csv", ids)},
                                   SourceOf(R"({"labels": [{"name": "id", "categorical": true}]})"))
                                .status();
  EXPECT_THAT(std::string(many.message()), HasSubstr("column \"id\""));
  EXPECT_THAT(std::string(many.message()), HasSubstr("larger than 1024 KiB"));
  const absl::Status none = PlanOf({WriteDataFile("n.csv", "a,y\n,1\n")}, SourceOf(R"({
    "features": [{"name": "a", "missing": {"name": "mean"}}], "labels": [{"name": "y"}]})"))
                                .status();
  EXPECT_THAT(std::string(none.message()), HasSubstr("column \"a\": has no number"));
}

// CsvEncoder, which reads all columns, says it of all at once.
TEST(CsvSurveyTest, WhatIsWrongWithFieldsIsLeftToTheEncoder) {
  const auto plan = PlanOf({WriteDataFile("b.csv", "a,b,y\n\"1,5\",,p\n7,8\n,,q\n")}, SourceOf(R"({
    "features": [{"name": "a", "missing": {"name": "mean"}},
                 {"name": "c", "missing": {"name": "mean"}}],
    "labels": [{"name": "y", "categorical": true}]})"));
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_THAT(plan->vocabularies(0).names(), ElementsAre("p", "q"));
  EXPECT_EQ(plan->fills_size(), 2);
}

TEST(CsvSurveyTest, AllColumnsButTheLabelsAreFeatures) {
  const auto source = WithAllColumns(SourceOf(R"({"labels": [{"name": "b"}]})"), {"a", "b", "c"});
  ASSERT_EQ(source.features_size(), 2);
  EXPECT_EQ(source.features(0).name(), "a");
  EXPECT_EQ(source.features(1).name(), "c");
}

}  // namespace
}  // namespace cairn::worker
