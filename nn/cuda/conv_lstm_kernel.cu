#include <optional>

#include "nn/cuda/column_sum.h"
#include "nn/cuda/convolution.h"
#include "nn/cuda/kernels.h"
#include "nn/cuda/recurrent_cell.h"
#include "nn/layers/conv_lstm.h"

namespace cairn::nn::cuda {
namespace {

// One convolution computes the input's part of all gates for the whole sequence, because it does
// not depend on the state. Then, step by step: the convolution of the state, and the cells of all
// pixels. Steps are counted in the order of computation; at(step) is the position in the sequence.
// Arrays have the layout (examples, steps, pixels, ...), ordered by position.
class ConvLstmKernel final : public Kernel {
 public:
  ConvLstmKernel(const ConvLstmLayer& layer, const KernelContext& context)
      : context_(context.cuda),
        pass_(layer.cell()),
        cell_({.kind = RecurrentPass::Kind::kLstm,
               .activation = pass_.activation,
               .recurrent_activation = pass_.recurrent_activation,
               .examples = context.options.examples,
               .units = pass_.units,
               .gates = kGates,
               .cells = layer.output_image()[0] * layer.output_image()[1]}),
        count_(cell_.count()),
        states_(cell_.examples * count_),
        input_({.examples = cell_.examples * pass_.steps,
                .input = layer.input_image(),
                .output = Gates(layer.output_image()),
                .window = layer.window()},
               context_),
        recurrent_({.examples = cell_.examples,
                    .input = layer.output_image(),
                    .output = Gates(layer.output_image()),
                    .window = layer.recurrent_window()},
                   context_),
        x_parts_(context_, pass_.steps * states_ * kGates),
        h_part_(context_, states_ * kGates),
        state_(context_, states_),
        h_(context_, pass_.steps * states_),
        c_(context_, pass_.steps * states_),
        last_h_(context_, states_),
        last_c_(context_, states_),
        product_(context_, context.options.training ? states_ : 0),
        carried_(context_, context.options.training ? states_ : 0),
        c_gradient_(context_, context.options.training ? states_ : 0) {
    output_ = {.examples = cell_.examples,
               .steps = pass_.steps,
               .units = count_,
               .returns_sequences = layer.returns_sequences()};
    output_.pass[0] = {.h_before = h_.data(),
                       .last = {last_h_.data(), last_c_.data()},
                       .goes_backwards = pass_.goes_backwards};
    if (!context.options.training) return;
    all_steps_.emplace(Convolution::Options{.examples = cell_.examples * pass_.steps,
                                            .input = layer.output_image(),
                                            .output = Gates(layer.output_image()),
                                            .window = layer.recurrent_window()},
                       context_);
    ReserveForColumns(context_, BiasRows(), kGates * pass_.units);
  }

  absl::Status Forward(const ForwardArguments& arguments) override {
    input_.Forward(arguments.inputs[0], arguments.variables[0], x_parts_.data());
    StartSteps(context_, cell_, nullptr, nullptr, After(-1));
    for (int64_t step = 0; step < pass_.steps; ++step) {
      recurrent_.Forward(state_.data(), arguments.variables[1], h_part_.data());
      CellStep s = After(step);
      s.x_part = Step(x_parts_.data(), step, kGates * count_);
      s.h_part = {h_part_.data(), kGates * count_};
      s.bias = pass_.use_bias ? arguments.variables[2] : nullptr;
      s.h_before = Step(h_.data(), step, count_);
      s.c_before = Step(c_.data(), step, count_);
      StepForward(context_, cell_, s);
    }
    WriteOutput(context_, output_, arguments.output);
    return absl::OkStatus();
  }

  void Backward(const BackwardArguments& arguments) override {
    for (int64_t step = pass_.steps - 1; step >= 0; --step) {
      const Rows c = After(step).c;
      StepBack(context_, cell_,
               {.x_part = Step(x_parts_.data(), step, kGates * count_),
                .h_part = {h_part_.data(), kGates * count_},
                .h_before = Step(h_.data(), step, count_),
                .c_before = Step(c_.data(), step, count_),
                .c = c,
                .output = output_,
                .output_gradient = arguments.output_gradient,
                .step = step,
                .product = {product_.data(), count_},
                .carried = carried_.data(),
                .c_gradient = c_gradient_.data()});
      if (step > 0) {
        recurrent_.InputGradient(h_part_.data(), arguments.variables[1], product_.data());
      }
    }
    if (float* kernel = arguments.variable_gradients[0]) {
      input_.KernelGradient(arguments.inputs[0], x_parts_.data(), kernel);
    }
    if (float* kernel = arguments.variable_gradients[1]) {
      all_steps_->KernelGradient(h_.data(), x_parts_.data(), kernel);
    }
    if (float* bias = pass_.use_bias ? arguments.variable_gradients[2] : nullptr) {
      AddUpColumns(context_, BiasRows(), kGates * pass_.units, x_parts_.data(), bias);
    }
    if (float* input = arguments.input_gradients[0]) {
      input_.InputGradient(x_parts_.data(), arguments.variables[0], input);
    }
  }

 private:
  static constexpr int64_t kGates = 4;

  static Shape Gates(const Shape& image) { return {image[0], image[1], kGates * image[2]}; }

  int64_t BiasRows() const { return cell_.examples * pass_.steps * cell_.cells; }
  // The rows of a step in an array with `width` elements for each step.
  Rows Step(float* data, int64_t step, int64_t width) const {
    const int64_t at = pass_.goes_backwards ? pass_.steps - 1 - step : step;
    return {data + at * width, pass_.steps * width};
  }
  // Where the state after a step is written. Its convolution reads a copy, whose images are
  // adjacent.
  CellStep After(int64_t step) const {
    if (step == pass_.steps - 1) {
      return {.h = {last_h_.data(), count_}, .c = {last_c_.data(), count_}};
    }
    return {.h = Step(h_.data(), step + 1, count_),
            .c = Step(c_.data(), step + 1, count_),
            .operands = {state_.data(), count_},
            .operand_gates = 1};
  }

  Context* const context_;
  const RecurrentPass pass_;
  const RecurrentCell cell_;
  const int64_t count_;   // Elements of a state of one example.
  const int64_t states_;  // Those of all examples.
  RecurrentOutput output_;
  Convolution input_;
  Convolution recurrent_;
  // For the kernel's gradient.
  std::optional<Convolution> all_steps_;
  DeviceArray<float> x_parts_;
  // The state's part of one step, then its gradient.
  DeviceArray<float> h_part_;
  DeviceArray<float> state_;
  // The states before each step, and after the last one.
  DeviceArray<float> h_;
  DeviceArray<float> c_;
  DeviceArray<float> last_h_;
  DeviceArray<float> last_c_;

  DeviceArray<float> product_;
  DeviceArray<float> carried_;
  DeviceArray<float> c_gradient_;
};

}  // namespace

std::unique_ptr<Kernel> CreateConvLstmKernel(const Layer& layer, const KernelContext& context) {
  return std::make_unique<ConvLstmKernel>(static_cast<const ConvLstmLayer&>(layer), context);
}

}  // namespace cairn::nn::cuda
