#include <algorithm>

#include "nn/cpu/kernels.h"
#include "nn/layers/layer_output.h"

namespace cairn::nn {
namespace {

class LayerOutputKernel : public Kernel {
 public:
  LayerOutputKernel(const LayerOutputLayer& layer, const KernelContext& context)
      : examples_(context.options.examples),
        offset_(layer.offset()),
        count_(ElementCount(layer.output().shape)),
        input_count_(ElementCount(layer.inputs()[0].shape)) {}

  absl::Status Forward(const ForwardArguments& arguments) override {
    for (int64_t i = 0; i < examples_; ++i) {
      std::copy_n(arguments.inputs[0] + i * input_count_ + offset_, count_,
                  arguments.output + i * count_);
    }
    return absl::OkStatus();
  }

  void Backward(const BackwardArguments& arguments) override {
    float* gradient = arguments.input_gradients[0];
    if (gradient == nullptr) return;
    std::fill_n(gradient, examples_ * input_count_, 0.0f);
    for (int64_t i = 0; i < examples_; ++i) {
      std::copy_n(arguments.output_gradient + i * count_, count_,
                  gradient + i * input_count_ + offset_);
    }
  }

 private:
  const int64_t examples_;
  const int64_t offset_;
  const int64_t count_;
  const int64_t input_count_;
};

}  // namespace

std::unique_ptr<Kernel> CreateLayerOutputKernel(const Layer& layer, const KernelContext& context) {
  return std::make_unique<LayerOutputKernel>(static_cast<const LayerOutputLayer&>(layer), context);
}

}  // namespace cairn::nn
