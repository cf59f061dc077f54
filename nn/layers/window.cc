#include "nn/layers/window.h"

#include <algorithm>
#include <optional>

#include "absl/strings/str_cat.h"

namespace cairn::nn {

namespace {

// Sizes up to here cannot overflow when they are multiplied with each other.
constexpr int64_t kWindowSizeMax = int64_t{1} << 20;

void SlideAlong(int axis, bool same, int64_t input, Window* window, LayerConfig& config) {
  const int64_t extent = (window->size[axis] - 1) * window->dilation[axis] + 1;
  const int64_t stride = window->strides[axis];
  if (!same) {
    if (extent > input) {
      config.Fail(absl::StrCat("a window of ", extent, " does not fit into ", input,
                               axis == 0 ? " rows" : " columns"));
      return;
    }
    window->output[axis] = (input - extent) / stride + 1;
    return;
  }
  const int64_t output = (input + stride - 1) / stride;
  const int64_t padding = std::max<int64_t>((output - 1) * stride + extent - input, 0);
  window->output[axis] = output;
  window->padding_before[axis] = padding / 2;
  window->padding_after[axis] = padding - padding / 2;
}

bool Fits(const std::array<int64_t, 2>& pair) {
  return pair[0] <= kWindowSizeMax && pair[1] <= kWindowSizeMax;
}

}  // namespace

Window ReadWindow(const WindowRules& rules, const Shape& input, LayerConfig& config) {
  using Pair = std::array<int64_t, 2>;
  Window window;
  window.size = config.Pair(rules.size_argument,
                            rules.size_required ? std::nullopt : std::optional<Pair>({2, 2}));
  window.strides = config.Pair("strides", rules.strides_follow_size ? window.size : Pair{1, 1});
  if (rules.dilates) window.dilation = config.Pair("dilation_rate", Pair{1, 1});
  const bool same = config.Word("padding", {"valid", "same"}) == "same";
  if (!Fits(window.size) || !Fits(window.strides) || !Fits(window.dilation) ||
      !Fits({input[0], input[1]})) {
    config.Fail(absl::StrCat("window or image has a side longer than ", kWindowSizeMax));
    return Window{};
  }
  for (int axis = 0; axis < 2; ++axis) SlideAlong(axis, same, input[axis], &window, config);
  return window;
}

}  // namespace cairn::nn
