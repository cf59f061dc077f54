#ifndef CAIRN_NN_OPTIMIZERS_GRADIENT_CLIP_H_
#define CAIRN_NN_OPTIMIZERS_GRADIENT_CLIP_H_

#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace cairn::proto {
class Optimizer;
}  // namespace cairn::proto

namespace cairn::nn {

// How an optimizer clips gradients: Keras's arguments `clipvalue`, `clipnorm` and
// `global_clipnorm`. Clipping by value is elementwise and done by the optimizer. Clipping by norm
// needs the whole gradient, of one variable or of all optimized variables; the caller that has it
// computes the scale and passes it to the optimizer (OptimizerRule::Chunk::gradient_scale). A value
// type.
class GradientClip {
 public:
  enum class Kind { kNone, kValue, kNorm, kGlobalNorm };

  GradientClip() = default;
  // INVALID_ARGUMENT if more than one of the three is set. The limits are already validated.
  static absl::StatusOr<GradientClip> Create(const proto::Optimizer& config);

  Kind kind() const { return kind_; }
  bool needs_norm() const { return kind_ == Kind::kNorm || kind_ == Kind::kGlobalNorm; }
  double limit() const { return limit_; }

  // The scale of gradients with this sum of squares: 1, or limit / norm if the norm exceeds the
  // limit (clip_by_norm and clip_by_global_norm in keras/src/optimizers/base_optimizer.py). NaN if
  // the sum is infinite or NaN; like in Keras, the gradients become NaN.
  float NormScale(double sum_of_squares) const;
  // The scales of all gradients of one update, given the sum of squares of each variable. kNorm
  // scales each variable by its own norm, kGlobalNorm all variables by their common norm. Without a
  // norm all scales are 1.
  std::vector<float> NormScales(absl::Span<const double> sums_of_squares) const;

 private:
  Kind kind_ = Kind::kNone;
  double limit_ = 0;
};

// The sum of squares in double. The order of additions depends on the size only. Runs at about
// memory bandwidth.
double SumOfSquares(absl::Span<const float> values);

}  // namespace cairn::nn

#endif  // CAIRN_NN_OPTIMIZERS_GRADIENT_CLIP_H_
