#include "nn/constraint.h"

#include <google/protobuf/struct.pb.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "common/status_macros.h"

namespace cairn::nn {
namespace {

using google::protobuf::Value;

constexpr double kEpsilon = 1e-7;  // keras.backend.epsilon()

// Calls visit(offset, norm) for each element in order, with the index of the norm to which the
// element contributes. Norms have the order of the kept axes.
template <typename Visit>
void ForEachElement(absl::Span<const int64_t> shape, absl::Span<const int64_t> strides,
                    const Visit& visit) {
  const size_t rank = shape.size();
  const int64_t count =
      std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>());
  const int64_t width = rank == 0 ? 1 : shape[rank - 1];
  const int64_t step = rank == 0 ? 0 : strides[rank - 1];
  std::vector<int64_t> index(rank, 0);
  for (int64_t offset = 0; offset < count; offset += width) {
    int64_t norm = 0;
    for (size_t axis = 0; axis + 1 < rank; ++axis) norm += index[axis] * strides[axis];
    for (int64_t i = 0; i < width; ++i) visit(offset + i, norm + i * step);
    for (size_t axis = rank == 0 ? 0 : rank - 1; axis-- > 0;) {
      if (++index[axis] < shape[axis]) break;
      index[axis] = 0;
    }
  }
}

struct KnownConstraint {
  const char* name;
  const char* short_name;  // Lower case, without underscores.
  Constraint constraint;   // With Keras's defaults.
  std::vector<std::string> arguments;
};

const std::vector<KnownConstraint>& KnownConstraints() {
  using Kind = Constraint::Kind;
  static const auto* const kKnown = new std::vector<KnownConstraint>{
      {"MaxNorm", "maxnorm", {.kind = Kind::kNorm, .max_value = 2}, {"max_value", "axis"}},
      {"MinMaxNorm",
       "minmaxnorm",
       {.kind = Kind::kNorm, .max_value = 1},
       {"min_value", "max_value", "rate", "axis"}},
      {"NonNeg", "nonneg", {.kind = Kind::kNonNegative}, {}},
      {"UnitNorm", "unitnorm", {.kind = Kind::kNorm, .min_value = 1, .max_value = 1}, {"axis"}},
  };
  return *kKnown;
}

absl::StatusOr<KnownConstraint> Find(const std::string& name) {
  const std::string wanted = absl::StrReplaceAll(absl::AsciiStrToLower(name), {{"_", ""}});
  std::string names;
  for (const KnownConstraint& known : KnownConstraints()) {
    if (wanted == known.short_name) return known;
    absl::StrAppend(&names, names.empty() ? "" : ", ", known.name);
  }
  return absl::InvalidArgumentError(
      absl::StrCat("unknown constraint '", name, "'; known: ", names));
}

// Null means all axes, as in Keras.
absl::StatusOr<std::vector<int64_t>> ReadAxes(const Value& value, size_t rank) {
  std::vector<int64_t> axes;
  if (value.kind_case() == Value::kNullValue) {
    axes.resize(rank);
    std::iota(axes.begin(), axes.end(), 0);
    return axes;
  }
  google::protobuf::ListValue given = value.list_value();
  if (value.kind_case() != Value::kListValue) *given.add_values() = value;
  const int64_t limit = static_cast<int64_t>(rank);
  for (const Value& entry : given.values()) {
    const double axis = entry.number_value();
    if (entry.kind_case() != Value::kNumberValue || std::floor(axis) != axis || axis < -limit ||
        axis >= limit) {
      return absl::InvalidArgumentError(absl::StrCat("constraint's axis must be from ", -limit,
                                                     " to ", limit - 1,
                                                     ", because the variable has ", rank, " axes"));
    }
    axes.push_back(static_cast<int64_t>(axis < 0 ? axis + limit : axis));
  }
  std::sort(axes.begin(), axes.end());
  if (std::adjacent_find(axes.begin(), axes.end()) != axes.end()) {
    return absl::InvalidArgumentError("constraint's argument 'axis' has the same axis twice");
  }
  return axes;
}

absl::Status ReadNumber(const std::string& argument, const Value& value, Constraint* constraint) {
  const double number = value.number_value();
  const bool is_rate = argument == "rate";
  if (value.kind_case() != Value::kNumberValue || !std::isfinite(number) || number < 0 ||
      (is_rate && number > 1)) {
    return absl::InvalidArgumentError(absl::StrCat("constraint's argument '", argument,
                                                   "' is not a number ",
                                                   is_rate ? "from 0 to 1" : "of at least 0"));
  }
  double& target = is_rate                   ? constraint->rate
                   : argument == "min_value" ? constraint->min_value
                                             : constraint->max_value;
  target = number;
  return absl::OkStatus();
}

absl::Status ReadArguments(const KnownConstraint& known, const google::protobuf::Struct& config,
                           size_t rank, Constraint* constraint) {
  for (const auto& [key, value] : config.fields()) {
    const std::string argument(key);
    if (std::find(known.arguments.begin(), known.arguments.end(), argument) ==
        known.arguments.end()) {
      return absl::InvalidArgumentError(
          absl::StrCat(known.name, " has an unknown argument '", argument, "'"));
    }
    if (argument == "axis") {
      CAIRN_ASSIGN_OR_RETURN(constraint->axes, ReadAxes(value, rank));
    } else {
      CAIRN_RETURN_IF_ERROR(ReadNumber(argument, value, constraint));
    }
  }
  if (constraint->min_value <= constraint->max_value) return absl::OkStatus();
  return absl::InvalidArgumentError("constraint's min_value is larger than its max_value");
}

}  // namespace

void Constraint::Apply(absl::Span<const int64_t> shape, float* values) const {
  if (kind == Kind::kNone) return;
  if (kind == Kind::kNonNegative) {
    const int64_t count =
        std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>());
    // Written so that NaN stays NaN.
    for (int64_t i = 0; i < count; ++i) values[i] = values[i] < 0 ? 0 : values[i];
    return;
  }
  // The stride of a reduced axis is 0: all of its elements share a norm.
  std::vector<int64_t> strides(shape.size(), 0);
  int64_t norms = 1;
  for (size_t axis = shape.size(); axis-- > 0;) {
    if (std::binary_search(axes.begin(), axes.end(), static_cast<int64_t>(axis))) continue;
    strides[axis] = norms;
    norms *= shape[axis];
  }
  std::vector<double> scales(static_cast<size_t>(norms), 0);
  ForEachElement(shape, strides, [&](int64_t offset, int64_t norm) {
    scales[norm] += static_cast<double>(values[offset]) * values[offset];
  });
  for (double& scale : scales) {
    const double norm = std::sqrt(scale);
    const double clipped = norm < min_value ? min_value : norm > max_value ? max_value : norm;
    scale = (rate * clipped + (1 - rate) * norm) / (kEpsilon + norm);
  }
  ForEachElement(shape, strides, [&](int64_t offset, int64_t norm) {
    values[offset] = static_cast<float>(values[offset] * scales[norm]);
  });
}

absl::StatusOr<Constraint> ParseConstraint(const Value& config, size_t rank) {
  if (config.kind_case() == Value::kNullValue) return Constraint{};
  const auto& fields = config.struct_value().fields();
  const auto class_name = fields.find("class_name");
  std::string name = config.string_value();
  if (config.kind_case() != Value::kStringValue) {
    if (class_name == fields.end() || class_name->second.kind_case() != Value::kStringValue) {
      return absl::InvalidArgumentError("a constraint is a name or {class_name, config}");
    }
    name = class_name->second.string_value();
  }
  CAIRN_ASSIGN_OR_RETURN(const KnownConstraint known, Find(name));
  Constraint constraint = known.constraint;
  google::protobuf::Struct arguments;
  if (const auto given = fields.find("config"); given != fields.end()) {
    arguments = given->second.struct_value();
  }
  if (constraint.kind == Constraint::Kind::kNorm && arguments.fields().count("axis") == 0) {
    (*arguments.mutable_fields())["axis"].set_number_value(0);
  }
  CAIRN_RETURN_IF_ERROR(ReadArguments(known, arguments, rank, &constraint));
  return constraint;
}

}  // namespace cairn::nn
