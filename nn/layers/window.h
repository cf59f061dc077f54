#ifndef CAIRN_NN_LAYERS_WINDOW_H_
#define CAIRN_NN_LAYERS_WINDOW_H_

#include <array>
#include <cstdint>

#include "nn/layer_config.h"
#include "nn/tensor.h"

namespace cairn::nn {

// How a kernel or pool slides over height and width, and what follows for one input size.
// TensorFlow's rules: "same" pads what is needed for ceil(input / stride) outputs, the smaller half
// first; "valid" pads nothing; "causal" pads like "same" without strides, all of it before.
// https://www.tensorflow.org/api_docs/python/tf/nn#notes_on_padding_2
struct Window {
  std::array<int64_t, 2> size = {1, 1};
  std::array<int64_t, 2> strides = {1, 1};
  std::array<int64_t, 2> dilation = {1, 1};
  std::array<int64_t, 2> padding_before = {0, 0};
  std::array<int64_t, 2> padding_after = {0, 0};
  std::array<int64_t, 2> output = {1, 1};
};

// What a layer's arguments say of its window. `size_argument`'s default is 2 unless it is
// required; "strides" are the window's size if `strides_follow_size`, else 1; "padding";
// "dilation_rate" if `dilates`. In one dimension everything is one number, and the window slides
// over an image of one row.
struct WindowRules {
  const char* size_argument;
  bool size_required = false;
  bool strides_follow_size = false;
  bool dilates = false;
  bool one_dimension = false;
  bool may_be_causal = false;
};
struct WindowArguments {
  enum class Padding { kValid, kSame, kCausal };
  std::array<int64_t, 2> size = {1, 1};
  std::array<int64_t, 2> strides = {1, 1};
  std::array<int64_t, 2> dilation = {1, 1};
  Padding padding = Padding::kValid;
};
WindowArguments ReadWindowArguments(const WindowRules& rules, LayerConfig& config);

// The window over an image (height, width, channels). Fails `config` if a dimension would be left
// without output.
Window SlideWindow(const WindowArguments& arguments, const Shape& image, LayerConfig& config);

// Both together.
Window ReadWindow(const WindowRules& rules, const Shape& image, LayerConfig& config);

// (steps, channels) as an image of one row; images stay what they are.
Shape ImageOf(const Shape& shape);
// The way back: without the row if `one_dimension`.
Shape WithoutRow(Shape image, bool one_dimension);

}  // namespace cairn::nn

#endif  // CAIRN_NN_LAYERS_WINDOW_H_
