// Filters of rows. What an accepted filter decides must not depend on how it is written.

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "common/check.h"
#include "job/data_formats/row_filter.h"
#include "tests/fuzz/fuzz_target.h"
#include "worker/data/row_condition.h"

namespace cairn::fuzz {
namespace {

using job::RowFilter;
using Kind = RowFilter::Kind;
using Value = worker::RowCondition::Value;

// Deeper filters get too deep for the parser when all parentheses are written.
constexpr int kDepthMax = 60;
constexpr size_t kTextMax = 100000;
constexpr int kRows = 8;

int DepthOf(const RowFilter& filter) {
  int depth = 0;
  for (const RowFilter& term : filter.terms) depth = std::max(depth, 1 + DepthOf(term));
  return depth;
}

std::string Quoted(const std::string& text, const std::string& quote) {
  return absl::StrCat(quote, absl::StrReplaceAll(text, {{quote, quote + quote}}), quote);
}

// With all parentheses and quotes.
std::string TextOf(const RowFilter& filter) {
  if (filter.kind == Kind::kNot) return absl::StrCat("not ", TextOf(filter.terms[0]));
  if (filter.kind == Kind::kAnd || filter.kind == Kind::kOr) {
    std::vector<std::string> terms;
    for (const RowFilter& term : filter.terms) terms.push_back(TextOf(term));
    return absl::StrCat("(", absl::StrJoin(terms, filter.kind == Kind::kAnd ? " and " : " or "),
                        ")");
  }
  const std::string column = Quoted(filter.column, "\"");
  if (filter.kind == Kind::kIsNull) return absl::StrCat(column, " is null");
  std::vector<std::string> values;
  for (const RowFilter::Value& value : filter.values) {
    values.push_back(value.is_text ? Quoted(value.text, "'") : value.text);
  }
  if (filter.kind == Kind::kIn) {
    return absl::StrCat(column, " in (", absl::StrJoin(values, ", "), ")");
  }
  return absl::StrCat(column, filter.comparison, values[0]);
}

RowFilter Joined(Kind kind, std::vector<RowFilter> terms) {
  RowFilter filter;
  filter.kind = kind;
  filter.terms = std::move(terms);
  return filter;
}

RowFilter Comparison(const RowFilter& condition, const std::string& sign,
                     const RowFilter::Value& value) {
  RowFilter filter;
  filter.kind = Kind::kCompare;
  filter.column = condition.column;
  filter.comparison = sign;
  filter.values = {value};
  return filter;
}

// The same condition with no other comparisons than =, < and >.
RowFilter Expanded(const RowFilter& filter) {
  if (!filter.terms.empty()) {
    std::vector<RowFilter> terms;
    for (const RowFilter& term : filter.terms) terms.push_back(Expanded(term));
    return Joined(filter.kind, std::move(terms));
  }
  if (filter.kind == Kind::kIsNull) return filter;
  if (filter.comparison == "<>") {
    return Joined(Kind::kNot, {Comparison(filter, "=", filter.values[0])});
  }
  if (filter.comparison == "<=" || filter.comparison == ">=") {
    return Joined(Kind::kOr, {Comparison(filter, filter.comparison.substr(0, 1), filter.values[0]),
                              Comparison(filter, "=", filter.values[0])});
  }
  if (filter.kind == Kind::kCompare) return filter;
  std::vector<RowFilter> equal;
  for (const auto& value : filter.values) equal.push_back(Comparison(filter, "=", value));
  return equal.size() == 1 ? equal[0] : Joined(Kind::kOr, std::move(equal));
}

// The opposite, by De Morgan's laws.
RowFilter Negated(const RowFilter& filter) {
  if (filter.kind == Kind::kNot) return filter.terms[0];
  if (filter.terms.empty()) return Joined(Kind::kNot, {filter});
  std::vector<RowFilter> terms;
  for (const RowFilter& term : filter.terms) terms.push_back(Negated(term));
  return Joined(filter.kind == Kind::kAnd ? Kind::kOr : Kind::kAnd, std::move(terms));
}

void CollectValues(const RowFilter& filter, std::vector<RowFilter::Value>* values) {
  values->insert(values->end(), filter.values.begin(), filter.values.end());
  for (const RowFilter& term : filter.terms) CollectValues(term, values);
}

// Values of every kind, which are mostly those in the filter.
Value ValueOf(const RowFilter::Value& literal, int kind) {
  double number = literal.text == "true" ? 1 : 0;
  if (!literal.is_text) (void)absl::SimpleAtod(literal.text, &number);
  Value value;
  value.kind = static_cast<Value::Kind>(kind);
  value.text = literal.text;
  value.number = number;
  constexpr double kFloatMax = std::numeric_limits<float>::max();
  constexpr double kIntEnd = 9223372036854775808.0;  // 2^63
  if (value.kind == Value::Kind::kFloat) {
    value.number = static_cast<float>(std::clamp(number, -kFloatMax, kFloatMax));
  }
  if (number >= -kIntEnd && number < kIntEnd) value.whole = static_cast<int64_t>(number);
  return value;
}

std::vector<std::vector<Value>> RowsFor(const std::vector<RowFilter::Value>& literals,
                                        size_t columns) {
  std::vector<std::vector<Value>> rows(kRows);
  constexpr int kKinds = static_cast<int>(Value::Kind::kField) + 1;
  for (int row = 0; row < kRows; ++row) {
    for (size_t column = 0; column < columns; ++column) {
      const size_t place = column * kRows + row;
      rows[row].push_back(
          ValueOf(literals[place * 7 % literals.size()], static_cast<int>(place) % kKinds));
    }
  }
  rows[0][0].kind = Value::Kind::kDouble;
  rows[0][0].number = std::numeric_limits<double>::quiet_NaN();
  return rows;
}

// "true", "false" or the error, of each row.
std::vector<std::string> Decide(const RowFilter& filter, const std::vector<std::string>& columns,
                                const std::vector<std::vector<Value>>& rows) {
  const worker::RowCondition condition({filter});
  CAIRN_CHECK(condition.columns() == columns);
  std::vector<std::string> decisions;
  for (const auto& row : rows) {
    const auto passed = condition.Passed(row);
    decisions.emplace_back(!passed.ok()   ? std::string(passed.status().message())
                           : *passed == 1 ? "true"
                                          : "false");
  }
  return decisions;
}

}  // namespace

bool RunInput(std::string_view input) {
  const auto filter = job::ParseRowFilter(input);
  if (!filter.ok()) {
    CAIRN_CHECK(filter.status().message().find('\n') == absl::string_view::npos);
    return false;
  }
  const std::vector<std::string> columns = worker::RowCondition({*filter}).columns();
  std::vector<RowFilter::Value> literals = {{true, "a"}, {false, "1"}, {false, "-0.5"}};
  CollectValues(*filter, &literals);
  const auto rows = RowsFor(literals, columns.size());
  const auto decisions = Decide(*filter, columns, rows);
  CAIRN_CHECK(Decide(Expanded(*filter), columns, rows) == decisions);
  const std::string text = TextOf(*filter);
  if (DepthOf(*filter) <= kDepthMax && text.size() <= kTextMax) {
    const auto again = job::ParseRowFilter(text);
    CAIRN_CHECK(again.ok());
    CAIRN_CHECK(TextOf(*again) == text);
    CAIRN_CHECK(Decide(*again, columns, rows) == decisions);
  }
  const auto opposite = Decide(Joined(Kind::kNot, {*filter}), columns, rows);
  CAIRN_CHECK(Decide(Negated(*filter), columns, rows) == opposite);
  for (int row = 0; row < kRows; ++row) {
    CAIRN_CHECK(decisions[row] != "true" || opposite[row] == "false");
    CAIRN_CHECK(opposite[row] != "true" || decisions[row] == "false");
  }
  return true;
}

}  // namespace cairn::fuzz
