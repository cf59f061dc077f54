#include "worker/data/csv/csv_survey.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "job/data_findings.h"
#include "job/data_formats/csv_format.h"
#include "job/exact_sum.h"
#include "worker/data/csv/csv_file.h"
#include "worker/data/csv/csv_filter.h"
#include "worker/data/csv/csv_value.h"

namespace cairn::worker {
namespace {

// What the survey collects for one column.
struct Subject {
  const proto::CsvColumn* column;
  int place = 0;             // Index of the source's columns.
  bool wants_names = false;  // Otherwise the mean.
  std::set<std::string, std::less<>> names;
  job::ExactSum sum;
  int64_t count = 0;
  // Some row has no finite number: CsvEncoder reports it, if such rows are not allowed.
  bool is_bad = false;
};

class Survey {
 public:
  explicit Survey(const proto::CsvSource& source) : source_(source) {
    for (const auto& column : source.features()) Want(column);
    for (const auto& column : source.labels()) Want(column);
  }

  // All columns of the source, so that a file without any of them is detected.
  const std::vector<std::string>& columns() const { return columns_; }

  absl::Status Add(const CsvRow& row, bool is_training) {
    for (Subject& subject : subjects_) {
      if (!row.has(subject.place)) {
        subject.is_bad = true;
        continue;
      }
      const std::string_view field = row.field(subject.place);
      if (IsMissing(field, source_)) continue;
      if (subject.wants_names) {
        CAIRN_RETURN_IF_ERROR(AddName(field, &subject));
      } else if (is_training) {
        AddNumber(field, &subject);
      }
    }
    return absl::OkStatus();
  }

  proto::DataFindings Found() const {
    proto::DataFindings found;
    for (const Subject& subject : subjects_) {
      proto::DataFindings::Column& column = *found.add_columns();
      for (const std::string& name : subject.names) column.add_names(name);
      column.set_count(subject.count);
      *column.mutable_sum() = subject.sum.ToProto();
      column.set_is_bad(subject.is_bad);
    }
    return found;
  }

 private:
  void Want(const proto::CsvColumn& column) {
    const int place = static_cast<int>(columns_.size());
    columns_.push_back(column.name());
    const bool categorical = job::IsCategorical(column);
    if (!job::IsOpen(column)) return;
    subjects_.push_back({&column, place, categorical});
  }

  absl::Status AddName(std::string_view field, Subject* subject) {
    if (subject->names.find(field) != subject->names.end()) return absl::OkStatus();
    subject->names.emplace(field);
    vocabulary_bytes_ += job::NameBytes(field);
    if (vocabulary_bytes_ <= job::kVocabularyBytesMax) return absl::OkStatus();
    return BadField(
        subject->column->name(), field,
        absl::StrCat("is name ", subject->names.size(), ": the job's vocabularies are larger than ",
                     job::kVocabularyBytesMax >> 10,
                     " KiB; is the column one of numbers, or of free text?"));
  }

  static void AddNumber(std::string_view field, Subject* subject) {
    const std::optional<double> value = ParseNumber(field);
    if (value && std::isfinite(*value)) {
      subject->sum.Add(*value);
      ++subject->count;
    } else {
      subject->is_bad = true;
    }
  }

  const proto::CsvSource& source_;
  std::vector<std::string> columns_;
  std::vector<Subject> subjects_;
  size_t vocabulary_bytes_ = 0;
};

}  // namespace

proto::CsvSource WithAllColumns(proto::CsvSource source, const std::vector<std::string>& columns) {
  if (!source.features().empty()) return source;
  std::set<std::string> labels;
  for (const auto& label : source.labels()) labels.insert(label.name());
  for (const std::string& column : columns) {
    if (labels.count(column) == 0) source.add_features()->set_name(column);
  }
  return source;
}

absl::StatusOr<CsvRowCount> CountCsvRows(const std::vector<std::string>& files,
                                         const proto::CsvSource& source,
                                         std::shared_ptr<const RowCondition> condition) {
  std::vector<std::string> columns;
  const CsvFilter filter(std::move(condition), source, &columns);
  CsvRowCount count;
  for (const std::string& file : files) {
    CAIRN_RETURN_IF_ERROR(
        ReadCsvRows(file, source, columns, [&](const CsvRow& row) -> absl::Status {
          CAIRN_ASSIGN_OR_RETURN(const int passed, filter.Passed(row));
          if (filter.needs_all_rows()) {
            count.passed.push_back(passed);
          } else if (passed < filter.filters()) {
            return absl::OkStatus();
          }
          ++count.rows;
          return absl::OkStatus();
        }));
  }
  return count;
}

absl::StatusOr<proto::DataFindings> SurveyCsvColumns(
    const std::vector<std::string>& files, const proto::CsvSource& source,
    const std::function<bool(int64_t row)>& is_training,
    std::shared_ptr<const RowCondition> condition) {
  Survey survey(source);
  std::vector<std::string> columns = survey.columns();
  const CsvFilter filter(std::move(condition), source, &columns);
  int64_t rows = 0;
  for (const std::string& file : files) {
    CAIRN_RETURN_IF_ERROR(
        ReadCsvRows(file, source, columns, [&](const CsvRow& row) -> absl::Status {
          CAIRN_ASSIGN_OR_RETURN(const int passed, filter.Passed(row));
          const bool is_kept = passed == filter.filters();
          if (!is_kept && !filter.needs_all_rows()) return absl::OkStatus();
          const int64_t number = rows++;
          return is_kept ? survey.Add(row, is_training(number)) : absl::OkStatus();
        }));
  }
  return survey.Found();
}

}  // namespace cairn::worker
