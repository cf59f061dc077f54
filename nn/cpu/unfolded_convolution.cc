#include "nn/cpu/unfolded_convolution.h"

#include <algorithm>

#include "common/simd.h"
#include "nn/cpu/parallel.h"

namespace cairn::nn {
namespace {

using Options = Convolution::Options;

int64_t WindowPixels(const Options& o) { return o.window.size[0] * o.window.size[1]; }

// The length of a row of the unfolded matrix.
int64_t Width(const Options& o) { return WindowPixels(o) * o.input[2]; }

bool IsPointwise(const Options& o) {
  using Pair = std::array<int64_t, 2>;
  return WindowPixels(o) == 1 && o.window.strides == Pair{1, 1} && o.input[0] == o.output[0] &&
         o.input[1] == o.output[1] && o.window.padding_before == Pair{0, 0};
}

DenseProduct::Options ForwardProduct(const Options& o) {
  return {.rows = o.output_pixels(),
          .columns = o.output[2],
          .inner = Width(o),
          .adds_bias = o.adds_bias,
          .applies_relu = o.applies_relu};
}

CAIRN_SIMD void AddTo(int64_t count, const float* from, float* to) {
#pragma GCC ivdep
  for (int64_t i = 0; i < count; ++i) to[i] += from[i];
}

}  // namespace

UnfoldedConvolution::UnfoldedConvolution(const Options& options, const DnnlContext* context)
    : options_(options),
      context_(context),
      is_pointwise_(IsPointwise(options)),
      forward_(ForwardProduct(options), context) {
  const int64_t rows = options.output_pixels();
  const int64_t width = Width(options);
  const int64_t filters = options.output[2];
  if (!is_pointwise_) context->scratch->Reserve(rows * width);
  if (!options.training) return;
  kernel_gradient_.emplace(
      DenseProduct::Options{.rows = width, .columns = filters, .inner = rows, .a_transposed = true},
      context);
  if (!options.needs_input_gradient) return;
  input_gradient_.emplace(
      DenseProduct::Options{.rows = rows, .columns = width, .inner = filters, .b_transposed = true},
      context);
}

void UnfoldedConvolution::Forward(const float* input, const float* kernel, const float* bias,
                                  float* output) {
  forward_.Run(Unfold(input), kernel, bias, output);
}

void UnfoldedConvolution::KernelGradient(const float* input, const float* output_gradient,
                                         float* kernel_gradient) {
  kernel_gradient_->Run(Unfold(input), output_gradient, nullptr, kernel_gradient);
}

void UnfoldedConvolution::InputGradient(const float* output_gradient, const float* kernel,
                                        float* input_gradient) {
  // The product gives the gradient with respect to the windows. Windows overlap, so they are added.
  float* const rows = is_pointwise_ ? input_gradient : context_->scratch->get();
  input_gradient_->Run(output_gradient, kernel, nullptr, rows);
  if (!is_pointwise_) Fold(rows, input_gradient);
}

template <typename Work>
void UnfoldedConvolution::ForWindows(int64_t example, const Work& work) const {
  const Window& w = options_.window;
  const int64_t height = options_.input[0];
  const int64_t width = options_.input[1];
  for (int64_t pixel = 0; pixel < options_.output[0] * options_.output[1]; ++pixel) {
    const int64_t top = pixel / options_.output[1] * w.strides[0] - w.padding_before[0];
    const int64_t left = pixel % options_.output[1] * w.strides[1] - w.padding_before[1];
    for (int64_t place = 0; place < WindowPixels(options_); ++place) {
      const int64_t row = top + place / w.size[1] * w.dilation[0];
      const int64_t column = left + place % w.size[1] * w.dilation[1];
      const bool is_inside = row >= 0 && row < height && column >= 0 && column < width;
      const int64_t output = example * options_.output[0] * options_.output[1] + pixel;
      work(output * WindowPixels(options_) + place,
           is_inside ? (example * height + row) * width + column : -1);
    }
  }
}

const float* UnfoldedConvolution::Unfold(const float* input) const {
  if (is_pointwise_) return input;
  float* const rows = context_->scratch->get();
  const int64_t channels = options_.input[2];
  RunInParallel(options_.examples, [&](int64_t example) {
    ForWindows(example, [&](int64_t place, int64_t pixel) {
      float* const to = rows + place * channels;
      if (pixel < 0) {
        std::fill_n(to, channels, 0.0f);
      } else {
        std::copy_n(input + pixel * channels, channels, to);
      }
    });
  });
  return rows;
}

void UnfoldedConvolution::Fold(const float* rows, float* input) const {
  const int64_t channels = options_.input[2];
  const int64_t count = options_.input[0] * options_.input[1] * channels;
  RunInParallel(options_.examples, [&](int64_t example) {
    std::fill_n(input + example * count, count, 0.0f);
    ForWindows(example, [&](int64_t place, int64_t pixel) {
      if (pixel >= 0) AddTo(channels, rows + place * channels, input + pixel * channels);
    });
  });
}

}  // namespace cairn::nn
