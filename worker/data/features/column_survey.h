#ifndef CAIRN_WORKER_DATA_FEATURES_COLUMN_SURVEY_H_
#define CAIRN_WORKER_DATA_FEATURES_COLUMN_SURVEY_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/mutex.h"
#include "job/data_formats/data_features.h"
#include "job/data_formats/data_format.h"
#include "proto/job.pb.h"
#include "worker/data/data_reader.h"
#include "worker/data/features/text_vectorizer.h"

namespace cairn::worker {

// What formats with named features share in DataReader::search.

// The names or tokens that all files have in a column without a vocabulary. Files add what they
// find, so that an inspection ends as soon as there is too much of it. Thread-safe.
class ColumnSurvey {
 public:
  // `column` must outlive it.
  ColumnSurvey(const proto::DataFeature& column, const job::OpenColumn& open);

  const proto::DataFeature& column() const { return column_; }
  bool wants_tokens() const { return column_.has_text_vectorization(); }

  // InvalidArgument: the vocabulary is too large.
  absl::Status AddName(std::string_view name);
  absl::Status AddTokens(const TokenCounts& tokens);
  // InvalidArgument: the tokens of some rows alone are too large.
  absl::Status CheckTokens(const TokenCounts& tokens) const;

  void AddTo(proto::DataFindings* found);

 private:
  const proto::DataFeature& column_;
  const job::OpenColumn open_;
  Mutex mutex_;
  std::set<std::string, std::less<>> names_ ABSL_GUARDED_BY(mutex_);
  size_t bytes_ ABSL_GUARDED_BY(mutex_) = 0;  // Of the names.
  TokenCounts tokens_ ABSL_GUARDED_BY(mutex_);
};

// The columns that a source leaves open, in the order of job::OpenColumns.
class ColumnSurveys {
 public:
  // `train` has these features and labels, and must outlive it.
  ColumnSurveys(const job::DataFeatures& features, const job::DataFeatures& labels,
                const proto::DataSource& train);

  const std::vector<std::unique_ptr<ColumnSurvey>>& columns() const { return columns_; }
  bool want_tokens() const;

  // Calls inspect(i), which adds to the columns, for each file, several in parallel. Returns what
  // was found, or the first error in the order of the files.
  absl::StatusOr<proto::DataFindings> Search(
      const std::vector<std::string>& files,
      const std::function<absl::Status(size_t i)>& inspect) const;

 private:
  std::vector<std::unique_ptr<ColumnSurvey>> columns_;
};

// The rows of all files that are for training.
struct TrainingRows {
  std::vector<int64_t> first;  // The number of each file's first row.
  IsTrainingRow is_training;
};
// Asks `count` for the rows of each file, as in SourceArrays::passed, and chooses. `has_passed`:
// the filters of the source need all rows. Without `choose` all rows are for training, and none are
// counted.
absl::StatusOr<TrainingRows> TrainingRowsOf(
    const std::vector<std::string>& files, const ChooseTrainingRows& choose, bool has_passed,
    const std::function<absl::StatusOr<std::vector<int32_t>>(const std::string& file)>& count);

}  // namespace cairn::worker

#endif  // CAIRN_WORKER_DATA_FEATURES_COLUMN_SURVEY_H_
