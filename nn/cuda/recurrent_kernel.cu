#include <deque>
#include <optional>

#include "nn/cuda/kernels.h"
#include "nn/cuda/recurrent_pass_kernel.h"
#include "nn/layers/recurrent.h"

namespace cairn::nn::cuda {
namespace {

// Runs one pass, or two for Bidirectional, and merges their states into the output.
class RecurrentKernel final : public Kernel {
 public:
  RecurrentKernel(const RecurrentLayer& layer, const KernelContext& context)
      : context_(context.cuda), states_(layer.passes()[0].states()) {
    const RecurrentPass& first = layer.passes()[0];
    output_ = {.examples = context.options.examples,
               .steps = first.steps,
               .units = first.units,
               .returns_sequences = layer.returns_sequences(),
               .passes = static_cast<int64_t>(layer.passes().size()),
               .merge = layer.merge(),
               .returned_states = layer.returns_states() ? states_ : 0};
    zeroes_masked_steps_ = layer.zeroes_masked_steps();
    output_.reverses_mask = first.reverses_mask;
    for (const RecurrentPass& pass : layer.passes()) {
      passes_.emplace_back(pass, context.options.examples, context.options.training, context_);
      output_.pass[passes_.size() - 1] = passes_.back().states();
    }
  }

  absl::Status Forward(const ForwardArguments& arguments) override {
    mask_ = arguments.masks.empty() ? nullptr : arguments.masks[0];
    output_.zeroing_mask = zeroes_masked_steps_ ? mask_ : nullptr;
    for (size_t pass = 0; pass < passes_.size(); ++pass) {
      RecurrentPassKernel::ForwardCall call = {
          .input = arguments.inputs[0], .mask = mask_, .variables = arguments.variables};
      if (arguments.training) call.dropout_key = arguments.random_key;
      for (int state = 0; state < states_ && arguments.inputs.size() > 1; ++state) {
        call.initial_states[state] = arguments.inputs[InitialState(pass, state)];
      }
      passes_[pass].Forward(call);
    }
    WriteOutput(context_, output_, arguments.output);
    return absl::OkStatus();
  }

  void Backward(const BackwardArguments& arguments) override {
    for (size_t pass = 0; pass < passes_.size(); ++pass) {
      RecurrentPassKernel::BackwardCall call = {.output = output_,
                                                .output_gradient = arguments.output_gradient,
                                                .pass = static_cast<int64_t>(pass),
                                                .input = arguments.inputs[0],
                                                .mask = mask_,
                                                .variables = arguments.variables,
                                                .input_gradient = arguments.input_gradients[0],
                                                .adds_to_input = pass > 0,
                                                .variable_gradients = arguments.variable_gradients};
      for (int state = 0; state < states_ && arguments.inputs.size() > 1; ++state) {
        call.initial_gradients[state] = arguments.input_gradients[InitialState(pass, state)];
      }
      passes_[pass].Backward(call);
    }
  }

 private:
  // The input that has an initial state. They are those of one pass after the other.
  size_t InitialState(size_t pass, int state) const { return 1 + pass * states_ + state; }

  Context* const context_;
  const int states_;  // Of each pass.
  bool zeroes_masked_steps_ = false;
  RecurrentOutput output_;
  // A deque, because the elements cannot be moved.
  std::deque<RecurrentPassKernel> passes_;
  // The mask of the last Forward.
  const int32_t* mask_ = nullptr;
};

}  // namespace

std::unique_ptr<Kernel> CreateRecurrentKernel(const Layer& layer, const KernelContext& context) {
  return std::make_unique<RecurrentKernel>(static_cast<const RecurrentLayer&>(layer), context);
}

}  // namespace cairn::nn::cuda
