#include "nn/layers/reshape.h"

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"

namespace cairn::nn {

namespace {

// Replaces a single -1 in the target shape by the remaining number of elements.
Shape ResolveTarget(Shape target, const Shape& input, LayerConfig& config) {
  const int64_t elements = ElementCount(input);
  int64_t* open = nullptr;
  int64_t given = 1;
  for (int64_t& dimension : target) {
    if (dimension == -1 && open == nullptr) {
      open = &dimension;
    } else if (dimension < 1 || dimension > elements / given) {
      config.FailArgument("target_shape",
                          absl::StrCat(ShapeText(target), " cannot hold the ", elements,
                                       " elements of the input ", ShapeText(input)));
      return input;
    } else {
      given *= dimension;
    }
  }
  if (open != nullptr) *open = elements / given;
  if (ElementCount(target) != elements) {
    config.FailArgument("target_shape",
                        absl::StrCat(ShapeText(target), " does not have the ", elements,
                                     " elements of the input ", ShapeText(input)));
  }
  return target;
}

}  // namespace

absl::StatusOr<std::unique_ptr<const Layer>> ReshapeLayer::Create(LayerConfig& config) {
  TensorSpec output = config.AnyInput();
  if (config.class_name() == "Flatten") {
    config.ExpectChannelsLast();
    output.shape = {ElementCount(output.shape)};
  } else if (config.class_name() == "Reshape") {
    const std::optional<std::vector<int64_t>> target = config.Ints("target_shape", -1);
    if (!target.has_value()) config.FailArgument("target_shape", "is missing");
    output.shape = ResolveTarget(target.value_or(output.shape), output.shape, config);
  }
  Layer::Base base = config.base();
  if (config.class_name() == "ActivityRegularization") {
    base.activity_regularizer = {.l1 = config.Number("l1", 0, 0), .l2 = config.Number("l2", 0, 0)};
  }
  CAIRN_RETURN_IF_ERROR(config.Finish());
  return std::unique_ptr<const Layer>(new ReshapeLayer(std::move(base), std::move(output)));
}

}  // namespace cairn::nn
