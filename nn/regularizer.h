#ifndef CAIRN_NN_REGULARIZER_H_
#define CAIRN_NN_REGULARIZER_H_

#include <cstdint>

#include "absl/status/statusor.h"

namespace google::protobuf {
class Value;
}

namespace cairn::nn {

// Keras's penalties: l1 * sum |w| + l2 * sum w^2, or OrthogonalRegularizer's, which is of a matrix:
// the factor times the mean of |cosine| over all pairs of its rows or columns. A value type.
struct Regularizer {
  double l1 = 0;
  double l2 = 0;
  // The factor of OrthogonalRegularizer.
  double orthogonal = 0;
  // Whether it is about the matrix's columns or its rows.
  bool of_columns = false;
  // The number of the matrix's columns. Set before use.
  int64_t columns = 0;

  // True if there is no penalty.
  bool empty() const { return l1 == 0 && l2 == 0 && orthogonal == 0; }
  double Penalty(const float* values, int64_t count) const;
  // Adds the derivative of the penalty to `gradient`: l1 * sign(w) + 2 * l2 * w, and that of
  // `orthogonal`.
  void AddGradient(const float* values, int64_t count, float* gradient) const;
};

// Parses the JSON that Keras and TF.js write for a regularizer: null, a name ("l2", with Keras's
// default factor 0.01), or {class_name, config} of L1, L2, L1L2 or OrthogonalRegularizer.
// INVALID_ARGUMENT names the problem.
absl::StatusOr<Regularizer> ParseRegularizer(const google::protobuf::Value& config);

}  // namespace cairn::nn

#endif  // CAIRN_NN_REGULARIZER_H_
