#include "nn/cpu/dnnl_convolution.h"

#include <algorithm>
#include <unordered_map>

#include "nn/cpu/packed_tensor.h"

namespace cairn::nn {
namespace {

using dnnl::memory;

memory::dims Dims(const std::array<int64_t, 2>& pair) { return {pair[0], pair[1]}; }

memory::desc Images(int64_t examples, const Shape& shape, memory::format_tag tag) {
  return memory::desc({examples, shape[2], shape[0], shape[1]}, memory::data_type::f32, tag);
}

// The kernel's dimensions in oneDNN's order: (groups,) filters, channels, height, width.
memory::dims KernelDims(const Convolution::Options& o) {
  const int64_t filters = o.output[2] / o.groups;
  const int64_t channels = o.input[2] / o.groups;
  const memory::dims dims = {filters, channels, o.window.size[0], o.window.size[1]};
  if (o.groups == 1) return dims;
  return {o.groups, dims[0], dims[1], dims[2], dims[3]};
}

// The kernel in Keras's layout: height, width, channels, filters, with the filters group by group.
memory::desc KerasKernel(const Convolution::Options& o) {
  const int64_t channel_stride = o.output[2];
  const int64_t column_stride = channel_stride * (o.input[2] / o.groups);
  const int64_t row_stride = column_stride * o.window.size[1];
  memory::dims strides = {1, channel_stride, row_stride, column_stride};
  if (o.groups > 1) strides.insert(strides.begin(), o.output[2] / o.groups);
  return memory::desc(KernelDims(o), memory::data_type::f32, strides);
}

// Winograd's F(4x4, 3x3) needs a quarter of the multiplications (Lavin & Gray 2016,
// https://arxiv.org/abs/1509.09308). It pays off with many tiles of 4 x 4 outputs per channel.
// oneDNN implements it for blocked images only, so images are reordered before and after, which
// costs less than it saves.
bool PrefersWinograd(const Convolution::Options& o) {
  using Pair = std::array<int64_t, 2>;
  constexpr int64_t kTilesMin = 64;
  constexpr int64_t kSideMin = 7;
  const bool is_plain_3x3 = o.groups == 1 && o.window.size == Pair{3, 3} &&
                            o.window.strides == Pair{1, 1} && o.window.dilation == Pair{1, 1};
  const bool fills_vectors = o.input[2] >= 32 && o.input[2] % 16 == 0 && o.output[2] % 16 == 0;
  const auto is_narrow = [](const Pair& padding) { return padding[0] <= 1 && padding[1] <= 1; };
  const bool has_narrow_padding =
      is_narrow(o.window.padding_before) && is_narrow(o.window.padding_after);
  const int64_t tiles = o.examples * ((o.output[0] + 3) / 4) * ((o.output[1] + 3) / 4);
  return is_plain_3x3 && fills_vectors && has_narrow_padding && tiles >= kTilesMin &&
         std::min(o.output[0], o.output[1]) >= kSideMin;
}

// The descriptors that the forward pass and both gradients have in common.
struct CommonDescriptors {
  const Convolution::Options& options;
  memory::desc input;  // The layout requested from oneDNN; may be `any`.
  memory::desc output;
  memory::desc kernel;
  memory::desc bias;
  memory::dims strides;
  memory::dims dilates;
  memory::dims before;
  memory::dims after;
  dnnl::algorithm algorithm;

  CommonDescriptors(const Convolution::Options& o, bool winograd)
      : options(o),
        input(Images(o.examples, o.input, Tag(winograd))),
        output(Images(o.examples, o.output, Tag(winograd))),
        kernel(KernelDims(o), memory::data_type::f32, memory::format_tag::any),
        bias({o.output[2]}, memory::data_type::f32, memory::format_tag::a),
        strides(Dims(o.window.strides)),
        // oneDNN's dilation counts the gaps between kernel elements.
        dilates({o.window.dilation[0] - 1, o.window.dilation[1] - 1}),
        before(Dims(o.window.padding_before)),
        after(Dims(o.window.padding_after)),
        algorithm(winograd ? dnnl::algorithm::convolution_winograd
                           : dnnl::algorithm::convolution_direct) {}

  static memory::format_tag Tag(bool winograd) {
    return winograd ? memory::format_tag::any : memory::format_tag::nhwc;
  }

  dnnl::convolution_forward::primitive_desc Forward(const DnnlContext& context) const {
    const auto kind = options.training || algorithm == dnnl::algorithm::convolution_winograd
                          ? dnnl::prop_kind::forward_training
                          : dnnl::prop_kind::forward_inference;
    dnnl::primitive_attr attributes;
    if (options.applies_relu) {
      dnnl::post_ops relu;
      relu.append_eltwise(1, dnnl::algorithm::eltwise_relu, 0, 0);
      attributes.set_post_ops(relu);
    }
    const dnnl::convolution_forward::desc description =
        options.adds_bias ? dnnl::convolution_forward::desc(kind, algorithm, input, kernel, bias,
                                                            output, strides, dilates, before, after)
                          : dnnl::convolution_forward::desc(kind, algorithm, input, kernel, output,
                                                            strides, dilates, before, after);
    return {description, attributes, context.engine};
  }
};

}  // namespace

// A primitive with its three tensors in the layouts that it requires. The tensors use consecutive
// parts of the shared scratch memory.
struct DnnlConvolution::Pass {
  dnnl::primitive primitive;
  PackedTensor input;
  PackedTensor kernel;
  PackedTensor output;

  int64_t scratch() const { return input.scratch() + kernel.scratch() + output.scratch(); }
  float* InputPlace(const DnnlContext& context) const { return context.scratch->get(); }
  float* KernelPlace(const DnnlContext& context) const {
    return InputPlace(context) + input.scratch();
  }
  float* OutputPlace(const DnnlContext& context) const {
    return KernelPlace(context) + kernel.scratch();
  }
};

struct DnnlConvolution::Primitives {
  memory bias;
  bool adds_bias = false;
  Pass forward;
  Pass kernel_gradient;
  Pass input_gradient;
};

DnnlConvolution::DnnlConvolution(const Options& options, const DnnlContext* context)
    : context_(context), primitives_(std::make_unique<Primitives>()) {
  if (PrefersWinograd(options)) {
    try {
      CreatePasses(options, /*winograd=*/true);
      return;
    } catch (const dnnl::error&) {
      // oneDNN has no Winograd kernels for this CPU.
      *primitives_ = Primitives();
    }
  }
  CreatePasses(options, /*winograd=*/false);
}

void DnnlConvolution::CreatePasses(const Options& options, bool winograd) {
  const CommonDescriptors s(options, winograd);
  Primitives& p = *primitives_;
  const auto pass = [&](const auto& description, const memory::desc& input,
                        const memory::desc& kernel, const memory::desc& output) {
    using Primitive = dnnl::primitive;
    constexpr auto kTag = memory::format_tag::nhwc;
    Pass result = {
        .primitive = Primitive(description.get()),
        .input = PackedTensor(input, Images(options.examples, options.input, kTag), context_),
        .kernel = PackedTensor(kernel, KerasKernel(options), context_),
        .output = PackedTensor(output, Images(options.examples, options.output, kTag), context_)};
    context_->scratch->Reserve(result.scratch());
    return result;
  };
  p.adds_bias = options.adds_bias;
  p.bias = memory(s.bias, context_->engine, nullptr);
  // The backward primitives take the forward one as a hint, so it is created first.
  const auto forward = s.Forward(*context_);
  p.forward = pass(forward, forward.src_desc(), forward.weights_desc(), forward.dst_desc());
  if (!options.training) return;

  const dnnl::convolution_backward_weights::primitive_desc kernel_gradient(
      {s.algorithm, s.input, s.kernel, s.output, s.strides, s.dilates, s.before, s.after},
      context_->engine, forward);
  p.kernel_gradient = pass(kernel_gradient, kernel_gradient.src_desc(),
                           kernel_gradient.diff_weights_desc(), kernel_gradient.diff_dst_desc());
  if (!options.needs_input_gradient) return;
  const dnnl::convolution_backward_data::primitive_desc input_gradient(
      {s.algorithm, s.input, s.kernel, s.output, s.strides, s.dilates, s.before, s.after},
      context_->engine, forward);
  p.input_gradient = pass(input_gradient, input_gradient.diff_src_desc(),
                          input_gradient.weights_desc(), input_gradient.diff_dst_desc());
}

DnnlConvolution::~DnnlConvolution() = default;

void DnnlConvolution::Forward(const float* input, const float* kernel, const float* bias,
                              float* output) {
  Pass& pass = primitives_->forward;
  std::unordered_map<int, memory> arguments = {
      {DNNL_ARG_SRC, pass.input.Load(input, pass.InputPlace(*context_))},
      {DNNL_ARG_WEIGHTS, pass.kernel.Load(kernel, pass.KernelPlace(*context_))},
      {DNNL_ARG_DST, pass.output.Target(output, pass.OutputPlace(*context_))}};
  if (primitives_->adds_bias) {
    primitives_->bias.set_data_handle(const_cast<float*>(bias));
    arguments.emplace(DNNL_ARG_BIAS, primitives_->bias);
  }
  pass.primitive.execute(context_->stream, arguments);
  pass.output.Store();
}

void DnnlConvolution::KernelGradient(const float* input, const float* output_gradient,
                                     float* kernel_gradient) {
  Pass& pass = primitives_->kernel_gradient;
  pass.primitive.execute(
      context_->stream,
      {{DNNL_ARG_SRC, pass.input.Load(input, pass.InputPlace(*context_))},
       {DNNL_ARG_DIFF_DST, pass.output.Load(output_gradient, pass.OutputPlace(*context_))},
       {DNNL_ARG_DIFF_WEIGHTS, pass.kernel.Target(kernel_gradient, pass.KernelPlace(*context_))}});
  pass.kernel.Store();
}

void DnnlConvolution::InputGradient(const float* output_gradient, const float* kernel,
                                    float* input_gradient) {
  Pass& pass = primitives_->input_gradient;
  pass.primitive.execute(
      context_->stream,
      {{DNNL_ARG_DIFF_DST, pass.output.Load(output_gradient, pass.OutputPlace(*context_))},
       {DNNL_ARG_WEIGHTS, pass.kernel.Load(kernel, pass.KernelPlace(*context_))},
       {DNNL_ARG_DIFF_SRC, pass.input.Target(input_gradient, pass.InputPlace(*context_))}});
  pass.input.Store();
}

}  // namespace cairn::nn
