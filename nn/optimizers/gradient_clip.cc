#include "nn/optimizers/gradient_clip.h"

#include <cmath>
#include <cstdint>
#include <limits>

#include "absl/status/status.h"
#include "common/simd.h"
#include "proto/objective.pb.h"

namespace cairn::nn {
namespace {

// Independent partial sums let the compiler use wide registers without changing the order of
// additions.
constexpr int kLanes = 16;

CAIRN_SIMD void AddSquares(const float* values, int64_t count, double* lanes) {
  double sums[kLanes] = {};
  for (int64_t i = 0; i + kLanes <= count; i += kLanes) {
    for (int lane = 0; lane < kLanes; ++lane) {
      const double value = values[i + lane];
      sums[lane] += value * value;
    }
  }
  for (int64_t i = count / kLanes * kLanes; i < count; ++i) {
    const double value = values[i];
    sums[i % kLanes] += value * value;
  }
  for (int lane = 0; lane < kLanes; ++lane) lanes[lane] = sums[lane];
}

}  // namespace

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

std::vector<float> GradientClip::NormScales(absl::Span<const double> sums_of_squares) const {
  std::vector<float> scales(sums_of_squares.size(), 1.0f);
  if (kind_ == Kind::kNorm) {
    for (size_t i = 0; i < scales.size(); ++i) scales[i] = NormScale(sums_of_squares[i]);
  } else if (kind_ == Kind::kGlobalNorm) {
    double all = 0;
    for (const double sum : sums_of_squares) all += sum;
    scales.assign(scales.size(), NormScale(all));
  }
  return scales;
}

double SumOfSquares(absl::Span<const float> values) {
  double lanes[kLanes];
  AddSquares(values.data(), static_cast<int64_t>(values.size()), lanes);
  double sum = 0;
  for (const double lane : lanes) sum += lane;
  return sum;
}

}  // namespace cairn::nn
