#include "nn/regularizer.h"

#include <google/protobuf/struct.pb.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

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

absl::StatusOr<Regularizer> FromName(const std::string& name) {
  if (name == "l1" || name == "L1") return Regularizer{.l1 = kDefaultFactor};
  if (name == "l2" || name == "L2") return Regularizer{.l2 = kDefaultFactor};
  if (name == "l1_l2" || name == "l1l2" || name == "L1L2") {
    return Regularizer{.l1 = kDefaultFactor, .l2 = kDefaultFactor};
  }
  return absl::InvalidArgumentError(
      absl::StrCat("unknown regularizer '", name, "'; known: L1, L2, L1L2"));
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
  constexpr int64_t kRun = 1024;
  double penalty = 0;
  for (int64_t begin = 0; begin < count; begin += kRun) {
    const Sums sums = SumRun(values + begin, std::min(kRun, count - begin));
    penalty += l1 * sums.absolute + l2 * sums.squared;
  }
  return penalty;
}

void Regularizer::AddGradient(const float* values, int64_t count, float* gradient) const {
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
  if (arguments != fields.end()) {
    CAIRN_RETURN_IF_ERROR(ReadFactors(arguments->second.struct_value(), &regularizer));
  }
  return regularizer;
}

}  // namespace cairn::nn
