#include "nn/layers/embedding.h"

#include <limits>
#include <optional>
#include <utility>

#include "common/status_macros.h"

namespace cairn::nn {

absl::StatusOr<std::unique_ptr<const Layer>> EmbeddingLayer::Create(LayerConfig& config) {
  // Ids are non-negative int32.
  const int64_t rows =
      config.Int("input_dim", std::nullopt, 1, std::numeric_limits<int32_t>::max());
  const int64_t width = config.Int("output_dim", std::nullopt, 1);
  const bool masks_zero = config.Bool("mask_zero", false);
  // input_length repeats the input's shape, and `sparse` affects only how TensorFlow computes.
  config.Ignore({"input_length", "sparse"});
  std::vector<LayerVariable> variables = {config.Variable("embeddings", {rows, width}, "uniform")};
  TensorSpec output{.shape = config.AnyInput().shape};
  output.shape.push_back(width);
  CAIRN_RETURN_IF_ERROR(config.Finish());
  return std::unique_ptr<const Layer>(
      new EmbeddingLayer(config.base(), std::move(output), std::move(variables), masks_zero));
}

}  // namespace cairn::nn
