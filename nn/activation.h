#ifndef CAIRN_NN_ACTIVATION_H_
#define CAIRN_NN_ACTIVATION_H_

#include <optional>
#include <string_view>

#include "absl/status/statusor.h"

namespace cairn::nn {

// An activation function with its parameters. Formulas and defaults are those of Keras 3
// (keras/src/activations/activations.py) unless a comment says otherwise. A value type.
struct Activation {
  enum class Kind {
    kLinear,
    kRelu,  // max_value if x >= max_value; x if x >= threshold; else slope * (x - threshold)
    kSigmoid,
    kHardSigmoid,  // slope * x + 1/2, clipped to [0, 1]; slope 1/6 in Keras 3, 0.2 in Keras 2
    kTanh,
    kSoftmax,  // over the last axis
    kSoftplus,
    kSoftsign,
    kElu,    // slope * (exp(x) - 1) for x < 0
    kSelu,   // Klambauer et al. 2017
    kGelu,   // exact, with erf
    kSwish,  // x * sigmoid(x); Keras's silu
    kExponential,
    kHardSwish,   // x * clip(x / 6 + 1/2, 0, 1); Keras's hard_silu
    kHardTanh,    // x, clipped to [-1, 1]
    kHardShrink,  // 0 if |x| <= 1/2, else x
    kSoftShrink,  // 0 if |x| <= 1/2, else x moved by 1/2 towards 0
    kLogSigmoid,
    kLogSoftmax,  // over the last axis
    kMish,        // x * tanh(softplus(x))
    kSparsePlus,  // 0 below -1, (x + 1)^2 / 4 up to 1, x above
    kSquareplus,  // (x + sqrt(x^2 + 4)) / 2
    kTanhShrink,  // x - tanh(x)
    // Keras's operations of these names, which are layers here.
    kCos,
    kErf,
    kFloor,
    kLog,
    kReciprocal,
    kSign,
    kSin,
    kSqrt,
  };
  Kind kind = Kind::kLinear;
  // Used by kRelu, kElu and kHardSigmoid.
  float slope = 0;
  // Used by kRelu only. `max_value` applies only if `has_max_value`.
  float max_value = 0;
  bool has_max_value = false;
  float threshold = 0;

  // True for max(x, 0) without slope, limit or threshold.
  bool is_plain_relu() const {
    return kind == Kind::kRelu && slope == 0 && !has_max_value && threshold == 0;
  }
  // True if each output depends on a whole row of inputs.
  bool is_row_wise() const { return kind == Kind::kSoftmax || kind == Kind::kLogSoftmax; }
  // True if the derivative can be computed from the function's output alone. Otherwise it needs the
  // input x, which the kernel must keep.
  bool differentiates_from_output() const;
  // The name of an operation of Keras, which ONNX and TensorFlow share; empty for other functions.
  const char* operation_name() const;
};

// Returns the activation that Keras calls `name`, with Keras's default parameters, or one that only
// a job has. INVALID_ARGUMENT lists the known names.
absl::StatusOr<Activation> ParseActivation(std::string_view name);

// Returns Keras's operation with this class name, or nullopt.
std::optional<Activation> FindOperation(std::string_view class_name);

}  // namespace cairn::nn

#endif  // CAIRN_NN_ACTIVATION_H_
