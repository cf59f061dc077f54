#ifndef CAIRN_NN_INITIALIZER_SPEC_H_
#define CAIRN_NN_INITIALIZER_SPEC_H_

#include <array>
#include <cstdint>

#include "absl/status/statusor.h"

namespace google::protobuf {
class Value;
}

namespace cairn::nn {

// How a variable gets its initial values: Keras's initializers, reduced to their mathematics
// (GlorotUniform, HeNormal and so on are kVarianceScaling). Fields that the kind does not name are
// meaningless.
struct InitializerSpec {
  enum class Kind {
    kConstant,         // value
    kUniform,          // [minimum, maximum)
    kNormal,           // mean, stddev
    kTruncatedNormal,  // mean, stddev; draws beyond two stddev are drawn again
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
  // Elements [first, second) are ones whatever the kind says (an LSTM's forget gate).
  std::array<int64_t, 2> ones = {0, 0};
};

// Reads what Keras writes for an initializer: a name ("glorot_uniform", "GlorotUniform") or an
// object {class_name, config}, with Keras's defaults. Seeds are ignored: draws depend on the job's
// seed. INVALID_ARGUMENT names what is unknown and lists what is known.
absl::StatusOr<InitializerSpec> ParseInitializer(const google::protobuf::Value& config);

}  // namespace cairn::nn

#endif  // CAIRN_NN_INITIALIZER_SPEC_H_
