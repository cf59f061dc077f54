#ifndef CAIRN_NN_CUDA_RECURRENT_PASS_KERNEL_H_
#define CAIRN_NN_CUDA_RECURRENT_PASS_KERNEL_H_

#include <cstdint>
#include <optional>

#include "absl/types/span.h"
#include "nn/cuda/context.h"
#include "nn/cuda/recurrent_cell.h"
#include "nn/cuda/recurrent_output.h"

namespace cairn::nn::cuda {

// Computes one recurrent pass over the sequences of a batch. Steps are counted in the order of
// computation; at(step) is the position in the sequence. A step is one product and one launch for
// the cell in each direction; a GRU with reset_after=False needs two of each. The products with the
// input and the gradients of the variables are computed for all steps at once.
//
// All arrays have the layout (examples, steps, ...) of the input, ordered by position. So the input
// is not transposed: a step is a matrix whose rows are `steps` rows apart.
class RecurrentPassKernel {
 public:
  // Throws OutOfMemory.
  RecurrentPassKernel(const RecurrentPass& pass, int64_t examples, bool training, Context* context);

  struct ForwardCall {
    const float* input = nullptr;              // (examples, steps, input width)
    const float* initial_states[2] = {};       // (examples, units) of h and c; null: zero.
    const int32_t* mask = nullptr;             // (examples, steps); null: none.
    absl::Span<const float* const> variables;  // The layer's.
    std::optional<uint64_t> dropout_key;       // Of the dropout's draws; nullopt in inference.
  };
  void Forward(const ForwardCall& call);
  // The states after Forward. They stay until the next one.
  RecurrentOutput::Pass states() const;

  struct BackwardCall {
    RecurrentOutput output;
    const float* output_gradient = nullptr;
    int64_t pass = 0;  // Which one of the output this is.
    const float* input = nullptr;
    const int32_t* mask = nullptr;
    absl::Span<const float* const> variables;
    // Where to write gradients, null if they are not needed. That of the input is added if
    // `adds_to_input`.
    float* input_gradient = nullptr;
    bool adds_to_input = false;
    float* initial_gradients[2] = {};
    absl::Span<float* const> variable_gradients;
  };
  // Computes the gradients for the last Forward, whose gates it overwrites. Uses the scratch
  // memory.
  void Backward(const BackwardCall& call);

 private:
  int64_t at(int64_t step) const { return pass_.goes_backwards ? pass_.steps - 1 - step : step; }
  bool resets_before() const {
    return pass_.kind == RecurrentPass::Kind::kGru && !pass_.resets_after;
  }
  // True if each gate's product has an operand of its own instead of h.
  bool has_operands() const { return drops_ || resets_before(); }
  // The rows of a step in an array with `width` elements for each step.
  Rows Step(float* data, int64_t step, int64_t width) const {
    return {data + at(step) * width, pass_.steps * width};
  }
  Rows StateAfter(const DeviceArray<float>& before, const DeviceArray<float>& last,
                  int64_t step) const;
  CellStep ForwardStep(const ForwardCall& call, int64_t step) const;
  CellStepBack BackwardStep(const BackwardCall& call, int64_t step) const;
  void StoreGradients(const BackwardCall& call);
  void InputGradient(const BackwardCall& call);

  // The products of a step's state with gates [begin, end) of the recurrent kernel, and of the
  // gates' gradients with its transpose.
  void MultiplyState(int64_t step, int64_t begin, int64_t end, const float* kernel);
  void MultiplyGates(int64_t step, int64_t begin, int64_t end, const float* kernel);

  Context* const context_;
  const RecurrentPass pass_;
  const int64_t width_;  // Of all gates together: gates * units.
  const RecurrentCell cell_;
  // Draws of the last Forward.
  bool drops_input_ = false;
  bool drops_ = false;
  DropoutFactors input_factors_;
  DropoutFactors state_factors_;

  DeviceArray<float> dropped_input_;
  DeviceArray<float> x_parts_;
  // The parts of the state, if they are not added to x_parts_: of a GRU with reset_after.
  DeviceArray<float> h_parts_;
  // The states before each step, and after the last one.
  DeviceArray<float> h_;
  DeviceArray<float> c_;
  DeviceArray<float> last_h_;
  DeviceArray<float> last_c_;
  // The operands of the gates' products (examples, steps, gates, units), if has_operands().
  DeviceArray<float> operands_;

  DeviceArray<float> product_;
  DeviceArray<float> carried_;
  DeviceArray<float> c_gradient_;
};

}  // namespace cairn::nn::cuda

#endif  // CAIRN_NN_CUDA_RECURRENT_PASS_KERNEL_H_
