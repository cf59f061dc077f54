#include "job/data_formats/parquet_format.h"

#include <string>

#include "common/status_macros.h"
#include "job/data_formats/data_features.h"
#include "job/data_formats/row_filter.h"

namespace cairn::job {
namespace {

constexpr FeatureKind kKind = {.name = "column", .is_column = true};

absl::Status CheckColumns(const std::string& path, const proto::DataSource& source,
                          const DataNeeds& needs) {
  const proto::ParquetSource& parquet = source.parquet();
  CAIRN_RETURN_IF_ERROR(
      CheckDataFeatures(path, parquet.features(), parquet.labels(), needs, kKind));
  if (!parquet.has_filter()) return absl::OkStatus();
  const auto filter = ParseRowFilter(parquet.filter());
  if (filter.ok()) return absl::OkStatus();
  return Invalid(path, ".filter: ", filter.status().message());
}

absl::Status CheckModel(const std::string& path, const proto::DataSource& source,
                        const nn::Signature& model) {
  const proto::ParquetSource& parquet = source.parquet();
  return CheckFeaturesFit(path, parquet.features(), parquet.labels(), model, kKind);
}

// Columns are inherited together. The filter chooses rows, as "rows" does, and is not inherited.
void Inherit(const proto::DataSource& train, proto::DataSource* validation) {
  proto::ParquetSource& parquet = *validation->mutable_parquet();
  if (!parquet.features().empty() || !parquet.labels().empty()) return;
  *parquet.mutable_features() = train.parquet().features();
  *parquet.mutable_labels() = train.parquet().labels();
}

std::vector<OpenColumn> OpenColumnsOf(const proto::DataSource& source) {
  return OpenFeatures(source.parquet().features(), source.parquet().labels(), kKind);
}

}  // namespace

DataFormat ParquetFormat() {
  return {
      .name = "parquet",
      .lists = [](proto::DataSource* source) { return ExampleFiles(source->mutable_parquet()); },
      .extensions = {".parquet"},
      .file_example = "train-*.parquet",
      .labels_example = "LABEL_COLUMN",
      .skips_damaged = true,
      .filters = RowFilters::kReader,
      .has_text = true,
      .has_folders = true,
      .is_divisible = true,
      .open_columns = OpenColumnsOf,
      .check = CheckColumns,
      .check_model = CheckModel,
      .inherit = Inherit};
}

}  // namespace cairn::job
