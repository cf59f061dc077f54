#include "worker/data/csv/csv_source.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/plural.h"
#include "common/status_macros.h"
#include "job/data_source.h"
#include "worker/data/csv/csv_encoder.h"
#include "worker/data/csv/csv_file.h"
#include "worker/data/csv/csv_survey.h"
#include "worker/data/encoded_rows.h"
#include "worker/data/row_condition.h"

namespace cairn::worker {
namespace {

// The source with all its columns named.
absl::StatusOr<proto::DataSource> WithColumns(const ReadRequest& request) {
  proto::DataSource named = request.source;
  proto::CsvSource& csv = *named.mutable_csv();
  if (csv.features().empty() && !request.model.inputs().empty()) {
    std::vector<std::string> columns(request.plan.csv_features().begin(),
                                     request.plan.csv_features().end());
    if (columns.empty()) {
      CAIRN_ASSIGN_OR_RETURN(columns, ReadCsvColumns(request.files.features[0][0], csv));
    }
    csv = WithAllColumns(csv, columns);
  }
  if (request.label_specs.empty()) csv.clear_labels();
  return named;
}

// Joins the problems of the columns and of the files into one message.
absl::Status JoinProblems(std::vector<std::string> problems,
                          const std::vector<absl::StatusOr<CsvEncoder::File>>& files) {
  constexpr size_t kShown = 5;
  for (const auto& file : files) {
    if (file.ok()) continue;
    if (!absl::IsInvalidArgument(file.status())) return file.status();
    problems.push_back(std::string(file.status().message()));
  }
  if (problems.empty()) return absl::OkStatus();
  const size_t more = problems.size() - std::min(problems.size(), kShown);
  problems.resize(problems.size() - more);
  return absl::InvalidArgumentError(
      absl::StrCat(absl::StrJoin(problems, "; "),
                   more > 0 ? absl::StrCat("; and ", more, " more files have problems") : ""));
}

// InvalidArgument: more rows of all files are damaged than may be skipped.
absl::Status CheckDamagedRows(int64_t damaged, int64_t most, std::vector<std::string> errors) {
  if (damaged <= most) return absl::OkStatus();
  constexpr size_t kShown = 5;
  const size_t more = errors.size() - std::min(errors.size(), kShown);
  errors.resize(errors.size() - more);
  return absl::InvalidArgumentError(absl::StrCat(
      Plural(damaged, "damaged record"), ", \"skip_damaged\" allows ", most, ": ",
      absl::StrJoin(errors, "; "), more > 0 ? absl::StrCat("; and in ", more, " more files") : ""));
}

absl::Status NoRowIsLeft() {
  return absl::InvalidArgumentError("no row is left for which \"filter\" is true");
}

absl::StatusOr<std::shared_ptr<const CsvEncoder>> EncoderOf(const ReadRequest& request) {
  CAIRN_ASSIGN_OR_RETURN(const proto::DataSource named, WithColumns(request));
  CAIRN_ASSIGN_OR_RETURN(auto condition, RowCondition::Of(request.source));
  return std::make_shared<const CsvEncoder>(named, request.plan, request.model, request.label_specs,
                                            std::move(condition));
}

// Divides the cores among the files that are read in parallel.
int ParsersOf(const ReadRequest& request) {
  return std::max(1, ReadersOf(kReadersMax) / ReadersOf(request.files.features[0].size()));
}

absl::Status AddAll(const CsvEncoder& encoder, const ReadRequest& request, SourceArrays* all) {
  const std::vector<std::string>& paths = request.files.features[0];
  const int parsers = ParsersOf(request);
  using File = CsvEncoder::File;
  std::vector<absl::StatusOr<File>> read = ReadEach<File>(paths, [&](const std::string& path) {
    return encoder.ReadFile(path, parsers, request.storage);
  });
  std::vector<std::string> problems = encoder.InputProblems();
  if (request.source.csv().features().empty()) {
    for (std::string& problem : problems) {
      problem += " (all columns but the labels; choose by \"features\")";
    }
  }
  for (std::string& problem : encoder.LabelProblems()) problems.push_back(std::move(problem));
  CAIRN_RETURN_IF_ERROR(JoinProblems(std::move(problems), read));
  CAIRN_ASSIGN_OR_RETURN(std::vector<File> encoded, AllOf(std::move(read)));
  std::vector<EncodedFile> files;
  std::vector<std::string> errors;
  for (File& file : encoded) {
    files.push_back(std::move(file.rows));
    if (!file.all_errors.empty()) errors.push_back(std::move(file.all_errors));
  }
  CAIRN_RETURN_IF_ERROR(AddInspectedFiles(encoder.layouts(), paths, files, all));
  return CheckDamagedRows(all->damaged.count(), request.source.skip_damaged(), std::move(errors));
}

}  // namespace

absl::StatusOr<SourceArrays> SurveyCsv(const ReadRequest& request) {
  CAIRN_ASSIGN_OR_RETURN(const auto encoder, EncoderOf(request));
  SourceArrays found = ArraysOf(encoder->layouts());
  CAIRN_RETURN_IF_ERROR(AddAll(*encoder, request, &found));
  return found;
}

absl::StatusOr<SourceArrays> ReadCsv(const ReadRequest& request) {
  CAIRN_ASSIGN_OR_RETURN(const auto encoder, EncoderOf(request));
  SourceArrays result = ArraysOf(encoder->layouts());
  const std::vector<std::string>& files = request.files.features[0];
  const int parsers = ParsersOf(request);
  std::shared_ptr<DataStorage> storage;
  if (request.planned != nullptr) storage = request.planned->storage;
  const auto read = [=](const std::string& path) -> absl::StatusOr<EncodedFile> {
    CAIRN_ASSIGN_OR_RETURN(CsvEncoder::File file, encoder->ReadFile(path, parsers, storage.get()));
    return std::move(file.rows);
  };
  CAIRN_RETURN_IF_ERROR(
      IsIndexed(request.planned, files.size())
          ? AddDeferredFiles(encoder->layouts(), files, *request.planned, read, &result)
          : AddAll(*encoder, request, &result));
  CAIRN_ASSIGN_OR_RETURN(const auto condition, RowCondition::Of(request.source));
  const Array& any = result.inputs.empty() ? result.labels[0] : result.inputs[0];
  if (condition != nullptr && any.rows() == 0) return NoRowIsLeft();
  return result;
}

absl::Status InspectCsv(const proto::DataSource& train, const SourceFiles& files,
                        proto::DataPlan* plan) {
  if (!train.csv().features().empty()) return absl::OkStatus();
  CAIRN_ASSIGN_OR_RETURN(const auto columns, ReadCsvColumns(files.features[0][0], train.csv()));
  const proto::CsvSource source = WithAllColumns(train.csv(), columns);
  for (const auto& column : source.features()) plan->add_csv_features(column.name());
  return absl::OkStatus();
}

absl::StatusOr<proto::DataFindings> SearchCsv(const proto::DataSource& train,
                                              const SourceFiles& files,
                                              const ChooseTrainingRows& choose) {
  const std::vector<std::string>& names = files.features[0];
  CAIRN_ASSIGN_OR_RETURN(const auto columns, ReadCsvColumns(names[0], train.csv()));
  const proto::CsvSource source = WithAllColumns(train.csv(), columns);
  CAIRN_ASSIGN_OR_RETURN(const auto condition, RowCondition::Of(train));
  IsTrainingRow is_training = [](int64_t) { return true; };
  if (choose) {
    CAIRN_ASSIGN_OR_RETURN(const CsvRowCount count, CountCsvRows(names, source, condition));
    absl::StatusOr<IsTrainingRow> chosen = choose(count.rows, count.passed);
    if (condition != nullptr && count.rows == 0 && absl::IsInvalidArgument(chosen.status())) {
      return NoRowIsLeft();
    }
    CAIRN_ASSIGN_OR_RETURN(is_training, std::move(chosen));
  }
  return SurveyCsvColumns(names, source, is_training, condition);
}

}  // namespace cairn::worker
