#ifndef CAIRN_NN_CPU_RECURRENT_PASS_KERNEL_H_
#define CAIRN_NN_CPU_RECURRENT_PASS_KERNEL_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "nn/cpu/aligned_buffer.h"
#include "nn/cpu/dense_product.h"
#include "nn/cpu/recurrent_steps.h"

namespace cairn::nn {

// Computes one recurrent pass over the sequences of a batch. Steps are counted in the order of
// computation; at(step) is the position in the sequence. Used by one thread.
class RecurrentPassKernel {
 public:
  // Throws dnnl::error and std::bad_alloc.
  RecurrentPassKernel(const RecurrentPass& pass, int64_t examples, bool training,
                      const DnnlContext* context);

  // The initial state: 0 is h, 1 is c of an LSTM. (examples, units); zero until it is written.
  float* InitialState(int state) { return state == 0 ? h_.get() : c_.get(); }
  // `input` has shape (examples, steps, input width). `mask` has shape (examples, steps), or is
  // null if nothing is masked; a zero leaves the state unchanged at that step. `variables` are the
  // layer's. `dropout_key` is the key of the dropout's draws, nullopt in inference.
  void Forward(const float* input, const int32_t* mask, absl::Span<const float* const> variables,
               std::optional<uint64_t> dropout_key);
  // The state h after a step: (examples, units).
  const float* StateAfter(int64_t step) const { return States(h_, step + 1); }
  const float* LastState(int state) const { return States(state == 0 ? h_ : c_, pass_.steps); }
  int64_t at(int64_t step) const { return pass_.goes_backwards ? pass_.steps - 1 - step : step; }
  int64_t MaskedStep(int64_t step) const { return pass_.MaskedStep(at(step)); }

  // Before Backward the caller clears the gradients and adds those with respect to StateAfter(step)
  // and LastState(state).
  void ClearGradients();
  float* GradientAfter(int64_t step) { return States(h_gradients_, step + 1); }
  float* LastGradient(int state) {
    return state == 0 ? GradientAfter(pass_.steps - 1) : c_gradient_.get();
  }
  // Computes the gradients for the last Forward. Adds to input_gradient unless it is null.
  // Overwrites the gradients of the pass's variables unless they are null (frozen).
  void Backward(const int32_t* mask, absl::Span<const float* const> variables,
                float* input_gradient, absl::Span<float* const> variable_gradients);
  // The gradient with respect to the initial state, after Backward.
  const float* InitialGradient(int state) const {
    return state == 0 ? h_gradients_.get() : c_gradient_.get();
  }

 private:
  float* States(const AlignedBuffer<float>& buffer, int64_t step) const {
    return buffer.get() + step * examples_ * pass_.units;
  }
  float* Parts(const AlignedBuffer<float>& buffer, int64_t step) const {
    return buffer.get() + step * examples_ * width_;
  }
  bool IsMasked(const int32_t* mask, int64_t example, int64_t step) const {
    return mask != nullptr && mask[example * pass_.steps + MaskedStep(step)] == 0;
  }
  void AllocateGradients(const DnnlContext* context);
  void KeepMaskedStates(const int32_t* mask, int64_t step);
  void StepBack(const int32_t* mask, int64_t step);
  void StoreGradients(absl::Span<const float* const> variables, float* input_gradient,
                      absl::Span<float* const> variable_gradients);

  const RecurrentPass pass_;
  const int64_t examples_;
  const int64_t width_;  // Of all gates together: gates * units.
  const std::unique_ptr<RecurrentSteps> steps_;
  DenseProduct input_product_;
  std::optional<DenseProduct> kernel_gradient_;
  std::optional<DenseProduct> input_gradient_;
  // Layout (steps, examples, ...), so that the product of one step is one matrix product.
  AlignedBuffer<float> input_;
  // The dropout's factors of the inputs (examples, input width). Empty if nothing is dropped.
  std::vector<float> factors_;
  // Those of the states (examples, gates, units).
  std::vector<float> state_factors_;
  AlignedBuffer<float> x_parts_;
  AlignedBuffer<float> h_parts_;
  // steps + 1 states; the first one is the initial state.
  AlignedBuffer<float> h_;
  AlignedBuffer<float> c_;

  AlignedBuffer<float> x_part_gradients_;
  AlignedBuffer<float> h_part_gradients_;
  AlignedBuffer<float> h_gradients_;
  AlignedBuffer<float> input_gradients_;
  // Gradients with respect to the state before a step: that of c, those that bypass a masked step
  // (h, then c), and that of h.
  AlignedBuffer<float> c_gradient_;
  AlignedBuffer<float> carried_;
  AlignedBuffer<float> before_gradient_;
  AlignedBuffer<double> column_sums_;
};

}  // namespace cairn::nn

#endif  // CAIRN_NN_CPU_RECURRENT_PASS_KERNEL_H_
