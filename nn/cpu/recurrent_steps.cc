#include "nn/cpu/recurrent_steps.h"

#include <algorithm>
#include <optional>

#include "nn/cpu/activation_function.h"
#include "nn/cpu/aligned_buffer.h"
#include "nn/cpu/dense_product.h"

namespace cairn::nn {
namespace {

void Add(int64_t count, const float* from, float* to) {
  for (int64_t i = 0; i < count; ++i) to[i] += from[i];
}

// The products of states that are dropped: each gate has its own factors (examples, gates, units),
// so there is a product for each gate. Plain loops.
struct DroppedProducts {
  int64_t gates = 1;
  int64_t units = 1;
  const float* kernel = nullptr;
  const float* factors = nullptr;

  float Factor(int64_t example, int64_t gate, int64_t i) const {
    return factors == nullptr ? 1 : factors[(example * gates + gate) * units + i];
  }
  // to += (state * factors) x kernel, for gates [begin, end).
  void Add(int64_t example, const float* state, int64_t begin, int64_t end, float* to) const {
    for (int64_t i = 0; i < units; ++i) {
      for (int64_t gate = begin; gate < end; ++gate) {
        const float value = state[i] * Factor(example, gate, i);
        const float* weights = kernel + (i * gates + gate) * units;
        for (int64_t c = 0; c < units; ++c) to[gate * units + c] += value * weights[c];
      }
    }
  }
  // The gradient of Add with respect to state[i].
  float StateGradient(int64_t example, const float* gradient, int64_t i, int64_t begin,
                      int64_t end) const {
    float sum = 0;
    for (int64_t gate = begin; gate < end; ++gate) {
      const float* weights = kernel + (i * gates + gate) * units;
      float product = 0;
      for (int64_t c = 0; c < units; ++c) product += gradient[gate * units + c] * weights[c];
      sum += product * Factor(example, gate, i);
    }
    return sum;
  }
  // Adds the gradient of Add with respect to the kernel.
  void AddKernelGradient(int64_t example, const float* state, const float* gradient, int64_t begin,
                         int64_t end, float* kernel_gradient) const {
    for (int64_t i = 0; i < units; ++i) {
      for (int64_t gate = begin; gate < end; ++gate) {
        const float value = state[i] * Factor(example, gate, i);
        float* to = kernel_gradient + (i * gates + gate) * units;
        for (int64_t c = 0; c < units; ++c) to[c] += value * gradient[gate * units + c];
      }
    }
  }
};

// One product computes the state's part of all gates; the cell does the rest. If states are
// dropped, the product is a DroppedProducts.
class CellSteps : public RecurrentSteps {
 public:
  CellSteps(const RecurrentPass& pass, int64_t examples, bool training, const DnnlContext* context)
      : examples_(examples),
        units_(pass.units),
        width_(pass.gates() * pass.units),
        cell_(CreateRecurrentCell(pass)),
        product_({.rows = examples,
                  .columns = width_,
                  .inner = units_,
                  .adds_bias = pass.resets_after && pass.use_bias},
                 context) {
    if (!training) return;
    state_gradient_.emplace(
        DenseProduct::Options{
            .rows = examples, .columns = units_, .inner = width_, .b_transposed = true},
        context);
    kernel_gradient_.emplace(DenseProduct::Options{.rows = units_,
                                                   .columns = width_,
                                                   .inner = pass.steps * examples,
                                                   .a_transposed = true},
                             context);
    through_product_ = AlignedBuffer<float>(examples * units_);
  }

  void Load(const float* kernel, const float* bias, const float* factors) override {
    kernel_ = kernel;
    bias_ = bias;
    dropped_ = {.gates = width_ / units_, .units = units_, .kernel = kernel, .factors = factors};
  }

  void Forward(const RecurrentCell::Step& rows) override {
    if (dropped_.factors == nullptr) {
      product_.Run(rows.h_before, kernel_, bias_, rows.h_part);
    } else {
      for (int64_t row = 0; row < examples_; ++row) {
        float* part = rows.h_part + row * width_;
        for (int64_t i = 0; i < width_; ++i) part[i] = bias_ == nullptr ? 0 : bias_[i];
        dropped_.Add(row, rows.h_before + row * units_, 0, dropped_.gates, part);
      }
    }
    for (int64_t row = 0; row < examples_; ++row) {
      const int64_t at = row * units_;
      cell_->Forward({.x_part = rows.x_part + row * width_,
                      .h_part = rows.h_part + row * width_,
                      .h_before = rows.h_before + at,
                      .c_before = rows.c_before + at,
                      .h = rows.h + at,
                      .c = rows.c + at});
    }
  }

  void Backward(const RecurrentCell::StepBack& rows) override {
    for (int64_t row = 0; row < examples_; ++row) {
      const int64_t at = row * units_;
      const int64_t part = row * width_;
      cell_->Backward({.x_part = rows.x_part + part,
                       .h_part = rows.h_part + part,
                       .h_before = rows.h_before + at,
                       .c_before = rows.c_before + at,
                       .h = rows.h + at,
                       .c = rows.c + at,
                       .h_gradient = rows.h_gradient + at,
                       .c_gradient = rows.c_gradient + at,
                       .h_before_gradient = rows.h_before_gradient + at,
                       .x_part_gradient = rows.x_part_gradient + part,
                       .h_part_gradient = rows.h_part_gradient + part});
    }
    if (dropped_.factors != nullptr) {
      for (int64_t i = 0; i < examples_ * units_; ++i) {
        const int64_t row = i / units_;
        rows.h_before_gradient[i] += dropped_.StateGradient(
            row, rows.h_part_gradient + row * width_, i % units_, 0, dropped_.gates);
      }
      return;
    }
    state_gradient_->Run(rows.h_part_gradient, kernel_, nullptr, through_product_.get());
    Add(examples_ * units_, through_product_.get(), rows.h_before_gradient);
  }

  void KernelGradient(const Gradient& gradient, float* kernel_gradient) override {
    if (dropped_.factors == nullptr) {
      kernel_gradient_->Run(gradient.h_before, gradient.h_part_gradient, nullptr, kernel_gradient);
      return;
    }
    std::fill_n(kernel_gradient, units_ * width_, 0.0f);
    for (int64_t row = 0; row < gradient.steps * examples_; ++row) {
      dropped_.AddKernelGradient(row % examples_, gradient.h_before + row * units_,
                                 gradient.h_part_gradient + row * width_, 0, dropped_.gates,
                                 kernel_gradient);
    }
  }

 private:
  const int64_t examples_;
  const int64_t units_;
  const int64_t width_;
  const std::unique_ptr<RecurrentCell> cell_;
  DenseProduct product_;
  std::optional<DenseProduct> state_gradient_;
  std::optional<DenseProduct> kernel_gradient_;
  AlignedBuffer<float> through_product_;
  const float* kernel_ = nullptr;
  const float* bias_ = nullptr;
  DroppedProducts dropped_;
};

// A GRU with reset_after=False: n = a(x part + (r * h) U). It needs two products per step: of h for
// z and r, then of r * h for n. The first gate of h_part keeps r * h, without the factor of
// dropout. Plain loops suffice, because only models of early Keras versions use this form.
class ResetBeforeSteps : public RecurrentSteps {
 public:
  ResetBeforeSteps(const RecurrentPass& pass, int64_t examples)
      : examples_(examples),
        units_(pass.units),
        activation_(pass.activation),
        recurrent_(pass.recurrent_activation) {}

  void Load(const float* kernel, const float*, const float* factors) override {
    products_ = {.gates = 3, .units = units_, .kernel = kernel, .factors = factors};
  }

  void Forward(const RecurrentCell::Step& rows) override {
    const int64_t n = units_;
    for (int64_t row = 0; row < examples_; ++row) {
      float* gates = rows.x_part + row * 3 * n;
      float* reset = rows.h_part + row * 3 * n;
      const float* before = rows.h_before + row * n;
      // z and r.
      products_.Add(row, before, 0, 2, gates);
      ApplyActivation(recurrent_, 1, 2 * n, gates, gates);
      // n, from the reset state.
      for (int64_t i = 0; i < n; ++i) reset[i] = gates[n + i] * before[i];
      products_.Add(row, reset, 2, 3, gates);
      ApplyActivation(activation_, 1, n, gates + 2 * n, gates + 2 * n);
      for (int64_t i = 0; i < n; ++i) {
        rows.h[row * n + i] = gates[i] * before[i] + (1 - gates[i]) * gates[2 * n + i];
      }
    }
  }

  void Backward(const RecurrentCell::StepBack& rows) override {
    const int64_t n = units_;
    for (int64_t row = 0; row < examples_; ++row) {
      const float* gates = rows.x_part + row * 3 * n;
      const float* before = rows.h_before + row * n;
      const float* h_gradient = rows.h_gradient + row * n;
      float* gradient = rows.x_part_gradient + row * 3 * n;
      float* out = rows.h_before_gradient + row * n;
      for (int64_t i = 0; i < n; ++i) {
        gradient[i] = h_gradient[i] * (before[i] - gates[2 * n + i]);
        gradient[2 * n + i] = h_gradient[i] * (1 - gates[i]);
        out[i] = h_gradient[i] * gates[i];
      }
      MultiplyByDerivative(activation_, 1, n, nullptr, gates + 2 * n, gradient + 2 * n);
      for (int64_t i = 0; i < n; ++i) {
        const float by_reset = products_.StateGradient(row, gradient, i, 2, 3);
        gradient[n + i] = by_reset * before[i];
        out[i] += by_reset * gates[n + i];
      }
      MultiplyByDerivative(recurrent_, 1, 2 * n, nullptr, gates, gradient);
      for (int64_t i = 0; i < n; ++i) out[i] += products_.StateGradient(row, gradient, i, 0, 2);
      std::copy_n(gradient, 3 * n, rows.h_part_gradient + row * 3 * n);
    }
  }

  void KernelGradient(const Gradient& gradient, float* kernel_gradient) override {
    const int64_t n = units_;
    std::fill_n(kernel_gradient, n * 3 * n, 0.0f);
    for (int64_t row = 0; row < gradient.steps * examples_; ++row) {
      const int64_t example = row % examples_;
      const float* by_gate = gradient.h_part_gradient + row * 3 * n;
      products_.AddKernelGradient(example, gradient.h_before + row * n, by_gate, 0, 2,
                                  kernel_gradient);
      products_.AddKernelGradient(example, gradient.h_part + row * 3 * n, by_gate, 2, 3,
                                  kernel_gradient);
    }
  }

 private:
  const int64_t examples_;
  const int64_t units_;
  const Activation activation_;
  const Activation recurrent_;
  DroppedProducts products_;
};

}  // namespace

std::unique_ptr<RecurrentSteps> CreateRecurrentSteps(const RecurrentPass& pass, int64_t examples,
                                                     bool training, const DnnlContext* context) {
  if (pass.kind == RecurrentPass::Kind::kGru && !pass.resets_after) {
    return std::make_unique<ResetBeforeSteps>(pass, examples);
  }
  return std::make_unique<CellSteps>(pass, examples, training, context);
}

}  // namespace cairn::nn
