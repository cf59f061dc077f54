#include "worker/data/parquet/parquet_source.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "job/data_formats/data_features.h"
#include "job/data_formats/row_filter.h"
#include "worker/data/features/deferred_rows.h"
#include "worker/data/features/feature_encoder.h"
#include "worker/data/features/text_vectorizer.h"
#include "worker/data/files/file_folder.h"
#include "worker/data/files/load_file.h"
#include "worker/data/parquet/parquet_file.h"

namespace cairn::worker {
namespace {

constexpr size_t kVocabularyBytesMax = size_t{1} << 20;

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

// The source's filter; none if it has none. The job's validation has accepted it.
absl::StatusOr<std::shared_ptr<const job::RowFilter>> FilterOf(const proto::DataSource& source) {
  if (!source.parquet().has_filter()) return std::shared_ptr<const job::RowFilter>();
  CAIRN_ASSIGN_OR_RETURN(job::RowFilter filter, job::ParseRowFilter(source.parquet().filter()));
  return std::make_shared<const job::RowFilter>(std::move(filter));
}

struct Table {
  std::shared_ptr<const FeatureEncoder> encoder;
  std::shared_ptr<const job::RowFilter> filter;
};

struct InspectedFile {
  FeatureEncoder::File rows;
  proto::IndexedFile entry;
};

absl::StatusOr<InspectedFile> InspectFile(const Table& table, const std::string& path,
                                          DataStorage* storage) {
  CAIRN_ASSIGN_OR_RETURN(const std::unique_ptr<ParquetFile> file, ParquetFile::Open(path));
  InspectedFile result;
  std::vector<int64_t> ends;  // Of the parts.
  for (const int64_t rows : file->parts()) {
    ends.push_back(rows + (ends.empty() ? 0 : ends.back()));
    result.entry.add_part_rows(rows);
    result.entry.add_part_examples(0);
  }
  FeatureEncoder::Collector collector(table.encoder.get(), path, storage);
  int part = 0;
  CAIRN_RETURN_IF_ERROR(
      file->ForEachRow(table.encoder->wanted(), {table.filter.get()},
                       [&](int64_t row, const std::vector<FeatureValues>& values) -> absl::Status {
                         while (part < static_cast<int>(ends.size()) && row >= ends[part]) ++part;
                         if (part == static_cast<int>(ends.size())) {
                           return absl::InvalidArgumentError("the file's metadata has fewer rows");
                         }
                         result.entry.set_part_examples(part, result.entry.part_examples(part) + 1);
                         return collector.Add(values, nullptr);
                       }));
  result.entry.set_examples(collector.examples());
  CAIRN_ASSIGN_OR_RETURN(const uint64_t bytes, FileSize(path));
  result.entry.set_bytes(bytes);
  CAIRN_ASSIGN_OR_RETURN(result.rows, collector.Finish());
  return result;
}

absl::Status AddAll(const Table& table, const ReadRequest& request, SourceArrays* all) {
  CAIRN_ASSIGN_OR_RETURN(
      const std::vector<InspectedFile> files,
      ReadAll<InspectedFile>(request.files.features[0], [&](const std::string& path) {
        return InspectFile(table, path, request.storage);
      }));
  for (const InspectedFile& file : files) {
    CAIRN_RETURN_IF_ERROR(AddRows(*table.encoder, file.rows.rows, file.rows.examples, all));
    all->index.push_back(file.entry);
  }
  return absl::OkStatus();
}

absl::StatusOr<FeatureEncoder::File> ReadPart(const Table& table, const std::string& path,
                                              int64_t first, int64_t rows, DataStorage* storage) {
  CAIRN_ASSIGN_OR_RETURN(const std::unique_ptr<ParquetFile> file, ParquetFile::Open(path));
  FeatureEncoder::Collector collector(table.encoder.get(), path, storage);
  CAIRN_RETURN_IF_ERROR(file->ForEachRow(table.encoder->wanted(),
                                         {table.filter.get(), first, first + rows},
                                         [&](int64_t, const std::vector<FeatureValues>& values) {
                                           return collector.Add(values, nullptr);
                                         }));
  return collector.Finish();
}

absl::Status AddDeferred(const Table& table, const ReadRequest& request, SourceArrays* all) {
  const PlannedFiles& planned = *request.planned;
  for (size_t i = 0; i < planned.index.size(); ++i) {
    const std::string& path = request.files.features[0][i];
    const proto::IndexedFile& entry = planned.index[i];
    int64_t first = 0;
    for (int part = 0; part < entry.part_rows_size(); ++part) {
      const int64_t rows = entry.part_rows(part);
      CAIRN_RETURN_IF_ERROR(
          AddDeferredRows(table.encoder,
                          {path, entry.part_examples(part), planned.fingerprints[i],
                           [table, path, first, rows, storage = planned.storage] {
                             return ReadPart(table, path, first, rows, storage.get());
                           }},
                          all));
      first += rows;
    }
  }
  return absl::OkStatus();
}

// The names or tokens of a column in one file.
struct ColumnNames {
  std::set<std::string> names;
  std::optional<TokenCounts> tokens;
};

absl::Status AddNames(const proto::DataFeature& column, const job::RowFilter* filter,
                      ParquetFile* file, ColumnNames* names) {
  if (!column.has_text_vectorization()) {
    return file->AddNames(column.name(), filter, &names->names);
  }
  names->tokens.emplace(column.text_vectorization());
  return file->ForEachRow({{column.name(), 1, true, false}}, {filter},
                          [&](int64_t, const std::vector<FeatureValues>& values) {
                            for (const auto text : values[0].bytes) names->tokens->AddText(text);
                            return absl::OkStatus();
                          });
}

// Those of column number `index` in all files.
std::vector<std::string> Joined(const proto::DataFeature& column,
                                const std::vector<std::vector<ColumnNames>>& files, size_t index) {
  if (column.has_text_vectorization()) {
    TokenCounts all(column.text_vectorization());
    for (const auto& file : files) all.Add(*file[index].tokens);
    return all.Vocabulary(job::VocabularyMost(column.text_vectorization()));
  }
  std::set<std::string> all;
  // The name that replaces nulls has an id even if no row has it.
  if (column.has_default_name()) all.insert(column.default_name());
  for (const auto& file : files) all.insert(file[index].names.begin(), file[index].names.end());
  return {all.begin(), all.end()};
}

}  // namespace

absl::StatusOr<SourceArrays> ReadParquet(const ReadRequest& request) {
  Table table;
  CAIRN_ASSIGN_OR_RETURN(table.filter, FilterOf(request.source));
  const proto::ParquetSource& parquet = request.source.parquet();
  table.encoder = std::make_shared<const FeatureEncoder>(
      parquet.features(), parquet.labels(), request.source, request.plan, request.model,
      request.label_specs, Words());
  CAIRN_RETURN_IF_ERROR(table.encoder->CheckShapes());
  SourceArrays result;
  result.checked = true;
  result.inputs.resize(table.encoder->inputs());
  result.labels.resize(table.encoder->targets() - table.encoder->inputs());
  const bool is_indexed = IsIndexed(request.planned, request.files.features[0].size());
  CAIRN_RETURN_IF_ERROR(is_indexed ? AddDeferred(table, request, &result)
                                   : AddAll(table, request, &result));
  if (result.inputs[0].rows() > 0) return result;
  return absl::InvalidArgumentError(absl::StrCat(
      "data file ", request.files.features[0][0],
      request.files.features[0].size() > 1 ? " and the others" : "", ": no row is left",
      table.filter != nullptr ? " for which \"filter\" is true" : ""));
}

absl::StatusOr<std::vector<std::string>> ListParquet(const proto::DataSource& /*source*/,
                                                     const std::vector<std::string>& names,
                                                     bool /*needs_labels*/) {
  static const auto* const parquet_files = new ExampleFiles{{".parquet"}, {}, ".parquet file"};
  return ListAllFiles(names, *parquet_files);
}

absl::Status InspectParquet(const proto::DataSource& train, const SourceFiles& files,
                            const ChooseTrainingRows& /*choose*/, proto::DataPlan* plan) {
  CAIRN_ASSIGN_OR_RETURN(const auto filter, FilterOf(train));
  std::vector<const proto::DataFeature*> columns;
  for (const auto* list : {&train.parquet().features(), &train.parquet().labels()}) {
    for (const proto::DataFeature& column : *list) {
      const bool has_text =
          column.has_text_vectorization() && column.text_vectorization().vocabulary().empty();
      const bool has_names = job::HasNames(column) && column.vocabulary().empty();
      if (has_text || has_names) columns.push_back(&column);
    }
  }
  if (columns.empty()) return absl::OkStatus();
  // Of each column.
  using Names = std::vector<ColumnNames>;
  CAIRN_ASSIGN_OR_RETURN(
      const std::vector<Names> names,
      ReadAll<Names>(files.features[0], [&](const std::string& path) -> absl::StatusOr<Names> {
        CAIRN_ASSIGN_OR_RETURN(const std::unique_ptr<ParquetFile> file, ParquetFile::Open(path));
        Names found(columns.size());
        for (size_t i = 0; i < columns.size(); ++i) {
          CAIRN_RETURN_IF_ERROR(AddNames(*columns[i], filter.get(), file.get(), &found[i]));
        }
        return found;
      }));
  size_t bytes = 0;
  for (size_t i = 0; i < columns.size(); ++i) {
    const std::vector<std::string> all = Joined(*columns[i], names, i);
    proto::DataPlan::Vocabulary& vocabulary = *plan->add_vocabularies();
    vocabulary.set_column(columns[i]->name());
    for (const std::string& name : all) {
      vocabulary.add_names(name);
      bytes += name.size() + 4;
    }
    if (bytes <= kVocabularyBytesMax) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "column \"", columns[i]->name(), "\" has ", all.size(),
        " names: the job's vocabularies "
        "are larger than ",
        kVocabularyBytesMax >> 10, " KiB; ",
        columns[i]->has_text_vectorization() ? "set \"max_tokens\""
                                             : "is the column one of numbers, or of free text?"));
  }
  return absl::OkStatus();
}

}  // namespace cairn::worker
