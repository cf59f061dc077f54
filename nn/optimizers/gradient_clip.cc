#include "nn/optimizers/gradient_clip.h"

#include <cmath>
#include <limits>

#include "absl/status/status.h"
#include "proto/job.pb.h"

namespace cairn::nn {

absl::StatusOr<GradientClip> GradientClip::Create(const proto::Optimizer& config) {
  if (config.has_clipvalue() + config.has_clipnorm() + config.has_global_clipnorm() > 1) {
    return absl::InvalidArgumentError(
        "only one of 'clipvalue', 'clipnorm' and 'global_clipnorm' may be there");
  }
  GradientClip clip;
  if (config.has_clipvalue()) {
    clip.kind_ = Kind::kValue;
    clip.limit_ = config.clipvalue();
  } else if (config.has_clipnorm()) {
    clip.kind_ = Kind::kNorm;
    clip.limit_ = config.clipnorm();
  } else if (config.has_global_clipnorm()) {
    clip.kind_ = Kind::kGlobalNorm;
    clip.limit_ = config.global_clipnorm();
  }
  return clip;
}

float GradientClip::NormScale(double sum_of_squares) const {
  if (!std::isfinite(sum_of_squares)) return std::numeric_limits<float>::quiet_NaN();
  const double norm = std::sqrt(sum_of_squares);
  return norm > limit_ ? static_cast<float>(limit_ / norm) : 1.0f;
}

std::vector<float> GradientClip::NormScales(absl::Span<const SquareSum> sums) const {
  std::vector<float> scales(sums.size(), 1.0f);
  if (kind_ == Kind::kNorm) {
    for (size_t i = 0; i < sums.size(); ++i) scales[i] = NormScale(sums[i].value());
  } else if (kind_ == Kind::kGlobalNorm) {
    SquareSum all;
    for (const SquareSum& sum : sums) all.Add(sum);
    scales.assign(sums.size(), NormScale(all.value()));
  }
  return scales;
}

bool ClipsNormsOfUpdates(const proto::JobPlan& plan) {
  const proto::Optimizer& optimizer = plan.job().optimizer();
  return plan.synchronous() && plan.batches_per_update() > 1 &&
         (optimizer.has_clipnorm() || optimizer.has_global_clipnorm());
}

}  // namespace cairn::nn
