#include "nn/regularizer.h"

#include <google/protobuf/struct.pb.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "common/simd.h"
#include "common/status_macros.h"

namespace cairn::nn {
namespace {

using google::protobuf::Value;

// Keras's default factor of a regularizer given by name.
constexpr double kDefaultFactor = 0.01;

struct Sums {
  float absolute = 0;
  float squared = 0;
};

// Sums at most 1024 values in float, which vectorizes; Penalty adds the results in double, so small
// values are not lost.
CAIRN_SIMD Sums SumRun(const float* values, int64_t count) {
  constexpr int kLanes = 16;
  float absolute[kLanes] = {};
  float squared[kLanes] = {};
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    for (int lane = 0; lane < kLanes; ++lane) {
      absolute[lane] += std::fabs(values[i + lane]);
      squared[lane] += values[i + lane] * values[i + lane];
    }
  }
  for (; i < count; ++i) {
    absolute[0] += std::fabs(values[i]);
    squared[0] += values[i] * values[i];
  }
  Sums sums;
  for (int lane = 0; lane < kLanes; ++lane) {
    sums.absolute += absolute[lane];
    sums.squared += squared[lane];
  }
  return sums;
}

CAIRN_SIMD void AddPenaltyGradient(const float* values, int64_t count, float l1, float twice_l2,
                                   float* gradient) {
  for (int64_t i = 0; i < count; ++i) {
    const float sign = static_cast<float>((values[i] > 0) - (values[i] < 0));
    gradient[i] += l1 * sign + twice_l2 * values[i];
  }
}

// The scalar product of two vectors.
CAIRN_SIMD float Product(const float* a, const float* b, int64_t count) {
  constexpr int kLanes = 16;
  float sums[kLanes] = {};
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    for (int lane = 0; lane < kLanes; ++lane) sums[lane] += a[i + lane] * b[i + lane];
  }
  for (; i < count; ++i) sums[0] += a[i] * b[i];
  float sum = 0;
  for (int lane = 0; lane < kLanes; ++lane) sum += sums[lane];
  return sum;
}

CAIRN_SIMD void AddScaled(const float* from, int64_t count, float factor, float* to) {
  for (int64_t i = 0; i < count; ++i) to[i] += factor * from[i];
}

// The rows or columns of a matrix, normalized. As in Keras, a norm is at least 1e-7.
class UnitVectors {
 public:
  UnitVectors(const Regularizer& regularizer, const float* values, int64_t count)
      : columns_(regularizer.columns),
        of_columns_(regularizer.of_columns),
        size_(of_columns_ ? columns_ : count / columns_),
        length_(count / size_) {
    for (int64_t i = 0; i < size_; ++i) {
      double sum = 0;
      for (int64_t k = 0; k < length_; ++k) sum += std::pow(values[At(i, k)], 2);
      norms_.push_back(std::max(std::sqrt(sum), 1e-7));
      for (int64_t k = 0; k < length_; ++k) {
        units_.push_back(static_cast<float>(values[At(i, k)] / norms_.back()));
      }
    }
  }

  int64_t size() const { return size_; }
  int64_t length() const { return length_; }
  // The index of element k of vector i in the matrix.
  int64_t At(int64_t i, int64_t k) const {
    return of_columns_ ? k * columns_ + i : i * columns_ + k;
  }
  const float* Unit(int64_t i) const { return units_.data() + i * length_; }
  double norm(int64_t i) const { return norms_[i]; }
  float Cosine(int64_t i, int64_t j) const { return Product(Unit(i), Unit(j), length_); }

 private:
  const int64_t columns_;
  const bool of_columns_;
  const int64_t size_;
  const int64_t length_;
  std::vector<double> norms_;
  std::vector<float> units_;
};

double OrthogonalPenalty(const UnitVectors& vectors) {
  double sum = 0;
  for (int64_t i = 0; i < vectors.size(); ++i) {
    for (int64_t j = 0; j < i; ++j) sum += std::fabs(vectors.Cosine(i, j));
  }
  return sum;
}

// The derivative of |cosine(x, y)| by x is sign(cosine) * (y / |y| - cosine * x / |x|) / |x|.
void AddOrthogonalGradient(const UnitVectors& vectors, double factor, float* gradient) {
  const int64_t length = vectors.length();
  std::vector<float> sums(vectors.size() * length, 0.0f);
  std::vector<double> cosines(vectors.size(), 0.0);
  for (int64_t i = 0; i < vectors.size(); ++i) {
    for (int64_t j = 0; j < i; ++j) {
      const float cosine = vectors.Cosine(i, j);
      const auto sign = static_cast<float>((cosine > 0) - (cosine < 0));
      AddScaled(vectors.Unit(j), length, sign, sums.data() + i * length);
      AddScaled(vectors.Unit(i), length, sign, sums.data() + j * length);
      cosines[i] += std::fabs(cosine);
      cosines[j] += std::fabs(cosine);
    }
  }
  for (int64_t i = 0; i < vectors.size(); ++i) {
    for (int64_t k = 0; k < length; ++k) {
      const double derivative = sums[i * length + k] - cosines[i] * vectors.Unit(i)[k];
      gradient[vectors.At(i, k)] += static_cast<float>(factor * derivative / vectors.norm(i));
    }
  }
}

// The factor of the sum over pairs.
double PerPair(double factor, int64_t size) {
  const auto vectors = static_cast<double>(size);
  return 2 * factor / (vectors * (vectors - 1));
}

absl::StatusOr<Regularizer> FromName(const std::string& name) {
  if (name == "l1" || name == "L1") return Regularizer{.l1 = kDefaultFactor};
  if (name == "l2" || name == "L2") return Regularizer{.l2 = kDefaultFactor};
  if (name == "l1_l2" || name == "l1l2" || name == "L1L2") {
    return Regularizer{.l1 = kDefaultFactor, .l2 = kDefaultFactor};
  }
  if (name == "orthogonal_regularizer" || name == "OrthogonalRegularizer") {
    return Regularizer{.orthogonal = kDefaultFactor};
  }
  return absl::InvalidArgumentError(
      absl::StrCat("unknown regularizer '", name, "'; known: L1, L2, L1L2, OrthogonalRegularizer"));
}

absl::Status ReadOrthogonal(const google::protobuf::Struct& config, Regularizer* regularizer) {
  for (const auto& [argument, value] : config.fields()) {
    if (argument == "factor" && value.kind_case() == Value::kNumberValue &&
        std::isfinite(value.number_value()) && value.number_value() >= 0) {
      regularizer->orthogonal = value.number_value();
    } else if (argument == "mode" &&
               (value.string_value() == "rows" || value.string_value() == "columns")) {
      regularizer->of_columns = value.string_value() == "columns";
    } else if (argument == "factor") {
      return absl::InvalidArgumentError(
          "regularizer's argument 'factor' is not a number of at least 0");
    } else if (argument == "mode") {
      return absl::InvalidArgumentError("regularizer's argument 'mode' must be rows or columns");
    } else {
      return absl::InvalidArgumentError(absl::StrCat("regularizer has an unknown argument '",
                                                     std::string(argument),
                                                     "'; known: factor, mode"));
    }
  }
  return absl::OkStatus();
}

absl::Status ReadFactors(const google::protobuf::Struct& config, Regularizer* regularizer) {
  for (const auto& [argument, value] : config.fields()) {
    if (argument != "l1" && argument != "l2") {
      return absl::InvalidArgumentError(absl::StrCat("regularizer has an unknown argument '",
                                                     std::string(argument), "'; known: l1, l2"));
    }
    const bool is_null = value.kind_case() == Value::kNullValue;
    if (!is_null && (value.kind_case() != Value::kNumberValue ||
                     !std::isfinite(value.number_value()) || value.number_value() < 0)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "regularizer's argument '", std::string(argument), "' is not a number of at least 0"));
    }
    (argument == "l1" ? regularizer->l1 : regularizer->l2) = is_null ? 0 : value.number_value();
  }
  return absl::OkStatus();
}

}  // namespace

double Regularizer::Penalty(const float* values, int64_t count) const {
  if (orthogonal > 0) {
    const UnitVectors vectors(*this, values, count);
    return PerPair(orthogonal, vectors.size()) * OrthogonalPenalty(vectors);
  }
  constexpr int64_t kRun = 1024;
  double penalty = 0;
  for (int64_t begin = 0; begin < count; begin += kRun) {
    const Sums sums = SumRun(values + begin, std::min(kRun, count - begin));
    penalty += l1 * sums.absolute + l2 * sums.squared;
  }
  return penalty;
}

void Regularizer::AddGradient(const float* values, int64_t count, float* gradient) const {
  if (orthogonal > 0) {
    const UnitVectors vectors(*this, values, count);
    AddOrthogonalGradient(vectors, PerPair(orthogonal, vectors.size()), gradient);
    return;
  }
  AddPenaltyGradient(values, count, static_cast<float>(l1), static_cast<float>(2 * l2), gradient);
}

absl::StatusOr<Regularizer> ParseRegularizer(const Value& config) {
  if (config.kind_case() == Value::kNullValue) return Regularizer{};
  if (config.kind_case() == Value::kStringValue) return FromName(config.string_value());
  if (config.kind_case() != Value::kStructValue) {
    return absl::InvalidArgumentError("a regularizer is a name or {class_name, config}");
  }
  const auto& fields = config.struct_value().fields();
  const auto class_name = fields.find("class_name");
  if (class_name == fields.end() || class_name->second.kind_case() != Value::kStringValue) {
    return absl::InvalidArgumentError("a regularizer's class_name is missing");
  }
  const std::string& name = class_name->second.string_value();
  CAIRN_ASSIGN_OR_RETURN(Regularizer regularizer, FromName(name));
  // L1L2 without factors has no penalty; L1 and L2 take Keras's default.
  if (regularizer.l1 != 0 && regularizer.l2 != 0) regularizer = {};
  const auto arguments = fields.find("config");
  if (arguments != fields.end() && regularizer.orthogonal > 0) {
    CAIRN_RETURN_IF_ERROR(ReadOrthogonal(arguments->second.struct_value(), &regularizer));
  } else if (arguments != fields.end()) {
    CAIRN_RETURN_IF_ERROR(ReadFactors(arguments->second.struct_value(), &regularizer));
  }
  return regularizer;
}

}  // namespace cairn::nn
