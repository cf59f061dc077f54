#ifndef CAIRN_NN_CUDA_RECURRENT_OUTPUT_H_
#define CAIRN_NN_CUDA_RECURRENT_OUTPUT_H_

#include <cstdint>

#include "nn/cuda/launch.h"
#include "nn/layers/recurrent.h"

namespace cairn::nn::cuda {

// How the states of a recurrent layer's passes make up its output, for device code. Only .cu files
// include this. Steps are counted in the order of computation.
struct RecurrentOutput {
  struct Pass {
    const float* h_before = nullptr;  // As RecurrentPassKernel::h_before().
    const float* last[2] = {};        // The last h, and c of an LSTM: (examples, units).
    bool goes_backwards = false;
  };

  int64_t examples = 0;
  int64_t steps = 0;
  int64_t units = 0;
  bool returns_sequences = false;
  int64_t passes = 1;
  Pass pass[2];
  RecurrentLayer::Merge merge = RecurrentLayer::Merge::kConcatenate;
  // The states of each pass that follow the output proper.
  int64_t returned_states = 0;
  // The mask (examples, steps) if masked steps of the output are zero; else null.
  const int32_t* zeroing_mask = nullptr;
  bool reverses_mask = false;  // As in RecurrentPass.

  constexpr int64_t rows() const { return returns_sequences ? steps : 1; }
  constexpr bool concatenates() const {
    return passes == 1 || merge == RecurrentLayer::Merge::kConcatenate;
  }
  constexpr int64_t width() const { return concatenates() ? passes * units : units; }
  // Elements of an example's output.
  constexpr int64_t count() const { return rows() * width() + passes * returned_states * units; }

  __device__ static int64_t Position(const Pass& of, int64_t steps, int64_t step) {
    return of.goes_backwards ? steps - 1 - step : step;
  }
  // Between a row of the output and the step of a pass, in both directions. The second pass of a
  // Bidirectional runs backwards, so its sequence is reversed to align the steps.
  __device__ int64_t Align(int64_t of, int64_t step) const {
    if (!returns_sequences) return steps - 1;
    return of == 0 ? step : steps - 1 - step;
  }

  // The state h after a step, as the output shows it.
  __device__ float Value(int64_t of, int64_t example, int64_t step, int64_t unit) const {
    const Pass& from = pass[of];
    if (IsZero(of, example, step)) return 0;
    if (step == steps - 1) return from.last[0][example * units + unit];
    return from.h_before[(example * steps + Position(from, steps, step + 1)) * units + unit];
  }

  // Element `index` of an example's output.
  __device__ float Element(int64_t example, int64_t index) const {
    const int64_t state = index - rows() * width();
    if (state >= 0) {
      const int64_t which = state / units;
      return pass[which / returned_states]
          .last[which % returned_states][example * units + state % units];
    }
    const int64_t row = index / width();
    const int64_t unit = index % units;
    if (concatenates()) {
      const int64_t of = index % width() / units;
      return Value(of, example, Align(of, row), unit);
    }
    const float first = Value(0, example, Align(0, row), unit);
    const float second = Value(1, example, Align(1, row), unit);
    if (merge == RecurrentLayer::Merge::kMultiply) return first * second;
    return merge == RecurrentLayer::Merge::kAverage ? (first + second) / 2 : first + second;
  }

  // The gradient with respect to the state h of a pass after a step, from that of the output.
  __device__ float GradientAfter(const float* gradient, int64_t of, int64_t example, int64_t step,
                                 int64_t unit) const {
    float sum = 0;
    if ((returns_sequences || step == steps - 1) && !IsZero(of, example, step)) {
      const int64_t row = returns_sequences ? Align(of, step) : 0;
      const int64_t column = concatenates() ? of * units + unit : unit;
      sum = gradient[example * count() + row * width() + column];
      if (!concatenates() && merge == RecurrentLayer::Merge::kMultiply) {
        const int64_t other = 1 - of;
        sum *= Value(other, example, Align(other, row), unit);
      } else if (!concatenates() && merge == RecurrentLayer::Merge::kAverage) {
        sum /= 2;
      }
    }
    return step == steps - 1 ? sum + LastGradient(gradient, of, 0, example, unit) : sum;
  }
  // The gradient with respect to a returned state; zero if states are not returned.
  __device__ float LastGradient(const float* gradient, int64_t of, int64_t state, int64_t example,
                                int64_t unit) const {
    if (returned_states == 0) return 0;
    return gradient[example * count() + rows() * width() + (of * returned_states + state) * units +
                    unit];
  }

 private:
  __device__ int64_t MaskedStep(int64_t place) const {
    return reverses_mask ? steps - 1 - place : place;
  }
  __device__ bool IsZero(int64_t of, int64_t example, int64_t step) const {
    return zeroing_mask != nullptr && returns_sequences &&
           zeroing_mask[example * steps + MaskedStep(Position(pass[of], steps, step))] == 0;
  }
};

}  // namespace cairn::nn::cuda

#endif  // CAIRN_NN_CUDA_RECURRENT_OUTPUT_H_
