#ifndef CAIRN_CLI_MODEL_PREDICTION_FILE_H_
#define CAIRN_CLI_MODEL_PREDICTION_FILE_H_

#include <string>

#include "absl/status/status.h"
#include "cli/model/prediction.h"

namespace cairn::cli {

// Checks that the name of a file for predictions ends with .npy or .csv. A device or a pipe may
// have any name and gets .npy. InvalidArgument starts with `flag` ("--output").
absl::Status CheckPredictionFile(const std::string& flag, const std::string& file);

// Writes the predictions of one output in the format of the file's name:
//   .npy  a float32 array in the prediction's shape;
//   .csv  RFC 4180: a header, then a line for each example, in their order, with all elements of
//   its
//         output. A column is called by the output and the element's place on each axis ("kind_2",
//         "boxes_0_3"; of a class's probability its number). Numbers are the shortest that give the
//         same float32 back.
// Errors as WriteFile's.
absl::Status WritePrediction(const std::string& file, const Prediction& prediction);

}  // namespace cairn::cli

#endif  // CAIRN_CLI_MODEL_PREDICTION_FILE_H_
