#include "nn/layers/resizing.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "nn/layers/window.h"

namespace cairn::nn {

namespace {

constexpr int64_t kSideMax = int64_t{1} << 20;

// UpSampling: integer factors; nearest-neighbor by default.
Resize ReadFactors(const Shape& image, bool flat, LayerConfig& config) {
  std::array<int64_t, 2> factors = {1, 1};
  if (flat) {
    factors[1] = config.Int("size", 2, 1, kSideMax);
  } else {
    factors = config.Pair("size", std::array<int64_t, 2>{2, 2});
  }
  if (std::max(factors[0], factors[1]) > kSideMax || std::max(image[0], image[1]) > kSideMax) {
    config.Fail(absl::StrCat("'size' or the image has a side longer than ", kSideMax));
    return {};
  }
  Resize resize = ResizeOfAll(image, {image[0] * factors[0], image[1] * factors[1]});
  resize.nearest = flat || config.Choice("interpolation", {"nearest", "bilinear"}) == "nearest";
  return resize;
}

Resize ReadTarget(const Shape& image, LayerConfig& config) {
  const std::array<int64_t, 2> target = {config.Int("height", std::nullopt, 1, kSideMax),
                                         config.Int("width", std::nullopt, 1, kSideMax)};
  const bool crops = config.Bool("crop_to_aspect_ratio", false);
  for (const char* argument : {"pad_to_aspect_ratio", "antialias"}) {
    if (config.Bool(argument, false)) config.FailArgument(argument, "is not supported");
  }
  // Only pad_to_aspect_ratio uses these.
  config.Ignore({"fill_mode", "fill_value"});
  Resize resize = crops ? ResizeOfMiddle(image, target) : ResizeOfAll(image, target);
  resize.nearest = config.Choice("interpolation", {"bilinear", "nearest"}) == "nearest";
  return resize;
}

// CenterCrop: pixels of the middle; Keras resizes an image that is smaller.
Resize ReadCrop(const Shape& image, LayerConfig& config) {
  const std::array<int64_t, 2> target = {config.Int("height", std::nullopt, 1, kSideMax),
                                         config.Int("width", std::nullopt, 1, kSideMax)};
  if (image[0] < target[0] || image[1] < target[1]) return ResizeOfMiddle(image, target);
  Resize crop = ResizeOfAll(image, target);
  for (int axis = 0; axis < 2; ++axis) {
    crop.axes[axis].start = (image[axis] - target[axis]) / 2;
    crop.axes[axis].extent = target[axis];
  }
  return crop;
}

}  // namespace

absl::StatusOr<std::unique_ptr<const Layer>> ResizingLayer::Create(LayerConfig& config) {
  const bool flat = absl::EndsWith(config.class_name(), "1D");
  const size_t rank = flat ? 2 : 3;
  const TensorSpec& input = config.ImageInput(rank);
  const Shape image = ImageOf(input.shape);
  config.ExpectChannelsLast();
  const Resize resize = config.class_name() == "Resizing"     ? ReadTarget(image, config)
                        : config.class_name() == "CenterCrop" ? ReadCrop(image, config)
                                                              : ReadFactors(image, flat, config);
  CAIRN_RETURN_IF_ERROR(config.Finish());
  const Shape output = {resize.axes[0].output, resize.axes[1].output, image[2]};
  return std::unique_ptr<const Layer>(
      new ResizingLayer(config.base(), {.shape = WithoutRow(output, flat)}, resize));
}

}  // namespace cairn::nn
