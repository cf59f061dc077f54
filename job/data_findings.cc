#include "job/data_findings.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "common/printable.h"
#include "common/status_macros.h"
#include "job/data_source.h"

namespace cairn::job {
namespace {

constexpr int64_t kCountMax = std::numeric_limits<int64_t>::max();

}  // namespace

absl::Status TooManyNames(const OpenColumn& column, size_t names) {
  return absl::InvalidArgumentError(
      absl::StrCat(column.what, " \"", PrintableLine(column.name), "\" has ", names,
                   column.kind == OpenColumn::Kind::kTokens ? " tokens" : " names",
                   " or more: the job's vocabularies are larger than ", kVocabularyBytesMax >> 10,
                   " KiB; ", column.hint));
}

std::vector<std::string> SortedClasses(const std::set<std::string>& names) {
  std::vector<std::string> classes(names.begin(), names.end());
  const auto number = [](const std::string& name) {
    int64_t value = 0;
    return absl::SimpleAtoi(name, &value) ? std::optional<int64_t>(value) : std::nullopt;
  };
  if (absl::c_all_of(classes, [&](const auto& name) { return number(name).has_value(); })) {
    absl::c_stable_sort(
        classes, [&](const auto& one, const auto& other) { return *number(one) < *number(other); });
  }
  return classes;
}

bool SearchesTrainingRows(const proto::Job& job) {
  const proto::DataSource& train = job.train();
  if (!ChoosesRows(job, train)) return false;
  // Where damaged records are skipped, the numbers of the others are not known before all are read.
  if (train.skip_damaged() > 0 && !train.has_csv()) return false;
  return absl::c_any_of(OpenColumns(train), [](const OpenColumn& column) {
    return column.kind != OpenColumn::Kind::kNames;
  });
}

DataFindings::DataFindings(const proto::DataSource& train)
    : columns_(OpenColumns(train)), found_(columns_.size()) {}

absl::Status DataFindings::Add(const proto::DataFindings& part) {
  if (part.columns_size() != static_cast<int>(columns_.size())) {
    return absl::InvalidArgumentError(
        absl::StrCat("findings about ", part.columns_size(), " columns, not ", columns_.size()));
  }
  std::vector<ExactSum> sums(columns_.size());
  for (size_t i = 0; i < columns_.size(); ++i) {
    const proto::DataFindings::Column& column = part.columns(static_cast<int>(i));
    const bool has_wrong_token =
        absl::c_any_of(column.tokens(), [](const auto& token) { return token.count() < 0; });
    if (has_wrong_token || column.count() < 0 || column.count() > kCountMax - found_[i].count) {
      return absl::InvalidArgumentError(
          absl::StrCat("impossible counts of column \"", PrintableLine(columns_[i].name), "\""));
    }
    CAIRN_ASSIGN_OR_RETURN(sums[i], ExactSum::Create(column.sum()));
  }
  for (size_t i = 0; i < columns_.size(); ++i) {
    const proto::DataFindings::Column& column = part.columns(static_cast<int>(i));
    Found& found = found_[i];
    for (const std::string& name : column.names()) {
      if (found.names.insert(name).second) bytes_ += NameBytes(name);
    }
    for (const auto& token : column.tokens()) {
      const auto [known, is_new] = found.tokens.try_emplace(token.token(), 0);
      if (is_new) bytes_ += NameBytes(token.token());
      known->second += std::min(token.count(), kCountMax - known->second);
    }
    found.sum.Add(sums[i]);
    found.count += column.count();
    found.is_bad |= column.is_bad();
  }
  return absl::OkStatus();
}

// Of tokens with the same count, the one with the larger bytes is first, as in Keras.
std::vector<std::string> DataFindings::VocabularyOf(const OpenColumn& column, const Found& found) {
  if (column.kind == OpenColumn::Kind::kNames) {
    std::set<std::string> names = found.names;
    if (column.name_of_missing.has_value()) names.insert(*column.name_of_missing);
    return column.may_be_numbers ? SortedClasses(names)
                                 : std::vector<std::string>(names.begin(), names.end());
  }
  std::vector<std::pair<int64_t, std::string>> sorted;
  for (const auto& [token, count] : found.tokens) sorted.emplace_back(count, token);
  std::sort(sorted.rbegin(), sorted.rend());
  if (static_cast<int64_t>(sorted.size()) > column.most) sorted.resize(column.most);
  std::vector<std::string> tokens;
  for (auto& [count, token] : sorted) tokens.push_back(std::move(token));
  return tokens;
}

absl::Status DataFindings::Report(proto::DataPlan* plan) const {
  size_t bytes = 0;
  for (size_t i = 0; i < columns_.size(); ++i) {
    const OpenColumn& column = columns_[i];
    const Found& found = found_[i];
    if (column.kind != OpenColumn::Kind::kMean) {
      proto::DataPlan::Vocabulary& vocabulary = *plan->add_vocabularies();
      vocabulary.set_column(column.name);
      for (const std::string& name : VocabularyOf(column, found)) {
        vocabulary.add_names(name);
        bytes += NameBytes(name);
      }
      if (bytes > kVocabularyBytesMax) return TooManyNames(column, vocabulary.names_size());
      continue;
    }
    if (found.count == 0 && !found.is_bad) {
      return absl::InvalidArgumentError(absl::StrCat(
          "column \"", column.name,
          "\": has no number in the training data to make the mean of, only missing values"));
    }
    proto::DataPlan::Fill& fill = *plan->add_fills();
    fill.set_column(column.name);
    fill.set_value(found.count > 0 ? found.sum.Mean(found.count) : 0);
  }
  return absl::OkStatus();
}

}  // namespace cairn::job
