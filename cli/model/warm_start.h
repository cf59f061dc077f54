#ifndef CAIRN_CLI_MODEL_WARM_START_H_
#define CAIRN_CLI_MODEL_WARM_START_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "cli/job_source.h"
#include "cli/model_reader.h"
#include "nn/variable_spec.h"
#include "proto/job.pb.h"

namespace cairn::cli {

// The initial values of a job that takes them from another one, or from a file.
struct WarmStart {
  std::string from;  // "checkpoint 3 of job 7 (base)", "base/model.json".
  // Of all of the new model's variables, in its order.
  std::vector<std::vector<float>> variables;
  int64_t taken = 0;
  // Those that were not there: "dense_2/kernel", or with the shape that did not fit.
  std::vector<std::string> fresh;
  // What a file has and the model has not.
  std::vector<std::string> left;
};

// What a variable, at `position` in the model, starts from without anything to resume from.
std::vector<float> FreshValues(const nn::VariableSpec& variable, const SubmittedModel& model,
                               size_t position, uint64_t seed);

// "resume_from: " before an error.
absl::Status AtResumeFrom(const absl::Status& status);

// Reads the values that job.resume_from() means from `source`: variables are matched by name and
// shape, the others get the values that the model's file or their initializers give. Errors as
// ReadTrainedModel, and InvalidArgument if no variable is found; all begin with "resume_from".
absl::StatusOr<WarmStart> ReadWarmStart(JobSource* source, const proto::Job& job,
                                        const SubmittedModel& model);

// What a person is told about it, a line each.
std::vector<std::string> WarmStartNotes(const WarmStart& warm);

}  // namespace cairn::cli

#endif  // CAIRN_CLI_MODEL_WARM_START_H_
