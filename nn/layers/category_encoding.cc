#include "nn/layers/category_encoding.h"

#include <optional>
#include <string>

#include "common/status_macros.h"

namespace cairn::nn {

absl::StatusOr<std::unique_ptr<const Layer>> CategoryEncodingLayer::Create(LayerConfig& config) {
  // Ids are non-negative int32.
  constexpr int64_t kTokensMax = (int64_t{1} << 31) - 1;
  const int64_t tokens = config.Int("num_tokens", std::nullopt, 1, kTokensMax);
  const std::string word = config.Choice("output_mode", {"multi_hot", "one_hot", "count"});
  if (config.Bool("sparse", false)) config.FailArgument("sparse", "is not supported");
  TensorSpec output{.shape = config.AnyInput().shape};
  int64_t group = 1;
  if (!output.shape.empty() && (word != "one_hot" || output.shape.back() == 1)) {
    group = output.shape.back();
    output.shape.pop_back();
  }
  output.shape.push_back(tokens);
  CAIRN_RETURN_IF_ERROR(config.Finish());
  Mode mode = Mode::kOneHot;
  if (word == "multi_hot") mode = Mode::kMultiHot;
  if (word == "count") mode = Mode::kCount;
  return std::unique_ptr<const Layer>(
      new CategoryEncodingLayer(config.base(), std::move(output), mode, group));
}

}  // namespace cairn::nn
