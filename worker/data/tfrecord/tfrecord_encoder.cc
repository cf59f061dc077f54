#include "worker/data/tfrecord/tfrecord_encoder.h"

#include <utility>

#include "common/status_macros.h"

namespace cairn::worker {
namespace {

std::vector<ExampleParser::Wanted> ParsedOf(const std::vector<FeatureEncoder::Wanted>& wanted) {
  std::vector<ExampleParser::Wanted> parsed;
  for (const FeatureEncoder::Wanted& each : wanted) parsed.push_back({each.name, each.most});
  return parsed;
}

}  // namespace

TfrecordEncoder::TfrecordEncoder(const proto::DataSource& source, const proto::DataPlan& plan,
                                 const nn::Signature& model, const std::vector<LabelSpec>& labels,
                                 std::shared_ptr<const RowCondition> condition)
    : FeatureEncoder(source.tfrecord().features(), source.tfrecord().labels(), source, plan, model,
                     labels, {}),
      skips_damaged_(source.skip_damaged() > 0),
      scan_(ParsedOf(wanted()), std::move(condition)) {}

absl::StatusOr<EncodedFile> TfrecordEncoder::ReadFile(const std::string& path,
                                                      DataStorage* storage) const {
  Collector rows(this, path, storage);
  proto::DamagedRecords damaged;
  const auto add = [&](std::string_view record, const std::vector<FeatureValues>& values,
                       int passed) {
    if (!scan_.Keeps(passed)) return rows.AddLeftOut(passed);
    return rows.Add(values, [&] { return ExampleParser::NamesIn(record); });
  };
  const auto skip = [&](const std::string& error) -> absl::Status {
    if (!skips_damaged_) return absl::InvalidArgumentError(error);
    if (damaged.count() == 0) damaged.set_first_error(error);
    damaged.add_places(rows.examples() + damaged.count());
    damaged.set_count(damaged.count() + 1);
    return absl::OkStatus();
  };
  CAIRN_RETURN_IF_ERROR(scan_.ForEach(path, add, skip));
  CAIRN_ASSIGN_OR_RETURN(EncodedFile file, rows.Finish());
  file.damaged = std::move(damaged);
  return file;
}

}  // namespace cairn::worker
