#ifndef CAIRN_CLI_MODEL_WARM_START_H_
#define CAIRN_CLI_MODEL_WARM_START_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "cli/job_source.h"
#include "cli/model_reader.h"
#include "cluster/variable_transfer.h"
#include "nn/variable_spec.h"
#include "proto/job.pb.h"

namespace cairn::cli {

// The initial values of a job that resumes from another job or from a file.
struct WarmStart {
  std::string from;  // "checkpoint 3 of job 7 (base)", "base/model.json".
  // Of all of the new model's variables, in its order: their values or, with the state of the
  // optimizer, `states`.
  std::vector<std::vector<float>> variables;
  std::vector<cluster::VariableState> states;
  int64_t taken = 0;
  // Variables that were not found: "dense_2/kernel", with its shape if that did not match.
  std::vector<std::string> fresh;
  // Weights of the file that the model does not have.
  std::vector<std::string> left;
};

// The initial values, without resume_from, of the variable at `position` in the model.
std::vector<float> FreshValues(const nn::VariableSpec& variable, const SubmittedModel& model,
                               size_t position, uint64_t seed);

// Prefixes "resume_from: " to an error.
absl::Status AtResumeFrom(const absl::Status& status);

// Reads the values of job.resume_from() from `source`. Variables are matched by name and shape.
// Others get their values from the model's file or from their initializers. Errors as
// ReadTrainedModel, and InvalidArgument if no variable is found; all start with "resume_from". With
// resume_from.with_optimizer all variables must be there, and the optimizer must be the same.
absl::StatusOr<WarmStart> ReadWarmStart(JobSource* source, const proto::Job& job,
                                        const SubmittedModel& model);

// Messages for the user, one line each.
std::vector<std::string> WarmStartNotes(const WarmStart& warm);

}  // namespace cairn::cli

#endif  // CAIRN_CLI_MODEL_WARM_START_H_
