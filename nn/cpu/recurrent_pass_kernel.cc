#include "nn/cpu/recurrent_pass_kernel.h"

#include <algorithm>

#include "nn/cpu/column_sum.h"

namespace cairn::nn {

RecurrentPassKernel::RecurrentPassKernel(const RecurrentPass& pass, int64_t examples, bool training,
                                         const DnnlContext* context)
    : pass_(pass),
      examples_(examples),
      width_(pass.gates() * pass.units),
      steps_(CreateRecurrentSteps(pass, examples, training, context)),
      input_product_({.rows = pass.steps * examples,
                      .columns = width_,
                      .inner = pass.input_width,
                      .adds_bias = pass.use_bias},
                     context),
      input_(pass.steps * examples * pass.input_width),
      x_parts_(pass.steps * examples * width_),
      h_parts_(pass.steps * examples * width_),
      h_((pass.steps + 1) * examples * pass.units),
      c_((pass.steps + 1) * examples * pass.units) {
  std::fill_n(h_.get(), examples * pass.units, 0.0f);
  std::fill_n(c_.get(), examples * pass.units, 0.0f);
  if (training) AllocateGradients(context);
}

void RecurrentPassKernel::AllocateGradients(const DnnlContext* context) {
  const int64_t rows = pass_.steps * examples_;
  kernel_gradient_.emplace(
      DenseProduct::Options{
          .rows = pass_.input_width, .columns = width_, .inner = rows, .a_transposed = true},
      context);
  input_gradient_.emplace(
      DenseProduct::Options{
          .rows = rows, .columns = pass_.input_width, .inner = width_, .b_transposed = true},
      context);
  x_part_gradients_ = AlignedBuffer<float>(rows * width_);
  h_part_gradients_ = AlignedBuffer<float>(rows * width_);
  h_gradients_ = AlignedBuffer<float>((pass_.steps + 1) * examples_ * pass_.units);
  input_gradients_ = AlignedBuffer<float>(rows * pass_.input_width);
  c_gradient_ = AlignedBuffer<float>(examples_ * pass_.units);
  carried_ = AlignedBuffer<float>(2 * examples_ * pass_.units);
  before_gradient_ = AlignedBuffer<float>(examples_ * pass_.units);
  column_sums_ = AlignedBuffer<double>(width_);
}

void RecurrentPassKernel::Forward(const float* input, const int32_t* mask,
                                  absl::Span<const float* const> variables,
                                  std::optional<uint64_t> dropout_key) {
  const int64_t input_width = pass_.input_width;
  factors_.clear();
  if (dropout_key.has_value() && pass_.dropout > 0) {
    for (int64_t i = 0; i < examples_ * input_width; ++i) {
      factors_.push_back(pass_.InputFactor(*dropout_key, i / input_width, i % input_width));
    }
  }
  state_factors_.clear();
  if (dropout_key.has_value() && pass_.recurrent_dropout > 0) {
    for (int64_t i = 0; i < examples_ * width_; ++i) {
      state_factors_.push_back(
          pass_.StateFactor(*dropout_key, i / width_, i % width_ / pass_.units, i % pass_.units));
    }
  }
  // 1. Transpose the input to (steps, examples, width), in the order of computation.
  for (int64_t step = 0; step < pass_.steps; ++step) {
    for (int64_t example = 0; example < examples_; ++example) {
      std::copy_n(input + (example * pass_.steps + at(step)) * input_width, input_width,
                  input_.get() + (step * examples_ + example) * input_width);
    }
    float* rows = input_.get() + step * examples_ * input_width;
    for (size_t i = 0; i < factors_.size(); ++i) rows[i] *= factors_[i];
  }
  // 2. One product of the whole sequence with the kernel, because it does not depend on the state.
  const float* bias = pass_.use_bias ? variables[pass_.first_variable + 2] : nullptr;
  input_product_.Run(input_.get(), variables[pass_.first_variable], bias, x_parts_.get());
  // 3. Step by step: the product with the state, then the cell.
  const bool has_second_row = pass_.resets_after && bias != nullptr;
  steps_->Load(variables[pass_.first_variable + 1], has_second_row ? bias + width_ : nullptr,
               state_factors_.empty() ? nullptr : state_factors_.data());
  for (int64_t step = 0; step < pass_.steps; ++step) {
    steps_->Forward({.x_part = Parts(x_parts_, step),
                     .h_part = Parts(h_parts_, step),
                     .h_before = States(h_, step),
                     .c_before = States(c_, step),
                     .h = States(h_, step + 1),
                     .c = States(c_, step + 1)});
    KeepMaskedStates(mask, step);
  }
}

void RecurrentPassKernel::KeepMaskedStates(const int32_t* mask, int64_t step) {
  for (int64_t example = 0; example < examples_; ++example) {
    if (!IsMasked(mask, example, step)) continue;
    const int64_t at_example = example * pass_.units;
    std::copy_n(States(h_, step) + at_example, pass_.units, States(h_, step + 1) + at_example);
    std::copy_n(States(c_, step) + at_example, pass_.units, States(c_, step + 1) + at_example);
  }
}

// One step backward. The state of a masked example is copied past the step, so its gradient
// bypasses the cell: it is set aside, the cell sees zeros, and it is added afterwards.
void RecurrentPassKernel::StepBack(const int32_t* mask, int64_t step) {
  const int64_t count = examples_ * pass_.units;
  float* h_gradient = States(h_gradients_, step + 1);
  std::fill_n(carried_.get(), 2 * count, 0.0f);
  for (int64_t example = 0; example < examples_; ++example) {
    if (!IsMasked(mask, example, step)) continue;
    const int64_t at_example = example * pass_.units;
    std::swap_ranges(h_gradient + at_example, h_gradient + at_example + pass_.units,
                     carried_.get() + at_example);
    std::swap_ranges(c_gradient_.get() + at_example, c_gradient_.get() + at_example + pass_.units,
                     carried_.get() + count + at_example);
  }
  steps_->Backward({.x_part = Parts(x_parts_, step),
                    .h_part = Parts(h_parts_, step),
                    .h_before = States(h_, step),
                    .c_before = States(c_, step),
                    .h = States(h_, step + 1),
                    .c = States(c_, step + 1),
                    .h_gradient = h_gradient,
                    .c_gradient = c_gradient_.get(),
                    .h_before_gradient = before_gradient_.get(),
                    .x_part_gradient = Parts(x_part_gradients_, step),
                    .h_part_gradient = Parts(h_part_gradients_, step)});
  float* before = States(h_gradients_, step);
  for (int64_t i = 0; i < count; ++i) {
    before[i] += before_gradient_.get()[i] + carried_.get()[i];
    c_gradient_.get()[i] += carried_.get()[count + i];
  }
}

void RecurrentPassKernel::ClearGradients() {
  std::fill_n(h_gradients_.get(), (pass_.steps + 1) * examples_ * pass_.units, 0.0f);
  std::fill_n(c_gradient_.get(), examples_ * pass_.units, 0.0f);
}

void RecurrentPassKernel::Backward(const int32_t* mask, absl::Span<const float* const> variables,
                                   float* input_gradient,
                                   absl::Span<float* const> variable_gradients) {
  for (int64_t step = pass_.steps - 1; step >= 0; --step) StepBack(mask, step);
  StoreGradients(variables, input_gradient, variable_gradients);
}

void RecurrentPassKernel::StoreGradients(absl::Span<const float* const> variables,
                                         float* input_gradient,
                                         absl::Span<float* const> variable_gradients) {
  const int64_t rows = pass_.steps * examples_;
  const int first = pass_.first_variable;
  // The gradients of kernels and biases sum over all steps: one product each over the whole
  // sequence.
  if (float* kernel = variable_gradients[first]) {
    kernel_gradient_->Run(input_.get(), x_part_gradients_.get(), nullptr, kernel);
  }
  if (float* kernel = variable_gradients[first + 1]) {
    steps_->KernelGradient({.steps = pass_.steps,
                            .h_before = h_.get(),
                            .h_part_gradient = h_part_gradients_.get(),
                            .h_part = h_parts_.get()},
                           kernel);
  }
  if (float* bias = pass_.use_bias ? variable_gradients[first + 2] : nullptr) {
    SumColumns(rows, width_, x_part_gradients_.get(), column_sums_.get(), bias);
    if (pass_.resets_after) {
      SumColumns(rows, width_, h_part_gradients_.get(), column_sums_.get(), bias + width_);
    }
  }
  if (input_gradient == nullptr) return;
  // The input's gradient, transposed back to (examples, steps, width).
  input_gradient_->Run(x_part_gradients_.get(), variables[first], nullptr, input_gradients_.get());
  const int64_t input_width = pass_.input_width;
  for (int64_t step = 0; step < pass_.steps; ++step) {
    for (int64_t example = 0; example < examples_; ++example) {
      float* from = input_gradients_.get() + (step * examples_ + example) * input_width;
      for (int64_t i = 0; !factors_.empty() && i < input_width; ++i) {
        from[i] *= factors_[example * input_width + i];
      }
      float* to = input_gradient + (example * pass_.steps + at(step)) * input_width;
      for (int64_t i = 0; i < input_width; ++i) to[i] += from[i];
    }
  }
}

}  // namespace cairn::nn
