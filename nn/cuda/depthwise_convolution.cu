#include "nn/cuda/depthwise_convolution.h"
#include "nn/cuda/loops.h"

namespace cairn::nn::cuda {
namespace {

using Geometry = ConvolutionGeometry;

// True if four channels can be loaded at once, and have four filters of their own.
bool HasRunsOfFour(const Geometry& g, const float* a, const float* b, const float* c) {
  return g.filters == g.channels && g.channels % 4 == 0 && IsAligned(a) && IsAligned(b) &&
         IsAligned(c);
}

// Each thread computes kLanes filters of one output pixel. With more than one lane, there is one
// filter for each channel.
template <int kLanes>
void Forward(Context* context, const Geometry& g, const float* input, const float* kernel,
             float* output) {
  const Divisor runs = g.filters / kLanes;
  const Divisor multiplier = g.filters / g.channels;
  ForEach(context, g.pixels * runs, [=] __device__(int64_t i) {
    const int64_t pixel = i / runs;
    const int64_t filter = (i - pixel * runs) * kLanes;
    const int64_t channel = filter / multiplier;
    const int64_t line = pixel / g.output_width;
    const int64_t example = line / g.output_height;
    const int64_t top = (line - example * g.output_height) * g.strides[0] - g.padding[0];
    const int64_t left = (pixel - line * g.output_width) * g.strides[1] - g.padding[1];
    const float* const image = input + example * g.height * g.width * g.channels + channel;
    Lanes<kLanes> sum = {};
    for (int64_t ky = 0; ky < g.size[0]; ++ky) {
      const int64_t y = top + ky * g.dilation[0];
      if (y < 0 || y >= g.height) continue;
      for (int64_t kx = 0; kx < g.size[1]; ++kx) {
        const int64_t x = left + kx * g.dilation[1];
        if (x < 0 || x >= g.width) continue;
        const auto value = Load<kLanes>(image + (y * g.width + x) * g.channels);
        const auto weight = Load<kLanes>(kernel + (ky * g.size[1] + kx) * g.filters + filter);
        for (int lane = 0; lane < kLanes; ++lane) {
          sum.values[lane] += value.values[lane] * weight.values[lane];
        }
      }
    }
    Store(sum, output + pixel * g.filters + filter);
  });
}

// Each thread sums kLanes channels of one input pixel, over all windows that have the pixel.
template <int kLanes>
void InputGradient(Context* context, const Geometry& g, const float* output_gradient,
                   const float* kernel, float* input_gradient) {
  const Divisor runs = g.channels / kLanes;
  const int64_t multiplier = g.filters / g.channels;
  const Divisor stride_y = g.strides[0];
  const Divisor stride_x = g.strides[1];
  ForEach(context, g.examples * g.height * g.width * runs, [=] __device__(int64_t i) {
    const int64_t pixel = i / runs;
    const int64_t channel = (i - pixel * runs) * kLanes;
    const int64_t line = pixel / g.width;
    const int64_t example = line / g.height;
    const int64_t row = line - example * g.height + g.padding[0];
    const int64_t column = pixel - line * g.width + g.padding[1];
    Lanes<kLanes> sum = {};
    for (int64_t ky = 0; ky < g.size[0]; ++ky) {
      const int64_t top = row - ky * g.dilation[0];
      if (top < 0) break;
      const int64_t y = top / stride_y;
      if (y * stride_y != top || y >= g.output_height) continue;
      for (int64_t kx = 0; kx < g.size[1]; ++kx) {
        const int64_t left = column - kx * g.dilation[1];
        if (left < 0) break;
        const int64_t x = left / stride_x;
        if (x * stride_x != left || x >= g.output_width) continue;
        const int64_t output = (example * g.output_height + y) * g.output_width + x;
        for (int64_t filter = channel * multiplier; filter < (channel + 1) * multiplier; ++filter) {
          const auto value = Load<kLanes>(output_gradient + output * g.filters + filter);
          const auto weight = Load<kLanes>(kernel + (ky * g.size[1] + kx) * g.filters + filter);
          for (int lane = 0; lane < kLanes; ++lane) {
            sum.values[lane] += value.values[lane] * weight.values[lane];
          }
        }
      }
    }
    Store(sum, input_gradient + pixel * g.channels + channel);
  });
}

// The places of a window whose gradients a thread sums at once: a 3x3 window reads the output's
// gradient once.
constexpr int kPlaces = 9;

}  // namespace

void DepthwiseForward(Context* context, const ConvolutionGeometry& geometry, const float* input,
                      const float* kernel, float* output) {
  if (HasRunsOfFour(geometry, input, kernel, output)) {
    Forward<4>(context, geometry, input, kernel, output);
  } else {
    Forward<1>(context, geometry, input, kernel, output);
  }
}

void DepthwiseInputGradient(Context* context, const ConvolutionGeometry& geometry,
                            const float* output_gradient, const float* kernel,
                            float* input_gradient) {
  if (HasRunsOfFour(geometry, output_gradient, kernel, input_gradient)) {
    InputGradient<4>(context, geometry, output_gradient, kernel, input_gradient);
  } else {
    InputGradient<1>(context, geometry, output_gradient, kernel, input_gradient);
  }
}

void DepthwiseKernelGradient(Context* context, const ConvolutionGeometry& geometry,
                             const float* input, const float* output_gradient,
                             float* kernel_gradient) {
  const ConvolutionGeometry g = geometry;
  const Divisor multiplier = g.filters / g.channels;
  const int64_t places = g.size[0] * g.size[1];
  for (int64_t first = 0; first < places; first += kPlaces) {
    const int64_t first_row = first / g.size[1];
    const int64_t first_column = first % g.size[1];
    SumColumns<kPlaces>(
        context, g.pixels, g.filters,
        [=] __device__(int64_t pixel, int64_t filter, ColumnSums<kPlaces> * sums) {
          const int64_t line = pixel / g.output_width;
          const int64_t example = line / g.output_height;
          const int64_t top = (line - example * g.output_height) * g.strides[0] - g.padding[0];
          const int64_t left = (pixel - line * g.output_width) * g.strides[1] - g.padding[1];
          const float* const image =
              input + example * g.height * g.width * g.channels + filter / multiplier;
          const double gradient = output_gradient[pixel * g.filters + filter];
          int64_t ky = first_row;
          int64_t kx = first_column;
          CAIRN_UNROLL
          for (int p = 0; p < kPlaces; ++p) {
            const int64_t y = top + ky * g.dilation[0];
            const int64_t x = left + kx * g.dilation[1];
            if (ky < g.size[0] && y >= 0 && y < g.height && x >= 0 && x < g.width) {
              sums->values[p] += gradient * image[(y * g.width + x) * g.channels];
            }
            if (++kx == g.size[1]) {
              kx = 0;
              ++ky;
            }
          }
        },
        [=] __device__(int64_t filter, const ColumnSums<kPlaces>& sums) {
          CAIRN_UNROLL
          for (int p = 0; p < kPlaces; ++p) {
            if (first + p >= places) break;
            kernel_gradient[(first + p) * g.filters + filter] = static_cast<float>(sums.values[p]);
          }
        });
  }
}

size_t DepthwiseScratchBytes(const ConvolutionGeometry& geometry) {
  return ColumnScratchBytes<kPlaces>(geometry.pixels, geometry.filters);
}

}  // namespace cairn::nn::cuda
