#ifndef CAIRN_NN_LAYERS_RECURRENT_H_
#define CAIRN_NN_LAYERS_RECURRENT_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "common/random.h"
#include "nn/layer.h"
#include "nn/layer_config.h"

namespace cairn::nn {

// The factors of a dropout: draw i is 0 with probability `rate`, else 1 / (1 - rate). Also for
// device code.
class DropoutFactors {
 public:
  constexpr DropoutFactors() = default;  // All factors are 1.
  constexpr DropoutFactors(uint64_t key, double rate)
      : key_(key), rate_(rate), kept_(static_cast<float>(1 / (1 - rate))) {}
  constexpr float operator()(int64_t draw) const {
    return RandomUniform(key_, draw) < rate_ ? 0 : kept_;
  }

 private:
  uint64_t key_ = 0;
  double rate_ = 0;
  float kept_ = 1;
};

// One pass of a recurrent cell over a sequence. Notation: x is the step's input, h the state before
// it, a the activation, s the recurrent activation, W the kernel, U the recurrent kernel, b the
// bias.
//
//   SimpleRNN:               h' = a(x W + h U + b)
//   LSTM (gates i, f, g, o): c' = s(f) c + s(i) a(g); h' = s(o) a(c')
//   GRU (gates z, r, n):     h' = s(z) h + (1 - s(z)) a(n)
//
// In a GRU, s(r) multiplies h before the product with n's part of U (reset_after=False) or the
// product itself, with a bias of its own (reset_after=True). LSTM: Hochreiter & Schmidhuber 1997
// with the forget gate of Gers et al. 2000. GRU: Cho et al. 2014.
struct RecurrentPass {
  enum class Kind { kSimple, kLstm, kGru };
  Kind kind = Kind::kSimple;
  int64_t steps = 1;
  int64_t input_width = 1;
  int64_t units = 1;
  Activation activation;
  Activation recurrent_activation;
  bool use_bias = true;
  // Keras's reset_after of a GRU. If true the bias has shape (2, gates * units); the second row is
  // added to h U.
  bool resets_after = false;
  // If true, the pass runs from the last step to the first.
  bool goes_backwards = false;
  // If true, the mask is that of the sequence in the opposite order.
  bool reverses_mask = false;
  // During training the input is multiplied by InputFactor. The factors of a sequence are the same
  // at all steps (Gal & Ghahramani 2016).
  double dropout = 0;
  // During training the state is multiplied by StateFactor before its product with each gate's part
  // of the recurrent kernel, with the same factors at all steps. The mix with the state before the
  // step in a GRU is not affected.
  double recurrent_dropout = 0;
  // Index of the pass's first variable in the layer's variables: the kernel (input width, gates *
  // units), then the recurrent kernel (units, gates * units), then the bias if used.
  int first_variable = 0;

  // The dropout's factors in a batch; `key` is the layer's. The passes of a Bidirectional have
  // different draws. The draw of a feature of an example is example * input_width + feature; that
  // of a unit of an example and a gate is (example * gates() + gate) * units + unit.
  DropoutFactors InputFactors(uint64_t key) const {
    return {DeriveKey(key, static_cast<uint64_t>(first_variable)), dropout};
  }
  DropoutFactors StateFactors(uint64_t key) const {
    return {DeriveKey(key, static_cast<uint64_t>(first_variable + 1)), recurrent_dropout};
  }
  float InputFactor(uint64_t key, int64_t example, int64_t feature) const {
    return InputFactors(key)(example * input_width + feature);
  }
  float StateFactor(uint64_t key, int64_t example, int64_t gate, int64_t unit) const {
    return StateFactors(key)((example * gates() + gate) * units + unit);
  }

  // The place in the mask of a place in the sequence.
  constexpr int64_t MaskedStep(int64_t place) const {
    return reverses_mask ? steps - 1 - place : place;
  }

  int64_t gates() const { return kind == Kind::kLstm ? 4 : kind == Kind::kGru ? 3 : 1; }
  // The states between two steps: h, and c of an LSTM.
  int states() const { return kind == Kind::kLstm ? 2 : 1; }
};

// Reads an activation of a cell. Only elementwise functions whose derivative follows from their
// value are supported, because the passes store values only.
Activation ReadCellActivation(const char* argument, const char* default_name, LayerConfig& config);

// SimpleRNN, LSTM, GRU, Bidirectional, and RNN with one of their cells. The output is the state
// after the last step or after every step. A masked step leaves the state unchanged. Bidirectional
// runs one layer forwards and one backwards and merges their states.
//
// The first input is the sequence. Further inputs are the initial states of all passes (h, and c of
// an LSTM), which are zero otherwise. With return_state the layer has several outputs (see
// LayerOutputLayer): that of a layer without return_state, and the last states of all passes.
class RecurrentLayer : public Layer {
 public:
  // How Bidirectional merges its two passes.
  enum class Merge { kConcatenate, kSum, kMultiply, kAverage };

  static absl::StatusOr<std::unique_ptr<const Layer>> Create(LayerConfig& config);
  static absl::StatusOr<std::unique_ptr<const Layer>> CreateBidirectional(LayerConfig& config);
  static absl::StatusOr<std::unique_ptr<const Layer>> CreateRnn(LayerConfig& config);

  // One pass, or two for Bidirectional.
  const std::vector<RecurrentPass>& passes() const { return arguments_.passes; }
  Merge merge() const { return arguments_.merge; }
  bool returns_sequences() const { return arguments_.returns_sequences; }
  bool returns_states() const { return arguments_.returns_states; }
  // The shapes of the outputs as Keras counts them.
  std::vector<Shape> output_shapes() const;
  bool has_initial_states() const { return inputs().size() > 1; }
  // If true, masked steps of a returned sequence are zero instead of the unchanged state.
  bool zeroes_masked_steps() const { return arguments_.zeroes_masked_steps; }

  // Keras 3 gives a layer that is called with initial states no mask, and passes the mask on.
  bool uses_mask() const override { return !arguments_.ignores_mask; }
  bool passes_mask() const override { return arguments_.returns_sequences; }
  // With a mask of its own such a call computes 0 until the first valid step, in Keras.
  bool refuses_mask() const override { return has_initial_states() && uses_mask(); }

 private:
  struct Arguments {
    std::vector<RecurrentPass> passes;
    Merge merge = Merge::kConcatenate;
    bool returns_sequences = false;
    bool returns_states = false;
    bool ignores_mask = false;
    bool zeroes_masked_steps = false;
  };
  RecurrentLayer(Base base, TensorSpec output, std::vector<LayerVariable> variables,
                 Arguments arguments)
      : Layer(std::move(base), std::move(output), std::move(variables)),
        arguments_(std::move(arguments)) {}
  static void ReadPass(const std::string& prefix, LayerConfig& config, Arguments* arguments,
                       std::vector<LayerVariable>* variables);
  static std::vector<Shape> OutputShapes(const Arguments& arguments);
  static absl::StatusOr<std::unique_ptr<const Layer>> Finish(LayerConfig& config,
                                                             Arguments arguments,
                                                             std::vector<LayerVariable> variables);

  const Arguments arguments_;
};

}  // namespace cairn::nn

#endif  // CAIRN_NN_LAYERS_RECURRENT_H_
