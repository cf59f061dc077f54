#include "nn/cuda/kernels.h"
#include "nn/cuda/loops.h"
#include "nn/layers/masking.h"

namespace cairn::nn::cuda {
namespace {

// A step is valid if one of its features is not the mask value. The mask is written twice: for the
// layers that use it, and for the backward pass.
void Mask(Context* context, int64_t steps, int64_t width, float mask_value, const float* input,
          int32_t* mask, int32_t* mask_output, float* output) {
  ForEachRow(context, steps, width, [=] __device__(int64_t step, const RowBlock& block) {
    const float* const from = input + step * width;
    double is_valid = 0;
    for (int64_t i = block.first(); i < width; i += block.step()) {
      if (from[i] != mask_value) is_valid = 1;
    }
    is_valid = block.Maximum(is_valid);
    for (int64_t i = block.first(); i < width; i += block.step()) {
      output[step * width + i] = is_valid != 0 ? from[i] : 0;
    }
    if (block.first() != 0) return;
    mask[step] = is_valid != 0 ? 1 : 0;
    mask_output[step] = mask[step];
  });
}

void MaskGradient(Context* context, int64_t count, int64_t width, const int32_t* mask,
                  const float* gradient, float* to) {
  const Divisor columns = width;
  ForEach(context, count,
          [=] __device__(int64_t i) { to[i] = mask[i / columns] == 0 ? 0 : gradient[i]; });
}

class MaskingKernel final : public Kernel {
 public:
  MaskingKernel(const MaskingLayer& layer, const KernelContext& context)
      : context_(context.cuda),
        layer_(layer),
        steps_(context.options.examples * layer.steps()),
        mask_(context.cuda, steps_) {}

  absl::Status Forward(const ForwardArguments& arguments) override {
    Mask(context_, steps_, layer_.width(), layer_.mask_value(), arguments.inputs[0], mask_.data(),
         arguments.mask_output, arguments.output);
    return absl::OkStatus();
  }

  void Backward(const BackwardArguments& arguments) override {
    if (arguments.input_gradients[0] == nullptr) return;
    MaskGradient(context_, steps_ * layer_.width(), layer_.width(), mask_.data(),
                 arguments.output_gradient, arguments.input_gradients[0]);
  }

 private:
  Context* const context_;
  const MaskingLayer& layer_;
  const int64_t steps_;
  // That of the last Forward.
  DeviceArray<int32_t> mask_;
};

}  // namespace

std::unique_ptr<Kernel> CreateMaskingKernel(const Layer& layer, const KernelContext& context) {
  return std::make_unique<MaskingKernel>(static_cast<const MaskingLayer&>(layer), context);
}

}  // namespace cairn::nn::cuda
