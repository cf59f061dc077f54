#include "worker/data/parquet/parquet_source.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "common/printable.h"
#include "common/status_macros.h"
#include "job/data_formats/row_filter.h"
#include "job/data_pipeline.h"
#include "worker/data/encoded_rows.h"
#include "worker/data/features/column_survey.h"
#include "worker/data/features/feature_encoder.h"
#include "worker/data/files/file_folder.h"
#include "worker/data/files/load_file.h"
#include "worker/data/parquet/parquet_file.h"

namespace cairn::worker {
namespace {

FeatureEncoder::Words Words() {
  return {.feature = "column",
          .missing = "is null",
          .missing_advice = "to replace nulls",
          .names = "texts",
          .bytes_advice =
              "set \"categorical\": true if they are names, \"text_vectorization\" if they are "
              "texts, \"decode\": \"image\" if they are JPEG or PNG files, or \"decode\": \"raw\" "
              "and \"dtype\" if they are tensors"};
}

// The filters of a source. The job's validation has accepted them.
struct Filters {
  std::optional<job::RowFilter> all;       // As one condition.
  std::optional<job::RowFilter> left_out;  // The rows without it have no number.
  std::vector<job::RowFilter> counted;     // The others.

  // The rows with a number, from `first` to the one before `end`.
  ParquetFile::Selection Rows(std::function<absl::Status(int64_t row, int passed)> on_left_out,
                              int64_t first = 0, int64_t end = INT64_MAX) const {
    return {left_out ? &*left_out : nullptr, first, end, counted.empty() ? nullptr : &counted,
            std::move(on_left_out)};
  }
  const job::RowFilter* all_or_null() const { return all ? &*all : nullptr; }
};

absl::StatusOr<std::shared_ptr<const Filters>> FiltersOf(const proto::DataSource& source) {
  const auto filters = std::make_shared<Filters>();
  CAIRN_ASSIGN_OR_RETURN(filters->all, job::FilterOf(source));
  filters->left_out = filters->all;
  if (!job::FiltersNeedAllRows(source)) return filters;
  CAIRN_ASSIGN_OR_RETURN(filters->counted, job::PipelineFiltersOf(source));
  proto::DataSource others = source;
  others.clear_pipeline();
  CAIRN_ASSIGN_OR_RETURN(filters->left_out, job::FilterOf(others));
  return filters;
}

struct Table {
  std::shared_ptr<const FeatureEncoder> encoder;
  std::shared_ptr<const Filters> filters;
  std::shared_ptr<DuckdbPool> pool;
  bool skips_damaged = false;
};

absl::StatusOr<Table> TableOf(const ReadRequest& request) {
  Table table;
  CAIRN_ASSIGN_OR_RETURN(table.filters, FiltersOf(request.source));
  const proto::ParquetSource& parquet = request.source.parquet();
  table.pool = std::make_shared<DuckdbPool>(request.files.features[0]);
  table.skips_damaged = request.source.skip_damaged() > 0;
  table.encoder = std::make_shared<const FeatureEncoder>(
      parquet.features(), parquet.labels(), request.source, request.plan, request.model,
      request.label_specs, Words());
  CAIRN_RETURN_IF_ERROR(table.encoder->CheckShapes());
  return table;
}

// InvalidArgument: some rows of which the metadata speak are missing.
absl::Status CheckRows(const std::string& path, int64_t rows, int64_t expected) {
  if (rows == expected) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("data file ", path, ": it has ", rows,
                                                 " rows where its metadata has ", expected,
                                                 "; write the file again"));
}

// `rows` rows from number `first` on.
proto::DamagedRecords DamageOf(int64_t first, int64_t rows, const std::string& error) {
  proto::DamagedRecords damaged;
  damaged.set_count(rows);
  damaged.set_first_error(error);
  for (int64_t row = 0; row < rows; ++row) damaged.add_places(first + row);
  return damaged;
}

// Reads the rows [first, first + rows) of a file. Skips those with values that are refused, if the
// table skips damaged rows.
absl::StatusOr<EncodedFile> ReadPart(const Table& table, const std::string& path, int64_t first,
                                     int64_t rows, DataStorage* storage) {
  CAIRN_ASSIGN_OR_RETURN(const std::unique_ptr<ParquetFile> file,
                         ParquetFile::OpenPlanned(path, table.pool.get()));
  FeatureEncoder::Collector collector(table.encoder.get(), path, storage);
  DamageList damaged;
  int64_t counted = 0;  // Of the collector's examples.
  const auto add = [&](int64_t row, const std::vector<FeatureValues>& values) -> absl::Status {
    const absl::Status status = collector.Add(values, nullptr);
    if (!table.skips_damaged || !absl::IsInvalidArgument(status)) return status;
    const int64_t sound = collector.examples() - std::exchange(counted, collector.examples());
    damaged.Add(
        DamageOf(sound, 1, absl::StrCat("data file ", path, ": row ", row, ": ", status.message())),
        sound);
    return absl::OkStatus();
  };
  const auto selection = table.filters->Rows(
      [&collector](int64_t, int passed) { return collector.AddLeftOut(passed); }, first,
      first + rows);
  CAIRN_RETURN_IF_ERROR(file->ForEachRow(table.encoder->wanted(), selection, add));
  if (!table.filters->left_out) {
    CAIRN_RETURN_IF_ERROR(CheckRows(path, collector.examples() + damaged.records().count(), rows));
  }
  CAIRN_ASSIGN_OR_RETURN(EncodedFile part, collector.Finish());
  part.damaged = damaged.records();
  return part;
}

struct InspectedFile {
  std::vector<EncodedFile> parts;
  proto::IndexedFile entry;
  proto::DamagedRecords damaged;
};

// Reads each part alone, so that a damaged one does not hide the others.
absl::StatusOr<InspectedFile> InspectDamagedFile(const Table& table, const std::string& path,
                                                 DataStorage* storage) {
  InspectedFile result;
  CAIRN_ASSIGN_OR_RETURN(const uint64_t bytes, FileSize(path));
  result.entry.set_bytes(bytes);
  const auto file = ParquetFile::Open(path, table.pool.get());
  if (absl::IsInvalidArgument(file.status())) {
    // Nobody knows its rows, so they have no places.
    result.damaged.set_count(1);
    result.damaged.set_first_error(std::string(file.status().message()));
    return result;
  }
  CAIRN_RETURN_IF_ERROR(file.status());
  int64_t first = 0;
  DamageList damaged;
  for (const int64_t rows : (*file)->parts()) {
    result.entry.add_part_rows(rows);
    auto part = ReadPart(table, path, first, rows, storage);
    if (part.ok()) {
      damaged.Add(part->damaged, part->examples);
      result.entry.set_examples(result.entry.examples() + part->examples);
      result.entry.add_part_examples(part->examples);
      result.parts.push_back(*std::move(part));
    } else if (absl::IsInvalidArgument(part.status())) {
      damaged.Add(DamageOf(0, rows, std::string(part.status().message())), 0);
      result.entry.add_part_examples(0);
    } else {
      return part.status();
    }
    first += rows;
  }
  result.damaged = damaged.records();
  return result;
}

absl::StatusOr<InspectedFile> InspectFile(const Table& table, const std::string& path,
                                          DataStorage* storage) {
  CAIRN_ASSIGN_OR_RETURN(const std::unique_ptr<ParquetFile> file,
                         ParquetFile::Open(path, table.pool.get()));
  InspectedFile result;
  std::vector<int64_t> ends;  // Of the parts.
  for (const int64_t rows : file->parts()) {
    ends.push_back(rows + (ends.empty() ? 0 : ends.back()));
    result.entry.add_part_rows(rows);
    result.entry.add_part_examples(0);
  }
  FeatureEncoder::Collector collector(table.encoder.get(), path, storage);
  int part = 0;
  const auto count = [&](int64_t row) {
    while (part < static_cast<int>(ends.size()) && row >= ends[part]) ++part;
    if (part == static_cast<int>(ends.size())) {
      return absl::InvalidArgumentError("the file's metadata has fewer rows");
    }
    result.entry.set_part_examples(part, result.entry.part_examples(part) + 1);
    return absl::OkStatus();
  };
  const auto selection = table.filters->Rows([&](int64_t row, int passed) -> absl::Status {
    CAIRN_RETURN_IF_ERROR(count(row));
    return collector.AddLeftOut(passed);
  });
  CAIRN_RETURN_IF_ERROR(
      file->ForEachRow(table.encoder->wanted(), selection,
                       [&](int64_t row, const std::vector<FeatureValues>& values) -> absl::Status {
                         CAIRN_RETURN_IF_ERROR(count(row));
                         return collector.Add(values, nullptr);
                       }));
  if (!table.filters->left_out) {
    CAIRN_RETURN_IF_ERROR(CheckRows(path, collector.examples(), ends.empty() ? 0 : ends.back()));
  }
  result.entry.set_examples(collector.examples());
  CAIRN_ASSIGN_OR_RETURN(const uint64_t bytes, FileSize(path));
  result.entry.set_bytes(bytes);
  CAIRN_ASSIGN_OR_RETURN(result.parts.emplace_back(), collector.Finish());
  return result;
}

absl::Status AddAll(const Table& table, const ReadRequest& request, SourceArrays* all) {
  CAIRN_ASSIGN_OR_RETURN(
      const std::vector<InspectedFile> files,
      ReadAll<InspectedFile>(request.files.features[0], [&](const std::string& path) {
        return table.skips_damaged ? InspectDamagedFile(table, path, request.storage)
                                   : InspectFile(table, path, request.storage);
      }));
  DamageList damaged;
  for (const InspectedFile& file : files) {
    for (const EncodedFile& part : file.parts) {
      CAIRN_RETURN_IF_ERROR(AddRows(table.encoder->layouts(), part, all));
    }
    damaged.Add(file.damaged, file.entry.examples());
    all->index.push_back(file.entry);
  }
  all->damaged = damaged.records();
  return CheckDamage(all->damaged, request.source.skip_damaged(), "damaged row");
}

absl::Status AddDeferred(const Table& table, const ReadRequest& request, SourceArrays* all) {
  const PlannedFiles& planned = *request.planned;
  for (size_t i = 0; i < planned.index.size(); ++i) {
    const std::string& path = request.files.features[0][i];
    const proto::IndexedFile& entry = planned.index[i];
    int64_t first = 0;
    for (int part = 0; part < entry.part_rows_size(); ++part) {
      const int64_t rows = entry.part_rows(part);
      CAIRN_RETURN_IF_ERROR(AddDeferredRows(table.encoder->layouts(),
                                            {{{path, planned.fingerprints[i]}},
                                             entry.part_examples(part),
                                             [table, path, first, rows, storage = planned.storage] {
                                               return ReadPart(table, path, first, rows,
                                                               storage.get());
                                             }},
                                            all));
      first += rows;
    }
  }
  return absl::OkStatus();
}

// Adds the names of all rows for which the filters are true, and the tokens of those that are for
// training. `first` is the number of the file's first row that has one.
absl::Status AddFile(ParquetFile* file, const Filters& filters, int64_t first,
                     const IsTrainingRow& is_training, ColumnSurvey* survey) {
  const std::string& column = survey->column().name();
  if (!survey->wants_tokens()) {
    return file->ForEachName(column, filters.all_or_null(),
                             [&](std::string_view name) { return survey->AddName(name); });
  }
  TokenCounts tokens(survey->column().text_vectorization());
  int64_t row = first;
  const auto selection = filters.Rows([&row](int64_t, int) {
    ++row;
    return absl::OkStatus();
  });
  CAIRN_RETURN_IF_ERROR(
      file->ForEachRow({{column, 1, true, false}}, selection,
                       [&](int64_t, const std::vector<FeatureValues>& values) -> absl::Status {
                         if (!is_training(row++)) return absl::OkStatus();
                         for (const auto text : values[0].bytes) tokens.AddText(text);
                         return survey->CheckTokens(tokens);
                       }));
  return survey->AddTokens(tokens);
}

// As AddFile, of all rows of the parts that can be read.
absl::Status AddSoundParts(const std::string& path, const job::RowFilter* filter, DuckdbPool* pool,
                           ColumnSurvey* survey) {
  // More than a list has.
  constexpr int64_t kMost = int64_t{1} << 28;
  const auto file = ParquetFile::Open(path, pool);
  if (absl::IsInvalidArgument(file.status())) return absl::OkStatus();
  CAIRN_RETURN_IF_ERROR(file.status());
  int64_t first = 0;
  for (const int64_t rows : (*file)->parts()) {
    CAIRN_ASSIGN_OR_RETURN(const std::unique_ptr<ParquetFile> part,
                           ParquetFile::OpenPlanned(path, pool));
    TokenCounts tokens(survey->column().text_vectorization());
    absl::Status too_large;
    const absl::Status status = part->ForEachRow(
        {{survey->column().name(), kMost, true, false}}, {filter, first, first + rows},
        [&](int64_t, const std::vector<FeatureValues>& values) {
          const std::vector<int64_t>& nulls = values[0].nulls;
          for (size_t i = 0; i < values[0].bytes.size(); ++i) {
            if (absl::c_binary_search(nulls, static_cast<int64_t>(i))) continue;
            const std::string_view name = values[0].bytes[i];
            if (survey->wants_tokens()) {
              tokens.AddText(name);
            } else if (too_large.ok()) {
              too_large = survey->AddName(name);
            }
          }
          return too_large;
        });
    if (survey->wants_tokens()) CAIRN_RETURN_IF_ERROR(survey->AddTokens(tokens));
    CAIRN_RETURN_IF_ERROR(too_large);
    if (!status.ok() && !absl::IsInvalidArgument(status)) return status;
    first += rows;
  }
  return absl::OkStatus();
}

// As TrainingRowsOf wants them.
absl::StatusOr<std::vector<int32_t>> CountRows(const std::string& path, const Filters& filters,
                                               DuckdbPool* pool) {
  CAIRN_ASSIGN_OR_RETURN(const std::unique_ptr<ParquetFile> file, ParquetFile::Open(path, pool));
  std::vector<int32_t> rows;
  const auto selection = filters.Rows([&rows](int64_t, int passed) {
    rows.push_back(passed);
    return absl::OkStatus();
  });
  CAIRN_RETURN_IF_ERROR(
      file->ForEachRow({}, selection, [&](int64_t, const std::vector<FeatureValues>&) {
        rows.push_back(static_cast<int32_t>(filters.counted.size()));
        return absl::OkStatus();
      }));
  return rows;
}

}  // namespace

absl::StatusOr<SourceArrays> ReadParquet(const ReadRequest& request) {
  CAIRN_ASSIGN_OR_RETURN(const Table table, TableOf(request));
  SourceArrays result = ArraysOf(table.encoder->layouts());
  const bool is_indexed = IsIndexed(request.planned, request.files.features[0].size());
  CAIRN_RETURN_IF_ERROR(is_indexed ? AddDeferred(table, request, &result)
                                   : AddAll(table, request, &result));
  const Array& any = result.inputs.empty() ? result.labels[0] : result.inputs[0];
  if (any.rows() > 0) return result;
  return absl::InvalidArgumentError(
      absl::StrCat("data file ", request.files.features[0][0],
                   request.files.features[0].size() > 1 ? " and the others" : "",
                   ": no row is left", table.filters->all ? " for which \"filter\" is true" : ""));
}

absl::StatusOr<SourceArrays> SurveyParquet(const ReadRequest& request) {
  CAIRN_ASSIGN_OR_RETURN(const Table table, TableOf(request));
  SourceArrays found = ArraysOf(table.encoder->layouts());
  CAIRN_RETURN_IF_ERROR(AddAll(table, request, &found));
  return found;
}

absl::StatusOr<std::vector<std::string>> ListParquet(const proto::DataSource& /*source*/,
                                                     const std::vector<std::string>& names,
                                                     bool /*needs_labels*/) {
  static const auto* const parquet_files =
      new ExampleFiles{{".parquet"}, {}, ".parquet file", true};
  return ListAllFiles(names, *parquet_files);
}

absl::StatusOr<proto::DataFindings> SearchParquet(const proto::DataSource& train,
                                                  const SourceFiles& files,
                                                  const ChooseTrainingRows& choose) {
  const std::vector<std::string>& paths = files.features[0];
  CAIRN_ASSIGN_OR_RETURN(const auto filters, FiltersOf(train));
  const ColumnSurveys surveys(train.parquet().features(), train.parquet().labels(), train);
  const bool skips_damaged = train.skip_damaged() > 0;
  DuckdbPool pool(paths);
  const bool wants_rows = surveys.want_tokens() && !skips_damaged;
  CAIRN_ASSIGN_OR_RETURN(
      const TrainingRows rows,
      TrainingRowsOf(paths, wants_rows ? choose : nullptr, !filters->counted.empty(),
                     [&](const std::string& path) { return CountRows(path, *filters, &pool); }));
  return surveys.Search(paths, [&](size_t i) -> absl::Status {
    if (skips_damaged) {
      for (const auto& survey : surveys.columns()) {
        CAIRN_RETURN_IF_ERROR(AddSoundParts(paths[i], filters->all_or_null(), &pool, survey.get()));
      }
      return absl::OkStatus();
    }
    CAIRN_ASSIGN_OR_RETURN(const std::unique_ptr<ParquetFile> file,
                           ParquetFile::Open(paths[i], &pool));
    for (const auto& survey : surveys.columns()) {
      CAIRN_RETURN_IF_ERROR(
          AddFile(file.get(), *filters, rows.first[i], rows.is_training, survey.get()));
    }
    return absl::OkStatus();
  });
}

}  // namespace cairn::worker
