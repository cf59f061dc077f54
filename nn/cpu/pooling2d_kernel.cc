#include <oneapi/dnnl/dnnl.hpp>

#include "nn/cpu/dnnl_context.h"
#include "nn/cpu/kernels.h"
#include "nn/layers/pooling2d.h"

namespace cairn::nn {
namespace {

using dnnl::memory;

// Images, or volumes with the depth before height and width.
memory::desc Images(int64_t examples, const Shape& shape) {
  memory::dims dims = {examples, shape.back()};
  dims.insert(dims.end(), shape.begin(), shape.end() - 1);
  return memory::desc(dims, memory::data_type::f32,
                      shape.size() == 4 ? memory::format_tag::ndhwc : memory::format_tag::nhwc);
}

class Pooling2DKernel : public Kernel {
 public:
  Pooling2DKernel(const Pooling2DLayer& layer, const KernelContext& context)
      : dnnl_(*context.dnnl),
        input_(Images(context.options.examples, layer.input_image())),
        output_(Images(context.options.examples, layer.output_image())) {
    const bool is_maximum = layer.kind() == Pooling2DLayer::Kind::kMaximum;
    strides_ = Dims(layer, &Window::strides);
    size_ = Dims(layer, &Window::size);
    padding_before_ = Dims(layer, &Window::padding_before);
    padding_after_ = Dims(layer, &Window::padding_after);
    const ForwardDescription forward =
        Describe(is_maximum ? algorithm::pooling_max : algorithm::pooling_avg_exclude_padding,
                 context.options.training);
    forward_ = dnnl::pooling_forward(forward);
    if (!context.options.training) return;
    if (is_maximum) workspace_ = memory(forward.workspace_desc(), dnnl_.engine);
    const auto backward = is_maximum                     ? algorithm::pooling_max
                          : layer.has_gradient_of_tfjs() ? algorithm::pooling_avg_include_padding
                                                         : algorithm::pooling_avg_exclude_padding;
    backward_ = dnnl::pooling_backward(
        {{backward, input_, output_, strides_, size_, padding_before_, padding_after_},
         dnnl_.engine,
         Describe(backward, true)});
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

  // An argument of the window, axis by axis.
  static memory::dims Dims(const Pooling2DLayer& layer, std::array<int64_t, 2> Window::*argument) {
    const auto& [height, width] = layer.window().*argument;
    if (layer.depth() == nullptr) return {height, width};
    return {(layer.depth()->*argument)[0], height, width};
  }

  ForwardDescription Describe(algorithm kind, bool training) const {
    return ForwardDescription(
        {training ? dnnl::prop_kind::forward_training : dnnl::prop_kind::forward_inference, kind,
         input_, output_, strides_, size_, padding_before_, padding_after_},
        dnnl_.engine);
  }

  const DnnlContext& dnnl_;
  const memory::desc input_;
  const memory::desc output_;
  memory::dims strides_;
  memory::dims size_;
  memory::dims padding_before_;
  memory::dims padding_after_;
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
