#ifndef CAIRN_NN_FORMATS_TFJS_TOPOLOGY_H_
#define CAIRN_NN_FORMATS_TFJS_TOPOLOGY_H_

#include <nlohmann/json_fwd.hpp>

#include "absl/status/statusor.h"
#include "proto/model.pb.h"

namespace cairn::nn {

// The "modelTopology" of `spec`: Keras 2's words, in the spelling that TF.js knows.
// INVALID_ARGUMENT names the layer if TF.js would load it and compute something else.
absl::StatusOr<nlohmann::json> TfjsTopology(const proto::ModelSpec& spec);

}  // namespace cairn::nn

#endif  // CAIRN_NN_FORMATS_TFJS_TOPOLOGY_H_
