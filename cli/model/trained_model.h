#ifndef CAIRN_CLI_MODEL_TRAINED_MODEL_H_
#define CAIRN_CLI_MODEL_TRAINED_MODEL_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "cli/job_source.h"
#include "nn/formats/export_format.h"
#include "proto/job.pb.h"

namespace cairn::cli {

// Names of weights in a file that are the state of an optimizer: "optimizer/updates", the number of
// its updates, and "optimizer/SLOT/WEIGHT" for each slot of each weight that it trains.
inline constexpr char kOptimizerPrefix[] = "optimizer/";
inline constexpr char kUpdatesName[] = "optimizer/updates";

// A job's model with the values of one checkpoint.
struct TrainedModel {
  proto::JobPlan plan;
  proto::Manifest checkpoint;
  // For each of plan.partition's variables its elements; empty if they were not read.
  std::vector<std::vector<float>> variables;
  // The state of the optimizer, if it was read: for an export of weights.
  std::vector<nn::NamedTensor> optimizer;
  // One of the job's several models, whose plan this is; empty: the job's only one, or all.
  std::string part;
  // The model file that it was read from (file_model.h); empty: it is a job's.
  std::string file;
  // Whether the plan's training data are known. Otherwise they are a copy of the validation data.
  bool has_train = true;

  // For messages: "model.keras", "job 3 (fashion_mnist)".
  std::string Title() const;
};

// Identifies a checkpoint of a job.
struct CheckpointChoice {
  CheckpointChoice() = default;
  // Allows a number as the choice.
  CheckpointChoice(uint64_t number) : checkpoint(number) {}

  // 0: the job's result, which is the newest unless a callback restores the best.
  uint64_t checkpoint = 0;
  // The checkpoint with the best monitored value, which a callback keeps. If there are several, the
  // first that is not the job's result.
  bool best = false;
};

// InvalidArgument: both a number and the best are chosen. NotFound: there is no such job or
// checkpoint. FailedPrecondition: the job has no checkpoint yet, or no callback keeps the best.
absl::StatusOr<TrainedModel> FindTrainedModel(JobSource* source, const std::string& job,
                                              const CheckpointChoice& choice);
// The same, with the variables.
absl::StatusOr<TrainedModel> ReadTrainedModel(JobSource* source, const std::string& job,
                                              const CheckpointChoice& choice);
// The same, with the state of the optimizer. The variables have the values that training continues
// with, also where their average is the trained model (use_ema). InvalidArgument: the job has
// several models.
absl::StatusOr<TrainedModel> ReadModelWithOptimizer(JobSource* source, const std::string& job,
                                                    const CheckpointChoice& choice);

// Chooses one of the models of the job: afterwards the plan is that of a job of this model alone.
// If the job has one model, `name` is empty. InvalidArgument begins with "--model".
absl::Status SelectModel(const std::string& name, TrainedModel* model);

// The format of an export to `output`, by its extension. A name without the extension of a file is
// a folder. InvalidArgument, which begins with `flag` ("--output") and lists the formats: no
// format has the extension.
absl::StatusOr<const nn::ExportFormat*> ChooseExportFormat(const std::string& flag,
                                                           const std::string& output);

// Writes the files of the format, and makes the folders above them. Imported weights keep their
// names. Returns the file that users load.
absl::StatusOr<std::string> ExportModel(const TrainedModel& model, const nn::ExportFormat& format,
                                        const std::string& output);

}  // namespace cairn::cli

#endif  // CAIRN_CLI_MODEL_TRAINED_MODEL_H_
