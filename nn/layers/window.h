#ifndef CAIRN_NN_LAYERS_WINDOW_H_
#define CAIRN_NN_LAYERS_WINDOW_H_

#include <array>
#include <cstdint>

#include "nn/layer_config.h"
#include "nn/tensor.h"

namespace cairn::nn {

// How a kernel or pool slides over height and width, and what follows for one input size.
// TensorFlow's rules: "same" pads what is needed for ceil(input / stride) outputs, the smaller half
// first; "valid" pads nothing. https://www.tensorflow.org/api_docs/python/tf/nn#notes_on_padding_2
struct Window {
  std::array<int64_t, 2> size = {1, 1};
  std::array<int64_t, 2> strides = {1, 1};
  std::array<int64_t, 2> dilation = {1, 1};
  std::array<int64_t, 2> padding_before = {0, 0};
  std::array<int64_t, 2> padding_after = {0, 0};
  std::array<int64_t, 2> output = {1, 1};
};

// Reads `size_argument` (with that default; null: required), "strides" (default: the window's size
// if `strides_follow_size`, else 1), "padding", and "dilation_rate" if `dilates`. Fails `config` if
// a dimension would be left without output.
struct WindowRules {
  const char* size_argument;
  bool size_required = false;
  bool strides_follow_size = false;
  bool dilates = false;
};
Window ReadWindow(const WindowRules& rules, const Shape& input, LayerConfig& config);

}  // namespace cairn::nn

#endif  // CAIRN_NN_LAYERS_WINDOW_H_
