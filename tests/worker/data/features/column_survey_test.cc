#include "worker/data/features/column_survey.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "job/data_findings.h"

namespace cairn::worker {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// A source of a feature of names and one of texts.
proto::DataSource Source() {
  proto::DataSource source;
  proto::TfrecordSource& tfrecord = *source.mutable_tfrecord();
  tfrecord.add_features()->set_name("name");
  tfrecord.mutable_features(0)->set_categorical(true);
  tfrecord.add_features()->set_name("text");
  tfrecord.mutable_features(1)->mutable_text_vectorization();
  return source;
}

TEST(ColumnSurveyTest, FilesAddNamesAndTokens) {
  const proto::DataSource source = Source();
  const ColumnSurveys surveys(source.tfrecord().features(), {}, source);
  ASSERT_EQ(surveys.columns().size(), 2u);
  EXPECT_TRUE(surveys.want_tokens());
  const auto found = surveys.Search({"a", "b"}, [&](size_t i) {
    TokenCounts tokens(surveys.columns()[1]->column().text_vectorization());
    tokens.AddText(i == 0 ? "one two" : "two");
    EXPECT_TRUE(surveys.columns()[0]->AddName(i == 0 ? "b" : "a").ok());
    EXPECT_TRUE(surveys.columns()[0]->AddName("b").ok());
    return surveys.columns()[1]->AddTokens(tokens);
  });
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_THAT(found->columns(0).names(), ElementsAre("a", "b"));
  int64_t count = 0;
  for (const auto& token : found->columns(1).tokens()) count += token.count();
  EXPECT_EQ(count, 3);
  const auto failed = surveys.Search({"a", "b"}, [](size_t i) {
    return i == 0 ? absl::OkStatus() : absl::DataLossError("b is damaged");
  });
  EXPECT_EQ(failed.status().message(), "b is damaged");
}

TEST(ColumnSurveyTest, TooManyNamesAreRefused) {
  const proto::DataSource source = Source();
  const ColumnSurveys surveys(source.tfrecord().features(), {}, source);
  EXPECT_THAT(surveys.columns()[0]->AddName(std::string(job::kVocabularyBytesMax, 'x')).message(),
              HasSubstr("feature \"name\" has 1 names or more"));
}

TEST(ColumnSurveyTest, TrainingRowsAreNumberedOverAllFiles) {
  const auto count = [](const std::string& file) -> absl::StatusOr<std::vector<int32_t>> {
    return std::vector<int32_t>(file.begin(), file.end());
  };
  int64_t all = 0;
  std::vector<int32_t> seen;
  const auto choose = [&](int64_t rows,
                          const std::vector<int32_t>& passed) -> absl::StatusOr<IsTrainingRow> {
    all = rows;
    seen = passed;
    return [](int64_t row) { return row < 2; };
  };
  const auto rows = TrainingRowsOf({"aaa", "", "bb"}, choose, /*has_passed=*/false, count);
  ASSERT_TRUE(rows.ok());
  EXPECT_EQ(all, 5);
  EXPECT_TRUE(seen.empty());
  EXPECT_THAT(rows->first, ElementsAre(0, 3, 3));
  EXPECT_FALSE(rows->is_training(2));
  EXPECT_TRUE(TrainingRowsOf({"a"}, nullptr, false, count)->is_training(7));
  ASSERT_TRUE(TrainingRowsOf({"ab", "c"}, choose, /*has_passed=*/true, count).ok());
  EXPECT_THAT(seen, ElementsAre('a', 'b', 'c'));
}

}  // namespace
}  // namespace cairn::worker
