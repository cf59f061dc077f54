#ifndef CAIRN_NN_INITIALIZER_SPEC_H_
#define CAIRN_NN_INITIALIZER_SPEC_H_

#include <array>
#include <cstdint>

#include "absl/status/statusor.h"

namespace google::protobuf {
class Value;
}

namespace cairn::nn {

// How a variable is initialized: one of Keras's initializers, reduced to its formula
// (GlorotUniform, HeNormal and so on are kVarianceScaling). The comment of a kind lists the fields
// that it uses; the others are ignored. A value type.
struct InitializerSpec {
  enum class Kind {
    kConstant,         // value
    kUniform,          // [minimum, maximum)
    kNormal,           // mean, stddev
    kTruncatedNormal,  // mean, stddev; values beyond two stddev are redrawn
    kVarianceScaling,  // value (the scale), fan, distribution
    kOrthogonal,       // value (the gain)
    kIdentity,         // value (the gain)
  };
  enum class Fan { kIn, kOut, kAverage };
  enum class Distribution { kUniform, kTruncatedNormal, kNormal };

  Kind kind = Kind::kConstant;
  double value = 0;
  double minimum = 0;
  double maximum = 0;
  double mean = 0;
  double stddev = 0;
  Fan fan = Fan::kIn;
  Distribution distribution = Distribution::kTruncatedNormal;
  // Elements [first, second) are 1, whatever the kind. Keras's unit_forget_bias sets an LSTM's
  // forget gate this way.
  std::array<int64_t, 2> ones = {0, 0};
};

// Parses the JSON that Keras writes for an initializer: a name ("glorot_uniform", "GlorotUniform")
// or an object {class_name, config}. Missing arguments take Keras's defaults. Seeds are ignored,
// because draws depend on the job's seed. INVALID_ARGUMENT names the unknown class or argument and
// lists the known ones.
absl::StatusOr<InitializerSpec> ParseInitializer(const google::protobuf::Value& config);

}  // namespace cairn::nn

#endif  // CAIRN_NN_INITIALIZER_SPEC_H_
