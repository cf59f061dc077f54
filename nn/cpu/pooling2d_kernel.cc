#include "nn/cpu/pooling2d_kernel.h"

#include <oneapi/dnnl/dnnl.hpp>

#include "nn/cpu/dnnl_context.h"
#include "nn/layers/pooling2d.h"

namespace cairn::nn {
namespace {

using dnnl::memory;

memory::dims Dims(const std::array<int64_t, 2>& pair) { return {pair[0], pair[1]}; }

memory::desc Images(int64_t examples, const Shape& shape) {
  return memory::desc({examples, shape[2], shape[0], shape[1]}, memory::data_type::f32,
                      memory::format_tag::nhwc);
}

class Pooling2DKernel : public Kernel {
 public:
  Pooling2DKernel(const Pooling2DLayer& layer, const KernelContext& context)
      : dnnl_(*context.dnnl),
        input_(Images(context.options.examples, layer.inputs()[0].shape)),
        output_(Images(context.options.examples, layer.output().shape)) {
    const Window& window = layer.window();
    const bool is_maximum = layer.kind() == Pooling2DLayer::Kind::kMaximum;
    const auto algorithm =
        is_maximum ? dnnl::algorithm::pooling_max : dnnl::algorithm::pooling_avg_exclude_padding;
    const bool training = context.options.training;
    const dnnl::pooling_forward::primitive_desc forward(
        {training ? dnnl::prop_kind::forward_training : dnnl::prop_kind::forward_inference,
         algorithm, input_, output_, Dims(window.strides), Dims(window.size),
         Dims(window.padding_before), Dims(window.padding_after)},
        dnnl_.engine);
    forward_ = dnnl::pooling_forward(forward);
    if (!training) return;
    if (is_maximum) winners_ = memory(forward.workspace_desc(), dnnl_.engine);
    backward_ = dnnl::pooling_backward(
        {{algorithm, input_, output_, Dims(window.strides), Dims(window.size),
          Dims(window.padding_before), Dims(window.padding_after)},
         dnnl_.engine,
         forward});
  }

  absl::Status Forward(const ForwardArguments& arguments) override {
    std::unordered_map<int, memory> memories = {
        {DNNL_ARG_SRC, dnnl_.Wrap(input_, arguments.inputs[0])},
        {DNNL_ARG_DST, dnnl_.Wrap(output_, arguments.output)}};
    if (winners_) memories.emplace(DNNL_ARG_WORKSPACE, winners_);
    forward_.execute(dnnl_.stream, memories);
    return absl::OkStatus();
  }

  void Backward(const BackwardArguments& arguments) override {
    if (arguments.input_gradients[0] == nullptr) return;
    std::unordered_map<int, memory> memories = {
        {DNNL_ARG_DIFF_DST, dnnl_.Wrap(output_, arguments.output_gradient)},
        {DNNL_ARG_DIFF_SRC, dnnl_.Wrap(input_, arguments.input_gradients[0])}};
    if (winners_) memories.emplace(DNNL_ARG_WORKSPACE, winners_);
    backward_.execute(dnnl_.stream, memories);
  }

 private:
  const DnnlContext& dnnl_;
  const memory::desc input_;
  const memory::desc output_;
  dnnl::pooling_forward forward_;
  dnnl::pooling_backward backward_;
  // Which element of each window was the largest; none for averages.
  memory winners_;
};

}  // namespace

std::unique_ptr<Kernel> CreatePooling2DKernel(const Layer& layer, const KernelContext& context) {
  return std::make_unique<Pooling2DKernel>(static_cast<const Pooling2DLayer&>(layer), context);
}

}  // namespace cairn::nn
