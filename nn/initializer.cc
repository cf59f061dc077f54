#include "nn/initializer.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/check.h"
#include "common/random.h"
#include "common/random_normal.h"
#include "nn/orthogonal_matrix.h"

namespace cairn::nn {
namespace {

using Kind = InitializerSpec::Kind;
using Fan = InitializerSpec::Fan;
using Distribution = InitializerSpec::Distribution;

constexpr int64_t kMaxOrthogonalElements = int64_t{1} << 24;

// The standard deviation of a standard normal distribution truncated at two standard deviations.
// Keras divides by it, so that the truncated distribution has the requested deviation.
constexpr double kTruncatedStddev = 0.87962566103423978;

// Columns of the variable viewed as a matrix: the last axis.
int64_t Columns(const VariableSpec& variable) {
  return variable.shape.empty() ? 1 : variable.shape.back();
}

// Draws until the value is within two standard deviations. Each element has its own range of 64
// draws, so rejections do not shift the draws of other elements. All 32 attempts fail with
// probability 1e-43.
double TruncatedNormal(uint64_t key, uint64_t element) {
  for (uint64_t attempt = 0; attempt < 32; ++attempt) {
    const double draw = RandomNormal(key, element * 64 + attempt * 2);
    if (std::abs(draw) <= 2) return draw;
  }
  return 0;
}

// Keras's compute_fans: fan-in or fan-out of the variable; a convolution kernel's receptive field
// multiplies both.
double FanOf(const VariableSpec& variable) {
  const std::vector<int64_t>& shape = variable.shape;
  double in = 1, out = 1;
  if (shape.size() == 1) {
    in = out = static_cast<double>(shape[0]);
  } else if (shape.size() >= 2) {
    double field = 1;
    for (size_t i = 0; i + 2 < shape.size(); ++i) field *= static_cast<double>(shape[i]);
    in = field * static_cast<double>(shape[shape.size() - 2]);
    out = field * static_cast<double>(shape.back());
  }
  switch (variable.initializer.fan) {
    case Fan::kIn:
      return in;
    case Fan::kOut:
      return out;
    case Fan::kAverage:
      return (in + out) / 2;
  }
  return 1;
}

// Resolves variance scaling to the distribution whose parameters follow from the shape. Other
// initializers are returned unchanged.
InitializerSpec WithoutScaling(const VariableSpec& variable) {
  const InitializerSpec& spec = variable.initializer;
  if (spec.kind != Kind::kVarianceScaling) return spec;
  const double variance = spec.value / std::max(1.0, FanOf(variable));
  switch (spec.distribution) {
    case Distribution::kUniform: {
      const double limit = std::sqrt(3 * variance);
      return {.kind = Kind::kUniform, .minimum = -limit, .maximum = limit};
    }
    case Distribution::kTruncatedNormal:
      return {.kind = Kind::kTruncatedNormal, .stddev = std::sqrt(variance) / kTruncatedStddev};
    case Distribution::kNormal:
      break;
  }
  return {.kind = Kind::kNormal, .stddev = std::sqrt(variance)};
}

std::vector<double> Orthogonal(const VariableSpec& variable, uint64_t key) {
  const int64_t count = variable.element_count();
  std::vector<double> draws(count);
  for (int64_t i = 0; i < count; ++i) draws[i] = RandomNormal(key, i * 2);
  return OrthogonalMatrix(count / Columns(variable), Columns(variable), std::move(draws));
}

}  // namespace

absl::Status CheckInitializer(const VariableSpec& variable) {
  const Kind kind = variable.initializer.kind;
  if (kind == Kind::kIdentity && variable.shape.size() != 2) {
    return absl::InvalidArgumentError(absl::StrCat("initializer Identity needs two dimensions; ",
                                                   variable.name, " has ", variable.shape.size()));
  }
  if (kind == Kind::kOrthogonal &&
      (variable.shape.size() < 2 || variable.element_count() > kMaxOrthogonalElements)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "initializer Orthogonal needs at least two dimensions and at most ", kMaxOrthogonalElements,
        " elements; ", variable.name, " has ", variable.shape.size(), " dimensions and ",
        variable.element_count(), " elements"));
  }
  return absl::OkStatus();
}

// Draws are computed in double and rounded once, so that last-bit differences between the math
// libraries of two hosts disappear.
void FillInitialValues(const VariableSpec& variable, uint64_t seed, int64_t begin, int64_t end,
                       float* out) {
  CAIRN_CHECK(0 <= begin && begin <= end && end <= variable.element_count());
  const InitializerSpec spec = WithoutScaling(variable);
  const uint64_t key = DeriveKey(seed, variable.name);
  const int64_t columns = Columns(variable);
  const std::vector<double> matrix =
      spec.kind == Kind::kOrthogonal ? Orthogonal(variable, key) : std::vector<double>();
  auto value_of = [&](int64_t i) -> double {
    switch (spec.kind) {
      case Kind::kConstant:
        return spec.value;
      case Kind::kUniform:
        return spec.minimum + (spec.maximum - spec.minimum) * RandomUniformDouble(key, i);
      case Kind::kNormal:
        return spec.mean + spec.stddev * RandomNormal(key, i * 2);
      case Kind::kTruncatedNormal:
        return spec.mean + spec.stddev * TruncatedNormal(key, i);
      case Kind::kIdentity:
        return i / columns == i % columns ? spec.value : 0;
      case Kind::kOrthogonal:
        return spec.value * matrix[i];
      case Kind::kVarianceScaling:
        break;  // WithoutScaling has replaced it.
    }
    return 0;
  };
  const auto [ones_begin, ones_end] = variable.initializer.ones;
  for (int64_t i = begin; i < end; ++i) {
    *out++ = i >= ones_begin && i < ones_end ? 1 : static_cast<float>(value_of(i));
  }
}

}  // namespace cairn::nn
