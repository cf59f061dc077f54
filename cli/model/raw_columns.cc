#include "cli/model/raw_columns.h"

#include <algorithm>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "common/utf8.h"
#include "job/data_formats/csv_format.h"
#include "job/data_formats/data_features.h"
#include "job/data_formats/text_format.h"
#include "job/preprocessing.h"

namespace cairn::cli {
namespace {

constexpr char kAdvice[] =
    ", which no layer does; export without the flag and prepare the inputs before";

// The features of a source of records, of a Parquet table or of texts.
job::DataFeatures FeaturesOf(const proto::JobPlan& plan) {
  const proto::DataSource& source = plan.job().train();
  if (source.has_tfrecord()) return source.tfrecord().features();
  if (source.has_parquet()) return source.parquet().features();
  if (!source.has_text()) return {};
  const auto& layers = plan.model().layers();
  const bool takes_text =
      std::any_of(layers.begin(), layers.end(), [](const proto::LayerSpec& layer) {
        const auto dtype = layer.config().fields().find("dtype");
        return layer.class_name() == "InputLayer" && dtype != layer.config().fields().end() &&
               dtype->second.string_value() == "string";
      });
  return job::TextFeatures(source.text(), takes_text);
}

absl::StatusOr<RawColumn> ColumnOf(const proto::CsvColumn& csv, const proto::DataPlan& plan) {
  if (csv.has_missing()) {
    return absl::InvalidArgumentError(
        absl::StrCat("missing values of column ", csv.name(), " are replaced", kAdvice));
  }
  RawColumn column;
  column.name = csv.name();
  column.input = csv.input();
  if (csv.has_hash()) column.hash = csv.hash();
  column.has_names = job::IsCategorical(csv) && !csv.has_hash();
  if (column.has_names) column.vocabulary = job::VocabularyOf(csv, plan);
  column.unknown = csv.unknown();
  column.one_hot = csv.one_hot();
  column.shape = {1};
  return column;
}

absl::StatusOr<RawColumn> ColumnOf(const proto::DataFeature& feature, const proto::DataPlan& plan) {
  const bool is_filled = feature.has_default_() || feature.has_default_name();
  if (is_filled || (job::HasNames(feature) && feature.has_max_length())) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the values of \"", feature.name(), "\" are ",
        is_filled ? "replaced where they are missing" : "lists of names, of any length", kAdvice));
  }
  RawColumn column;
  column.name = feature.name();
  column.input = feature.input();
  if (feature.has_hash()) column.hash = feature.hash();
  if (feature.has_text_vectorization()) column.text = feature.text_vectorization();
  column.has_names = job::HasNames(feature) && !column.hash && !column.text;
  if (column.text || column.has_names) column.vocabulary = job::VocabularyOf(feature, plan);
  column.unknown = feature.unknown();
  column.one_hot = feature.one_hot();
  column.shape.assign(feature.shape().begin(), feature.shape().end());
  if (feature.has_max_length()) column.shape = {feature.max_length()};
  return column;
}

absl::Status CheckNames(const RawColumn& column) {
  for (const std::string& name : column.vocabulary) {
    if (IsUtf8(name)) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("column ", column.name, " has the name \"", absl::CHexEscape(name),
                     "\", which is not UTF-8, as the text in a model is"));
  }
  return absl::OkStatus();
}

template <typename Columns>
absl::Status AddColumns(const Columns& columns, const proto::DataPlan& plan,
                        std::vector<RawColumn>* added) {
  for (const auto& column : columns) {
    CAIRN_ASSIGN_OR_RETURN(added->emplace_back(), ColumnOf(column, plan));
    CAIRN_RETURN_IF_ERROR(CheckNames(added->back()));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::vector<RawColumn>> RawColumnsOf(const proto::JobPlan& plan) {
  std::vector<RawColumn> columns;
  CAIRN_RETURN_IF_ERROR(AddColumns(plan.job().train().csv().features(), plan.data(), &columns));
  CAIRN_RETURN_IF_ERROR(AddColumns(FeaturesOf(plan), plan.data(), &columns));
  return columns;
}

}  // namespace cairn::cli
