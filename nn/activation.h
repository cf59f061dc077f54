#ifndef CAIRN_NN_ACTIVATION_H_
#define CAIRN_NN_ACTIVATION_H_

#include <string_view>

#include "absl/status/statusor.h"

namespace cairn::nn {

// Keras's activation functions, with Keras 3's formulas and defaults unless a name says otherwise.
struct Activation {
  enum class Kind {
    kLinear,
    kRelu,  // max_value if x >= max_value; x if x >= threshold; else slope * (x - threshold)
    kSigmoid,
    kHardSigmoid,  // slope * x + 1/2, between 0 and 1: slope 1/6 is Keras 3's, 0.2 Keras 2's
    kTanh,
    kSoftmax,  // over the last axis
    kSoftplus,
    kSoftsign,
    kElu,  // slope * (exp(x) - 1) for x < 0
    kSelu,
    kGelu,  // exact, with erf
    kSwish,
    kExponential,
  };
  Kind kind = Kind::kLinear;
  // kRelu, kElu and kHardSigmoid.
  float slope = 0;
  // kRelu only.
  float max_value = 0;
  bool has_max_value = false;
  float threshold = 0;

  // max(x, 0) and nothing else.
  bool is_plain_relu() const {
    return kind == Kind::kRelu && slope == 0 && !has_max_value && threshold == 0;
  }
  // True if the derivative is computed from the function's value alone; else it needs x.
  bool differentiates_from_output() const;
};

// The activation that Keras knows under `name`, with its defaults. INVALID_ARGUMENT lists the known
// names.
absl::StatusOr<Activation> ParseActivation(std::string_view name);

}  // namespace cairn::nn

#endif  // CAIRN_NN_ACTIVATION_H_
