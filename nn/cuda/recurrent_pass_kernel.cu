#include "nn/cuda/column_sum.h"
#include "nn/cuda/loops.h"
#include "nn/cuda/product.h"
#include "nn/cuda/recurrent_pass_kernel.h"

namespace cairn::nn::cuda {
namespace {

// to = from * the factors, for `rows` rows of `width` elements; an example has `steps` rows. Adds
// if `adds`.
void Drop(Context* context, int64_t rows, int64_t steps, int64_t width,
          const DropoutFactors& factors, const float* from, bool adds, float* to) {
  ForEach(context, rows * width, [=] __device__(int64_t i) {
    const float value = from[i] * factors(i / (steps * width) * width + i % width);
    to[i] = adds ? to[i] + value : value;
  });
}

}  // namespace

RecurrentPassKernel::RecurrentPassKernel(const RecurrentPass& pass, int64_t examples, bool training,
                                         Context* context)
    : context_(context),
      pass_(pass),
      width_(pass.gates() * pass.units),
      cell_({.kind = pass.kind,
             .resets_after = pass.resets_after,
             .activation = pass.activation,
             .recurrent_activation = pass.recurrent_activation,
             .examples = examples,
             .units = pass.units,
             .gates = pass.gates()}),
      dropped_input_(context, pass.dropout > 0 ? examples * pass.steps * pass.input_width : 0),
      x_parts_(context, examples * pass.steps * width_),
      h_parts_(context, pass.resets_after ? examples * pass.steps * width_ : 0),
      h_(context, examples * pass.steps * pass.units),
      c_(context, pass.states() == 2 ? examples * pass.steps * pass.units : 0),
      last_h_(context, examples * pass.units),
      last_c_(context, pass.states() == 2 ? examples * pass.units : 0),
      operands_(context,
                resets_before() || pass.recurrent_dropout > 0 ? examples * pass.steps * width_ : 0),
      product_(context, training ? examples * width_ : 0),
      carried_(context, training ? examples * pass.units : 0),
      c_gradient_(context, training && pass.states() == 2 ? examples * pass.units : 0) {
  if (training) ReserveForColumns(context, examples * pass.steps, width_);
}

RecurrentOutput::Pass RecurrentPassKernel::states() const {
  return {.h_before = h_.data(),
          .last = {last_h_.data(), last_c_.data()},
          .goes_backwards = pass_.goes_backwards};
}

Rows RecurrentPassKernel::StateAfter(const DeviceArray<float>& before,
                                     const DeviceArray<float>& last, int64_t step) const {
  if (before.data() == nullptr) return {};
  if (step == pass_.steps - 1) return {last.data(), pass_.units};
  return Step(before.data(), step + 1, pass_.units);
}

// Step -1 has the state before the first step.
CellStep RecurrentPassKernel::ForwardStep(const ForwardCall& call, int64_t step) const {
  CellStep s = {.h = StateAfter(h_, last_h_, step),
                .c = StateAfter(c_, last_c_, step),
                .drops = drops_,
                .factors = state_factors_};
  if (has_operands() && step < pass_.steps - 1) {
    s.operands = Step(operands_.data(), step + 1, width_);
    // The operand of a gate behind the reset is written by StepForwardToReset.
    s.operand_gates = resets_before() ? 2 : cell_.gates;
  }
  if (step < 0) return s;
  s.x_part = Step(x_parts_.data(), step, width_);
  if (pass_.resets_after) s.h_part = Step(h_parts_.data(), step, width_);
  s.h_before = Step(h_.data(), step, pass_.units);
  if (pass_.states() == 2) s.c_before = Step(c_.data(), step, pass_.units);
  if (pass_.use_bias) s.bias = call.variables[pass_.first_variable + 2];
  if (pass_.use_bias && pass_.resets_after) s.h_bias = s.bias + width_;
  if (call.mask != nullptr) s.mask = call.mask + pass_.MaskedStep(at(step));
  s.mask_stride = pass_.steps;
  return s;
}

void RecurrentPassKernel::Forward(const ForwardCall& call) {
  drops_input_ = call.dropout_key.has_value() && pass_.dropout > 0;
  drops_ = call.dropout_key.has_value() && pass_.recurrent_dropout > 0;
  if (drops_) state_factors_ = pass_.StateFactors(*call.dropout_key);
  const int64_t rows = cell_.examples * pass_.steps;
  const float* input = call.input;
  if (drops_input_) {
    input_factors_ = pass_.InputFactors(*call.dropout_key);
    Drop(context_, rows, pass_.steps, pass_.input_width, input_factors_, input, /*adds=*/false,
         dropped_input_.data());
    input = dropped_input_.data();
  }
  Multiply(context_, {.rows = rows, .columns = width_, .inner = pass_.input_width}, input,
           call.variables[pass_.first_variable], x_parts_.data());
  const float* const kernel = call.variables[pass_.first_variable + 1];
  StartSteps(context_, cell_, call.initial_states[0], call.initial_states[1],
             ForwardStep(call, /*step=*/-1));
  for (int64_t step = 0; step < pass_.steps; ++step) {
    const CellStep of_cell = ForwardStep(call, step);
    if (resets_before()) {
      MultiplyState(step, 0, 2, kernel);
      Rows reset = Step(operands_.data(), step, width_);
      reset.data += 2 * pass_.units;
      StepForwardToReset(context_, cell_, of_cell, reset);
      MultiplyState(step, 2, 3, kernel);
    } else {
      MultiplyState(step, 0, cell_.gates, kernel);
    }
    StepForward(context_, cell_, of_cell);
  }
}

void RecurrentPassKernel::MultiplyState(int64_t step, int64_t begin, int64_t end,
                                        const float* kernel) {
  const int64_t units = pass_.units;
  const int64_t offset = begin * units;
  const bool is_split = has_operands();
  const Rows from =
      is_split ? Step(operands_.data() + offset, step, width_) : Step(h_.data(), step, units);
  const Rows to = Step(pass_.resets_after ? h_parts_.data() : x_parts_.data(), step, width_);
  Multiply(context_,
           {.rows = cell_.examples,
            .columns = is_split ? units : (end - begin) * units,
            .inner = units,
            .a_row_stride = from.stride,
            .b_row_stride = width_,
            .c_row_stride = to.stride,
            .batches = is_split ? end - begin : 1,
            .a_batch_stride = units,
            .b_batch_stride = units,
            .c_batch_stride = units,
            .adds = !pass_.resets_after},
           from.data, kernel + offset, to.data + offset);
}

void RecurrentPassKernel::MultiplyGates(int64_t step, int64_t begin, int64_t end,
                                        const float* kernel) {
  const int64_t units = pass_.units;
  const int64_t offset = begin * units;
  const bool is_split = has_operands();
  const Rows from = Step(pass_.resets_after ? h_parts_.data() : x_parts_.data(), step, width_);
  Multiply(context_,
           {.rows = cell_.examples,
            .columns = units,
            .inner = is_split ? units : (end - begin) * units,
            .b_transposed = true,
            .a_row_stride = from.stride,
            .b_row_stride = width_,
            .c_row_stride = is_split ? width_ : units,
            .batches = is_split ? end - begin : 1,
            .a_batch_stride = units,
            .b_batch_stride = units,
            .c_batch_stride = units},
           from.data + offset, kernel + offset, product_.data() + (is_split ? offset : 0));
}

CellStepBack RecurrentPassKernel::BackwardStep(const BackwardCall& call, int64_t step) const {
  CellStepBack s = {.x_part = Step(x_parts_.data(), step, width_),
                    .h_before = Step(h_.data(), step, pass_.units),
                    .c = StateAfter(c_, last_c_, step),
                    .output = call.output,
                    .output_gradient = call.output_gradient,
                    .pass = call.pass,
                    .step = step,
                    .product = {product_.data(), has_operands() ? width_ : pass_.units},
                    .drops = drops_,
                    .factors = state_factors_,
                    .carried = carried_.data(),
                    .c_gradient = c_gradient_.data(),
                    .mask_stride = pass_.steps};
  if (pass_.resets_after) s.h_part = Step(h_parts_.data(), step, width_);
  if (pass_.states() == 2) s.c_before = Step(c_.data(), step, pass_.units);
  if (has_operands()) s.products = resets_before() ? 2 : cell_.gates;
  if (call.mask != nullptr) s.mask = call.mask + pass_.MaskedStep(at(step));
  return s;
}

void RecurrentPassKernel::Backward(const BackwardCall& call) {
  const float* const kernel = call.variables[pass_.first_variable + 1];
  for (int64_t step = pass_.steps - 1; step >= 0; --step) {
    const CellStepBack of_cell = BackwardStep(call, step);
    StepBack(context_, cell_, of_cell);
    if (resets_before()) {
      MultiplyGates(step, 2, 3, kernel);
      StepBackFromReset(context_, cell_, of_cell);
    }
    // Nothing needs the gradient with respect to an initial state of zeros.
    if (step == 0 && call.initial_gradients[0] == nullptr) break;
    MultiplyGates(step, 0, resets_before() ? 2 : cell_.gates, kernel);
  }
  if (call.initial_gradients[0] != nullptr) {
    FinishSteps(context_, cell_, BackwardStep(call, 0), call.initial_gradients[0]);
  }
  if (call.initial_gradients[1] != nullptr) {
    context_->Copy(call.initial_gradients[1], c_gradient_.data(),
                   cell_.examples * pass_.units * sizeof(float));
  }
  StoreGradients(call);
  if (call.input_gradient != nullptr) InputGradient(call);
}

void RecurrentPassKernel::StoreGradients(const BackwardCall& call) {
  const int64_t rows = cell_.examples * pass_.steps;
  const int64_t units = pass_.units;
  const float* const of_h = pass_.resets_after ? h_parts_.data() : x_parts_.data();
  if (float* kernel = call.variable_gradients[pass_.first_variable]) {
    Multiply(context_,
             {.rows = pass_.input_width, .columns = width_, .inner = rows, .a_transposed = true},
             drops_input_ ? dropped_input_.data() : call.input, x_parts_.data(), kernel);
  }
  if (float* kernel = call.variable_gradients[pass_.first_variable + 1]) {
    const bool is_split = has_operands();
    Multiply(context_,
             {.rows = units,
              .columns = is_split ? units : width_,
              .inner = rows,
              .a_transposed = true,
              .a_row_stride = is_split ? width_ : units,
              .b_row_stride = width_,
              .c_row_stride = width_,
              .batches = is_split ? cell_.gates : 1,
              .a_batch_stride = units,
              .b_batch_stride = units,
              .c_batch_stride = units},
             is_split ? operands_.data() : h_.data(), of_h, kernel);
  }
  if (!pass_.use_bias) return;
  if (float* bias = call.variable_gradients[pass_.first_variable + 2]) {
    AddUpColumns(context_, rows, width_, x_parts_.data(), bias);
    if (pass_.resets_after) AddUpColumns(context_, rows, width_, h_parts_.data(), bias + width_);
  }
}

void RecurrentPassKernel::InputGradient(const BackwardCall& call) {
  const int64_t rows = cell_.examples * pass_.steps;
  // The dropped input is not needed any more.
  float* const product = drops_input_ ? dropped_input_.data() : call.input_gradient;
  Multiply(context_,
           {.rows = rows,
            .columns = pass_.input_width,
            .inner = width_,
            .b_transposed = true,
            .adds = call.adds_to_input && !drops_input_},
           x_parts_.data(), call.variables[pass_.first_variable], product);
  if (drops_input_) {
    Drop(context_, rows, pass_.steps, pass_.input_width, input_factors_, product,
         call.adds_to_input, call.input_gradient);
  }
}

}  // namespace cairn::nn::cuda
