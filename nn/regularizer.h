#ifndef CAIRN_NN_REGULARIZER_H_
#define CAIRN_NN_REGULARIZER_H_

#include <cstdint>

#include "absl/status/statusor.h"

namespace google::protobuf {
class Value;
}

namespace cairn::nn {

// Keras's weight penalties: l1 * sum |w| + l2 * sum w^2. All zero: none.
struct Regularizer {
  double l1 = 0;
  double l2 = 0;

  bool empty() const { return l1 == 0 && l2 == 0; }
  double Penalty(const float* values, int64_t count) const;
  // Adds the penalty's derivative: l1 * sign(w) + 2 * l2 * w.
  void AddGradient(const float* values, int64_t count, float* gradient) const;
};

// Reads what Keras writes: null, a name ("l2", with Keras's default 0.01), or {class_name, config}
// of L1, L2 or L1L2 (also "L1L2" as TF.js writes it). INVALID_ARGUMENT says what is wrong.
absl::StatusOr<Regularizer> ParseRegularizer(const google::protobuf::Value& config);

}  // namespace cairn::nn

#endif  // CAIRN_NN_REGULARIZER_H_
