#include "worker/data/tfrecord/record_scan.h"

#include <utility>

#include "absl/container/inlined_vector.h"
#include "absl/strings/str_cat.h"
#include "common/printable.h"
#include "common/status_macros.h"
#include "worker/data/tfrecord/record_reader.h"

namespace cairn::worker {
namespace {

std::vector<ExampleParser::Wanted> WithColumns(std::vector<ExampleParser::Wanted> features,
                                               const RowCondition* condition) {
  if (condition == nullptr) return features;
  for (const std::string& column : condition->columns()) features.push_back({column, 1});
  return features;
}

}  // namespace

RecordScan::RecordScan(const std::vector<ExampleParser::Wanted>& features,
                       std::shared_ptr<const RowCondition> condition)
    : features_(features.size()),
      condition_(std::move(condition)),
      parser_(std::make_unique<const ExampleParser>(WithColumns(features, condition_.get()))) {}

absl::StatusOr<int> RecordScan::Passed(const std::vector<FeatureValues>& values) const {
  if (condition_ == nullptr) return 0;
  using Kind = FeatureValues::Kind;
  using Value = RowCondition::Value;
  absl::InlinedVector<Value, 4> row;
  for (size_t i = 0; i < condition_->columns().size(); ++i) {
    const FeatureValues& feature = values[features_ + i];
    Value& value = row.emplace_back();
    // An empty list is a missing value.
    if (feature.kind == Kind::kMissing || feature.count == 0) continue;
    if (feature.count > 1) {
      return absl::InvalidArgumentError(
          absl::StrCat("filter: feature \"", PrintableLine(condition_->columns()[i]), "\" has ",
                       feature.count, " values; a filter compares features with one"));
    }
    if (feature.kind == Kind::kInts) {
      value.kind = Value::Kind::kInt;
      value.whole = feature.ints[0];
    } else if (feature.kind == Kind::kFloats) {
      value.kind = Value::Kind::kFloat;
      value.number = feature.floats[0];
    } else {
      value.kind = Value::Kind::kText;
      value.text = feature.bytes[0];
    }
  }
  return condition_->Passed(row);
}

absl::Status RecordScan::ForEach(const std::string& path, Visit visit, OnDamage on_damage) const {
  CAIRN_ASSIGN_OR_RETURN(const std::unique_ptr<RecordReader> reader, RecordReader::Open(path));
  RecordReader::Record record;
  std::vector<FeatureValues> values;
  const auto read = [&]() -> absl::Status {
    if (!record.damage.empty()) return absl::InvalidArgumentError(record.damage);
    CAIRN_RETURN_IF_ERROR(parser_->Parse(record.bytes, &values));
    CAIRN_ASSIGN_OR_RETURN(const int passed, Passed(values));
    const bool is_visited = Keeps(passed) || condition_->needs_all_rows();
    return is_visited ? visit(record.bytes, values, passed) : absl::OkStatus();
  };
  while (true) {
    CAIRN_ASSIGN_OR_RETURN(const bool found, reader->Next(&record));
    if (!found) return absl::OkStatus();
    const absl::Status status = read();
    if (status.ok()) continue;
    if (!absl::IsInvalidArgument(status)) return status;
    CAIRN_RETURN_IF_ERROR(on_damage(absl::StrCat(reader->Place(record), ": ", status.message())));
  }
}

}  // namespace cairn::worker
