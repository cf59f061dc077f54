#include "worker/data/csv/csv_filter.h"

#include <algorithm>
#include <utility>

#include "absl/container/inlined_vector.h"

namespace cairn::worker {

CsvFilter::CsvFilter(std::shared_ptr<const RowCondition> condition, const proto::CsvSource& source,
                     std::vector<std::string>* columns)
    : condition_(std::move(condition)), source_(source) {
  if (condition_ == nullptr) return;
  for (const std::string& column : condition_->columns()) {
    auto at = std::find(columns->begin(), columns->end(), column);
    if (at == columns->end()) at = columns->insert(at, column);
    places_.push_back(static_cast<int>(at - columns->begin()));
  }
}

absl::StatusOr<int> CsvFilter::Passed(const CsvRow& row) const {
  if (condition_ == nullptr) return 0;
  using Value = RowCondition::Value;
  absl::InlinedVector<Value, 4> values;
  for (const int place : places_) {
    if (!row.has(place)) return filters();
    Value& value = values.emplace_back();
    if (IsMissing(row.field(place), source_)) continue;
    value.kind = Value::Kind::kField;
    value.text = row.field(place);
  }
  return condition_->Passed(values);
}

}  // namespace cairn::worker
