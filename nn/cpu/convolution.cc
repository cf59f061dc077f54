#include "nn/cpu/convolution.h"

#include <optional>

namespace cairn::nn {
namespace {

using dnnl::memory;

memory::dims Dims(const std::array<int64_t, 2>& pair) { return {pair[0], pair[1]}; }

memory::desc Images(int64_t examples, const Shape& shape) {
  return memory::desc({examples, shape[2], shape[0], shape[1]}, memory::data_type::f32,
                      memory::format_tag::nhwc);
}

// oneDNN's dimensions of a kernel: (groups,) filters, channels, height, width.
memory::dims KernelDims(const Convolution::Options& o) {
  const int64_t filters = o.output[2] / o.groups;
  const int64_t channels = o.input[2] / o.groups;
  const memory::dims dims = {filters, channels, o.window.size[0], o.window.size[1]};
  if (o.groups == 1) return dims;
  return {o.groups, dims[0], dims[1], dims[2], dims[3]};
}

// Where Keras stores them: height, width, channels, then all filters, group by group.
memory::desc KerasKernel(const Convolution::Options& o) {
  const int64_t channel_stride = o.output[2];
  const int64_t column_stride = channel_stride * (o.input[2] / o.groups);
  const int64_t row_stride = column_stride * o.window.size[1];
  memory::dims strides = {1, channel_stride, row_stride, column_stride};
  if (o.groups > 1) strides.insert(strides.begin(), o.output[2] / o.groups);
  return memory::desc(KernelDims(o), memory::data_type::f32, strides);
}

// A kernel in the layout that a primitive likes best, and the way to it from Keras's (or back).
struct PackedKernel {
  memory packed;
  memory keras;
  std::optional<dnnl::reorder> reorder;

  PackedKernel() = default;
  PackedKernel(const memory::desc& layout, const memory::desc& keras_layout, bool unpacks,
               const DnnlContext& context)
      : keras(keras_layout, context.engine, nullptr) {
    const bool is_keras = layout == keras_layout;
    packed = is_keras ? memory(layout, context.engine, nullptr) : memory(layout, context.engine);
    if (is_keras) return;
    reorder = unpacks ? dnnl::reorder(packed, keras) : dnnl::reorder(keras, packed);
  }

  const memory& Pack(const float* kernel, const DnnlContext& context) {
    return Move(keras, packed, const_cast<float*>(kernel), context);
  }
  // What a primitive shall write to so that Unpack finds it.
  const memory& Target(float* kernel) {
    if (!reorder.has_value()) packed.set_data_handle(kernel);
    return packed;
  }
  void Unpack(float* kernel, const DnnlContext& context) {
    if (reorder.has_value()) Move(packed, keras, kernel, context);
  }

 private:
  const memory& Move(memory& from, memory& to, float* kernel, const DnnlContext& context) {
    if (!reorder.has_value()) {
      packed.set_data_handle(kernel);
    } else {
      keras.set_data_handle(kernel);
      reorder->execute(context.stream, from, to);
    }
    return packed;
  }
};

}  // namespace

struct Convolution::Primitives {
  memory::desc input;
  memory::desc output;
  memory::desc bias;
  bool adds_bias = false;

  dnnl::convolution_forward forward;
  PackedKernel forward_kernel;
  dnnl::convolution_backward_weights kernel_gradient;
  PackedKernel packed_gradient;
  dnnl::convolution_backward_data input_gradient;
  PackedKernel backward_kernel;
};

Convolution::Convolution(const Options& o, const DnnlContext* context)
    : context_(context), primitives_(std::make_unique<Primitives>()) {
  Primitives& p = *primitives_;
  p.input = Images(o.examples, o.input);
  p.output = Images(o.examples, o.output);
  p.bias = memory::desc({o.output[2]}, memory::data_type::f32, memory::format_tag::a);
  p.adds_bias = o.adds_bias;
  const memory::desc keras = KerasKernel(o);
  const memory::desc any(KernelDims(o), memory::data_type::f32, memory::format_tag::any);
  const memory::dims strides = Dims(o.window.strides);
  // oneDNN counts the holes between the kernel's elements.
  const memory::dims dilates = {o.window.dilation[0] - 1, o.window.dilation[1] - 1};
  const memory::dims before = Dims(o.window.padding_before);
  const memory::dims after = Dims(o.window.padding_after);
  constexpr auto kDirect = dnnl::algorithm::convolution_direct;

  dnnl::primitive_attr attributes;
  if (o.applies_relu) {
    dnnl::post_ops relu;
    relu.append_eltwise(1, dnnl::algorithm::eltwise_relu, 0, 0);
    attributes.set_post_ops(relu);
  }
  const auto kind =
      o.training ? dnnl::prop_kind::forward_training : dnnl::prop_kind::forward_inference;
  const dnnl::convolution_forward::desc description =
      o.adds_bias ? dnnl::convolution_forward::desc(kind, kDirect, p.input, any, p.bias, p.output,
                                                    strides, dilates, before, after)
                  : dnnl::convolution_forward::desc(kind, kDirect, p.input, any, p.output, strides,
                                                    dilates, before, after);
  const dnnl::convolution_forward::primitive_desc forward(description, attributes,
                                                          context_->engine);
  p.forward = dnnl::convolution_forward(forward);
  p.forward_kernel = PackedKernel(forward.weights_desc(), keras, /*unpacks=*/false, *context_);
  if (!o.training) return;

  const dnnl::convolution_backward_weights::primitive_desc kernel_gradient(
      {kDirect, p.input, any, p.output, strides, dilates, before, after}, context_->engine,
      forward);
  p.kernel_gradient = dnnl::convolution_backward_weights(kernel_gradient);
  p.packed_gradient =
      PackedKernel(kernel_gradient.diff_weights_desc(), keras, /*unpacks=*/true, *context_);

  const dnnl::convolution_backward_data::primitive_desc input_gradient(
      {kDirect, p.input, any, p.output, strides, dilates, before, after}, context_->engine,
      forward);
  p.input_gradient = dnnl::convolution_backward_data(input_gradient);
  p.backward_kernel =
      PackedKernel(input_gradient.weights_desc(), keras, /*unpacks=*/false, *context_);
}

Convolution::~Convolution() = default;

void Convolution::Forward(const float* input, const float* kernel, const float* bias,
                          float* output) {
  Primitives& p = *primitives_;
  std::unordered_map<int, memory> arguments = {
      {DNNL_ARG_SRC, context_->Wrap(p.input, input)},
      {DNNL_ARG_WEIGHTS, p.forward_kernel.Pack(kernel, *context_)},
      {DNNL_ARG_DST, context_->Wrap(p.output, output)}};
  if (p.adds_bias) arguments.emplace(DNNL_ARG_BIAS, context_->Wrap(p.bias, bias));
  p.forward.execute(context_->stream, arguments);
}

void Convolution::KernelGradient(const float* input, const float* output_gradient,
                                 float* kernel_gradient) {
  Primitives& p = *primitives_;
  p.kernel_gradient.execute(context_->stream,
                            {{DNNL_ARG_SRC, context_->Wrap(p.input, input)},
                             {DNNL_ARG_DIFF_DST, context_->Wrap(p.output, output_gradient)},
                             {DNNL_ARG_DIFF_WEIGHTS, p.packed_gradient.Target(kernel_gradient)}});
  p.packed_gradient.Unpack(kernel_gradient, *context_);
}

void Convolution::InputGradient(const float* output_gradient, const float* kernel,
                                float* input_gradient) {
  Primitives& p = *primitives_;
  p.input_gradient.execute(context_->stream,
                           {{DNNL_ARG_DIFF_DST, context_->Wrap(p.output, output_gradient)},
                            {DNNL_ARG_WEIGHTS, p.backward_kernel.Pack(kernel, *context_)},
                            {DNNL_ARG_DIFF_SRC, context_->Wrap(p.input, input_gradient)}});
}

}  // namespace cairn::nn
