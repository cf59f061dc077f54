#include "worker/data/csv/csv_source.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/status_macros.h"
#include "worker/data/csv/csv_encoder.h"
#include "worker/data/csv/csv_file.h"
#include "worker/data/csv/csv_survey.h"
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
                          const std::vector<absl::StatusOr<CsvEncoder::Arrays>>& files) {
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
absl::StatusOr<proto::DamagedRecords> AddDamage(const std::vector<CsvEncoder::Arrays>& files,
                                                int64_t most) {
  DamageList list;
  std::vector<std::string> errors;
  for (const CsvEncoder::Arrays& file : files) {
    const CsvDamage& damage = file.damage;
    proto::DamagedRecords its;
    its.set_count(damage.rows);
    its.set_first_error(damage.first_error);
    its.mutable_places()->Assign(damage.places.begin(), damage.places.end());
    list.Add(its, (file.inputs.empty() ? file.labels : file.inputs)[0].rows());
    if (damage.rows > 0) errors.push_back(damage.all_errors);
  }
  const proto::DamagedRecords& all = list.records();
  if (all.count() <= most) return all;
  constexpr size_t kShown = 5;
  const size_t more = errors.size() - std::min(errors.size(), kShown);
  errors.resize(errors.size() - more);
  return absl::InvalidArgumentError(absl::StrCat(
      all.count(), " damaged records, \"skip_damaged\" allows ", most, ": ",
      absl::StrJoin(errors, "; "), more > 0 ? absl::StrCat("; and in ", more, " more files") : ""));
}

}  // namespace

absl::StatusOr<SourceArrays> ReadCsv(const ReadRequest& request) {
  CAIRN_ASSIGN_OR_RETURN(const proto::DataSource named, WithColumns(request));
  CAIRN_ASSIGN_OR_RETURN(auto condition, RowCondition::Of(request.source));
  const CsvEncoder encoder(named, request.plan, request.model, request.label_specs,
                           std::move(condition));
  // Divides the cores among the files that are read in parallel.
  const int parsers =
      std::max(1, ReadersOf(kReadersMax) / ReadersOf(request.files.features[0].size()));
  using Arrays = CsvEncoder::Arrays;
  std::vector<absl::StatusOr<Arrays>> read = ReadEach<Arrays>(
      request.files.features[0],
      [&](const std::string& path) { return encoder.ReadFile(path, parsers, request.storage); });
  std::vector<std::string> problems = encoder.InputProblems();
  if (request.source.csv().features().empty()) {
    for (std::string& problem : problems) {
      problem += " (all columns but the labels; choose by \"features\")";
    }
  }
  for (std::string& problem : encoder.LabelProblems()) problems.push_back(std::move(problem));
  CAIRN_RETURN_IF_ERROR(JoinProblems(std::move(problems), read));
  CAIRN_ASSIGN_OR_RETURN(const std::vector<Arrays> arrays, AllOf(std::move(read)));
  SourceArrays result{arrays[0].inputs, arrays[0].labels};
  CAIRN_ASSIGN_OR_RETURN(result.damaged, AddDamage(arrays, request.source.skip_damaged()));
  for (size_t i = 1; i < arrays.size(); ++i) {
    for (size_t output = 0; output < result.labels.size(); ++output) {
      CAIRN_RETURN_IF_ERROR(Join(arrays[i].labels[output], &result.labels[output]));
    }
    for (size_t input = 0; input < result.inputs.size(); ++input) {
      CAIRN_RETURN_IF_ERROR(Join(arrays[i].inputs[input], &result.inputs[input]));
    }
  }
  return result;
}

absl::Status InspectCsv(const proto::DataSource& train, const SourceFiles& files,
                        const ChooseTrainingRows& choose, proto::DataPlan* plan) {
  const std::vector<std::string>& names = files.features[0];
  CAIRN_ASSIGN_OR_RETURN(const auto columns, ReadCsvColumns(names[0], train.csv()));
  const proto::CsvSource source = WithAllColumns(train.csv(), columns);
  if (train.csv().features().empty()) {
    for (const auto& column : source.features()) plan->add_csv_features(column.name());
  }
  CAIRN_ASSIGN_OR_RETURN(const auto condition, RowCondition::Of(train));
  IsTrainingRow is_training = [](int64_t) { return true; };
  if (choose) {
    CAIRN_ASSIGN_OR_RETURN(const int64_t rows, CountCsvRows(names, source, condition));
    if (condition != nullptr && rows == 0) {
      return absl::InvalidArgumentError("no row is left for which \"filter\" is true");
    }
    CAIRN_ASSIGN_OR_RETURN(is_training, choose(rows));
  }
  return SurveyCsv(names, source, is_training, plan, condition);
}

}  // namespace cairn::worker
