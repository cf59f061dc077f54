#ifndef CAIRN_NN_OPTIMIZERS_GRADIENT_CLIP_H_
#define CAIRN_NN_OPTIMIZERS_GRADIENT_CLIP_H_

#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace cairn::proto {
class JobPlan;
class Optimizer;
}  // namespace cairn::proto

namespace cairn::nn {

// How an optimizer limits gradients before it uses them, as Keras's arguments `clipvalue`,
// `clipnorm` and `global_clipnorm` say. Values are clipped element by element, which the optimizer
// does itself. A norm needs whole gradients, of one variable or of all that are optimized, so
// whoever holds these computes the factor and gives it to the optimizer (Block::gradient_scale).
// A value.
class GradientClip {
 public:
  enum class Kind { kNone, kValue, kNorm, kGlobalNorm };

  GradientClip() = default;
  // INVALID_ARGUMENT: more than one of the three. The limits have been checked.
  static absl::StatusOr<GradientClip> Create(const proto::Optimizer& config);

  Kind kind() const { return kind_; }
  bool needs_norm() const { return kind_ == Kind::kNorm || kind_ == Kind::kGlobalNorm; }
  double limit() const { return limit_; }

  // What gradients with this sum of squares, of one variable or of all, are multiplied with: 1, or
  // limit / norm if the norm is larger (keras/src/optimizers/base_optimizer.py, clip_by_norm and
  // clip_by_global_norm). Not a number if the sum is infinite or is none: then the gradients are
  // lost, and Keras makes them so too.
  float NormScale(double sum_of_squares) const;
  // The same for each of the gradients whose sums these are, of one update: by its own sum or by
  // that of all, as the kind wants; 1 without a norm.
  std::vector<float> NormScales(absl::Span<const double> sums_of_squares) const;

 private:
  Kind kind_ = Kind::kNone;
  double limit_ = 0;
};

// In double, in an order that depends on the size only; about as fast as memory.
double SumOfSquares(absl::Span<const float> values);

// Whether the job's norms are those of updates that several batches make, so that nobody has their
// gradients whole: parameter servers and workers measure them together.
bool ClipsNormsOfUpdates(const proto::JobPlan& plan);

}  // namespace cairn::nn

#endif  // CAIRN_NN_OPTIMIZERS_GRADIENT_CLIP_H_
