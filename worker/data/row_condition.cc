#include "worker/data/row_condition.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <iterator>
#include <limits>
#include <optional>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/half.h"
#include "common/printable.h"
#include "common/status_macros.h"
#include "job/data_pipeline.h"
#include "worker/data/csv/csv_value.h"

namespace cairn::worker {
namespace {

static_assert(std::numeric_limits<long double>::digits >= 64);

constexpr const char* kSigns[] = {"=", "<>", "<", "<=", ">", ">="};  // In the order of Comparison.

template <typename T>
int Order(const T& left, const T& right) {
  if (left == right) return 0;
  if (left < right) return -1;
  return left > right ? 1 : 2;  // 2: one of them is NaN.
}

// The number of a field, also of true and false.
std::optional<double> NumberIn(std::string_view field) {
  const absl::string_view text(field.data(), field.size());
  if (absl::EqualsIgnoreCase(text, "true")) return 1;
  if (absl::EqualsIgnoreCase(text, "false")) return 0;
  return ParseNumber(field);
}

}  // namespace

RowCondition::RowCondition(const std::vector<job::RowFilter>& filters, bool needs_all_rows)
    : needs_all_rows_(needs_all_rows) {
  for (const job::RowFilter& filter : filters) filters_.push_back(TermOf(filter));
}

absl::StatusOr<std::shared_ptr<const RowCondition>> RowCondition::Of(
    const proto::DataSource& source) {
  CAIRN_ASSIGN_OR_RETURN(const std::vector<job::RowFilter> filters, job::PipelineFiltersOf(source));
  if (filters.empty()) return std::shared_ptr<const RowCondition>();
  return std::make_shared<const RowCondition>(filters, job::FiltersNeedAllRows(source));
}

RowCondition::Literal RowCondition::LiteralOf(const job::RowFilter::Value& value) {
  Literal literal;
  literal.is_text = value.is_text;
  literal.text = value.text;
  if (value.is_text) return literal;
  if (value.text == "true" || value.text == "false") {
    literal.exact = value.text == "true" ? 1 : 0;
    literal.number = static_cast<double>(literal.exact);
  } else {
    literal.exact = std::strtold(value.text.c_str(), nullptr);
    literal.number = std::strtod(value.text.c_str(), nullptr);
  }
  literal.float_number = literal.half_number = literal.number;
  // Beyond the numbers of a type a rounded one would compare in the same way.
  if (std::abs(literal.number) <= std::numeric_limits<float>::max()) {
    const auto number = static_cast<float>(literal.number);
    const float half = FloatFromFloat16(Float16FromFloat(number));
    literal.float_number = number;
    if (std::isfinite(half)) literal.half_number = half;
  }
  return literal;
}

RowCondition::Term RowCondition::TermOf(const job::RowFilter& filter) {
  using Kind = job::RowFilter::Kind;
  Term term;
  term.kind = filter.kind;
  for (const job::RowFilter& each : filter.terms) term.terms.push_back(TermOf(each));
  if (!filter.terms.empty()) return term;
  auto column = std::find(columns_.begin(), columns_.end(), filter.column);
  if (column == columns_.end()) column = columns_.insert(column, filter.column);
  term.column = column - columns_.begin();
  for (const auto& value : filter.values) term.literals.push_back(LiteralOf(value));
  if (filter.kind != Kind::kCompare) return term;
  const auto* const sign =
      std::find_if(std::begin(kSigns), std::end(kSigns),
                   [&](const char* each) { return filter.comparison == each; });
  term.comparison = static_cast<Comparison>(sign - std::begin(kSigns));
  return term;
}

absl::StatusOr<int> RowCondition::Passed(absl::Span<const Value> values) const {
  for (int i = 0; i < filters(); ++i) {
    CAIRN_ASSIGN_OR_RETURN(const Truth truth, Decide(filters_[i], values));
    if (truth != Truth::kTrue) return i;
  }
  return filters();
}

absl::StatusOr<RowCondition::Truth> RowCondition::Decide(const Term& term,
                                                         absl::Span<const Value> values) const {
  using Kind = job::RowFilter::Kind;
  const auto truth_of = [](bool is_true) { return is_true ? Truth::kTrue : Truth::kFalse; };
  switch (term.kind) {
    case Kind::kAnd:
    case Kind::kOr: {
      const bool is_and = term.kind == Kind::kAnd;
      Truth result = truth_of(is_and);
      for (const Term& each : term.terms) {
        CAIRN_ASSIGN_OR_RETURN(const Truth truth, Decide(each, values));
        result = is_and ? std::min(result, truth) : std::max(result, truth);
        // What follows may not be comparable: "x is not null and x > 3".
        if (result == truth_of(!is_and)) break;
      }
      return result;
    }
    case Kind::kNot: {
      CAIRN_ASSIGN_OR_RETURN(const Truth truth, Decide(term.terms[0], values));
      return truth == Truth::kUnknown ? truth : truth_of(truth == Truth::kFalse);
    }
    case Kind::kIsNull:
      return truth_of(values[term.column].kind == Value::Kind::kNull);
    case Kind::kCompare:
    case Kind::kIn:
      break;
  }
  const Value& value = values[term.column];
  if (value.kind == Value::Kind::kNull) return Truth::kUnknown;
  for (const Literal& literal : term.literals) {
    CAIRN_ASSIGN_OR_RETURN(const bool is_true, Compare(term, literal, value));
    if (is_true) return Truth::kTrue;
  }
  return Truth::kFalse;
}

absl::StatusOr<bool> RowCondition::Compare(const Term& term, const Literal& literal,
                                           const Value& value) const {
  using Kind = Value::Kind;
  const auto wrong = [&](const auto&... parts) {
    return absl::InvalidArgumentError(
        absl::StrCat("filter: column \"", PrintableLine(columns_[term.column]), "\" ", parts...));
  };
  int order = 0;
  if (value.kind == Kind::kText || (value.kind == Kind::kField && literal.is_text)) {
    if (!literal.is_text) {
      return wrong("has texts, which cannot be compared with ", literal.text,
                   "; put it into single quotes");
    }
    order = Order(value.text, std::string_view(literal.text));
  } else if (literal.is_text) {
    return wrong("has numbers, which cannot be compared with '", PrintableLine(literal.text),
                 "'; leave out the quotes");
  } else if (value.kind == Kind::kInt) {
    order = Order(static_cast<long double>(value.whole), literal.exact);
  } else if (value.kind == Kind::kField) {
    const std::optional<double> number = NumberIn(value.text);
    if (!number) {
      return wrong("has ", QuotedField(value.text), ", which is not a number to compare with ",
                   literal.text);
    }
    order = Order(*number, literal.number);
  } else {
    order = Order(value.number, value.kind == Kind::kHalf    ? literal.half_number
                                : value.kind == Kind::kFloat ? literal.float_number
                                                             : literal.number);
  }
  switch (term.comparison) {
    case Comparison::kEqual:
      return order == 0;
    case Comparison::kNotEqual:
      return order != 0;
    case Comparison::kLess:
      return order == -1;
    case Comparison::kLessOrEqual:
      return order == -1 || order == 0;
    case Comparison::kGreater:
      return order == 1;
    case Comparison::kGreaterOrEqual:
      break;
  }
  return order == 1 || order == 0;
}

absl::Status CheckHasClasses(const RowCondition* condition, bool has_labels) {
  if (condition == nullptr || has_labels) return absl::OkStatus();
  const std::vector<std::string>& columns = condition->columns();
  if (std::find(columns.begin(), columns.end(), "class_name") == columns.end()) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      "filter: column \"class_name\" is for examples with labels; filter a source that has "
      "outputs");
}

}  // namespace cairn::worker
