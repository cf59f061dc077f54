#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "nn/cpu/activation_tail.h"
#include "nn/cpu/dense_product.h"
#include "nn/cpu/dnnl_context.h"
#include "nn/cpu/kernels.h"
#include "nn/cpu/parallel.h"
#include "nn/layers/conv3d.h"

namespace cairn::nn {
namespace {

// The windows of a convolution of volumes as rows of a matrix (im2col), in the scratch memory.
class UnfoldedVolumes {
 public:
  // `pixels`: see VolumeWindow::Pixels.
  UnfoldedVolumes(std::vector<int64_t> pixels, const Shape& volume, int64_t examples,
                  const DnnlContext* context)
      : pixels_(std::move(pixels)),
        channels_(volume[3]),
        count_(ElementCount(volume)),
        examples_(examples),
        scratch_(*context->scratch) {
    scratch_.Reserve(examples * static_cast<int64_t>(pixels_.size()) * channels_);
  }

  float* rows() const { return scratch_.get(); }

  // Copies the windows to the rows.
  const float* Unfold(const float* volumes) const {
    RunInParallel(examples_, [&](int64_t example) {
      float* to = rows() + example * static_cast<int64_t>(pixels_.size()) * channels_;
      for (const int64_t pixel : pixels_) {
        if (pixel < 0) {
          std::fill_n(to, channels_, 0.0f);
        } else {
          std::copy_n(volumes + example * count_ + pixel * channels_, channels_, to);
        }
        to += channels_;
      }
    });
    return rows();
  }

  // Writes the sums of the rows' windows to the volumes.
  void Fold(float* volumes) const {
    RunInParallel(examples_, [&](int64_t example) {
      const float* from = rows() + example * static_cast<int64_t>(pixels_.size()) * channels_;
      float* const volume = volumes + example * count_;
      std::fill_n(volume, count_, 0.0f);
      for (const int64_t pixel : pixels_) {
        for (int64_t c = 0; pixel >= 0 && c < channels_; ++c) {
          volume[pixel * channels_ + c] += from[c];
        }
        from += channels_;
      }
    });
  }

 private:
  // For each place of each window of an example: the index of the volume's pixel, or -1 in the
  // padding.
  const std::vector<int64_t> pixels_;
  const int64_t channels_;
  const int64_t count_;
  const int64_t examples_;
  SharedScratch& scratch_;
};

// A convolution of volumes as a matrix product, as in UnfoldedConvolution.
class Conv3DKernel : public Kernel {
 public:
  Conv3DKernel(const Conv3DLayer& layer, const KernelContext& context)
      : use_bias_(layer.use_bias()),
        filters_(layer.output().shape[3]),
        rows_(context.options.examples * ElementCount(layer.output().shape) / filters_),
        width_(ElementCount(layer.variables()[0].spec.shape) / filters_),
        input_(layer.window().Pixels(layer.inputs()[0].shape), layer.inputs()[0].shape,
               context.options.examples, context.dnnl),
        forward_({.rows = rows_, .columns = filters_, .inner = width_, .adds_bias = use_bias_},
                 context.dnnl),
        tail_(layer.activation(), rows_, filters_, context.options.training) {
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
    forward_.Run(input_.Unfold(arguments.inputs[0]), arguments.variables[0],
                 use_bias_ ? arguments.variables[1] : nullptr,
                 tail_.Target(arguments.output, arguments.logits));
    tail_.Forward(/*bias=*/nullptr, arguments.output, arguments.logits);
    return absl::OkStatus();
  }

  void Backward(const BackwardArguments& arguments) override {
    float* gradient = arguments.output_gradient;
    tail_.Backward(arguments, gradient, use_bias_ ? arguments.variable_gradients[1] : nullptr);
    if (float* kernel = arguments.variable_gradients[0]) {
      kernel_gradient_->Run(input_.Unfold(arguments.inputs[0]), gradient, /*bias=*/nullptr, kernel);
    }
    if (float* input = arguments.input_gradients[0]) {
      input_gradient_->Run(gradient, arguments.variables[0], /*bias=*/nullptr, input_.rows());
      input_.Fold(input);
    }
  }

 private:
  const bool use_bias_;
  const int64_t filters_;
  // The unfolded matrix has a row for each output pixel.
  const int64_t rows_;
  const int64_t width_;
  const UnfoldedVolumes input_;
  DenseProduct forward_;
  std::optional<DenseProduct> kernel_gradient_;
  std::optional<DenseProduct> input_gradient_;
  ActivationTail tail_;
};

// The transposed convolution: the unfolded matrix has a row for each input pixel, with its windows
// in the output.
class Conv3DTransposeKernel : public Kernel {
 public:
  Conv3DTransposeKernel(const Conv3DLayer& layer, const KernelContext& context)
      : use_bias_(layer.use_bias()),
        channels_(layer.inputs()[0].shape[3]),
        rows_(context.options.examples * ElementCount(layer.inputs()[0].shape) / channels_),
        width_(ElementCount(layer.variables()[0].spec.shape) / channels_),
        output_(layer.window().Pixels(layer.output().shape), layer.output().shape,
                context.options.examples, context.dnnl),
        forward_({.rows = rows_, .columns = width_, .inner = channels_, .b_transposed = true},
                 context.dnnl),
        tail_(
            layer.activation(),
            context.options.examples * ElementCount(layer.output().shape) / layer.output().shape[3],
            layer.output().shape[3], context.options.training) {
    if (!context.options.training) return;
    kernel_gradient_.emplace(
        DenseProduct::Options{
            .rows = width_, .columns = channels_, .inner = rows_, .a_transposed = true},
        context.dnnl);
    if (!context.options.needs_input_gradient) return;
    input_gradient_.emplace(
        DenseProduct::Options{.rows = rows_, .columns = channels_, .inner = width_}, context.dnnl);
  }

  absl::Status Forward(const ForwardArguments& arguments) override {
    forward_.Run(arguments.inputs[0], arguments.variables[0], /*bias=*/nullptr, output_.rows());
    output_.Fold(tail_.Target(arguments.output, arguments.logits));
    tail_.Forward(use_bias_ ? arguments.variables[1] : nullptr, arguments.output, arguments.logits);
    return absl::OkStatus();
  }

  void Backward(const BackwardArguments& arguments) override {
    float* gradient = arguments.output_gradient;
    tail_.Backward(arguments, gradient, use_bias_ ? arguments.variable_gradients[1] : nullptr);
    const float* rows = output_.Unfold(gradient);
    if (float* kernel = arguments.variable_gradients[0]) {
      kernel_gradient_->Run(rows, arguments.inputs[0], /*bias=*/nullptr, kernel);
    }
    if (float* input = arguments.input_gradients[0]) {
      input_gradient_->Run(rows, arguments.variables[0], /*bias=*/nullptr, input);
    }
  }

 private:
  const bool use_bias_;
  const int64_t channels_;
  const int64_t rows_;
  const int64_t width_;
  const UnfoldedVolumes output_;
  DenseProduct forward_;
  std::optional<DenseProduct> kernel_gradient_;
  std::optional<DenseProduct> input_gradient_;
  ActivationTail tail_;
};

}  // namespace

std::unique_ptr<Kernel> CreateConv3DKernel(const Layer& layer, const KernelContext& context) {
  const auto& convolution = static_cast<const Conv3DLayer&>(layer);
  if (convolution.is_transposed()) {
    return std::make_unique<Conv3DTransposeKernel>(convolution, context);
  }
  return std::make_unique<Conv3DKernel>(convolution, context);
}

}  // namespace cairn::nn
