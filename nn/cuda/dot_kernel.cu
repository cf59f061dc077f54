#include "nn/cuda/kernels.h"
#include "nn/cuda/loops.h"
#include "nn/cuda/matrix_view.h"
#include "nn/cuda/product.h"
#include "nn/layers/dot.h"

namespace cairn::nn::cuda {
namespace {

using Side = DotLayer::Side;

// The epsilon of TensorFlow's l2_normalize.
constexpr double kSmallestSquare = 1e-12;

// Writes each row divided by its length, and 1 / length.
void Normalize(Context* context, int64_t rows, int64_t width, const float* from, float* to,
               float* inverse_lengths) {
  ForEachRow(context, rows, width, [=] __device__(int64_t row, const RowBlock& block) {
    const int64_t begin = row * width;
    double square = 0;
    for (int64_t i = begin + block.first(); i < begin + width; i += block.step()) {
      square += static_cast<double>(from[i]) * from[i];
    }
    const double inverse = 1 / sqrt(fmax(block.Sum(square), kSmallestSquare));
    for (int64_t i = begin + block.first(); i < begin + width; i += block.step()) {
      to[i] = static_cast<float>(from[i] * inverse);
    }
    if (block.first() == 0) inverse_lengths[row] = static_cast<float>(inverse);
  });
}

// In place, from the gradient with respect to the rows y = x / |x| to that with respect to x:
// (g - y (y . g)) / |x|.
void BackThroughNormalize(Context* context, int64_t rows, int64_t width, const float* y,
                          const float* inverse_lengths, float* gradient) {
  ForEachRow(context, rows, width, [=] __device__(int64_t row, const RowBlock& block) {
    const int64_t begin = row * width;
    double along = 0;
    for (int64_t i = begin + block.first(); i < begin + width; i += block.step()) {
      along += static_cast<double>(gradient[i]) * y[i];
    }
    along = block.Sum(along);
    for (int64_t i = begin + block.first(); i < begin + width; i += block.step()) {
      gradient[i] = static_cast<float>((gradient[i] - along * y[i]) * inverse_lengths[row]);
    }
  });
}

StridedAxes Axes(int64_t size, int64_t stride) {
  StridedAxes axes;
  axes.Append(size, stride);
  return axes;
}

// An input as a matrix for each example: its vectors along the axis.
class Operand {
 public:
  Operand(const Side& side, bool normalizes, const KernelContext& context)
      : context_(context.cuda),
        rows_(side.outer * side.inner),
        all_rows_(context.options.examples * rows_),
        width_(side.length),
        view_(context.cuda, Axes(context.options.examples, side.count()), RowsOf(side),
              Axes(side.length, side.inner)),
        normalized_(context.cuda, normalizes ? all_rows_ * width_ : 0),
        inverse_lengths_(context.cuda, normalizes ? all_rows_ : 0) {}

  int64_t rows() const { return rows_; }
  int64_t width() const { return width_; }
  int64_t row_stride() const { return view_.row_stride(); }
  int64_t batch_stride() const { return view_.batch_stride(); }

  // The matrices. Valid until the next call of Load or Target; normalized ones until that of Load.
  const float* Load(const float* input) const {
    const float* const matrices = view_.Read(input);
    if (normalized_.data() == nullptr) return matrices;
    Normalize(context_, all_rows_, width_, matrices, normalized_.data(), inverse_lengths_.data());
    return normalized_.data();
  }
  // Where to write the gradients of the matrices, before Store with the same gradient of the input.
  float* Target(float* gradient) const { return view_.Target(gradient); }
  void Store(float* gradient) const {
    if (normalized_.data() != nullptr) {
      BackThroughNormalize(context_, all_rows_, width_, normalized_.data(), inverse_lengths_.data(),
                           view_.Target(gradient));
    }
    view_.Store(gradient);
  }

 private:
  static StridedAxes RowsOf(const Side& side) {
    StridedAxes rows = Axes(side.outer, side.length * side.inner);
    rows.Append(side.inner, 1);
    return rows;
  }

  Context* const context_;
  const int64_t rows_;
  const int64_t all_rows_;  // Of all examples.
  const int64_t width_;
  const MatrixView view_;
  DeviceArray<float> normalized_;
  DeviceArray<float> inverse_lengths_;
};

class DotKernel final : public Kernel {
 public:
  DotKernel(const DotLayer& layer, const KernelContext& context)
      : context_(context.cuda),
        examples_(context.options.examples),
        first_(layer.sides()[0], layer.normalizes(), context),
        second_(layer.sides()[1], layer.normalizes(), context) {}

  absl::Status Forward(const ForwardArguments& arguments) override {
    Multiply(context_,
             {.rows = first_.rows(),
              .columns = second_.rows(),
              .inner = first_.width(),
              .b_transposed = true,
              .a_row_stride = first_.row_stride(),
              .b_row_stride = second_.row_stride(),
              .batches = examples_,
              .a_batch_stride = first_.batch_stride(),
              .b_batch_stride = second_.batch_stride(),
              .c_batch_stride = first_.rows() * second_.rows()},
             first_.Load(arguments.inputs[0]), second_.Load(arguments.inputs[1]), arguments.output);
    return absl::OkStatus();
  }

  void Backward(const BackwardArguments& arguments) override {
    if (float* gradient = arguments.input_gradients[0]) {
      Write(first_, second_, arguments.inputs[1], /*transposes=*/false, arguments, gradient);
    }
    if (float* gradient = arguments.input_gradients[1]) {
      Write(second_, first_, arguments.inputs[0], /*transposes=*/true, arguments, gradient);
    }
  }

 private:
  // The gradient of one side: that of the output, which has a row for each one of the first side,
  // times the other side.
  void Write(const Operand& side, const Operand& other, const float* other_input, bool transposes,
             const BackwardArguments& arguments, float* gradient) {
    Multiply(context_,
             {.rows = side.rows(),
              .columns = side.width(),
              .inner = other.rows(),
              .a_transposed = transposes,
              .b_row_stride = other.row_stride(),
              .c_row_stride = side.row_stride(),
              .batches = examples_,
              .a_batch_stride = first_.rows() * second_.rows(),
              .b_batch_stride = other.batch_stride(),
              .c_batch_stride = side.batch_stride()},
             arguments.output_gradient, other.Load(other_input), side.Target(gradient));
    side.Store(gradient);
  }

  Context* const context_;
  const int64_t examples_;
  const Operand first_;
  const Operand second_;
};

}  // namespace

std::unique_ptr<Kernel> CreateDotKernel(const Layer& layer, const KernelContext& context) {
  return std::make_unique<DotKernel>(static_cast<const DotLayer&>(layer), context);
}

}  // namespace cairn::nn::cuda
