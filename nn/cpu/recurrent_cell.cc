#include "nn/cpu/recurrent_cell.h"

#include <algorithm>

#include "nn/cpu/activation_function.h"

namespace cairn::nn {
namespace {

// x_part = activation(x_part + h_part), for `count` adjacent gate values.
void ComputeGates(const Activation& activation, int64_t count, const float* h_part, float* x_part) {
  for (int64_t i = 0; i < count; ++i) x_part[i] += h_part[i];
  ApplyActivation(activation, 1, count, x_part, x_part);
}

// gradient *= the derivative of the activation where its value is y.
void Derive(const Activation& activation, int64_t count, const float* y, float* gradient) {
  MultiplyByDerivative(activation, 1, count, nullptr, y, gradient);
}

class SimpleCell : public RecurrentCell {
 public:
  explicit SimpleCell(const RecurrentPass& pass)
      : units_(pass.units), activation_(pass.activation) {}

  void Forward(const Step& step) const override {
    ComputeGates(activation_, units_, step.h_part, step.x_part);
    std::copy_n(step.x_part, units_, step.h);
  }

  void Backward(const StepBack& step) const override {
    std::copy_n(step.h_gradient, units_, step.x_part_gradient);
    Derive(activation_, units_, step.x_part, step.x_part_gradient);
    std::copy_n(step.x_part_gradient, units_, step.h_part_gradient);
    std::fill_n(step.h_before_gradient, units_, 0.0f);
  }

 private:
  const int64_t units_;
  const Activation activation_;
};

class LstmCell : public RecurrentCell {
 public:
  explicit LstmCell(const RecurrentPass& pass)
      : units_(pass.units), activation_(pass.activation), recurrent_(pass.recurrent_activation) {}

  // Keeps the gates' values in x_part and a(c) in the first gate of h_part.
  void Forward(const Step& step) const override {
    const int64_t n = units_;
    ComputeGates(recurrent_, 2 * n, step.h_part, step.x_part);
    ComputeGates(activation_, n, step.h_part + 2 * n, step.x_part + 2 * n);
    ComputeGates(recurrent_, n, step.h_part + 3 * n, step.x_part + 3 * n);
    const float* gates = step.x_part;
    for (int64_t i = 0; i < n; ++i) {
      step.c[i] = gates[n + i] * step.c_before[i] + gates[i] * gates[2 * n + i];
    }
    ApplyActivation(activation_, 1, n, step.c, step.h_part);
    for (int64_t i = 0; i < n; ++i) step.h[i] = gates[3 * n + i] * step.h_part[i];
  }

  void Backward(const StepBack& step) const override {
    const int64_t n = units_;
    const float* gates = step.x_part;
    const float* squashed = step.h_part;
    float* gradient = step.x_part_gradient;
    // The part of c's gradient that comes through h = o a(c), temporarily in the first gate's
    // memory. Then each gate's gradient follows from c = f c_before + i g.
    for (int64_t i = 0; i < n; ++i) gradient[i] = step.h_gradient[i] * gates[3 * n + i];
    Derive(activation_, n, squashed, gradient);
    for (int64_t i = 0; i < n; ++i) {
      const float c_gradient = step.c_gradient[i] + gradient[i];
      gradient[i] = c_gradient * gates[2 * n + i];
      gradient[n + i] = c_gradient * step.c_before[i];
      gradient[2 * n + i] = c_gradient * gates[i];
      gradient[3 * n + i] = step.h_gradient[i] * squashed[i];
      step.c_gradient[i] = c_gradient * gates[n + i];
    }
    Derive(recurrent_, 2 * n, gates, gradient);
    Derive(activation_, n, gates + 2 * n, gradient + 2 * n);
    Derive(recurrent_, n, gates + 3 * n, gradient + 3 * n);
    std::copy_n(gradient, 4 * n, step.h_part_gradient);
    std::fill_n(step.h_before_gradient, n, 0.0f);
  }

 private:
  const int64_t units_;
  const Activation activation_;
  const Activation recurrent_;
};

// GRU with reset_after: n = a(x part + r * h part).
class GruCell : public RecurrentCell {
 public:
  explicit GruCell(const RecurrentPass& pass)
      : units_(pass.units), activation_(pass.activation), recurrent_(pass.recurrent_activation) {}

  // Keeps the gates' values in x_part; the last gate of h_part is unchanged.
  void Forward(const Step& step) const override {
    const int64_t n = units_;
    float* gates = step.x_part;
    ComputeGates(recurrent_, 2 * n, step.h_part, gates);
    for (int64_t i = 0; i < n; ++i) gates[2 * n + i] += gates[n + i] * step.h_part[2 * n + i];
    ApplyActivation(activation_, 1, n, gates + 2 * n, gates + 2 * n);
    for (int64_t i = 0; i < n; ++i) {
      step.h[i] = gates[i] * step.h_before[i] + (1 - gates[i]) * gates[2 * n + i];
    }
  }

  void Backward(const StepBack& step) const override {
    const int64_t n = units_;
    const float* gates = step.x_part;
    float* gradient = step.x_part_gradient;
    for (int64_t i = 0; i < n; ++i) {
      gradient[i] = step.h_gradient[i] * (step.h_before[i] - gates[2 * n + i]);
      gradient[2 * n + i] = step.h_gradient[i] * (1 - gates[i]);
      step.h_before_gradient[i] = step.h_gradient[i] * gates[i];
    }
    Derive(activation_, n, gates + 2 * n, gradient + 2 * n);
    for (int64_t i = 0; i < n; ++i) {
      gradient[n + i] = gradient[2 * n + i] * step.h_part[2 * n + i];
      step.h_part_gradient[2 * n + i] = gradient[2 * n + i] * gates[n + i];
    }
    Derive(recurrent_, 2 * n, gates, gradient);
    std::copy_n(gradient, 2 * n, step.h_part_gradient);
  }

 private:
  const int64_t units_;
  const Activation activation_;
  const Activation recurrent_;
};

}  // namespace

std::unique_ptr<RecurrentCell> CreateRecurrentCell(const RecurrentPass& pass) {
  if (pass.kind == RecurrentPass::Kind::kLstm) return std::make_unique<LstmCell>(pass);
  if (pass.kind == RecurrentPass::Kind::kGru) return std::make_unique<GruCell>(pass);
  return std::make_unique<SimpleCell>(pass);
}

}  // namespace cairn::nn
