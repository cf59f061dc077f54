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

// One product computes the state's part of all gates; the cell does the rest.
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

  void Load(const float* kernel, const float* bias) override {
    kernel_ = kernel;
    bias_ = bias;
  }

  void Forward(const RecurrentCell::Step& rows) override {
    product_.Run(rows.h_before, kernel_, bias_, rows.h_part);
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
    state_gradient_->Run(rows.h_part_gradient, kernel_, nullptr, through_product_.get());
    Add(examples_ * units_, through_product_.get(), rows.h_before_gradient);
  }

  void KernelGradient(const Gradient& gradient, float* kernel_gradient) override {
    kernel_gradient_->Run(gradient.h_before, gradient.h_part_gradient, nullptr, kernel_gradient);
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
};

// A GRU with reset_after=False: n = a(x part + (r * h) U). It needs two products per step: of h for
// z and r, then of r * h for n. The first gate of h_part keeps r * h. Plain loops suffice, because
// only models of early Keras versions use this form.
class ResetBeforeSteps : public RecurrentSteps {
 public:
  ResetBeforeSteps(const RecurrentPass& pass, int64_t examples)
      : examples_(examples),
        units_(pass.units),
        activation_(pass.activation),
        recurrent_(pass.recurrent_activation) {}

  void Load(const float* kernel, const float*) override { kernel_ = kernel; }

  void Forward(const RecurrentCell::Step& rows) override {
    const int64_t n = units_;
    for (int64_t row = 0; row < examples_; ++row) {
      float* gates = rows.x_part + row * 3 * n;
      float* reset = rows.h_part + row * 3 * n;
      const float* before = rows.h_before + row * n;
      // z and r.
      AddProduct(before, 0, 2 * n, gates);
      ApplyActivation(recurrent_, 1, 2 * n, gates, gates);
      // n, from the reset state.
      for (int64_t i = 0; i < n; ++i) reset[i] = gates[n + i] * before[i];
      AddProduct(reset, 2 * n, 3 * n, gates);
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
        const float by_reset = ProductGradient(gradient, i, 2 * n, 3 * n);
        gradient[n + i] = by_reset * before[i];
        out[i] += by_reset * gates[n + i];
      }
      MultiplyByDerivative(recurrent_, 1, 2 * n, nullptr, gates, gradient);
      for (int64_t i = 0; i < n; ++i) out[i] += ProductGradient(gradient, i, 0, 2 * n);
      std::copy_n(gradient, 3 * n, rows.h_part_gradient + row * 3 * n);
    }
  }

  void KernelGradient(const Gradient& gradient, float* kernel_gradient) override {
    const int64_t n = units_;
    std::fill_n(kernel_gradient, n * 3 * n, 0.0f);
    for (int64_t row = 0; row < gradient.steps * examples_; ++row) {
      const float* by_gate = gradient.h_part_gradient + row * 3 * n;
      for (int64_t i = 0; i < n; ++i) {
        const float state = gradient.h_before[row * n + i];
        const float reset = gradient.h_part[row * 3 * n + i];
        float* to = kernel_gradient + i * 3 * n;
        for (int64_t c = 0; c < 2 * n; ++c) to[c] += state * by_gate[c];
        for (int64_t c = 2 * n; c < 3 * n; ++c) to[c] += reset * by_gate[c];
      }
    }
  }

 private:
  // to[c] += row x kernel, for the kernel's columns [begin, end).
  void AddProduct(const float* row, int64_t begin, int64_t end, float* to) const {
    for (int64_t i = 0; i < units_; ++i) {
      const float* weights = kernel_ + i * 3 * units_;
      for (int64_t c = begin; c < end; ++c) to[c] += row[i] * weights[c];
    }
  }

  // Element i of gradient x kernel', over the kernel's columns [begin, end).
  float ProductGradient(const float* gradient, int64_t i, int64_t begin, int64_t end) const {
    float sum = 0;
    for (int64_t c = begin; c < end; ++c) sum += gradient[c] * kernel_[i * 3 * units_ + c];
    return sum;
  }

  const int64_t examples_;
  const int64_t units_;
  const Activation activation_;
  const Activation recurrent_;
  const float* kernel_ = nullptr;
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
