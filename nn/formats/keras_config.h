#ifndef CAIRN_NN_FORMATS_KERAS_CONFIG_H_
#define CAIRN_NN_FORMATS_KERAS_CONFIG_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "nn/model.h"
#include "proto/model.pb.h"

namespace cairn::nn {

// The architecture of a model as Keras 3 writes it.
struct KerasConfig {
  std::string json;
  // Indices into the nodes of the model: its layers, in the order of Keras's Model.layers, which
  // numbers their weights (see keras_weights.h).
  std::vector<int> layers;
};

// `model` is the model of `spec`. InvalidArgument names the layer if Keras 3 would compute a
// different result.
absl::StatusOr<KerasConfig> WriteKerasConfig(const proto::ModelSpec& spec, const Model& model);

}  // namespace cairn::nn

#endif  // CAIRN_NN_FORMATS_KERAS_CONFIG_H_
