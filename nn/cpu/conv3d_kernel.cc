#include <algorithm>
#include <optional>

#include "nn/cpu/activation_tail.h"
#include "nn/cpu/dense_product.h"
#include "nn/cpu/dnnl_context.h"
#include "nn/cpu/kernels.h"
#include "nn/cpu/parallel.h"
#include "nn/layers/conv3d.h"

namespace cairn::nn {
namespace {

// A convolution of volumes as a matrix product (im2col), as in UnfoldedConvolution.
class Conv3DKernel : public Kernel {
 public:
  Conv3DKernel(const Conv3DLayer& layer, const KernelContext& context)
      : use_bias_(layer.use_bias()),
        examples_(context.options.examples),
        channels_(layer.inputs()[0].shape[3]),
        filters_(layer.output().shape[3]),
        input_count_(ElementCount(layer.inputs()[0].shape)),
        pixels_(layer.window().Pixels(layer.inputs()[0].shape)),
        rows_(examples_ * ElementCount(layer.output().shape) / filters_),
        width_(examples_ * static_cast<int64_t>(pixels_.size()) / rows_ * channels_),
        context_(*context.dnnl),
        forward_({.rows = rows_, .columns = filters_, .inner = width_, .adds_bias = use_bias_},
                 context.dnnl),
        tail_(layer.activation(), rows_, filters_, context.options.training) {
    context_.scratch->Reserve(rows_ * width_);
    if (!context.options.training) return;
    kernel_gradient_.emplace(
        DenseProduct::Options{
            .rows = width_, .columns = filters_, .inner = rows_, .a_transposed = true},
        context.dnnl);
    if (!context.options.needs_input_gradient) return;
    input_gradient_.emplace(
        DenseProduct::Options{
            .rows = rows_, .columns = width_, .inner = filters_, .b_transposed = true},
        context.dnnl);
  }

  absl::Status Forward(const ForwardArguments& arguments) override {
    forward_.Run(Unfold(arguments.inputs[0]), arguments.variables[0],
                 use_bias_ ? arguments.variables[1] : nullptr, tail_.Target(arguments.output));
    tail_.Forward(/*bias=*/nullptr, arguments.output);
    return absl::OkStatus();
  }

  void Backward(const BackwardArguments& arguments) override {
    float* gradient = arguments.output_gradient;
    tail_.Backward(arguments.output, arguments.before_activation, gradient,
                   use_bias_ ? arguments.variable_gradients[1] : nullptr);
    if (float* kernel = arguments.variable_gradients[0]) {
      kernel_gradient_->Run(Unfold(arguments.inputs[0]), gradient, /*bias=*/nullptr, kernel);
    }
    if (float* input = arguments.input_gradients[0]) {
      input_gradient_->Run(gradient, arguments.variables[0], /*bias=*/nullptr,
                           context_.scratch->get());
      Fold(input);
    }
  }

 private:
  // Copies the windows to scratch memory, one per row.
  const float* Unfold(const float* input) const {
    float* const rows = context_.scratch->get();
    RunInParallel(examples_, [&](int64_t example) {
      float* to = rows + example * static_cast<int64_t>(pixels_.size()) * channels_;
      for (const int64_t pixel : pixels_) {
        if (pixel < 0) {
          std::fill_n(to, channels_, 0.0f);
        } else {
          std::copy_n(input + example * input_count_ + pixel * channels_, channels_, to);
        }
        to += channels_;
      }
    });
    return rows;
  }

  // Adds the windows in scratch memory to the gradient of the input.
  void Fold(float* input) const {
    RunInParallel(examples_, [&](int64_t example) {
      const float* from =
          context_.scratch->get() + example * static_cast<int64_t>(pixels_.size()) * channels_;
      float* const volume = input + example * input_count_;
      std::fill_n(volume, input_count_, 0.0f);
      for (const int64_t pixel : pixels_) {
        for (int64_t c = 0; pixel >= 0 && c < channels_; ++c) {
          volume[pixel * channels_ + c] += from[c];
        }
        from += channels_;
      }
    });
  }

  const bool use_bias_;
  const int64_t examples_;
  const int64_t channels_;
  const int64_t filters_;
  const int64_t input_count_;
  // For each place of each window of an example: the index of the input pixel, or -1 in the
  // padding.
  const std::vector<int64_t> pixels_;
  // The unfolded matrix has a row for each output pixel.
  const int64_t rows_;
  const int64_t width_;
  const DnnlContext& context_;
  DenseProduct forward_;
  std::optional<DenseProduct> kernel_gradient_;
  std::optional<DenseProduct> input_gradient_;
  ActivationTail tail_;
};

}  // namespace

std::unique_ptr<Kernel> CreateConv3DKernel(const Layer& layer, const KernelContext& context) {
  return std::make_unique<Conv3DKernel>(static_cast<const Conv3DLayer&>(layer), context);
}

}  // namespace cairn::nn
