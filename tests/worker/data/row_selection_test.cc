#include "worker/data/row_selection.h"

#include <algorithm>
#include <numeric>
#include <random>
#include <set>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace cairn::worker {
namespace {

using ::testing::ElementsAre;

// The rows of each example, and the row of its label, as lists.
struct Example {
  std::vector<int64_t> rows;
  int64_t label = 0;

  bool operator==(const Example& other) const { return rows == other.rows && label == other.label; }
};

std::vector<Example> ExamplesOf(const RowSelection& selection) {
  std::vector<Example> examples(selection.examples());
  const RowSelection labels = selection.Labels();
  for (int64_t i = 0; i < selection.examples(); ++i) {
    for (int64_t place = 0; place < selection.size(); ++place) {
      examples[i].rows.push_back(selection.RowOf(i, place));
    }
    examples[i].label = labels.RowOf(i);
  }
  return examples;
}

// A step as the documentation of tf.data defines it, on lists.
std::vector<Example> Apply(const proto::PipelineStep& step, const std::vector<Example>& all) {
  std::vector<Example> result;
  const auto count = static_cast<int64_t>(all.size());
  for (int64_t i = 0; i < count; ++i) {
    if (step.has_take() && i < step.take()) result.push_back(all[i]);
    if (step.has_skip() && i >= step.skip()) result.push_back(all[i]);
    if (step.has_shard() && i % step.shard().num_shards() == step.shard().index()) {
      result.push_back(all[i]);
    }
    if (!step.has_window() || i % step.window().shift() != 0) continue;
    Example window;
    for (int64_t j = 0; j < step.window().size(); ++j) {
      const int64_t at = i + j * step.window().stride();
      if (at < count) window.rows.push_back(all[at].rows[0]);
    }
    const int64_t label = i + step.window().label_offset();
    if (static_cast<int64_t>(window.rows.size()) < step.window().size() || label >= count) continue;
    window.label = all[label].rows[0];
    result.push_back(window);
  }
  return result;
}

// Rows() has all rows of the examples, and not more than they have together or than there are.
void ExpectRowsToCheck(const RowSelection& selection, const std::vector<Example>& examples,
                       const std::vector<int64_t>& all) {
  std::set<int64_t> used;
  for (const Example& each : examples) used.insert(each.rows.begin(), each.rows.end());
  const RowSelection single = selection.Rows();
  std::vector<int64_t> rows;
  for (int64_t i = 0; i < single.examples(); ++i) {
    for (int64_t place = 0; place < single.size(); ++place) rows.push_back(single.RowOf(i, place));
  }
  std::sort(rows.begin(), rows.end());
  EXPECT_TRUE(std::includes(rows.begin(), rows.end(), used.begin(), used.end()));
  EXPECT_LE(rows.size(), examples.size() * selection.size());
  EXPECT_LE(rows.size(), all.size());
}

// The examples for whose row filter number `filter` is true: about two thirds, by chance. Counts it
// for the rows for which all filters before it are true.
std::vector<Example> Filter(int filter, uint64_t seed, const std::vector<Example>& all,
                            std::vector<int32_t>* passed) {
  std::mt19937 random(seed);
  std::vector<bool> is_true(passed->size());
  for (size_t row = 0; row < is_true.size(); ++row) {
    is_true[row] = random() % 3 > 0;
    if (is_true[row] && (*passed)[row] == filter) ++(*passed)[row];
  }
  std::vector<Example> kept;
  for (const Example& each : all) {
    if (is_true[each.rows[0]]) kept.push_back(each);
  }
  return kept;
}

TEST(RowSelectionTest, RandomPipelinesAreThoseOfLists) {
  std::mt19937 random(7);
  const auto below = [&random](int64_t end) {
    return std::uniform_int_distribution<int64_t>(0, end - 1)(random);
  };
  int empty = 0;
  for (int round = 0; round < 3000; ++round) {
    std::vector<int64_t> rows(1 + below(60));
    std::iota(rows.begin(), rows.end(), 0);
    // Of each row: the filters that are true before the first one that is not.
    std::vector<int32_t> passed(rows.size(), 0);
    int filters = 0;
    std::vector<Example> expected;
    for (const int64_t row : rows) expected.push_back({{row}, row});
    proto::DataSource source;
    bool has_window = false;
    for (int64_t steps = below(5); steps > 0; --steps) {
      proto::PipelineStep& step = *source.add_pipeline();
      switch (below(has_window ? 3 : 5)) {
        case 0:
          step.set_take(1 + below(40));
          break;
        case 1:
          step.set_skip(below(10));
          break;
        case 2:
          step.mutable_shard()->set_num_shards(1 + below(4));
          step.mutable_shard()->set_index(below(step.shard().num_shards()));
          break;
        case 3:
          step.set_filter("x > 1");
          expected = Filter(filters++, random(), expected, &passed);
          continue;
        default:
          has_window = true;
          step.mutable_window()->set_size(1 + below(4));
          step.mutable_window()->set_shift(1 + below(4));
          step.mutable_window()->set_stride(1 + below(3));
          step.mutable_window()->set_label_offset(below(8));
      }
      expected = Apply(step, expected);
    }
    const auto selection = RowSelection::Create(source, static_cast<int64_t>(rows.size()), passed);
    if (expected.empty()) {
      ++empty;
      EXPECT_EQ(selection.status().code(), absl::StatusCode::kInvalidArgument);
      continue;
    }
    ASSERT_TRUE(selection.ok()) << selection.status() << source.DebugString();
    ASSERT_EQ(ExamplesOf(*selection), expected) << source.DebugString();
    ASSERT_EQ(selection->is_window(), has_window);
    ExpectRowsToCheck(*selection, expected, rows);
    std::set<int64_t> contained;
    for (size_t i = 0; i < expected.size(); i += 2) {
      contained.insert(expected[i].rows.begin(), expected[i].rows.end());
    }
    for (const int64_t row : rows) {
      ASSERT_EQ(selection->AnyExampleOf(row, [](int64_t example) { return example % 2 == 0; }),
                contained.count(row) > 0)
          << row << source.DebugString();
    }
  }
  EXPECT_GT(empty, 50);
}

proto::DataSource SourceOf(int64_t first, int64_t end) {
  proto::DataSource source;
  source.add_rows(first);
  source.add_rows(end);
  return source;
}

TEST(RowSelectionTest, RowsComeBeforeThePipelineAndMustExist) {
  proto::DataSource source = SourceOf(2, 8);
  source.add_pipeline()->set_skip(1);
  const auto selection = RowSelection::Create(source, 10);
  ASSERT_TRUE(selection.ok());
  EXPECT_EQ(selection->examples(), 5);
  EXPECT_EQ(selection->RowOf(0), 3);
  EXPECT_TRUE(selection->is_range());
  EXPECT_EQ(RowSelection::Create(source, 7).status().message(),
            "\"rows\": [2, 8] are not among the 7 rows of the data; the end is at most 7");
}

TEST(RowSelectionTest, WithoutLabelsAWindowMayEndAtTheLastRow) {
  proto::DataSource source;
  auto& window = *source.add_pipeline()->mutable_window();
  window.set_size(2);
  window.set_shift(1);
  window.set_label_offset(4);
  EXPECT_EQ(RowSelection::Create(source, 10)->examples(), 6);
  EXPECT_EQ(RowSelection::Create(source, 10, {}, /*has_labels=*/false)->examples(), 9);
}

TEST(RowSelectionTest, AStepThatLeavesNothingIsNamed) {
  proto::DataSource source;
  source.add_pipeline()->set_take(4);
  source.add_pipeline()->set_skip(4);
  EXPECT_EQ(RowSelection::Create(source, 10).status().message(),
            "\"pipeline[1].skip\" leaves none of 4 examples");
  source.mutable_pipeline(1)->mutable_window()->set_size(5);
  EXPECT_EQ(RowSelection::Create(source, 10).status().message(),
            "\"pipeline[1].window\" leaves none of 4 rows, which are fewer than a window and its "
            "label need");
}

TEST(RowSelectionTest, TheLargestNumbersDoNotOverflow) {
  constexpr int64_t kMost = 2147483647;
  constexpr int64_t kRows = int64_t{1} << 40;
  proto::DataSource source;
  for (int i = 0; i < 3; ++i) {
    auto& shard = *source.add_pipeline()->mutable_shard();
    shard.set_num_shards(kMost);
    shard.set_index(0);
  }
  auto& window = *source.add_pipeline()->mutable_window();
  window.set_size(1);
  window.set_shift(kMost);
  window.set_stride(kMost);
  source.add_pipeline()->set_take(INT64_MAX);
  const auto one = RowSelection::Create(source, kRows);
  ASSERT_TRUE(one.ok()) << one.status();
  EXPECT_EQ(one->examples(), 1);
  EXPECT_EQ(one->RowOf(0), 0);
  source.mutable_pipeline(3)->mutable_window()->set_size(kMost);
  EXPECT_FALSE(RowSelection::Create(source, kRows).ok());
  source.add_pipeline()->set_skip(INT64_MAX);
  EXPECT_FALSE(RowSelection::Create(source, kRows).ok());
}

}  // namespace
}  // namespace cairn::worker
