#include "nn/layer_config.h"

#include <google/protobuf/struct.pb.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "nn/constraint.h"
#include "nn/initializer_spec.h"

namespace cairn::nn {
namespace {

using google::protobuf::Value;

// The value as JSON, with objects abbreviated. Recursion is bounded: readers limit the nesting.
std::string JsonText(const Value& value) {
  switch (value.kind_case()) {
    case Value::kNumberValue:
      return absl::StrCat(value.number_value());
    case Value::kBoolValue:
      return value.bool_value() ? "true" : "false";
    case Value::kStringValue:
      return absl::StrCat("\"", value.string_value(), "\"");
    case Value::kListValue:
      return absl::StrCat(
          "[",
          absl::StrJoin(value.list_value().values(), ", ",
                        [](std::string* out, const Value& entry) { out->append(JsonText(entry)); }),
          "]");
    case Value::kStructValue:
      return "an object";
    default:
      return "null";
  }
}

std::string ValueText(const Value& value) {
  const std::string text = JsonText(value);
  return text.size() > 80 ? text.substr(0, 80) + "..." : text;
}

// Appends all numbers of a nested list. Returns false if an element is neither a finite number nor
// a list. Recursion is bounded: readers limit the nesting.
bool AppendNumbers(const Value& value, std::vector<double>* numbers) {
  if (value.kind_case() == Value::kListValue) {
    for (const Value& entry : value.list_value().values()) {
      if (!AppendNumbers(entry, numbers)) return false;
    }
    return true;
  }
  numbers->push_back(value.number_value());
  return value.kind_case() == Value::kNumberValue && std::isfinite(value.number_value());
}

std::string RangeText(int64_t minimum, int64_t maximum) {
  return absl::StrCat(" from ", minimum, " to ", maximum);
}

}  // namespace

LayerConfig::LayerConfig(const proto::LayerSpec& spec, std::vector<TensorSpec> inputs)
    : spec_(spec), inputs_(std::move(inputs)) {
  trainable_ = Bool("trainable", true);
  // Keras writes these arguments for every layer; they do not change the result.
  Ignore({"name", "batch_input_shape", "batch_shape", "input_shape", "input_dtype"});
  // Layers compute in float32; only inputs and, in Keras, bins and indices have other types.
  static constexpr std::string_view kOfOtherTypes[] = {"InputLayer",   "Discretization",
                                                       "Hashing",      "IntegerLookup",
                                                       "StringLookup", "TextVectorization"};
  if (std::find(std::begin(kOfOtherTypes), std::end(kOfOtherTypes), spec.class_name()) ==
      std::end(kOfOtherTypes)) {
    Choice("dtype", {"float32"});
  }
  activity_regularizer_ = ReadRegularizer("activity_regularizer", {});
}

const Value* LayerConfig::Find(std::string_view argument) {
  const std::string name(argument);
  if (std::find(known_.begin(), known_.end(), name) == known_.end()) known_.push_back(name);
  const auto found = spec_.config().fields().find(name);
  if (found == spec_.config().fields().end()) return nullptr;
  return found->second.kind_case() == Value::kNullValue ? nullptr : &found->second;
}

bool LayerConfig::Has(std::string_view argument) { return Find(argument) != nullptr; }

bool LayerConfig::Bool(std::string_view argument, bool default_value) {
  const Value* value = Find(argument);
  if (value == nullptr) return default_value;
  if (value->kind_case() != Value::kBoolValue) {
    FailArgument(argument, absl::StrCat("must be true or false, is ", ValueText(*value)));
  }
  return value->bool_value();
}

std::optional<int64_t> LayerConfig::ReadInt(const Value& value, int64_t minimum,
                                            int64_t maximum) const {
  const double number = value.number_value();
  if (value.kind_case() != Value::kNumberValue || std::floor(number) != number) return {};
  if (!(number >= static_cast<double>(minimum) && number <= static_cast<double>(maximum))) {
    return {};
  }
  return static_cast<int64_t>(number);
}

int64_t LayerConfig::Int(std::string_view argument, std::optional<int64_t> default_value,
                         int64_t minimum, int64_t maximum) {
  const Value* value = Find(argument);
  if (value == nullptr) {
    if (!default_value.has_value()) FailArgument(argument, "is missing");
    return default_value.value_or(minimum);
  }
  const std::optional<int64_t> number = ReadInt(*value, minimum, maximum);
  if (!number.has_value()) {
    FailArgument(argument, absl::StrCat("must be a whole number", RangeText(minimum, maximum),
                                        ", is ", ValueText(*value)));
  }
  return number.value_or(minimum);
}

double LayerConfig::Number(std::string_view argument, double default_value, double minimum,
                           double maximum) {
  const Value* value = Find(argument);
  if (value == nullptr) return default_value;
  const double number = value->number_value();
  if (value->kind_case() == Value::kNumberValue && number >= minimum && number <= maximum) {
    return number;
  }
  const bool has_least = minimum > std::numeric_limits<double>::lowest();
  const bool has_most = maximum < std::numeric_limits<double>::max();
  const std::string range = has_least && has_most ? absl::StrCat(" from ", minimum, " to ", maximum)
                            : has_least           ? absl::StrCat(" of ", minimum, " or more")
                            : has_most            ? absl::StrCat(" of ", maximum, " or less")
                                                  : "";
  FailArgument(argument, absl::StrCat("must be a number", range, ", is ", ValueText(*value)));
  return default_value;
}

std::string LayerConfig::Choice(std::string_view argument,
                                std::initializer_list<const char*> allowed) {
  const Value* value = Find(argument);
  if (value == nullptr) return *allowed.begin();
  for (const char* word : allowed) {
    if (value->string_value() == word) return word;
  }
  FailArgument(argument, absl::StrCat("must be one of ", absl::StrJoin(allowed, ", "), ", is ",
                                      ValueText(*value)));
  return *allowed.begin();
}

std::optional<std::vector<int64_t>> LayerConfig::Ints(std::string_view argument, int64_t minimum,
                                                      int64_t maximum) {
  const Value* value = Find(argument);
  if (value == nullptr) return {};
  std::vector<const Value*> entries;
  if (value->kind_case() == Value::kListValue) {
    for (const Value& entry : value->list_value().values()) entries.push_back(&entry);
  } else {
    entries.push_back(value);
  }
  std::vector<int64_t> numbers;
  for (const Value* entry : entries) {
    const std::optional<int64_t> number = ReadInt(*entry, minimum, maximum);
    if (!number.has_value()) {
      FailArgument(argument, absl::StrCat("must be whole numbers", RangeText(minimum, maximum),
                                          ", is ", ValueText(*value)));
    }
    numbers.push_back(number.value_or(minimum));
  }
  return numbers;
}

std::optional<std::vector<double>> LayerConfig::Numbers(std::string_view argument) {
  const Value* value = Find(argument);
  if (value == nullptr) return {};
  std::vector<double> numbers;
  if (!AppendNumbers(*value, &numbers)) {
    FailArgument(argument, absl::StrCat("must be numbers, is ", ValueText(*value)));
  }
  return numbers;
}

std::array<int64_t, 2> LayerConfig::Pair(std::string_view argument,
                                         std::optional<std::array<int64_t, 2>> default_value) {
  const std::optional<std::vector<int64_t>> numbers = Ints(argument, 1);
  if (!numbers.has_value()) {
    if (!default_value.has_value()) FailArgument(argument, "is missing");
    return default_value.value_or(std::array<int64_t, 2>{1, 1});
  }
  if (numbers->size() == 1) return {(*numbers)[0], (*numbers)[0]};
  if (numbers->size() == 2) return {(*numbers)[0], (*numbers)[1]};
  FailArgument(argument, absl::StrCat("must be one or two numbers, has ", numbers->size()));
  return {1, 1};
}

Activation LayerConfig::ActivationNamed(std::string_view argument) {
  const Value* value = Find(argument);
  if (value == nullptr) return {};
  if (value->kind_case() != Value::kStringValue) {
    FailArgument(argument, absl::StrCat("must be an activation's name, is ", ValueText(*value)));
    return {};
  }
  const absl::StatusOr<Activation> activation = ParseActivation(value->string_value());
  if (activation.ok()) return *activation;
  FailArgument(argument, absl::StrCat("is an ", activation.status().message()));
  return {};
}

int64_t LayerConfig::Axis(std::string_view argument, int64_t default_value, size_t rank) {
  // Keras counts the batch as axis 0. Negative axes count from the end, where the batch makes no
  // difference.
  const int64_t axes = static_cast<int64_t>(rank) + 1;
  const std::vector<int64_t> given =
      Ints(argument, -axes, axes - 1).value_or(std::vector<int64_t>{default_value});
  if (given.size() != 1) {
    FailArgument(argument, absl::StrCat("must be one axis, has ", given.size()));
    return 0;
  }
  const int64_t axis = given[0] < 0 ? given[0] + axes : given[0];
  if (axis == 0) FailArgument(argument, "must not be the batch axis");
  return std::max<int64_t>(axis - 1, 0);
}

void LayerConfig::Ignore(std::initializer_list<const char*> arguments) {
  for (const char* argument : arguments) Find(argument);
}

Regularizer LayerConfig::ReadRegularizer(std::string_view argument, const Shape& shape) {
  const Value* value = Find(argument);
  if (value == nullptr) return {};
  absl::StatusOr<Regularizer> regularizer = ParseRegularizer(*value);
  if (!regularizer.ok()) {
    FailArgument(argument, absl::StrCat("is wrong: ", regularizer.status().message()));
    return {};
  }
  if (regularizer->orthogonal == 0) return *regularizer;
  if (shape.size() != 2 || shape[regularizer->of_columns ? 1 : 0] < 2) {
    FailArgument(argument,
                 absl::StrCat("is an OrthogonalRegularizer, which is for matrices with at least "
                              "two ",
                              regularizer->of_columns ? "columns" : "rows", ", not for ",
                              shape.empty() ? "outputs" : ShapeText(shape)));
    return {};
  }
  regularizer->columns = shape[1];
  return *regularizer;
}

void LayerConfig::ExpectChannelsLast() { Choice("data_format", {"channels_last"}); }

LayerVariable LayerConfig::Variable(const std::string& name, Shape shape,
                                    const char* default_initializer, const char* argument_prefix) {
  const std::string prefix = argument_prefix == nullptr ? name : argument_prefix;
  LayerVariable variable;
  variable.spec.name = absl::StrCat(spec_.name(), "/", name);
  variable.spec.update =
      trainable_ ? VariableSpec::Update::kOptimized : VariableSpec::Update::kFrozen;
  const absl::StatusOr<int64_t> count = CheckedElementCount(shape);
  if (!count.ok()) Fail(absl::StrCat(name, "'s ", std::string(count.status().message())));
  variable.spec.shape = std::move(shape);

  Value initializer;
  initializer.set_string_value(default_initializer);
  const std::string initializer_argument = prefix + "_initializer";
  if (const Value* given = Find(initializer_argument)) initializer = *given;
  absl::StatusOr<InitializerSpec> parsed = ParseInitializer(initializer);
  if (parsed.ok()) variable.spec.initializer = *parsed;
  if (!parsed.ok()) {
    FailArgument(initializer_argument, absl::StrCat("is wrong: ", parsed.status().message()));
  }

  variable.regularizer = ReadRegularizer(prefix + "_regularizer", variable.spec.shape);
  const std::string constraint_argument = prefix + "_constraint";
  if (const Value* given = Find(constraint_argument)) {
    absl::StatusOr<Constraint> constraint = ParseConstraint(*given, variable.spec.shape.size());
    if (constraint.ok()) variable.spec.constraint = *std::move(constraint);
    if (!constraint.ok()) {
      FailArgument(constraint_argument, absl::StrCat("is wrong: ", constraint.status().message()));
    }
  }
  return variable;
}

void LayerConfig::ExpectInputs(size_t count_min, size_t count_max, bool floats_only) {
  if (inputs_.size() < count_min || inputs_.size() > count_max) {
    const std::string wanted = count_min == count_max ? absl::StrCat("exactly ", count_min)
                                                      : absl::StrCat("at least ", count_min);
    Fail(absl::StrCat("takes ", wanted, " input(s), has ", inputs_.size()));
    return;
  }
  for (const TensorSpec& input : inputs_) {
    if (floats_only && input.type != proto::FLOAT32) {
      Fail(absl::StrCat("takes float32 inputs, one is ", proto::DataType_Name(input.type)));
    }
  }
}

const TensorSpec& LayerConfig::RankedInput(size_t rank_min, size_t rank_max, bool floats_only) {
  placeholder_input_.shape.assign(rank_min, 1);
  ExpectInputs(1, 1, floats_only);
  if (inputs_.size() != 1) return placeholder_input_;
  const size_t rank = inputs_[0].shape.size();
  if (rank >= rank_min && rank <= rank_max) return inputs_[0];
  Fail(absl::StrCat("takes an input with ", rank_min, rank_min == rank_max ? "" : " or more",
                    " dimension(s) beside the batch, has ", ShapeText(inputs_[0].shape)));
  return placeholder_input_;
}

const TensorSpec& LayerConfig::FloatInput(size_t rank_min, size_t rank_max) {
  return RankedInput(rank_min, rank_max, /*floats_only=*/true);
}

const TensorSpec& LayerConfig::ImageInput(size_t rank) {
  return RankedInput(rank, rank, /*floats_only=*/false);
}

const std::vector<TensorSpec>& LayerConfig::FloatInputs(size_t count_min) {
  ExpectInputs(count_min, std::numeric_limits<size_t>::max(), /*floats_only=*/true);
  placeholder_inputs_.resize(count_min);
  return inputs_.size() < count_min ? placeholder_inputs_ : inputs_;
}

const TensorSpec& LayerConfig::AnyInput() {
  ExpectInputs(1, 1, /*floats_only=*/false);
  return inputs_.size() == 1 ? inputs_[0] : placeholder_input_;
}

void LayerConfig::Fail(std::string_view reason) {
  if (first_error_.empty()) first_error_ = std::string(reason);
}

void LayerConfig::FailArgument(std::string_view argument, std::string_view reason) {
  Fail(absl::StrCat("argument '", std::string(argument), "' ", std::string(reason)));
}

absl::Status LayerConfig::Finish() const {
  const std::string prefix =
      absl::StrCat("layer '", spec_.name(), "' (", spec_.class_name(), "): ");
  if (!first_error_.empty()) return absl::InvalidArgumentError(prefix + first_error_);
  for (const auto& [argument, value] : spec_.config().fields()) {
    if (std::find(known_.begin(), known_.end(), argument) != known_.end()) continue;
    return absl::InvalidArgumentError(absl::StrCat(prefix, "unknown argument '",
                                                   std::string(argument),
                                                   "'; known: ", absl::StrJoin(known_, ", ")));
  }
  return absl::OkStatus();
}

Layer::Base LayerConfig::base() const {
  return {spec_.name(),   spec_.class_name(),    trainable_,
          spec_.infers(), activity_regularizer_, inputs_};
}

}  // namespace cairn::nn
