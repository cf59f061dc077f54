#include "nn/cuda/kernels.h"
#include "nn/cuda/loops.h"
#include "nn/layers/layer_output.h"

namespace cairn::nn::cuda {
namespace {

class LayerOutputKernel final : public Kernel {
 public:
  LayerOutputKernel(const LayerOutputLayer& layer, const KernelContext& context)
      : context_(context.cuda),
        examples_(context.options.examples),
        offset_(layer.offset()),
        count_(ElementCount(layer.output().shape)),
        input_count_(ElementCount(layer.inputs()[0].shape)) {}

  absl::Status Forward(const ForwardArguments& arguments) override {
    const float* const from = arguments.inputs[0] + offset_;
    float* const to = arguments.output;
    const int64_t count = count_;
    const int64_t input_count = input_count_;
    ForEach(context_, examples_ * count,
            [=] __device__(int64_t i) { to[i] = from[i / count * input_count + i % count]; });
    return absl::OkStatus();
  }

  void Backward(const BackwardArguments& arguments) override {
    const float* const from = arguments.output_gradient;
    float* const to = arguments.input_gradients[0];
    if (to == nullptr) return;
    const int64_t offset = offset_;
    const int64_t count = count_;
    const int64_t input_count = input_count_;
    ForEach(context_, examples_ * input_count, [=] __device__(int64_t i) {
      const int64_t at = i % input_count - offset;
      to[i] = at >= 0 && at < count ? from[i / input_count * count + at] : 0;
    });
  }

 private:
  Context* const context_;
  const int64_t examples_;
  const int64_t offset_;
  const int64_t count_;
  const int64_t input_count_;
};

}  // namespace

std::unique_ptr<Kernel> CreateLayerOutputKernel(const Layer& layer, const KernelContext& context) {
  return std::make_unique<LayerOutputKernel>(static_cast<const LayerOutputLayer&>(layer), context);
}

}  // namespace cairn::nn::cuda
