#include "nn/activation.h"

#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace cairn::nn {
namespace {

using Kind = Activation::Kind;

struct KnownActivation {
  std::string_view name;
  Activation activation;
};

constexpr KnownActivation kKnownActivations[] = {
    {"linear", {.kind = Kind::kLinear}},
    {"relu", {.kind = Kind::kRelu}},
    {"relu6", {.kind = Kind::kRelu, .max_value = 6, .has_max_value = true}},
    {"leaky_relu", {.kind = Kind::kRelu, .slope = 0.2f}},
    {"sigmoid", {.kind = Kind::kSigmoid}},
    {"hard_sigmoid", {.kind = Kind::kHardSigmoid, .slope = 1.0f / 6}},
    // Keras 2 and TensorFlow.js call this one hard_sigmoid.
    {"hard_sigmoid_keras2", {.kind = Kind::kHardSigmoid, .slope = 0.2f}},
    {"tanh", {.kind = Kind::kTanh}},
    {"softmax", {.kind = Kind::kSoftmax}},
    {"softplus", {.kind = Kind::kSoftplus}},
    {"softsign", {.kind = Kind::kSoftsign}},
    {"elu", {.kind = Kind::kElu, .slope = 1}},
    {"selu", {.kind = Kind::kSelu}},
    {"gelu", {.kind = Kind::kGelu}},
    {"swish", {.kind = Kind::kSwish}},
    {"silu", {.kind = Kind::kSwish}},
    {"exponential", {.kind = Kind::kExponential}},
    {"celu", {.kind = Kind::kElu, .slope = 1}},
    {"hard_silu", {.kind = Kind::kHardSwish}},
    {"hard_swish", {.kind = Kind::kHardSwish}},
    {"hard_tanh", {.kind = Kind::kHardTanh}},
    {"hard_shrink", {.kind = Kind::kHardShrink}},
    {"soft_shrink", {.kind = Kind::kSoftShrink}},
    {"log_sigmoid", {.kind = Kind::kLogSigmoid}},
    {"log_softmax", {.kind = Kind::kLogSoftmax}},
    {"mish", {.kind = Kind::kMish}},
    {"sparse_plus", {.kind = Kind::kSparsePlus}},
    {"sparse_sigmoid", {.kind = Kind::kHardSigmoid, .slope = 0.5f}},
    {"squareplus", {.kind = Kind::kSquareplus}},
    {"tanh_shrink", {.kind = Kind::kTanhShrink}},
    // Operations of Keras, which has no activations of these names.
    {"erf", {.kind = Kind::kErf}},
    {"floor", {.kind = Kind::kFloor}},
};

constexpr KnownActivation kOperations[] = {
    {"Cos", {.kind = Kind::kCos}},
    {"Erf", {.kind = Kind::kErf}},
    {"Floor", {.kind = Kind::kFloor}},
    {"Log", {.kind = Kind::kLog}},
    {"Reciprocal", {.kind = Kind::kReciprocal}},
    {"Sign", {.kind = Kind::kSign}},
    {"Sin", {.kind = Kind::kSin}},
    {"Sqrt", {.kind = Kind::kSqrt}},
};

}  // namespace

bool Activation::differentiates_from_output() const {
  switch (kind) {
    case Kind::kGelu:
    case Kind::kSwish:
    case Kind::kHardSwish:
    case Kind::kMish:
    case Kind::kTanhShrink:
    case Kind::kCos:
    case Kind::kErf:
    case Kind::kSin:
      return false;
    case Kind::kRelu:
      // The output identifies the branch only if the function is monotonic and continuous at zero.
      return threshold == 0 && slope >= 0;
    case Kind::kElu:
      return slope >= 0;
    default:
      return true;
  }
}

const char* Activation::operation_name() const {
  for (const KnownActivation& known : kOperations) {
    if (known.activation.kind == kind) return known.name.data();
  }
  return "";
}

std::optional<Activation> FindOperation(std::string_view class_name) {
  for (const KnownActivation& known : kOperations) {
    if (known.name == class_name) return known.activation;
  }
  return std::nullopt;
}

absl::StatusOr<Activation> ParseActivation(std::string_view name) {
  std::string known_names;
  for (const KnownActivation& known : kKnownActivations) {
    if (known.name == name) return known.activation;
    absl::StrAppend(&known_names, known_names.empty() ? "" : ", ", std::string(known.name));
  }
  return absl::InvalidArgumentError(
      absl::StrCat("unknown activation '", std::string(name), "'; known: ", known_names));
}

}  // namespace cairn::nn
