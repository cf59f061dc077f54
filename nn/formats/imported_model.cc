#include "nn/formats/imported_model.h"

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"

namespace cairn::nn {

absl::Status CheckFilled(const NamedTensor& tensor) {
  int64_t count = 1;
  for (int64_t size : tensor.shape) {
    if (size <= 0 || __builtin_mul_overflow(count, size, &count)) count = -1;
    if (count < 0) break;
  }
  if (count == static_cast<int64_t>(tensor.values.size())) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("weight '", tensor.name, "' has ",
                                                 tensor.values.size(),
                                                 " values, which do not fill its shape"));
}

absl::Status CheckWeights(const std::vector<VariableSpec>& variables,
                          absl::Span<const NamedTensor> weights) {
  if (weights.size() != variables.size()) {
    return absl::InvalidArgumentError(absl::StrCat("there are ", weights.size(), " weights for ",
                                                   variables.size(), " variables"));
  }
  for (size_t i = 0; i < weights.size(); ++i) {
    CAIRN_RETURN_IF_ERROR(CheckFilled(weights[i]));
    if (weights[i].shape == variables[i].shape) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "weight '", weights[i].name, "' does not have the shape of ", variables[i].name));
  }
  return absl::OkStatus();
}

}  // namespace cairn::nn
