#ifndef CAIRN_CLI_MODEL_TRAINED_MODEL_H_
#define CAIRN_CLI_MODEL_TRAINED_MODEL_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "cli/job_source.h"
#include "proto/job.pb.h"

namespace cairn::cli {

// A job's model with the values of one checkpoint.
struct TrainedModel {
  proto::JobPlan plan;
  proto::Manifest checkpoint;
  // For each of plan.partition's variables its elements.
  std::vector<std::vector<float>> variables;
};

// `checkpoint` 0 is the newest. NotFound: there is no such job or checkpoint; FailedPrecondition:
// the job has none yet.
absl::StatusOr<TrainedModel> ReadTrainedModel(JobSource* source, const std::string& job,
                                              uint64_t checkpoint);

// Writes FOLDER/model.json and FOLDER/weights.bin, a TF.js layers model. Imported weights keep
// their names.
absl::Status ExportModel(const TrainedModel& model, const std::string& folder);

}  // namespace cairn::cli

#endif  // CAIRN_CLI_MODEL_TRAINED_MODEL_H_
