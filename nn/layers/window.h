#ifndef CAIRN_NN_LAYERS_WINDOW_H_
#define CAIRN_NN_LAYERS_WINDOW_H_

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "nn/layer_config.h"
#include "nn/tensor.h"

namespace cairn::nn {

// The geometry of a convolution or pooling window over an image of one size. The entries of each
// array are height and width. Padding follows TensorFlow: "same" pads for ceil(input / stride)
// outputs, with the smaller half before; "valid" does not pad; "causal" pads before only, so that
// an output depends on earlier steps only.
// https://www.tensorflow.org/api_docs/python/tf/nn#notes_on_padding_2
struct Window {
  std::array<int64_t, 2> size = {1, 1};
  std::array<int64_t, 2> strides = {1, 1};
  std::array<int64_t, 2> dilation = {1, 1};
  std::array<int64_t, 2> padding_before = {0, 0};
  std::array<int64_t, 2> padding_after = {0, 0};
  std::array<int64_t, 2> output = {1, 1};
};

// Which window arguments a layer has. The size defaults to 2 unless it is required. "strides"
// default to the size if `strides_follow_size`, otherwise to 1. "padding" is always read,
// "dilation_rate" if `dilates`. In one dimension every argument is one number, and the window
// slides over an image of one row.
struct WindowRules {
  const char* size_argument;
  bool size_required = false;
  bool strides_follow_size = false;
  bool dilates = false;
  bool one_dimension = false;
  bool may_be_causal = false;
};
// A layer's window arguments, as read.
struct WindowArguments {
  enum class Padding { kValid, kSame, kCausal };
  std::array<int64_t, 2> size = {1, 1};
  std::array<int64_t, 2> strides = {1, 1};
  std::array<int64_t, 2> dilation = {1, 1};
  Padding padding = Padding::kValid;
};
WindowArguments ReadWindowArguments(const WindowRules& rules, LayerConfig& config);

// Computes the window over an image (height, width, channels). Records an error in `config` if the
// output would be empty.
Window SlideWindow(const WindowArguments& arguments, const Shape& image, LayerConfig& config);

// The output length of a transposed convolution along an axis (Keras's deconv_output_length).
// `extra` is output_padding, which Keras infers if it is absent. 0 if it records an error in
// `config`: a length or an argument that is out of range, or an empty output.
int64_t TransposedLength(const WindowArguments& arguments, int axis, int64_t input,
                         std::optional<int64_t> extra, LayerConfig& config);

// The geometry of a window over a volume (depth, height, width, channels): one along the depth, in
// the entries of height, and one over each plane.
struct VolumeWindow {
  Window depth;
  Window plane;

  Shape size() const { return {depth.size[0], plane.size[0], plane.size[1]}; }
  Shape output() const { return {depth.output[0], plane.output[0], plane.output[1]}; }
  // For each element of the window at each position, in order: the index of the volume's pixel, or
  // -1 in the padding.
  std::vector<int64_t> Pixels(const Shape& volume) const;
};

// Like ReadWindow, with three numbers for each argument, or one for all. Cannot be causal.
VolumeWindow ReadVolumeWindow(const WindowRules& rules, const Shape& volume, LayerConfig& config);

// Three positive numbers for depth, height and width, or one for all. Required if `default_value`
// is nullopt.
std::array<int64_t, 3> ReadTriple(const char* argument,
                                  std::optional<std::array<int64_t, 3>> default_value,
                                  LayerConfig& config);

// ReadWindowArguments, then SlideWindow.
Window ReadWindow(const WindowRules& rules, const Shape& image, LayerConfig& config);

// Returns (steps, channels) as an image of one row: (1, steps, channels). Images are returned
// unchanged.
// Inline: the GPU library uses it, and must not link what reads configurations.
inline Shape ImageOf(const Shape& shape) {
  return shape.size() == 2 ? Shape{1, shape[0], shape[1]} : shape;
}
// The inverse of ImageOf: removes the row axis if `one_dimension`.
Shape WithoutRow(Shape image, bool one_dimension);

}  // namespace cairn::nn

#endif  // CAIRN_NN_LAYERS_WINDOW_H_
