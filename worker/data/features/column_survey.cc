#include "worker/data/features/column_survey.h"

#include <algorithm>
#include <utility>

#include "common/status_macros.h"
#include "job/data_findings.h"
#include "job/data_source.h"

namespace cairn::worker {

ColumnSurvey::ColumnSurvey(const proto::DataFeature& column, const job::OpenColumn& open)
    : column_(column), open_(open), tokens_(column.text_vectorization()) {}

absl::Status ColumnSurvey::AddName(std::string_view name) {
  MutexLock lock(&mutex_);
  if (names_.find(name) == names_.end()) {
    names_.emplace(name);
    bytes_ += job::NameBytes(name);
  }
  return bytes_ <= job::kVocabularyBytesMax ? absl::OkStatus()
                                            : job::TooManyNames(open_, names_.size());
}

absl::Status ColumnSurvey::AddTokens(const TokenCounts& tokens) {
  MutexLock lock(&mutex_);
  CAIRN_RETURN_IF_ERROR(CheckTokens(tokens_));
  tokens_.Add(tokens);
  return CheckTokens(tokens_);
}

absl::Status ColumnSurvey::CheckTokens(const TokenCounts& tokens) const {
  const bool is_cut = column_.text_vectorization().has_max_tokens();
  return is_cut || tokens.bytes() <= job::kVocabularyBytesMax
             ? absl::OkStatus()
             : job::TooManyNames(open_, tokens.size());
}

void ColumnSurvey::AddTo(proto::DataFindings* found) {
  MutexLock lock(&mutex_);
  proto::DataFindings::Column& column = *found->add_columns();
  column.mutable_names()->Assign(names_.begin(), names_.end());
  tokens_.AddTo(&column);
}

ColumnSurveys::ColumnSurveys(const job::DataFeatures& features, const job::DataFeatures& labels,
                             const proto::DataSource& train) {
  const std::vector<job::OpenColumn> open = job::OpenColumns(train);
  for (const job::DataFeatures* list : {&features, &labels}) {
    for (const proto::DataFeature& column : *list) {
      if (!job::HasOpenVocabulary(column)) continue;
      columns_.push_back(std::make_unique<ColumnSurvey>(column, open[columns_.size()]));
    }
  }
}

bool ColumnSurveys::want_tokens() const {
  return std::any_of(columns_.begin(), columns_.end(),
                     [](const auto& column) { return column->wants_tokens(); });
}

absl::StatusOr<proto::DataFindings> ColumnSurveys::Search(
    const std::vector<std::string>& files,
    const std::function<absl::Status(size_t i)>& inspect) const {
  std::vector<absl::Status> results(files.size());
  ForEachFile(
      files, [&](size_t i) { results[i] = inspect(i); },
      [&](size_t i, absl::Status error) { results[i] = std::move(error); });
  for (const absl::Status& result : results) CAIRN_RETURN_IF_ERROR(result);
  proto::DataFindings found;
  for (const auto& column : columns_) column->AddTo(&found);
  return found;
}

absl::StatusOr<TrainingRows> TrainingRowsOf(
    const std::vector<std::string>& files, const ChooseTrainingRows& choose, bool has_passed,
    const std::function<absl::StatusOr<std::vector<int32_t>>(const std::string& file)>& count) {
  TrainingRows result{std::vector<int64_t>(files.size()), [](int64_t) { return true; }};
  if (!choose) return result;
  CAIRN_ASSIGN_OR_RETURN(const auto counted, ReadAll<std::vector<int32_t>>(files, count));
  std::vector<int32_t> passed;
  for (size_t i = 0; i < counted.size(); ++i) {
    result.first[i] = static_cast<int64_t>(passed.size());
    passed.insert(passed.end(), counted[i].begin(), counted[i].end());
  }
  const auto rows = static_cast<int64_t>(passed.size());
  if (!has_passed) passed.clear();
  CAIRN_ASSIGN_OR_RETURN(result.is_training, choose(rows, passed));
  return result;
}

}  // namespace cairn::worker
