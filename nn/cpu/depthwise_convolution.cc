#include "nn/cpu/depthwise_convolution.h"

#include <algorithm>

namespace cairn::nn {
namespace {

using Options = Convolution::Options;

constexpr int64_t kSide = 3;

DepthwiseRow RowOf(const Options& o) {
  return {.channels = o.input[2],
          .inputs = o.input[1],
          .outputs = o.output[1],
          .stride = o.window.strides[1],
          .padding = o.window.padding_before[1]};
}

}  // namespace

bool DepthwiseConvolution::Fits(const Options& o) {
  using Pair = std::array<int64_t, 2>;
  return o.groups == o.input[2] && o.groups == o.output[2] && !o.applies_relu &&
         o.window.size == Pair{kSide, kSide} && o.window.dilation == Pair{1, 1} && RowOf(o).fits();
}

DepthwiseConvolution::DepthwiseConvolution(const Options& options)
    : options_(options),
      row_(RowOf(options)),
      input_width_(options.input[1] * options.input[2]),
      output_width_(options.output[1] * options.output[2]),
      kernel_size_(kSide * kSide * options.input[2]),
      input_rows_(options.examples * options.input[0], input_width_),
      output_rows_(options.examples * options.output[0], output_width_),
      zeros_(std::max(input_width_, output_width_)) {
  if (!options.training) return;
  few_rows_.resize(output_rows_.count * kernel_size_);
  sums_.resize(output_rows_.count * kernel_size_);
}

void DepthwiseConvolution::Forward(const float* input, const float* kernel, const float* bias,
                                   float* output) {
  output_rows_.Run([&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      WriteDepthwiseOutput(row_, InputRows(input, row).data(), kernel,
                           options_.adds_bias ? bias : nullptr, output + row * output_width_);
    }
  });
}

void DepthwiseConvolution::KernelGradient(const float* input, const float* output_gradient,
                                          float* kernel_gradient) {
  RunInParallel(output_rows_.count,
                [&](int64_t piece) { SumKernelGradient(piece, input, output_gradient); });
  for (int64_t i = 0; i < kernel_size_; ++i) {
    // The pieces are added in a fixed order, so the sum does not depend on the number of threads.
    double sum = 0;
    for (int64_t piece = 0; piece < output_rows_.count; ++piece) {
      sum += sums_[piece * kernel_size_ + i];
    }
    kernel_gradient[i] = static_cast<float>(sum);
  }
}

void DepthwiseConvolution::SumKernelGradient(int64_t piece, const float* input,
                                             const float* output_gradient) {
  // The number of rows summed in float before they are added to the doubles.
  constexpr int64_t kFewRows = 16;
  float* const few_rows = few_rows_.data() + piece * kernel_size_;
  double* const sums = sums_.data() + piece * kernel_size_;
  std::fill_n(sums, kernel_size_, 0.0);
  const int64_t end = output_rows_.end(piece);
  for (int64_t begin = output_rows_.begin(piece); begin < end; begin += kFewRows) {
    std::fill_n(few_rows, kernel_size_, 0.0f);
    for (int64_t row = begin; row < std::min(end, begin + kFewRows); ++row) {
      AddDepthwiseKernelGradient(row_, InputRows(input, row).data(),
                                 output_gradient + row * output_width_, few_rows);
    }
    for (int64_t i = 0; i < kernel_size_; ++i) sums[i] += few_rows[i];
  }
}

void DepthwiseConvolution::InputGradient(const float* output_gradient, const float* kernel,
                                         float* input_gradient) {
  input_rows_.Run([&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      WriteDepthwiseInputGradient(row_, OutputRows(output_gradient, row).data(), kernel,
                                  input_gradient + row * input_width_);
    }
  });
}

DepthwiseConvolution::Rows DepthwiseConvolution::InputRows(const float* images,
                                                           int64_t output_row) const {
  const int64_t height = options_.input[0];
  const int64_t example = output_row / options_.output[0];
  const int64_t top = output_row % options_.output[0] * options_.window.strides[0] -
                      options_.window.padding_before[0];
  Rows rows;
  for (int64_t k = 0; k < kSide; ++k) {
    const bool is_inside = top + k >= 0 && top + k < height;
    rows[k] = is_inside ? images + (example * height + top + k) * input_width_ : zeros_.data();
  }
  return rows;
}

DepthwiseConvolution::Rows DepthwiseConvolution::OutputRows(const float* outputs,
                                                            int64_t input_row) const {
  const int64_t height = options_.output[0];
  const int64_t stride = options_.window.strides[0];
  const int64_t example = input_row / options_.input[0];
  const int64_t from = input_row % options_.input[0] + options_.window.padding_before[0];
  Rows rows;
  for (int64_t k = 0; k < kSide; ++k) {
    const bool is_inside = from >= k && (from - k) % stride == 0 && (from - k) / stride < height;
    rows[k] = is_inside ? outputs + (example * height + (from - k) / stride) * output_width_
                        : zeros_.data();
  }
  return rows;
}

}  // namespace cairn::nn
