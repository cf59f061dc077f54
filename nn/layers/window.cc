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

void SlideAlong(int axis, const char* axis_name, Padding padding, int64_t input, Window* window,
                LayerConfig& config) {
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
    config.Fail(absl::StrCat("a window of ", extent, " does not fit into ", input, " ", axis_name));
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
  SlideAlong(0, "rows", arguments.padding, image[0], &window, config);
  SlideAlong(1, "columns", arguments.padding, image[1], &window, config);
  return window;
}

int64_t TransposedLength(const WindowArguments& arguments, int axis, int64_t input,
                         std::optional<int64_t> extra, LayerConfig& config) {
  const int64_t size = arguments.size[axis];
  const int64_t stride = arguments.strides[axis];
  const int64_t dilation = arguments.dilation[axis];
  if (std::max({input, size, stride, dilation, extra.value_or(0)}) > kWindowSizeMax) {
    config.Fail(absl::StrCat("window or input has a side longer than ", kWindowSizeMax));
    return 0;
  }
  if (extra.has_value() && *extra >= stride) {
    config.FailArgument("output_padding",
                        absl::StrCat("must be smaller than the strides, is ", *extra));
    return 0;
  }
  const int64_t extent = (size - 1) * dilation + 1;
  const bool is_same = arguments.padding == Padding::kSame;
  int64_t length = input * stride + (is_same ? 0 : std::max<int64_t>(extent - stride, 0));
  if (extra.has_value()) {
    const int64_t padding = is_same ? extent / 2 : 0;
    length = (input - 1) * stride + extent - 2 * padding + *extra;
  }
  if (length < 1) config.Fail("its output would be empty");
  return std::max<int64_t>(length, 0);
}

std::array<int64_t, 3> ReadTriple(const char* argument,
                                  std::optional<std::array<int64_t, 3>> default_value,
                                  LayerConfig& config) {
  const std::optional<std::vector<int64_t>> numbers = config.Ints(argument, 1, kWindowSizeMax);
  if (!numbers.has_value()) {
    if (!default_value.has_value()) config.FailArgument(argument, "is missing");
    return default_value.value_or(std::array<int64_t, 3>{1, 1, 1});
  }
  if (numbers->size() == 1) return {(*numbers)[0], (*numbers)[0], (*numbers)[0]};
  if (numbers->size() == 3) return {(*numbers)[0], (*numbers)[1], (*numbers)[2]};
  config.FailArgument(argument,
                      absl::StrCat("must be one or three numbers, has ", numbers->size()));
  return {1, 1, 1};
}

VolumeWindow ReadVolumeWindow(const WindowRules& rules, const Shape& volume, LayerConfig& config) {
  using Triple = std::array<int64_t, 3>;
  const Triple size =
      ReadTriple(rules.size_argument,
                 rules.size_required ? std::nullopt : std::optional<Triple>({2, 2, 2}), config);
  const Triple strides =
      ReadTriple("strides", rules.strides_follow_size ? size : Triple{1, 1, 1}, config);
  Triple dilation = {1, 1, 1};
  if (rules.dilates) dilation = ReadTriple("dilation_rate", dilation, config);
  const Padding padding =
      config.Choice("padding", {"valid", "same"}) == "same" ? Padding::kSame : Padding::kValid;
  VolumeWindow window;
  window.plane = SlideWindow({.size = {size[1], size[2]},
                              .strides = {strides[1], strides[2]},
                              .dilation = {dilation[1], dilation[2]},
                              .padding = padding},
                             {volume[1], volume[2]}, config);
  window.depth = {.size = {size[0], 1}, .strides = {strides[0], 1}, .dilation = {dilation[0], 1}};
  if (volume[0] > kWindowSizeMax) {
    config.Fail(absl::StrCat("the volume has a side longer than ", kWindowSizeMax));
    return window;
  }
  SlideAlong(0, "planes", padding, volume[0], &window.depth, config);
  return window;
}

std::vector<int64_t> VolumeWindow::Pixels(const Shape& volume) const {
  // The positions along an axis that each element of the window reads at each place.
  const auto along = [](const Window& window, int axis, int64_t at, int64_t i) {
    return at * window.strides[axis] - window.padding_before[axis] + i * window.dilation[axis];
  };
  const Shape outputs = output();
  const Shape sizes = size();
  std::vector<int64_t> pixels;
  pixels.reserve(ElementCount(outputs) * ElementCount(sizes));
  for (int64_t at = 0; at < ElementCount(outputs); ++at) {
    const int64_t column = at % outputs[2];
    const int64_t row = at / outputs[2] % outputs[1];
    const int64_t plane_index = at / outputs[2] / outputs[1];
    for (int64_t i = 0; i < ElementCount(sizes); ++i) {
      const int64_t z = along(depth, 0, plane_index, i / sizes[2] / sizes[1]);
      const int64_t y = along(plane, 0, row, i / sizes[2] % sizes[1]);
      const int64_t x = along(plane, 1, column, i % sizes[2]);
      const bool is_inside =
          z >= 0 && z < volume[0] && y >= 0 && y < volume[1] && x >= 0 && x < volume[2];
      pixels.push_back(is_inside ? (z * volume[1] + y) * volume[2] + x : -1);
    }
  }
  return pixels;
}

Window ReadWindow(const WindowRules& rules, const Shape& image, LayerConfig& config) {
  return SlideWindow(ReadWindowArguments(rules, config), image, config);
}

Shape WithoutRow(Shape image, bool one_dimension) {
  if (one_dimension) image.erase(image.begin());
  return image;
}

}  // namespace cairn::nn
