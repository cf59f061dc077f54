#ifndef CAIRN_NN_CONSTRAINT_H_
#define CAIRN_NN_CONSTRAINT_H_

#include <cstdint>
#include <limits>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace google::protobuf {
class Value;
}

namespace cairn::nn {

// Keras's weight constraint (keras/src/constraints/constraints.py): a projection of a variable's
// values after each update. A value type.
//
// A norm is taken over `axes`, and every vector of weights is scaled by itself: w *= desired /
// (epsilon + norm), with desired = rate * clip(norm, min_value, max_value) + (1 - rate) * norm.
// Sums are double in the order of the elements, so the result does not depend on the machine.
struct Constraint {
  enum class Kind {
    kNone,
    kNonNegative,  // NonNeg
    kNorm,         // MaxNorm, UnitNorm, MinMaxNorm
  };

  Kind kind = Kind::kNone;
  double min_value = 0;
  double max_value = std::numeric_limits<double>::infinity();
  double rate = 1;
  std::vector<int64_t> axes;  // Of kNorm: ascending, from 0 to the variable's rank - 1.

  bool empty() const { return kind == Kind::kNone; }
  // True if the constraint of a row depends on other rows, so that one block must have all of them.
  bool needs_all_rows() const { return kind == Kind::kNorm && !axes.empty() && axes[0] == 0; }

  // Projects values of this shape: the variable, or some of its rows unless needs_all_rows().
  void Apply(absl::Span<const int64_t> shape, float* values) const;
};

// Parses the JSON that Keras and TF.js write for a constraint of a variable of this rank: null, a
// name ("non_neg"), or {class_name, config} of MaxNorm, NonNeg, UnitNorm or MinMaxNorm.
// INVALID_ARGUMENT names the problem.
absl::StatusOr<Constraint> ParseConstraint(const google::protobuf::Value& config, size_t rank);

}  // namespace cairn::nn

#endif  // CAIRN_NN_CONSTRAINT_H_
