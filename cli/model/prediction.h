#ifndef CAIRN_CLI_MODEL_PREDICTION_H_
#define CAIRN_CLI_MODEL_PREDICTION_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "cli/model/inference_place.h"
#include "cli/model/trained_model.h"
#include "proto/job.pb.h"

namespace cairn::cli {

// One of the model's outputs.
struct Prediction {
  std::string output;          // Its name.
  std::vector<int64_t> shape;  // Examples first.
  std::vector<float> values;
};

// What `cairn predict` reads.
struct PredictionInput {
  std::vector<std::string> files;
  std::optional<double> scale;
  // The first row and the one after the last; none: all rows.
  std::optional<std::pair<int64_t, int64_t>> rows;
};

// The job's data source with other files, and without labels and weights. Files ending in .npy or
// .npy.gz have the format npy. Others have the format and columns of the job's validation data or,
// if it has none, of its training data. The default of `scale` is that of the same data.
// InvalidArgument: the number of files is not that of the model's inputs, or formats are mixed.
absl::StatusOr<proto::DataSource> PredictionSource(const proto::JobPlan& plan,
                                                   const PredictionInput& input);

// Runs inference on the examples of these files. Inputs are preprocessed as in the job. Returns the
// model's outputs in order. Errors as PredictionSource and RunInference.
absl::StatusOr<std::vector<Prediction>> Predict(TrainedModel trained, const PredictionInput& input,
                                                const InferencePlace& place);

}  // namespace cairn::cli

#endif  // CAIRN_CLI_MODEL_PREDICTION_H_
