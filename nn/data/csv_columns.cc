#include "nn/data/csv_columns.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/status_macros.h"

namespace cairn::nn {
namespace {

template <typename... Parts>
absl::Status Bad(const Parts&... parts) {
  return absl::InvalidArgumentError(absl::StrCat(parts...));
}

absl::Status CheckVocabulary(const std::string& path, const proto::CsvColumn& column) {
  std::set<std::string> names;
  for (const std::string& name : column.vocabulary()) {
    if (!names.insert(name).second) {
      return Bad(path, ".vocabulary: \"", name, "\" is there twice; leave one of them");
    }
  }
  const bool listed = names.empty() || names.count(column.missing().name()) > 0;
  if (!column.has_missing() || listed || column.unknown()) return absl::OkStatus();
  return Bad(path, ".missing: \"", column.missing().name(), "\" is not in the vocabulary");
}

absl::Status CheckCategorical(const std::string& path, const proto::CsvColumn& column) {
  if (column.missing().has_value()) {
    return Bad(path,
               ".missing.value: a number, but the column holds names; say \"missing\": "
               "\"NAME\"");
  }
  return CheckVocabulary(path, column);
}

absl::Status CheckNumeric(const std::string& path, const proto::CsvColumn& column) {
  if (!column.vocabulary().empty()) {
    return Bad(path,
               ".vocabulary: is of categorical columns only; leave out \"categorical\": false");
  }
  if (column.unknown()) return Bad(path, ".unknown: is of categorical columns only");
  if (column.one_hot()) return Bad(path, ".one_hot: is of categorical columns only");
  const proto::CsvMissing& missing = column.missing();
  if (!column.has_missing()) return absl::OkStatus();
  if (missing.has_value() != missing.name().empty()) {
    return Bad(path, ".missing: expected \"mean\" or {\"value\": NUMBER}");
  }
  if (missing.has_value()) {
    if (std::isfinite(missing.value())) return absl::OkStatus();
    return Bad(path, ".missing.value: ", missing.value(), " is not a finite number");
  }
  if (missing.name() == "mean") return absl::OkStatus();
  return Bad(path, ".missing: \"", missing.name(), "\" is not \"mean\" or {\"value\": NUMBER}");
}

absl::Status CheckColumn(const std::string& path, const proto::CsvColumn& column) {
  if (column.name().empty()) return Bad(path, ".name: is missing; say which column");
  if (IsCategorical(column)) return CheckCategorical(path, column);
  return CheckNumeric(path, column);
}

absl::Status CheckLabel(const std::string& path, const proto::CsvColumn& column, int labels) {
  if (column.one_hot()) {
    return Bad(path, ".one_hot: is of features; for labels it stands beside \"csv\"");
  }
  if (column.has_input()) return Bad(path, ".input: is of features only");
  if (column.missing().name() == "mean" && !IsCategorical(column)) {
    return Bad(path, ".missing: the mean of other labels is no label");
  }
  if (labels > 1 && IsCategorical(column)) {
    return Bad(path, ".categorical: a job has one label column of names, here are ", labels,
               " label columns");
  }
  return absl::OkStatus();
}

absl::Status CheckSigns(const std::string& path, const proto::CsvSource& source) {
  if (source.has_delimiter()) {
    const std::string& sign = source.delimiter();
    if (sign.size() != 1 || sign == "\"" || sign == "\n" || sign == "\r") {
      return Bad(path, ".delimiter: \"", sign, "\" is not one character, such as \";\" or a tab");
    }
  }
  if (!source.labels().empty()) return absl::OkStatus();
  return Bad(path, ".labels: is missing; say which column has the labels");
}

}  // namespace

bool IsCategorical(const proto::CsvColumn& column) {
  return column.has_categorical() ? column.categorical() : !column.vocabulary().empty();
}

absl::Status CheckCsvColumns(const std::string& path, const proto::CsvSource& source) {
  CAIRN_RETURN_IF_ERROR(CheckSigns(path, source));
  std::set<std::string> names;
  const auto check = [&names](const std::string& at, const proto::CsvColumn& column) {
    CAIRN_RETURN_IF_ERROR(CheckColumn(at, column));
    if (names.insert(column.name()).second) return absl::OkStatus();
    return Bad(at, ": column \"", column.name(), "\" is there twice; leave one of them");
  };
  for (int i = 0; i < source.features_size(); ++i) {
    CAIRN_RETURN_IF_ERROR(check(absl::StrCat(path, ".features[", i, "]"), source.features(i)));
  }
  for (int i = 0; i < source.labels_size(); ++i) {
    const std::string at = absl::StrCat(path, ".labels[", i, "]");
    CAIRN_RETURN_IF_ERROR(check(at, source.labels(i)));
    CAIRN_RETURN_IF_ERROR(CheckLabel(at, source.labels(i), source.labels_size()));
  }
  return absl::OkStatus();
}

absl::Status CheckCsvInputs(const std::string& path, const proto::CsvSource& source,
                            const Model& model) {
  std::vector<std::string> inputs;
  for (const Model::Input& input : model.inputs()) inputs.push_back(input.name);
  std::set<std::string> fed;
  for (int i = 0; i < source.features_size(); ++i) {
    const proto::CsvColumn& column = source.features(i);
    const std::string at = absl::StrCat(path, ".features[", i, "].input: ");
    if (!column.has_input()) {
      if (inputs.size() == 1) continue;
      return Bad(at, "is missing; the model's inputs are ", absl::StrJoin(inputs, ", "));
    }
    if (std::find(inputs.begin(), inputs.end(), column.input()) == inputs.end()) {
      return Bad(at, "the model has no input \"", column.input(), "\"; it has ",
                 absl::StrJoin(inputs, ", "));
    }
    fed.insert(column.input());
  }
  if (inputs.size() == 1 || fed.size() == inputs.size()) return absl::OkStatus();
  for (const std::string& input : inputs) {
    if (fed.count(input) > 0) continue;
    return Bad(path, ".features: no column has \"input\": \"", input, "\", which the model wants");
  }
  return absl::OkStatus();
}

}  // namespace cairn::nn
