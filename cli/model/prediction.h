#ifndef CAIRN_CLI_MODEL_PREDICTION_H_
#define CAIRN_CLI_MODEL_PREDICTION_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "cli/model/trained_model.h"

namespace cairn::cli {

// One of the model's outputs.
struct Prediction {
  std::string output;          // Its name.
  std::vector<int64_t> shape;  // Examples first.
  std::vector<float> values;
};

// Runs the model, as for inference, on the contents of one .npy file per model input, on this
// machine's CPU: its outputs, in their order. Every input is multiplied by `scale` and then
// standardized as the job standardizes its data, if it does. `names` (of the files) are for errors.
absl::StatusOr<std::vector<Prediction>> Predict(const TrainedModel& trained,
                                                const std::vector<std::string>& npy_files,
                                                const std::vector<std::string>& names,
                                                double scale);

}  // namespace cairn::cli

#endif  // CAIRN_CLI_MODEL_PREDICTION_H_
