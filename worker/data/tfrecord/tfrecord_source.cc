#include "worker/data/tfrecord/tfrecord_source.h"

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/status_macros.h"
#include "job/data_pipeline.h"
#include "worker/data/encoded_rows.h"
#include "worker/data/features/column_survey.h"
#include "worker/data/row_condition.h"
#include "worker/data/tfrecord/record_scan.h"
#include "worker/data/tfrecord/tfrecord_encoder.h"

namespace cairn::worker {
namespace {

// More names than the list of a record has.
constexpr int64_t kNamesMost = int64_t{1} << 28;

absl::Status AddAll(const TfrecordEncoder& encoder, const ReadRequest& request, SourceArrays* all) {
  const std::vector<std::string>& paths = request.files.features[0];
  CAIRN_ASSIGN_OR_RETURN(const std::vector<EncodedFile> files,
                         ReadAll<EncodedFile>(paths, [&](const std::string& path) {
                           return encoder.ReadFile(path, request.storage);
                         }));
  CAIRN_RETURN_IF_ERROR(AddInspectedFiles(encoder.layouts(), paths, files, all));
  return CheckDamage(all->damaged, request.source.skip_damaged());
}

absl::StatusOr<std::shared_ptr<const TfrecordEncoder>> EncoderOf(const ReadRequest& request) {
  CAIRN_ASSIGN_OR_RETURN(auto condition, RowCondition::Of(request.source));
  auto encoder = std::make_shared<const TfrecordEncoder>(
      request.source, request.plan, request.model, request.label_specs, std::move(condition));
  CAIRN_RETURN_IF_ERROR(encoder->CheckShapes());
  return encoder;
}

// Adds what the records of a file have in the columns. `row` is the number of the first one.
absl::Status AddFile(const RecordScan& scan, const std::string& path, int64_t row,
                     const IsTrainingRow& is_training, RecordScan::OnDamage on_damage,
                     const ColumnSurveys& surveys) {
  const auto& columns = surveys.columns();
  std::vector<TokenCounts> tokens;
  for (const auto& column : columns) tokens.emplace_back(column->column().text_vectorization());
  absl::Status too_large;
  const auto add = [&](std::string_view, const std::vector<FeatureValues>& values, int passed) {
    const bool has_tokens = is_training(row++);
    if (!scan.Keeps(passed)) return absl::OkStatus();
    for (size_t i = 0; i < columns.size(); ++i) {
      for (const std::string_view value : values[i].bytes) {
        if (!columns[i]->wants_tokens()) {
          too_large.Update(columns[i]->AddName(value));
        } else if (has_tokens) {
          tokens[i].AddText(value);
        }
      }
      too_large.Update(columns[i]->CheckTokens(tokens[i]));
    }
    // No damage of this record.
    return too_large.ok() ? absl::OkStatus() : absl::CancelledError();
  };
  const absl::Status status = scan.ForEach(path, add, on_damage);
  CAIRN_RETURN_IF_ERROR(too_large);
  CAIRN_RETURN_IF_ERROR(status);
  for (size_t i = 0; i < columns.size(); ++i) {
    if (columns[i]->wants_tokens()) CAIRN_RETURN_IF_ERROR(columns[i]->AddTokens(tokens[i]));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<proto::DataFindings> SearchTfrecord(const proto::DataSource& train,
                                                   const SourceFiles& files,
                                                   const ChooseTrainingRows& choose) {
  const std::vector<std::string>& paths = files.features[0];
  CAIRN_ASSIGN_OR_RETURN(auto condition, RowCondition::Of(train));
  const ColumnSurveys surveys(train.tfrecord().features(), train.tfrecord().labels(), train);
  std::vector<ExampleParser::Wanted> wanted;
  for (const auto& column : surveys.columns()) {
    wanted.push_back({column->column().name(), column->wants_tokens() ? 1 : kNamesMost});
  }
  const RecordScan scan(wanted, std::move(condition));
  const bool skips_damaged = train.skip_damaged() > 0;
  const auto on_damage = [skips_damaged](const std::string& error) {
    return skips_damaged ? absl::OkStatus() : absl::InvalidArgumentError(error);
  };
  const auto count = [&](const std::string& path) -> absl::StatusOr<std::vector<int32_t>> {
    std::vector<int32_t> rows;
    const auto add = [&rows](std::string_view, const std::vector<FeatureValues>&, int passed) {
      rows.push_back(passed);
      return absl::OkStatus();
    };
    CAIRN_RETURN_IF_ERROR(scan.ForEach(path, add, on_damage));
    return rows;
  };
  const bool wants_rows = surveys.want_tokens() && !skips_damaged;
  CAIRN_ASSIGN_OR_RETURN(
      const TrainingRows rows,
      TrainingRowsOf(paths, wants_rows ? choose : nullptr, job::FiltersNeedAllRows(train), count));
  return surveys.Search(paths, [&](size_t i) {
    return AddFile(scan, paths[i], rows.first[i], rows.is_training, on_damage, surveys);
  });
}

absl::StatusOr<SourceArrays> SurveyTfrecord(const ReadRequest& request) {
  CAIRN_ASSIGN_OR_RETURN(const auto encoder, EncoderOf(request));
  SourceArrays found = ArraysOf(encoder->layouts());
  CAIRN_RETURN_IF_ERROR(AddAll(*encoder, request, &found));
  return found;
}

absl::StatusOr<SourceArrays> ReadTfrecord(const ReadRequest& request) {
  CAIRN_ASSIGN_OR_RETURN(const auto encoder, EncoderOf(request));
  SourceArrays result = ArraysOf(encoder->layouts());
  const std::vector<std::string>& files = request.files.features[0];
  if (!IsIndexed(request.planned, files.size())) {
    CAIRN_RETURN_IF_ERROR(AddAll(*encoder, request, &result));
    return result;
  }
  const auto read = [encoder, storage = request.planned->storage](const std::string& path) {
    return encoder->ReadFile(path, storage.get());
  };
  CAIRN_RETURN_IF_ERROR(
      AddDeferredFiles(encoder->layouts(), files, *request.planned, read, &result));
  return result;
}

}  // namespace cairn::worker
