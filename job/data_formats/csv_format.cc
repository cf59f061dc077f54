#include "job/data_formats/csv_format.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "job/data_formats/named_places.h"
#include "job/value_steps.h"
#include "nn/signature.h"

namespace cairn::job {
namespace {

absl::Status CheckVocabulary(const std::string& path, const proto::CsvColumn& column) {
  std::set<std::string> names;
  for (const std::string& name : column.vocabulary()) {
    if (!names.insert(name).second) {
      return Invalid(path, ".vocabulary: \"", name, "\" appears twice; keep one of them");
    }
  }
  const bool listed = names.empty() || names.count(column.missing().name()) > 0;
  if (!column.has_missing() || listed || column.unknown()) return absl::OkStatus();
  return Invalid(path, ".missing: \"", column.missing().name(), "\" is not in the vocabulary");
}

absl::Status CheckCategorical(const std::string& path, const proto::CsvColumn& column) {
  if (column.missing().has_value()) {
    return Invalid(path,
                   ".missing.value: a number, but the column holds names; set \"missing\": "
                   "\"NAME\"");
  }
  return column.has_hash() ? absl::OkStatus() : CheckVocabulary(path, column);
}

// A column whose texts have no vocabulary.
absl::Status CheckHashed(const std::string& path, const proto::CsvColumn& column) {
  const char* const field = column.has_categorical() && !column.categorical() ? "categorical"
                            : column.vocabulary_size() > 0                    ? "vocabulary"
                            : column.has_unknown()                            ? "unknown"
                                                                              : nullptr;
  if (field != nullptr) return Invalid(path, ".", field, ": conflicts with \"hash\"; leave it out");
  return CheckHashing(path + ".hash", column.hash(), /*masks_text=*/true);
}

absl::Status CheckNumeric(const std::string& path, const proto::CsvColumn& column) {
  if (!column.vocabulary().empty()) {
    return Invalid(
        path, ".vocabulary: is only for categorical columns; leave out \"categorical\": false");
  }
  if (column.unknown()) return Invalid(path, ".unknown: is only for categorical columns");
  if (column.one_hot()) return Invalid(path, ".one_hot: is only for categorical columns");
  const proto::CsvMissing& missing = column.missing();
  if (!column.has_missing()) return absl::OkStatus();
  if (missing.has_value() != missing.name().empty()) {
    return Invalid(path, ".missing: expected \"mean\" or {\"value\": NUMBER}");
  }
  if (missing.has_value()) {
    if (std::isfinite(missing.value())) return absl::OkStatus();
    return Invalid(path, ".missing.value: ", missing.value(), " is not a finite number");
  }
  if (missing.name() == "mean") return absl::OkStatus();
  return Invalid(path, ".missing: \"", missing.name(), "\" is not \"mean\" or {\"value\": NUMBER}");
}

absl::Status CheckColumn(const std::string& path, const proto::CsvColumn& column) {
  if (column.name().empty()) return Invalid(path, ".name: is missing; name a column");
  if (column.has_hash()) CAIRN_RETURN_IF_ERROR(CheckHashed(path, column));
  if (IsCategorical(column)) return CheckCategorical(path, column);
  return CheckNumeric(path, column);
}

// `labels` is the number of label columns of the same output.
absl::Status CheckLabel(const std::string& path, const proto::CsvColumn& column, int64_t labels) {
  if (column.one_hot()) {
    return Invalid(path, ".one_hot: is only for features; for labels set it beside \"csv\"");
  }
  if (column.has_input()) return Invalid(path, ".input: is only for features");
  if (column.has_hash()) return Invalid(path, ".hash: is only for features");
  if (column.unknown()) {
    return Invalid(
        path,
        ".unknown: is only for features: a label outside of the vocabulary is not one of "
        "the model's classes; leave it out and list every label in \"vocabulary\"");
  }
  if (column.missing().name() == "mean" && !IsCategorical(column)) {
    return Invalid(path, ".missing: the mean of other labels is no label");
  }
  if (labels > 1 && IsCategorical(column)) {
    return Invalid(path, ".categorical: an output has one label column of names, here are ", labels,
                   " label columns");
  }
  return absl::OkStatus();
}

absl::Status CheckSigns(const std::string& path, const proto::CsvSource& source) {
  if (source.has_delimiter()) {
    const std::string& sign = source.delimiter();
    if (sign.size() != 1 || sign == "\"" || sign == "\n" || sign == "\r") {
      return Invalid(path, ".delimiter: \"", sign,
                     "\" is not one character, such as \";\" or a tab");
    }
  }
  return absl::OkStatus();
}

// The columns of an input that takes text: a layer of the model has the vocabulary.
absl::Status CheckTextColumns(const std::string& path, const proto::CsvSource& source,
                              const std::string& input) {
  for (int i = 0; i < source.features_size(); ++i) {
    const proto::CsvColumn& column = source.features(i);
    if (column.has_input() && column.input() != input) continue;
    const char* const field = column.has_categorical()       ? "categorical"
                              : column.vocabulary_size() > 0 ? "vocabulary"
                              : column.has_unknown()         ? "unknown"
                              : column.has_one_hot()         ? "one_hot"
                              : column.has_missing()         ? "missing"
                              : column.has_hash()            ? "hash"
                                                             : nullptr;
    if (field == nullptr) continue;
    return Invalid(path, ".features[", i, "].", field, ": the model's input \"", input,
                   "\" takes the texts themselves, which its StringLookup looks up; leave it out");
  }
  return absl::OkStatus();
}

absl::Status CheckColumns(const std::string& path, const proto::DataSource& source,
                          const DataNeeds& needs) {
  CAIRN_RETURN_IF_ERROR(CheckCsvColumns(path, source.csv()));
  if (!needs.labels || !source.csv().labels().empty()) return absl::OkStatus();
  return Invalid(path, ".labels: is missing; name the column of the labels");
}

absl::Status CheckModel(const std::string& path, const proto::DataSource& source,
                        const nn::Signature& model) {
  CAIRN_RETURN_IF_ERROR(CheckCsvInputs(path, source.csv(), model));
  return CheckCsvOutputs(path, source.csv(), model);
}

// Columns are inherited together: a validation source that lists features must list its labels.
void Inherit(const proto::DataSource& training, proto::DataSource* validation) {
  const proto::CsvSource& train = training.csv();
  proto::CsvSource& csv = *validation->mutable_csv();
  if (csv.features().empty() && csv.labels().empty()) {
    *csv.mutable_features() = train.features();
    *csv.mutable_labels() = train.labels();
  }
  if (csv.missing().empty()) *csv.mutable_missing() = train.missing();
  if (!csv.has_header() && train.has_header()) csv.set_header(train.header());
  if (!csv.has_delimiter() && train.has_delimiter()) csv.set_delimiter(train.delimiter());
}

std::vector<OpenColumn> OpenColumnsOf(const proto::DataSource& source) {
  std::vector<OpenColumn> open;
  const auto add = [&open](const proto::CsvColumn& column) {
    if (!IsOpen(column)) return;
    OpenColumn& added = open.emplace_back();
    added.name = column.name();
    if (!IsCategorical(column)) {
      added.kind = OpenColumn::Kind::kMean;
      return;
    }
    if (column.has_missing()) added.name_of_missing = column.missing().name();
    added.hint = "is the column one of numbers, or of free text?";
  };
  for (const proto::CsvColumn& column : source.csv().features()) add(column);
  for (const proto::CsvColumn& column : source.csv().labels()) add(column);
  return open;
}

}  // namespace

DataFormat CsvFormat() {
  return {.name = "csv",
          .lists = [](proto::DataSource* source) { return ExampleFiles(source->mutable_csv()); },
          .extensions = {".csv", ".tsv", ".txt"},
          .file_example = "train-*.csv",
          .labels_example = "LABEL_COLUMN",
          .skips_damaged = true,
          .filters = RowFilters::kReader,
          .has_text = true,
          .is_divisible = true,
          .open_columns = OpenColumnsOf,
          .check = CheckColumns,
          .check_model = CheckModel,
          .inherit = Inherit};
}

bool IsCategorical(const proto::CsvColumn& column) {
  if (column.has_hash()) return true;
  return column.has_categorical() ? column.categorical() : !column.vocabulary().empty();
}

bool IsOpen(const proto::CsvColumn& column) {
  if (!IsCategorical(column)) return column.missing().name() == "mean";
  return !column.has_hash() && column.vocabulary().empty();
}

absl::Status CheckCsvColumns(const std::string& path, const proto::CsvSource& source) {
  CAIRN_RETURN_IF_ERROR(CheckSigns(path, source));
  std::set<std::string> names;
  const auto check = [&names](const std::string& at, const proto::CsvColumn& column) {
    CAIRN_RETURN_IF_ERROR(CheckColumn(at, column));
    if (names.insert(column.name()).second) return absl::OkStatus();
    return Invalid(at, ": column \"", column.name(), "\" appears twice; keep one of them");
  };
  for (int i = 0; i < source.features_size(); ++i) {
    const std::string at = absl::StrCat(path, ".features[", i, "]");
    CAIRN_RETURN_IF_ERROR(check(at, source.features(i)));
    if (source.features(i).has_output()) return Invalid(at, ".output: is only for labels");
  }
  for (int i = 0; i < source.labels_size(); ++i) {
    const std::string at = absl::StrCat(path, ".labels[", i, "]");
    CAIRN_RETURN_IF_ERROR(check(at, source.labels(i)));
    const int64_t labels = std::count_if(
        source.labels().begin(), source.labels().end(),
        [&](const auto& other) { return other.output() == source.labels(i).output(); });
    CAIRN_RETURN_IF_ERROR(CheckLabel(at, source.labels(i), labels));
  }
  return absl::OkStatus();
}

std::vector<std::string> VocabularyOf(const proto::CsvColumn& column, const proto::DataPlan& plan) {
  for (const auto& vocabulary : plan.vocabularies()) {
    if (column.vocabulary().empty() && vocabulary.column() == column.name()) {
      return {vocabulary.names().begin(), vocabulary.names().end()};
    }
  }
  return {column.vocabulary().begin(), column.vocabulary().end()};
}

absl::Status CheckCsvInputs(const std::string& path, const proto::CsvSource& source,
                            const nn::Signature& model) {
  std::vector<NamedPlace> columns;
  for (const proto::CsvColumn& column : source.features()) {
    columns.push_back({column.has_input(), column.input()});
  }
  CAIRN_RETURN_IF_ERROR(
      CheckNamedPlaces(path + ".features", "column", "input", NamesOf(model.inputs()), columns));
  for (size_t i = 0; i < model.inputs().size(); ++i) {
    if (model.lookup(static_cast<int>(i)) == nullptr) continue;
    CAIRN_RETURN_IF_ERROR(CheckTextColumns(path, source, model.inputs()[i].name));
  }
  return absl::OkStatus();
}

absl::Status CheckCsvOutputs(const std::string& path, const proto::CsvSource& source,
                             const nn::Signature& model) {
  std::vector<NamedPlace> columns;
  for (const proto::CsvColumn& column : source.labels()) {
    columns.push_back({column.has_output(), column.output()});
  }
  return CheckNamedPlaces(path + ".labels", "column", "output", NamesOf(model.outputs()), columns);
}

}  // namespace cairn::job
