#include <algorithm>
#include <vector>

#include "common/simd.h"
#include "nn/cpu/kernels.h"
#include "nn/layers/global_pooling.h"

namespace cairn::nn {
namespace {

CAIRN_SIMD void AddRow(int64_t width, const float* row, float* sum) {
  for (int64_t c = 0; c < width; ++c) sum[c] += row[c];
}

CAIRN_SIMD void ScaleRow(int64_t width, float scale, const float* row, float* out) {
  for (int64_t c = 0; c < width; ++c) out[c] = scale * row[c];
}

class GlobalAverageKernel : public Kernel {
 public:
  GlobalAverageKernel(const Layer& layer, const KernelContext& context)
      : examples_(context.options.examples),
        channels_(layer.inputs()[0].shape.back()),
        positions_(ElementCount(layer.inputs()[0].shape) / channels_),
        counts_(positions_) {}

  absl::Status Forward(const ForwardArguments& arguments) override {
    for (int64_t i = 0; i < examples_; ++i) {
      const float scale = CountPositions(arguments.masks, i);
      const float* input = arguments.inputs[0] + i * positions_ * channels_;
      float* output = arguments.output + i * channels_;
      std::fill_n(output, channels_, 0.0f);
      for (int64_t p = 0; p < positions_; ++p) {
        if (counts_[p] != 0) AddRow(channels_, input + p * channels_, output);
      }
      ScaleRow(channels_, scale, output, output);
    }
    return absl::OkStatus();
  }

  void Backward(const BackwardArguments& arguments) override {
    float* gradient = arguments.input_gradients[0];
    if (gradient == nullptr) return;
    for (int64_t i = 0; i < examples_; ++i) {
      const float scale = CountPositions(arguments.masks, i);
      for (int64_t p = 0; p < positions_; ++p) {
        ScaleRow(channels_, counts_[p] != 0 ? scale : 0, arguments.output_gradient + i * channels_,
                 gradient + (i * positions_ + p) * channels_);
      }
    }
  }

 private:
  // Sets counts_ for an example and returns 1 / the number of valid positions. If all are masked,
  // the result is 0, so the mean is 0; TensorFlow would divide by zero.
  float CountPositions(absl::Span<const int32_t* const> masks, int64_t example) {
    int64_t count = positions_;
    if (masks.empty() || masks[0] == nullptr) {
      std::fill(counts_.begin(), counts_.end(), 1);
    } else {
      std::copy_n(masks[0] + example * positions_, positions_, counts_.begin());
      count -= std::count(counts_.begin(), counts_.end(), 0);
    }
    return count == 0 ? 0 : 1.0f / static_cast<float>(count);
  }

  const int64_t examples_;
  const int64_t channels_;
  const int64_t positions_;
  std::vector<int32_t> counts_;
};

class GlobalMaximumKernel : public Kernel {
 public:
  GlobalMaximumKernel(const Layer& layer, const KernelContext& context)
      : examples_(context.options.examples),
        channels_(layer.inputs()[0].shape.back()),
        positions_(ElementCount(layer.inputs()[0].shape) / channels_),
        argmax_(examples_ * channels_) {}

  absl::Status Forward(const ForwardArguments& arguments) override {
    for (int64_t i = 0; i < examples_; ++i) {
      const float* input = arguments.inputs[0] + i * positions_ * channels_;
      for (int64_t c = 0; c < channels_; ++c) {
        int64_t winner = c;
        for (int64_t at = c; at < positions_ * channels_; at += channels_) {
          if (input[at] > input[winner]) winner = at;
        }
        argmax_[i * channels_ + c] = i * positions_ * channels_ + winner;
        arguments.output[i * channels_ + c] = input[winner];
      }
    }
    return absl::OkStatus();
  }

  void Backward(const BackwardArguments& arguments) override {
    float* gradient = arguments.input_gradients[0];
    if (gradient == nullptr) return;
    std::fill_n(gradient, examples_ * positions_ * channels_, 0.0f);
    for (size_t i = 0; i < argmax_.size(); ++i) {
      gradient[argmax_[i]] = arguments.output_gradient[i];
    }
  }

 private:
  const int64_t examples_;
  const int64_t channels_;
  const int64_t positions_;
  // Index of the largest input element of each channel of each example.
  std::vector<int64_t> argmax_;
};

}  // namespace

std::unique_ptr<Kernel> CreateGlobalPoolingKernel(const Layer& layer,
                                                  const KernelContext& context) {
  const auto kind = static_cast<const GlobalPoolingLayer&>(layer).kind();
  if (kind == GlobalPoolingLayer::Kind::kMaximum) {
    return std::make_unique<GlobalMaximumKernel>(layer, context);
  }
  return std::make_unique<GlobalAverageKernel>(layer, context);
}

}  // namespace cairn::nn
