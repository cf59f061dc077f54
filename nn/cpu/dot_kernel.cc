#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "nn/cpu/kernels.h"
#include "nn/layers/dot.h"

namespace cairn::nn {
namespace {

using Side = DotLayer::Side;

// The epsilon of TensorFlow's l2_normalize.
constexpr double kSmallestSquare = 1e-12;

// One example of an input, normalized if the layer normalizes.
struct Operand {
  Side side;
  std::vector<float> values;
  // 1 / length of each vector along the axis.
  std::vector<double> inverse_lengths;
  std::vector<float> gradient;
};

class DotKernel : public Kernel {
 public:
  DotKernel(const DotLayer& layer, const KernelContext& context)
      : examples_(context.options.examples), normalizes_(layer.normalizes()) {
    for (int i = 0; i < 2; ++i) {
      const Side& side = layer.sides()[i];
      operands_[i].side = side;
      operands_[i].values.resize(side.count());
      operands_[i].inverse_lengths.resize(side.outer * side.inner, 1.0);
      operands_[i].gradient.resize(side.count());
    }
  }

  absl::Status Forward(const ForwardArguments& arguments) override {
    float* output = arguments.output;
    for (int64_t example = 0; example < examples_; ++example) {
      Load(arguments.inputs, example);
      const int64_t length = operands_[0].side.length;
      ForEachPair([&](const float* a, int64_t a_step, const float* b, int64_t b_step) {
        double sum = 0;
        for (int64_t i = 0; i < length; ++i) {
          sum += static_cast<double>(a[i * a_step]) * b[i * b_step];
        }
        *output++ = static_cast<float>(sum);
      });
    }
    return absl::OkStatus();
  }

  void Backward(const BackwardArguments& arguments) override {
    const float* gradient = arguments.output_gradient;
    for (int64_t example = 0; example < examples_; ++example) {
      Load(arguments.inputs, example);
      for (Operand& operand : operands_) {
        std::fill(operand.gradient.begin(), operand.gradient.end(), 0.0f);
      }
      Operand& first = operands_[0];
      Operand& second = operands_[1];
      ForEachPair([&](const float* a, int64_t a_step, const float* b, int64_t b_step) {
        float* a_gradient = first.gradient.data() + (a - first.values.data());
        float* b_gradient = second.gradient.data() + (b - second.values.data());
        for (int64_t i = 0; i < first.side.length; ++i) {
          a_gradient[i * a_step] += *gradient * b[i * b_step];
          b_gradient[i * b_step] += *gradient * a[i * a_step];
        }
        ++gradient;
      });
      for (int i = 0; i < 2; ++i) Store(operands_[i], example, arguments.input_gradients[i]);
    }
  }

 private:
  void Load(absl::Span<const float* const> inputs, int64_t example) {
    for (int i = 0; i < 2; ++i) {
      Operand& operand = operands_[i];
      const float* from = inputs[i] + example * operand.side.count();
      std::copy_n(from, operand.side.count(), operand.values.data());
      if (normalizes_) Normalize(operand);
    }
  }

  // Calls visit(vector, index) for each vector along an operand's axis. The vector's elements are
  // side.inner apart.
  template <typename Visit>
  static void ForEachVector(const Side& side, float* values, const Visit& visit) {
    for (int64_t outer = 0; outer < side.outer; ++outer) {
      for (int64_t inner = 0; inner < side.inner; ++inner) {
        visit(values + outer * side.length * side.inner + inner, outer * side.inner + inner);
      }
    }
  }

  template <typename Visit>
  void ForEachPair(const Visit& visit) {
    ForEachVector(operands_[0].side, operands_[0].values.data(), [&](const float* a, int64_t) {
      ForEachVector(operands_[1].side, operands_[1].values.data(), [&](const float* b, int64_t) {
        visit(a, operands_[0].side.inner, b, operands_[1].side.inner);
      });
    });
  }

  // L2-normalizes each vector along the axis.
  static void Normalize(Operand& operand) {
    const Side& side = operand.side;
    ForEachVector(side, operand.values.data(), [&](float* vector, int64_t index) {
      double square = 0;
      for (int64_t i = 0; i < side.length; ++i) {
        square += static_cast<double>(vector[i * side.inner]) * vector[i * side.inner];
      }
      const double inverse = 1 / std::sqrt(std::max(square, kSmallestSquare));
      operand.inverse_lengths[index] = inverse;
      for (int64_t i = 0; i < side.length; ++i) {
        vector[i * side.inner] = static_cast<float>(vector[i * side.inner] * inverse);
      }
    });
  }

  // Writes an operand's gradient. Through the normalization y = x / |x|: dx = (g - y (y . g)) /
  // |x|.
  void Store(Operand& operand, int64_t example, float* target) const {
    if (target == nullptr) return;
    const Side& side = operand.side;
    if (normalizes_) {
      ForEachVector(side, operand.gradient.data(), [&](float* gradient, int64_t index) {
        const float* values = operand.values.data() + (gradient - operand.gradient.data());
        double along = 0;
        for (int64_t i = 0; i < side.length; ++i) {
          along += static_cast<double>(gradient[i * side.inner]) * values[i * side.inner];
        }
        for (int64_t i = 0; i < side.length; ++i) {
          const double across = gradient[i * side.inner] - along * values[i * side.inner];
          gradient[i * side.inner] = static_cast<float>(across * operand.inverse_lengths[index]);
        }
      });
    }
    std::copy_n(operand.gradient.data(), side.count(), target + example * side.count());
  }

  const int64_t examples_;
  const bool normalizes_;
  std::array<Operand, 2> operands_;
};

}  // namespace

std::unique_ptr<Kernel> CreateDotKernel(const Layer& layer, const KernelContext& context) {
  return std::make_unique<DotKernel>(static_cast<const DotLayer&>(layer), context);
}

}  // namespace cairn::nn
