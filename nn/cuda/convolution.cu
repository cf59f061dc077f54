#include <algorithm>
#include <array>

#include "nn/cuda/convolution.h"
#include "nn/cuda/loops.h"
#include "nn/cuda/product.h"

namespace cairn::nn::cuda {
namespace {

using Geometry = ConvolutionGeometry;

Shape VolumeOf(const Shape& shape) {
  return shape.size() == 3 ? Shape{1, shape[0], shape[1], shape[2]} : shape;
}

Geometry GeometryOf(const Convolution::Options& o) {
  const Shape input = VolumeOf(o.input);
  const Shape output = VolumeOf(o.output);
  Geometry g = {.pixels = o.examples * output[0] * output[1] * output[2],
                .examples = o.examples,
                .height = input[1],
                .width = input[2],
                .channels = input[3],
                .output_height = output[1],
                .output_width = output[2],
                .filters = output[3],
                .groups = o.groups,
                .is_volume = o.input.size() == 4,
                .depth = input[0],
                .output_depth = output[0],
                .depth_size = o.depth_window.size[0],
                .depth_stride = o.depth_window.strides[0],
                .depth_dilation = o.depth_window.dilation[0],
                .depth_padding = o.depth_window.padding_before[0]};
  for (int axis : {0, 1}) {
    g.size[axis] = o.window.size[axis];
    g.strides[axis] = o.window.strides[axis];
    g.dilation[axis] = o.window.dilation[axis];
    g.padding[axis] = o.window.padding_before[axis];
  }
  return g;
}

// True if each window is one pixel, that of the same place.
bool IsPointwise(const Convolution::Options& o) {
  constexpr std::array<int64_t, 2> kOne = {1, 1};
  for (const Window* window : {&o.window, &o.depth_window}) {
    if (window->size != kOne || window->strides != kOne) return false;
  }
  return o.groups == 1 && std::equal(o.input.begin(), o.input.end() - 1, o.output.begin());
}

// Element (pixel, group, place in the window, channel of the group); zero in the padding.
void Unfold(Context* context, const Geometry& g, const float* input, float* rows) {
  const int64_t channels = g.channels / g.groups;
  const int64_t plane_places = g.size[0] * g.size[1];
  const int64_t places = g.depth_size * plane_places;
  ForEach(context, g.pixels * places * g.channels, [=] __device__(int64_t i) {
    const int64_t channel = i % channels;
    int64_t place = i / channels % places;
    const int64_t group = i / channels / places % g.groups;
    const int64_t pixel = i / channels / places / g.groups;
    int64_t example = pixel / (g.output_height * g.output_width);
    int64_t plane = 0;
    // Divisions are what this loop costs, so images leave these out.
    if (g.is_volume) {
      plane = example % g.output_depth * g.depth_stride - g.depth_padding +
              place / plane_places * g.depth_dilation;
      example /= g.output_depth;
      place %= plane_places;
    }
    const int64_t row = pixel / g.output_width % g.output_height * g.strides[0] - g.padding[0] +
                        place / g.size[1] * g.dilation[0];
    const int64_t column =
        pixel % g.output_width * g.strides[1] - g.padding[1] + place % g.size[1] * g.dilation[1];
    const bool is_inside = plane >= 0 && plane < g.depth && row >= 0 && row < g.height &&
                           column >= 0 && column < g.width;
    rows[i] = is_inside
                  ? input[(((example * g.depth + plane) * g.height + row) * g.width + column) *
                              g.channels +
                          group * channels + channel]
                  : 0;
  });
}

// The output place whose window has input place `at` as its element `element`; -1 if there is none.
__device__ int64_t PlaceOf(int64_t at, int64_t element, int64_t dilation, int64_t padding,
                           int64_t stride, int64_t output) {
  const int64_t begin = at + padding - element * dilation;
  if (begin < 0 || begin % stride != 0 || begin / stride >= output) return -1;
  return begin / stride;
}

// The sum over all windows that have an input pixel. Each thread sums one element, in the order of
// the window's places.
void Fold(Context* context, const Geometry& g, const float* rows, float* input) {
  const int64_t channels = g.channels / g.groups;
  const int64_t places = g.depth_size * g.size[0] * g.size[1];
  ForEach(
      context, g.examples * g.depth * g.height * g.width * g.channels, [=] __device__(int64_t i) {
        const int64_t group = i % g.channels / channels;
        const int64_t channel = i % channels;
        const int64_t column = i / g.channels % g.width;
        const int64_t row = i / g.channels / g.width % g.height;
        int64_t example = i / g.channels / g.width / g.height;
        int64_t plane = 0;
        if (g.is_volume) {
          plane = example % g.depth;
          example /= g.depth;
        }
        float sum = 0;
        for (int64_t d = 0; d < g.depth_size; ++d) {
          const int64_t z =
              PlaceOf(plane, d, g.depth_dilation, g.depth_padding, g.depth_stride, g.output_depth);
          if (z < 0) continue;
          for (int64_t h = 0; h < g.size[0]; ++h) {
            const int64_t y =
                PlaceOf(row, h, g.dilation[0], g.padding[0], g.strides[0], g.output_height);
            if (y < 0) continue;
            for (int64_t w = 0; w < g.size[1]; ++w) {
              const int64_t x =
                  PlaceOf(column, w, g.dilation[1], g.padding[1], g.strides[1], g.output_width);
              if (x < 0) continue;
              const int64_t pixel =
                  ((example * g.output_depth + z) * g.output_height + y) * g.output_width + x;
              const int64_t place = (d * g.size[0] + h) * g.size[1] + w;
              sum += rows[((pixel * g.groups + group) * places + place) * channels + channel];
            }
          }
        }
        input[i] = sum;
      });
}

}  // namespace

Convolution::Convolution(const Options& options, Context* context)
    : context_(context), geometry_(GeometryOf(options)), is_pointwise_(IsPointwise(options)) {
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
