#include "nn/layers/window.h"

#include <algorithm>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"

namespace cairn::nn {

namespace {

using Pair = std::array<int64_t, 2>;
using Padding = WindowArguments::Padding;

// The product of two such sizes fits int64.
constexpr int64_t kWindowSizeMax = int64_t{1} << 20;

void SlideAlong(int axis, Padding padding, int64_t input, Window* window, LayerConfig& config) {
  const int64_t extent = (window->size[axis] - 1) * window->dilation[axis] + 1;
  const int64_t stride = window->strides[axis];
  int64_t before = 0;
  int64_t after = 0;
  if (padding == Padding::kCausal) before = extent - 1;
  if (padding == Padding::kSame) {
    const int64_t output = (input + stride - 1) / stride;
    const int64_t both = std::max<int64_t>((output - 1) * stride + extent - input, 0);
    before = both / 2;
    after = both - before;
  }
  if (extent > input + before + after) {
    config.Fail(absl::StrCat("a window of ", extent, " does not fit into ", input,
                             axis == 0 ? " rows" : " columns"));
    return;
  }
  window->padding_before[axis] = before;
  window->padding_after[axis] = after;
  window->output[axis] = (input + before + after - extent) / stride + 1;
}

bool Fits(const Pair& pair) { return pair[0] <= kWindowSizeMax && pair[1] <= kWindowSizeMax; }

// Reads one or two numbers. In one dimension the number is the width; the height is 1.
Pair ReadPair(const char* argument, std::optional<Pair> default_value, bool one_dimension,
              LayerConfig& config) {
  if (!one_dimension) return config.Pair(argument, default_value);
  const std::optional<std::vector<int64_t>> numbers = config.Ints(argument, 1);
  if (!numbers.has_value()) {
    if (!default_value.has_value()) config.FailArgument(argument, "is missing");
    return {1, default_value.value_or(Pair{1, 1})[1]};
  }
  if (numbers->size() != 1) {
    config.FailArgument(argument, absl::StrCat("must be one number, is ", numbers->size()));
    return {1, 1};
  }
  return {1, (*numbers)[0]};
}

}  // namespace

WindowArguments ReadWindowArguments(const WindowRules& rules, LayerConfig& config) {
  const bool flat = rules.one_dimension;
  WindowArguments arguments;
  arguments.size =
      ReadPair(rules.size_argument,
               rules.size_required ? std::nullopt : std::optional<Pair>({2, 2}), flat, config);
  arguments.strides =
      ReadPair("strides", rules.strides_follow_size ? arguments.size : Pair{1, 1}, flat, config);
  if (rules.dilates) arguments.dilation = ReadPair("dilation_rate", Pair{1, 1}, flat, config);
  const std::string padding = rules.may_be_causal
                                  ? config.Choice("padding", {"valid", "same", "causal"})
                                  : config.Choice("padding", {"valid", "same"});
  if (padding == "same") arguments.padding = Padding::kSame;
  if (padding == "causal") arguments.padding = Padding::kCausal;
  return arguments;
}

Window SlideWindow(const WindowArguments& arguments, const Shape& image, LayerConfig& config) {
  Window window{
      .size = arguments.size, .strides = arguments.strides, .dilation = arguments.dilation};
  if (!Fits(window.size) || !Fits(window.strides) || !Fits(window.dilation) ||
      !Fits({image[0], image[1]})) {
    config.Fail(absl::StrCat("window or image has a side longer than ", kWindowSizeMax));
    return Window{};
  }
  for (int axis = 0; axis < 2; ++axis) {
    SlideAlong(axis, arguments.padding, image[axis], &window, config);
  }
  return window;
}

Window ReadWindow(const WindowRules& rules, const Shape& image, LayerConfig& config) {
  return SlideWindow(ReadWindowArguments(rules, config), image, config);
}

Shape ImageOf(const Shape& shape) {
  return shape.size() == 2 ? Shape{1, shape[0], shape[1]} : shape;
}

Shape WithoutRow(Shape image, bool one_dimension) {
  if (one_dimension) image.erase(image.begin());
  return image;
}

}  // namespace cairn::nn
