#include "cli/model/prediction.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/plural.h"
#include "common/status_macros.h"
#include "job/data_source.h"

namespace cairn::cli {
namespace {

bool IsNpy(const std::string& file) {
  return absl::EndsWith(file, ".npy") || absl::EndsWith(file, ".npy.gz");
}

template <typename Source>
void SetArrays(const std::vector<std::string>& files, Source* source) {
  source->mutable_features()->Assign(files.begin(), files.end());
  source->clear_labels();
}

// One file, or pattern, for each input; formats with all columns in one file may have many.
absl::Status CheckCount(size_t files, int inputs) {
  if (files == static_cast<size_t>(inputs)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "the model has ", Plural(inputs, "input"), ", and --input is there ",
      Plural(static_cast<int64_t>(files), "time"), "; say it once for each, in their order"));
}

void SetFiles(const std::vector<std::string>& files, proto::DataSource* source) {
  switch (source->format_case()) {
    case proto::DataSource::kIdx:
      return SetArrays(files, source->mutable_idx());
    case proto::DataSource::kCsv:
      return source->mutable_csv()->mutable_files()->Assign(files.begin(), files.end());
    case proto::DataSource::kCifar10:
      return source->mutable_cifar10()->mutable_files()->Assign(files.begin(), files.end());
    case proto::DataSource::kCifar100:
      return source->mutable_cifar100()->mutable_files()->Assign(files.begin(), files.end());
    default:
      return SetArrays(files, source->mutable_npy());
  }
}

}  // namespace

absl::StatusOr<proto::DataSource> PredictionSource(const proto::JobPlan& plan,
                                                   const std::vector<std::string>& files,
                                                   std::optional<double> scale) {
  const proto::Job& job = plan.job();
  proto::DataSource source = job.has_validation() ? job::ValidationSource(job) : job.train();
  const auto npys = std::count_if(files.begin(), files.end(), IsNpy);
  if (npys != 0 && npys != static_cast<int64_t>(files.size())) {
    return absl::InvalidArgumentError("--input: some files are .npy and some are not");
  }
  if (npys != 0) source.mutable_npy();
  if (source.has_npy() || source.has_idx()) {
    CAIRN_RETURN_IF_ERROR(CheckCount(files.size(), plan.model().inputs_size()));
  }
  SetFiles(files, &source);
  source.clear_sample_weight();
  source.set_allow_nan(true);  // What comes of it shows in the output.
  if (scale) source.set_scale(*scale);
  return source;
}

absl::StatusOr<std::vector<Prediction>> Predict(TrainedModel trained,
                                                const std::vector<std::string>& files,
                                                std::optional<double> scale,
                                                const OfflineOptions& options) {
  CAIRN_ASSIGN_OR_RETURN(const proto::DataSource source,
                         PredictionSource(trained.plan, files, scale));
  *trained.plan.mutable_job()->mutable_validation() = source;
  std::vector<std::vector<float>> values;
  CAIRN_ASSIGN_OR_RETURN(const proto::EvaluationResult result,
                         RunOfflineTask(trained, options, &values));
  std::vector<Prediction> predictions;
  for (int i = 0; i < result.outputs_size(); ++i) {
    const proto::EvaluationResult::Output& output = result.outputs(i);
    predictions.push_back({.output = output.name(),
                           .shape = {output.shape().begin(), output.shape().end()},
                           .values = std::move(values[i])});
  }
  return predictions;
}

}  // namespace cairn::cli
