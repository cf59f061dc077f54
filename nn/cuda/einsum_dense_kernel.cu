#include "nn/cuda/activation_tail.h"
#include "nn/cuda/kernels.h"
#include "nn/cuda/matrix_view.h"
#include "nn/cuda/product.h"
#include "nn/layers/einsum_dense.h"

namespace cairn::nn::cuda {
namespace {

using Axis = EinsumDenseLayer::Axis;

// The axes with their strides in one tensor. The batch is an axis of size 1 where there is none.
StridedAxes AxesOf(const std::vector<Axis>& axes, int64_t Axis::*stride, Axis batch = {}) {
  StridedAxes all;
  all.Append(batch.size, batch.*stride);
  for (const Axis& axis : axes) all.Append(axis.size, axis.*stride);
  return all;
}

// A bias of the output's last axes, all of them, is added with the activation. Returns the number
// of its elements; 0: it is a bias of other axes.
int64_t LastAxesOfBias(const EinsumDenseLayer& layer) {
  const Shape& shape = layer.output().shape;
  int64_t width = 1;
  bool is_inside = true;
  for (size_t axis = shape.size(); axis-- > 0;) {
    if (shape[axis] == 1) continue;
    const int64_t stride = layer.bias_strides()[axis];
    is_inside = is_inside && stride == width;
    if (is_inside) {
      width *= shape[axis];
    } else if (stride != 0) {
      return 0;
    }
  }
  return width;
}

class EinsumDenseKernel final : public Kernel {
 public:
  EinsumDenseKernel(const EinsumDenseLayer& layer, const KernelContext& context)
      : EinsumDenseKernel(layer, context,
                          {.size = context.options.examples,
                           .input_stride = ElementCount(layer.inputs()[0].shape),
                           .output_stride = ElementCount(layer.output().shape)},
                          layer.output().shape.empty() ? 1 : layer.output().shape.back(),
                          LastAxesOfBias(layer)) {}

  absl::Status Forward(const ForwardArguments& arguments) override {
    float* const target = tail_.Target(arguments.output, arguments.logits);
    Multiply(context_,
             {.rows = rows_,
              .columns = columns_,
              .inner = inner_,
              .a_row_stride = input_.row_stride(),
              .b_row_stride = kernel_.row_stride(),
              .c_row_stride = output_.row_stride(),
              .batches = places_,
              .a_batch_stride = input_.batch_stride(),
              .b_batch_stride = kernel_.batch_stride(),
              .c_batch_stride = output_.batch_stride()},
             input_.Read(arguments.inputs[0]), kernel_.Read(arguments.variables[0]),
             output_.Target(target));
    output_.Store(target);
    const float* const bias = use_bias_ ? arguments.variables[1] : nullptr;
    if (use_bias_ && !bias_is_last_) AddBroadcast(context_, bias_axes_, bias, target);
    tail_.Forward(bias_is_last_ ? bias : nullptr, arguments.output, arguments.logits);
    return absl::OkStatus();
  }

  void Backward(const BackwardArguments& arguments) override {
    float* const gradient = arguments.output_gradient;
    float* const bias = use_bias_ ? arguments.variable_gradients[1] : nullptr;
    tail_.Backward(arguments, gradient, bias_is_last_ ? bias : nullptr);
    if (bias != nullptr && !bias_is_last_) {
      SumAxes(context_, bias_in_output_, summed_by_bias_, gradient, bias);
    }
    const float* const by_output = output_.Read(gradient);
    if (float* kernel = arguments.variable_gradients[0]) {
      Multiply(context_,
               {.rows = inner_,
                .columns = columns_,
                .inner = rows_,
                .a_transposed = true,
                .a_row_stride = input_.row_stride(),
                .b_row_stride = output_.row_stride(),
                .c_row_stride = kernel_.row_stride(),
                .batches = places_,
                .a_batch_stride = input_.batch_stride(),
                .b_batch_stride = output_.batch_stride(),
                .c_batch_stride = kernel_.batch_stride()},
               input_.Read(arguments.inputs[0]), by_output, kernel_.Target(kernel));
      kernel_.Store(kernel);
    }
    if (float* input = arguments.input_gradients[0]) {
      Multiply(context_,
               {.rows = rows_,
                .columns = inner_,
                .inner = columns_,
                .b_transposed = true,
                .a_row_stride = output_.row_stride(),
                .b_row_stride = kernel_.row_stride(),
                .c_row_stride = input_.row_stride(),
                .batches = places_,
                .a_batch_stride = output_.batch_stride(),
                .b_batch_stride = kernel_.batch_stride(),
                .c_batch_stride = input_.batch_stride()},
               by_output, kernel_.Read(arguments.variables[0]), input_.Target(input));
      input_.Store(input);
    }
  }

 private:
  EinsumDenseKernel(const EinsumDenseLayer& layer, const KernelContext& context, const Axis& batch,
                    int64_t width, int64_t bias_width)
      : context_(context.cuda),
        use_bias_(layer.use_bias()),
        // Softmax is computed over the last axis, so the bias must be that axis's.
        bias_is_last_(use_bias_ && bias_width > 0 &&
                      (bias_width == width || !layer.activation().is_row_wise())),
        places_(AxesOf(layer.equation().shared, &Axis::kernel_stride).ElementCount()),
        rows_(AxesOf(layer.equation().rows, &Axis::input_stride, batch).ElementCount()),
        inner_(AxesOf(layer.equation().inner, &Axis::input_stride).ElementCount()),
        columns_(AxesOf(layer.equation().columns, &Axis::kernel_stride).ElementCount()),
        tail_(context.cuda, layer.activation(),
              batch.size * batch.output_stride / (bias_is_last_ ? bias_width : width),
              bias_is_last_ ? bias_width : width, context.options.training),
        input_(context.cuda, AxesOf(layer.equation().shared, &Axis::input_stride),
               AxesOf(layer.equation().rows, &Axis::input_stride, batch),
               AxesOf(layer.equation().inner, &Axis::input_stride)),
        kernel_(context.cuda, AxesOf(layer.equation().shared, &Axis::kernel_stride),
                AxesOf(layer.equation().inner, &Axis::kernel_stride),
                AxesOf(layer.equation().columns, &Axis::kernel_stride)),
        output_(context.cuda, AxesOf(layer.equation().shared, &Axis::output_stride),
                AxesOf(layer.equation().rows, &Axis::output_stride, batch),
                AxesOf(layer.equation().columns, &Axis::output_stride)) {
    if (!use_bias_ || bias_is_last_) return;
    const Shape& shape = layer.output().shape;
    int64_t stride = batch.output_stride;
    bias_axes_.Append(batch.size, 0);
    summed_by_bias_.Append(batch.size, stride);
    for (size_t axis = 0; axis < shape.size(); ++axis) {
      stride /= shape[axis];
      const int64_t in_bias = layer.bias_strides()[axis];
      bias_axes_.Append(shape[axis], in_bias);
      (in_bias == 0 ? summed_by_bias_ : bias_in_output_).Append(shape[axis], stride);
    }
  }

  Context* const context_;
  const bool use_bias_;
  // If true, the tail adds the bias, and else AddBroadcast.
  const bool bias_is_last_;
  // There is a product of rows x inner and inner x columns for each place of the shared axes.
  const int64_t places_;
  const int64_t rows_;
  const int64_t inner_;
  const int64_t columns_;
  ActivationTail tail_;
  const MatrixView input_;
  const MatrixView kernel_;
  const MatrixView output_;
  // All axes of the output, with their strides in the bias.
  StridedAxes bias_axes_;
  // The axes of the output that the bias has, and the others, with their strides in the output.
  StridedAxes bias_in_output_;
  StridedAxes summed_by_bias_;
};

}  // namespace

std::unique_ptr<Kernel> CreateEinsumDenseKernel(const Layer& layer, const KernelContext& context) {
  return std::make_unique<EinsumDenseKernel>(static_cast<const EinsumDenseLayer&>(layer), context);
}

}  // namespace cairn::nn::cuda
