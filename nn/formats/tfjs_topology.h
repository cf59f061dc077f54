#ifndef CAIRN_NN_FORMATS_TFJS_TOPOLOGY_H_
#define CAIRN_NN_FORMATS_TFJS_TOPOLOGY_H_

#include <nlohmann/json_fwd.hpp>

#include "absl/status/statusor.h"
#include "proto/model.pb.h"

namespace cairn::nn {

// Returns the "modelTopology" of `spec`, in Keras 2's format with TF.js's spelling.
// INVALID_ARGUMENT names the layer if TF.js would compute a different result.
absl::StatusOr<nlohmann::json> TfjsTopology(const proto::ModelSpec& spec);

}  // namespace cairn::nn

#endif  // CAIRN_NN_FORMATS_TFJS_TOPOLOGY_H_
