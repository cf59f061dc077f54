#include "worker/data/tfrecord/tfrecord_encoder.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "worker/data/tfrecord/record_reader.h"

namespace cairn::worker {

TfrecordEncoder::TfrecordEncoder(const proto::DataSource& source, const nn::Model& model,
                                 const std::vector<LabelSpec>& labels)
    : FeatureEncoder(source.tfrecord().features(), source.tfrecord().labels(), source, {}, model,
                     labels, {}),
      skips_damaged_(source.skip_damaged() > 0) {
  std::vector<ExampleParser::Wanted> parsed;
  for (const Wanted& each : wanted()) parsed.push_back({each.name, each.most});
  parser_ = std::make_unique<const ExampleParser>(std::move(parsed));
}

absl::StatusOr<TfrecordEncoder::File> TfrecordEncoder::ReadFile(const std::string& path,
                                                                DataStorage* storage) const {
  CAIRN_ASSIGN_OR_RETURN(const std::unique_ptr<RecordReader> reader, RecordReader::Open(path));
  Collector rows(this, path, storage);
  proto::DamagedRecords damaged;
  RecordReader::Record record;
  std::vector<FeatureValues> values;
  const auto add = [&]() -> absl::Status {
    if (!record.damage.empty()) return absl::InvalidArgumentError(record.damage);
    CAIRN_RETURN_IF_ERROR(parser_->Parse(record.bytes, &values));
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
    damaged.set_count(damaged.count() + 1);
  }
  CAIRN_ASSIGN_OR_RETURN(File file, rows.Finish());
  file.damaged = std::move(damaged);
  return file;
}

}  // namespace cairn::worker
