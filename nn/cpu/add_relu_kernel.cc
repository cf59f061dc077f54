#include "common/simd.h"
#include "nn/cpu/kernels.h"
#include "nn/cpu/parallel.h"

namespace cairn::nn {
namespace {

CAIRN_SIMD void AddRelu(int64_t count, const float* a, const float* b, float* y) {
#pragma GCC ivdep
  for (int64_t i = 0; i < count; ++i) {
    const float sum = a[i] + b[i];
    // Written so that NaN stays NaN.
    y[i] = sum < 0 ? 0 : sum;
  }
}

CAIRN_SIMD void ReluGradient(int64_t count, const float* y, const float* gradient, float* to) {
#pragma GCC ivdep
  for (int64_t i = 0; i < count; ++i) to[i] = y[i] > 0 ? gradient[i] : 0;
}

class AddReluKernel : public Kernel {
 public:
  AddReluKernel(const Layer& add, const KernelContext& context)
      : pieces_(context.options.examples * ElementCount(add.output().shape), 1) {}

  absl::Status Forward(const ForwardArguments& arguments) override {
    pieces_.Run([&](int64_t begin, int64_t end) {
      AddRelu(end - begin, arguments.inputs[0] + begin, arguments.inputs[1] + begin,
              arguments.output + begin);
    });
    return absl::OkStatus();
  }

  void Backward(const BackwardArguments& arguments) override {
    pieces_.Run([&](int64_t begin, int64_t end) {
      for (float* gradient : arguments.input_gradients) {
        if (gradient == nullptr) continue;
        ReluGradient(end - begin, arguments.output + begin, arguments.output_gradient + begin,
                     gradient + begin);
      }
    });
  }

 private:
  const RowPieces pieces_;
};

}  // namespace

std::unique_ptr<Kernel> CreateAddReluKernel(const Layer& add, const KernelContext& context) {
  return std::make_unique<AddReluKernel>(add, context);
}

}  // namespace cairn::nn
