#include "nn/layers/input.h"

#include <cmath>
#include <cstdint>
#include <string>
#include <utility>

#include "common/status_macros.h"
#include "nn/tensor.h"
#include "proto/model.pb.h"

namespace cairn::nn {

namespace {

// Reads batch_shape as nn/formats writes it: the first entry is the batch (null).
Shape ReadShape(const proto::LayerSpec& spec, LayerConfig& config) {
  const auto found = spec.config().fields().find("batch_shape");
  if (found == spec.config().fields().end()) {
    config.FailArgument("batch_shape", "is missing");
    return {};
  }
  const auto& entries = found->second.list_value().values();
  if (entries.empty()) config.FailArgument("batch_shape", "is not a list of dimensions");
  Shape shape;
  for (int i = 1; i < entries.size(); ++i) {
    const double dimension = entries[i].number_value();
    if (!(dimension >= 1 && dimension <= static_cast<double>(kTensorElementsMax)) ||
        std::floor(dimension) != dimension) {
      config.FailArgument("batch_shape",
                          "needs a positive whole number for every dimension "
                          "beside the batch");
      return {};
    }
    shape.push_back(static_cast<int64_t>(dimension));
  }
  return shape;
}

}  // namespace

absl::StatusOr<std::unique_ptr<const Layer>> InputLayer::Create(LayerConfig& config) {
  config.Ignore({"optional", "input_tensor"});
  if (config.Bool("sparse", false)) config.FailArgument("sparse", "is not supported");
  if (config.Bool("ragged", false)) config.FailArgument("ragged", "is not supported");
  TensorSpec output;
  output.shape = ReadShape(config.spec(), config);
  const std::string type = config.Choice("dtype", {"float32", "int32", "int64", "uint8", "string"});
  output.type = type == "float32" ? proto::FLOAT32 : proto::INT32;
  CAIRN_RETURN_IF_ERROR(config.Finish());
  return std::unique_ptr<const Layer>(
      new InputLayer(config.base(), std::move(output), type == "string"));
}

}  // namespace cairn::nn
