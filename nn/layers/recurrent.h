#ifndef CAIRN_NN_LAYERS_RECURRENT_H_
#define CAIRN_NN_LAYERS_RECURRENT_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "nn/layer.h"
#include "nn/layer_config.h"

namespace cairn::nn {

// One pass of a recurrent cell over a sequence. Formulas, with x the step's input, h the state
// before it, a the activation, s the recurrent activation, kernel W, recurrent kernel U, bias b:
//
// SimpleRNN: h' = a(x W + h U + b)
// LSTM (gates i, f, g, o): c' = s(f) c + s(i) a(g); h' = s(o) a(c')
// GRU (gates z, r, n): h' = s(z) h + (1 - s(z)) a(n), where n's part of h U is multiplied by s(r),
//   before the product with U or (resets_after) after it and its own bias.
struct RecurrentPass {
  enum class Kind { kSimple, kLstm, kGru };
  Kind kind = Kind::kSimple;
  int64_t steps = 1;
  int64_t input_width = 1;
  int64_t units = 1;
  Activation activation;
  Activation recurrent_activation;
  bool use_bias = true;
  // GRU: the bias is (2, gates * units), the second row beside h U.
  bool resets_after = false;
  // From the last step to the first.
  bool goes_backwards = false;
  // Kernel (input width, gates * units), recurrent kernel (units, gates * units), and bias if used,
  // from here on in the layer's variables.
  int first_variable = 0;

  int64_t gates() const { return kind == Kind::kLstm ? 4 : kind == Kind::kGru ? 3 : 1; }
};

// SimpleRNN, LSTM and GRU: the state after the last step, or after every one. Steps that the mask
// leaves out leave the state as it is. Bidirectional: one of them twice, forwards and backwards.
class RecurrentLayer : public Layer {
 public:
  // What becomes of the two passes of a Bidirectional.
  enum class Merge { kConcatenate, kSum, kMultiply, kAverage };

  static absl::StatusOr<std::unique_ptr<const Layer>> Create(LayerConfig& config);
  static absl::StatusOr<std::unique_ptr<const Layer>> CreateBidirectional(LayerConfig& config);

  // One, or two.
  const std::vector<RecurrentPass>& passes() const { return arguments_.passes; }
  Merge merge() const { return arguments_.merge; }
  bool returns_sequences() const { return arguments_.returns_sequences; }
  // In sequences, steps that the mask leaves out are zero instead of the state as it is.
  bool zeroes_masked_steps() const { return arguments_.zeroes_masked_steps; }

  bool uses_mask() const override { return true; }
  bool passes_mask() const override { return arguments_.returns_sequences; }

 private:
  struct Arguments {
    std::vector<RecurrentPass> passes;
    Merge merge = Merge::kConcatenate;
    bool returns_sequences = false;
    bool zeroes_masked_steps = false;
  };
  RecurrentLayer(Base base, TensorSpec output, std::vector<LayerVariable> variables,
                 Arguments arguments)
      : Layer(std::move(base), std::move(output), std::move(variables)),
        arguments_(std::move(arguments)) {}
  static void ReadPass(const std::string& prefix, LayerConfig& config, Arguments* arguments,
                       std::vector<LayerVariable>* variables);
  static absl::StatusOr<std::unique_ptr<const Layer>> Finish(LayerConfig& config,
                                                             Arguments arguments,
                                                             std::vector<LayerVariable> variables);

  const Arguments arguments_;
};

}  // namespace cairn::nn

#endif  // CAIRN_NN_LAYERS_RECURRENT_H_
