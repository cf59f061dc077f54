#include "nn/cuda/gather.h"
#include "nn/cuda/kernels.h"
#include "nn/cuda/loops.h"
#include "nn/layers/axis_mapping.h"
#include "nn/layers/prelu.h"

namespace cairn::nn::cuda {
namespace {

// to = from where x > 0, else from * alpha of the element.
void Bend(Context* context, int64_t count, int64_t outputs, const int64_t* sources, const float* x,
          const float* alpha, const float* from, float* to) {
  const Divisor elements = outputs;
  ForEach(context, count, [=] __device__(int64_t i) {
    to[i] = x[i] > 0 ? from[i] : alpha[sources[i % elements]] * from[i];
  });
}

void AlphaTerms(Context* context, int64_t count, const float* x, const float* gradient,
                float* terms) {
  ForEach(context, count,
          [=] __device__(int64_t i) { terms[i] = x[i] > 0 ? 0 : x[i] * gradient[i]; });
}

class PReLUKernel final : public Kernel {
 public:
  PReLUKernel(const PReLULayer& layer, const KernelContext& context)
      : context_(context.cuda),
        examples_(context.options.examples),
        alphas_(context.cuda,
                SourcesOf(BroadcastMappings(layer.variables()[0].spec.shape, layer.output().shape)),
                layer.variables()[0].spec.element_count()) {
    if (context.options.training) context.cuda->ReserveScratch(count() * sizeof(float));
  }

  absl::Status Forward(const ForwardArguments& arguments) override {
    Bend(context_, count(), alphas_.outputs(), alphas_.sources(), arguments.inputs[0],
         arguments.variables[0], arguments.inputs[0], arguments.output);
    return absl::OkStatus();
  }

  void Backward(const BackwardArguments& arguments) override {
    if (float* alpha_gradient = arguments.variable_gradients[0]) {
      auto* const terms = context_->scratch<float>();
      AlphaTerms(context_, count(), arguments.inputs[0], arguments.output_gradient, terms);
      alphas_.SumExamples(examples_, terms, alpha_gradient);
    }
    if (float* input_gradient = arguments.input_gradients[0]) {
      Bend(context_, count(), alphas_.outputs(), alphas_.sources(), arguments.inputs[0],
           arguments.variables[0], arguments.output_gradient, input_gradient);
    }
  }

 private:
  int64_t count() const { return examples_ * alphas_.outputs(); }

  Context* const context_;
  const int64_t examples_;
  // The index of each element's alpha.
  const Gather alphas_;
};

}  // namespace

std::unique_ptr<Kernel> CreatePReLUKernel(const Layer& layer, const KernelContext& context) {
  return std::make_unique<PReLUKernel>(static_cast<const PReLULayer&>(layer), context);
}

}  // namespace cairn::nn::cuda
