#include <algorithm>
#include <optional>
#include <vector>

#include "nn/cpu/activation_tail.h"
#include "nn/cpu/aligned_buffer.h"
#include "nn/cpu/dense_product.h"
#include "nn/cpu/kernels.h"
#include "nn/layers/einsum_dense.h"

namespace cairn::nn {
namespace {

using Axis = EinsumDenseLayer::Axis;

struct Step {
  int64_t size = 1;
  int64_t stride = 0;
};

int64_t SizeOf(const std::vector<Axis>& axes) {
  int64_t size = 1;
  for (const Axis& axis : axes) size *= axis.size;
  return size;
}

// A tensor's axes as those of a matrix, row-major, in a place of the shared axes. A matrix that has
// the tensor's order is used where it is; others are copied.
class MatrixView {
 public:
  explicit MatrixView(std::vector<Step> steps) : steps_(std::move(steps)) {
    int64_t stride = 1;
    for (size_t i = steps_.size(); i-- > 0;) {
      is_direct_ = is_direct_ && (steps_[i].stride == stride || steps_[i].size == 1);
      stride *= steps_[i].size;
    }
    count_ = stride;
    if (!is_direct_) copy_ = AlignedBuffer<float>(count_);
  }

  // The matrix that begins at `tensor`.
  const float* Read(const float* tensor) {
    if (is_direct_) return tensor;
    ForEach([&](int64_t i, int64_t offset) { copy_.get()[i] = tensor[offset]; });
    return copy_.get();
  }
  // Where to write the matrix, before Store with the same tensor.
  float* Target(float* tensor) const { return is_direct_ ? tensor : copy_.get(); }
  void Store(float* tensor) {
    if (is_direct_) return;
    ForEach([&](int64_t i, int64_t offset) { tensor[offset] = copy_.get()[i]; });
  }

 private:
  template <typename Visit>
  void ForEach(const Visit& visit) const {
    std::vector<int64_t> index(steps_.size(), 0);
    const int64_t width = steps_.back().size;
    const int64_t stride = steps_.back().stride;
    for (int64_t i = 0; i < count_; i += width) {
      int64_t offset = 0;
      for (size_t axis = 0; axis + 1 < steps_.size(); ++axis) {
        offset += index[axis] * steps_[axis].stride;
      }
      for (int64_t j = 0; j < width; ++j) visit(i + j, offset + j * stride);
      for (size_t axis = steps_.size() - 1; axis-- > 0;) {
        if (++index[axis] < steps_[axis].size) break;
        index[axis] = 0;
      }
    }
  }

  std::vector<Step> steps_;
  bool is_direct_ = true;
  int64_t count_ = 1;
  AlignedBuffer<float> copy_;
};

// The batch, then these axes with the strides of one tensor.
std::vector<Step> Steps(Step batch, const std::vector<Axis>& rows, const std::vector<Axis>& columns,
                        int64_t Axis::*stride) {
  std::vector<Step> steps = {batch};
  for (const std::vector<Axis>* axes : {&rows, &columns}) {
    for (const Axis& axis : *axes) steps.push_back({axis.size, axis.*stride});
  }
  return steps;
}

class EinsumDenseKernel : public Kernel {
 public:
  EinsumDenseKernel(const EinsumDenseLayer& layer, const KernelContext& context)
      : layer_(layer),
        examples_(context.options.examples),
        elements_(ElementCount(layer.output().shape)),
        rows_(examples_ * SizeOf(layer.equation().rows)),
        inner_(SizeOf(layer.equation().inner)),
        columns_(SizeOf(layer.equation().columns)),
        width_(layer.output().shape.empty() ? 1 : layer.output().shape.back()),
        tail_(layer.activation(), examples_ * elements_ / width_, width_, context.options.training),
        product_({.rows = rows_, .columns = columns_, .inner = inner_}, context.dnnl),
        input_(Steps({examples_, ElementCount(layer.inputs()[0].shape)}, layer.equation().rows,
                     layer.equation().inner, &Axis::input_stride)),
        kernel_(Steps({}, layer.equation().inner, layer.equation().columns, &Axis::kernel_stride)),
        output_(Steps({examples_, elements_}, layer.equation().rows, layer.equation().columns,
                      &Axis::output_stride)),
        bias_gradient_(layer.use_bias() ? ElementCount(layer.variables()[1].spec.shape) : 0) {
    if (!context.options.training) return;
    kernel_gradient_.emplace(
        DenseProduct::Options{
            .rows = inner_, .columns = columns_, .inner = rows_, .a_transposed = true},
        context.dnnl);
    input_gradient_.emplace(
        DenseProduct::Options{
            .rows = rows_, .columns = inner_, .inner = columns_, .b_transposed = true},
        context.dnnl);
  }

  absl::Status Forward(const ForwardArguments& arguments) override {
    float* target = tail_.Target(arguments.output, arguments.logits);
    ForEachPlace([&](const Axis& at) {
      float* to = target + at.output_stride;
      product_.Run(input_.Read(arguments.inputs[0] + at.input_stride),
                   kernel_.Read(arguments.variables[0] + at.kernel_stride), nullptr,
                   output_.Target(to));
      output_.Store(to);
    });
    if (layer_.use_bias()) {
      const float* bias = arguments.variables[1];
      ForEachBias([&](int64_t element, int64_t at) { target[element] += bias[at]; });
    }
    tail_.Forward(/*bias=*/nullptr, arguments.output, arguments.logits);
    return absl::OkStatus();
  }

  void Backward(const BackwardArguments& arguments) override {
    float* gradient = arguments.output_gradient;
    tail_.Backward(arguments, gradient, nullptr);
    float* bias = layer_.use_bias() ? arguments.variable_gradients[1] : nullptr;
    if (bias != nullptr) {
      std::fill(bias_gradient_.begin(), bias_gradient_.end(), 0.0);
      ForEachBias([&](int64_t element, int64_t at) { bias_gradient_[at] += gradient[element]; });
      std::copy(bias_gradient_.begin(), bias_gradient_.end(), bias);
    }
    ForEachPlace([&](const Axis& at) {
      const float* by_output = output_.Read(gradient + at.output_stride);
      if (float* kernel = arguments.variable_gradients[0]) {
        kernel += at.kernel_stride;
        kernel_gradient_->Run(input_.Read(arguments.inputs[0] + at.input_stride), by_output,
                              nullptr, kernel_.Target(kernel));
        kernel_.Store(kernel);
      }
      if (float* input = arguments.input_gradients[0]) {
        input += at.input_stride;
        const float* weights = kernel_.Read(arguments.variables[0] + at.kernel_stride);
        input_gradient_->Run(by_output, weights, nullptr, input_.Target(input));
        input_.Store(input);
      }
    });
  }

 private:
  // Calls visit for each place of the shared axes, with its offsets in place of strides.
  template <typename Visit>
  void ForEachPlace(const Visit& visit) const {
    const std::vector<Axis>& shared = layer_.equation().shared;
    const int64_t places = SizeOf(shared);
    for (int64_t place = 0; place < places; ++place) {
      Axis at;
      int64_t rest = place;
      for (size_t axis = shared.size(); axis-- > 0; rest /= shared[axis].size) {
        const int64_t i = rest % shared[axis].size;
        at.input_stride += i * shared[axis].input_stride;
        at.kernel_stride += i * shared[axis].kernel_stride;
        at.output_stride += i * shared[axis].output_stride;
      }
      visit(at);
    }
  }

  // Calls visit(element of the output, element of the bias) in order.
  template <typename Visit>
  void ForEachBias(const Visit& visit) const {
    const Shape& shape = layer_.output().shape;
    const std::vector<int64_t>& strides = layer_.bias_strides();
    for (int64_t element = 0; element < examples_ * elements_; element += width_) {
      int64_t at = 0;
      int64_t rest = element / width_;
      for (size_t axis = shape.size() - 1; axis-- > 0; rest /= shape[axis]) {
        at += rest % shape[axis] * strides[axis];
      }
      for (int64_t i = 0; i < width_; ++i) visit(element + i, at + i * strides.back());
    }
  }

  const EinsumDenseLayer& layer_;
  const int64_t examples_;
  const int64_t elements_;
  const int64_t rows_;
  const int64_t inner_;
  const int64_t columns_;
  const int64_t width_;
  ActivationTail tail_;
  DenseProduct product_;
  std::optional<DenseProduct> kernel_gradient_;
  std::optional<DenseProduct> input_gradient_;
  MatrixView input_;
  MatrixView kernel_;
  MatrixView output_;
  std::vector<double> bias_gradient_;
};

}  // namespace

std::unique_ptr<Kernel> CreateEinsumDenseKernel(const Layer& layer, const KernelContext& context) {
  return std::make_unique<EinsumDenseKernel>(static_cast<const EinsumDenseLayer&>(layer), context);
}

}  // namespace cairn::nn
