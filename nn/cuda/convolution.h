#ifndef CAIRN_NN_CUDA_CONVOLUTION_H_
#define CAIRN_NN_CUDA_CONVOLUTION_H_

#include <cstdint>

#include "nn/cuda/context.h"
#include "nn/cuda/divisor.h"
#include "nn/layers/window.h"
#include "nn/tensor.h"

namespace cairn::nn::cuda {

// The sizes of a convolution, as device code needs them.
struct ConvolutionGeometry {
  int64_t pixels = 0;  // Output pixels of all examples.
  int64_t examples = 0;
  Divisor height;
  Divisor width;
  Divisor channels;
  Divisor output_height;
  Divisor output_width;
  Divisor filters;
  Divisor groups;
  int64_t size[2] = {};
  int64_t strides[2] = {};
  int64_t dilation[2] = {};
  int64_t padding[2] = {};
  // The same along the depth of volumes. Images are volumes of depth 1.
  bool is_volume = false;
  Divisor depth;
  Divisor output_depth;
  int64_t depth_size = 1;
  int64_t depth_stride = 1;
  int64_t depth_dilation = 1;
  int64_t depth_padding = 0;
};

// The forward pass and the two gradients of a grouped convolution of images or volumes, as products
// with unfolded windows: a matrix with a row for each output pixel, which has the input pixels of
// its window. The products of the groups are one batch. A depthwise convolution of images has
// kernels of its own. Images have the layout (examples, height, width, channels), volumes
// (examples, depth, height, width, channels). Kernels have Keras's layout (height, width, input
// channels / groups, filters), with the depth first if there is one.
//
// The matrix is in the scratch memory, unless it is the input itself. It is made and used piece by
// piece, so that its size is bounded. The constructor throws OutOfMemory.
class Convolution {
 public:
  struct Options {
    int64_t examples = 0;
    Shape input;  // (height, width, channels) or (depth, height, width, channels) of one example.
    Shape output;
    Window window;
    Window depth_window;  // In the entries of height.
    int64_t groups = 1;
    // The size of a piece of the matrix. A piece has at least one line of output pixels, of volumes
    // one example. Half of it fits into the cache of a large GPU, and its products are large enough
    // to fill the GPU.
    int64_t scratch_bytes_max = int64_t{64} << 20;
  };

  Convolution(const Options& options, Context* context);

  // output = conv(input, kernel)
  void Forward(const float* input, const float* kernel, float* output);
  void KernelGradient(const float* input, const float* output_gradient, float* kernel_gradient);
  void InputGradient(const float* output_gradient, const float* kernel, float* input_gradient);

 private:
  // Whole lines of output pixels: the lines of all examples are counted.
  struct Piece {
    int64_t begin = 0;
    int64_t end = 0;
  };

  // Calls body(piece) for each piece, in order.
  template <typename Body>
  void ForEachPiece(const Body& body) const;
  // The unfolded input of a piece, which is the input itself if each window is one pixel.
  const float* Unfolded(const float* input, const Piece& piece) const;
  // True if a piece is a part of an example; then no piece has lines of two examples.
  bool is_partial() const { return piece_lines_ < example_lines(); }
  int64_t example_lines() const { return geometry_.output_depth * geometry_.output_height; }
  int64_t lines() const { return geometry_.examples * example_lines(); }
  int64_t group_channels() const { return geometry_.channels / geometry_.groups; }
  int64_t group_filters() const { return geometry_.filters / geometry_.groups; }
  // The number of unfolded elements of one group in a row.
  int64_t group_width() const {
    return geometry_.depth_size * geometry_.size[0] * geometry_.size[1] * group_channels();
  }
  int64_t row_width() const { return group_width() * geometry_.groups; }

  Context* const context_;
  const ConvolutionGeometry geometry_;
  const bool is_depthwise_;
  const bool is_pointwise_;
  const int64_t piece_lines_;
};

}  // namespace cairn::nn::cuda

#endif  // CAIRN_NN_CUDA_CONVOLUTION_H_
