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

// Checks that there is one file, or pattern, for each input.
absl::Status CheckCount(size_t files, int inputs) {
  if (files == static_cast<size_t>(inputs)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "the model has ", Plural(inputs, "input"), ", and --input is given ",
      Plural(static_cast<int64_t>(files), "time"), "; give it once for each input, in this order"));
}

// Sets what does not depend on the format.
void Prepare(const PredictionInput& input, proto::DataSource* source) {
  source->set_allow_nan(true);  // The output shows the effect.
  if (input.scale) source->set_scale(*input.scale);
  if (!input.rows) return;
  source->add_rows(input.rows->first);
  source->add_rows(input.rows->second);
}

// The number of times that --input is given for a zipped source: once for each of its inputs if
// these are in files of their own.
int FilesOfSource(const proto::ZippedSource& zipped) {
  return job::FormatOf(zipped.source())->has_array_files() ? zipped.inputs_size() : 1;
}

// The zip with other files for its inputs, in the order of the sources. The labels stay as they
// are: nobody reads them.
absl::StatusOr<proto::DataSource> ZipForPrediction(proto::DataSource zip,
                                                   const PredictionInput& input) {
  int sources = 0;
  int wanted = 0;
  for (const proto::ZippedSource& zipped : zip.zip()) {
    if (zipped.inputs().empty()) continue;
    ++sources;
    wanted += FilesOfSource(zipped);
  }
  if (static_cast<int>(input.files.size()) != wanted) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the job's data are a zip, with inputs in ", Plural(sources, "source"),
        ", and --input is given ", Plural(static_cast<int64_t>(input.files.size()), "time"),
        ", not ", wanted, "; give it for each of the sources, in this order: once, or once for ",
        "each input of a source whose inputs are in files of their own"));
  }
  auto file = input.files.begin();
  for (proto::ZippedSource& zipped : *zip.mutable_zip()) {
    if (zipped.inputs().empty()) continue;
    const std::vector<std::string> files(file, file + FilesOfSource(zipped));
    file += FilesOfSource(zipped);
    proto::DataSource& source = *zipped.mutable_source();
    if (zipped.inputs_size() == 1 && IsNpy(files[0])) source.mutable_npy();
    job::ReplaceFiles(files, &source);
    Prepare(input, &source);
  }
  return zip;
}

}  // namespace

absl::StatusOr<proto::DataSource> PredictionSource(const proto::JobPlan& plan,
                                                   const PredictionInput& input) {
  const std::vector<std::string>& files = input.files;
  const proto::Job& job = plan.job();
  proto::DataSource source =
      job::TemplateOf(job.has_validation() ? job::ValidationSource(job) : job.train());
  if (!source.zip().empty()) return ZipForPrediction(std::move(source), input);
  const auto npys = std::count_if(files.begin(), files.end(), IsNpy);
  if (npys != 0 && npys != static_cast<int64_t>(files.size())) {
    return absl::InvalidArgumentError("--input: some files are .npy and some are not");
  }
  if (npys != 0) source.mutable_npy();
  if (job::FormatOf(source) == nullptr) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--input: ", files.empty() ? "" : files[0],
        " is no .npy file; data of another format are described in a job file: --job_file "
        "JOB.json"));
  }
  // Several files of whole examples follow each other.
  if (job::FormatOf(source)->has_array_files()) {
    CAIRN_RETURN_IF_ERROR(CheckCount(files.size(), plan.model().inputs_size()));
  }
  job::ReplaceFiles(files, &source);
  Prepare(input, &source);
  return source;
}

absl::StatusOr<std::vector<Prediction>> Predict(TrainedModel trained, const PredictionInput& input,
                                                const InferencePlace& place) {
  CAIRN_ASSIGN_OR_RETURN(const proto::DataSource source, PredictionSource(trained.plan, input));
  *trained.plan.mutable_job()->mutable_validation() = source;
  std::vector<std::vector<float>> values;
  CAIRN_ASSIGN_OR_RETURN(const proto::EvaluationResult result,
                         RunInference(trained, place, &values));
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
