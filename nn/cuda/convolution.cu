#include "nn/cuda/convolution.h"
#include "nn/cuda/loops.h"
#include "nn/cuda/product.h"

namespace cairn::nn::cuda {
namespace {

using Geometry = ConvolutionGeometry;

Geometry GeometryOf(const Convolution::Options& o) {
  Geometry g = {.pixels = o.examples * o.output[0] * o.output[1],
                .examples = o.examples,
                .height = o.input[0],
                .width = o.input[1],
                .channels = o.input[2],
                .output_height = o.output[0],
                .output_width = o.output[1],
                .filters = o.output[2],
                .groups = o.groups};
  for (int axis : {0, 1}) {
    g.size[axis] = o.window.size[axis];
    g.strides[axis] = o.window.strides[axis];
    g.dilation[axis] = o.window.dilation[axis];
    g.padding[axis] = o.window.padding_before[axis];
  }
  return g;
}

// Element (pixel, group, place in the window, channel of the group); zero in the padding.
void Unfold(Context* context, const Geometry& g, const float* input, float* rows) {
  const int64_t channels = g.channels / g.groups;
  const int64_t places = g.size[0] * g.size[1];
  ForEach(context, g.pixels * places * g.channels, [=] __device__(int64_t i) {
    const int64_t channel = i % channels;
    const int64_t place = i / channels % places;
    const int64_t group = i / channels / places % g.groups;
    const int64_t pixel = i / channels / places / g.groups;
    const int64_t example = pixel / (g.output_height * g.output_width);
    const int64_t row = pixel / g.output_width % g.output_height * g.strides[0] - g.padding[0] +
                        place / g.size[1] * g.dilation[0];
    const int64_t column =
        pixel % g.output_width * g.strides[1] - g.padding[1] + place % g.size[1] * g.dilation[1];
    const bool is_inside = row >= 0 && row < g.height && column >= 0 && column < g.width;
    rows[i] = is_inside ? input[((example * g.height + row) * g.width + column) * g.channels +
                                group * channels + channel]
                        : 0;
  });
}

// The sum over all windows that have an input pixel. Each thread sums one element, in the order of
// the window's places.
void Fold(Context* context, const Geometry& g, const float* rows, float* input) {
  const int64_t channels = g.channels / g.groups;
  const int64_t places = g.size[0] * g.size[1];
  ForEach(context, g.examples * g.height * g.width * g.channels, [=] __device__(int64_t i) {
    const int64_t group = i % g.channels / channels;
    const int64_t channel = i % channels;
    const int64_t column = i / g.channels % g.width;
    const int64_t row = i / g.channels / g.width % g.height;
    const int64_t example = i / g.channels / g.width / g.height;
    float sum = 0;
    for (int64_t place = 0; place < places; ++place) {
      const int64_t top = row + g.padding[0] - place / g.size[1] * g.dilation[0];
      const int64_t left = column + g.padding[1] - place % g.size[1] * g.dilation[1];
      if (top < 0 || left < 0 || top % g.strides[0] != 0 || left % g.strides[1] != 0) continue;
      const int64_t y = top / g.strides[0];
      const int64_t x = left / g.strides[1];
      if (y >= g.output_height || x >= g.output_width) continue;
      const int64_t pixel = (example * g.output_height + y) * g.output_width + x;
      sum += rows[((pixel * g.groups + group) * places + place) * channels + channel];
    }
    input[i] = sum;
  });
}

}  // namespace

Convolution::Convolution(const Options& options, Context* context)
    : context_(context),
      geometry_(GeometryOf(options)),
      is_pointwise_(options.window.size == std::array<int64_t, 2>{1, 1} &&
                    options.window.strides == std::array<int64_t, 2>{1, 1} &&
                    options.input[0] == options.output[0] &&
                    options.input[1] == options.output[1] && options.groups == 1) {
  if (!is_pointwise_) context->ReserveScratch(geometry_.pixels * row_width() * sizeof(float));
}

const float* Convolution::Rows(const float* input) {
  if (is_pointwise_) return input;
  auto* const rows = context_->scratch<float>();
  Unfold(context_, geometry_, input, rows);
  return rows;
}

void Convolution::Forward(const float* input, const float* kernel, float* output) {
  Multiply(context_,
           {.rows = geometry_.pixels,
            .columns = group_filters(),
            .inner = group_width(),
            .a_step = row_width(),
            .b_step = geometry_.filters,
            .c_step = geometry_.filters,
            .batches = geometry_.groups,
            .a_distance = group_width(),
            .b_distance = group_filters(),
            .c_distance = group_filters()},
           Rows(input), kernel, output);
}

void Convolution::KernelGradient(const float* input, const float* output_gradient,
                                 float* kernel_gradient) {
  Multiply(context_,
           {.rows = group_width(),
            .columns = group_filters(),
            .inner = geometry_.pixels,
            .a_transposed = true,
            .a_step = row_width(),
            .b_step = geometry_.filters,
            .c_step = geometry_.filters,
            .batches = geometry_.groups,
            .a_distance = group_width(),
            .b_distance = group_filters(),
            .c_distance = group_filters()},
           Rows(input), output_gradient, kernel_gradient);
}

void Convolution::InputGradient(const float* output_gradient, const float* kernel,
                                float* input_gradient) {
  float* const rows = is_pointwise_ ? input_gradient : context_->scratch<float>();
  Multiply(context_,
           {.rows = geometry_.pixels,
            .columns = group_width(),
            .inner = group_filters(),
            .b_transposed = true,
            .a_step = geometry_.filters,
            .b_step = geometry_.filters,
            .c_step = row_width(),
            .batches = geometry_.groups,
            .a_distance = group_filters(),
            .b_distance = group_filters(),
            .c_distance = group_width()},
           output_gradient, kernel, rows);
  if (!is_pointwise_) Fold(context_, geometry_, rows, input_gradient);
}

}  // namespace cairn::nn::cuda
