#include <oneapi/dnnl/dnnl.hpp>

#include "nn/cpu/dnnl_context.h"
#include "nn/cpu/kernels.h"
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
        input_(Images(context.options.examples, layer.input_image())),
        output_(Images(context.options.examples, layer.output_image())) {
    const bool is_maximum = layer.kind() == Pooling2DLayer::Kind::kMaximum;
    const Window& window = layer.window();
    const ForwardDescription forward =
        Describe(is_maximum ? algorithm::pooling_max : algorithm::pooling_avg_exclude_padding,
                 window, context.options.training);
    forward_ = dnnl::pooling_forward(forward);
    if (!context.options.training) return;
    if (is_maximum) workspace_ = memory(forward.workspace_desc(), dnnl_.engine);
    const auto backward = is_maximum                     ? algorithm::pooling_max
                          : layer.has_gradient_of_tfjs() ? algorithm::pooling_avg_include_padding
                                                         : algorithm::pooling_avg_exclude_padding;
    backward_ =
        dnnl::pooling_backward({{backward, input_, output_, Dims(window.strides), Dims(window.size),
                                 Dims(window.padding_before), Dims(window.padding_after)},
                                dnnl_.engine,
                                Describe(backward, window, true)});
  }

  absl::Status Forward(const ForwardArguments& arguments) override {
    std::unordered_map<int, memory> memories = {
        {DNNL_ARG_SRC, dnnl_.Wrap(input_, arguments.inputs[0])},
        {DNNL_ARG_DST, dnnl_.Wrap(output_, arguments.output)}};
    if (workspace_) memories.emplace(DNNL_ARG_WORKSPACE, workspace_);
    forward_.execute(dnnl_.stream, memories);
    return absl::OkStatus();
  }

  void Backward(const BackwardArguments& arguments) override {
    if (arguments.input_gradients[0] == nullptr) return;
    std::unordered_map<int, memory> memories = {
        {DNNL_ARG_DIFF_DST, dnnl_.Wrap(output_, arguments.output_gradient)},
        {DNNL_ARG_DIFF_SRC, dnnl_.Wrap(input_, arguments.input_gradients[0])}};
    if (workspace_) memories.emplace(DNNL_ARG_WORKSPACE, workspace_);
    backward_.execute(dnnl_.stream, memories);
  }

 private:
  using algorithm = dnnl::algorithm;
  using ForwardDescription = dnnl::pooling_forward::primitive_desc;

  ForwardDescription Describe(algorithm kind, const Window& window, bool training) const {
    return ForwardDescription(
        {training ? dnnl::prop_kind::forward_training : dnnl::prop_kind::forward_inference, kind,
         input_, output_, Dims(window.strides), Dims(window.size), Dims(window.padding_before),
         Dims(window.padding_after)},
        dnnl_.engine);
  }

  const DnnlContext& dnnl_;
  const memory::desc input_;
  const memory::desc output_;
  dnnl::pooling_forward forward_;
  dnnl::pooling_backward backward_;
  // The position of each window's maximum, as oneDNN's workspace; empty for averages.
  memory workspace_;
};

}  // namespace

std::unique_ptr<Kernel> CreatePooling2DKernel(const Layer& layer, const KernelContext& context) {
  return std::make_unique<Pooling2DKernel>(static_cast<const Pooling2DLayer&>(layer), context);
}

}  // namespace cairn::nn
