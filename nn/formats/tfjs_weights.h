#ifndef CAIRN_NN_FORMATS_TFJS_WEIGHTS_H_
#define CAIRN_NN_FORMATS_TFJS_WEIGHTS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "nn/formats/imported_model.h"
#include "nn/formats/json_node.h"

namespace cairn::nn {

// Reads a TF.js weight manifest: groups of {paths, weights}. The concatenated files of a group
// contain its weights in order, without gaps: float32, or quantized to float16, uint16 or uint8.

// The paths of all groups, in order. INVALID_ARGUMENT if one leaves the model's folder.
absl::StatusOr<std::vector<std::string>> ReadWeightPaths(const JsonNode& manifest);

// The weights of all groups. `file_contents` has the contents of each file of ReadWeightPaths, in
// order.
absl::StatusOr<std::vector<NamedTensor>> ReadWeights(const JsonNode& manifest,
                                                     absl::Span<const std::string> file_contents);

}  // namespace cairn::nn

#endif  // CAIRN_NN_FORMATS_TFJS_WEIGHTS_H_
