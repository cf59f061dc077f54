#include "nn/cuda/kernels.h"
#include "nn/cuda/loops.h"
#include "nn/layers/global_pooling.h"

namespace cairn::nn::cuda {
namespace {

// scales[e] = 1 / the number of valid positions; 0 if all are masked.
void CountPositions(Context* context, int64_t examples, int64_t positions, const int32_t* mask,
                    float* scales) {
  ForEachRow(context, examples, positions, [=] __device__(int64_t e, const RowBlock& block) {
    double count = 0;
    for (int64_t p = block.first(); p < positions; p += block.step()) {
      count += mask[e * positions + p] != 0;
    }
    count = block.Sum(count);
    if (block.first() == 0) scales[e] = count == 0 ? 0 : 1.0f / static_cast<float>(count);
  });
}

// A null mask means that all positions are valid, and null `scales` that all are `scale`. Each
// channel of each example is a column.
void Average(Context* context, int64_t examples, int64_t positions, int64_t channels, float scale,
             const float* input, const int32_t* mask, const float* scales, float* output) {
  const Divisor width = channels;
  SumColumns<1>(
      context, positions, examples * channels,
      [=] __device__(int64_t position, int64_t column, ColumnSums<1> * sums) {
        const int64_t e = column / width;
        const int64_t p = e * positions + position;
        if (mask != nullptr && mask[p] == 0) return;
        sums->values[0] += input[p * width + column - e * width];
      },
      [=] __device__(int64_t column, const ColumnSums<1>& sums) {
        const float factor = scales == nullptr ? scale : scales[column / width];
        output[column] = static_cast<float>(sums.values[0] * factor);
      });
}

void AverageGradient(Context* context, int64_t examples, int64_t positions, int64_t channels,
                     float scale, const float* gradient, const int32_t* mask, const float* scales,
                     float* to) {
  const Divisor width = channels;
  const Divisor length = positions;
  ForEach(context, examples * positions * channels, [=] __device__(int64_t i) {
    const int64_t p = i / width;
    const int64_t e = p / length;
    const float value = gradient[e * width + i - p * width];
    to[i] = mask != nullptr && mask[p] == 0 ? 0 : value * (scales == nullptr ? scale : scales[e]);
  });
}

class GlobalAverageKernel final : public Kernel {
 public:
  GlobalAverageKernel(const Layer& layer, const KernelContext& context)
      : context_(context.cuda),
        examples_(context.options.examples),
        channels_(layer.inputs()[0].shape.back()),
        positions_(ElementCount(layer.inputs()[0].shape) / channels_),
        scale_(1.0f / static_cast<float>(positions_)),
        scales_(context.cuda, examples_) {
    context.cuda->ReserveScratch(ColumnScratchBytes<1>(positions_, examples_ * channels_));
  }

  absl::Status Forward(const ForwardArguments& arguments) override {
    const int32_t* const mask = MaskOf(arguments.masks);
    if (mask != nullptr) CountPositions(context_, examples_, positions_, mask, scales_.data());
    Average(context_, examples_, positions_, channels_, scale_, arguments.inputs[0], mask,
            ScalesOf(mask), arguments.output);
    return absl::OkStatus();
  }

  void Backward(const BackwardArguments& arguments) override {
    if (arguments.input_gradients[0] == nullptr) return;
    const int32_t* const mask = MaskOf(arguments.masks);
    AverageGradient(context_, examples_, positions_, channels_, scale_, arguments.output_gradient,
                    mask, ScalesOf(mask), arguments.input_gradients[0]);
  }

 private:
  static const int32_t* MaskOf(absl::Span<const int32_t* const> masks) {
    return masks.empty() ? nullptr : masks[0];
  }
  const float* ScalesOf(const int32_t* mask) const {
    return mask == nullptr ? nullptr : scales_.data();
  }

  Context* const context_;
  const int64_t examples_;
  const int64_t channels_;
  const int64_t positions_;
  // That of examples without a mask.
  const float scale_;
  // Of the last Forward, if it had a mask.
  DeviceArray<float> scales_;
};

void Maximum(Context* context, int64_t examples, int64_t positions, int64_t channels,
             const float* input, int64_t* winners, float* output) {
  const Divisor width = channels;
  ForEach(context, examples * channels, [=] __device__(int64_t i) {
    const int64_t first = i / width * positions * channels + i % width;
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
  const Divisor width = channels;
  const Divisor length = positions;
  ForEach(context, examples * positions * channels, [=] __device__(int64_t i) {
    const int64_t p = i / width;
    const int64_t e = p / length;
    const int64_t output = e * width + i - p * width;
    to[i] = winners[output] == p - e * length ? gradient[output] : 0;
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
