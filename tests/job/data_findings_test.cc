#include "job/data_findings.h"

#include <google/protobuf/util/json_util.h>

#include <algorithm>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace cairn::job {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

template <typename Message>
Message Parse(const std::string& json) {
  Message message;
  EXPECT_TRUE(google::protobuf::util::JsonStringToMessage(json, &message).ok()) << json;
  return message;
}

// Names, a mean and names again.
proto::DataSource CsvSource() {
  return Parse<proto::DataSource>(R"({"csv": {"features": [
      {"name": "city", "categorical": true, "missing": {"name": "none"}},
      {"name": "age", "missing": {"name": "mean"}}, {"name": "size"}],
    "labels": [{"name": "kind", "categorical": true}]}})");
}

proto::DataSource TextSource(const std::string& vectorization) {
  return Parse<proto::DataSource>(R"({"text": {"textVectorization": )" + vectorization + "}}");
}

void AddNumbers(const std::vector<double>& numbers, proto::DataFindings::Column* column) {
  ExactSum sum;
  for (const double number : numbers) sum.Add(number);
  column->set_count(static_cast<int64_t>(numbers.size()));
  *column->mutable_sum() = sum.ToProto();
}

proto::DataFindings Part(const std::vector<std::string>& cities, const std::vector<double>& ages,
                         const std::vector<std::string>& kinds) {
  proto::DataFindings part;
  part.add_columns()->mutable_names()->Assign(cities.begin(), cities.end());
  AddNumbers(ages, part.add_columns());
  part.add_columns()->mutable_names()->Assign(kinds.begin(), kinds.end());
  return part;
}

TEST(DataFindingsTest, PartsInAnyOrderGiveTheSamePlan) {
  std::vector<proto::DataFindings> parts = {Part({"Rom", "Bern"}, {1e100, 1}, {"x"}),
                                            Part({}, {}, {}), Part({"Bern"}, {-1e100}, {"z", "y"})};
  std::string first;
  for (int order = 0; order < 3; ++order) {
    std::rotate(parts.begin(), parts.begin() + 1, parts.end());
    DataFindings findings(CsvSource());
    for (const proto::DataFindings& part : parts) ASSERT_TRUE(findings.Add(part).ok());
    proto::DataPlan plan;
    ASSERT_TRUE(findings.Report(&plan).ok());
    if (order == 0) first = plan.ShortDebugString();
    EXPECT_EQ(plan.ShortDebugString(), first);
    ASSERT_EQ(plan.vocabularies_size(), 2);
    EXPECT_EQ(plan.vocabularies(0).column(), "city");
    EXPECT_THAT(plan.vocabularies(0).names(), ElementsAre("Bern", "Rom", "none"));
    EXPECT_THAT(plan.vocabularies(1).names(), ElementsAre("x", "y", "z"));
    ASSERT_EQ(plan.fills_size(), 1);
    EXPECT_EQ(plan.fills(0).column(), "age");
    EXPECT_DOUBLE_EQ(plan.fills(0).value(), 1 / 3.0) << "without rounding";
  }
}

TEST(DataFindingsTest, TheMostFrequentTokensOfAllPartsComeFirst) {
  const proto::DataSource source = TextSource(R"({"maxTokens": 5})");
  DataFindings findings(source);
  using Tokens = std::vector<std::pair<std::string, int64_t>>;
  const auto add = [&](const std::vector<std::string>& classes, const Tokens& tokens) {
    proto::DataFindings part;
    part.add_columns()->mutable_names()->Assign(classes.begin(), classes.end());
    proto::DataFindings::Column& column = *part.add_columns();
    for (const auto& [token, count] : tokens) {
      column.add_tokens()->set_token(token);
      column.mutable_tokens()->rbegin()->set_count(count);
    }
    EXPECT_TRUE(findings.Add(part).ok());
  };
  add({"10"}, {{"the", 4}, {"cat", 3}, {"a", 1}});
  add({"9", "2"}, {{"the", 1}, {"a", 1}, {"dog", 3}});
  proto::DataPlan plan;
  ASSERT_TRUE(findings.Report(&plan).ok());
  EXPECT_THAT(plan.vocabularies(0).names(), ElementsAre("2", "9", "10"))
      << "numbers in their order";
  EXPECT_THAT(plan.vocabularies(1).names(), ElementsAre("the", "dog", "cat"));
}

TEST(DataFindingsTest, WhatIsNotAboutTheColumnsIsRefusedAndChangesNothing) {
  DataFindings findings(CsvSource());
  const proto::DataFindings good = Part({"Rom"}, {2}, {"x"});
  ASSERT_TRUE(findings.Add(good).ok());
  const auto expect_refused = [&](const proto::DataFindings& part, const std::string& why) {
    EXPECT_THAT(std::string(findings.Add(part).message()), HasSubstr(why));
  };
  expect_refused({}, "findings about 0 columns, not 3");
  proto::DataFindings bad = good;
  bad.add_columns();
  expect_refused(bad, "findings about 4 columns, not 3");
  for (const int64_t count : {int64_t{-1}, std::numeric_limits<int64_t>::max()}) {
    bad = Part({"A"}, {7}, {"B"});
    bad.mutable_columns(1)->set_count(count);
    expect_refused(bad, "impossible counts of column \"age\"");
    bad = Part({"A"}, {7}, {"B"});
    for (int i = 0; i < 2; ++i) bad.mutable_columns(2)->add_tokens()->set_count(count);
    if (count < 0) {
      expect_refused(bad, "impossible counts of column \"kind\"");
    } else {
      EXPECT_TRUE(DataFindings(CsvSource()).Add(bad).ok()) << "the same token twice";
    }
  }
  bad = Part({"A"}, {7}, {"B"});
  bad.mutable_columns(1)->mutable_sum()->set_first(1 << 30);
  EXPECT_FALSE(findings.Add(bad).ok());
  proto::DataPlan plan;
  ASSERT_TRUE(findings.Report(&plan).ok());
  EXPECT_THAT(plan.vocabularies(0).names(), ElementsAre("Rom", "none"));
  EXPECT_EQ(plan.fills(0).value(), 2);
}

TEST(DataFindingsTest, WhatCannotBeDecidedIsAnError) {
  DataFindings findings(CsvSource());
  ASSERT_TRUE(findings.Add(Part({}, {}, {})).ok());
  proto::DataPlan plan;
  EXPECT_THAT(std::string(findings.Report(&plan).message()),
              HasSubstr("column \"age\": has no number in the training data"));
  // Its rows are reported elsewhere.
  proto::DataFindings bad = Part({}, {}, {});
  bad.mutable_columns(1)->set_is_bad(true);
  ASSERT_TRUE(findings.Add(bad).ok());
  plan.Clear();
  EXPECT_TRUE(findings.Report(&plan).ok());

  std::vector<std::string> names;
  for (int i = 0; i < 100'000; ++i) names.push_back("name " + std::to_string(i));
  ASSERT_TRUE(findings.Add(Part(names, {}, {})).ok());
  EXPECT_GT(findings.bytes(), kVocabularyBytesMax);
  EXPECT_THAT(std::string(findings.Report(&plan).message()),
              HasSubstr("column \"city\" has 100001 names or more: the job's vocabularies are "
                        "larger than 1024 KiB; is the column one of numbers"));
}

TEST(DataFindingsTest, RowsAreCountedOnlyIfTheirNumbersDecide) {
  proto::Job job;
  *job.mutable_train() = CsvSource();
  EXPECT_FALSE(SearchesTrainingRows(job)) << "all rows are for training";
  job.set_validation_fraction(0.5);
  EXPECT_TRUE(SearchesTrainingRows(job)) << "of the mean";
  job.mutable_train()->mutable_csv()->mutable_features(1)->clear_missing();
  EXPECT_FALSE(SearchesTrainingRows(job)) << "names are those of all rows";
  *job.mutable_train() = TextSource("{}");
  EXPECT_TRUE(SearchesTrainingRows(job));
  job.mutable_train()->set_skip_damaged(1);
  EXPECT_FALSE(SearchesTrainingRows(job)) << "the numbers of sound texts are not known";
  *job.mutable_train() = TextSource(R"({"vocabulary": ["a"]})");
  EXPECT_FALSE(SearchesTrainingRows(job));
}

}  // namespace
}  // namespace cairn::job
