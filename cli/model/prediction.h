#ifndef CAIRN_CLI_MODEL_PREDICTION_H_
#define CAIRN_CLI_MODEL_PREDICTION_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "cli/model/offline_task.h"
#include "cli/model/trained_model.h"
#include "proto/job.pb.h"

namespace cairn::cli {

// One of the model's outputs.
struct Prediction {
  std::string output;          // Its name.
  std::vector<int64_t> shape;  // Examples first.
  std::vector<float> values;
};

// The job's data source with other files in it, without labels and weights, as RunOfflineTask takes
// it for outputs. Files ending in .npy or .npy.gz are that; all others have the format of the job's
// validation data or, if it has none, of its training data, and its columns. Every input is
// multiplied by `scale` or, without, by that of these data. InvalidArgument: the files are not one
// for each of the model's inputs, or not of one format.
absl::StatusOr<proto::DataSource> PredictionSource(const proto::JobPlan& plan,
                                                   const std::vector<std::string>& files,
                                                   std::optional<double> scale);

// Runs the model, as for inference, on the examples of these files, on this machine's CPU: its
// outputs, in their order. Inputs are prepared as the job prepares its data. Errors as
// PredictionSource's and RunOfflineTask's.
absl::StatusOr<std::vector<Prediction>> Predict(TrainedModel trained,
                                                const std::vector<std::string>& files,
                                                std::optional<double> scale,
                                                const OfflineOptions& options);

}  // namespace cairn::cli

#endif  // CAIRN_CLI_MODEL_PREDICTION_H_
