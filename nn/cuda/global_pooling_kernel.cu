#include "nn/cuda/kernels.h"
#include "nn/cuda/loops.h"
#include "nn/layers/global_pooling.h"

namespace cairn::nn::cuda {
namespace {

// scales[e] = 1 / the number of valid positions; 0 if all are masked.
void CountPositions(Context* context, int64_t examples, int64_t positions, const int32_t* mask,
                    float* scales) {
  ForEach(context, examples, [=] __device__(int64_t e) {
    int64_t count = 0;
    for (int64_t p = 0; p < positions; ++p) {
      count += mask == nullptr || mask[e * positions + p] != 0;
    }
    scales[e] = count == 0 ? 0 : 1.0f / static_cast<float>(count);
  });
}

void Average(Context* context, int64_t examples, int64_t positions, int64_t channels,
             const float* input, const int32_t* mask, const float* scales, float* output) {
  ForEach(context, examples * channels, [=] __device__(int64_t i) {
    const int64_t e = i / channels;
    double sum = 0;
    for (int64_t p = e * positions; p < (e + 1) * positions; ++p) {
      if (mask == nullptr || mask[p] != 0) sum += input[p * channels + i % channels];
    }
    output[i] = static_cast<float>(sum * scales[e]);
  });
}

void AverageGradient(Context* context, int64_t examples, int64_t positions, int64_t channels,
                     const float* gradient, const int32_t* mask, const float* scales, float* to) {
  ForEach(context, examples * positions * channels, [=] __device__(int64_t i) {
    const int64_t p = i / channels;
    const int64_t e = p / positions;
    to[i] = mask == nullptr || mask[p] != 0 ? gradient[e * channels + i % channels] * scales[e] : 0;
  });
}

class GlobalAverageKernel final : public Kernel {
 public:
  GlobalAverageKernel(const Layer& layer, const KernelContext& context)
      : context_(context.cuda),
        examples_(context.options.examples),
        channels_(layer.inputs()[0].shape.back()),
        positions_(ElementCount(layer.inputs()[0].shape) / channels_),
        scales_(context.cuda, examples_) {}

  absl::Status Forward(const ForwardArguments& arguments) override {
    const int32_t* const mask = MaskOf(arguments.masks);
    CountPositions(context_, examples_, positions_, mask, scales_.data());
    Average(context_, examples_, positions_, channels_, arguments.inputs[0], mask, scales_.data(),
            arguments.output);
    return absl::OkStatus();
  }

  void Backward(const BackwardArguments& arguments) override {
    if (arguments.input_gradients[0] == nullptr) return;
    AverageGradient(context_, examples_, positions_, channels_, arguments.output_gradient,
                    MaskOf(arguments.masks), scales_.data(), arguments.input_gradients[0]);
  }

 private:
  static const int32_t* MaskOf(absl::Span<const int32_t* const> masks) {
    return masks.empty() ? nullptr : masks[0];
  }

  Context* const context_;
  const int64_t examples_;
  const int64_t channels_;
  const int64_t positions_;
  // Of the last Forward.
  DeviceArray<float> scales_;
};

void Maximum(Context* context, int64_t examples, int64_t positions, int64_t channels,
             const float* input, int64_t* winners, float* output) {
  ForEach(context, examples * channels, [=] __device__(int64_t i) {
    const int64_t first = i / channels * positions * channels + i % channels;
    int64_t winner = 0;
    for (int64_t p = 1; p < positions; ++p) {
      if (input[first + p * channels] > input[first + winner * channels]) winner = p;
    }
    winners[i] = winner;
    output[i] = input[first + winner * channels];
  });
}

void MaximumGradient(Context* context, int64_t examples, int64_t positions, int64_t channels,
                     const float* gradient, const int64_t* winners, float* to) {
  ForEach(context, examples * positions * channels, [=] __device__(int64_t i) {
    const int64_t p = i / channels;
    const int64_t output = p / positions * channels + i % channels;
    to[i] = winners[output] == p % positions ? gradient[output] : 0;
  });
}

class GlobalMaximumKernel final : public Kernel {
 public:
  GlobalMaximumKernel(const Layer& layer, const KernelContext& context)
      : context_(context.cuda),
        examples_(context.options.examples),
        channels_(layer.inputs()[0].shape.back()),
        positions_(ElementCount(layer.inputs()[0].shape) / channels_),
        winners_(context.cuda, examples_ * channels_) {}

  absl::Status Forward(const ForwardArguments& arguments) override {
    Maximum(context_, examples_, positions_, channels_, arguments.inputs[0], winners_.data(),
            arguments.output);
    return absl::OkStatus();
  }

  void Backward(const BackwardArguments& arguments) override {
    if (arguments.input_gradients[0] == nullptr) return;
    MaximumGradient(context_, examples_, positions_, channels_, arguments.output_gradient,
                    winners_.data(), arguments.input_gradients[0]);
  }

 private:
  Context* const context_;
  const int64_t examples_;
  const int64_t channels_;
  const int64_t positions_;
  // The position of the largest element of each channel of each example.
  DeviceArray<int64_t> winners_;
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

}  // namespace cairn::nn::cuda
