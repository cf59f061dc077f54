#include "worker/data/tfrecord/tfrecord_encoder.h"

#include <utility>

#include "absl/container/inlined_vector.h"
#include "absl/strings/str_cat.h"
#include "common/printable.h"
#include "common/status_macros.h"
#include "worker/data/tfrecord/record_reader.h"

namespace cairn::worker {

TfrecordEncoder::TfrecordEncoder(const proto::DataSource& source, const nn::Signature& model,
                                 const std::vector<LabelSpec>& labels,
                                 std::shared_ptr<const RowCondition> condition)
    : FeatureEncoder(source.tfrecord().features(), source.tfrecord().labels(), source, {}, model,
                     labels, {}),
      skips_damaged_(source.skip_damaged() > 0),
      condition_(std::move(condition)) {
  std::vector<ExampleParser::Wanted> parsed;
  for (const Wanted& each : wanted()) parsed.push_back({each.name, each.most});
  if (condition_ != nullptr) {
    for (const std::string& column : condition_->columns()) parsed.push_back({column, 1});
  }
  parser_ = std::make_unique<const ExampleParser>(std::move(parsed));
}

absl::StatusOr<int> TfrecordEncoder::Passed(const std::vector<FeatureValues>& values) const {
  using Kind = FeatureValues::Kind;
  using Value = RowCondition::Value;
  absl::InlinedVector<Value, 4> row;
  for (size_t i = 0; i < condition_->columns().size(); ++i) {
    const FeatureValues& feature = values[wanted().size() + i];
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

absl::StatusOr<EncodedFile> TfrecordEncoder::ReadFile(const std::string& path,
                                                      DataStorage* storage) const {
  CAIRN_ASSIGN_OR_RETURN(const std::unique_ptr<RecordReader> reader, RecordReader::Open(path));
  Collector rows(this, path, storage);
  proto::DamagedRecords damaged;
  RecordReader::Record record;
  std::vector<FeatureValues> values;
  const auto add = [&]() -> absl::Status {
    if (!record.damage.empty()) return absl::InvalidArgumentError(record.damage);
    CAIRN_RETURN_IF_ERROR(parser_->Parse(record.bytes, &values));
    if (condition_ != nullptr) {
      CAIRN_ASSIGN_OR_RETURN(const int passed, Passed(values));
      if (passed < condition_->filters()) {
        return condition_->needs_all_rows() ? rows.AddLeftOut(passed) : absl::OkStatus();
      }
    }
    return rows.Add(values, [&] { return ExampleParser::NamesIn(record.bytes); });
  };
  while (true) {
    CAIRN_ASSIGN_OR_RETURN(const bool found, reader->Next(&record));
    if (!found) break;
    const absl::Status status = add();
    if (status.ok()) continue;
    if (!absl::IsInvalidArgument(status)) return status;
    const std::string error = absl::StrCat(reader->Place(record), ": ", status.message());
    if (!skips_damaged_) return absl::InvalidArgumentError(error);
    if (damaged.count() == 0) damaged.set_first_error(error);
    damaged.add_places(rows.examples() + damaged.count());
    damaged.set_count(damaged.count() + 1);
  }
  CAIRN_ASSIGN_OR_RETURN(EncodedFile file, rows.Finish());
  file.damaged = std::move(damaged);
  return file;
}

}  // namespace cairn::worker
