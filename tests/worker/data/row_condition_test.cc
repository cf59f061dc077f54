#include "worker/data/row_condition.h"

#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"

namespace cairn::worker {
namespace {

using Value = RowCondition::Value;
using Kind = Value::Kind;

Value Null() { return {}; }
Value Int(int64_t value) { return {.kind = Kind::kInt, .whole = value}; }
Value Half(float value) { return {.kind = Kind::kHalf, .number = value}; }
Value Float(float value) { return {.kind = Kind::kFloat, .number = value}; }
Value Double(double value) { return {.kind = Kind::kDouble, .number = value}; }
Value Text(std::string_view text) { return {.kind = Kind::kText, .text = text}; }
Value Field(std::string_view text) { return {.kind = Kind::kField, .text = text}; }

// "true", "false" or the error.
std::string Decided(const std::string& filter, const std::vector<Value>& values) {
  const auto parsed = job::ParseRowFilter(filter);
  EXPECT_TRUE(parsed.ok()) << parsed.status();
  const auto passed = RowCondition({*parsed}).Passed(values);
  if (!passed.ok()) return std::string(passed.status().message());
  return *passed == 1 ? "true" : "false";
}

TEST(RowConditionTest, ComparisonsOfEveryKind) {
  const std::vector<std::pair<std::string, std::vector<bool>>> cases = {
      {"x = 2", {false, true, false}},      {"x <> 2", {true, false, true}},
      {"x < 2", {true, false, false}},      {"x <= 2", {true, true, false}},
      {"x > 2", {false, false, true}},      {"x >= 2", {false, true, true}},
      {"x in (1, 3)", {true, false, true}}, {"x not in (1, 3)", {false, true, false}},
      {"not x = 2", {true, false, true}}};
  for (const auto& [filter, expected] : cases) {
    for (int i = 0; i < 3; ++i) {
      const std::string field = std::to_string(i + 1);
      const std::string wanted = expected[i] ? "true" : "false";
      EXPECT_EQ(Decided(filter, {Int(i + 1)}), wanted) << filter;
      EXPECT_EQ(Decided(filter, {Float(static_cast<float>(i + 1))}), wanted) << filter;
      EXPECT_EQ(Decided(filter, {Double(i + 1)}), wanted) << filter;
      EXPECT_EQ(Decided(filter, {Field(field)}), wanted) << filter;
    }
  }
}

TEST(RowConditionTest, TextsAreComparedByteByByte) {
  EXPECT_EQ(Decided("x = 'b'", {Text("b")}), "true");
  EXPECT_EQ(Decided("x < 'b'", {Text("B")}), "true");
  EXPECT_EQ(Decided("x in ('de', 'fr')", {Field("fr")}), "true");
  EXPECT_EQ(Decided("x = '07'", {Field("7")}), "false");
}

TEST(RowConditionTest, NumbersAreExactInTheTypeOfTheColumn) {
  EXPECT_EQ(Decided("x = 0.1", {Float(0.1f)}), "true");
  EXPECT_EQ(Decided("x = 0.1", {Half(0.0999755859375f)}), "true");
  EXPECT_EQ(Decided("x < 70000", {Half(std::numeric_limits<float>::infinity())}), "false");
  EXPECT_EQ(Decided("x = 0.1", {Double(0.1)}), "true");
  EXPECT_EQ(Decided("x = 0.1", {Field("0.1")}), "true");
  EXPECT_EQ(Decided("x = 0.1", {Double(0.1f)}), "false");
  constexpr int64_t kLarge = std::numeric_limits<int64_t>::max();
  EXPECT_EQ(Decided("x = 9223372036854775807", {Int(kLarge)}), "true");
  EXPECT_EQ(Decided("x = 9223372036854775806", {Int(kLarge)}), "false");
  EXPECT_EQ(Decided("x < 1e300", {Float(3e38f)}), "true");
  EXPECT_EQ(Decided("x > 5", {Field(" 5.5 ")}), "true");
  EXPECT_EQ(Decided("x = true", {Field("True")}), "true");
  EXPECT_EQ(Decided("x = false", {Int(0)}), "true");
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(Decided("x = 1 or x < 1 or x > 1", {Double(nan)}), "false");
  EXPECT_EQ(Decided("x <> 1", {Double(nan)}), "true");
}

// The truth table of SQL.
TEST(RowConditionTest, AComparisonWithNullIsNeitherTrueNorFalse) {
  for (const char* const filter :
       {"x = 1", "not x = 1", "x in (1, 2)", "x not in (1)", "x = 1 and y = 1", "x = 1 or y = 2"}) {
    EXPECT_EQ(Decided(filter, {Null(), Int(1)}), "false") << filter;
  }
  EXPECT_EQ(Decided("x = 1 or y = 1", {Null(), Int(1)}), "true");
  EXPECT_EQ(Decided("not (x = 1 and y = 2)", {Null(), Int(1)}), "true");
  EXPECT_EQ(Decided("x is null", {Null()}), "true");
  EXPECT_EQ(Decided("x is not null", {Null()}), "false");
  EXPECT_EQ(Decided("x is null", {Int(0)}), "false");
}

TEST(RowConditionTest, WhatCannotBeComparedIsNamed) {
  EXPECT_EQ(Decided("age > 30", {Field("old")}),
            "filter: column \"age\" has \"old\", which is not a number to compare with 30");
  EXPECT_EQ(Decided("age > 30", {Text("old")}),
            "filter: column \"age\" has texts, which cannot be compared with 30; put it into "
            "single quotes");
  EXPECT_EQ(Decided("age = '30'", {Int(30)}),
            "filter: column \"age\" has numbers, which cannot be compared with '30'; leave out the "
            "quotes");
  // What decides before is not followed by an error.
  EXPECT_EQ(Decided("kind = 'n' and age > 30", {Field("t"), Field("old")}), "false");
}

TEST(RowConditionTest, ColumnsAreListedOnce) {
  const RowCondition condition({*job::ParseRowFilter("a = 1 and (b > 2 or not a = 3)")});
  EXPECT_EQ(condition.columns(), (std::vector<std::string>{"a", "b"}));
}

TEST(RowConditionTest, ASourceWithoutFiltersHasNone) {
  proto::DataSource source;
  EXPECT_EQ(*RowCondition::Of(source), nullptr);
  source.add_pipeline()->set_filter("a = 1");
  source.add_pipeline()->set_filter("b = 1");
  EXPECT_EQ((*RowCondition::Of(source))->columns().size(), 2u);
  EXPECT_FALSE((*RowCondition::Of(source))->needs_all_rows());
  source.add_sample_weight("w.npy");
  EXPECT_TRUE((*RowCondition::Of(source))->needs_all_rows());
}

TEST(RowConditionTest, ClassesAreThoseOfExamplesWithLabels) {
  EXPECT_TRUE(CheckHasClasses(nullptr, false).ok());
  proto::DataSource source;
  source.add_pipeline()->set_filter("text <> ''");
  EXPECT_TRUE(CheckHasClasses(RowCondition::Of(source)->get(), false).ok());
  source.add_pipeline()->set_filter("class_name = 'a'");
  EXPECT_TRUE(CheckHasClasses(RowCondition::Of(source)->get(), true).ok());
  EXPECT_EQ(CheckHasClasses(RowCondition::Of(source)->get(), false).message(),
            "filter: column \"class_name\" is for examples with labels; filter a source that has "
            "outputs");
}

TEST(RowConditionTest, FiltersAreTrueUpToTheFirstThatIsNot) {
  proto::DataSource source;
  for (const char* const filter : {"x > 1", "y > 1", "x > 2"}) {
    source.add_pipeline()->set_filter(filter);
  }
  const auto condition = *RowCondition::Of(source);
  EXPECT_EQ(condition->filters(), 3);
  EXPECT_EQ(*condition->Passed({Int(1), Int(2)}), 0);
  EXPECT_EQ(*condition->Passed({Int(3), Null()}), 1);
  EXPECT_EQ(*condition->Passed({Int(2), Int(2)}), 2);
  EXPECT_EQ(*condition->Passed({Int(3), Int(2)}), 3);
}

}  // namespace
}  // namespace cairn::worker
