#include "nn/initializer_spec.h"

#include <google/protobuf/struct.pb.h>

#include <cmath>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "common/status_macros.h"

namespace cairn::nn {
namespace {

using Kind = InitializerSpec::Kind;
using Fan = InitializerSpec::Fan;
using Distribution = InitializerSpec::Distribution;
using google::protobuf::Struct;
using google::protobuf::Value;

// A Keras initializer class: its default parameters and the arguments it accepts.
struct KnownInitializer {
  const char* class_name;
  const char* alias;  // Keras's second name, besides the snake-case one; may be empty.
  InitializerSpec defaults;
  std::vector<const char*> arguments;
};

InitializerSpec Scaled(double scale, Fan fan, Distribution distribution) {
  return {.kind = Kind::kVarianceScaling, .value = scale, .fan = fan, .distribution = distribution};
}

std::vector<KnownInitializer> KnownInitializers() {
  const Distribution uniform = Distribution::kUniform;
  const Distribution normal = Distribution::kTruncatedNormal;
  return {
      {"Zeros", "zero", {.kind = Kind::kConstant, .value = 0}, {}},
      {"Ones", "one", {.kind = Kind::kConstant, .value = 1}, {}},
      {"Constant", "", {.kind = Kind::kConstant, .value = 0}, {"value"}},
      {"RandomUniform",
       "uniform",
       {.kind = Kind::kUniform, .minimum = -0.05, .maximum = 0.05},
       {"minval", "maxval"}},
      {"RandomNormal", "normal", {.kind = Kind::kNormal, .stddev = 0.05}, {"mean", "stddev"}},
      {"TruncatedNormal", "", {.kind = Kind::kTruncatedNormal, .stddev = 0.05}, {"mean", "stddev"}},
      {"VarianceScaling", "", Scaled(1, Fan::kIn, normal), {"scale", "mode", "distribution"}},
      {"GlorotUniform", "", Scaled(1, Fan::kAverage, uniform), {}},
      {"GlorotNormal", "", Scaled(1, Fan::kAverage, normal), {}},
      {"HeUniform", "", Scaled(2, Fan::kIn, uniform), {}},
      {"HeNormal", "", Scaled(2, Fan::kIn, normal), {}},
      {"LecunUniform", "", Scaled(1, Fan::kIn, uniform), {}},
      {"LecunNormal", "", Scaled(1, Fan::kIn, normal), {}},
      {"Orthogonal", "", {.kind = Kind::kOrthogonal, .value = 1}, {"gain"}},
      {"Identity", "eye", {.kind = Kind::kIdentity, .value = 1}, {"gain"}},
  };
}

// Lower case without underscores, so that "glorot_uniform" and "GlorotUniform" compare equal.
std::string CanonicalName(absl::string_view name) {
  std::string canonical;
  for (char c : name) {
    if (c != '_') canonical += absl::ascii_tolower(c);
  }
  return canonical;
}

absl::StatusOr<KnownInitializer> FindInitializer(const std::string& name) {
  std::vector<std::string> names;
  for (const KnownInitializer& known : KnownInitializers()) {
    if (CanonicalName(name) == CanonicalName(known.class_name) || name == known.alias) return known;
    names.push_back(known.class_name);
  }
  return absl::InvalidArgumentError(
      absl::StrCat("unknown initializer '", name, "'; known: ", absl::StrJoin(names, ", ")));
}

absl::Status ReadNumber(absl::string_view name, const Value& value, double* number) {
  if (value.kind_case() != Value::kNumberValue || !std::isfinite(value.number_value())) {
    return absl::InvalidArgumentError(absl::StrCat("'", name, "' is not a number"));
  }
  *number = value.number_value();
  return absl::OkStatus();
}

absl::Status ReadFan(const Value& value, Fan* fan) {
  const std::string& mode = value.string_value();
  if (mode == "fan_in") *fan = Fan::kIn;
  if (mode == "fan_out") *fan = Fan::kOut;
  if (mode == "fan_avg") *fan = Fan::kAverage;
  if (mode == "fan_in" || mode == "fan_out" || mode == "fan_avg") return absl::OkStatus();
  return absl::InvalidArgumentError("'mode' is not fan_in, fan_out or fan_avg");
}

absl::Status ReadDistribution(const Value& value, Distribution* distribution) {
  const std::string name = CanonicalName(value.string_value());
  if (name == "uniform") {
    *distribution = Distribution::kUniform;
  } else if (name == "normal" || name == "truncatednormal") {
    *distribution = Distribution::kTruncatedNormal;  // In Keras, "normal" is truncated too.
  } else if (name == "untruncatednormal") {
    *distribution = Distribution::kNormal;
  } else {
    return absl::InvalidArgumentError(
        "'distribution' is not uniform, truncated_normal or untruncated_normal");
  }
  return absl::OkStatus();
}

absl::Status ReadArgument(const std::string& name, const Value& value, InitializerSpec* spec) {
  if (name == "mode") return ReadFan(value, &spec->fan);
  if (name == "distribution") return ReadDistribution(value, &spec->distribution);
  if (name == "minval") return ReadNumber(name, value, &spec->minimum);
  if (name == "maxval") return ReadNumber(name, value, &spec->maximum);
  if (name == "mean") return ReadNumber(name, value, &spec->mean);
  if (name == "stddev") return ReadNumber(name, value, &spec->stddev);
  return ReadNumber(name, value, &spec->value);  // value, scale, gain
}

absl::Status CheckRanges(const InitializerSpec& spec) {
  if (spec.stddev < 0) return absl::InvalidArgumentError("'stddev' is negative");
  if (spec.maximum < spec.minimum) {
    return absl::InvalidArgumentError("'maxval' is less than 'minval'");
  }
  if (spec.kind == Kind::kVarianceScaling && spec.value <= 0) {
    return absl::InvalidArgumentError("'scale' is not positive");
  }
  return absl::OkStatus();
}

bool Contains(const std::vector<const char*>& names, const std::string& name) {
  for (const char* known : names) {
    if (name == known) return true;
  }
  return false;
}

absl::StatusOr<InitializerSpec> ReadArguments(const KnownInitializer& known, const Struct& config) {
  InitializerSpec spec = known.defaults;
  for (const auto& [name, value] : config.fields()) {
    // Keras writes an argument that is not given as null.
    if (name == "seed" || name == "dtype" || value.kind_case() == Value::kNullValue) continue;
    if (!Contains(known.arguments, name)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "unknown argument '", name,
          "'; known: ", known.arguments.empty() ? "seed" : absl::StrJoin(known.arguments, ", ")));
    }
    CAIRN_RETURN_IF_ERROR(ReadArgument(name, value, &spec));
  }
  CAIRN_RETURN_IF_ERROR(CheckRanges(spec));
  return spec;
}

}  // namespace

absl::StatusOr<InitializerSpec> ParseInitializer(const Value& config) {
  const Struct no_arguments;
  const Struct* arguments = &no_arguments;
  std::string name;
  if (config.kind_case() == Value::kStringValue) {
    name = config.string_value();
  } else if (config.kind_case() == Value::kStructValue) {
    const auto& fields = config.struct_value().fields();
    if (auto it = fields.find("class_name"); it != fields.end()) name = it->second.string_value();
    if (auto it = fields.find("config"); it != fields.end()) arguments = &it->second.struct_value();
  }
  if (name.empty()) {
    return absl::InvalidArgumentError(
        "an initializer is a name or an object with class_name and config");
  }
  CAIRN_ASSIGN_OR_RETURN(const KnownInitializer known, FindInitializer(name));
  absl::StatusOr<InitializerSpec> spec = ReadArguments(known, *arguments);
  if (spec.ok()) return spec;
  return absl::InvalidArgumentError(
      absl::StrCat("initializer ", known.class_name, ": ", std::string(spec.status().message())));
}

}  // namespace cairn::nn
