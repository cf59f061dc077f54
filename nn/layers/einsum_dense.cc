#include "nn/layers/einsum_dense.h"

#include <google/protobuf/struct.pb.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/status_macros.h"

namespace cairn::nn {
namespace {

using google::protobuf::Value;

// The labels of an equation. Axes that "..." stands for have the digits from '0' on.
struct Labels {
  std::string input;
  std::string kernel;
  std::string output;
  size_t elided = 0;
  bool left_elided = false;
};

bool IsSpec(const std::string& labels) {
  for (size_t i = 0; i < labels.size(); ++i) {
    if (!absl::ascii_isalpha(labels[i]) || labels.find(labels[i]) != i) return false;
  }
  return !labels.empty();
}

bool Has(const std::string& labels, char label) { return labels.find(label) != std::string::npos; }

// `rank` is that of the input, with the batch.
absl::StatusOr<Labels> ParseEquation(const std::string& equation, size_t rank) {
  const absl::Status wrong = absl::InvalidArgumentError(
      "must be like 'abc,cd->abd', '...c,cd->...d' or 'ab...,bc->ac...', with a letter once for "
      "each axis");
  const std::vector<std::string> sides = absl::StrSplit(equation, "->");
  if (sides.size() != 2) return wrong;
  const std::vector<std::string> factors = absl::StrSplit(sides[0], ',');
  if (factors.size() != 2) return wrong;
  absl::string_view input = factors[0];
  absl::string_view output = sides[1];
  const bool left = absl::ConsumePrefix(&input, "...");
  const bool right = !left && absl::ConsumeSuffix(&input, "...");
  if (left && !absl::ConsumePrefix(&output, "...")) return wrong;
  if (right && !absl::ConsumeSuffix(&output, "...")) return wrong;
  Labels labels{.input = std::string(input),
                .kernel = factors[1],
                .output = std::string(output),
                .left_elided = left};
  if (!IsSpec(labels.input) || !IsSpec(labels.kernel) || !IsSpec(labels.output)) return wrong;
  const bool elides = left || right;
  if (elides ? rank < labels.input.size() : rank != labels.input.size()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "has ", labels.input.size(), " axes of the input, which has ", rank, " with the batch"));
  }
  labels.elided = rank - labels.input.size();
  std::string elided;
  for (size_t i = 0; i < labels.elided; ++i) elided.push_back(static_cast<char>('0' + i));
  for (std::string* spec : {&labels.input, &labels.output}) {
    *spec = left ? elided + *spec : *spec + elided;
  }
  if (labels.output[0] != labels.input[0] || Has(labels.kernel, labels.input[0])) {
    return absl::InvalidArgumentError(
        "must begin with the batch in input and output, and the kernel must not have it");
  }
  for (const char label : labels.input) {
    if (!Has(labels.kernel, label) && !Has(labels.output, label)) {
      return absl::InvalidArgumentError(
          absl::StrCat("has '", std::string(1, label), "' in the input only"));
    }
  }
  for (const char label : labels.kernel) {
    if (!Has(labels.input, label) && !Has(labels.output, label)) {
      return absl::InvalidArgumentError(
          absl::StrCat("has '", std::string(1, label), "' in the kernel only"));
    }
  }
  for (const char label : labels.output) {
    if (!Has(labels.input, label) && !Has(labels.kernel, label)) {
      return absl::InvalidArgumentError(
          absl::StrCat("has '", std::string(1, label), "' in the output only"));
    }
  }
  return labels;
}

// Argument output_shape without the batch: the axes that the equation names, then those that "..."
// stands for. A null takes the input's size. nullopt if it does not fit.
std::optional<Shape> OutputShape(const Value& given, const Labels& labels, const Shape& input) {
  std::vector<Value> sizes;
  if (given.kind_case() == Value::kListValue) {
    sizes.assign(given.list_value().values().begin(), given.list_value().values().end());
  } else {
    sizes.push_back(given);
  }
  Shape output;
  size_t next = 0;
  for (const char label : labels.output.substr(1)) {
    const size_t at = labels.input.find(label);
    const int64_t known = at == std::string::npos ? 0 : input[at - 1];
    if (absl::ascii_isdigit(label)) {
      output.push_back(known);
      continue;
    }
    if (next == sizes.size()) return {};
    const Value& size = sizes[next++];
    const double number = size.number_value();
    const bool is_number = size.kind_case() == Value::kNumberValue && number >= 1 &&
                           number <= kTensorElementsMax && std::floor(number) == number;
    if (!is_number && (size.kind_case() != Value::kNullValue || known == 0)) return {};
    if (is_number && known != 0 && number != static_cast<double>(known)) return {};
    output.push_back(known != 0 ? known : static_cast<int64_t>(number));
  }
  return next == sizes.size() ? std::optional<Shape>(output) : std::nullopt;
}

int64_t Product(const Shape& sizes) {
  return std::accumulate(sizes.begin(), sizes.end(), int64_t{1}, std::multiplies<>());
}

// The stride of a label in a tensor of these labels; 0 if it does not have it.
int64_t StrideOf(char label, const std::string& labels, const Shape& shape) {
  const size_t at = labels.find(label);
  if (at == std::string::npos) return 0;
  return Product(Shape(shape.begin() + static_cast<int64_t>(at) + 1, shape.end()));
}

// Keras takes the fans of the equation's axes; nn/initializer.cc those of a convolution's kernel.
// The variance is value / fan, so the value corrects the fan.
void CorrectFans(const Labels& labels, LayerVariable* kernel) {
  InitializerSpec& initializer = kernel->spec.initializer;
  if (initializer.kind != InitializerSpec::Kind::kVarianceScaling) return;
  const Shape& shape = kernel->spec.shape;
  double fan_in = 1, fan_out = 1;
  for (size_t i = 0; i < shape.size(); ++i) {
    (Has(labels.output, labels.kernel[i]) ? fan_out : fan_in) *= static_cast<double>(shape[i]);
  }
  double taken_in = static_cast<double>(shape.back());
  double taken_out = taken_in;
  if (shape.size() > 1) {
    const double rest = static_cast<double>(Product(Shape(shape.begin(), shape.end() - 2)));
    taken_in = rest * static_cast<double>(shape[shape.size() - 2]);
    taken_out = rest * static_cast<double>(shape.back());
  }
  using Fan = InitializerSpec::Fan;
  const auto fan = [&](double in, double out) {
    if (initializer.fan == Fan::kAverage) return (in + out) / 2;
    return initializer.fan == Fan::kIn ? in : out;
  };
  initializer.value *= fan(taken_in, taken_out) / fan(fan_in, fan_out);
}

struct Bias {
  Shape shape;
  std::vector<int64_t> strides;  // By axis of the output.
};

// As in Keras the bias has the output's axes from the first of `axes` on. nullopt if the output
// does not have one of them. `labels` are those of the output without the batch.
std::optional<Bias> BiasOf(const std::string& axes, const std::string& labels,
                           const Shape& output) {
  for (const char label : axes) {
    if (!absl::ascii_isalpha(label) || !Has(labels, label)) return {};
  }
  Bias bias{.strides = std::vector<int64_t>(labels.size(), 0)};
  const size_t first = std::min(labels.find_first_of(axes), labels.size());
  for (size_t axis = first; axis < labels.size(); ++axis) {
    bias.shape.push_back(Has(axes, labels[axis]) ? output[axis] : 1);
  }
  int64_t stride = 1;
  for (size_t axis = labels.size(); axis-- > first; stride *= bias.shape[axis - first]) {
    if (Has(axes, labels[axis])) bias.strides[axis] = stride;
  }
  return bias;
}

}  // namespace

absl::StatusOr<std::unique_ptr<const Layer>> EinsumDenseLayer::Create(LayerConfig& config) {
  const Shape input = config.FloatInput(1, 9).shape;  // "..." has one digit for each axis.
  const auto& fields = config.spec().config().fields();
  config.Ignore({"equation", "output_shape", "bias_axes", "quantization_config"});
  const auto text = [&](const char* argument) {
    const auto found = fields.find(argument);
    return found == fields.end() ? std::string() : found->second.string_value();
  };
  const Activation activation = config.ActivationNamed("activation");
  absl::StatusOr<Labels> labels = ParseEquation(text("equation"), input.size() + 1);
  if (!labels.ok()) config.FailArgument("equation", std::string(labels.status().message()));
  if (!labels.ok()) return config.Finish();
  const auto given = fields.find("output_shape");
  const std::optional<Shape> output =
      OutputShape(given == fields.end() ? Value() : given->second, *labels, input);
  if (!output.has_value()) {
    config.FailArgument("output_shape",
                        "must have the size of each axis that the equation names in the output");
    return config.Finish();
  }

  const std::string inputs = labels->input.substr(1);
  const std::string outputs = labels->output.substr(1);
  const auto size_of = [&](char label) {
    return Has(outputs, label) ? (*output)[outputs.find(label)] : input[inputs.find(label)];
  };
  Shape kernel;
  for (const char label : labels->kernel) kernel.push_back(size_of(label));
  Equation equation;
  const auto add = [&](char label, std::vector<Axis>* axes) {
    axes->push_back({.size = size_of(label),
                     .input_stride = StrideOf(label, inputs, input),
                     .kernel_stride = StrideOf(label, labels->kernel, kernel),
                     .output_stride = StrideOf(label, outputs, *output)});
  };
  for (const char label : inputs) {
    const bool in_output = Has(outputs, label);
    if (!Has(labels->kernel, label)) {
      add(label, &equation.rows);
    } else {
      add(label, in_output ? &equation.shared : &equation.inner);
    }
  }
  for (const char label : labels->kernel) {
    if (!Has(inputs, label)) add(label, &equation.columns);
  }

  const std::string bias_axes = text("bias_axes");
  const std::optional<Bias> bias = BiasOf(bias_axes, outputs, *output);
  if (!bias.has_value()) {
    config.FailArgument("bias_axes", "must be axes of the output other than the batch");
    return config.Finish();
  }
  std::vector<LayerVariable> variables = {config.Variable("kernel", kernel, "glorot_uniform")};
  CorrectFans(*labels, &variables[0]);
  LayerVariable bias_variable = config.Variable("bias", bias->shape, "zeros");
  if (!bias_axes.empty()) variables.push_back(std::move(bias_variable));
  CAIRN_RETURN_IF_ERROR(config.Finish());
  return std::unique_ptr<const Layer>(
      new EinsumDenseLayer(config.base(), {.shape = *output}, std::move(variables),
                           std::move(equation), bias->strides, activation));
}

}  // namespace cairn::nn
