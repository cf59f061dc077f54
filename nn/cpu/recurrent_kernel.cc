#include <algorithm>
#include <deque>
#include <optional>

#include "nn/cpu/kernels.h"
#include "nn/cpu/recurrent_pass_kernel.h"
#include "nn/layers/recurrent.h"

namespace cairn::nn {
namespace {

// Runs one pass, or two for Bidirectional, and merges their states into the output.
class RecurrentKernel : public Kernel {
 public:
  RecurrentKernel(const RecurrentLayer& layer, const KernelContext& context)
      : layer_(layer),
        examples_(context.options.examples),
        steps_(layer.passes()[0].steps),
        units_(layer.passes()[0].units),
        width_(layer.output_shapes()[0].back()),
        states_(layer.passes()[0].states()),
        output_count_(ElementCount(layer.output().shape)) {
    for (const RecurrentPass& pass : layer.passes()) {
      passes_.emplace_back(pass, examples_, context.options.training, context.dnnl);
    }
  }

  absl::Status Forward(const ForwardArguments& arguments) override {
    mask_ = arguments.masks.empty() ? nullptr : arguments.masks[0];
    for (size_t input = 1; input < arguments.inputs.size(); ++input) {
      std::copy_n(arguments.inputs[input], examples_ * units_,
                  PassOf(input - 1).InitialState(StateOf(input - 1)));
    }
    for (RecurrentPassKernel& pass : passes_) {
      pass.Forward(arguments.inputs[0], mask_, arguments.variables,
                   arguments.training ? std::optional(arguments.random_key) : std::nullopt);
    }
    ForEachUnit(
        [&](int64_t output, const Place& place) { arguments.output[output] = Merge(place); });
    ForEachReturnedState([&](int64_t output, int state, int64_t at_example) {
      std::copy_n(PassOf(state).LastState(StateOf(state)) + at_example, units_,
                  arguments.output + output);
    });
    return absl::OkStatus();
  }

  void Backward(const BackwardArguments& arguments) override {
    for (RecurrentPassKernel& pass : passes_) pass.ClearGradients();
    ForEachUnit([&](int64_t output, const Place& place) {
      Spread(arguments.output_gradient[output], place);
    });
    ForEachReturnedState([&](int64_t output, int state, int64_t at_example) {
      float* gradient = PassOf(state).LastGradient(StateOf(state)) + at_example;
      for (int64_t i = 0; i < units_; ++i) gradient[i] += arguments.output_gradient[output + i];
    });
    float* input = arguments.input_gradients[0];
    if (input != nullptr) {
      std::fill_n(input, examples_ * ElementCount(layer_.inputs()[0].shape), 0.0f);
    }
    for (RecurrentPassKernel& pass : passes_) {
      pass.Backward(mask_, arguments.variables, input, arguments.variable_gradients);
    }
    for (size_t i = 1; i < arguments.input_gradients.size(); ++i) {
      if (arguments.input_gradients[i] == nullptr) continue;
      std::copy_n(PassOf(i - 1).InitialGradient(StateOf(i - 1)), examples_ * units_,
                  arguments.input_gradients[i]);
    }
  }

 private:
  using MergeKind = RecurrentLayer::Merge;

  // Initial and returned states are those of one pass after the other.
  RecurrentPassKernel& PassOf(size_t state) { return passes_[state / states_]; }
  int StateOf(size_t state) const { return static_cast<int>(state % states_); }

  // Calls visit(output index, state, where the example is in the state) for each example of each
  // state that is behind the output proper.
  template <typename Visit>
  void ForEachReturnedState(const Visit& visit) {
    if (!layer_.returns_states()) return;
    const int states = static_cast<int>(passes_.size()) * states_;
    for (int64_t example = 0; example < examples_; ++example) {
      for (int state = 0; state < states; ++state) {
        visit((example + 1) * output_count_ - (states - state) * units_, state, example * units_);
      }
    }
  }

  // The state elements that an output element is computed from.
  struct Place {
    int64_t step[2] = {0, 0};
    int64_t unit = 0;  // Includes the example: example * units + unit.
    int pass = -1;     // The only pass that the element comes from; -1 if both.
  };

  // Calls visit(output index, place) for each element of the output.
  template <typename Visit>
  void ForEachUnit(const Visit& visit) {
    const int64_t rows = layer_.returns_sequences() ? steps_ : 1;
    const bool concatenates = passes_.size() == 1 || layer_.merge() == MergeKind::kConcatenate;
    for (int64_t example = 0; example < examples_; ++example) {
      for (int64_t row = 0; row < rows; ++row) {
        for (int64_t column = 0; column < width_; ++column) {
          Place place;
          // Passes count steps in the order of computation. The second pass of a Bidirectional runs
          // backwards, so its sequence is reversed to align the steps.
          place.step[0] = rows == 1 ? steps_ - 1 : row;
          place.step[1] = rows == 1 ? steps_ - 1 : steps_ - 1 - row;
          place.unit = example * units_ + column % units_;
          if (concatenates) place.pass = static_cast<int>(column / units_);
          visit(example * output_count_ + row * width_ + column, place);
        }
      }
    }
  }

  bool IsZeroed(int pass, const Place& place) const {
    if (mask_ == nullptr || !layer_.zeroes_masked_steps() || !layer_.returns_sequences()) {
      return false;
    }
    const int64_t example = place.unit / units_;
    return mask_[example * steps_ + passes_[pass].MaskedStep(place.step[pass])] == 0;
  }

  float Value(int pass, const Place& place) const {
    if (IsZeroed(pass, place)) return 0;
    return passes_[pass].StateAfter(place.step[pass])[place.unit];
  }

  float Merge(const Place& place) const {
    if (place.pass >= 0) return Value(place.pass, place);
    const float first = Value(0, place);
    const float second = Value(1, place);
    if (layer_.merge() == MergeKind::kMultiply) return first * second;
    return layer_.merge() == MergeKind::kAverage ? (first + second) / 2 : first + second;
  }

  void Spread(float gradient, const Place& place) {
    if (place.pass >= 0) return AddGradient(place.pass, place, gradient);
    const bool multiplies = layer_.merge() == MergeKind::kMultiply;
    const float share = layer_.merge() == MergeKind::kAverage ? gradient / 2 : gradient;
    AddGradient(0, place, multiplies ? gradient * Value(1, place) : share);
    AddGradient(1, place, multiplies ? gradient * Value(0, place) : share);
  }

  void AddGradient(int pass, const Place& place, float gradient) {
    if (IsZeroed(pass, place)) return;
    passes_[pass].GradientAfter(place.step[pass])[place.unit] += gradient;
  }

  const RecurrentLayer& layer_;
  const int64_t examples_;
  const int64_t steps_;
  const int64_t units_;
  const int64_t width_;
  const int states_;  // Of each pass.
  const int64_t output_count_;
  // A deque, because the elements cannot be moved.
  std::deque<RecurrentPassKernel> passes_;
  // The mask of the last Forward.
  const int32_t* mask_ = nullptr;
};

}  // namespace

std::unique_ptr<Kernel> CreateRecurrentKernel(const Layer& layer, const KernelContext& context) {
  return std::make_unique<RecurrentKernel>(static_cast<const RecurrentLayer&>(layer), context);
}

}  // namespace cairn::nn
