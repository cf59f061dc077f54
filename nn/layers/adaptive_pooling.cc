#include "nn/layers/adaptive_pooling.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/status_macros.h"

namespace cairn::nn {
namespace {

// The product of two sides fits int64.
constexpr int64_t kSideMax = int64_t{1} << 20;

}  // namespace

absl::StatusOr<std::unique_ptr<const Layer>> AdaptivePoolingLayer::Create(LayerConfig& config) {
  const size_t rank = absl::EndsWith(config.class_name(), "1D")   ? 1
                      : absl::EndsWith(config.class_name(), "3D") ? 3
                                                                  : 2;
  const Shape& input = config.FloatInput(rank + 1, rank + 1).shape;
  config.ExpectChannelsLast();
  const std::optional<std::vector<int64_t>> given = config.Ints("output_size", 1, kSideMax);
  if (!given.has_value()) config.FailArgument("output_size", "is missing");
  std::vector<int64_t> size = given.value_or(std::vector<int64_t>{1});
  if (size.size() == 1) size.resize(rank, size[0]);
  if (size.size() != rank) {
    config.FailArgument("output_size",
                        absl::StrCat("must be ", rank == 1 ? "" : "one number or ", rank,
                                     rank == 1 ? " number" : " numbers", ", has ", size.size()));
  }
  if (*std::max_element(input.begin(), input.end() - 1) > kSideMax) {
    config.Fail(absl::StrCat("the input has a side longer than ", kSideMax));
  }
  CAIRN_RETURN_IF_ERROR(config.Finish());
  TensorSpec output{.shape = Shape(size.begin(), size.end())};
  output.shape.push_back(input.back());
  const bool is_maximum = absl::StartsWith(config.class_name(), "AdaptiveMax");
  return std::unique_ptr<const Layer>(new AdaptivePoolingLayer(
      config.base(), std::move(output), is_maximum ? Kind::kMaximum : Kind::kAverage));
}

}  // namespace cairn::nn
