#include "job/data_formats/row_filter.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace cairn::job {
namespace {

using ::testing::HasSubstr;
using Kind = RowFilter::Kind;

std::string TextOf(const RowFilter& filter) {
  std::string text;
  if (filter.kind == Kind::kNot) return "not(" + TextOf(filter.terms[0]) + ")";
  if (filter.kind == Kind::kAnd || filter.kind == Kind::kOr) {
    for (const RowFilter& term : filter.terms) absl::StrAppend(&text, " ", TextOf(term));
    return (filter.kind == Kind::kAnd ? "and(" : "or(") + text.substr(1) + ")";
  }
  for (const RowFilter::Value& value : filter.values) {
    absl::StrAppend(&text, " ", value.is_text ? "'" : "", value.text);
  }
  if (filter.kind == Kind::kIsNull) return "[" + filter.column + "] null";
  return "[" + filter.column + "] " + (filter.kind == Kind::kIn ? "in" : filter.comparison) + text;
}

std::string Parsed(const std::string& text) {
  const auto filter = ParseRowFilter(text);
  return filter.ok() ? TextOf(*filter) : std::string(filter.status().message());
}

TEST(RowFilterTest, ConditionsAreReadAsInSql) {
  EXPECT_EQ(Parsed("year>=2026"), "[year] >= 2026");
  EXPECT_EQ(Parsed("a = 1 and b == 'x' or c != -1.5e3"), "or(and([a] = 1 [b] = 'x) [c] <> -1.5e3)");
  EXPECT_EQ(Parsed("a < 1 AND (b <= 2 Or c <> true)"), "and([a] < 1 or([b] <= 2 [c] <> true))");
  EXPECT_EQ(Parsed("not a in (1, 2) and x not in ('it''s')"),
            "and(not([a] in 1 2) not([x] in 'it's))");
  EXPECT_EQ(Parsed("a is null or \"a \"\"b\"\" c\" is not null"),
            "or([a] null not([a \"b\" c] null))");
  EXPECT_EQ(Parsed("été > 0.5"), "[été] > 0.5");
}

TEST(RowFilterTest, EveryMistakeHasItsPlace) {
  const struct {
    const char* text;
    const char* message;
  } cases[] = {
      {"", "\"\", character 1: expected a column"},
      {"year", "character 5: expected one of = != < <= > >=, in, is null"},
      {"year >", "character 7: expected a number, a text in single quotes"},
      {"year > x", "character 8: expected a number"},
      {"year > nan", "expected a number"},
      {"year > 0x10", "expected a number"},
      {"year > 1; drop table x", "character 9: expected \"and\", \"or\" or the end"},
      {"x = 'a", "character 5: the quote has no end"},
      {"\"\" = 1", "the name of the column is empty"},
      {"and = 1", "expected a column; put its name into double quotes"},
      {"(a = 1", "character 7: expected \")\""},
      {"a in 1", "expected \"(\" and the values"},
      {"a in ()", "expected a number"},
      {"a not = 1", "expected \"in\""},
      {"a is 1", "expected \"null\""},
      {"1 = a", "character 1: expected a column"},
  };
  for (const auto& one : cases) {
    EXPECT_THAT(Parsed(one.text), HasSubstr(one.message)) << one.text;
  }
  EXPECT_THAT(Parsed(std::string(100, '(')), HasSubstr("more than 64 nested conditions"));
  EXPECT_THAT(Parsed(std::string(200000, 'a')), HasSubstr("more than 100000 characters"));
  EXPECT_THAT(Parsed(std::string("a = '\0'", 7)), HasSubstr("the quote has no end"));
}

}  // namespace
}  // namespace cairn::job
